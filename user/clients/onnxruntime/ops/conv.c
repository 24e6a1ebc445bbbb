// SPDX-License-Identifier: MIT
/*
 * Convolutions. The dimensions of filters have another order in ONNX (output, input, space) than in
 * the NNAPI.
 */
#include "ops.h"

#include <string.h>

#include <nnaccel/operation.h>
#include "../dynamic.h"
#include "clients/dynamic.h"

static bool is_depthwise(const struct conv *c)
{
	return c->code == NN(DEPTHWISE_CONV_2D);
}

/* Converts filters [O, I, H, W] to [O, H, W, I], or to [1, H, W, O] if I is 1. */
static void *filters(struct lowering *t, const void *from, size_t size, const struct conv *c)
{
	const uint32_t area = (uint32_t)(c->w.size[0] * c->w.size[1]);

	return is_depthwise(c) ? transposed_copy(t->b, from, size, 1, c->outputs, area) :
				 transposed_copy(t->b, from, size, c->outputs, c->inner, area);
}

static void filter_dims(const struct conv *c, uint32_t dims[4])
{
	dims[0] = is_depthwise(c) ? 1 : c->outputs;
	dims[1] = (uint32_t)c->w.size[0];
	dims[2] = (uint32_t)c->w.size[1];
	dims[3] = is_depthwise(c) ? c->outputs : c->inner;
}

/* Emits operations that transpose a filter that is not constant. */
static uint32_t filter_operand(struct lowering *t, const struct conv *c)
{
	uint32_t dims[4], area = (uint32_t)(c->w.size[0] * c->w.size[1]), x;
	struct operand type = { .rank = 4 };
	int from = type_in(t, 1);
	const void *data;

	filter_dims(c, dims);
	if (constant_count(t, 1) >= 0 && (from == ONNX_FLOAT || from == ONNX_FLOAT16)) {
		data = data_of_count(t, 1, from, (int64_t)area * c->outputs * c->inner);
		type.type = nnapi_type(from);
		memcpy(type.dims, dims, sizeof(dims));
		return constant_bytes(t, &type, filters(t, data, onnx_size(from), c));
	}
	x = in(t, 1);
	if (is_depthwise(c))
		x = transposed(t, view(t, x, 2, (uint32_t[]){ c->outputs, area }), 2,
			       (int[]){ 1, 0 });
	else
		x = transposed(t, view(t, x, 3, (uint32_t[]){ c->outputs, c->inner, area }), 3,
			       (int[]){ 0, 2, 1 });
	return view(t, x, 4, dims);
}

static uint32_t bias_operand(struct lowering *t, uint32_t index, const struct conv *c)
{
	return has_in(t, index) ? view(t, in(t, index), 1, &c->outputs) :
	       zeros(t, c->x, 1, &c->outputs);
}

static uint32_t int_bias(struct lowering *t, const struct conv *c,
			 const struct weights *weights, const int32_t *bias)
{
	return bias_ints(t, c->outputs, weights->scale_count != 1 ? 0 :
			 operand_of(t, c->x)->scale * weights->scales[0], bias);
}

static uint32_t weights_of(struct lowering *t, const struct conv *c,
			   const struct weights *weights)
{
	uint32_t dims[4];

	filter_dims(c, dims);
	return weights_operand(t, weights, c->x, 4, dims, is_depthwise(c) ? 3 : 0,
			       filters(t, weights->elements, 1, c));
}

/* Returns an operand for the result of a convolution, with the type of the input. */
static uint32_t image(struct lowering *t, const struct conv *c)
{
	uint32_t dims[4];

	window_dims(&c->w, c->outputs, c->w.out, dims);
	return result(t, c->x, 4, dims);
}

/* Emits a convolution that computes operand `out`, which becomes output 0 of the ONNX node. */
static void set_conv(struct lowering *t, struct conv *c, uint32_t out)
{
	const struct shape shape = window_shape(&c->w, c->outputs);

	set_out(t, 0, convolved(t, c, out), &shape);
}

