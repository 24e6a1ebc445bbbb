/* SPDX-License-Identifier: MIT */
/*
 * Damages saved plans and the steps in them.
 */
#ifndef NN_TESTS_PLAN_DIFF_DAMAGE_H
#define NN_TESTS_PLAN_DIFF_DAMAGE_H

#include <stdint.h>

#include "plan/plan.h"

struct damage_counts {
	uint32_t refused;
	uint32_t loaded;
	uint32_t steps;			/* number of damaged steps that ran */
	uint32_t packing;		/* number of damaged steps that first pack weights */
	uint32_t bounds[64];	/* steps that were tested at their bounds */
};

/* Checks the bounds of each step, as bounds.h says. */
void check_all_bounds(const struct nn_plan_image *image, struct damage_counts *counts);

/* Checks that a damaged plan is refused, or loads as a plan that stays within its memory. */
void check_damaged(const struct nn_plan_image *image, const void *data,
		   struct damage_counts *counts);

#endif /* NN_TESTS_PLAN_DIFF_DAMAGE_H */
