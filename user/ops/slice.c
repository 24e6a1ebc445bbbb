/* SPDX-License-Identifier: MIT */
/* SLICE, STRIDED_SLICE and SPLIT copy parts of a tensor; TILE repeats a tensor. */
#include "ops/axis.h"
#include "ops/check.h"
#include "ops/strided.h"

static enum nn_status infer_slice(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	const int32_t *begin = r->inputs[1].data, *size = r->inputs[2].data;
	struct nn_tensor *out = &r->outputs[0];

	if (nn_tensor_count(&r->inputs[1]) != in->rank || nn_tensor_count(&r->inputs[2]) != in->rank)
		return nn_run_fail(r, "begin and size must have %u entries", in->rank);
	nn_tensor_like(out, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		int64_t dim = in->dims[i], length = size[i] == -1 ? dim - begin[i] : size[i];

		if (begin[i] < 0 || begin[i] > dim || length < 0 || begin[i] + length > dim)
			return nn_run_fail(r, "axis %u: %d elements from %d on exceed its %u", i,
					   size[i], begin[i], in->dims[i]);
		out->dims[i] = (uint32_t)length;
	}
	return NN_OK;
}

static enum nn_status execute_slice(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	const int32_t *begin = r->inputs[1].data;
	struct nn_strided view;

	nn_strided_dense(&view, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		view.offset += begin[i] * view.strides[i];
		view.dims[i] = r->outputs[0].dims[i];
	}
	nn_strided_read(&view, in->data, r->outputs[0].data,
			nn_type_info_of(in->type)->element_size);
	return NN_OK;
}

/* Returns an index of STRIDED_SLICE clamped to the axis; a negative index counts from the end. */
static int64_t clamp_index(int64_t index, int64_t dim, bool forward)
{
	int64_t low = forward ? 0 : -1, high = forward ? dim : dim - 1;

	if (index < 0)
		index += dim;
	return index < low ? low : index > high ? high : index;
}

enum nn_status nn_strided_slice_view(const struct nn_run *r, struct nn_strided *view,
				     uint32_t *shrink)
{
	const struct nn_tensor *in = &r->inputs[0];
	const int32_t *begin = r->inputs[1].data, *end = r->inputs[2].data;
	const int32_t *strides = r->inputs[3].data;
	uint32_t begin_mask = (uint32_t)nn_run_int(r, 4, 0);
	uint32_t end_mask = (uint32_t)nn_run_int(r, 5, 0);

	for (uint32_t i = 1; i <= 3; i++) {
		if (nn_tensor_count(&r->inputs[i]) != in->rank)
			return nn_run_fail(r, "input %u has %u entries, input 0 %u dimensions", i,
					   nn_tensor_count(&r->inputs[i]), in->rank);
	}
	*shrink = (uint32_t)nn_run_int(r, 6, 0);
	nn_strided_dense(view, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		int64_t dim = in->dims[i], stride = strides[i], b, e, length;
		uint32_t bit = 1u << i;

		if (stride == 0)
			return nn_run_fail(r, "the stride of axis %u is 0", i);
		b = begin_mask & bit ? (stride > 0 ? 0 : dim - 1) :
				       clamp_index(begin[i], dim, stride > 0);
		e = end_mask & bit ? (stride > 0 ? dim : -1) :
				     clamp_index(end[i], dim, stride > 0);
		length = stride > 0 ? (e - b + stride - 1) / stride : (b - e - stride - 1) / -stride;
		if (length < 0)
			length = 0;
		if (*shrink & bit && (stride < 0 || length != 1))
			return nn_run_fail(r, "axis %u cannot be dropped: %lld elements, stride %d",
					   i, (long long)length, strides[i]);
		view->offset += b * view->strides[i];
		view->strides[i] *= stride;
		view->dims[i] = (uint32_t)length;
	}
	return NN_OK;
}

static enum nn_status infer_strided_slice(struct nn_run *r)
{
	struct nn_tensor *out = &r->outputs[0];
	struct nn_strided view;
	uint32_t shrink, rank = 0;
	enum nn_status status = nn_strided_slice_view(r, &view, &shrink);

