/* SPDX-License-Identifier: MIT */
/*
 * What saved plans depend on besides their models: the sources that wrote them,
 * of which any may change a layout or a result, and the CPU.
 */
#include <string.h>

#include "ops/fingerprint.h"
#include "plan.h"
#include "plan/kernels/isa.h"

#include "plan_sources.h"

uint64_t nn_plan_fingerprint(void)
{
	const char *best = nn_isa_find(NULL)->name;
	uint64_t on[2] = { PLAN_SOURCES, nn_fingerprint64(best, strlen(best)) };

	return nn_fingerprint64(on, sizeof(on));
}
