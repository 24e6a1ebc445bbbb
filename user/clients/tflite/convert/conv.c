/* SPDX-License-Identifier: MIT */
/*
 * Convolutions, poolings and GEMM.
 */
#include "clients/tflite/operations.h"

#include <stdlib.h>
#include <string.h>

#include "clients/dynamic.h"

/*
 * Returns whether the weights have 8 bits and the activations are float32 and quantised at run
 * time.
 */
static bool is_hybrid(const struct tfl_tensor *x, const struct tfl_tensor *w)
{
	return x->type == TFL_FLOAT32 && w->type == TFL_INT8;
}

/* Returns the filter's type; rejects kinds of filters that NNAPI lacks. */
static struct operand filter_of(struct lowering *t, const struct tfl_tensor *x, int rank)
{
	const struct tfl_tensor *w = tensor_in(t, 1);
	struct operand type = operand_type(t, w);

	if (!REFUSED_IF(t, is_hybrid(x, w) && (type.zero || !tensor_is_constant(w)),
			"int8 weights of float32 must be constant, with zero point 0") &&
	    !REFUSED_IF(t, w->type != x->type && !is_hybrid(x, w),
			"%s with %s weights is not supported", tensor_type_name(x->type),
			tensor_type_name(w->type)) &&
	    w->dims->size != rank)
		refuse(t, "the weights have %d dimensions, must be %d", w->dims->size, rank);
	return type;
}

/*
 * Returns the node's bias, or a bias of zeros if the node has none. The scale of a quantised bias
 * is the product of the scales of input and filter. The function computes the scale, because NNAPI
 * needs the exact product, and model files have rounded scales.
 */
static uint32_t bias_of(struct lowering *t, const struct tfl_tensor *x, uint32_t input,
			const struct operand *filter, uint32_t channels)
{
	const struct tfl_tensor *bias = tensor_in(t, input);
	struct operand type = { .type = NN(TENSOR_FLOAT32), .rank = 1, .dims = { channels } };

	if (x->type != TFL_FLOAT32) {
		type.type = NN(TENSOR_INT32);
		type.scale = filter->scales ? 0 : x->params.scale * filter->scale;
	}
	if (!bias)
		return constant_bytes(t, &type, builder_alloc(t->b, builder_size(&type)));
	if (bias->type != (x->type == TFL_FLOAT32 ? TFL_FLOAT32 : TFL_INT32))
		refuse(t, "%s with a bias of type %s is not supported", tensor_type_name(x->type),
		       tensor_type_name(bias->type));
	else if (tensor_count(bias) != channels)
		refuse(t, "the bias has %llu elements, must be %u",
		       (unsigned long long)tensor_count(bias), channels);
	return in_as(t, input, &type);
}

/*
 * Dequantises weights for a device that lacks the operation on 8-bit weights and float32
 * activations.
 */
static uint32_t real_weights(struct lowering *t)
{
	tfl(t)->dequantises = tensor_in(t, 1)->type != TFL_FLOAT32;
	return float_in(t, 1);
}

/*
 * Returns the operand that selects how the float32 activations of a product with 8-bit weights are
 * quantised.
 */
static uint32_t form_of(struct lowering *t, bool is_asymmetric)
{
	return scalar_int(t, is_asymmetric ? DYNAMIC_ROWS_ASYMMETRIC : DYNAMIC_ROWS);
}

static void count_work(struct lowering *t, const struct tfl_tensor *of, uint64_t taps)
{
	t->work += tensor_count(of) * taps;
}

/* ---- Windows ---- */

/* The first members of the parameters of convolutions and poolings. */
struct strides {
	int padding, width, height;
};

/* Reads the windows of a node that computes output 0 from the image x. */
static void read_window(struct lowering *t, struct window *w, const struct tfl_tensor *x,
			const uint32_t size[2], const int dilation[2])
{
	const struct strides *p = params(t);
	const struct tfl_tensor *out = tensor_out(t, 0);

	*w = (struct window){ .spatial = 2, .stride = { p->height, p->width } };
	if (x->dims->size != 4 || out->dims->size != 4)
		return refuse(t, "input or output has %d dimensions, must be 4", x->dims->size);
	if (p->padding != TFL_PADDING_SAME && p->padding != TFL_PADDING_VALID)
		return refuse(t, "padding %d does not exist", p->padding);
	w->batch = dim(x, 0);
	w->channels = dim(x, 3);
	for (int i = 0; i < 2; i++) {
		if (w->stride[i] <= 0 || dilation[i] <= 0 || !size[i])
			return refuse(t, "stride %lld, dilation or size is below 1",
				      (long long)w->stride[i]);
		w->size[i] = size[i];
		w->dilation[i] = dilation[i];
		w->in[i] = dim(x, 1 + i);
		w->out[i] = dim(out, 1 + i);
		if (p->padding == TFL_PADDING_SAME)
			window_same(w, i, true);
	}
}

