/* SPDX-License-Identifier: MIT */
/*
 * Int8 depthwise convolutions for instruction sets without VNNI. Taps are widened to 16 bits, and
 * one instruction multiplies and sums two taps of each channel. This file is included after
 * q8_pairs.h.
 */
#if !defined(DOT) || !defined(HIGH_PAIRS) || !defined(LANES) || !defined(LOW_PAIRS) || \
    !defined(TARGET) || !defined(WIDE_OF_BYTES) || !defined(WIDE_OF_SIGNED) || !defined(WIDTH)
#error "depthwise_pairs.h needs: DOT HIGH_PAIRS LANES LOW_PAIRS TARGET WIDE_OF_BYTES WIDE_OF_SIGNED WIDTH"
#endif

/*
 * A whole output row is computed for DEPTHWISE_BLOCKS vectors of channels before the next vectors
 * of channels are begun. The weights of DEPTHWISE_BLOCKS vectors of channels fit in the first-level
 * cache.
 */
#define DEPTHWISE_BLOCKS 8

/* State that all blocks of channels of an output row share. */
struct taps_q8 {
	const struct nn_depthwise_q8 *d;
	/* Pointers to the taps of one output column; two consecutive taps are a pair. */
	const uint8_t **at;
	size_t pairs;
	size_t step;		/* distance in bytes between the taps of two adjacent columns */
};

/*
 * Loads up to WIDTH bytes, widened to 16 bits each. The zero point is not subtracted, because the
 * bias includes it.
 */
static inline ALWAYS_INLINE TARGET wide_q8 load_tap(const uint8_t *p, size_t count, bool is_signed)
{
	const bytes_q8 bytes = load_bytes(p, count);

	return is_signed ? WIDE_OF_SIGNED(bytes) : WIDE_OF_BYTES(bytes);
}

/*
 * Computes `count` channels, from channel `c` on, of one or two output columns. `from` is the
 * distance in bytes from the pointers t->at to the taps of the first output column.
 */
static inline ALWAYS_INLINE TARGET void run_block_pairs(const struct taps_q8 *t, int columns,
							size_t from, size_t c, size_t count,
							bool is_signed, const char *block,
							uint8_t *out)
{
	const struct nn_q8_scale *first = nn_q8_scale_of(block, LANES, 0);
	const struct nn_q8_scale *second = nn_q8_scale_of(block, LANES, 1);
	const int16_t *w = (const void *)(block + nn_q8_scales_size(LANES, NN_PANEL_VECTORS));
	const uint8_t *const *at = t->at;
	sums_q8 acc[2][NN_PANEL_VECTORS];

	UNROLL
	for (int i = 0; i < columns; i++) {
		memcpy(&acc[i][0], first->bias, sizeof(acc[i][0]));
		memcpy(&acc[i][1], second->bias, sizeof(acc[i][1]));
	}
	for (size_t k = 0; k < t->pairs; k++, at += 2, w += NN_PANEL_VECTORS * WIDTH) {
		wide_q8 b[NN_PANEL_VECTORS];

		memcpy(&b[0], w, sizeof(b[0]));
		memcpy(&b[1], w + WIDTH, sizeof(b[1]));
		UNROLL
		for (int i = 0; i < columns; i++) {
			const size_t place = from + (size_t)i * t->step + c;
			const wide_q8 x = load_tap(at[0] + place, count, is_signed);
			const wide_q8 y = load_tap(at[1] + place, count, is_signed);

			acc[i][0] += DOT(LOW_PAIRS(x, y), b[0]);
			acc[i][1] += DOT(HIGH_PAIRS(x, y), b[1]);
		}
	}
	UNROLL
	for (int i = 0; i < columns; i++) {
		acc[i][0] = scale_q8(acc[i][0], first);
		acc[i][1] = scale_q8(acc[i][1], second);
	}
	UNROLL
	for (int i = 0; i < columns; i++)
		store_q8(out + (size_t)i * t->d->channels, acc[i][0], acc[i][1], &t->d->output,
			 count);
}

