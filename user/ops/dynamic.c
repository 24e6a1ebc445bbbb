/* SPDX-License-Identifier: MIT */
/*
 * DYNAMIC_FULLY_CONNECTED, DYNAMIC_BATCH_MATMUL and DYNAMIC_CONV_2D: products of floats, which are
 * quantised when they are known, and weights that were quantised before. Results are floats.
 */
#include <math.h>

#include "ops/conv.h"
#include "ops/dot.h"
#include "ops/matmul.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "ops/requant.h"

/* Forms of quantising the floats: each is one of a runtime. */
enum {
	TENSOR,			/* all alike, to uint8: DynamicQuantizeLinear of ONNX */
	ROWS,			/* each row or image by itself, to int8 without a zero point, */
	ROWS_ASYMMETRIC,	/* and with one: TensorFlow Lite's hybrid kernels do either */
	NUM_FORMS,
};

enum { X, WEIGHTS, BIAS, ACTIVATION, FC_FORM, MATMUL_FORM = 4 };

/* ---- Quantising floats ---- */

/* A whole number from low to high; NaN is low. */
static int32_t whole(float value, float low, float high)
{
	return (int32_t)(value > low ? value < high ? value : high : low);
}

static void find_range(const float *x, size_t count, float *low, float *high)
{
	*low = *high = 0;
	for (size_t i = 0; i < count; i++) {
		*low = x[i] < *low ? x[i] : *low;
		*high = x[i] > *high ? x[i] : *high;
	}
}

/* Each writes numbers less their zero point, and returns the scale. */
static float quantise_tensor(const float *x, size_t count, int16_t *q)
{
	float low, high, scale;
	int32_t zero;

	find_range(x, count, &low, &high);
	scale = high > low ? (high - low) / 255 : 1;
	zero = whole(rintf(-low / scale), 0, 255);
	for (size_t i = 0; i < count; i++)
		q[i] = (int16_t)(whole(rintf(x[i] / scale) + (float)zero, 0, 255) - zero);
	return scale;
}

static float quantise_row(const float *x, size_t count, int16_t *q)
{
	float low, high, range, inverse;

	find_range(x, count, &low, &high);
	range = high > -low ? high : -low;
	inverse = range > 0 ? 127 / range : 0;
	for (size_t i = 0; i < count; i++)
		q[i] = (int16_t)whole(roundf(x[i] * inverse), -127, 127);
	return range > 0 ? range / 127 : 1;
}

static float quantise_row_asymmetric(const float *x, size_t count, int16_t *q)
{
	double scale, from_low, from_high;
	float low, high, inverse;
	int32_t zero;

	find_range(x, count, &low, &high);
	if (!(high > low)) {
		for (size_t i = 0; i < count; i++)
			q[i] = 0;
		return 1;
	}
	scale = ((double)high - (double)low) / 255;
	from_low = -128 - (double)low / scale;
	from_high = 127 - (double)high / scale;
	/* The one of the smaller rounding error. */
	zero = whole((float)round(128 - (double)low / scale < 127 + (double)high / scale ?
				  from_low : from_high), -128, 127);
	inverse = (float)(1 / scale);
	for (size_t i = 0; i < count; i++)
		q[i] = (int16_t)(whole(roundf((float)zero + x[i] * inverse), -128, 127) - zero);
	return (float)scale;
}

/* Floats in rows as numbers of 16 bits, and the scale of each row. */
struct quantised {
	const int16_t *values;
	const float *scales;
};

static bool quantise(struct nn_run *r, int32_t form, const float *x, size_t rows, size_t length,
		     struct quantised *q)
{
	int16_t *values = nn_run_alloc(r, rows * length, sizeof(*values));
	float *scales = nn_run_alloc(r, rows, sizeof(*scales));

	*q = (struct quantised){ values, scales };
	if (!x || !values || !scales)
		return false;
	if (form == TENSOR)
		scales[0] = quantise_tensor(x, rows * length, values);
	for (size_t i = 0; i < rows; i++) {
		const float *row = x + i * length;
		int16_t *to = values + i * length;

		if (form == TENSOR)
			scales[i] = scales[0];
		else if (form == ROWS)
			scales[i] = quantise_row(row, length, to);
		else
			scales[i] = quantise_row_asymmetric(row, length, to);
	}
	return true;
}

