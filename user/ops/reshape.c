/* SPDX-License-Identifier: MIT */
/* RESHAPE, SQUEEZE and EXPAND_DIMS: copy a tensor's elements to an output with other dimensions. */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/op.h"

static enum nn_status copy_data(struct nn_run *r)
{
	memcpy(r->outputs[0].data, r->inputs[0].data, nn_tensor_size(&r->inputs[0]));
	return NN_OK;
}

/*
 * Sets the type and quantisation of the output to those of the input. The caller sets the output's
 * dimensions.
 */
static struct nn_tensor *like_input(struct nn_run *r)
{
	struct nn_tensor *out = &r->outputs[0];

	nn_tensor_like(out, &r->inputs[0]);
	out->rank = 0;
	memset(out->dims, 0, sizeof(out->dims));
	return out;
}

static enum nn_status infer_reshape(struct nn_run *r)
{
	const struct nn_tensor *shape = &r->inputs[1];
	const int32_t *target = shape->data;
	uint32_t count = nn_tensor_count(&r->inputs[0]), rank = nn_tensor_count(shape), i;
	uint32_t stretch = rank;
	uint64_t known = 1;
	struct nn_tensor *out = like_input(r);

	if (rank > NN_MAX_RANK)
		return nn_run_fail(r, "%u dimensions are asked for, must be at most %u", rank,
				   NN_MAX_RANK);
	for (i = 0; i < rank; i++) {
		if (target[i] == -1 && stretch == rank) {
			stretch = i;
			continue;
		}
		if (target[i] < 0)
			return nn_run_fail(r, "dimension %u of the target shape must not be %d", i,
					   target[i]);
		known *= (uint32_t)target[i];
		if (known > UINT32_MAX)
			return nn_run_fail(r, "the target shape has too many elements");
		out->dims[i] = (uint32_t)target[i];
	}
	out->rank = rank;
	if (stretch < rank) {
		if (known == 0)
			return nn_run_fail(r, "dimension %u cannot be deduced if another one is 0",
					   stretch);
		out->dims[stretch] = (uint32_t)(count / known);
		known *= out->dims[stretch];
	}
	if (known != count)
		return nn_run_fail(r, "the target shape has %llu elements, the input has %u",
				   (unsigned long long)known, count);
	return NN_OK;
}

static enum nn_status infer_squeeze(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0], *axes = &r->inputs[1];
	struct nn_tensor *out = like_input(r);
	uint32_t drop = 0, count = axes->omitted ? 0 : nn_tensor_count(axes), i, axis;

	for (i = 0; i < count; i++) {
		if (!nn_axis(((const int32_t *)axes->data)[i], in->rank, &axis))
			return nn_run_fail(r, "axis %d does not fit rank %u",
					   ((const int32_t *)axes->data)[i], in->rank);
		if (in->dims[axis] != 1)
			return nn_run_fail(r, "axis %u has %u elements, must have 1", axis,
					   in->dims[axis]);
		drop |= 1u << axis;
	}
	for (i = 0; i < in->rank; i++) {
		if (axes->omitted ? in->dims[i] != 1 : !(drop & 1u << i))
			out->dims[out->rank++] = in->dims[i];
	}
	if (out->rank == 0)
		out->dims[out->rank++] = 1;
	return NN_OK;
}

static enum nn_status infer_expand_dims(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_tensor *out = like_input(r);
	uint32_t axis, i;

	if (in->rank == NN_MAX_RANK)
		return nn_run_fail(r, "with %u dimensions, the output has too many", in->rank);
	if (!nn_axis(nn_run_int(r, 1, 0), in->rank + 1, &axis))
		return nn_run_fail(r, "axis %d does not fit rank %u", nn_run_int(r, 1, 0),
				   in->rank + 1);
	out->rank = in->rank + 1;
	for (i = 0; i < out->rank; i++)
		out->dims[i] = i == axis ? 1 : in->dims[i - (i > axis)];
	return NN_OK;
}

NN_OPERATION(RESHAPE,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 4 },
		  { NN_T(NN_TENSOR_INT32), 0, 0 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(1),
	.infer = infer_reshape, .execute = copy_data);

NN_OPERATION(SQUEEZE,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 0, 4 }, { NN_T(NN_TENSOR_INT32), 1, 1 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.omissible = NN_IN(1), .determining = NN_IN(1),
	.infer = infer_squeeze, .execute = copy_data);

NN_OPERATION(EXPAND_DIMS,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.infer = infer_expand_dims, .execute = copy_data);
