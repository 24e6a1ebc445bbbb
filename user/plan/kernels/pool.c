/* SPDX-License-Identifier: MIT */
/*
 * AVERAGE_POOL_2D, MAX_POOL_2D, and L2_POOL_2D of floats. The inner loops compute several channels
 * of a window at a time.
 */
#include <string.h>

#include "ops/conv.h"
#include "ops/q8.h"
#include "ops/quant.h"
#include "plan/kernels/fields.h"

struct pool {
	enum nn_pooling kind;
	bool is_float;
	/* for int8: results are clamped to a range smaller than the type's range */
	bool clamps;
	struct nn_image in;
	struct nn_window window;
	float low;
	float high;
	int32_t low_q8;
	int32_t high_q8;
	struct nn_q8 q;
};

#define MAX_PIXELS (1 << 23)	/* maximum number of bytes whose sum fits in an int32_t */

/*
 * In a loaded plan, windows must have dilation 1, so that each window contains pixels of the image.
 */
#define NN_STATE struct pool
static const struct nn_field fields[] = {
	WORD(kind, 0, NN_POOL_L2), FLAG(clamps), FLAG(is_float),
	WHEN(kind, IS(NN_POOL_L2), ONLY(is_float, SET)),
	IMAGE_WINDOW(in, window), WINDOW_REACHES(window),
	LIMIT(1, window.h.dilation), LIMIT(1, window.w.dilation),
	LIMIT(MAX_PIXELS, window.h.filter, window.w.filter),
	WHEN(is_float, SET, FLOAT(low), FLOAT(high)),
	WHEN(is_float, IS(false),
	     FLIP(q.flip), BYTE(q.zero), BYTE_DIFFERENCE(low_q8), BYTE_DIFFERENCE(high_q8)),
	SPAN(INPUT(0), NUMBERS(is_float), in.n, window.h.in, window.w.in, in.c),
	SPAN(OUTPUT(0), NUMBERS(is_float), in.n, window.h.out, window.w.out, in.c),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct pool *p = state;

	nn_image_of_window(&p->in, &p->window);
	ready->tasks = p->in.n * p->window.h.out;
	return true;
}

static bool read_window(struct nn_run *r, struct pool *p)
{
	const struct nn_tensor *out = &r->outputs[0];
	struct nn_conv v;
	int32_t activation;

	if (nn_conv_read(r, &v) || v.nchw)
		return false;
	activation = nn_run_int(r, v.args.activation, 0);
	p->in = v.in;
	p->window = v.window;
	p->q = nn_q8_of(&r->inputs[0]);
	p->clamps = activation != 0;
	return p->is_float ? nn_fused_range_float(activation, &p->low, &p->high) :
	       nn_fused_range(activation, out->type, out->scale, out->zero_point, &p->low_q8,
			      &p->high_q8);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const int32_t type = r->inputs[0].type, code = r->op->code;
	struct pool *p = ready->state;

	if (type == NN_TENSOR_FLOAT16 || (code == NN_OP_L2_POOL_2D && type != NN_TENSOR_FLOAT32))
		return false;
	p->kind = code == NN_OP_MAX_POOL_2D ? NN_POOL_MAX :
		  code == NN_OP_L2_POOL_2D ? NN_POOL_L2 : NN_POOL_MEAN;
	p->is_float = type == NN_TENSOR_FLOAT32;
	if (!read_window(r, p) ||
	    (!p->is_float && (uint64_t)p->window.h.filter * p->window.w.filter > MAX_PIXELS))
		return false;
	return complete(p, ready);
}

/* ---- Running ---- */

/*
 * The input pixels of a window, which are `rows` rows and `columns` columns from pixel `first` on.
 */
struct cells {
	size_t first;
	size_t rows;
	size_t columns;
};

static uint8_t clamp_q8(const struct pool *p, int32_t value)
{
	value = value < p->low_q8 ? p->low_q8 : value;
	return (uint8_t)(value > p->high_q8 ? p->high_q8 : value);
}

/*
 * Pools a window of floats. Even the activation NONE clamps, so infinity becomes the largest float.
 */
static void reduce_f32(const struct nn_isa *isa, const struct pool *p, const struct cells *cells,
		       const float *in, float *out)
{
	const struct nn_pool_f32 f32 = {
		.kind = p->kind,
		.in = in + cells->first * p->in.c,
		.row_stride = (size_t)p->in.w * p->in.c,
		.rows = cells->rows,
		.columns = cells->columns,
		.channels = p->in.c,
		.count = (float)(cells->rows * cells->columns),
		.low = p->low,
		.high = p->high,
		.out = out,
	};

	isa->pool_f32(&f32);
}

