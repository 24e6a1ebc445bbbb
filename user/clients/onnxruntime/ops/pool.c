// SPDX-License-Identifier: MIT
/* Poolings. */
#include "ops.h"

/* A window must be larger than the padding on each side of it. */
static bool pads_fit(const struct window *w)
{
	for (int i = 0; i < 2; i++)
		if (w->head[i] >= w->size[i] || w->tail[i] >= w->size[i])
			return false;
	return true;
}

/*
 * Pools in three dimensions: over rows and columns, then over the first spatial dimension. A
 * maximum of maxima is the maximum; a mean of means is the mean if all have the same number of
 * elements.
 */
static void deep_pool(struct lowering *t, bool average)
{
	const struct shape *shape = shape_in(t, 0);
	struct window w[2];
	struct shape out;
	uint32_t x = float_in(t, 0);

	if (!windows_read(t, shape, w))
		return;
	for (int i = 0; i < 2; i++) {
		bool bordered = w[i].head[0] || w[i].head[1] || w[i].tail[0] || w[i].tail[1];

		if (w[i].dilation[0] != 1 || w[i].dilation[1] != 1)
			refuse(t, "a dilated window");
		if (!pads_fit(&w[i]) || (average && bordered))
			refuse(t, "a border of a mean, or one wider than the window");
	}
	if (has_out(t, 1))
		refuse(t, "indices as an output");
	for (int i = 0; !t->refused && i < 2; i++) {
		t->work = 0;
		x = pooled(t, t->code, window_view(t, x, &w[i]), &w[i]);
	}
	out = *shape;
	out.dims[2] = w[1].out[0];
	out.dims[3] = w[0].out[0];
	out.dims[4] = w[0].out[1];
	set_out(t, 0, x, &out);
}

void pool_op(struct lowering *t)
{
	bool average = t->code == NN(AVERAGE_POOL_2D), quantised;
	const struct shape *shape = shape_in(t, 0);
	struct shape out;
	struct window w;
	uint32_t x;

	if (attr_int(t, "channels_last", 0))
		refuse(t, "channels_last");
	if (shape->rank == 5)
		return deep_pool(t, average);
	if (!window_read(t, shape, NULL, &w))
		return;
	out = window_shape(&w, w.channels);
	if (w.dilation[0] != 1 || w.dilation[1] != 1)
		refuse(t, "a dilated window");
	if (has_out(t, 1))
		refuse(t, "indices as an output");
	if (!average && (type_in(t, 0) == ONNX_UINT8 || type_in(t, 0) == ONNX_INT8) &&
	    !pads_fit(&w))
		refuse(t, "a border wider than the window");
	quantised = quantised_node(t, 1, false) && same_quantisation(t, 0);
	x = quantised ? quantised_in(t, 0) : in(t, 0);
	if (average && !quantised && is_quant8(t, x))
		refuse(t, "a mean of 8-bit integers");
	x = window_view(t, x, &w);
	if (average && attr_int(t, "count_include_pad", 0) &&
	    (w.head[0] || w.head[1] || w.tail[0] || w.tail[1])) {
		/* Elements that ceil_mode adds do not count. */
		if (attr_int(t, "ceil_mode", 0))
			refuse(t, "count_include_pad with ceil_mode");
		x = window_padded(t, x, &w);
	}
	if (!pads_fit(&w))
		refuse(t, "a border wider than the window");
	x = pooled(t, t->code, x, &w);
	if (quantised)
		set_quantised_out(t, x, &out);
	else
		set_out(t, 0, x, &out);
}

/* Pools over all spatial dimensions, which become 1. */
void global_pool_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t lines = 1, x, axis;
	struct shape out = *shape;
	uint32_t dims[3];

	if (attr_int(t, "channels_last", 0))
		refuse(t, "channels_last");
	if (shape->rank < 3)
		refuse(t, "no dimension of space");
	for (int i = 2; i < shape->rank; i++) {
		lines *= (uint32_t)shape->dims[i];
		out.dims[i] = 1;
	}
	if (shape->rank == 4 && quantised_node(t, 1, false) && same_quantisation(t, 0)) {
		x = global_pooled(t, t->code, quantised_in(t, 0), shape);
		set_quantised_out(t, x, &out);
		return;
	}
	x = in(t, 0);
	if (t->refused)
		return;
	if (shape->rank == 4 && is_float(t, x))
		return set_out(t, 0, global_pooled(t, t->code, x, shape), &out);
	dims[0] = (uint32_t)shape->dims[0];
	dims[1] = (uint32_t)shape->dims[1];
	dims[2] = lines;
	x = view(t, x, 3, dims);
	dims[2] = 1;
	axis = vector_int(t, 1, (int32_t[]){ 2 });
	if (t->code == NN(AVERAGE_POOL_2D))
		x = EMIT(t, NN(MEAN), result(t, x, 3, dims), x, axis, scalar_int(t, 1));
	else
		x = EMIT(t, NN(REDUCE_MAX), result(t, x, 3, dims), x, axis, scalar_bool(t, true));
	t->work = (uint64_t)shape_count(shape);
	set_out(t, 0, x, &out);
}
