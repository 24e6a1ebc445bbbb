/* SPDX-License-Identifier: MIT */
/*
 * CONV_2D with constant filters as a matrix product: of the input as it lies
 * where the window is one pixel, else of windows that are copied side by side.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/image.h"
#include "ops/window.h"
#include "plan/kernels/families.h"
#include "plan/kernels/gemm.h"

enum { X, FILTER, BIAS };

#define BLOCK_BYTES (256 * 1024)	/* of input of a task: part of a second-level cache */
#define COPY_BYTES (24 * 1024)		/* of copies: half of a first-level cache */
#define MIN_BLOCK_ROWS 14

struct conv {
	struct nn_gemm gemm;
	struct nn_window window;
	struct nn_image in;
	bool direct;			/* the windows are the input's pixels */
	size_t copy_size;		/* bytes of windows, in the scratch memory */
	uint8_t padding;		/* each byte of an element outside the image */
};

/* Reads the window again, as the shape rule did, which found no fault. */
static bool read_window(struct nn_run *r, struct conv *c, uint32_t *activation)
{
	struct nn_window_args args = nn_window_run_args(r, 3, 0);
	const struct nn_tensor *filter = &r->inputs[FILTER];

	*activation = args.activation;
	if (nn_run_bool(r, args.nchw, false))
		return false;
	c->in = nn_image_of(&r->inputs[X], false);
	c->window.h = (struct nn_axis){ .in = c->in.h, .filter = filter->dims[1] };
	c->window.w = (struct nn_axis){ .in = c->in.w, .filter = filter->dims[2] };
	return !nn_window_infer(r, &args, &c->window);
}

/* What the image, the window and the filter's channels tell of the product. */
static void set_product(struct conv *c, size_t columns)
{
	const struct nn_axis *h = &c->window.h, *w = &c->window.w;

	c->direct = h->filter == 1 && w->filter == 1 && h->stride == 1 && w->stride == 1 &&
		    h->out == h->in && w->out == w->in;
	c->gemm.rows = (size_t)c->in.n * h->out * w->out;
	c->gemm.columns = columns;
	c->gemm.depth = (size_t)h->filter * w->filter * c->in.c;
}

/* What the product tells of the rest. */
static void set_ready(struct conv *c, struct nn_ready *ready)
{
	size_t max_rows;

	c->direct &= nn_gemm_takes_rows(&c->gemm);
	c->padding = c->gemm.is_float ? 0 : (uint8_t)(c->gemm.a_zero ^ c->gemm.a_flip);
	max_rows = (c->direct ? BLOCK_BYTES : COPY_BYTES) / (c->gemm.depth * c->gemm.element) /
		   MIN_BLOCK_ROWS * MIN_BLOCK_ROWS;
	nn_gemm_divide(&c->gemm, ready->threads,
		       max_rows < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS : max_rows);
	ready->packed_size = nn_gemm_packed_size(&c->gemm, ready->isa);
	c->copy_size = c->direct ? 0 : (c->gemm.block_rows * c->gemm.a_stride * c->gemm.element +
					63) / 64 * 64;
	ready->scratch_size = c->copy_size + nn_gemm_scratch(&c->gemm, ready->isa);
	ready->tasks = c->gemm.row_blocks * c->gemm.column_blocks;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct conv *c;
	uint32_t activation;

	if (r->op->code != NN_CODE_CONV_2D)
		return false;
	c = calloc(1, sizeof(*c));
	if (!c)
		return false;
	ready->state = c;
	if (!read_window(r, c, &activation))
		return false;
	set_product(c, r->inputs[FILTER].dims[0]);
	if (!nn_gemm_prepare(r, activation, ready, &c->gemm))
		return false;
	set_ready(c, ready);
	return true;
}

/* ---- Saving ---- */

struct saved {
	struct nn_saved_window window;
	uint32_t columns;
	struct nn_saved_numbers numbers;
};

static uint32_t save(const struct nn_ready *ready, uint32_t *words)
{
	const struct conv *c = ready->state;
	struct saved *s = (struct saved *)words;

	if (!nn_window_save(&c->in, &c->window, &s->window))
		return 0;
	s->columns = (uint32_t)c->gemm.columns;
	nn_gemm_save(&c->gemm, &s->numbers);
	return NN_WORDS(*s) - NN_WORDS(s->numbers) + nn_numbers_words(&s->numbers);
}

static bool restore(const uint32_t *words, uint32_t count, const struct nn_bounds *bounds,
		    struct nn_ready *ready, void *state)
{
	const struct saved *s = (const struct saved *)words;
	const uint32_t before = NN_WORDS(*s) - NN_WORDS(s->numbers);
	struct conv *c = state;

