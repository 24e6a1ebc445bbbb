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
	uint32_t packing;		/* number of damaged steps that ran and packed weights */
	uint32_t bounds[64];	/* number of tests of steps at their bounds, by kernel */
};

/* Calls check_bounds() of bounds.h for each step of a saved plan. */
void check_all_bounds(const struct nn_plan_image *image, struct damage_counts *counts);

/*
 * Damages a saved plan, and checks that the plan is refused or stays within its memory when it
 * runs.
 */
void check_damaged(const struct nn_plan_image *image, const void *data,
		   struct damage_counts *counts);

#endif /* NN_TESTS_PLAN_DIFF_DAMAGE_H */
