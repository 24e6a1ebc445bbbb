// SPDX-License-Identifier: MIT
/*
 * Translates products and windowed operations: convolutions, FULLY_CONNECTED, BATCH_MATMUL and
 * pooling.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/conv.h"
#include "ops/dynamic.h"
#include "ops/matmul.h"
#include "ops/requant.h"
#include "vulkan/lower.h"

/*
 * Maximum number of groups of four elements in a filter. The limit is needed because the shader
 * divides the index of a group as a float.
 */
#define MAX_PARTS (1u << 22)

/*
 * Several work groups find the range of a tensor's values; each work group reads at least MIN_RANGE
 * elements. At most MAX_RANGES work groups find the range of a tensor.
 */
#define MIN_RANGE 4096u
#define MAX_RANGES 256u

enum { X, FILTER, BIAS };

static void set_image(struct window_params *p, const struct nn_image *in, const struct nn_image *out,
		      bool nchw)
{
	const struct strides from = lower_strides(in, nchw), to = lower_strides(out, nchw);

	p->images = out->n;
	p->in_h = in->h;
	p->in_w = in->w;
	p->out_h = out->h;
	p->out_w = out->w;
	p->in_image = from.image;
	p->in_pixel = from.pixel;
	p->in_channel = from.channel;
	p->out_image = to.image;
	p->out_pixel = to.pixel;
	p->out_channel = to.channel;
	p->inner_batches = 1;
	p->multiplier = 1;
}

static void set_window(struct window_params *p, const struct nn_window *w)
{
	p->kernel_h = w->h.filter;
	p->kernel_w = w->w.filter;
	p->stride_h = w->h.stride;
	p->stride_w = w->w.stride;
	p->dilation_h = w->h.dilation;
	p->dilation_w = w->w.dilation;
	p->head_h = (int32_t)w->h.head;
	p->head_w = (int32_t)w->w.head;
}

/*
 * Sets the output's bounds, which depend on the fused activation, and, for 8-bit values, the zero
 * points.
 */
static void set_range(struct lower *l, struct window_params *p, int32_t activation)
{
	const struct nn_tensor *x = &l->run.inputs[X], *out = &l->run.outputs[0];

	nn_fused_range_float(activation, &p->low, &p->high);
	if (x->type == NN_TENSOR_FLOAT32)
		return;
	nn_fused_range(activation, out->type, out->scale, out->zero_point, &p->low_q, &p->high_q);
	p->in_zero = x->zero_point;
	p->out_zero = out->zero_point;
}

static bool is_float(const struct lower *l)
{
	return l->run.inputs[X].type == NN_TENSOR_FLOAT32;
}

/* Returns whether the operation quantises its float input to bytes at run time. */
static bool is_dynamic(const struct lower *l)
{
	return is_float(l) && l->run.inputs[FILTER].type != NN_TENSOR_FLOAT32;
}

/*
 * Adds a constant with a multiplier and a shift for each channel or, if the product is quantised at
 * run time, a scale for each channel.
 */
static void set_scales(struct lower *l, struct dispatch *d, uint32_t channels)
{
	struct nn_multiplier *multipliers;
	float *scales;

	if (is_dynamic(l)) {
		scales = calloc(channels, sizeof(*scales));
		for (uint32_t i = 0; scales && i < channels; i++)
			scales[i] = nn_dynamic_weight_scale(&l->run, i);
		d->tensors[4] = lower_constant(l, scales, channels * sizeof(*scales), 4);
		return;
	}
	multipliers = calloc(channels, sizeof(*multipliers));
	if (multipliers)
		nn_requant_multipliers(&l->run, 0, channels, multipliers);
	d->tensors[3] = lower_constant(l, multipliers, channels * sizeof(*multipliers), 4);
}

