/* SPDX-License-Identifier: MIT */
/*
 * DYNAMIC_FULLY_CONNECTED, DYNAMIC_BATCH_MATMUL and DYNAMIC_CONV_2D: quantise floats at run time,
 * and multiply the quantised numbers by weights that are quantised in the model. The results of the
 * operations DYNAMIC_* are floats.
 */
#include <math.h>
#include <string.h>

#include "ops/conv.h"
#include "ops/dot.h"
#include "ops/dynamic.h"
#include "ops/matmul.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "ops/requant.h"

enum { X, WEIGHTS, BIAS, ACTIVATION, FORM };

/* ---- Quantising floats ---- */

void nn_dynamic_range(const float *x, size_t count, float *low, float *high)
{
	nn_dot_four least = { 0 }, largest = { 0 }, least_2 = { 0 }, largest_2 = { 0 };
	size_t i = 0;

	/*
	 * Compute two minima and two maxima in parallel, because with a single minimum each step
	 * would have to wait for the previous step.
	 */
	for (; i + 16 <= count; i += 16) {
		const nn_dot_four a = nn_dot_load(x + i), b = nn_dot_load(x + i + 4);
		const nn_dot_four c = nn_dot_load(x + i + 8), d = nn_dot_load(x + i + 12);

		least = nn_dot_least(b, nn_dot_least(a, least));
		largest = nn_dot_largest(b, nn_dot_largest(a, largest));
		least_2 = nn_dot_least(d, nn_dot_least(c, least_2));
		largest_2 = nn_dot_largest(d, nn_dot_largest(c, largest_2));
	}
	least = nn_dot_least(least, least_2);
	largest = nn_dot_largest(largest, largest_2);
	for (size_t lane = 0; lane < 4; lane++) {
		*low = least[lane] < *low ? least[lane] : *low;
		*high = largest[lane] > *high ? largest[lane] : *high;
	}
	for (; i < count; i++) {
		*low = x[i] < *low ? x[i] : *low;
		*high = x[i] > *high ? x[i] : *high;
	}
}

/* Converts a number to an integer, clamped to [low, high]. NaN becomes low. */
static int32_t whole(double value, int32_t low, int32_t high)
{
	return value > low ? value < high ? (int32_t)value : high : low;
}

static struct nn_dynamic of_tensor(float low, float high)
{
	const float scale = high > low ? (high - low) / 255 : 1;
	const int32_t zero = whole((double)rintf(-low / scale), 0, 255);

	return (struct nn_dynamic){ .scale = scale, .zero = zero, .factor = scale,
				    .low = (float)-zero, .high = (float)(255 - zero),
				    .is_tensor = true };
}

static struct nn_dynamic of_row(float low, float high)
{
	const float range = high > -low ? high : -low;

	return (struct nn_dynamic){ .scale = range > 0 ? range / 127 : 1, .zero = 128,
				    .factor = range > 0 ? 127 / range : 0,
				    .low = -127, .high = 127 };
}

static struct nn_dynamic of_row_asymmetric(float low, float high)
{
	const double scale = ((double)high - (double)low) / 255;
	int32_t zero;

	if (!(high > low))
		return (struct nn_dynamic){ .scale = 1, .zero = 128 };
	zero = whole(round(-128 - (double)low / scale), -128, 127);
	return (struct nn_dynamic){ .scale = (float)scale, .zero = zero + 128,
				    .factor = (float)(1 / scale), .offset = (float)zero,
				    .low = -128, .high = 127 };
}

struct nn_dynamic nn_dynamic_of(enum nn_dynamic_form form, float low, float high)
{
	return form == NN_DYNAMIC_TENSOR ? of_tensor(low, high) :
	       form == NN_DYNAMIC_ROWS ? of_row(low, high) : of_row_asymmetric(low, high);
}

/* Quantises a number. NaN is converted to the lowest quantised value. */
static int32_t number_of(const struct nn_dynamic *d, float x)
{
	x = d->is_tensor ? x / d->factor : d->offset + x * d->factor;
	x = x > d->low ? x < d->high ? x : d->high : d->low;
	x = d->is_tensor ? rintf(x) : x + copysignf(NN_DYNAMIC_HALF, x);
	return (int32_t)x + nn_dynamic_added(d) - d->zero;
}

/*
 * Quantised rows of floats; `values` are the quantised numbers minus the zero point, and `scales`
 * has the scale of each row.
 */
struct quantised {
	const int16_t *values;
	const float *scales;
};