	if (status)
		return status;
	nn_tensor_like(out, &r->inputs[0]);
	for (uint32_t i = 0; i < view.rank; i++) {
		if (!(shrink & 1u << i))
			out->dims[rank++] = view.dims[i];
	}
	if (rank == 0)
		out->dims[rank++] = 1;
	nn_tensor_set_rank(out, rank);
	return NN_OK;
}

static enum nn_status execute_strided_slice(struct nn_run *r)
{
	struct nn_strided view;
	uint32_t shrink;
	enum nn_status status = nn_strided_slice_view(r, &view, &shrink);

	if (status)
		return status;
	nn_strided_read(&view, r->inputs[0].data, r->outputs[0].data,
			nn_type_info_of(r->inputs[0].type)->element_size);
	return NN_OK;
}

static enum nn_status infer_split(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	int32_t parts = nn_run_int(r, 2, 0);
	uint32_t axis;

	if (!nn_axis(nn_run_int(r, 1, 0), in->rank, &axis))
		return nn_run_fail(r, "axis %d does not fit rank %u", nn_run_int(r, 1, 0),
				   in->rank);
	if (parts <= 0 || (uint32_t)parts != r->num_outputs)
		return nn_run_fail(r, "%d parts asked for, with %u outputs", parts, r->num_outputs);
	if (in->dims[axis] % (uint32_t)parts)
		return nn_run_fail(r, "axis %u has %u elements, must be a multiple of %d", axis,
				   in->dims[axis], parts);
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		nn_tensor_like(&r->outputs[i], in);
		r->outputs[i].dims[axis] = in->dims[axis] / (uint32_t)parts;
	}
	return NN_OK;
}

static enum nn_status execute_split(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_strided view;
	uint32_t axis = 0;

	nn_axis(nn_run_int(r, 1, 0), in->rank, &axis);
	nn_strided_dense(&view, in);
	view.dims[axis] = r->outputs[0].dims[axis];
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		nn_strided_read(&view, in->data, r->outputs[i].data,
				nn_type_info_of(in->type)->element_size);
		view.offset += view.dims[axis] * view.strides[axis];
	}
	return NN_OK;
}

static enum nn_status infer_tile(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	const int32_t *multiples = r->inputs[1].data;
	struct nn_tensor *out = &r->outputs[0];

	if (nn_tensor_count(&r->inputs[1]) != in->rank)
		return nn_run_fail(r, "%u multiples, the input has %u dimensions",
				   nn_tensor_count(&r->inputs[1]), in->rank);
	nn_tensor_like(out, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		if (multiples[i] < 0 ||
		    __builtin_mul_overflow(in->dims[i], (uint32_t)multiples[i], &out->dims[i]))
			return nn_run_fail(r, "axis %u of %u elements cannot be repeated %d times",
					   i, in->dims[i], multiples[i]);
	}
	return NN_OK;
}

static enum nn_status execute_tile(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	const int32_t *multiples = r->inputs[1].data;
	struct nn_strided view = { 0 };

	for (uint32_t i = 0; i < in->rank; i++) {
		nn_strided_axis(&view, (uint32_t)multiples[i], 0);
		nn_strided_axis(&view, in->dims[i], nn_strided_step(in, i));
	}
	nn_strided_read(&view, in->data, r->outputs[0].data,
			nn_type_info_of(in->type)->element_size);
	return NN_OK;
}

NN_OPERATION(SLICE,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }, { NN_T(NN_TENSOR_INT32), 1, 1 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.zero_sized = NN_ZERO_ALLOWED, .determining = NN_IN(1) | NN_IN(2),
	.infer = infer_slice, .execute = execute_slice);

NN_OPERATION(STRIDED_SLICE,
	NN_INPUTS(7, { NN_FLOATS | NN_QUANT8, 0, 4 }, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }, { NN_T(NN_TENSOR_INT32), 1, 1 }, NN_SCALAR_INT,
		  NN_SCALAR_INT, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(1) | NN_IN(2) | NN_IN(3),
	.infer = infer_strided_slice, .execute = execute_strided_slice);

NN_OPERATION(SPLIT,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 }, NN_SCALAR_INT,
		  NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.more_outputs = true,
	.infer = infer_split, .execute = execute_split);

NN_OPERATION(TILE,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(1),
	.infer = infer_tile, .execute = execute_tile);