static void set_tensors(struct lower *l, struct dispatch *d, uint32_t channels)
{
	struct window_params *p = &d->params.window;

	d->constants[0] = lower_input_type(l, X);
	d->constants[1] = lower_input_type(l, FILTER);
	d->tensors[X] = lower_input(l, X);
	d->tensors[FILTER] = lower_input(l, FILTER);
	d->tensors[OUTPUT] = lower_output(l, 0);
	if (p->has_bias)
		d->tensors[BIAS] = lower_input(l, BIAS);
	if (is_float(l) && !is_dynamic(l))
		return;
	p->filter_zero = l->run.inputs[FILTER].zero_point;
	set_scales(l, d, channels);
}

/*
 * Adds the dispatches that quantise the float input of a product to bytes. Each row of `size`
 * elements is quantised by itself; elements of a row are `inner` elements apart.
 */
static enum nn_status quantise(struct lower *l, struct dispatch *product, uint32_t size,
			       uint32_t inner)
{
	const int32_t form = nn_run_int(&l->run, nn_dynamic_form_input(&l->run), 0);
	const uint32_t total = nn_tensor_count(&l->run.inputs[X]);
	const bool is_tensor = form == NN_DYNAMIC_TENSOR;
	struct quantise_params p = { .total = total, .size = size, .inner = inner };
	struct window_params *w = &product->params.window;
	struct dispatch range, bytes;
	enum nn_status status;

	if (form == NN_DYNAMIC_ROWS_ASYMMETRIC)
		return lower_refuse(l, "form %d needs float64, which shaders lack", form);
	w->row_size = is_tensor ? total : size;
	if (is_tensor) {
		p.size = total / MAX_RANGES < MIN_RANGE ? MIN_RANGE : total / MAX_RANGES + 1;
		p.inner = 1;
	} else if (inner > 1) {
		w->in_image = size;
		w->in_channel = 1;
	}
	p.count = (total + p.size - 1) / p.size;
	range = lower_groups(l, SHADER_range, p.count);
	range.cost = total;
	range.params.quantise = p;
	range.constants[0] = lower_input_type(l, X);
	range.tensors[X] = lower_input(l, X);
	range.tensors[OUTPUT] = lower_temporary(l, (uint64_t)p.count * 8, 4);
	bytes = range;
	bytes.shader = SHADER_quantise;
	bytes.constants[1] = is_tensor;
	bytes.tensors[1] = range.tensors[OUTPUT];
	bytes.tensors[2] = product->tensors[3] = lower_temporary(l, (uint64_t)p.count * 8, 4);
	bytes.tensors[OUTPUT] = product->tensors[X] = lower_temporary(l, total, 1);
	status = lower_add(l, &range);
	return status ? status : lower_add(l, &bytes);
}

static enum nn_status add_product(struct lower *l, struct dispatch *d, uint32_t channels,
				  uint32_t size, uint32_t inner)
{
	enum nn_status status = NN_OK;

	set_tensors(l, d, channels);
	if (is_dynamic(l))
		status = quantise(l, d, size, inner);
	return status ? status : lower_add(l, d);
}

/*
 * Returns the dispatch that computes `batches` matrix products. Each product has a row for each
 * output pixel of all images, and `width` columns.
 */
static struct dispatch product(struct lower *l, const struct window_params *p, uint32_t batches)
{
	const uint64_t rows = (uint64_t)p->images * p->out_h * p->out_w;
	const uint64_t taps = (uint64_t)p->kernel_h * p->kernel_w;
	struct dispatch d = lower_groups(l, is_dynamic(l) ? SHADER_conv_d : is_float(l) ?
					 SHADER_conv_f : SHADER_conv_q, 1);
	const uint64_t groups = (rows + TILE - 1) / TILE;

	/* lower_add() refuses it. */
	if (groups > UINT32_MAX || taps * (p->depth / 4 + 1) > MAX_PARTS)
		d.groups[0] = UINT32_MAX;
	else
		d.groups[0] = (uint32_t)groups;
	d.groups[1] = (p->width + TILE - 1) / TILE;
	d.groups[2] = batches;
	d.cost = rows * p->width * taps * p->depth * batches;
	d.params.window = *p;
	return d;
}

