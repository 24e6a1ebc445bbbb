/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and products of matrices.
 */
#include "clients/tflite/operations.h"

#include <stdlib.h>

#include "clients/dynamic.h"
#include "clients/tflite/delegate.h"

static uint32_t dim(const struct tfl_tensor *t, int i)
{
	return (uint32_t)t->dims->data[i];
}

/* Whether weights of 8 bits meet activations that are quantised when they run. */
static bool is_hybrid(const struct tfl_tensor *x, const struct tfl_tensor *w)
{
	return x->type == TFL_FLOAT32 && w->type == TFL_INT8;
}

/* Whether the devices have products for them. */
static bool has_dynamic(const struct graph *g)
{
	return g->delegate && delegate_has_dynamic(g->delegate);
}

/* The filter's values, with the kinds of filters checked that NNAPI has. */
static struct value filter_of(struct graph *g, const struct tfl_tensor *x, int input, int rank)
{
	const struct tfl_tensor *w = graph_input(g, input);
	struct value v = { .type = -1 };

	if (!w) {
		graph_refuse(g, "its weights are missing");
		return v;
	}
	v = graph_value_of(g, w);
	if (is_hybrid(x, w) && (v.zero_point || !tensor_is_constant(w)))
		graph_refuse(g, "a hybrid operation: weights with a zero point, or no constants");
	else if (w->type != x->type && !is_hybrid(x, w))
		graph_refuse(g, "%s with %s weights", tensor_type_name(x->type),
			     tensor_type_name(w->type));
	else if (w->dims->size != rank)
		graph_refuse(g, "weights of %d dimensions", w->dims->size);
	return v;
}

/*
 * The bias, or zeros. The scale of a quantised one is what the convolution makes it; NNAPI
 * wants it said, and files say it with more or fewer digits.
 */
static uint32_t bias_of(struct graph *g, const struct tfl_tensor *x, int input,
			const struct value *filter, uint32_t channels)
{
	const struct tfl_tensor *bias = graph_input(g, input);
	struct value v = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = 1,
			   .dims = { channels } };

	if (x->type != TFL_FLOAT32) {
		v.type = ANEURALNETWORKS_TENSOR_INT32;
		v.scale = filter->scales ? 0 : x->params.scale * filter->scale;
	}
	if (!bias)
		return graph_filled(g, &v, 0);
	if (bias->type != (x->type == TFL_FLOAT32 ? TFL_FLOAT32 : TFL_INT32))
		graph_refuse(g, "%s with a bias of type %s", tensor_type_name(x->type),
			     tensor_type_name(bias->type));
	else if (tensor_count(bias) != channels)
		graph_refuse(g, "a bias of %llu elements for %u channels",
			     (unsigned long long)tensor_count(bias), channels);
	else if (x->type != TFL_FLOAT32 && !tensor_is_constant(bias))
		graph_refuse(g, "a quantised bias that is not constant");
	return graph_view(g, graph_input_index(g, input), &v);
}

static bool check_image(struct graph *g, const struct tfl_tensor *x, const struct value *w)
{
	const struct tfl_tensor *out = graph_output(g, 0);

	if (!g->refused && (x->dims->size != 4 || out->dims->size != 4))
		graph_refuse(g, "%d dimensions, must be 4", x->dims->size);
	/* TensorFlow Lite's kernels take an int8 filter's zero point for 0. */
	if (!g->refused && x->type == TFL_INT8 && w->zero_point)
		graph_refuse(g, "int8 weights with a zero point that is not 0");
	return !g->refused;
}

/* The form of TensorFlow Lite's hybrid convolutions, which depends on the scales. */
static enum dynamic_form form_of_conv(const struct value *w)
{
	return w->scales ? DYNAMIC_ROWS_ASYMMETRIC : DYNAMIC_ROWS;
}

/* Weights for an operation on float32: of a device that lacks the hybrid one. */
static uint32_t real_weights(struct graph *g, int input)
{
	g->dequantises = graph_input(g, input)->type != TFL_FLOAT32;
	return graph_real_in(g, input);
}

/* A depthwise filter as one of groups: by channel. */
static uint32_t by_channel(struct graph *g, const struct tfl_tensor *w, const struct value *v)
{
	const uint32_t channels = v->dims[3], taps = v->dims[1] * v->dims[2];
	struct value turned = value_shaped(*v, 4, (const uint32_t[]){ channels, v->dims[1],
								      v->dims[2], 1 });
	const uint64_t count = (uint64_t)channels * taps;
	const int8_t *from = data_of_count(g, w, TFL_INT8, count);
	int8_t *to = from ? malloc(count) : NULL;
	uint32_t operand;

	if (from && !to)
		graph_refuse(g, "no memory");
	if (!to)
		return GRAPH_NONE;
	for (uint32_t c = 0; c < channels; c++)
		for (uint32_t k = 0; k < taps; k++)
			to[c * taps + k] = from[k * channels + c];
	turned.channel_dim = 0;
	operand = graph_constant(g, &turned, to, count);
	free(to);
	return operand;
}

