/* SPDX-License-Identifier: MIT */
/*
 * What saved plans depend on besides their models: the sources that wrote them,
 * of which any may change a layout or a result, the CPU, and the operations of
 * extensions.
 */
#include <string.h>

#include "ops/fingerprint.h"
#include "ops/op.h"
#include "plan.h"
#include "plan/kernels/isa.h"

#include "plan_sources.h"

uint64_t nn_plan_fingerprint(void)
{
	const char *best = nn_isa_find(NULL)->name;
	uint64_t on[3] = { PLAN_SOURCES, nn_fingerprint64(best, strlen(best)),
			   nn_op_added_fingerprint() };

	return nn_fingerprint64(on, sizeof(on));
}