static enum nn_status add_conv(struct lower *l, const struct nn_conv *c, bool is_transposed)
{
	const uint32_t size = c->window.h.filter * c->window.w.filter * c->depth;
	struct window_params p = { .depth = c->depth, .width = c->width, .has_bias = 1 };
	struct dispatch d;

	set_image(&p, &c->in, &c->out, c->nchw);
	set_window(&p, &c->window);
	set_range(l, &p, nn_run_int(&l->run, c->args.activation, 0));
	p.filter_depth = 1;
	p.filter_width = size;
	p.in_outer = c->depth * p.in_channel;
	p.filter_outer = c->width * size;
	p.out_batch = c->width * p.out_channel;
	p.bias_batch = c->width;
	d = product(l, &p, c->groups);
	d.constants[2] = is_transposed;
	return add_product(l, &d, c->out.c, p.in_image, 1);
}

enum nn_status lower_conv(struct lower *l)
{
	struct nn_window_args args = nn_window_run_args(&l->run);
	bool is_grouped = l->operation->type != NN_OP_CONV_2D;
	struct nn_conv c = { 0 };

	if (nn_conv_prepare(&l->run, is_grouped ? nn_run_int(&l->run, args.own, 0) : 1, &c))
		return NN_INVALID_ARGUMENT;
	return add_conv(l, &c, false);
}

enum nn_status lower_transposed(struct lower *l)
{
	const bool is_explicit = l->run.num_inputs == 11;
	const uint32_t *filter = l->run.inputs[FILTER].dims;
	struct nn_conv c = { .args = nn_window_args(is_explicit ? 3 : 4, 0, is_explicit), .groups = 1,
			     .depth = filter[3], .width = filter[0] };
	int32_t request[2] = { 0 };

	c.nchw = nn_run_bool(&l->run, c.args.nchw, false);
	c.in = nn_image_of(&l->run.inputs[X], c.nchw);
	c.out = nn_image_of(&l->run.outputs[0], c.nchw);
	c.window.h = (struct nn_axis){ .in = c.in.h, .filter = filter[1] };
	c.window.w = (struct nn_axis){ .in = c.in.w, .filter = filter[2] };
	if (!is_explicit)
		memcpy(request, (const int32_t *)l->run.inputs[3].data + (c.nchw ? 2 : 1),
		       sizeof(request));
	if (nn_window_infer_transposed(&l->run, &c.args, request, &c.window))
		return NN_INVALID_ARGUMENT;
	return add_conv(l, &c, true);
}

/* Translates windowed operations that compute each channel independently. */
static enum nn_status channelwise(struct lower *l, struct dispatch *d, uint32_t filter_h,
				  uint32_t filter_w)
{
	const struct nn_window_args args = nn_window_run_args(&l->run);
	const bool nchw = nn_run_bool(&l->run, args.nchw, false);
	const struct nn_image in = nn_image_of(&l->run.inputs[X], nchw);
	const struct nn_image out = nn_image_of(&l->run.outputs[0], nchw);
	struct nn_window window = {
		.h = { .in = in.h, .filter = filter_h }, .w = { .in = in.w, .filter = filter_w },
	};

	if (nn_window_infer(&l->run, &args, &window))
		return NN_INVALID_ARGUMENT;
	set_image(&d->params.window, &in, &out, nchw);
	set_window(&d->params.window, &window);
	set_range(l, &d->params.window, nn_run_int(&l->run, args.activation, 0));
	d->params.window.width = out.c;
	d->params.window.multiplier = out.c / in.c;
	d->cost *= (uint64_t)filter_h * filter_w;
	return NN_OK;
}

