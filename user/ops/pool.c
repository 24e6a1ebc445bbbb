/* SPDX-License-Identifier: MIT */
/*
 * AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D share a loop over the windows. Each pooling operation
 * has a function that computes the output of a window.
 */
#include <math.h>
#include <string.h>

#include "ops/conv.h"
#include "ops/q8.h"
#include "ops/quant.h"

static enum nn_status read_filter(const struct nn_run *r, uint32_t index, struct nn_axis *a)
{
	int32_t size = nn_run_int(r, index, 0);

	if (size <= 0)
		return nn_run_fail(r, "input %u: the filter size is %d, must be positive",
				   index, size);
	a->filter = (uint32_t)size;
	return NN_OK;
}

static enum nn_status prepare(const struct nn_run *r, struct nn_conv *p)
{
	const struct nn_tensor *x = &r->inputs[0];
	enum nn_status status;

	if (!nn_tensor_product(x, 1, 4))
		return nn_run_fail(r, "input 0: only dimension 0 may be 0");
	p->args = nn_window_run_args(r);
	p->nchw = nn_run_bool(r, p->args.nchw, false);
	p->in = nn_image_of(x, p->nchw);
	p->window.h.in = p->in.h;
	p->window.w.in = p->in.w;
	status = read_filter(r, p->args.own, &p->window.w);
	status = status ? status : read_filter(r, p->args.own + 1, &p->window.h);
	status = status ? status : nn_window_infer(r, &p->args, &p->window);
	p->out = (struct nn_image){ p->in.n, p->window.h.out, p->window.w.out, p->in.c };
	return status;
}

static enum nn_status infer(struct nn_run *r)
{
	r->outputs[0].scale = r->inputs[0].scale;
	r->outputs[0].zero_point = r->inputs[0].zero_point;
	return nn_conv_infer(r);
}

/*
 * A window of the image has `h` rows of `w` pixels. The starts of adjacent rows are `stride`
 * elements apart.
 */
struct cells {
	size_t h;
	size_t w;
	size_t stride;
};

/* State of the pooling kernel. All images of the kernel have the layout NHWC. */
struct job {
	size_t channels;
	float low;			/* lower limit of the fused activation */
	float high;
	int32_t low_q8;
	int32_t high_q8;
	struct nn_q8 q;
	int64_t *sums;	/* the sum of each channel, for averages of quantised values */
};

/*
 * Computes one output pixel from a window of the input, which begins at `in` and has the size
 * `cells`.
 */
typedef void reduce_fn(const struct job *j, const struct cells *cells, const void *in, void *out);

struct kernels {
	nn_conv_prepare_fn *prepare;
	reduce_fn *on_float;
	reduce_fn *on_q8;		/* NULL if the operation does not support quantised types */
};

static float clamp_float(const struct job *j, float value)
{
	return value < j->low ? j->low : value > j->high ? j->high : value;
}

static uint8_t clamp_q8(const struct job *j, int64_t value)
{
	return (uint8_t)(value < j->low_q8 ? j->low_q8 : value > j->high_q8 ? j->high_q8 : value);
}

/*
 * Executes the statements in the macro's arguments for each pixel `x` of a window and each channel
 * `c`.
 */
#define EACH(type, ...)									\
	for (size_t y = 0; y < cells->h; y++) {						\
		const type *restrict x = (const type *)in + y * cells->stride;		\
											\
		for (size_t i = 0; i < cells->w; i++, x += channels)			\
			for (size_t c = 0; c < channels; c++)				\
				__VA_ARGS__;						\
	}

static void average_float(const struct job *j, const struct cells *cells, const void *in, void *to)
{
	size_t channels = j->channels;
	float *restrict out = to;

	memset(out, 0, channels * sizeof(*out));
	EACH(float, out[c] += x[c])
	for (size_t c = 0; c < channels; c++)
		out[c] = clamp_float(j, out[c] / (float)(cells->h * cells->w));
}

static void average_q8(const struct job *j, const struct cells *cells, const void *in, void *to)
{
	int64_t count = (int64_t)(cells->h * cells->w);
	int64_t *restrict sums = j->sums;
	size_t channels = j->channels;
	int32_t bias = j->q.flip;
	uint8_t *out = to;

	/*
	 * Begin with -128 for each int8 value in the window, because flipping the sign bit makes
	 * each value 128 larger.
	 */
	for (size_t c = 0; c < channels; c++)
		sums[c] = -count * bias;
	EACH(uint8_t, sums[c] += x[c] ^ j->q.flip)
	for (size_t c = 0; c < channels; c++)
		out[c] = clamp_q8(j, (sums[c] + (sums[c] > 0 ? count / 2 : -(count / 2))) / count);
}

