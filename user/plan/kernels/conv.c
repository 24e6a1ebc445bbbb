/* SPDX-License-Identifier: MIT */
/*
 * Computes CONV_2D as a matrix product. If a window is one pixel, the product reads the input in
 * place. If a window has several pixels, the elements of the window are copied to a row of the
 * product. Windows of floats that are inside the image are read in place: each row of the filter is
 * a part of the product's depth.
 */
#include <string.h>

#include "ops/conv.h"
#include "plan/kernels/caches.h"
#include "plan/kernels/fields_row.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/windows.h"

enum { X, FILTER, BIAS };

#define MIN_BLOCK_ROWS 14
/*
 * Windows are read in place if each tap has MIN_PART numbers, or if each row has MIN_ROW numbers,
 * and few windows cross the end of a line.
 */
#define MIN_PART 16
#define MIN_ROW 8
#define MIN_LINE (2 * MIN_BLOCK_ROWS)
#define MAX_PARTS 64
/* rows of a task: a multiple of the number of rows of every tile size */
#define PART_BLOCK_ROWS 84

struct conv {
	struct nn_gemm gemm;
	struct nn_window window;
	struct nn_image in;
	bool direct;			/* true: each window is one pixel of the input */
	bool in_parts;			/* true: most windows are read in place; see find_parts() */
	bool packs;			/* true: each execution packs the filter */
	size_t copy_size;		/* bytes of scratch memory for copied windows */
	uint8_t padding;		/* value of each byte of padding */
};

#define NN_STATE struct conv
static const struct nn_field fields[] = {
	IMAGE_WINDOW(in, window), WINDOW_REACHES(window),
	DIMENSION(gemm.columns), GEMM_NUMBERS(gemm), FLAG(packs),
	LIMIT(UINT32_MAX, window.h.filter, window.w.filter, in.c),
	SPAN(INPUT(X), NUMBERS(gemm.number), in.n, window.h.in, window.w.in, in.c),
	SPAN(OUTPUT(0), NUMBERS(gemm.number),
	     in.n, window.h.out, window.w.out, gemm.columns),
	WHEN(packs, SET,
	     ONLY(gemm.number, SET),
	     SPAN(INPUT(FILTER), NUMBERS(gemm.number),
		  gemm.columns, window.h.filter, window.w.filter, in.c),
	     SPAN(INPUT(BIAS), NUMBERS(gemm.number), gemm.columns)),
	END
};
NN_RESTORE(fields)

/* Derives the sizes of the matrix product from the image and the window. */
static void set_product(struct conv *c)
{
	const struct nn_axis *h = &c->window.h, *w = &c->window.w;

	c->direct = h->filter == 1 && w->filter == 1 && h->stride == 1 && w->stride == 1 &&
		    h->out == h->in && w->out == w->in;
	c->gemm.rows = (size_t)c->in.n * h->out * w->out;
	c->gemm.depth = (size_t)h->filter * w->filter * c->in.c;
}

static bool complete(void *state, struct nn_ready *ready)
{
	struct conv *c = state;
	const struct nn_axis *w = &c->window.w;
	const size_t lanes = ready->isa->lanes;
	size_t max_rows, copied;

	nn_image_of_window(&c->in, &c->window);
	set_product(c);
	if (!nn_gemm_complete(&c->gemm, ready->isa))
		return false;
	c->direct &= nn_gemm_takes_rows(&c->gemm);
	c->in_parts = c->gemm.number != NN_IN_INT8 && c->gemm.rows > 1 &&
		      (c->in.c >= MIN_PART ||
		       (w->dilation == 1 && w->filter * c->in.c >= MIN_ROW &&
			w->out >= MIN_LINE)) &&
		      c->window.h.filter <= MAX_PARTS / w->filter;
	/* With few columns, most lanes of a panel would be idle. */
	c->gemm.few = c->in_parts && c->gemm.number == NN_IN_FLOATS &&
		      c->gemm.columns <= lanes / 4 && c->in.c % lanes == 0 &&
		      c->gemm.depth >= 8 * lanes;
	c->direct &= !c->gemm.few;
	c->in_parts &= !c->direct;
	c->padding = c->gemm.number != NN_IN_INT8 ? 0 : (uint8_t)(c->gemm.a_zero ^ c->gemm.a_flip);
	max_rows = c->in_parts ? PART_BLOCK_ROWS : (c->direct ? NN_BLOCK_BYTES : NN_NEAR_BYTES) /
		   (c->gemm.depth * c->gemm.element) / MIN_BLOCK_ROWS * MIN_BLOCK_ROWS;
	nn_gemm_divide(&c->gemm, ready->isa, ready->threads,
		       max_rows < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS : max_rows);
	ready->packed_size = nn_gemm_packed_size(&c->gemm, ready->isa);
	copied = c->in_parts ? MIN_BLOCK_ROWS : c->gemm.block_rows;
	c->copy_size = c->direct ? 0 :
		       nn_kernel_aligned(copied * c->gemm.a_stride * c->gemm.element +
					 NN_WINDOWS_EXCESS);
	ready->scratch_size = c->copy_size + nn_gemm_scratch(&c->gemm, ready->isa);
	ready->tasks = c->gemm.row_blocks * c->gemm.column_blocks;
	if (c->packs)
		ready->pack_tasks = nn_gemm_pack_tasks(&c->gemm);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	struct conv *c = ready->state;
	struct nn_conv v;

	if (nn_conv_read(r, &v) || v.nchw)
		return false;
	c->in = v.in;
	c->window = v.window;
	c->gemm.columns = v.out.c;
	c->packs = !nn_has_constants(r);
	set_product(c);
	return nn_gemm_prepare(r, v.args.activation, ready, &c->gemm) && complete(c, ready);
}