static void count_work(struct graph *g, const struct tfl_tensor *out, uint64_t taps)
{
	if (!g->refused)
		g->work += tensor_count(out) * taps;
}

void convert_conv(struct graph *g, const struct operation *op)
{
	const struct tfl_conv *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);
	struct value w = filter_of(g, x, 1, 4);
	uint32_t groups, filter, bias;
	bool hybrid;

	(void)op;
	if (g->refused || !same_type(g, 0, 0) || !check_image(g, x, &w))
		return;
	if (w.scales && w.channel_dim != 0)
		return graph_refuse(g, "weights with scales for dimension %u", w.channel_dim);
	if (dim(x, 3) % w.dims[3] || w.dims[0] % (dim(x, 3) / w.dims[3]))
		return graph_refuse(g, "%u channels and weights for %u", dim(x, 3), w.dims[3]);
	groups = dim(x, 3) / w.dims[3];
	hybrid = is_hybrid(x, graph_input(g, 1));
	filter = hybrid && !has_dynamic(g) ? real_weights(g, 1) : graph_in(g, 1);
	bias = bias_of(g, x, 2, &w, w.dims[0]);
	count_work(g, out, (uint64_t)w.dims[1] * w.dims[2] * w.dims[3]);
	if (hybrid && has_dynamic(g)) {
		emit(g, NN_OP_DYNAMIC_CONV_2D, graph_out(g, 0), graph_in(g, 0), filter, bias,
		     graph_padding(g, p->padding), graph_i32(g, p->stride_width),
		     graph_i32(g, p->stride_height), graph_i32(g, (int32_t)groups),
		     graph_i32(g, form_of_conv(&w)), graph_activation(g, p->activation),
		     graph_bool(g, false), graph_i32(g, p->dilation_width),
		     graph_i32(g, p->dilation_height));
		return;
	}
	if (groups == 1) {
		emit(g, ANEURALNETWORKS_CONV_2D, graph_out(g, 0), graph_in(g, 0), filter, bias,
		     graph_padding(g, p->padding), graph_i32(g, p->stride_width),
		     graph_i32(g, p->stride_height), graph_activation(g, p->activation),
		     graph_bool(g, false), graph_i32(g, p->dilation_width),
		     graph_i32(g, p->dilation_height));
		return;
	}
	if (p->dilation_width != 1 || p->dilation_height != 1)
		return graph_refuse(g, "groups with a dilation");
	emit(g, ANEURALNETWORKS_GROUPED_CONV_2D, graph_out(g, 0), graph_in(g, 0), filter, bias,
	     graph_padding(g, p->padding), graph_i32(g, p->stride_width),
	     graph_i32(g, p->stride_height), graph_i32(g, (int32_t)groups),
	     graph_activation(g, p->activation), graph_bool(g, false));
}

void convert_depthwise(struct graph *g, const struct operation *op)
{
	const struct tfl_depthwise *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	struct value w = filter_of(g, x, 1, 4);
	uint32_t bias;

	(void)op;
	if (g->refused || !same_type(g, 0, 0) || !check_image(g, x, &w))
		return;
	if (w.scales && w.channel_dim != 3)
		return graph_refuse(g, "weights with scales for dimension %u", w.channel_dim);
	if (w.dims[0] != 1 || w.dims[3] % dim(x, 3))
		return graph_refuse(g, "%u channels and weights for %u", dim(x, 3), w.dims[3]);
	bias = bias_of(g, x, 2, &w, w.dims[3]);
	count_work(g, graph_output(g, 0), (uint64_t)w.dims[1] * w.dims[2]);
	if (is_hybrid(x, graph_input(g, 1)) && has_dynamic(g)) {
		emit(g, NN_OP_DYNAMIC_CONV_2D, graph_out(g, 0), graph_in(g, 0),
		     by_channel(g, graph_input(g, 1), &w), bias, graph_padding(g, p->padding),
		     graph_i32(g, p->stride_width), graph_i32(g, p->stride_height),
		     graph_i32(g, (int32_t)dim(x, 3)), graph_i32(g, DYNAMIC_ROWS_ASYMMETRIC),
		     graph_activation(g, p->activation), graph_bool(g, false),
		     graph_i32(g, p->dilation_width), graph_i32(g, p->dilation_height));
		return;
	}
	/* The multiplier follows from the shapes; what the file says is not always right. */
	emit(g, ANEURALNETWORKS_DEPTHWISE_CONV_2D, graph_out(g, 0), graph_in(g, 0),
	     x->type == TFL_FLOAT32 ? real_weights(g, 1) : graph_in(g, 1), bias, graph_padding(g, p->padding), graph_i32(g, p->stride_width),
	     graph_i32(g, p->stride_height), graph_i32(g, (int32_t)(w.dims[3] / dim(x, 3))),
	     graph_activation(g, p->activation), graph_bool(g, false),
	     graph_i32(g, p->dilation_width), graph_i32(g, p->dilation_height));
}