/* Calls run_block_pairs() for all blocks of channels [c, end). */
static inline ALWAYS_INLINE TARGET void run_blocks_pairs(const struct taps_q8 *t, int columns,
							 size_t from, size_t c, size_t end,
							 bool is_signed, const char *block,
							 uint8_t *out)
{
	const size_t size = nn_q8_pairs_panel_size(LANES, 2 * t->pairs, sizeof(int16_t));

	for (; c + WIDTH <= end; c += WIDTH, block += size)
		run_block_pairs(t, columns, from, c, WIDTH, is_signed, block, out + c);
	if (c < end)
		run_block_pairs(t, columns, from, c, end - c, is_signed, block, out + c);
}

static TARGET void run_column(const struct taps_q8 *t, size_t c, size_t end, const char *block,
			      uint8_t *out)
{
	if (t->d->in_flip)
		run_blocks_pairs(t, 1, 0, c, end, true, block, out);
	else
		run_blocks_pairs(t, 1, 0, c, end, false, block, out);
}

static TARGET void run_two_columns(const struct taps_q8 *t, size_t from, size_t c, size_t end,
				   const char *block, uint8_t *out)
{
	if (t->d->in_flip)
		run_blocks_pairs(t, 2, from, c, end, true, block, out);
	else
		run_blocks_pairs(t, 2, from, c, end, false, block, out);
}

/*
 * Finds the input addresses of the taps of output column `x`. Pointers to taps in the padding are
 * set to `padding`. If the number of taps is odd, an additional tap with weight 0 completes the
 * last pair of taps.
 */
static void find_taps(const struct nn_depthwise_q8 *d, size_t x, const uint8_t *padding,
		      const uint8_t **taps)
{
	const uint8_t **first = taps;
	ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;

	for (size_t i = 0; i < d->height; i++) {
		ptrdiff_t at = start;

		for (size_t j = 0; j < d->width; j++, at += (ptrdiff_t)d->dilation) {
			bool inside = d->rows[i] && at >= 0 && at < (ptrdiff_t)d->in_width;

			*taps++ = inside ? d->rows[i] + (size_t)at * d->channels : padding;
		}
	}
	*taps = *first;
}

/* Returns whether the window of output column `x` has no padding to the left and right. */
static bool is_inside(const struct nn_depthwise_q8 *d, size_t x)
{
	ptrdiff_t start = (ptrdiff_t)(x * d->stride) - d->head;

	return start >= 0 &&
	       start + (ptrdiff_t)((d->width - 1) * d->dilation) < (ptrdiff_t)d->in_width;
}

/*
 * Computes channels [c, end) of an output row. `whole` says that the windows have no padding above
 * and below.
 */
static void run_row_pairs(const struct taps_q8 *t, const uint8_t *padding, bool whole, size_t c,
			  size_t end, const char *block)
{
	const struct nn_depthwise_q8 *d = t->d;
	size_t x = 0, first;

	while (x < d->out_width) {
		find_taps(d, x, padding, t->at);
		if (!whole || !is_inside(d, x) || x + 1 == d->out_width || !is_inside(d, x + 1)) {
			run_column(t, c, end, block, d->out + x * d->channels);
			x++;
			continue;
		}
		for (first = x; x + 1 < d->out_width && is_inside(d, x + 1); x += 2)
			run_two_columns(t, (x - first) * t->step, c, end, block,
					d->out + x * d->channels);
	}
}

static void depthwise_q8(const struct nn_depthwise_q8 *d)
{
	const size_t pairs = (d->height * d->width + 1) / 2;
	const struct taps_q8 t = {
		.d = d,
		.at = (const uint8_t **)d->scratch,
		.pairs = pairs,
		.step = d->stride * d->channels,
	};
	uint8_t *padding = d->scratch + (2 * pairs + 1) * sizeof(*t.at);
	const char *block = (const char *)d->packed;
	bool whole = true;

	memset(padding, d->in_zero ^ d->in_flip, d->channels);
	for (size_t i = 0; i < d->height; i++)
		whole = whole && d->rows[i];
	for (size_t c = 0; c < d->channels; c += DEPTHWISE_BLOCKS * WIDTH) {
		size_t rest = d->channels - c, most = DEPTHWISE_BLOCKS * WIDTH;

		run_row_pairs(&t, padding, whole, c, c + (rest < most ? rest : most), block);
		block += DEPTHWISE_BLOCKS * nn_q8_pairs_panel_size(LANES, 2 * pairs, sizeof(int16_t));
	}
}