void pool_op(struct lowering *t)
{
	const struct tfl_pool *p = params(t);
	const uint32_t size[2] = { (uint32_t)p->height, (uint32_t)p->width };
	struct window w;

	read_window(t, &w, tensor_in(t, 0), size, (const int[]){ 1, 1 });
	t->fused = fused_code(t, p->activation);
	if (!t->refused)
		set(t, 0, pooled(t, t->code, in(t, 0), &w));
}

static bool check_image(struct lowering *t, const struct tfl_tensor *x, const struct operand *w,
			uint32_t channel)
{
	/* TensorFlow Lite's kernels assume that the zero point of an int8 filter is 0. */
	if (!t->refused && x->type == TFL_INT8 && w->zero)
		refuse(t, "the zero point of int8 weights must be 0");
	return !REFUSED_IF(t, w->scales && w->channel != channel,
			   "scales of weights are for dimension %u, must be %u", w->channel,
			   channel);
}

/*
 * Converts a depthwise filter to the filter of a grouped convolution: makes channels the first
 * dimension.
 */
static uint32_t by_channel(struct lowering *t, struct operand type)
{
	const uint32_t channels = type.dims[3], taps = type.dims[1] * type.dims[2];
	const int8_t *from = data_of_count(t, tensor_in(t, 1), TFL_INT8, (uint64_t)channels * taps);

	type.dims[0] = channels;
	type.dims[3] = 1;
	type.channel = 0;
	return constant_bytes(t, &type, transposed_copy(t->b, from, 1, 1, taps, channels));
}

/*
 * Translates CONV_2D and DEPTHWISE_CONV_2D. The weights' output channels are the first dimension in
 * CONV_2D and the last dimension in DEPTHWISE_CONV_2D.
 */
void conv_op(struct lowering *t)
{
	const bool is_depthwise = t->code == NN(DEPTHWISE_CONV_2D);
	const struct tfl_depthwise *deep = params(t);
	const struct tfl_conv *p = params(t);
	const int dilation[2] = { is_depthwise ? deep->dilation_height : p->dilation_height,
				  is_depthwise ? deep->dilation_width : p->dilation_width };
	const uint32_t channel = is_depthwise ? 3 : 0;
	const struct tfl_tensor *x = tensor_in(t, 0);
	struct operand w = filter_of(t, x, 4);
	struct conv c = {
		.outputs = w.dims[channel], .inner = is_depthwise ? 1 : w.dims[3],
		.form = is_depthwise || w.scales ? DYNAMIC_ROWS_ASYMMETRIC : DYNAMIC_ROWS,
	};
	bool is_dynamic;

	if (t->refused)
		return;
	read_window(t, &c.w, x, &w.dims[1], dilation);
	if (!check_image(t, x, &w, channel))
		return;
	/*
	 * Compute the depth multiplier from the shapes, because the model file may have a wrong
	 * depth multiplier.
	 */
	if (dim(x, 3) % c.inner || c.outputs % (dim(x, 3) / c.inner) ||
	    (is_depthwise && w.dims[0] != 1))
		return refuse(t, "%u channels do not fit weights for %u", dim(x, 3), w.dims[3]);
	c.groups = dim(x, 3) / c.inner;
	is_dynamic = is_hybrid(x, tensor_in(t, 1)) && has_own(t);
	c.code = is_dynamic ? NN_OP_DYNAMIC_CONV_2D : is_depthwise ? NN(DEPTHWISE_CONV_2D) :
		 c.groups > 1 ? NN(GROUPED_CONV_2D) : NN(CONV_2D);
	c.x = in(t, 0);
	if (is_dynamic && is_depthwise)
		c.filter = by_channel(t, w);
	else
		c.filter = is_dynamic || x->type != TFL_FLOAT32 ? in(t, 1) : real_weights(t);
	c.bias = bias_of(t, x, 2, &w, c.outputs);
	t->fused = fused_code(t, is_depthwise ? deep->activation : p->activation);
	count_work(t, tensor_out(t, 0), (uint64_t)w.dims[1] * w.dims[2] * c.inner);
	set(t, 0, convolved(t, &c, out_like(t, 0)));
}

/*
 * Translates a transposed convolution of input `image`. If the windows at `steps` positions exceed
 * the output, half of the excess is cut off at the axis's start, and the rest at the axis's end.
 */
