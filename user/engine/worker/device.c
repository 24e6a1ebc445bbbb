// SPDX-License-Identifier: MIT
/*
 * The engine's description of its device: version, type, feature level and
 * performance figures.
 */
#define _GNU_SOURCE
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/engine_plugins.h>

#include "base/build_id.h"
#include "engine/worker/device.h"
#include "ops/op.h"
#include "plan/kernels/isa.h"

/*
 * Performance figures are relative to the runtime's own CPU code, which has 1.0. Lower figures make
 * the NNAPI runtime prefer the device.
 */
static const struct nn_performance offered = { .exec_time = 0.9f, .power_usage = 0.9f };
static const struct nn_performance unoffered = { .exec_time = FLT_MAX, .power_usage = FLT_MAX };

static struct nn_performance performance_of(bool is_offered)
{
	return is_offered ? offered : unoffered;
}

void device_describe(struct nn_device_info *info)
{
	/* The version contains the instruction set, because plans depend on the instruction set. */
	const char *cpu = nn_isa_find(NULL)->name;
	char id[BUILD_ID_TEXT];

	build_id(id);
	memset(info, 0, sizeof(*info));
	info->magic = NN_DEVICE_MAGIC;
	info->size = sizeof(*info);
	snprintf(info->version, sizeof(info->version), "%s-%s", id, cpu);
	/* Cache entries depend on the version, so the version includes the plug-ins. */
	if (nna_engine_plugin_count())
		snprintf(info->version, sizeof(info->version), "%s-%s-x%08x", id, cpu,
			 nna_engine_plugin_fingerprint());
	info->type = NN_DEVICE_ACCELERATOR;
	info->feature_level = nn_op_feature_level();
	info->relaxed_scalar = offered;
	info->relaxed_tensor = offered;
	info->if_performance = performance_of(nn_op_find(NN_OP_IF));
	info->while_performance = performance_of(nn_op_find(NN_OP_WHILE));
	for (int type = 0; type < NN_TYPE_COUNT; type++)
		info->operand[type] = performance_of(type != NN_SUBGRAPH_TYPE);
	for (size_t i = 0; i < nn_op_count(); i++) {
		int32_t code = nn_op_at(i)->code;

		if (code >= 0 && code < 8 * NN_DEVICE_OPERATIONS)
			info->operations[code / 8] |= (uint8_t)(1u << (code % 8));
	}
}
