/* SPDX-License-Identifier: MIT */
/*
 * Multiplies rows of a by rows of b, without panels, for all instruction sets. This file is
 * included after elementwise_f32.h and uses the macros of elementwise_f32.h.
 */
#if !defined(LANES) || !defined(LOAD) || !defined(MADD) || !defined(SPLAT) || \
    !defined(TARGET) || !defined(VF)
#error "rows_f32.h needs: LANES LOAD MADD SPLAT TARGET VF"
#endif

#define ROWS_COLUMNS 4		/* number of columns of the product that are summed at a time */

static inline ALWAYS_INLINE TARGET float end_dot_f32(VF sums, float bias, float low, float high)
{
	float sum = add_lanes_f32(sums) + bias;

	/* If `sum` is NaN, both comparisons are false, so `sum` stays NaN. */
	sum = sum < low ? low : sum;
	return sum > high ? high : sum;
}

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
		if (whole < p->depth)
			sums[i] = MADD(load_f32(a + whole, p->depth - whole),
				       load_f32(b + i * p->depth + whole, p->depth - whole), sums[i]);
		p->c[row * p->c_stride + column + i] = end_dot_f32(sums[i], p->bias[column + i],
								   p->low, p->high);
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

#define FEW_ROWS 7		/* rows that few_f32() sums at a time */

/* Computes `count` rows of a column. `count` is a compile-time constant in each call. */
static inline ALWAYS_INLINE TARGET void column_of_f32(const struct nn_gemm_f32 *g, size_t row,
						      size_t column, size_t count)
{
	const float *b = (const float *)g->panels + column * g->depth;
	const float bias = ((const float *)g->panels)[g->columns * g->depth + column];
	float *c = (float *)g->c + row * g->c_stride + column;
	VF sums[FEW_ROWS];

	UNROLL
	for (size_t i = 0; i < count; i++)
		sums[i] = SPLAT(0.0f);
	for (size_t n = 0; n < g->num_parts; n++) {
		const struct nn_gemm_part *p = &g->parts[n];
		const float *a = (const float *)p->a + row * p->stride;

		for (size_t k = 0; k < p->count; k += LANES) {
			const VF w = LOAD(b + p->first + k);

			UNROLL
			for (size_t i = 0; i < count; i++)
				sums[i] = MADD(LOAD(a + i * p->stride + k), w, sums[i]);
		}
	}
	UNROLL
	for (size_t i = 0; i < count; i++)
		c[i * g->c_stride] = end_dot_f32(sums[i], bias, g->low, g->high);
}

static TARGET void few_f32(const struct nn_gemm_f32 *g)
{
	size_t row = 0;

	for (; row + FEW_ROWS <= g->rows; row += FEW_ROWS)
		for (size_t column = 0; column < g->columns; column++)
			column_of_f32(g, row, column, FEW_ROWS);
	for (; row < g->rows; row++)
		for (size_t column = 0; column < g->columns; column++)
			column_of_f32(g, row, column, 1);
}