/* ---- What all have in common ---- */

static enum nn_status check_weights(const struct nn_check *c, uint8_t min_rank, uint8_t max_rank)
{
	return nn_check_input(c, WEIGHTS, (struct nn_rule){
		NN_QUANT8 | NN_T(NN_TENSOR_QUANT8_SYMM) | NN_T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL),
		min_rank, max_rank });
}

/* Weights with a bias for each of their rows, by which they may be quantised. */
static enum nn_status check_filter(const struct nn_check *c, uint8_t rank)
{
	enum nn_status status = nn_check_input(c, X, (struct nn_rule){ NN_FLOATS, rank, 4 });

	if (!status)
		status = check_weights(c, rank, rank);
	if (!status && nn_check_in(c, WEIGHTS)->extra.kind == NN_EXTRA_CHANNEL_QUANT &&
	    nn_check_in(c, WEIGHTS)->extra.channel_dim)
		status = nn_check_fail_input(c, WEIGHTS, "quantised along dimension %u, must be 0",
					     nn_check_in(c, WEIGHTS)->extra.channel_dim);
	if (!status)
		status = nn_check_input(c, BIAS, (struct nn_rule){ NN_SAME, 1, 1 });
	return status ? status : nn_check_output(c, 0, (struct nn_rule){ NN_SAME, rank, rank });
}

static enum nn_status infer_common(const struct nn_run *r, uint32_t form, uint32_t channels)
{
	const struct nn_extra *extra = r->inputs[WEIGHTS].extra;
	int32_t value = nn_run_int(r, form, 0);

	if (value < 0 || value >= NUM_FORMS)
		return nn_run_fail(r, "input %u: %d is no form, must be 0 to %d", form, value,
				   NUM_FORMS - 1);
	if (extra->kind == NN_EXTRA_CHANNEL_QUANT && extra->count != channels)
		return nn_run_fail(r, "input 1: %u scales for %u channels", extra->count, channels);
	return NN_OK;
}

static float weight_scale(const struct nn_run *r, uint32_t channel)
{
	const struct nn_extra *extra = r->inputs[WEIGHTS].extra;

	return extra->kind == NN_EXTRA_CHANNEL_QUANT ? extra->scales[channel] :
						       r->inputs[WEIGHTS].scale;
}

/* ---- DYNAMIC_FULLY_CONNECTED ---- */

static enum nn_status check_fully_connected(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 5, 5, 1, 1);

	for (uint32_t i = ACTIVATION; !status && i <= FC_FORM; i++)
		status = nn_check_input(c, i, (struct nn_rule)NN_SCALAR_INT);
	return status ? status : check_filter(c, 2);
}

static enum nn_status infer_fully_connected(struct nn_run *r)
{
	enum nn_status status = nn_fully_connected_infer(r);

	return status ? status : infer_common(r, FC_FORM, r->inputs[WEIGHTS].dims[0]);
}

static enum nn_status execute_fully_connected(struct nn_run *r)
{
	const size_t rows = r->outputs[0].dims[0], length = r->inputs[WEIGHTS].dims[1];
	const uint32_t units = r->outputs[0].dims[1];
	const int16_t *weights = nn_q8_widened(r, &r->inputs[WEIGHTS], r->inputs[WEIGHTS].data);
	const float *bias = r->inputs[BIAS].data;
	float *out = r->outputs[0].data;
	struct quantised x;
	float low, high;

	nn_fused_range_float(nn_run_int(r, ACTIVATION, 0), &low, &high);
	if (!weights ||
	    !quantise(r, nn_run_int(r, FC_FORM, 0), r->inputs[X].data, rows, length, &x))
		return NN_OUT_OF_MEMORY;
	for (size_t i = 0; i < rows; i++) {
		for (uint32_t u = 0; u < units; u++) {
			int32_t sum = (int32_t)nn_dot_i16(x.values + i * length,
							  weights + u * length, length);
			float value = (float)sum * (x.scales[i] * weight_scale(r, u)) + bias[u];

			*out++ = value < low ? low : value > high ? high : value;
		}
	}
	return NN_OK;
}

