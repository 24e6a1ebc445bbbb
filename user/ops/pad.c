/* SPDX-License-Identifier: MIT */
/*
 * PAD and PAD_V2 add a constant border to a tensor; MIRROR_PAD adds a mirror image of the tensor as
 * a border.
 */
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/strided.h"

/* Returns the number of elements to add at the start (side 0) or end (side 1) of an axis. */
static int32_t padding(const struct nn_run *r, uint32_t axis, uint32_t side)
{
	return ((const int32_t *)r->inputs[1].data)[2 * axis + side];
}

static enum nn_status infer_pad(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0], *paddings = &r->inputs[1];
	struct nn_tensor *out = &r->outputs[0];

	if (paddings->rank != 2 || paddings->dims[0] != in->rank || paddings->dims[1] != 2)
		return nn_run_fail(r, "the paddings must be a tensor of [%u, 2]", in->rank);
	nn_tensor_like(out, in);
	for (uint32_t i = 0; i < in->rank; i++) {
		int64_t dim = in->dims[i];

		if (padding(r, i, 0) < 0 || padding(r, i, 1) < 0)
			return nn_run_fail(r, "axis %u: padding of %d and %d, must not be below 0",
					   i, padding(r, i, 0), padding(r, i, 1));
		dim += (int64_t)padding(r, i, 0) + padding(r, i, 1);
		if (dim > UINT32_MAX)
			return nn_run_fail(r, "axis %u would have %lld elements, not 1 to 2^32-1",
					   i, (long long)dim);
		out->dims[i] = (uint32_t)dim;
	}
	return NN_OK;
}

/* Copies the input to the middle of the output, and leaves the border of the output unchanged. */
static void fill_middle(struct nn_run *r, size_t element)
{
	const struct nn_tensor *in = &r->inputs[0];
	struct nn_strided view;

	nn_strided_dense(&view, &r->outputs[0]);
	for (uint32_t i = 0; i < in->rank; i++) {
		view.offset += padding(r, i, 0) * view.strides[i];
		view.dims[i] = in->dims[i];
	}
	nn_strided_write(&view, in->data, r->outputs[0].data, element);
}

static void fill(void *to, uint32_t count, const void *value, size_t element)
{
	uint32_t *words = to, word;
	uint16_t *fp16 = to, half;

	if (element == sizeof(half)) {
		memcpy(&half, value, sizeof(half));
		for (uint32_t i = 0; i < count; i++)
			fp16[i] = half;
	} else if (element == sizeof(word)) {
		memcpy(&word, value, sizeof(word));
		for (uint32_t i = 0; i < count; i++)
			words[i] = word;
	} else {
		memset(to, *(const unsigned char *)value, count);
	}
}

/*
 * Executes PAD, whose border is zero, or PAD_V2, which fills the border with the value of the third
 * input.
 */
static enum nn_status execute_pad(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0], *out = &r->outputs[0];
	size_t element = nn_type_info_of(in->type)->element_size;
	float zero = 0;
	uint8_t raw;
	const void *value = &zero;

	if (element == 1) {
		raw = (uint8_t)(r->num_inputs > 2 ? nn_run_int(r, 2, 0) : in->zero_point);
		value = &raw;
	} else if (r->num_inputs > 2) {
		value = r->inputs[2].data;
	}
	fill(out->data, nn_tensor_count(out), value, element);
	fill_middle(r, element);
	return NN_OK;
}

/*
 * Infers MIRROR_PAD. In mode 0 the mirror image begins after the element at the edge; in mode 1 the
 * mirror image repeats this element.
 */
static enum nn_status infer_mirror_pad(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0];
	int32_t mode = nn_run_int(r, 2, 0);
	enum nn_status status = infer_pad(r);

	if (status)
		return status;
	if (mode != 0 && mode != 1)
		return nn_run_fail(r, "mode %d is neither REFLECT (0) nor SYMMETRIC (1)", mode);
	for (uint32_t i = 0; i < in->rank; i++) {
		int64_t most = (int64_t)in->dims[i] - 1 + mode;

		if (padding(r, i, 0) > most || padding(r, i, 1) > most)
			return nn_run_fail(r, "axis %u: padding of %d and %d, at most %lld", i,
					   padding(r, i, 0), padding(r, i, 1), (long long)most);
	}
	return NN_OK;
}

