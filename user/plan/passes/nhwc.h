/* SPDX-License-Identifier: MIT */
/*
 * Operations on NCHW images as operations on NHWC ones, which have fast kernels.
 */
#ifndef NN_PLAN_NHWC_H
#define NN_PLAN_NHWC_H

#include <nnaccel/model.h>

/*
 * A model that computes the same with its images turned to NHWC, by TRANSPOSE operations of its
 * own, as few as will do: what follows one another stays turned. It refers to `model`, which must
 * outlive it; nn_model_free() frees it. NULL if nothing is NCHW, or for want of memory.
 */
struct nn_model *plan_nhwc(const struct nn_model *model);

#endif /* NN_PLAN_NHWC_H */