/*
 * Quantises rows of floats. If the form is NN_DYNAMIC_TENSOR, all rows share one range; otherwise
 * each row has its own range.
 */
static bool quantise(struct nn_run *r, const float *x, size_t rows, size_t length,
		     struct quantised *q)
{
	const enum nn_dynamic_form form = nn_run_int(r, nn_dynamic_form_input(r), 0);
	int16_t *values = nn_run_alloc(r, rows * length, sizeof(*values));
	float *scales = nn_run_alloc(r, rows, sizeof(*scales));
	float low = 0, high = 0;

	*q = (struct quantised){ values, scales };
	if (!x || !values || !scales)
		return false;
	if (form == NN_DYNAMIC_TENSOR)
		nn_dynamic_range(x, rows * length, &low, &high);
	for (size_t i = 0; i < rows; i++, x += length, values += length) {
		struct nn_dynamic d;

		if (form != NN_DYNAMIC_TENSOR) {
			low = high = 0;
			nn_dynamic_range(x, length, &low, &high);
		}
		d = nn_dynamic_of(form, low, high);
		for (size_t k = 0; k < length; k++)
			values[k] = (int16_t)number_of(&d, x[k]);
		scales[i] = d.scale;
	}
	return true;
}

/* ---- common parts ---- */

#define WEIGHT_TYPES (NN_QUANT8 | NN_T(NN_TENSOR_QUANT8_SYMM) | \
		      NN_T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL))

/* Checks that weights with a scale for each channel have the scales along dimension 0. */
static enum nn_status check_rows(const struct nn_check *c)
{
	const struct nn_extra *extra = &nn_check_in(c, WEIGHTS)->extra;

	if (extra->kind == NN_EXTRA_CHANNEL_QUANT && extra->channel_dim)
		return nn_check_fail_input(c, WEIGHTS, "quantised along dimension %u, must be 0",
					   extra->channel_dim);
	return NN_OK;
}

uint32_t nn_dynamic_form_input(const struct nn_run *r)
{
	/*
	 * In DYNAMIC_CONV_2D the form is input `own` + 1, where `own` is the index of the first
	 * input that CONV_2D does not have.
	 */
	return r->op->code == NN_OP_DYNAMIC_CONV_2D ? nn_window_run_args(r).own + 1 : FORM;
}

static enum nn_status infer_common(const struct nn_run *r, uint32_t channels)
{
	const struct nn_extra *extra = r->inputs[WEIGHTS].extra;
	const uint32_t form = nn_dynamic_form_input(r);
	int32_t value = nn_run_int(r, form, 0);

	if (value < 0 || value >= NN_DYNAMIC_FORMS)
		return nn_run_fail(r, "input %u: unknown form %d, must be 0 to %d", form, value,
				   NN_DYNAMIC_FORMS - 1);
	if (extra->kind == NN_EXTRA_CHANNEL_QUANT && extra->count != channels)
		return nn_run_fail(r, "input 1: %u scales for %u channels", extra->count, channels);
	return NN_OK;
}

float nn_dynamic_weight_scale(const struct nn_run *r, uint32_t channel)
{
	const struct nn_extra *extra = r->inputs[WEIGHTS].extra;

	return extra->kind == NN_EXTRA_CHANNEL_QUANT ? extra->scales[channel] :
						       r->inputs[WEIGHTS].scale;
}

/* ---- DYNAMIC_FULLY_CONNECTED ---- */

static enum nn_status infer_fully_connected(struct nn_run *r)
{
	enum nn_status status = nn_fully_connected_infer(r);

	return status ? status : infer_common(r, r->inputs[WEIGHTS].dims[0]);
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
	    !quantise(r, r->inputs[X].data, rows, length, &x))
		return NN_OUT_OF_MEMORY;
	for (size_t i = 0; i < rows; i++) {
		for (uint32_t u = 0; u < units; u++) {
			int32_t sum = (int32_t)nn_dot_i16(x.values + i * length,
							  weights + u * length, length);
			float scale = x.scales[i] * nn_dynamic_weight_scale(r, u);
			float value = (float)sum * scale + bias[u];

			*out++ = value < low ? low : value > high ? high : value;
		}
	}
	return NN_OK;
}

/* ---- DYNAMIC_BATCH_MATMUL ---- */

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
	return infer_common(r, y->dims[columns]);
}

/* Returns the rows of all matrices of input 0; copies the rows if they are not contiguous. */
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

