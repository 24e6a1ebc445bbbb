/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution of floats, for all instruction sets. This file is included after gemm_f32.h
 * and uses the macros of gemm_f32.h, and LOAD_SOME.
 */
#if !defined(CLAMP) || !defined(LANES) || !defined(LOAD) || !defined(LOAD_SOME) || \
    !defined(MADD) || !defined(NUM) || !defined(SPLAT) || !defined(STORE) || \
    !defined(STORE_SOME) || !defined(TARGET) || !defined(VF)
#error "depthwise_f32.h needs: CLAMP LANES LOAD LOAD_SOME MADD NUM SPLAT STORE STORE_SOME TARGET VF"
#endif

/* Finds the output columns [first, last) whose windows have no padding to the left and right. */
static void inside_f32(const struct nn_depthwise_f32 *d, size_t *first, size_t *last)
{
	ptrdiff_t reach = (ptrdiff_t)((d->width - 1) * d->dilation) + 1 - d->head;
	ptrdiff_t room = (ptrdiff_t)d->in_width - reach;

	*first = d->head > 0 ? ((size_t)d->head + d->stride - 1) / d->stride : 0;
	*last = room < 0 ? 0 : (size_t)room / d->stride + 1;
	*last = *last < d->out_width ? *last : d->out_width;
	*first = *first < *last ? *first : *last;
}

static inline ALWAYS_INLINE TARGET VF load_f32(const NUM *p, size_t count)
{
	return count >= LANES ? LOAD(p) : LOAD_SOME(p, count);
}

static inline ALWAYS_INLINE TARGET void store_f32(NUM *p, VF v, size_t count)
{
	if (count >= LANES)
		STORE(p, v);
	else
		STORE_SOME(p, v, count);
}

/*
 * Returns the first channel of the vector for channel `c`. The last vector begins before `c` if
 * fewer than LANES channels are left, so some channels are computed twice.
 */
static inline size_t vector_f32(const struct nn_depthwise_f32 *d, size_t c)
{
	return c + LANES <= d->count ? c : d->count - LANES;
}

/*
 * Width and height of the filter with the fastest path, and the number of output columns that fast
 * paths compute together.
 */
#define FAST_F32 3
#define COLUMNS_F32 4
#define NEAR_F32 (COLUMNS_F32 + FAST_F32 - 1)	/* input columns of COLUMNS_F32 windows */

/*
 * Adds the products of one filter row to the sums of COLUMNS_F32 neighbouring windows. If `near` is
 * set, neighbouring windows share input columns, so each input column is loaded only once.
 */
static inline ALWAYS_INLINE TARGET void sum_taps_f32(bool near, const NUM *in, size_t tap,
						     size_t step, const size_t *taps,
						     const VF w[FAST_F32], VF acc[COLUMNS_F32])
{
	VF x[NEAR_F32];

	UNROLL
	for (int k = 0; k < NEAR_F32; k++)
		if (near)
			x[k] = LOAD(in + taps[k]);
	UNROLL
	for (int j = 0; j < FAST_F32; j++) {
		UNROLL
		for (int k = 0; k < COLUMNS_F32; k++)
			acc[k] = MADD(near ? x[j + k] :
				      LOAD(in + (size_t)k * step + (size_t)j * tap), w[j], acc[k]);
	}
}

/*
 * Computes output columns [first, last), at least COLUMNS_F32 columns, for one vector of channels
 * from channel `c` on. All filter rows and columns are inside the image.
 */
static inline ALWAYS_INLINE TARGET void inner_f32(const struct nn_depthwise_f32 *d, bool near,
						  size_t c, size_t first, size_t last)
{
	const VF low = SPLAT(d->low), high = SPLAT(d->high), bias = LOAD((const NUM *)d->bias + c);
	const size_t channels = d->channels, tap = d->dilation * channels;
	const size_t step = near ? tap : d->stride * channels;
	const size_t start = first * d->stride - (size_t)d->head;
	const NUM *filter = d->filter, *in[FAST_F32];
	NUM *out = (NUM *)d->out + first * channels + c;
	VF w[FAST_F32][FAST_F32];
	size_t taps[NEAR_F32];

	UNROLL
	for (int k = 0; k < NEAR_F32; k++)
		taps[k] = (size_t)k * tap;
	UNROLL
	for (int i = 0; i < FAST_F32; i++) {
		in[i] = (const NUM *)d->rows[i] + start * channels + c;
		UNROLL
		for (int j = 0; j < FAST_F32; j++)
			w[i][j] = LOAD(filter + ((size_t)i * FAST_F32 + (size_t)j) * channels + c);
	}
	/* The last iteration may compute some columns a second time. */
	for (size_t x = first, by = COLUMNS_F32; x < last; x += by) {
		VF acc[COLUMNS_F32];

		UNROLL
		for (int k = 0; k < COLUMNS_F32; k++)
			acc[k] = bias;
		by = last - x - COLUMNS_F32;
		if (by > COLUMNS_F32)
			by = COLUMNS_F32;
		UNROLL
		for (int i = 0; i < FAST_F32; i++) {
			sum_taps_f32(near, in[i], tap, step, taps, w[i], acc);
			in[i] += by * step;
		}
		UNROLL
		for (int k = 0; k < COLUMNS_F32; k++)
			STORE(out + (size_t)k * channels, CLAMP(acc[k], low, high));
		out += by * channels;
		if (!by)
			break;
	}
}

