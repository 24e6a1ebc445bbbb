/* SPDX-License-Identifier: MIT */
/* DEPTHWISE_CONV_2D: each input channel has its own `multiplier` filters. */
#include <string.h>

#include "ops/conv.h"
#include "ops/q8.h"
#include "ops/requant.h"

static enum nn_status check(const struct nn_check *c)
{
	struct nn_window_args args = nn_window_check_args(c);
	enum nn_status status = nn_window_check(c, &args, NN_WINDOW_DILATIONS_OPTIONAL);

	return status ? status : nn_filter_check(c, 4, 3);
}

static enum nn_status prepare(const struct nn_run *r, struct nn_conv *d)
{
	const uint32_t *filter = r->inputs[1].dims;
	enum nn_status status = nn_filter_infer(r);
	int32_t multiplier;

	if (status)
		return status;
	d->args = nn_window_run_args(r);
	d->nchw = nn_run_bool(r, d->args.nchw, false);
	d->in = nn_image_of(&r->inputs[0], d->nchw);
	multiplier = nn_run_int(r, d->args.own, 0);
	if (multiplier <= 0 || (uint64_t)d->in.c * (uint32_t)multiplier != filter[3])
		return nn_run_fail(r, "%u input channels with multiplier %d do not make the "
				   "filter's %u channels", d->in.c, multiplier, filter[3]);
	d->width = (uint32_t)multiplier;
	d->window.h = (struct nn_axis){ .in = d->in.h, .filter = filter[1] };
	d->window.w = (struct nn_axis){ .in = d->in.w, .filter = filter[2] };
	status = nn_window_infer(r, &d->args, &d->window);
	d->out = (struct nn_image){ d->in.n, d->window.h.out, d->window.w.out, filter[3] };
	return status;
}

/* State of the DEPTHWISE_CONV_2D kernel. All images of the kernel have the layout NHWC. */
struct job {
	const struct nn_conv *d;
	const void *in;	/* input images as floats, or as int16_t minus the zero point */
	const void *filter;		/* filter in the format of `in` */
	const float *bias;		/* bias, for float operations */
	float low;
	float high;
	struct nn_requant requant;	/* requantisation, for quantised operations */
	/* sums as floats or uint32_t, one for each output channel */
	void *acc;
};

/*
 * Number of channels in an inner loop. Compilers vectorise the inner loop because its length is
 * constant.
 */
#define LANES 16

/*
 * Computes acc[i * multiplier + m] += x[i] * w[i * multiplier + m] for each input channel i < n and
 * each m < multiplier.
 */
static void madd_float(float *restrict acc, const float *restrict x, const float *restrict w,
		       size_t n, uint32_t multiplier)
{
	size_t i = 0;

	for (; multiplier == 1 && i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			acc[i + lane] += x[i + lane] * w[i + lane];
	for (; i < n; i++)
		for (size_t m = i * multiplier; m < (i + 1) * multiplier; m++)
			acc[m] += x[i] * w[m];
}

static void madd_q8(uint32_t *restrict acc, const int16_t *restrict x, const int16_t *restrict w,
		    size_t n, uint32_t multiplier)
{
	size_t i = 0;

	for (; multiplier == 1 && i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			acc[i + lane] += (uint32_t)(x[i + lane] * w[i + lane]);
	for (; i < n; i++)
		for (size_t m = i * multiplier; m < (i + 1) * multiplier; m++)
			acc[m] += (uint32_t)(x[i] * w[m]);
}

static void finish_float(const struct job *j, float *restrict out)
{
	const float *acc = j->acc;

	for (uint32_t c = 0; c < j->d->out.c; c++) {
		float value = acc[c] + j->bias[c];

		out[c] = value < j->low ? j->low : value > j->high ? j->high : value;
	}
}

static void finish_q8(const struct job *j, uint8_t *restrict out)
{
	const uint32_t *acc = j->acc;

	for (uint32_t c = 0; c < j->d->out.c; c++)
		out[c] = nn_requant(&j->requant, c, acc[c]);
}

/* Computes the sums of products for one output pixel. The input image begins at offset `image`. */
static void sum_pixel(const struct job *j, struct nn_taps h, struct nn_taps w, size_t image,
		      bool is_float)
{
	const struct nn_conv *d = j->d;

	/* Zero bytes represent both the integer 0 and the float 0. */
	memset(j->acc, 0, d->out.c * sizeof(uint32_t));
	for (uint32_t i = h.first; i < h.last; i++) {
		size_t row = (size_t)(h.start + (int64_t)i * d->window.h.dilation) * d->in.w;

		for (uint32_t k = w.first; k < w.last; k++) {
			size_t column = (size_t)(w.start + (int64_t)k * d->window.w.dilation);
			size_t x = image + (row + column) * d->in.c;
			size_t tap = ((size_t)i * d->window.w.filter + k) * d->out.c;

			if (is_float)
				madd_float(j->acc, (const float *)j->in + x,
					   (const float *)j->filter + tap, d->in.c, d->width);
			else
				madd_q8(j->acc, (const int16_t *)j->in + x,
					(const int16_t *)j->filter + tap, d->in.c, d->width);
		}
	}
}

static void run_job(const struct job *j, bool is_float, void *out)
{
	const struct nn_conv *d = j->d;
	size_t at = 0;

	for (uint32_t n = 0; n < d->out.n; n++) {
		size_t image = (size_t)n * d->in.h * d->in.w * d->in.c;

		for (uint32_t y = 0; y < d->out.h; y++) {
			struct nn_taps h = nn_axis_taps(&d->window.h, y);

			for (uint32_t x = 0; x < d->out.w; x++, at += d->out.c) {
				sum_pixel(j, h, nn_axis_taps(&d->window.w, x), image, is_float);
				if (is_float)
					finish_float(j, (float *)out + at);
				else
					finish_q8(j, (uint8_t *)out + at);
			}
		}
	}
}

static enum nn_status execute(struct nn_run *r)
{
	bool is_float = r->inputs[0].type == NN_TENSOR_FLOAT32;
	struct nn_conv d;
	struct job j = { .d = &d, .bias = r->inputs[2].data };
	enum nn_status status = prepare(r, &d);
	void *out;

	if (status || !nn_tensor_count(&r->outputs[0]))
		return status;
	if (is_float)
		nn_fused_range_float(nn_run_int(r, d.args.activation, 0), &j.low, &j.high);
	else if (nn_requant_init(&j.requant, r, d.out.c, d.args.activation))
		return NN_OUT_OF_MEMORY;
	j.in = nn_q8_widened(r, &r->inputs[0], nn_image_input(r, &r->inputs[0], d.nchw));
	j.filter = nn_q8_widened(r, &r->inputs[1], r->inputs[1].data);
	j.acc = nn_run_alloc(r, d.out.c, sizeof(uint32_t));
	out = nn_image_output(r, &r->outputs[0], d.nchw);
	if (!j.in || !j.filter || !j.acc || !out)
		return NN_OUT_OF_MEMORY;
	run_job(&j, is_float, out);
	nn_image_finish(&r->outputs[0], d.nchw, out);
	return NN_OK;
}

NN_OPERATION(DEPTHWISE_CONV_2D,
	.dims = "**** 1**c c", .zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,
	.check = check, .infer = nn_conv_infer, .execute = execute,
	.kernels = &(nn_conv_prepare_fn *const){ prepare });