static void read_conv(struct lowering *t, struct conv *c, const struct shape *shape,
		      const struct shape *filter)
{
	int64_t groups = attr_int(t, "group", 1);

	if (REFUSED_IF(t, filter->rank != shape->rank, "the filter has %d dimensions, must be %d",
		       filter->rank, shape->rank) ||
	    !window_read(t, shape, filter->dims + 2, &c->w))
		return;
	c->outputs = (uint32_t)filter->dims[0];
	c->inner = (uint32_t)filter->dims[1];
	if (groups < 1 || groups > c->w.channels || c->w.channels % groups ||
	    c->inner != c->w.channels / groups || c->outputs % groups) {
		refuse(t, "%lld groups do not fit %u channels and the filter", (long long)groups,
		       c->w.channels);
		t->apart[0] = c->w.channels;
		t->apart[1] = groups * c->inner;
		return;
	}
	c->groups = (uint32_t)groups;
	c->code = groups == 1 ? NN(CONV_2D) : groups == c->w.channels ? NN(DEPTHWISE_CONV_2D) :
		  NN(GROUPED_CONV_2D);
	t->work = (uint64_t)c->w.batch * c->outputs * c->w.out[0] * c->w.out[1] * c->inner *
		  (uint64_t)(c->w.size[0] * c->w.size[1]);
}

static bool quantised_conv(struct lowering *t, struct conv *c)
{
	uint32_t dims[4] = { c->w.batch, c->outputs, c->w.out[0], c->w.out[1] }, out;
	const struct shape shape = window_shape(&c->w, c->outputs);
	struct weights weights;
	const int32_t *bias;

	if (t->refused || !quantised_weights(t, 1, 0, &weights) || !quantised_node(t, 1, true))
		return false;
	c->x = window_view(t, quantised_in(t, 0), &c->w);
	bias = quantised_bias(t, 2, operand_of(t, c->x)->scale, &weights, c->outputs);
	if (!bias) {
		t->fused = NN(FUSED_NONE);
		return false;
	}
	c->filter = weights_of(t, c, &weights);
	c->bias = int_bias(t, c, &weights, bias);
	out = quantised_result(t, 4, dims);
	convolved(t, c, out);
	set_quantised_out(t, out, &shape);
	return true;
}

void conv_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *filter = shape_in(t, 1);
	struct shape to;
	struct conv c;
	uint32_t x;

	memset(&c, 0, sizeof(c));
	read_conv(t, &c, shape, filter);
	if (t->refused)
		return;
	if (!is_node(t, "FusedConv") && quantised_conv(t, &c))
		return;
	c.x = window_view(t, float_in(t, 0), &c.w);
	c.filter = filter_operand(t, &c);
	c.bias = bias_operand(t, 2, &c);
	to = window_shape(&c.w, c.outputs);
	x = view_shape(t, convolved(t, &c, image(t, &c)), &to);
	if (has_in(t, 3))
		x = plus_in(t, x, &to, 3);
	set_out(t, 0, activated(t, x), &to);
}

/* ---- ConvInteger and its pattern ---- */

void dynamic_conv(struct lowering *t, const struct dynamic_node *d)
{
	const struct value *filter = value_at(t, d->product->in[1]);
	const struct node *node = onnx(t)->node;
	const struct shape *shape;
	uint32_t x = dynamic_in(t, d, &shape), dims[4];
	const void *data;
	struct conv c;

	memset(&c, 0, sizeof(c));
	onnx(t)->node = d->product;
	read_conv(t, &c, shape, &filter->shape);
	onnx(t)->node = node;
	if (t->refused)
		return;
	/* DEPTHWISE_CONV_2D on floats does not support weights with a scale for each channel. */
	c.code = has_own(t) ? NN_OP_DYNAMIC_CONV_2D :
		 c.groups == 1 ? NN(CONV_2D) : NN(GROUPED_CONV_2D);
	c.form = DYNAMIC_TENSOR;
	c.x = window_view(t, x, &c.w);
	data = value_of_count(t, d->product->in[1], filter->type,
			      c.w.size[0] * c.w.size[1] * c.outputs * c.inner);
	filter_dims(&c, dims);
	c.filter = dynamic_weights(t, d, data, 4, dims);
	c.bias = dynamic_bias(t, d, c.outputs);
	set_conv(t, &c, image(t, &c));
}

