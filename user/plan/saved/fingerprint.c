/* SPDX-License-Identifier: MIT */
/*
 * The fingerprint covers everything that a saved plan depends on, except for the model. The parts
 * of the fingerprint are the CPU, the operations of extensions, and the sources of this build. Each
 * part of the fingerprint may influence a layout in saved plans, or a result.
 */
#include <stdatomic.h>
#include <string.h>

#include "model/fingerprint.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "plan/kernels/isa.h"

#include "plan_sources.h"

static uint64_t with_added(uint64_t added)
{
	const char *best = nn_isa_find(NULL)->name;
	uint64_t on[3] = { PLAN_SOURCES, nn_fingerprint64(best, strlen(best)), added };

	return nn_fingerprint64(on, sizeof(on));
}

/* Without operations of extensions, the usual case, the fingerprint is computed only once. */
uint64_t nn_plan_fingerprint(void)
{
	static _Atomic(uint64_t) plain;
	uint64_t added = nn_op_added_fingerprint(), known;

	if (added)
		return with_added(added);
	known = atomic_load_explicit(&plain, memory_order_relaxed);
	if (known)
		return known;
	known = with_added(0);
	atomic_store_explicit(&plain, known, memory_order_relaxed);
	return known;
}
