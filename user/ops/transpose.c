/* SPDX-License-Identifier: MIT */
/*
 * TRANSPOSE, REVERSE and CHANNEL_SHUFFLE: the output has the elements of the input in another
 * order.
 */
#include "ops/axis.h"
#include "ops/check.h"
#include "ops/strided.h"

/*
 * Reads the permutation of TRANSPOSE; without a permutation, TRANSPOSE reverses the order of all
 * axes. Fails if an axis is out of range or occurs twice, because the kernel would read outside of
 * the input.
 */
static enum nn_status permutation(const struct nn_run *r, uint32_t *perm)
{
	const struct nn_tensor *in = &r->inputs[0], *axes = &r->inputs[1];
	uint32_t seen = 0;

	if (!axes->omitted && nn_tensor_count(axes) != in->rank)
		return nn_run_fail(r, "the permutation has %u entries, the input %u dimensions",
				   nn_tensor_count(axes), in->rank);
	for (uint32_t i = 0; i < in->rank; i++) {
		int32_t axis = axes->omitted ? (int32_t)(in->rank - 1 - i) :
					       ((const int32_t *)axes->data)[i];

		if (axis < 0 || (uint32_t)axis >= in->rank)
			return nn_run_fail(r, "entry %u of the permutation is %d, an unknown axis",
					   i, axis);
		if (seen & 1u << axis)
			return nn_run_fail(r, "the permutation has axis %d twice", axis);
		seen |= 1u << axis;
		perm[i] = (uint32_t)axis;
	}
	return NN_OK;
}

static enum nn_status infer_transpose(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	uint32_t perm[NN_MAX_RANK];
	enum nn_status status = permutation(r, perm);

	if (status)
		return status;
	nn_tensor_like(&r->outputs[0], in);
	for (uint32_t i = 0; i < in->rank; i++)
		r->outputs[0].dims[i] = in->dims[perm[i]];
	return NN_OK;
}

static enum nn_status execute_transpose(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_strided view = { 0 };
	uint32_t perm[NN_MAX_RANK];
	enum nn_status status = permutation(r, perm);

	if (status)
		return status;
	for (uint32_t i = 0; i < in->rank; i++)
		nn_strided_axis(&view, in->dims[perm[i]], nn_strided_step(in, perm[i]));
	nn_strided_read(&view, in->data, r->outputs[0].data,
			nn_type_info_of(in->type)->element_size);
	return NN_OK;
}

static enum nn_status infer_reverse(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	int32_t axis = *(const int32_t *)r->inputs[1].data;

	if (nn_tensor_count(&r->inputs[1]) != 1)
		return nn_run_fail(r, "%u axes, must be one axis", nn_tensor_count(&r->inputs[1]));
	if (axis < 0 || (uint32_t)axis >= in->rank)
		return nn_run_fail(r, "axis %d does not fit rank %u", axis, in->rank);
	nn_tensor_like(&r->outputs[0], in);
	return NN_OK;
}

static enum nn_status execute_reverse(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	uint32_t axis = (uint32_t)*(const int32_t *)r->inputs[1].data;
	struct nn_strided view;

	nn_strided_dense(&view, in);
	view.offset = ((int64_t)in->dims[axis] - 1) * view.strides[axis];
	view.strides[axis] = -view.strides[axis];
	nn_strided_read(&view, in->data, r->outputs[0].data,
			nn_type_info_of(in->type)->element_size);
	return NN_OK;
}

static enum nn_status infer_channel_shuffle(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	int32_t groups = nn_run_int(r, 1, 0);
	uint32_t axis;

	if (!nn_axis(nn_run_int(r, 2, 0), in->rank, &axis))
		return nn_run_fail(r, "axis %d does not fit rank %u", nn_run_int(r, 2, 0),
				   in->rank);
	if (groups <= 0 || in->dims[axis] % (uint32_t)groups)
		return nn_run_fail(r, "%u channels do not divide into %d groups", in->dims[axis],
				   groups);
	nn_tensor_like(&r->outputs[0], in);
	return NN_OK;
}

static enum nn_status execute_channel_shuffle(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	uint32_t groups = (uint32_t)nn_run_int(r, 1, 0), axis = 0, size;
	struct nn_strided view = { 0 };
	int64_t step;

	nn_axis(nn_run_int(r, 2, 0), in->rank, &axis);
	step = nn_strided_step(in, axis);
	size = in->dims[axis] / groups;
	nn_strided_axis(&view, nn_tensor_product(in, 0, axis), step * in->dims[axis]);
	nn_strided_axis(&view, size, step);
	nn_strided_axis(&view, groups, step * size);
	nn_strided_axis(&view, (uint32_t)step, 1);
	nn_strided_read(&view, in->data, r->outputs[0].data,
			nn_type_info_of(in->type)->element_size);
	return NN_OK;
}

NN_OPERATION(TRANSPOSE,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 0, 4 }, { NN_T(NN_TENSOR_INT32), 1, 1 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.zero_sized = NN_ZERO_ALLOWED, .omissible = NN_IN(1), .determining = NN_IN(1),
	.infer = infer_transpose, .execute = execute_transpose);

static enum nn_status check_reverse(const struct nn_check *c)
{
	if (nn_check_in(c, 1)->rank && nn_check_in(c, 1)->dims[0] > 1)
		return nn_check_fail_input(c, 1, "%u axes, must be one axis",
					   nn_check_in(c, 1)->dims[0]);
	if (!nn_check_shapes_agree(nn_check_in(c, 0), nn_check_out(c, 0)))
		return nn_check_fail_output(c, 0, "has other dimensions than input 0");
	return nn_check_same_quant(c, 0, 0);
}

NN_OPERATION(REVERSE,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 8 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }),
	NN_OUTPUTS({ NN_SAME, 0, 8 }),
	.determining = NN_IN(1),
	.check = check_reverse, .infer = infer_reverse, .execute = execute_reverse);

NN_OPERATION(CHANNEL_SHUFFLE,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8, 0, 4 }, NN_SCALAR_INT, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.infer = infer_channel_shuffle, .execute = execute_channel_shuffle);
