/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and what surrounds them in float16, for CPUs that compute in it.
 */
#ifndef NN_PLAN_FLOAT16_H
#define NN_PLAN_FLOAT16_H

#include <nnaccel/model.h>

/*
 * A model that computes in float16 what kernels compute faster so: convolutions, FULLY_CONNECTED,
 * and operations next to them that would else need conversions. CAST operations convert what others
 * read or write in float32. It refers to `model`, which must outlive it and may be what
 * plan_float32() made; nn_model_free() frees it. NULL if `model` has no such operation, or for want
 * of memory.
 */
struct nn_model *plan_float16(const struct nn_model *model);

#endif /* NN_PLAN_FLOAT16_H */