static void average_small_q8(const struct nn_isa *isa, const struct pool *p,
			     const struct cells *cells, const uint8_t *in, uint8_t *out)
{
	const struct nn_average_q8 a = {
		.in = in + cells->first * p->in.c,
		.row_stride = (size_t)p->in.w * p->in.c,
		.rows = cells->rows,
		.columns = cells->columns,
		.channels = p->in.c,
		.flip = p->q.flip,
		.out = { .low = p->low_q8, .high = p->high_q8 },
		.to = out,
	};

	isa->average_q8(&a);
}

static void average_q8(const struct nn_isa *isa, const struct pool *p, const struct cells *cells,
		       const uint8_t *in, uint8_t *out)
{
	size_t channels = p->in.c, row = (size_t)p->in.w * channels;
	int32_t count = (int32_t)(cells->rows * cells->columns);

	if (count <= NN_AVERAGE_PIXELS) {
		average_small_q8(isa, p, cells, in, out);
		return;
	}

	for (size_t c = 0; c < channels; c += NN_SUM_CHANNELS) {
		size_t some = channels - c < NN_SUM_CHANNELS ? channels - c : NN_SUM_CHANNELS;
		int32_t sums[NN_SUM_CHANNELS] = { 0 };

		for (size_t y = 0; y < cells->rows; y++)
			isa->sum_q8(in + cells->first * channels + y * row + c, channels,
				    cells->columns, some, p->q.flip, sums);
		for (size_t i = 0; i < some; i++) {
			/* Subtract the 128 that flipping the sign bit added to each signed byte. */
			int32_t sum = sums[i] - count * p->q.flip;

			out[c + i] = clamp_q8(p, (sum + (sum > 0 ? count / 2 : -(count / 2))) /
						 count);
		}
	}
}

/*
 * Finds the largest byte of each channel in a window. The output is first a copy of the window's
 * first pixel.
 */
static void max_q8(const struct nn_isa *isa, const struct pool *p, const struct cells *cells,
		   const uint8_t *in, uint8_t *out)
{
	size_t channels = p->in.c, row = (size_t)p->in.w * channels;

	in += cells->first * channels;
	memcpy(out, in, channels);
	for (size_t c = 0; c < channels; c += NN_MAX_CHANNELS) {
		size_t some = channels - c < NN_MAX_CHANNELS ? channels - c : NN_MAX_CHANNELS;

		for (size_t y = 0; y < cells->rows; y++)
			isa->max_q8(in + y * row + c, channels, cells->columns, some, p->q.flip,
				    out + c);
	}
	for (size_t i = 0; p->clamps && i < channels; i++)
		out[i] = clamp_q8(p, p->q.flip ? (int8_t)out[i] : out[i]);
}

static void reduce(const struct nn_kernel_call *call, const struct pool *p,
		   const struct cells *cells, size_t at)
{
	const struct nn_isa *isa = call->ready->isa;
	float *out = (float *)call->outputs[0] + at;
	uint8_t *out_q8 = (uint8_t *)call->outputs[0] + at;

	if (p->is_float)
		reduce_f32(isa, p, cells, call->inputs[0], out);
	else if (p->kind == NN_POOL_MAX)
		max_q8(isa, p, cells, call->inputs[0], out_q8);
	else
		average_q8(isa, p, cells, call->inputs[0], out_q8);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct pool *p = call->ready->state;
	const struct nn_axis *h = &p->window.h, *w = &p->window.w;
	struct nn_taps rows = nn_axis_taps(h, task % h->out);
	size_t image = (size_t)(task / h->out) * h->in;

	(void)scratch;
	for (uint32_t x = 0; x < w->out; x++) {
		struct nn_taps columns = nn_axis_taps(w, x);
		const struct cells cells = {
			.first = (image + (size_t)(rows.start + rows.first)) * w->in +
				 (size_t)(columns.start + columns.first),
			.rows = rows.last - rows.first,
			.columns = columns.last - columns.first,
		};

		reduce(call, p, &cells, ((size_t)task * w->out + x) * p->in.c);
	}
}

NN_KERNEL(pool, "pool", sizeof(struct pool),
	  NN_TAKES(NN_OP_AVERAGE_POOL_2D, NN_OP_MAX_POOL_2D, NN_OP_L2_POOL_2D), .inputs = 1);