/* Copies a matrix to `columns`, column by column. */
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
	    !quantise(r, in_rows(r, &a, rows), rows, depth, &q))
		return NN_OUT_OF_MEMORY;
	for (uint32_t n = 0; n < batches; n++) {
		const size_t first = nn_matmul_start(x, o, n) / depth;

		copy_columns(weights + nn_matmul_start(y, o, n), &b, columns);
		for (size_t i = first; i < first + a.rows; i++) {
			for (uint32_t j = 0; j < b.columns; j++) {
				int32_t sum = (int32_t)nn_dot_i16(q.values + i * depth,
								  columns + j * depth, depth);

				*out++ = (float)sum * (q.scales[i] * nn_dynamic_weight_scale(r, j));
			}
		}
	}
	return NN_OK;
}

/* ---- DYNAMIC_CONV_2D ---- */

static enum nn_status check_conv(const struct nn_check *c)
{
	struct nn_window_args args = nn_window_check_args(c);
	enum nn_status status = nn_window_check(c, &args, NN_WINDOW_DILATIONS_OPTIONAL);

	if (!status)
		status = nn_check_input(c, X, (struct nn_rule){ NN_FLOATS, 4, 4 });
	if (!status)
		status = nn_check_input(c, WEIGHTS, (struct nn_rule){ WEIGHT_TYPES, 4, 4 });
	if (!status)
		status = nn_check_input(c, BIAS, (struct nn_rule){ NN_SAME, 1, 1 });
	if (!status)
		status = nn_check_output(c, 0, (struct nn_rule){ NN_SAME, 4, 4 });
	return status ? status : check_rows(c);
}

static enum nn_status prepare_conv(const struct nn_run *r, struct nn_conv *v)
{
	const uint32_t groups = nn_window_run_args(r).own;
	enum nn_status status = infer_common(r, r->inputs[WEIGHTS].dims[0]);

	return status ? status : nn_conv_prepare(r, nn_run_int(r, groups, 0), v);
}

/* Computes all channels of an output pixel of image number `image`. */
static void conv_pixel(const struct nn_run *r, const struct nn_conv *v, const struct quantised *x,
		       const int16_t *weights, uint32_t image, const struct nn_stretch *spans,
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

		for (const struct nn_stretch *s = spans; s < spans + count; s++)
			sum += nn_dot_i16(in + s->in, weights + c * taps + s->filter, s->length);
		value = (float)(int32_t)sum * (x->scales[image] * nn_dynamic_weight_scale(r, c)) +
			bias[c];
		out[c] = value < low ? low : value > high ? high : value;
	}
}

static enum nn_status execute_conv(struct nn_run *r)
{
	struct nn_conv v;
	enum nn_status status = prepare_conv(r, &v);
	struct nn_stretch *spans;
	const int16_t *weights;
	struct quantised x;
	float *out, *to;

	if (status)
		return status;
	weights = nn_q8_widened(r, &r->inputs[WEIGHTS], r->inputs[WEIGHTS].data);
	spans = nn_run_alloc(r, (size_t)v.window.h.filter * v.window.w.filter, sizeof(*spans));
	out = nn_image_output(r, &r->outputs[0], v.nchw);
	if (!weights || !spans || !out ||
	    !quantise(r, nn_image_input(r, &r->inputs[X], v.nchw), v.in.n,
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

NN_OPERATION(DYNAMIC_FULLY_CONNECTED,
	NN_INPUTS(5, { NN_FLOATS, 2, 4 }, { WEIGHT_TYPES, 2, 2 }, { NN_SAME, 1, 1 }, NN_SCALAR_INT,
		  NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 2, 2 }),
	.dims = "- c* c", .float16_as_float32 = true,
	.check = check_rows, .infer = infer_fully_connected,
	.execute = execute_fully_connected);

NN_OPERATION(DYNAMIC_BATCH_MATMUL,
	NN_INPUTS(5, { NN_FLOATS, 2, 4 }, { WEIGHT_TYPES, 2, 4 }, NN_SCALAR_BOOL, NN_SCALAR_BOOL,
		  NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 2, 4 }),
	.float16_as_float32 = true,
	.infer = infer_batch_matmul, .execute = execute_batch_matmul);

NN_OPERATION(DYNAMIC_CONV_2D,
	.dims = "**** c*** c", .float16_as_float32 = true,
	.check = check_conv, .infer = nn_conv_infer, .execute = execute_conv,
	.kernels = &(nn_conv_prepare_fn *const){ prepare_conv });