/* The padding on one side of an axis: head as TensorFlow Lite puts it, and what remains. */
struct sides {
	int32_t head, tail;
};

static struct sides sides_of(struct graph *g, int padding, uint32_t in, uint32_t out,
			     uint32_t filter, int stride)
{
	int64_t steps, need;
	struct sides s = { 0, 0 };

	if (stride <= 0) {
		graph_refuse(g, "a stride of %d", stride);
		return s;
	}
	steps = padding == TFL_PADDING_SAME ? ((int64_t)out + stride - 1) / stride :
		((int64_t)out + stride - filter) / stride;
	need = (steps - 1) * stride + filter - out;
	if (need > 0)
		s.head = (int32_t)(need / 2);
	s.tail = (int32_t)((int64_t)in * stride + filter - stride - s.head - out);
	return s;
}

void convert_transpose_conv(struct graph *g, const struct operation *op)
{
	const struct tfl_transpose_conv *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 2), *out = graph_output(g, 0);
	struct value w = filter_of(g, x, 1, 4);
	struct sides rows, columns;
	int32_t shape[4];
	uint32_t bias;

	(void)op;
	if (g->refused || !same_type(g, 2, 0) || !check_image(g, x, &w))
		return;
	if (is_hybrid(x, graph_input(g, 1)))
		return graph_refuse(g, "a hybrid operation: float32 with int8 weights");
	if (graph_read_ints(g, graph_input(g, 0), "the output shape", shape, 4) < 0)
		return;
	if (w.scales && w.channel_dim != 0)
		return graph_refuse(g, "weights with scales for dimension %u", w.channel_dim);
	rows = sides_of(g, p->padding, dim(x, 1), dim(out, 1), w.dims[1], p->stride_height);
	columns = sides_of(g, p->padding, dim(x, 2), dim(out, 2), w.dims[2], p->stride_width);
	bias = bias_of(g, x, 3, &w, w.dims[0]);
	count_work(g, x, (uint64_t)w.dims[0] * w.dims[1] * w.dims[2]);
	emit(g, ANEURALNETWORKS_TRANSPOSE_CONV_2D, graph_out(g, 0), graph_in(g, 2),
	     graph_in(g, 1), bias, graph_i32(g, columns.head), graph_i32(g, columns.tail),
	     graph_i32(g, rows.head), graph_i32(g, rows.tail), graph_i32(g, p->stride_width),
	     graph_i32(g, p->stride_height), graph_activation(g, p->activation),
	     graph_bool(g, false));
}

/* Weights with a scale per channel: a convolution of images of one pixel. */
static void by_conv(struct graph *g, const struct tfl_fully_connected *p,
		    const struct tfl_tensor *x, struct value *w, uint32_t rows)
{
	uint32_t units = w->dims[0], size = w->dims[1];
	struct value out = graph_value_of(g, graph_output(g, 0));
	uint32_t bias = bias_of(g, x, 2, w, units), image, y;

	if (w->channel_dim != 0)
		return graph_refuse(g, "weights with scales for dimension %u", w->channel_dim);
	*w = value_shaped(*w, 4, (const uint32_t[]){ units, 1, 1, size });
	out = value_shaped(out, 4, (const uint32_t[]){ rows, 1, 1, units });
	image = graph_reshaped(g, graph_in(g, 0), 4, (const uint32_t[]){ rows, 1, 1, size });
	y = graph_temporary(g, &out);
	emit(g, ANEURALNETWORKS_CONV_2D, y, image, graph_view(g, graph_input_index(g, 1), w),
	     bias, graph_i32(g, ANEURALNETWORKS_PADDING_VALID), graph_i32(g, 1),
	     graph_i32(g, 1), graph_activation(g, p->activation));
	graph_reshape_to(g, y, 0);
}