/*
 * Fills the borders of the output along one axis with mirror images. Along the axis, the output has
 * `before` border slabs, then `dim` slabs of the input, then `after` border slabs. Before the call,
 * the caller pads the `dim` slabs along all inner axes, because the function copies whole slabs.
 */
static void mirror_axis(char *slab, size_t size, uint32_t before, uint32_t dim, uint32_t after,
			uint32_t mode)
{
	char *first = slab + before * size, *last = first + (dim - 1) * size;

	for (uint32_t i = 1; i <= before; i++)
		memcpy(first - i * size, first + (i - mode) * size, size);
	for (uint32_t i = 1; i <= after; i++)
		memcpy(last + i * size, last - (i - mode) * size, size);
}

static enum nn_status execute_mirror_pad(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[0], *out = &r->outputs[0];
	size_t element = nn_type_info_of(in->type)->element_size;

	if (nn_tensor_count(out) == 0)
		return NN_OK;
	fill_middle(r, element);
	for (uint32_t axis = out->rank; axis-- > 0;) {
		size_t size = nn_tensor_product(out, axis + 1, out->rank) * element;
		uint32_t outer = nn_tensor_product(out, 0, axis);

		for (uint32_t i = 0; i < outer; i++)
			mirror_axis((char *)out->data + i * size * out->dims[axis], size,
				    (uint32_t)padding(r, axis, 0), in->dims[axis],
				    (uint32_t)padding(r, axis, 1), (uint32_t)nn_run_int(r, 2, 0));
	}
	return NN_OK;
}

/*
 * The rules accept paddings of any rank: as in the NNAPI, the rank of the paddings is checked at
 * run time.
 */
NN_OPERATION(PAD,
	NN_INPUTS(2, { NN_FLOATS | NN_QUANT8, 0, 4 }, { NN_T(NN_TENSOR_INT32), 0, 0 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(1),
	.infer = infer_pad, .execute = execute_pad);

/*
 * Checks the padding value of PAD_V2: for quantised tensors a stored value as INT32, for float
 * tensors a scalar of the same float type.
 */
static enum nn_status check_pad_v2(const struct nn_check *c)
{
	const bool is_q8 = NN_T(nn_check_in(c, 0)->type) & NN_QUANT8;

	return nn_check_input(c, 2, (struct nn_rule){ is_q8 ? NN_T(NN_INT32) : NN_SCALAR_OF, 0, 0 });
}

NN_OPERATION(PAD_V2,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8, 0, 4 }, { NN_T(NN_TENSOR_INT32), 0, 0 },
		  { NN_T(NN_INT32) | NN_SCALAR_OF, 0, 0 }),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(1),
	.check = check_pad_v2, .infer = infer_pad, .execute = execute_pad);

static enum nn_status check_mirror_pad(const struct nn_check *c)
{
	const struct nn_operand *in = nn_check_in(c, 0), *out = nn_check_out(c, 0);
	const struct nn_operand pairs = { .rank = 2, .dims = { in->rank, 2 } };

	if (!nn_check_shapes_agree(nn_check_in(c, 1), &pairs))
		return nn_check_fail_input(c, 1, "must be a pair for each dimension of input 0");
	if (in->rank && out->rank && in->rank != out->rank)
		return nn_check_fail_output(c, 0, "%u dimensions, must be %u", out->rank, in->rank);
	return nn_check_same_quant(c, 0, 0);
}

NN_OPERATION(MIRROR_PAD,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32), 0, 0 },
		  { NN_T(NN_TENSOR_INT32), 2, 2 }, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 0, 0 }),
	.determining = NN_IN(1),
	.check = check_mirror_pad, .infer = infer_mirror_pad, .execute = execute_mirror_pad);
