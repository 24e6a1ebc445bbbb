/* SPDX-License-Identifier: MIT */
/*
 * Makes the frozen form of a plan that is being saved.
 */
#ifndef NN_PLAN_FREEZE_H
#define NN_PLAN_FREEZE_H

#include "plan.h"

/*
 * Puts the frozen form into an image's model part, which is whole without it. Leaves
 * it as it is where a step cannot be frozen. NN_OUT_OF_MEMORY.
 */
enum nn_status plan_freeze(struct nn_plan_image *image);

#endif /* NN_PLAN_FREEZE_H */