void convert_fully_connected(struct graph *g, const struct operation *op)
{
	const struct tfl_fully_connected *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);
	struct value w = filter_of(g, x, 1, 2), flat;
	uint32_t rows, bias, in, y;
	bool hybrid;

	(void)op;
	if (g->refused || !same_type(g, 0, 0))
		return;
	if (p->weights_format)
		return graph_refuse(g, "weights in an order of their own");
	if (tensor_count(x) % w.dims[1])
		return graph_refuse(g, "%llu elements and weights for %u",
				    (unsigned long long)tensor_count(x), w.dims[1]);
	rows = (uint32_t)(tensor_count(x) / w.dims[1]);
	if (tensor_count(out) != (uint64_t)rows * w.dims[0])
		return graph_refuse(g, "an output of another size than %u rows of %u", rows,
				    w.dims[0]);
	count_work(g, out, w.dims[1]);
	hybrid = is_hybrid(x, graph_input(g, 1));
	if (w.scales && !hybrid)
		return by_conv(g, p, x, &w, rows);
	/* TensorFlow Lite's kernel takes the one scale that there is not for 0. */
	if (w.scales)
		return graph_refuse(g, "a hybrid operation: weights with scales by channel");
	bias = bias_of(g, x, 2, &w, w.dims[0]);
	flat = value_shaped(graph_value_of(g, out), 2, (const uint32_t[]){ rows, w.dims[0] });
	y = out->dims->size == 2 ? graph_out(g, 0) : graph_temporary(g, &flat);
	in = graph_reshaped(g, graph_in(g, 0), 2, (const uint32_t[]){ rows, w.dims[1] });
	if (hybrid && has_dynamic(g))
		emit(g, NN_OP_DYNAMIC_FULLY_CONNECTED, y, in, graph_in(g, 1), bias,
		     graph_activation(g, p->activation),
		     graph_i32(g, p->asymmetric_inputs ? DYNAMIC_ROWS_ASYMMETRIC : DYNAMIC_ROWS));
	else
		emit(g, ANEURALNETWORKS_FULLY_CONNECTED, y, in,
		     hybrid ? real_weights(g, 1) : graph_in(g, 1), bias,
		     graph_activation(g, p->activation));
	if (out->dims->size != 2)
		graph_reshape_to(g, y, 0);
}

/* An operand of an input with dimensions of 1 in front. */
static uint32_t ranked(struct graph *g, int input, uint32_t operand, int rank)
{
	const struct tfl_tensor *t = graph_input(g, input);
	uint32_t dims[4] = { 1, 1, 1, 1 };
	int missing = rank - t->dims->size;

	for (int i = 0; i < t->dims->size; i++)
		dims[missing + i] = dim(t, i);
	return graph_reshaped(g, operand, (uint32_t)rank, dims);
}

static uint32_t of_rank(struct graph *g, int input, int rank)
{
	return ranked(g, input, graph_real_in(g, input), rank);
}

/* Quantised ones are computed as float32, which is faster; sums are exact to far below a quantum. */
void convert_batch_matmul(struct graph *g, const struct operation *op)
{
	const struct tfl_batch_matmul *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0), *y = graph_input(g, 1);
	uint32_t out;
	int rank;

	(void)op;
	if (!y || (x->type != y->type && !is_hybrid(x, y)))
		return graph_refuse(g, "factors of different types");
	if (!same_type(g, 0, 0))
		return;
	rank = x->dims->size > y->dims->size ? x->dims->size : y->dims->size;
	if (x->dims->size < 2 || y->dims->size < 2 || rank > 4)
		return graph_refuse(g, "factors of %d and %d dimensions, must be 2 to 4",
				    x->dims->size, y->dims->size);
	count_work(g, graph_output(g, 0), dim(x, x->dims->size - (p->adj_x ? 2 : 1)));
	if (is_hybrid(x, y) && (y->params.zero_point || graph_value_of(g, y).scales))
		return graph_refuse(g, "a hybrid operation: a factor with a zero point or scales");
	g->dequantises = is_hybrid(x, y) && !has_dynamic(g);
	if (is_hybrid(x, y) && has_dynamic(g)) {
		emit(g, NN_OP_DYNAMIC_BATCH_MATMUL, graph_out(g, 0), of_rank(g, 0, rank),
		     ranked(g, 1, graph_in(g, 1), rank), graph_bool(g, p->adj_x),
		     graph_bool(g, p->adj_y),
		     graph_i32(g, p->asymmetric_inputs ? DYNAMIC_ROWS_ASYMMETRIC : DYNAMIC_ROWS));
		return;
	}
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_BATCH_MATMUL, out, of_rank(g, 0, rank), of_rank(g, 1, rank),
	     graph_bool(g, p->adj_x), graph_bool(g, p->adj_y));
	graph_end_real(g, 0, out);
}
