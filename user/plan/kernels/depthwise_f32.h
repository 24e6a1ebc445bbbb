/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution of floats for one instruction set; included like, and
 * after, gemm_f32.h, by who also defines LOAD_SOME.
 */

/* The stretch of output columns whose windows lie inside the row: [first, last). */
static void inside_f32(const struct nn_depthwise_f32 *d, size_t *first, size_t *last)
{
	ptrdiff_t reach = (ptrdiff_t)((d->width - 1) * d->dilation) + 1 - d->head;
	ptrdiff_t room = (ptrdiff_t)d->in_width - reach;

	*first = d->head > 0 ? ((size_t)d->head + d->stride - 1) / d->stride : 0;
	*last = room < 0 ? 0 : (size_t)room / d->stride + 1;
	*last = *last < d->out_width ? *last : d->out_width;
	*first = *first < *last ? *first : *last;
}

static inline ALWAYS_INLINE TARGET VF load_f32(const float *p, size_t count)
{
	return count >= LANES ? LOAD(p) : LOAD_SOME(p, count);
}

static inline ALWAYS_INLINE TARGET void store_f32(float *p, VF v, size_t count)
{
	if (count >= LANES)
		STORE(p, v);
	else
		STORE_SOME(p, v, count);
}

/* One output column, `count` channels from `c` on; any of its taps may be padding. */
static TARGET void column_f32(const struct nn_depthwise_f32 *d, size_t x, size_t c, size_t count)
{
	ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;
	VF acc = load_f32(d->bias + c, count);

	for (size_t i = 0; i < d->height; i++) {
		for (size_t j = 0; d->rows[i] && j < d->width; j++) {
			ptrdiff_t at = start + (ptrdiff_t)(j * d->dilation);

			if (at < 0 || at >= (ptrdiff_t)d->in_width)
				continue;
			acc = MADD(load_f32(d->rows[i] + (size_t)at * d->channels + c, count),
				   load_f32(d->filter + (i * d->width + j) * d->channels + c,
					    count), acc);
		}
	}
	store_f32(d->out + x * d->channels + c, MIN(SPLAT(d->high), MAX(SPLAT(d->low), acc)),
		  count);
}

/* Columns [first, last) of a window of 3 by 3 inside the image, a vector of channels from `c`. */
static TARGET void inner_3x3_f32(const struct nn_depthwise_f32 *d, size_t c, size_t first,
				 size_t last)
{
	const VF low = SPLAT(d->low), high = SPLAT(d->high), bias = LOAD(d->bias + c);
	const size_t step = d->stride * d->channels, tap = d->dilation * d->channels;
	const float *row[3];
	VF w[3][3];

	UNROLL
	for (int i = 0; i < 3; i++) {
		ptrdiff_t start = (ptrdiff_t)(first * d->stride) - d->head;

		row[i] = d->rows[i] + (size_t)start * d->channels + c;
		UNROLL
		for (int j = 0; j < 3; j++)
			w[i][j] = LOAD(d->filter + (size_t)(i * 3 + j) * d->channels + c);
	}
	for (size_t x = first; x < last; x++) {
		VF acc = bias;

		UNROLL
		for (int i = 0; i < 3; i++) {
			UNROLL
			for (int j = 0; j < 3; j++)
				acc = MADD(LOAD(row[i] + (size_t)j * tap), w[i][j], acc);
			row[i] += step;
		}
		STORE(d->out + x * d->channels + c, MIN(high, MAX(low, acc)));
	}
}

static void depthwise_f32(const struct nn_depthwise_f32 *d)
{
	bool full = d->height == 3 && d->width == 3 && d->rows[0] && d->rows[1] && d->rows[2];
	size_t first, last;

	inside_f32(d, &first, &last);
	for (size_t c = 0; c < d->channels; c += LANES) {
		size_t count = d->channels - c;
		bool inner = full && count >= LANES;

		if (inner && first < last)
			inner_3x3_f32(d, c, first, last);
		for (size_t x = 0; x < d->out_width; x++)
			if (!inner || x < first || x >= last)
				column_f32(d, x, c, count);
	}
}
