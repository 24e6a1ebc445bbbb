/* SPDX-License-Identifier: MIT */
/*
 * Makes the frozen form of a plan that is being saved.
 */
#ifndef NN_PLAN_FREEZE_H
#define NN_PLAN_FREEZE_H

#include "plan/saved/saver.h"

/*
 * Puts the frozen form into an image's model part in place of the wire form, and leaves of the
 * pieces what that needs. Leaves both unchanged if a step cannot be frozen, or an argument may be
 * omitted. NN_OUT_OF_MEMORY.
 */
enum nn_status plan_freeze(struct nn_plan_image *image, struct nn_plan_pieces *pieces);

#endif /* NN_PLAN_FREEZE_H */
