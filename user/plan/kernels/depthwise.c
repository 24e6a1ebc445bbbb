/* SPDX-License-Identifier: MIT */
/*
 * DEPTHWISE_CONV_2D with multiplier 1. A task computes rows of the output.
 */
#include <string.h>

#include "ops/conv.h"
#include "ops/q8.h"
#include "plan/kernels/caches.h"
#include "plan/kernels/fields_row.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/quant8.h"

enum { X, FILTER, BIAS };

#define MAX_HEIGHT 32		/* maximum height of a filter, and maximum width */
#define TASKS_PER_THREAD 4
#define MIN_SHARED 30000	/* minimum number of outputs for which a second thread is faster */
#define MAX_ROW (UINT64_C(1) << 36)	/* maximum bytes of an input row, padding included */

struct depthwise {
	enum nn_number number;
	size_t element;
	struct nn_image in;
	struct nn_window window;
	struct nn_depthwise_f32 f32;	/* except its pointers */
	struct nn_depthwise_q8 q8;
	size_t task_rows;		/* output rows of a task */
	size_t block;			/* channels that are computed at a time */
	bool packs;			/* true: each execution packs the filter */
};

#define NN_STATE struct depthwise
static const struct nn_field fields[] = {
	IMAGE_WINDOW(in, window), WINDOW_REACHES(window),
	LIMIT(MAX_HEIGHT, window.h.filter), LIMIT(MAX_HEIGHT, window.w.filter),
	WORD(number, 0, NN_IN_FP16), FLAG(packs),
	WHEN(number, SET, FLOAT(f32.low), FLOAT(f32.high)),
	WHEN(number, IS(NN_IN_INT8),
	     FLIP(q8.in_flip), BYTE(q8.in_zero), BYTE_DIFFERENCE(q8.filter_zero),
	     OUTPUT_DIFFERENCES(q8.output)),
	SPAN(INPUT(X), NUMBERS(number), in.n, window.h.in, window.w.in, in.c),
	SPAN(OUTPUT(0), NUMBERS(number), in.n, window.h.out, window.w.out, in.c),
	WHEN(packs, SET,
	     ONLY(number, SET),
	     SPAN(INPUT(FILTER), NUMBERS(number),
		  window.h.filter, window.w.filter, in.c),
	     SPAN(INPUT(BIAS), NUMBERS(number), in.c)),
	END
};
NN_RESTORE(fields)

/*
 * Returns the number of channels for which the input rows of a window fit in the first-level cache.
 */
static size_t block_f32(const struct depthwise *d)
{
	size_t pixels = (size_t)d->window.h.filter * d->window.w.in;
	size_t most = NN_NEAR_BYTES / d->element / pixels / NN_MAX_LANES * NN_MAX_LANES;

	return most < NN_MAX_LANES ? NN_MAX_LANES : most;
}

/*
 * Initialises the members of a struct nn_depthwise_f32 or nn_depthwise_q8 that describe the image
 * and the window.
 */
#define WINDOW(d)									\
	.channels = (d)->in.c, .height = (d)->window.h.filter, .width = (d)->window.w.filter,	\
	.in_width = (d)->window.w.in, .out_width = (d)->window.w.out,			\
	.stride = (d)->window.w.stride, .dilation = (d)->window.w.dilation, .head = (d)->window.w.head

/* Sets the parameters of the inner loop for floats, and the size of the packed weights. */
static void set_f32(struct depthwise *d, struct nn_ready *ready)
{
	size_t weights = (size_t)d->window.h.filter * d->window.w.filter * d->in.c;

	d->block = block_f32(d);
	d->f32 = (struct nn_depthwise_f32){ WINDOW(d), .low = d->f32.low, .high = d->f32.high };
	/*
	 * The filter already has the layout that the inner loop needs, but it is copied because the
	 * original may be unaligned or may change.
	 */
	ready->packed_size = (weights + d->in.c) * d->element;
}

/*
 * Sets the parameters of the inner loop for int8; returns false if a row of the input is longer
 * than MAX_ROW.
 */
static bool set_q8(struct depthwise *d, struct nn_ready *ready)
{
	const struct nn_depthwise_config *c = &ready->isa->depthwise_q8;
	const struct nn_axis *w = &d->window.w;

	d->block = d->in.c;
	d->q8 = (struct nn_depthwise_q8){
		WINDOW(d),
		.padded = ((size_t)d->in.c + 15) / 16 * 16,
		.in_flip = d->q8.in_flip,
		.in_zero = d->q8.in_zero,
		.filter_zero = d->q8.filter_zero,
		.output = d->q8.output,
	};
	if (nn_times((uint64_t)(w->out - 1) * w->stride + (uint64_t)w->filter * w->dilation +
		     w->stride, d->q8.padded) > MAX_ROW)
		return false;
	c->sizes(c, &d->q8, &ready->packed_size, &ready->scratch_size);
	return true;
}

static bool prepare_q8(struct nn_run *r, uint32_t activation, struct depthwise *d,
		       struct nn_ready *ready)
{
	const struct nn_q8 in = nn_q8_of(&r->inputs[X]);

	ready->reads |= NN_IN(BIAS);
	d->q8.in_flip = in.flip;
	d->q8.in_zero = (uint8_t)in.zero;
	d->q8.filter_zero = nn_q8_signed_zero(&r->inputs[FILTER]);
	return nn_q8_prepare(r, d->in.c, activation,
			     (size_t)d->window.h.filter * d->window.w.filter, &d->q8.output);
}

