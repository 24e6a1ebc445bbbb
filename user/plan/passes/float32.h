/* SPDX-License-Identifier: MIT */
/*
 * float16 models as float32 ones: every kernel computes in float32 anyway.
 */
#ifndef NN_PLAN_FLOAT32_H
#define NN_PLAN_FLOAT32_H

#include <nnaccel/model.h>

/*
 * A model that computes the same in float32: its float16 inputs, outputs and constants are
 * converted by CAST operations of its own. It refers to `model`, which must outlive it;
 * nn_model_free() frees it. NULL if nothing is float16, if something cannot be converted, or for
 * want of memory.
 */
struct nn_model *plan_float32(const struct nn_model *model);

#endif /* NN_PLAN_FLOAT32_H */