enum nn_status lower_depthwise(struct lower *l)
{
	const uint32_t *filter = l->run.inputs[FILTER].dims;
	struct dispatch d = lower_linear(l, is_float(l) ? SHADER_depthwise_f : SHADER_depthwise_q,
					 nn_tensor_count(&l->run.outputs[0]));
	enum nn_status status = channelwise(l, &d, filter[1], filter[2]);

	if (status)
		return status;
	d.params.window.has_bias = 1;
	set_tensors(l, &d, filter[3]);
	return lower_add(l, &d);
}

enum nn_status lower_pool(struct lower *l)
{
	const struct nn_window_args args = nn_window_run_args(&l->run);
	struct dispatch d = lower_linear(l, SHADER_pool, nn_tensor_count(&l->run.outputs[0]));
	enum nn_status status = channelwise(l, &d, (uint32_t)nn_run_int(&l->run, args.own + 1, 1),
					    (uint32_t)nn_run_int(&l->run, args.own, 1));

	if (status)
		return status;
	d.constants[0] = lower_input_type(l, X);
	d.constants[1] = l->argument;
	d.tensors[X] = lower_input(l, X);
	d.tensors[OUTPUT] = lower_output(l, 0);
	return lower_add(l, &d);
}

/*
 * Returns the parameters of a matrix product as a convolution: each row of the first factor becomes
 * an image of one pixel.
 */
static struct window_params matrices(uint32_t rows, uint32_t depth, uint32_t columns)
{
	const struct nn_image in = { rows, 1, 1, depth }, out = { rows, 1, 1, columns };
	const struct nn_axis one = { .filter = 1, .stride = 1, .dilation = 1 };
	const struct nn_window window = { one, one };
	struct window_params p = { .depth = depth, .width = columns };

	set_image(&p, &in, &out, false);
	set_window(&p, &window);
	return p;
}

enum nn_status lower_fully_connected(struct lower *l)
{
	const uint32_t *weights = l->run.inputs[FILTER].dims;
	struct window_params p = matrices(l->run.outputs[0].dims[0], weights[1], weights[0]);
	struct dispatch d;

	set_range(l, &p, nn_run_int(&l->run, 3, 0));
	p.has_bias = 1;
	p.filter_depth = 1;
	p.filter_width = weights[1];
	d = product(l, &p, 1);
	return add_product(l, &d, weights[0], weights[1], 1);
}

/*
 * Returns the distance, in elements, between matrices along a batch axis, or 0 if the matrices are
 * broadcast along the axis. The parameter `axis` is 1 for the last axis, 2 for the axis before, and
 * so on.
 */
static uint32_t batch_step(const struct nn_tensor *t, uint32_t axis)
{
	return t->rank < axis || t->dims[t->rank - axis] == 1 ? 0 :
	       nn_tensor_product(t, t->rank - axis + 1, t->rank);
}

enum nn_status lower_matmul(struct lower *l)
{
	const struct nn_factor a = nn_matmul_factor(&l->run, 0), b = nn_matmul_factor(&l->run, 1);
	const struct nn_tensor *x = &l->run.inputs[X], *y = &l->run.inputs[FILTER];
	const struct nn_tensor *out = &l->run.outputs[0];
	struct window_params p = matrices(a.rows, a.columns, b.columns);
	struct dispatch d;

	set_range(l, &p, 0);
	p.in_image = (uint32_t)a.row_step;
	p.in_channel = (uint32_t)a.column_step;
	p.filter_depth = (uint32_t)b.row_step;
	p.filter_width = (uint32_t)b.column_step;
	p.inner_batches = out->rank > 2 ? out->dims[out->rank - 3] : 1;
	p.in_inner = batch_step(x, 3);
	p.in_outer = batch_step(x, 4);
	p.filter_inner = batch_step(y, 3);
	p.filter_outer = batch_step(y, 4);
	p.out_batch = a.rows * b.columns;
	d = product(l, &p, nn_tensor_product(out, 0, out->rank - 2));
	return add_product(l, &d, b.columns, a.columns, a.column_step > 1 ? a.rows : 1);
}