#define WIDEST_F32 7		/* maximum width of filters with a fast path */

/*
 * Computes the same as inner_f32() for filters with `width` columns, of which the rows [row, row +
 * height) are inside the image.
 */
static inline ALWAYS_INLINE TARGET void lines_f32(const struct nn_depthwise_f32 *d, int width,
						  bool near, size_t row, size_t height, size_t c,
						  size_t first, size_t last)
{
	const VF low = SPLAT(d->low), high = SPLAT(d->high), bias = LOAD((const NUM *)d->bias + c);
	const size_t channels = d->channels, tap = d->dilation * channels;
	const size_t step = near ? tap : d->stride * channels;

	for (size_t x = first, by = COLUMNS_F32; by; x += by) {
		const size_t start = (x * d->stride - (size_t)d->head) * channels + c;
		const NUM *w = (const NUM *)d->filter + row * (size_t)width * channels + c;
		NUM *out = (NUM *)d->out + x * channels + c;
		VF acc[COLUMNS_F32];

		UNROLL
		for (int k = 0; k < COLUMNS_F32; k++)
			acc[k] = bias;
		for (size_t i = row; i < row + height; i++) {
			const NUM *in = (const NUM *)d->rows[i] + start;
			VF all[WIDEST_F32 + COLUMNS_F32];

			UNROLL
			for (int k = 0; k < width + COLUMNS_F32 - 1; k++)
				if (near)
					all[k] = LOAD(in + (size_t)k * tap);
			UNROLL
			for (int j = 0; j < width; j++, w += channels) {
				const VF weight = LOAD(w);

				UNROLL
				for (int k = 0; k < COLUMNS_F32; k++)
					acc[k] = MADD(near ? all[j + k] :
						      LOAD(in + (size_t)k * step + (size_t)j * tap),
						      weight, acc[k]);
			}
		}
		UNROLL
		for (int k = 0; k < COLUMNS_F32; k++)
			STORE(out + (size_t)k * channels, CLAMP(acc[k], low, high));
		/* The last iteration may compute some columns a second time. */
		by = last - x - COLUMNS_F32;
		if (by > COLUMNS_F32)
			by = COLUMNS_F32;
	}
}

typedef void inner_f32_fn(const struct nn_depthwise_f32 *d, size_t row, size_t height, size_t c,
			  size_t first, size_t last);

#define INNER_F32(near)									\
static TARGET void inner_##near##_f32(const struct nn_depthwise_f32 *d, size_t row, size_t height, \
				      size_t c, size_t first, size_t last)		\
{											\
	(void)row, (void)height;							\
	inner_f32(d, near, c, first, last);						\
}

#define LINES_F32(width, near)								\
static TARGET void lines_##width##_##near##_f32(const struct nn_depthwise_f32 *d, size_t row,	\
						size_t height, size_t c, size_t first,	\
						size_t last)				\
{											\
	lines_f32(d, width, near, row, height, c, first, last);				\
}

INNER_F32(true) INNER_F32(false)
LINES_F32(3, true) LINES_F32(5, true) LINES_F32(7, true)
LINES_F32(3, false) LINES_F32(5, false) LINES_F32(7, false)

/*
 * Computes one output column for `count` channels; of each filter row, `taps` taps from tap `first`
 * on are inside the image.
 */
static inline ALWAYS_INLINE TARGET void window_f32(const struct nn_depthwise_f32 *d, size_t x,
						   size_t first, size_t taps, size_t c,
						   size_t count)
{
	const size_t channels = d->channels, tap = d->dilation * channels;
	const ptrdiff_t start = (ptrdiff_t)(x * d->stride + first * d->dilation) - d->head;
	VF acc = load_f32((const NUM *)d->bias + c, count);

	for (size_t i = 0; i < d->height; i++) {
		const NUM *w = (const NUM *)d->filter + (i * d->width + first) * channels + c;
		const NUM *in = d->rows[i];

		if (!in)
			continue;
		in += start * (ptrdiff_t)channels + (ptrdiff_t)c;
		for (size_t j = 0; j < taps; j++)
			acc = MADD(load_f32(in + j * tap, count), load_f32(w + j * channels, count),
				   acc);
	}
	store_f32((NUM *)d->out + x * channels + c, CLAMP(acc, SPLAT(d->low), SPLAT(d->high)),
		  count);
}

/* One tap of a window: pointers to the first channel of the input and of the filter. */
struct tap_f32 {
	const NUM *in;
	const NUM *w;
};

/*
 * Number of taps of a 3 x 3 filter that are inside the image at an edge, and at a corner, of the
 * image.
 */
#define EDGE_F32 6
#define CORNER_F32 4

