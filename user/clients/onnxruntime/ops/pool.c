// SPDX-License-Identifier: MIT
/* Poolings. */
#include "ops.h"

#include <math.h>
#include <string.h>

/* Returns whether a window is larger than the padding on each side, as the NNAPI requires. */
static bool pads_fit(const struct window *w)
{
	for (int i = 0; i < 2; i++)
		if (w->head[i] >= w->size[i] || w->tail[i] >= w->size[i])
			return false;
	return true;
}

/*
 * Counts the elements of window `at` that lie in the input or, with `padded`, in the input and the
 * padding.
 */
static int elements_of_window(const struct window *w, int64_t at, bool padded)
{
	const int64_t low = padded ? -w->head[0] : 0, high = w->in[0] + (padded ? w->tail[1] : 0);
	int count = 0;

	for (int64_t k = 0; k < w->size[0]; k++) {
		int64_t place = at * w->stride[0] + k * w->dilation[0] - w->head[0];

		count += place >= low && place < high;
	}
	return count;
}

/*
 * Pools the middle axis of three axes. For each k, one operation (MAXIMUM or ADD) combines element
 * k of all windows with the result so far.
 */
static uint32_t pooled_axis(struct lowering *t, uint32_t x, const uint32_t dims[3],
			    const struct window *w, int32_t code)
{
	const int64_t length =
		(w->out[0] - 1) * w->stride[0] + (w->size[0] - 1) * w->dilation[0] + 1;
	const int64_t tail = length - w->head[0] - w->in[0];
	int32_t pairs[6] = { 0, 0, (int32_t)w->head[0], tail > 0 ? (int32_t)tail : 0 };
	const struct shape all = { 3, { dims[0], dims[1] + (uint32_t)(pairs[2] + pairs[3]),
					dims[2] } };
	struct range ranges[3] = { { 0, dims[0], 1, dims[0] }, { 0 }, { 0, dims[2], 1, dims[2] } };
	uint32_t sum = NO_OPERAND;

	x = view(t, x, 3, dims);
	if (pairs[2] || pairs[3])
		x = padded(t, NN(PAD_V2), x, pairs,
			   scalar_float(t, x, code == NN(MAXIMUM) ? -INFINITY : 0));
	for (int64_t k = 0; !t->refused && k < w->size[0]; k++) {
		uint32_t y;

		ranges[1] = (struct range){ k * w->dilation[0], 0, w->stride[0], w->out[0] };
		y = ranged(t, x, &all, ranges);
		sum = k ? arithmetic(t, code, sum, y) : y;
	}
	return sum;
}

/* Divides the sum of each window by the number of the window's elements. */
static uint32_t as_means(struct lowering *t, uint32_t x, const uint32_t dims[3],
			 const struct window *w)
{
	const struct shape all = { 3, { dims[0], w->out[0], dims[2] } }, line = { 3, { 1, w->out[0],
										       1 } };
	bool padded = attr_int(t, "count_include_pad", 0);
	float *parts = builder_alloc(t->b, w->out[0] * sizeof(*parts));

	for (uint32_t i = 0; parts && i < w->out[0]; i++)
		parts[i] = 1 / (float)elements_of_window(w, i, padded);
	return broadcast(t, NN(MUL), x, &all,
			 constant(t, x, 3, (uint32_t[]){ 1, w->out[0], 1 }, parts), &line, &all);
}

/*
 * Maximum number of elements of a window along an axis; the translator emits an operation for each
 * element.
 */
#define MOST_ELEMENTS 64

/*
 * Pools one axis after the other, for three dimensions, dilated windows, and LpPool. The result is
 * exact, because a window's maximum is the maximum of maxima along an axis, and the same holds for
 * sums. The number of a window's elements is the product of the numbers of elements along each
 * axis.
 */