/* ---- DYNAMIC_BATCH_MATMUL ---- */

static enum nn_status check_batch_matmul(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 5, 5, 1, 1);

	if (!status)
		status = nn_check_input(c, X, (struct nn_rule){ NN_FLOATS, 2, 4 });
	if (!status)
		status = check_weights(c, 2, 4);
	for (uint32_t i = 2; !status && i < MATMUL_FORM; i++)
		status = nn_check_input(c, i, (struct nn_rule)NN_SCALAR_BOOL);
	if (!status)
		status = nn_check_input(c, MATMUL_FORM, (struct nn_rule)NN_SCALAR_INT);
	return status ? status : nn_check_output(c, 0, (struct nn_rule){ NN_SAME, 2, 4 });
}

static enum nn_status infer_batch_matmul(struct nn_run *r)
{
	const struct nn_tensor *y = &r->inputs[WEIGHTS];
	enum nn_status status = nn_matmul_infer(r);
	uint32_t columns;

	if (status)
		return status;
	columns = y->rank - (nn_run_bool(r, 3, false) ? 2 : 1);
	if (y->extra->kind == NN_EXTRA_CHANNEL_QUANT && y->extra->channel_dim != columns)
		return nn_run_fail(r, "input 1: quantised along dimension %u, must be %u",
				   y->extra->channel_dim, columns);
	return infer_common(r, MATMUL_FORM, y->dims[columns]);
}

/* The matrices of input 0, their rows one after the other. */
static const float *in_rows(struct nn_run *r, const struct nn_factor *a, size_t rows)
{
	const float *from = r->inputs[X].data;
	float *copy;

	if (a->column_step == 1)
		return from;
	copy = nn_run_alloc(r, rows * a->columns, sizeof(*copy));
	for (size_t i = 0; copy && i < rows; i++) {
		const float *matrix = from + i / a->rows * a->rows * a->columns;

		for (size_t k = 0; k < a->columns; k++)
			copy[i * a->columns + k] = matrix[i % a->rows * a->row_step +
							  k * a->column_step];
	}
	return copy;
}

/* Columns of a matrix, one after the other. */
static void copy_columns(const int16_t *from, const struct nn_factor *b, int16_t *columns)
{
	for (size_t j = 0; j < b->columns; j++)
		for (size_t k = 0; k < b->rows; k++)
			*columns++ = from[k * b->row_step + j * b->column_step];
}

static enum nn_status execute_batch_matmul(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[X], *y = &r->inputs[WEIGHTS], *o = &r->outputs[0];
	const struct nn_factor a = nn_matmul_factor(r, X), b = nn_matmul_factor(r, WEIGHTS);
	const size_t rows = nn_tensor_count(x) / a.columns, depth = a.columns;
	const uint32_t batches = nn_tensor_product(o, 0, o->rank - 2);
	const int16_t *weights = nn_q8_widened(r, y, y->data);
	int16_t *columns = nn_run_alloc(r, b.columns * depth, sizeof(*columns));
	float *out = o->data;
	struct quantised q;

	if (!weights || !columns ||
	    !quantise(r, nn_run_int(r, MATMUL_FORM, 0), in_rows(r, &a, rows), rows, depth, &q))
		return NN_OUT_OF_MEMORY;
	for (uint32_t n = 0; n < batches; n++) {
		const size_t first = nn_matmul_start(x, o, n) / depth;

		copy_columns(weights + nn_matmul_start(y, o, n), &b, columns);
		for (size_t i = first; i < first + a.rows; i++) {
			for (uint32_t j = 0; j < b.columns; j++) {
				int32_t sum = (int32_t)nn_dot_i16(q.values + i * depth,
								  columns + j * depth, depth);

				*out++ = (float)sum * (q.scales[i] * weight_scale(r, j));
			}
		}
	}
	return NN_OK;
}

