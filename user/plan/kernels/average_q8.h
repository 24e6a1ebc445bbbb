/* SPDX-License-Identifier: MIT */
/*
 * AVERAGE_POOL_2D of int8, for all instruction sets. This file is included after q8_pairs.h, or
 * after wide_q8.h if the includer defines HIGH_PAIRS and LOW_PAIRS.
 */
#if !defined(HIGH_PAIRS) || !defined(LANES) || !defined(LOW_PAIRS) || !defined(TARGET) || \
    !defined(WIDTH)
#error "average_q8.h needs: HIGH_PAIRS LANES LOW_PAIRS TARGET WIDTH"
#endif

/*
 * Sums the window's pixels in up to WIDTH channels, from channel `c` on. Each sum fits in 15 bits,
 * because the window has at most NN_AVERAGE_PIXELS pixels.
 */
static inline ALWAYS_INLINE TARGET wide_q8 sum_window_q8(const struct nn_average_q8 *a, size_t c,
							 size_t count)
{
	const uint8_t *row = a->in + c;
	wide_q8 sum = { 0 };

	for (size_t y = 0; y < a->rows; y++, row += a->row_stride)
		for (size_t x = 0; x < a->columns; x++)
			sum += load_wide(row + x * a->channels, count, a->flip, 0);
	return sum;
}

/*
 * Divides sums of bytes, each XORed with `flip`, by `count`, and rounds halves away from zero. The
 * truncated float32 quotients are exact, because the sums have only 15 bits.
 */
static inline ALWAYS_INLINE TARGET sums_q8 mean_q8(sums_q8 sum, int32_t count, uint8_t flip)
{
	typedef float quotients __attribute__((vector_size(4 * LANES)));
	const sums_q8 value = sum - count * flip, sign = (sums_q8)(value < 0);
	const sums_q8 rounded = value + (((count / 2) ^ sign) - sign);

	return __builtin_convertvector(__builtin_convertvector(rounded, quotients) / (float)count,
				       sums_q8);
}

static TARGET void average_q8(const struct nn_average_q8 *a)
{
	const int32_t count = (int32_t)(a->rows * a->columns);
	const wide_q8 zero = { 0 };

	for (size_t c = 0; c < a->channels; c += WIDTH) {
		const size_t some = a->channels - c;
		const wide_q8 sum = some >= WIDTH ? sum_window_q8(a, c, WIDTH) :
						    sum_window_q8(a, c, some);

		store_q8(a->to + c, mean_q8((sums_q8)LOW_PAIRS(sum, zero), count, a->flip),
			 mean_q8((sums_q8)HIGH_PAIRS(sum, zero), count, a->flip), &a->out, some);
	}
}