static void max_float(const struct job *j, const struct cells *cells, const void *in, void *to)
{
	size_t channels = j->channels;
	float *restrict out = to;

	memcpy(out, in, channels * sizeof(*out));
	EACH(float, out[c] = x[c] > out[c] ? x[c] : out[c])
	for (size_t c = 0; c < channels; c++)
		out[c] = clamp_float(j, out[c]);
}

static void max_q8(const struct job *j, const struct cells *cells, const void *in, void *to)
{
	size_t channels = j->channels;
	uint8_t flip = j->q.flip;
	uint8_t *restrict out = to;

	memset(out, 0, channels);
	EACH(uint8_t, {
		uint8_t value = x[c] ^ flip;

		out[c] = value > out[c] ? value : out[c];
	})
	for (size_t c = 0; c < channels; c++)
		out[c] = clamp_q8(j, (int32_t)out[c] - flip);
}

static void l2_float(const struct job *j, const struct cells *cells, const void *in, void *to)
{
	size_t channels = j->channels;
	float *restrict out = to;

	memset(out, 0, channels * sizeof(*out));
	EACH(float, out[c] += x[c] * x[c])
	for (size_t c = 0; c < channels; c++)
		out[c] = clamp_float(j, sqrtf(out[c] / (float)(cells->h * cells->w)));
}

static void walk(const struct nn_conv *p, const struct job *j, reduce_fn *reduce, size_t element,
		 const uint8_t *in, uint8_t *out)
{
	struct cells cells = { .stride = (size_t)p->in.w * p->in.c };
	size_t pixel = p->in.c * element;

	for (uint32_t n = 0; n < p->out.n; n++) {
		for (uint32_t y = 0; y < p->out.h; y++) {
			struct nn_taps h = nn_axis_taps(&p->window.h, y);
			size_t row = (size_t)n * p->in.h + (size_t)(h.start + h.first);

			cells.h = h.last - h.first;
			for (uint32_t x = 0; x < p->out.w; x++, out += pixel) {
				struct nn_taps w = nn_axis_taps(&p->window.w, x);
				size_t at = row * p->in.w + (size_t)(w.start + w.first);

				cells.w = w.last - w.first;
				reduce(j, &cells, in + at * pixel, out);
			}
		}
	}
}

static enum nn_status execute(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;
	const struct nn_tensor *x = &r->inputs[0];
	bool is_float = x->type == NN_TENSOR_FLOAT32;
	struct job j = { .q = nn_q8_of(x) };
	struct nn_conv p;
	enum nn_status status = nn_conv_read(r, &p);
	int32_t activation;
	const void *in;
	void *out;

	if (status || !nn_tensor_count(&r->outputs[0]))
		return status;
	j.channels = p.in.c;
	activation = nn_run_int(r, p.args.activation, 0);
	if (is_float)
		nn_fused_range_float(activation, &j.low, &j.high);
	else
		nn_fused_range(activation, x->type, x->scale, x->zero_point, &j.low_q8, &j.high_q8);
	in = nn_image_input(r, x, p.nchw);
	out = nn_image_output(r, &r->outputs[0], p.nchw);
	j.sums = nn_run_alloc(r, p.in.c, sizeof(*j.sums));
	if (!in || !out || !j.sums)
		return NN_OUT_OF_MEMORY;
	walk(&p, &j, is_float ? k->on_float : k->on_q8, is_float ? sizeof(float) : 1, in, out);
	nn_image_finish(&r->outputs[0], p.nchw, out);
	return NN_OK;
}

static enum nn_status check(const struct nn_check *c)
{
	const struct kernels *k = c->op->kernels;
	struct nn_window_args args = nn_window_check_args(c);
	enum nn_status status = nn_window_check(c, &args, NN_WINDOW_FLAG_OPTIONAL);

	if (!status)
		status = nn_check_input(c, 0, (struct nn_rule){
			NN_FLOATS | (k->on_q8 ? NN_QUANT8 : 0), 4, 4 });
	return status ? status : nn_check_output(c, 0, (struct nn_rule){ NN_SAME, 4, 4 });
}

#define POOL(which, ...)								\
NN_OPERATION(which,									\
	.dims = "****", .zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,	\
	.check = check, .infer = infer, .execute = execute,				\
	.kernels = &(const struct kernels)__VA_ARGS__)

POOL(AVERAGE_POOL_2D, { prepare, average_float, average_q8 });
POOL(L2_POOL_2D, { prepare, l2_float, NULL });
POOL(MAX_POOL_2D, { prepare, max_float, max_q8 });