/* ---- QLinearConv: x, scale, zero, w, scale, zero, y scale, zero, bias ---- */

void qlinear_conv_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *filter = shape_in(t, 3);
	struct weights weights;
	uint32_t dims[4], out;
	struct conv c;

	memset(&c, 0, sizeof(c));
	read_conv(t, &c, shape, filter);
	window_dims(&c.w, c.outputs, c.w.out, dims);
	out = qlinear_result(t, 6, 4, dims);
	if (t->refused)
		return;
	if (!weights_read(t, onnx(t)->node, 3, filter, 0, &weights))
		return refuse(t, "the weights must be constant with one scale, or symmetric "
			      "with one scale for each output");
	if (type_in(t, 7) != type_in(t, 0))
		refuse(t, "the output must have the type of the input");
	c.x = window_view(t, qlinear_in(t, 0), &c.w);
	c.filter = weights_of(t, &c, &weights);
	c.bias = int_bias(t, &c, &weights,
			  has_in(t, 8) ? data_of_count(t, 8, ONNX_INT32, c.outputs) :
					 builder_alloc(t->b, c.outputs * sizeof(int32_t)));
	set_conv(t, &c, out);
}

/* ---- transposed ---- */

/*
 * Maximum number of groups of a transposed convolution; each group becomes a separate convolution.
 */
enum { MOST_GROUPS = 64 };

/*
 * Computes the padding and the output size of a transposed convolution. If the node has the
 * attribute output_shape, the padding follows from output_shape.
 */
static void transposed_window(struct lowering *t, struct window *w, const struct shape *shape)
{
	const struct attribute *wanted = attr(t, "output_shape");
	const struct attribute *more = attr(t, "output_padding");
	const char *automatic = attr_string(t, "auto_pad", "NOTSET");
	int first = 2 - w->spatial;

	for (int i = first; i < 2; i++) {
		size_t at = (size_t)(i - first);
		int64_t extra = more && more->ints && at < more->count ? more->ints[at] : 0;
		int64_t full, out, border;

		if (extra < 0 || extra > 1 << 24)
			return refuse(t, "output_padding is %lld, not 0 to 2^24", (long long)extra);
		full = ((int64_t)w->in[i] - 1) * w->stride[i] + extra +
		       (w->size[i] - 1) * w->dilation[i] + 1;
		out = full - w->head[i] - w->tail[i];
		if (wanted && wanted->ints && wanted->count >= (size_t)w->spatial)
			out = wanted->ints[wanted->count - (size_t)w->spatial + at];
		else if (!strncmp(automatic, "SAME_", 5))
			out = w->in[i] * w->stride[i];
		/*
		 * Reject outputs that exceed the windows, because ONNX Runtime does not write the
		 * bias to the excess.
		 */
		if (out < 1 || out > 1 << 24 || full < out)
			return refuse(t, "output dimension %lld is not 1 to 2^24, or exceeds the "
				      "windows", (long long)out);
		if (wanted || !strncmp(automatic, "SAME_", 5)) {
			border = full - out < 0 ? 0 : full - out;
			w->head[i] = !strcmp(automatic, "SAME_UPPER") ? border / 2 :
								       border - border / 2;
			w->tail[i] = full - out - w->head[i];
		}
		w->tail[i] -= extra;
		w->out[i] = (uint32_t)out;
	}
	(void)shape;
}