/* ---- DYNAMIC_CONV_2D ---- */

/* Its own arguments are the number of groups and the form. */
static uint32_t form_of(const struct nn_window_args *args)
{
	return args->own + 1;
}

static enum nn_status check_conv(const struct nn_check *c)
{
	struct nn_window_args args = nn_window_check_args(c);
	enum nn_status status = nn_window_check(c, &args, NN_WINDOW_DILATIONS_OPTIONAL);

	return status ? status : check_filter(c, 4);
}

static enum nn_status prepare_conv(const struct nn_run *r, struct nn_conv *v)
{
	const struct nn_window_args args = nn_window_run_args(r);
	enum nn_status status = infer_common(r, form_of(&args), r->inputs[WEIGHTS].dims[0]);

	return status ? status : nn_conv_prepare(r, nn_run_int(r, args.own, 0), v);
}

static enum nn_status infer_conv(struct nn_run *r)
{
	struct nn_conv v;
	enum nn_status status = prepare_conv(r, &v);

	if (!status)
		nn_image_set(&r->outputs[0], v.nchw, &v.out);
	return status;
}

/* All channels of one output pixel; `image` is that of the input. */
static void conv_pixel(const struct nn_run *r, const struct nn_conv *v, const struct quantised *x,
		       const int16_t *weights, uint32_t image, const struct nn_span *spans,
		       size_t count, float *out)
{
	const size_t taps = (size_t)v->window.h.filter * v->window.w.filter * v->depth;
	const size_t at = (size_t)image * v->in.h * v->in.w * v->in.c;
	const float *bias = r->inputs[BIAS].data;
	float low, high;

	nn_fused_range_float(nn_run_int(r, v->args.activation, 0), &low, &high);
	for (uint32_t c = 0; c < v->out.c; c++) {
		const int16_t *in = x->values + at + (size_t)(c / v->width) * v->depth;
		uint32_t sum = 0;
		float value;

		for (const struct nn_span *s = spans; s < spans + count; s++)
			sum += nn_dot_i16(in + s->in, weights + c * taps + s->filter, s->length);
		value = (float)(int32_t)sum * (x->scales[image] * weight_scale(r, c)) + bias[c];
		out[c] = value < low ? low : value > high ? high : value;
	}
}

static enum nn_status execute_conv(struct nn_run *r)
{
	struct nn_conv v;
	enum nn_status status = prepare_conv(r, &v);
	struct nn_span *spans;
	const int16_t *weights;
	struct quantised x;
	float *out, *to;

	if (status)
		return status;
	weights = nn_q8_widened(r, &r->inputs[WEIGHTS], r->inputs[WEIGHTS].data);
	spans = nn_run_alloc(r, (size_t)v.window.h.filter * v.window.w.filter, sizeof(*spans));
	out = nn_image_output(r, &r->outputs[0], v.nchw);
	if (!weights || !spans || !out ||
	    !quantise(r, nn_run_int(r, form_of(&v.args), 0),
		      nn_image_input(r, &r->inputs[X], v.nchw), v.in.n,
		      (size_t)v.in.h * v.in.w * v.in.c, &x))
		return NN_OUT_OF_MEMORY;
	to = out;
	for (uint32_t n = 0; n < v.out.n; n++)
		for (uint32_t i = 0; i < v.out.h; i++)
			for (uint32_t j = 0; j < v.out.w; j++, to += v.out.c)
				conv_pixel(r, &v, &x, weights, n, spans, v.spans(&v, i, j, spans),
					   to);
	nn_image_finish(&r->outputs[0], v.nchw, out);
	return NN_OK;
}

NN_FLOAT_OP(DYNAMIC_FULLY_CONNECTED, check_fully_connected, infer_fully_connected,
	    execute_fully_connected);
NN_FLOAT_OP(DYNAMIC_BATCH_MATMUL, check_batch_matmul, infer_batch_matmul, execute_batch_matmul);
NN_FLOAT_OP(DYNAMIC_CONV_2D, check_conv, infer_conv, execute_conv);