	if (count <= before || !nn_window_restore(&s->window, &c->in, &c->window) ||
	    !nn_is_dimension(s->columns))
		return false;
	set_product(c, s->columns);
	if (nn_times((uint64_t)c->window.h.filter * c->window.w.filter, c->in.c) > UINT32_MAX ||
	    !nn_gemm_restore(&s->numbers, count - before, ready->isa, &c->gemm) ||
	    !nn_fits(&bounds->inputs[X], nn_window_input(&s->window, c->gemm.element),
		     c->gemm.element) ||
	    !nn_fits(&bounds->output, nn_window_output(&s->window, s->columns, c->gemm.element),
		     c->gemm.element))
		return false;
	set_ready(c, ready);
	return true;
}

static void pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct conv *c = ready->state;

	nn_gemm_pack(r, &c->gemm, ready->isa, nn_window_run_args(r, 3, 0).activation, packed);
}

/* memcpy() of what is mostly a few bytes: in pieces of which the last overlaps. */
static inline void copy_few(char *to, const char *from, size_t size)
{
	size_t i = 0;

	if (size < 8 || size > 256) {
		memcpy(to, from, size);
	} else if (size < 16) {
		memcpy(to, from, 8);
		memcpy(to + size - 8, from + size - 8, 8);
	} else {
		for (; i + 16 < size; i += 16)
			memcpy(to + i, from + i, 16);
		memcpy(to + size - 16, from + size - 16, 16);
	}
}

/* Copies a row of a window, which begins at column `x` of an image's row (NULL: padding). */
static char *copy_taps(const struct conv *c, const char *row, int64_t x, char *to)
{
	const struct nn_axis *w = &c->window.w;
	size_t pixel = c->in.c * c->gemm.element;

	for (uint32_t j = 0; j < w->filter; j++, x += w->dilation, to += pixel) {
		if (row && x >= 0 && x < w->in)
			memcpy(to, row + (size_t)x * pixel, pixel);
		else
			memset(to, c->padding, pixel);
	}
	return to;
}

/* Copies `rows` rows of a window that is inside the image and begins at `from`. */
static void copy_inside(const char *from, size_t row_size, uint32_t rows, size_t size, char *to)
{
	for (uint32_t i = 0; i < rows; i++, from += row_size, to += size)
		copy_few(to, from, size);
}

/* Copies the window that begins at row `y` and column `x` of an image. */
static char *copy_window(const struct conv *c, const char *in, int64_t y, int64_t x, char *to)
{
	const struct nn_axis *h = &c->window.h, *w = &c->window.w;
	size_t pixel = c->in.c * c->gemm.element, row_size = c->in.w * pixel;
	char *end = to + c->gemm.a_stride * c->gemm.element;

	if (w->dilation == 1 && x >= 0 && x + w->filter <= w->in && y >= 0 &&
	    y + (int64_t)(h->filter - 1) * h->dilation < h->in) {
		copy_inside(in + (size_t)y * row_size + (size_t)x * pixel,
			    h->dilation * row_size, h->filter, w->filter * pixel, to);
		return end;
	}
	for (uint32_t i = 0; i < h->filter; i++, y += h->dilation)
		to = copy_taps(c, y >= 0 && y < h->in ? in + (size_t)y * row_size : NULL, x, to);
	return end;
}

/* Copies the windows of the output pixels [first, first + count) side by side. */
static void copy_windows(const struct conv *c, const char *in, size_t first, size_t count,
			 char *to)
{
	const struct nn_axis *h = &c->window.h, *w = &c->window.w;
	size_t image_size = (size_t)c->in.h * c->in.w * c->in.c * c->gemm.element;
	size_t x = first % w->out, y = first / w->out % h->out;

	in += first / w->out / h->out * image_size;
	for (; count > 0; count--) {
		to = copy_window(c, in, (int64_t)(y * h->stride) - h->head,
				 (int64_t)(x * w->stride) - w->head, to);
		if (++x < w->out)
			continue;
		x = 0;
		if (++y < h->out)
			continue;
		y = 0;
		in += image_size;
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct conv *c = call->ready->state;
	const struct nn_gemm *g = &c->gemm;
	uint32_t row_block = task / g->column_blocks;
	size_t first = row_block * g->block_rows, left = g->rows - first;
	const char *in = call->inputs[X], *a = scratch;

	if (c->direct)
		a = in + first * g->depth * c->gemm.element;
	else
		copy_windows(c, in, first, left < g->block_rows ? left : g->block_rows, scratch);
	nn_gemm_run(call->ready, g, row_block, task % g->column_blocks, a, call->outputs[0],
		    (char *)scratch + c->copy_size);
}

const struct nn_kernel nn_kernel_conv = {
	.name = "convolution",
	.prepare = prepare,
	.pack = pack,
	.run = run,
	.save = save,
	.restore = restore,
	.inputs = 1,
	.state_size = sizeof(struct conv),
};
