/* SPDX-License-Identifier: MIT */
/* Helper functions of shape rules, for axes and shapes. */
#ifndef NN_OPS_AXIS_H
#define NN_OPS_AXIS_H

#include <string.h>

#include "ops/op.h"

/*
 * Sets *index to the index of an axis; a negative axis counts from the end. Returns false if the
 * axis is out of range.
 */
static inline bool nn_axis(int32_t axis, uint32_t rank, uint32_t *index)
{
	int64_t resolved = axis < 0 ? (int64_t)axis + rank : axis;

	if (resolved < 0 || resolved >= rank)
		return false;
	*index = (uint32_t)resolved;
	return true;
}

/* Sets a tensor's rank, and sets all dimensions beyond the rank to 0. */
static inline void nn_tensor_set_rank(struct nn_tensor *t, uint32_t rank)
{
	t->rank = rank;
	memset(t->dims + rank, 0, (NN_MAX_RANK - rank) * sizeof(*t->dims));
}

/* Sets the type, dimensions and quantisation of an output to those of an input. */
static inline void nn_tensor_like(struct nn_tensor *out, const struct nn_tensor *in)
{
	out->type = in->type;
	out->rank = in->rank;
	memcpy(out->dims, in->dims, sizeof(out->dims));
	out->scale = in->scale;
	out->zero_point = in->zero_point;
}

/* The shape rule of an output with the type, dimensions and quantisation of input 0. */
static inline enum nn_status nn_infer_like(struct nn_run *r)
{
	nn_tensor_like(&r->outputs[0], &r->inputs[0]);
	return NN_OK;
}

/*
 * The shape rule of an output with the shape of input 0, and the type and quantisation that the
 * model declares.
 */
static inline enum nn_status nn_infer_shape(struct nn_run *r)
{
	r->outputs[0].rank = r->inputs[0].rank;
	memcpy(r->outputs[0].dims, r->inputs[0].dims, sizeof(r->outputs[0].dims));
	return NN_OK;
}

#endif /* NN_OPS_AXIS_H */