static void transposed_convolution(struct lowering *t, uint32_t image, uint32_t bias, int activation)
{
	const struct strides *p = params(t);
	const struct tfl_tensor *x = tensor_in(t, image);
	struct operand w = filter_of(t, x, 4);
	struct conv c = { .code = NN(TRANSPOSE_CONV_2D), .outputs = w.dims[0] };

	if (t->refused)
		return;
	read_window(t, &c.w, x, &w.dims[1], (const int[]){ 1, 1 });
	if (!check_image(t, x, &w, 0))
		return;
	if (is_hybrid(x, tensor_in(t, 1)))
		return refuse(t, "float32 with int8 weights is not supported");
	for (int i = 0; i < 2; i++) {
		const int64_t out = c.w.out[i], size = c.w.size[i], stride = c.w.stride[i];
		int64_t steps = p->padding == TFL_PADDING_SAME ? (out + stride - 1) / stride :
								 (out + stride - size) / stride;
		int64_t need = (steps - 1) * stride + size - out;

		/*
		 * For inputs of another size, TensorFlow Lite's kernels access other elements than
		 * NNAPI.
		 */
		if (steps != c.w.in[i])
			return refuse(t, "an output size of %lld is for %lld elements of the input, not %u",
				      (long long)out, (long long)steps, c.w.in[i]);
		c.w.head[i] = need > 0 ? need / 2 : 0;
		c.w.tail[i] = c.w.in[i] * stride + size - stride - c.w.head[i] - out;
	}
	c.x = in(t, image);
	c.filter = in(t, 1);
	c.bias = bias_of(t, x, bias, &w, c.outputs);
	t->fused = fused_code(t, activation);
	count_work(t, x, (uint64_t)w.dims[0] * w.dims[1] * w.dims[2]);
	set(t, 0, convolved(t, &c, out_like(t, 0)));
}

void transpose_conv_op(struct lowering *t)
{
	const struct tfl_transpose_conv *p = params(t);

	if (ints_of_count(t, 0, "the output shape", 4))
		transposed_convolution(t, 2, 3, tfl(t)->is_old ? TFL_ACT_NONE : p->activation);
}

/*
 * Computes the output shape of MediaPipe's transposed convolution, which has three parameters.
 * Returns false if the node lacks the inputs or parameters of MediaPipe's operation.
 */
static bool mediapipe_shape(const struct tfl_node *node, const struct tfl_tensor *x,
			    const struct tfl_tensor *w, int dims[4])
{
	const struct strides *p = node->custom_data;
	const int stride[2] = { p ? p->height : 0, p ? p->width : 0 };

	if (!p || node->custom_size < (int)sizeof(*p) || x->dims->size != 4 || w->dims->size != 4)
		return false;
	dims[0] = x->dims->data[0];
	dims[3] = w->dims->data[0];
	for (int i = 1; i < 3; i++) {
		const int64_t in = x->dims->data[i], size = w->dims->data[i], by = stride[i - 1];
		int64_t cut;

		if (by <= 0 || by > 1 << 15 || size > 1 << 15 || in > 1 << 15)
			return false;
		cut = p->padding == TFL_PADDING_SAME ? size - (in - 1) % by - 1 : 0;
		dims[i] = (int)(by * (in - 1) + size - (cut > 0 ? cut : 0));
	}
	return true;
}

int prepare_transpose_conv_bias(struct tfl_context *context, struct tfl_node *node)
{
	const struct tfl_tensor *tensors = context->tensors;
	struct tfl_ints *dims = malloc(sizeof(*dims) + 4 * sizeof(dims->data[0]));

	if (dims && mediapipe_shape(node, &tensors[node->inputs->data[0]],
				    &tensors[node->inputs->data[1]], dims->data)) {
		dims->size = 4;
		return context->resize_tensor(context, &context->tensors[node->outputs->data[0]],
					      dims);
	}
	free(dims);
	context->report_error(context, "nnaccel: a shape of Convolution2DTransposeBias is wrong");
	return TFL_ERROR;
}

void transpose_conv_bias_op(struct lowering *t)
{
	const struct tfl_tensor *out = tensor_out(t, 0);
	int dims[4];

	if (!mediapipe_shape(tfl(t)->node, tensor_in(t, 0), tensor_in(t, 1), dims))
		return refuse(t, "the shapes or strides are not supported");
	if (out->dims->size != 4 || memcmp(dims, out->dims->data, sizeof(dims)))
		return refuse(t, "the output must be of %d * %d", dims[1], dims[2]);
	transposed_convolution(t, 0, 2, TFL_ACT_NONE);
}

/* ---- GEMM ---- */

/*
 * Multiplies rows by weights that have a scale for each channel; emits a convolution in which each
 * row is an image of one pixel.
 */
static uint32_t by_conv(struct lowering *t, struct operand w, uint32_t rows, uint32_t bias,
			uint32_t like)
{
	struct conv c = { .w = { .size = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } },
			  .code = NN(CONV_2D), .bias = bias };

	w.rank = 4;
	w.dims[3] = w.dims[1];
	w.dims[1] = w.dims[2] = 1;
	c.x = view(t, in(t, 0), 4, (uint32_t[]){ rows, 1, 1, w.dims[3] });
	c.filter = in_as(t, 1, &w);
	return convolved(t, &c, result(t, like, 4, (uint32_t[]){ rows, 1, 1, w.dims[0] }));
}

