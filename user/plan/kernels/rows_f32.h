/* SPDX-License-Identifier: MIT */
/*
 * Multiplies rows of a by rows of b, without packing b, for all instruction sets. This file is
 * included after elementwise_f32.h and uses the macros of elementwise_f32.h.
 */
#if !defined(LANES) || !defined(LOAD) || !defined(MADD) || !defined(SPLAT) || \
    !defined(TARGET) || !defined(VF)
#error "rows_f32.h needs: LANES LOAD MADD SPLAT TARGET VF"
#endif

#define ROWS_COLUMNS 4		/* number of columns of the product that are summed at a time */

/* Multiplies one row of a by `count` rows of b. `count` is a compile-time constant in each call. */
static inline ALWAYS_INLINE TARGET void dots_f32(const struct nn_rows_f32 *p, size_t row,
						 size_t column, size_t count)
{
	const float *a = p->a + row * p->depth, *b = p->b + column * p->depth;
	const size_t whole = p->depth / LANES * LANES;
	VF sums[ROWS_COLUMNS];

	UNROLL
	for (size_t i = 0; i < count; i++)
		sums[i] = SPLAT(0.0f);
	for (size_t k = 0; k < whole; k += LANES) {
		const VF x = LOAD(a + k);

		UNROLL
		for (size_t i = 0; i < count; i++)
			sums[i] = MADD(x, LOAD(b + i * p->depth + k), sums[i]);
	}
	UNROLL
	for (size_t i = 0; i < count; i++) {
		float sum;

		if (whole < p->depth)
			sums[i] = MADD(load_f32(a + whole, p->depth - whole),
				       load_f32(b + i * p->depth + whole, p->depth - whole), sums[i]);
		sum = add_lanes_f32(sums[i]) + p->bias[column + i];
		/* If `sum` is NaN, both comparisons are false, so `sum` stays NaN. */
		sum = sum < p->low ? p->low : sum;
		p->c[row * p->c_stride + column + i] = sum > p->high ? p->high : sum;
	}
}

static TARGET void rows_f32(const struct nn_rows_f32 *p)
{
	size_t column = 0;

	for (; column + ROWS_COLUMNS <= p->columns; column += ROWS_COLUMNS)
		for (size_t row = 0; row < p->rows; row++)
			dots_f32(p, row, column, ROWS_COLUMNS);
	for (; column < p->columns; column++)
		for (size_t row = 0; row < p->rows; row++)
			dots_f32(p, row, column, 1);
}