static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct conv *c = ready->state;

	(void)scratch;
	return nn_gemm_pack_task(r, &c->gemm, ready, task, packed);
}

/*
 * Copies the windows of the output pixels [first, first + count) to adjacent rows of the product.
 */
static void copy_windows(const struct conv *c, const char *in, size_t first, size_t count, char *to)
{
	const size_t pixel = c->in.c * c->gemm.element;
	const size_t image = first / c->window.w.out / c->window.h.out;
	const struct nn_windows windows = {
		.window = &c->window, .pixel = pixel, .step = pixel,
		.stride = c->gemm.a_stride * c->gemm.element,
		.end_line = c->in.h, .padding = c->padding,
	};

	nn_copy_windows(&windows, in + image * c->in.h * c->in.w * pixel, first, count, to);
}

/*
 * Finds the parts of the product's depth for `count` output pixels from pixel `first` on. If all
 * windows are in one line and inside its columns, each row of the windows is read in place, and is
 * a part; rows outside the image are skipped. Otherwise the windows are copied.
 */
static size_t find_parts(const struct conv *c, const char *in, size_t first, size_t count,
			 char *copy, struct nn_gemm_part *parts)
{
	const struct nn_axis *h = &c->window.h, *w = &c->window.w;
	const size_t at = first % w->out, line = first / w->out, channels = c->in.c;
	const int64_t x = (int64_t)(at * w->stride) - w->head;
	const int64_t last = x + (int64_t)((count - 1) * w->stride) +
			     (int64_t)(w->filter - 1) * w->dilation;
	const uint32_t taps = w->dilation == 1 ? w->filter : 1;	/* adjacent taps */
	int64_t y = (int64_t)(line % h->out * h->stride) - h->head;
	size_t num = 0;

	if (at + count > w->out || x < 0 || last >= w->in) {
		copy_windows(c, in, first, count, copy);
		parts[0] = (struct nn_gemm_part){ copy, c->gemm.depth, 0, c->gemm.depth };
		return 1;
	}
	in += line / h->out * c->in.h * c->in.w * channels * c->gemm.element;
	for (size_t i = 0; i < h->filter; i++, y += h->dilation)
		for (size_t j = 0; y >= 0 && y < h->in && j < w->filter; j += taps)
			parts[num++] = (struct nn_gemm_part){
				.a = in + ((size_t)y * c->in.w + (size_t)x + j * w->dilation) *
						  channels * c->gemm.element,
				.stride = w->stride * channels,
				.first = (i * w->filter + j) * channels,
				.count = taps * channels,
			};
	return num;
}

static void run_parts(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct conv *c = call->ready->state;
	const struct nn_gemm *g = &c->gemm;
	struct nn_gemm_part parts[MAX_PARTS];
	size_t row = task / g->column_blocks * g->block_rows, end = row + g->block_rows, rows;
	const size_t tile = nn_gemm_isa(g, call->ready->isa)->tile_rows;
	const size_t most = MIN_BLOCK_ROWS / tile * tile;

	if (end > g->rows)
		end = g->rows;
	for (; row < end; row += rows) {
		rows = end - row < most ? end - row : most;
		nn_gemm_run_parts(call->ready, g, row, rows, task % g->column_blocks, parts,
				  find_parts(c, call->inputs[X], row, rows, scratch, parts),
				  call->outputs[0]);
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct conv *c = call->ready->state;
	const struct nn_gemm *g = &c->gemm;
	uint32_t row_block = task / g->column_blocks;
	size_t first = row_block * g->block_rows, left = g->rows - first;
	const char *in = call->inputs[X], *a = scratch;

	if (c->in_parts)
		return run_parts(call, task, scratch);
	if (c->direct)
		a = in + first * g->depth * c->gemm.element;
	else
		copy_windows(c, in, first, left < g->block_rows ? left : g->block_rows, scratch);
	nn_gemm_run(call->ready, g, row_block, task % g->column_blocks, a, call->outputs[0],
		    (char *)scratch + c->copy_size);
}

NN_KERNEL(conv, "convolution", sizeof(struct conv), NN_TAKES(NN_OP_CONV_2D), .pack_task = pack_task,
	  .restore = restore, .inputs = 3);
