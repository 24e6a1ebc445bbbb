/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plan/kernels/unroll.h"
#include "plan/kernels/windows.h"

#define CHUNK NN_WINDOWS_EXCESS	/* bytes that one memcpy() copies in copy_few_inside() */
/* largest row of a window, in bytes, that is copied in chunks */
#define MAX_FEW 256

/*
 * Copies one row of a window, which begins at column `x` of a row of the image. If `row` is NULL,
 * the whole row of the window is padding.
 */
static char *copy_taps(const struct nn_windows *c, const char *row, int64_t x, char *to)
{
	const struct nn_axis *w = &c->window->w;

	for (uint32_t j = 0; j < w->filter; j++, x += w->dilation, to += c->pixel) {
		if (row && x >= 0 && x < w->in)
			memcpy(to, row + (size_t)x * c->step, c->pixel);
		else
			memset(to, c->padding, c->pixel);
	}
	return to;
}

/* Copies the window that begins at row `y` and column `x` of an image. */
static char *copy_window(const struct nn_windows *c, const char *in, int64_t y, int64_t x, char *to)
{
	const struct nn_axis *h = &c->window->h;
	const size_t line = c->window->w.in * c->step;
	char *end = to + c->stride;

	for (uint32_t i = 0; i < h->filter; i++, y += h->dilation) {
		const bool is_inside = y >= 0 && y < h->in;

		to = copy_taps(c, is_inside ? in + ((size_t)y - c->first_line) * line : NULL, x, to);
	}
	return end;
}

/*
 * Returns the number of adjacent windows, from row `y` and column `x` on, that are inside the
 * image. Counts only windows whose rows are all followed by CHUNK more bytes of the image, so that
 * the rows can be copied in chunks.
 */
static size_t count_inside(const struct nn_windows *c, int64_t y, int64_t x)
{
	const struct nn_axis *h = &c->window->h, *w = &c->window->w;
	int64_t last = y + (int64_t)(h->filter - 1) * h->dilation, most = (int64_t)w->in;
	int64_t pixel = (int64_t)c->pixel;

	/*
	 * Reading up to CHUNK bytes beyond the end of an image row is safe if another row of at
	 * least CHUNK bytes follows.
	 */
	if (last + 1 >= (int64_t)c->end_line || most * pixel < CHUNK)
		most -= (CHUNK + pixel - 1) / pixel;
	most -= w->filter;
	if (w->dilation != 1 || c->step != c->pixel || y < 0 || last >= h->in || x < 0 || x > most)
		return 0;
	return (size_t)(most - x) / w->stride + 1;
}

/*
 * Copies `count` windows that are inside the image. The first window begins at `from`. Short rows
 * of windows are copied in whole chunks of CHUNK bytes. The excess bytes of a chunk are overwritten
 * by the next row.
 */
static inline ALWAYS_INLINE char *copy_inside(const struct nn_windows *c, bool few,
					      const char *from, size_t count, char *to)
{
	const size_t size = c->window->w.filter * c->pixel;
	const size_t row = c->window->h.dilation * c->window->w.in * c->pixel;
	const size_t rows = c->window->h.filter, step = c->window->w.stride * c->pixel;
	const size_t next = c->stride;

	for (; count > 0; count--, from += step, to += next) {
		const char *piece = from;
		char *place = to;

		for (size_t i = 0; i < rows; i++, piece += row, place += size) {
			if (!few)
				memcpy(place, piece, size);
			for (size_t k = 0; few && k < size; k += CHUNK)
				memcpy(place + k, piece + k, CHUNK);
		}
	}
	return to;
}

static char *copy_few_inside(const struct nn_windows *c, const char *from, size_t count, char *to)
{
	return copy_inside(c, true, from, count, to);
}

static char *copy_many_inside(const struct nn_windows *c, const char *from, size_t count, char *to)
{
	return copy_inside(c, false, from, count, to);
}

void nn_copy_windows(const struct nn_windows *c, const char *in, size_t first, size_t count,
		     char *to)
{
	const struct nn_axis *h = &c->window->h, *w = &c->window->w;
	const size_t line = w->in * c->step;
	size_t x = first % w->out, y = first / w->out % h->out, some;

	char *(*copy)(const struct nn_windows *c, const char *from, size_t count, char *to) =
		w->filter * c->pixel <= MAX_FEW ? copy_few_inside : copy_many_inside;

	for (; count > 0; count -= some) {
		int64_t at_y = (int64_t)(y * h->stride) - h->head;
		int64_t at_x = (int64_t)(x * w->stride) - w->head;
		size_t left = w->out - x < count ? w->out - x : count;

		some = count_inside(c, at_y, at_x);
		if (some > left)
			some = left;
		if (some) {
			to = copy(c, in + ((size_t)at_y - c->first_line) * line +
				     (size_t)at_x * c->step, some, to);
		} else {
			to = copy_window(c, in, at_y, at_x, to);
			some = 1;
		}
		x += some;
		if (x < w->out)
			continue;
		x = 0;
		if (++y < h->out)
			continue;
		y = 0;
		in += h->in * line;
	}
}