/* Emits the transposed convolution of one group and returns the convolution's result. */
static uint32_t conv_transposed(struct lowering *t, struct conv c, uint32_t x, uint32_t filter,
				uint32_t bias)
{
	const uint32_t area = (uint32_t)(c.w.size[0] * c.w.size[1]);

	c.x = window_view(t, x, &c.w);
	/* Transpose [I, O, area] to [O, area, I]; constants are transposed during compilation. */
	filter = view(t, filter, 3, (uint32_t[]){ c.inner, c.outputs, area });
	filter = transposed(t, filter, 3, (int[]){ 1, 2, 0 });
	c.filter = view(t, filter, 4, (uint32_t[]){ c.outputs, (uint32_t)c.w.size[0],
						    (uint32_t)c.w.size[1], c.inner });
	c.bias = view(t, bias, 1, &c.outputs);
	return convolved(t, &c, image(t, &c));
}

void conv_transpose_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *filter = shape_in(t, 1);
	const int64_t groups = attr_int(t, "group", 1);
	uint32_t x[MOST_GROUPS + 1], weights, bias;
	struct conv c;
	struct shape of;
	int64_t size[2];

	memset(&c, 0, sizeof(c));
	if (REFUSED_IF(t, filter->rank != shape->rank || shape->rank < 3 || shape->rank > 4,
		       "%d spatial dimensions, must be 1 or 2 as in the filter", shape->rank - 2))
		return;
	/*
	 * window_read() rejects windows that exceed the input, which a transposed convolution
	 * allows, so pass a large input shape.
	 */
	of = *shape;
	for (int i = 0; i < shape->rank - 2; i++) {
		size[i] = filter->dims[2 + i];
		of.dims[2 + i] = 1 << 20;
	}
	if (!window_read(t, &of, size, &c.w))
		return;
	for (int i = 0; i < c.w.spatial; i++)
		c.w.in[2 - c.w.spatial + i] = (uint32_t)shape->dims[2 + i];
	if (!strncmp(attr_string(t, "auto_pad", "NOTSET"), "SAME_", 5))
		memset(c.w.head, 0, sizeof(c.w.head)), memset(c.w.tail, 0, sizeof(c.w.tail));
	transposed_window(t, &c.w, shape);
	if (REFUSED_IF(t, filter->dims[0] != c.w.channels,
		       "the filter has %lld input channels, must be %u", (long long)filter->dims[0],
		       c.w.channels) ||
	    REFUSED_IF(t, groups < 1 || groups > MOST_GROUPS || c.w.channels % groups,
		       "%lld groups must divide %u channels and be at most %d", (long long)groups,
		       c.w.channels, MOST_GROUPS))
		return;
	c.outputs = (uint32_t)(filter->dims[1] * groups);
	c.x = float_in(t, 0);
	c.code = NN(TRANSPOSE_CONV_2D);
	of = window_shape(&c.w, c.outputs);
	weights = in(t, 1);
	bias = bias_operand(t, 2, &c);
	t->work = (uint64_t)shape_count(filter) * c.w.batch * c.w.in[0] * c.w.in[1];
	c.w.channels /= (uint32_t)groups;
	c.inner = c.w.channels;
	c.outputs = (uint32_t)filter->dims[1];
	for (uint32_t i = 0; i < groups; i++) {
		const struct shape line = { 1, { filter->dims[1] * groups } };

		x[i] = groups == 1 ? c.x : taken(t, c.x, shape, 1, i * c.inner, c.inner);
		x[i] = conv_transposed(t, c, x[i], taken(t, weights, filter, 0, i * c.inner,
							 c.inner),
				       taken(t, bias, &line, 0, i * c.outputs, c.outputs));
	}
	set_out(t, 0, groups == 1 ? x[0] : concatenated(t, x, (uint32_t)groups, &of, 1, x[0]), &of);
}
