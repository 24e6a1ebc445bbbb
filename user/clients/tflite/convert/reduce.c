/* SPDX-License-Identifier: MIT */
/* Reductions along axes, and indices of extreme elements. */
#include "clients/tflite/operations.h"

#include <string.h>

/* Reads the constant axes of input 1; returns their number. */
static int read_axes(struct lowering *t, bool marked[MAX_RANK])
{
	int64_t count, *axes = ints_in(t, 1, &count);
	int marks = 0;

	for (int64_t i = 0; axes && i < count && !t->refused; i++) {
		int axis = axis_of(t, axes[i], shape_in(t, 0)->rank);

		marks += !t->refused && !marked[axis];
		marked[axis] = true;
	}
	return marks;
}

/*
 * Computes the quantised mean over an image by a depthwise convolution with weights of 1 / (h * w).
 * The convolution converts to the output's scale and, like TensorFlow Lite, rounds once.
 */
static void mean_of_image(struct lowering *t)
{
	const struct tfl_tensor *x = tensor_in(t, 0);
	struct operand weights = operand_type(t, x);
	const uint32_t *size = &weights.dims[1], one[2] = { 1, 1 };
	struct conv c = {
		.w = { .size = { size[0], size[1] }, .stride = { 1, 1 }, .dilation = { 1, 1 },
		       .batch = weights.dims[0], .channels = weights.dims[3] },
		.code = NN(DEPTHWISE_CONV_2D), .outputs = weights.dims[3], .x = in(t, 0),
	};
	uint32_t dims[4];
	uint8_t *ones;

	window_dims(&c.w, c.outputs, one, dims);
	weights.zero = 0;
	weights.scale = 1 / (float)((double)size[0] * size[1]);
	weights.dims[0] = 1;
	ones = builder_alloc(t->b, builder_size(&weights));
	if (ones)
		memset(ones, 1, builder_size(&weights));
	c.filter = constant_bytes(t, &weights, ones);
	c.bias = bias_ints(t, c.outputs, x->params.scale * weights.scale,
			   builder_alloc(t->b, c.outputs * sizeof(int32_t)));
	t->work += tensor_count(x);
	set(t, 0, convolved(t, &c, result(t, out_like(t, 0), 4, dims)));
}

/*
 * Translates reductions. MEAN and REDUCE_SUM compute in float32; results of other reductions keep
 * the input's scale.
 */
void reduce_op(struct lowering *t)
{
	const bool is_sum = t->code == NN(REDUCE_SUM) || t->code == NN(MEAN);
	const struct tfl_reducer *p = params(t);
	const struct shape *shape = shape_in(t, 0);
	bool marked[MAX_RANK] = { false };
	const int count = read_axes(t, marked);
	struct shape to;
	uint32_t x;

	if (t->refused)
		return;
	if (t->code == NN(MEAN) && tensor_is_quant8(tensor_in(t, 0)) && shape->rank == 4 &&
	    count == 2 && marked[1] && marked[2] && shape->dims[1] <= 4096 &&
	    shape->dims[2] <= 4096)
		return mean_of_image(t);
	x = reduced(t, t->code, is_sum ? float_in(t, 0) : in(t, 0), shape, marked);
	to = reduced_shape(shape, marked, p->keep_dims);
	set_out(t, 0, x, &to);
}

void arg_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const int at = axis_in(t, 1, shape->rank);

	if (!t->refused)
		set(t, 0, place_of(t, t->code, in(t, 0), shape, at, false));
}

void top_k_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t *k = ints_of_count(t, 1, "the number of elements", 1);
	uint32_t out[2];

	if (REFUSED_IF(t, !shape->rank, "the input must not be a scalar"))
		return;
	topmost(t, in(t, 0), shape, shape->rank - 1, *k, true, out);
	set(t, 0, out[0]);
	set(t, 1, out[1]);
}

void cumsum_op(struct lowering *t)
{
	const struct tfl_cumsum *p = params(t);

	set_sums(t, p->exclusive, p->reverse);
}

void one_hot_op(struct lowering *t)
{
	const struct tfl_one_hot *p = params(t);
	int64_t *depth = ints_of_count(t, 1, "the depth", 1), *whole;
	float values[2] = { 0 };

	for (uint32_t i = 0; i < 2 && !t->refused; i++) {
		const struct tfl_tensor *value = tensor_in(t, 2 + i);

		if (value->type == TFL_FLOAT32) {
			const void *data = data_of_count(t, value, TFL_FLOAT32, 1);

			if (data)
				memcpy(&values[i], data, sizeof(values[i]));
			continue;
		}
		whole = ints_of_count(t, 2 + i, "a value", 1);
		if (whole && (*whole < -(1 << 24) || *whole > 1 << 24))
			refuse(t, "a value is %lld, must be within 2^24 of 0", (long long)*whole);
		if (!t->refused)
			values[i] = (float)*whole;
	}
	if (!t->refused)
		set_one_hot(t, low_in(t, 0), p->axis, *depth, in(t, 2), values[0], values[1]);
}