void fully_connected_op(struct lowering *t)
{
	const struct tfl_fully_connected *p = params(t);
	const struct tfl_tensor *x = tensor_in(t, 0), *out = tensor_out(t, 0);
	struct operand w = filter_of(t, x, 2);
	uint32_t rows, bias, lines, y;
	bool hybrid;

	if (t->refused)
		return;
	if (p->weights_format)
		return refuse(t, "shuffled weights are not supported");
	if (tensor_count(x) % w.dims[1])
		return refuse(t, "%llu elements do not fit weights for %u",
			      (unsigned long long)tensor_count(x), w.dims[1]);
	rows = (uint32_t)(tensor_count(x) / w.dims[1]);
	if (tensor_count(out) != (uint64_t)rows * w.dims[0])
		return refuse(t, "the output must have %u rows of %u", rows, w.dims[0]);
	count_work(t, out, w.dims[1]);
	hybrid = is_hybrid(x, tensor_in(t, 1));
	if (w.scales && w.channel != 0)
		return refuse(t, "scales of weights are for dimension %u, must be 0", w.channel);
	bias = bias_of(t, x, 2, &w, w.dims[0]);
	t->fused = fused_code(t, p->activation);
	y = out_like(t, 0);
	if (w.scales && !hybrid)
		return set(t, 0, by_conv(t, w, rows, bias, y));
	y = result(t, y, 2, (uint32_t[]){ rows, w.dims[0] });
	lines = view(t, in(t, 0), 2, (uint32_t[]){ rows, w.dims[1] });
	if (hybrid && has_own(t))
		EMIT(t, NN_OP_DYNAMIC_FULLY_CONNECTED, y, lines, in(t, 1), bias,
		     scalar_int(t, t->fused), form_of(t, p->asymmetric_inputs));
	else
		EMIT(t, NN(FULLY_CONNECTED), y, lines, hybrid ? real_weights(t) : in(t, 1), bias,
		     scalar_int(t, t->fused));
	set(t, 0, y);
}

/* Returns an operand with added leading dimensions of size 1, so that its rank is `rank`. */
static uint32_t ranked(struct lowering *t, uint32_t operand, uint32_t rank)
{
	const uint32_t have = operand_of(t, operand)->rank;
	uint32_t dims[MAX_DIMS] = { 1, 1, 1, 1 };

	memcpy(dims + rank - have, operand_of(t, operand)->dims, have * sizeof(dims[0]));
	return view(t, operand, rank, dims);
}

/*
 * Translates BATCH_MATMUL. Quantised operands are converted to float32, because the float32 product
 * is faster. The error of the product's float32 sums is far below a quantum.
 */
void batch_matmul_op(struct lowering *t)
{
	const struct tfl_batch_matmul *p = params(t);
	const struct tfl_tensor *x = tensor_in(t, 0), *y = tensor_in(t, 1);
	const bool hybrid = is_hybrid(x, y), is_dynamic = hybrid && has_own(t);
	uint32_t rank = (uint32_t)(x->dims->size > y->dims->size ? x->dims->size : y->dims->size);
	const struct shape shape = shape_of(tensor_out(t, 0));
	uint32_t a, b, out, dims[MAX_DIMS];

	if (x->type != y->type && !hybrid)
		return refuse(t, "the factors must have one type");
	if (x->dims->size < 2 || y->dims->size < 2 || rank > 4)
		return refuse(t, "the factors have %d and %d dimensions, must be 2 to 4",
			      x->dims->size, y->dims->size);
	if (hybrid && (y->params.zero_point || operand_of(t, in(t, 1))->scales))
		return refuse(t, "an int8 factor of float32 must have one scale and zero point 0");
	count_work(t, tensor_out(t, 0), dim(x, x->dims->size - (p->adj_x ? 2 : 1)));
	tfl(t)->dequantises = hybrid && !is_dynamic;
	a = ranked(t, float_in(t, 0), rank);
	b = ranked(t, is_dynamic ? in(t, 1) : float_in(t, 1), rank);
	rank = flat(&shape, dims);
	out = result(t, a, rank, dims);
	if (is_dynamic)
		EMIT(t, NN_OP_DYNAMIC_BATCH_MATMUL, out, a, b, scalar_bool(t, p->adj_x),
		     scalar_bool(t, p->adj_y), form_of(t, p->asymmetric_inputs));
	else
		EMIT(t, NN(BATCH_MATMUL), out, a, b, scalar_bool(t, p->adj_x),
		     scalar_bool(t, p->adj_y));
	set(t, 0, out);
}