static void divide(struct depthwise *d, struct nn_ready *ready)
{
	size_t rows = (size_t)d->in.n * d->window.h.out;
	size_t tasks = ready->threads > 1 && rows * d->window.w.out * d->in.c >= MIN_SHARED ?
		       ready->threads * TASKS_PER_THREAD : 1;

	d->task_rows = (rows + tasks - 1) / tasks;
	ready->tasks = (uint32_t)((rows + d->task_rows - 1) / d->task_rows);
}

/*
 * Returns false if the CPU does not compute in the operation's type, or if a row of the input is
 * too long.
 */
static bool complete(void *state, struct nn_ready *ready)
{
	struct depthwise *d = state;

	if (d->number == NN_IN_FP16 && !ready->isa->depthwise_f16)
		return false;
	nn_image_of_window(&d->in, &d->window);
	d->element = nn_number_size(d->number);
	if (d->number != NN_IN_INT8)
		set_f32(d, ready);
	else if (!set_q8(d, ready))
		return false;
	divide(d, ready);
	ready->pack_tasks = d->packs;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct depthwise *d = ready->state;
	struct nn_conv v;

	if (nn_conv_read(r, &v) || v.nchw || v.width != 1 || v.window.h.filter > MAX_HEIGHT ||
	    v.window.w.filter > MAX_HEIGHT)
		return false;
	d->in = v.in;
	d->window = v.window;
	d->packs = !nn_has_constants(r);
	d->number = nn_number_of(r->inputs[X].type);
	if (d->number != NN_IN_INT8 ?
		    !nn_fused_range_float(nn_run_int(r, v.args.activation, 0), &d->f32.low,
					  &d->f32.high) :
		    !prepare_q8(r, v.args.activation, d, ready))
		return false;
	return complete(d, ready);
}

/* ---- Packing ---- */

static void pack_f32(const struct nn_run *r, const struct depthwise *d, char *to)
{
	size_t biases = d->f32.channels * d->element;

	memcpy(to, r->inputs[BIAS].data, biases);
	memcpy(to + biases, r->inputs[FILTER].data, d->f32.height * d->f32.width * biases);
}

static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct depthwise *d = ready->state;
	const struct nn_depthwise_config *c = &ready->isa->depthwise_q8;

	(void)task;
	(void)scratch;
	if (d->number == NN_IN_INT8)
		return c->pack(c, r, &d->q8, packed);
	pack_f32(r, d, packed);
	return true;
}

/* ---- Running ---- */

static void run_row_f32(const struct nn_ready *ready, const struct depthwise *d,
			const char *const *rows, size_t first, char *out)
{
	const size_t lanes = nn_number_lanes(ready->isa, d->number);
	const void *from[MAX_HEIGHT];
	struct nn_depthwise_f32 row = d->f32;
	size_t at;

	/* Computing some channels twice is faster than computing part of a vector. */
	if (row.channels - first < lanes && row.channels >= lanes)
		first = row.channels - lanes;
	at = first * d->element;
	for (size_t i = 0; i < row.height; i++)
		from[i] = rows[i] ? rows[i] + at : NULL;
	row.rows = from;
	row.count = row.channels - first < d->block ? row.channels - first : d->block;
	row.bias = (const char *)ready->packed + at;
	row.filter = (const char *)row.bias + row.channels * d->element;
	row.out = out + at;
	if (d->number == NN_IN_FP16)
		ready->isa->depthwise_f16(&row);
	else
		ready->isa->depthwise_f32(&row);
}

static void run_row_q8(const struct nn_ready *ready, const struct depthwise *d,
		       const char *const *rows, void *scratch, char *out)
{
	struct nn_depthwise_q8 row = d->q8;

	row.rows = (const uint8_t *const *)rows;
	row.packed = ready->packed;
	row.scratch = scratch;
	row.out = (uint8_t *)out;
	ready->isa->depthwise_q8.run(&row);
}

/* Computes a block of channels of one output row; the block begins at channel `first`. */
static void run_row(const struct nn_kernel_call *call, size_t index, size_t first, void *scratch)
{
	const struct depthwise *d = call->ready->state;
	const struct nn_axis *h = &d->window.h;
	size_t row_size = (size_t)d->in.w * d->in.c * d->element;
	const char *image = (const char *)call->inputs[X] + index / h->out * h->in * row_size;
	char *out = (char *)call->outputs[0] +
		    index * d->window.w.out * d->in.c * d->element;
	int64_t y = (int64_t)(index % h->out) * h->stride - h->head;
	const char *rows[MAX_HEIGHT];

	for (uint32_t i = 0; i < h->filter; i++, y += h->dilation)
		rows[i] = y >= 0 && y < h->in ? image + (size_t)y * row_size : NULL;
	if (d->number != NN_IN_INT8)
		run_row_f32(call->ready, d, rows, first, out);
	else
		run_row_q8(call->ready, d, rows, scratch, out);
}

/*
 * Computes all rows of the task for one block of channels before the next block. While a block is
 * computed, an input row stays in the cache for all windows that read the row.
 */
static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct depthwise *d = call->ready->state;
	size_t rows = (size_t)d->in.n * d->window.h.out, first = task * d->task_rows;

	for (size_t block = 0; block < d->in.c; block += d->block)
		for (size_t i = first; i < rows && i < first + d->task_rows; i++)
			run_row(call, i, block, scratch);
}

NN_KERNEL(depthwise, "depthwise convolution", sizeof(struct depthwise),
	  NN_TAKES(NN_OP_DEPTHWISE_CONV_2D), .pack_task = pack_task, .restore = restore,
	  .inputs = 3);