static void pool_by_axes(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const bool is_max = t->code == NN(MAX_POOL_2D), is_power = t->code == NN(L2_POOL_2D);
	const int64_t p = attr_int(t, "p", 2);
	uint32_t x = float_in(t, 0), dims[3];
	struct shape to = *shape;
	struct window w[3];

	if (is_power && (p < 1 || p > 16))
		refuse(t, "p must be 1 to 16, is %lld", (long long)p);
	if (!axes_read(t, shape, NULL, w))
		return;
	if (is_power)
		x = unary(t, NN(ABS), x);
	if (is_power && p != 1)
		x = with_number(t, NN(POW), x, (float)p);
	for (int k = 0; !t->refused && k < shape->rank - 2; k++) {
		if (w[k].size[0] > MOST_ELEMENTS)
			return refuse(t, "a window axis has %lld elements, must be at most %d",
				      (long long)w[k].size[0], MOST_ELEMENTS);
		for (uint32_t i = 0; i < w[k].out[0]; i++)
			if (!elements_of_window(&w[k], i, false))
				return refuse(t, "the padding must be smaller than the window");
		around(&to, 2 + k, dims);
		x = pooled_axis(t, x, dims, &w[k], is_max ? NN(MAXIMUM) : NN(ADD));
		if (!is_max && !is_power)
			x = as_means(t, x, dims, &w[k]);
		to.dims[2 + k] = w[k].out[0];
		t->work += (uint64_t)(shape_count(&to) * w[k].size[0]);
	}
	if (is_power && p != 1)
		x = with_number(t, NN(POW), x, 1 / (float)p);
	set_out(t, 0, x, &to);
}

/*
 * Rejects nodes for which ONNX Runtime's CPU provider and ONNX disagree: dilations with auto_pad
 * SAME, and some means over the padding. From operator set 19 on, ONNX Runtime takes the padding at
 * the end of axis k from pads[2 * k + 1].
 */
static void refuse_disputed(struct lowering *t, int axes)
{
	const struct attribute *pads = attr(t, "pads"), *dilations = attr(t, "dilations");
	const bool is_same = !strncmp(attr_string(t, "auto_pad", "NOTSET"), "SAME_", 5);
	bool differs = is_same;

	for (size_t i = 0; is_same && dilations && dilations->ints && i < dilations->count; i++)
		if (dilations->ints[i] != 1)
			refuse(t, "dilations with auto_pad SAME are not supported");
	if (t->code != NN(AVERAGE_POOL_2D) || !attr_int(t, "count_include_pad", 0))
		return;
	for (int k = 0; pads && pads->ints && pads->count == 2 * (size_t)axes && k < axes; k++)
		differs |= pads->ints[2 * k + 1] != pads->ints[axes + k];
	if (op_set(t) < 19 ? attr_int(t, "ceil_mode", 0) : differs)
		refuse(t, "ONNX Runtime computes another mean of the padding");
}

void pool_op(struct lowering *t)
{
	bool average = t->code == NN(AVERAGE_POOL_2D);
	const struct shape *shape = shape_in(t, 0);
	struct shape out;
	struct window w;
	struct moved m;

	if (attr_int(t, "channels_last", 0))
		refuse(t, "channels_last is not supported");
	if (has_out(t, 1))
		refuse(t, "indices are not supported as an output");
	refuse_disputed(t, shape->rank - 2);
	if (shape->rank == 5 || t->code == NN(L2_POOL_2D))
		return pool_by_axes(t);
	if (!window_read(t, shape, NULL, &w))
		return;
	if (w.dilation[0] != 1 || w.dilation[1] != 1 ||
	    (average && attr_int(t, "count_include_pad", 0) && attr_int(t, "ceil_mode", 0)))
		return pool_by_axes(t);
	out = window_shape(&w, w.channels);
	m = moved_in(t);
	if (average && !m.quantised && is_quant8(t, m.x))
		refuse(t, "the mean of 8-bit integers is not supported");
	m.x = window_view(t, m.x, &w);
	if (average && attr_int(t, "count_include_pad", 0) &&
	    (w.head[0] || w.head[1] || w.tail[0] || w.tail[1]))
		m.x = window_padded(t, m.x, &w);
	if (!pads_fit(&w))
		refuse(t, "the padding must be smaller than the window");
	m.x = pooled(t, t->code, m.x, &w);
	moved_out(t, m, &out);
}

/* Pools over all spatial dimensions, whose sizes become 1. */
void global_pool_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const bool is_mean = t->code == NN(AVERAGE_POOL_2D);
	bool marked[MAX_RANK] = { false };
	struct shape out;
	struct moved m;

	if (attr_int(t, "channels_last", 0))
		refuse(t, "channels_last is not supported");
	if (REFUSED_IF(t, shape->rank < 3, "the input has no spatial dimension"))
		return;
	for (int i = 2; i < shape->rank; i++)
		marked[i] = true;
	out = reduced_shape(shape, marked, true);
	m = moved_in(t);
	if (shape->rank == 4 && (m.quantised || is_float(t, m.x)))
		m.x = global_pooled(t, t->code, m.x, shape);
	else
		m.x = reduced(t, is_mean ? NN(MEAN) : NN(REDUCE_MAX), m.x, shape, marked);
	moved_out(t, m, &out);
}