/*
 * Computes one output column for whole vectors of channels, from channel `c` on. Returns `c` if
 * there are fewer than LANES channels, otherwise at least their number.
 */
static inline ALWAYS_INLINE TARGET size_t edge_f32(const struct nn_depthwise_f32 *d, int num_taps,
						   const struct tap_f32 *taps, size_t x, size_t c)
{
	const VF low = SPLAT(d->low), high = SPLAT(d->high);
	const NUM *bias = d->bias, *in[EDGE_F32], *w[EDGE_F32];
	NUM *out = (NUM *)d->out + x * d->channels;
	const size_t count = d->count;

	UNROLL
	for (int i = 0; i < num_taps; i++) {
		in[i] = taps[i].in;
		w[i] = taps[i].w;
	}
	for (; c < count && count >= LANES; c += LANES) {
		const size_t at = vector_f32(d, c);
		VF acc = LOAD(bias + at);

		UNROLL
		for (int i = 0; i < num_taps; i++)
			acc = MADD(LOAD(in[i] + at), LOAD(w[i] + at), acc);
		STORE(out + at, CLAMP(acc, low, high));
	}
	return c;
}

/*
 * Calls edge_f32() if the window has EDGE_F32 or CORNER_F32 taps inside the image. With any other
 * number of taps, small_f32() computes nothing and returns `c`. The window's columns from `first`
 * to first + taps - 1 are inside the image.
 */
static TARGET size_t small_f32(const struct nn_depthwise_f32 *d, size_t x, size_t first,
			       size_t taps, size_t c)
{
	const ptrdiff_t start = (ptrdiff_t)(x * d->stride + first * d->dilation) - d->head;
	struct tap_f32 all[EDGE_F32];
	size_t count = 0;

	for (size_t i = 0; i < d->height; i++) {
		const NUM *w = (const NUM *)d->filter + (i * d->width + first) * d->channels;
		const NUM *in = d->rows[i];

		if (!in)
			continue;
		if (count + taps > EDGE_F32)
			return c;
		in += start * (ptrdiff_t)d->channels;
		for (size_t j = 0; j < taps; j++)
			all[count++] = (struct tap_f32){ in + j * d->dilation * d->channels,
							 w + j * d->channels };
	}
	if (count == EDGE_F32)
		return edge_f32(d, EDGE_F32, all, x, c);
	if (count == CORNER_F32)
		return edge_f32(d, CORNER_F32, all, x, c);
	return c;
}

/*
 * Computes one output column for all channels from `c` on. Any tap of the window may be in the
 * padding.
 */
static TARGET void column_f32(const struct nn_depthwise_f32 *d, size_t x, size_t c)
{
	const ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;
	size_t first = 0, last = d->width;

	while (first < last && start + (ptrdiff_t)(first * d->dilation) < 0)
		first++;
	while (first < last &&
	       start + (ptrdiff_t)((last - 1) * d->dilation) >= (ptrdiff_t)d->in_width)
		last--;
	c = small_f32(d, x, first, last - first, c);
	for (; c < d->count && d->count >= LANES; c += LANES)
		window_f32(d, x, first, last - first, vector_f32(d, c), LANES);
	if (c < d->count)
		window_f32(d, x, first, last - first, c, d->count - c);
}

/*
 * Returns the inner loop for the rows of a filter that are inside the image: *height rows from row
 * *row on. Returns NULL if no row is inside the image, or if the filter's width has no fast path.
 */
static inner_f32_fn *find_inner_f32(const struct nn_depthwise_f32 *d, size_t *row, size_t *height)
{
	static inner_f32_fn *const lines[2][WIDEST_F32 + 1] = {
		{ [3] = lines_3_false_f32, [5] = lines_5_false_f32, [7] = lines_7_false_f32 },
		{ [3] = lines_3_true_f32, [5] = lines_5_true_f32, [7] = lines_7_true_f32 },
	};
	const bool near = d->stride == d->dilation;
	size_t end = d->height;

	for (*row = 0; *row < end && !d->rows[*row];)
		++*row;
	while (end > *row && !d->rows[end - 1])
		end--;
	*height = end - *row;
	if (*height == FAST_F32 && d->height == FAST_F32 && d->width == FAST_F32)
		return near ? inner_true_f32 : inner_false_f32;
	return *height && d->width <= WIDEST_F32 ? lines[near][d->width] : NULL;
}

static TARGET void depthwise_f32(const struct nn_depthwise_f32 *d)
{
	size_t first, last, row, height, c = 0;
	inner_f32_fn *inner = find_inner_f32(d, &row, &height);

	inside_f32(d, &first, &last);
	if (inner && last - first >= COLUMNS_F32)
		for (; c < d->count && d->count >= LANES; c += LANES)
			inner(d, row, height, vector_f32(d, c), first, last);
	for (size_t x = 0; x < first; x++)
		column_f32(d, x, 0);
	for (size_t x = first; x < last && c < d->count; x++)
		column_f32(d, x, c);
	for (size_t x = last; x < d->out_width; x++)
		column_f32(d, x, 0);
}
