/* SPDX-License-Identifier: MIT */
/*
 * Maxima and minima of floats, for all instruction sets. This file is included after
 * elementwise_f32.h and uses the macros of elementwise_f32.h.
 */
#if !defined(ADD) || !defined(LANES) || !defined(LOAD) || !defined(MAX) || !defined(MIN) || \
    !defined(SPLAT) || !defined(TARGET) || !defined(VF)
#error "reduce_f32.h needs: ADD LANES LOAD MAX MIN SPLAT TARGET VF"
#endif

#define REDUCE_VECTORS 4	/* number of independent vectors that reduce one row */

static inline ALWAYS_INLINE TARGET VF combine_f32(enum nn_reduction reduction, VF a, VF b)
{
	return reduction == NN_REDUCE_MAX ? MAX(a, b) : MIN(a, b);
}

static inline ALWAYS_INLINE TARGET float combine_one_f32(enum nn_reduction reduction, float a,
							 float b)
{
	return (reduction == NN_REDUCE_MAX ? a > b : a < b) ? a : b;
}

static inline ALWAYS_INLINE float first_f32(enum nn_reduction reduction)
{
	return reduction == NN_REDUCE_MAX ? -INFINITY : INFINITY;
}

/* Reduces one element after the other, in the order of the reference kernel. */
static inline ALWAYS_INLINE TARGET float in_order_f32(enum nn_reduction reduction, float value,
						      const float *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		value = combine_one_f32(reduction, value, x[i]);
	return value;
}

/*
 * Reduces a row. If the row may contain NaN, the row is reduced again in the order of the reference
 * kernel, because the result then depends on the order.
 */
static inline ALWAYS_INLINE TARGET float reduce_row_f32(enum nn_reduction reduction, const float *x,
							size_t count)
{
	const float first = first_f32(reduction);
	VF values[REDUCE_VECTORS], sum = SPLAT(0.0f);
	float lanes[LANES], value;
	size_t i = 0;

	UNROLL
	for (size_t v = 0; v < REDUCE_VECTORS; v++)
		values[v] = SPLAT(first);
	for (; i + REDUCE_VECTORS * LANES <= count; i += REDUCE_VECTORS * LANES) {
		UNROLL
		for (size_t v = 0; v < REDUCE_VECTORS; v++) {
			const VF next = LOAD(x + i + v * LANES);

			values[v] = combine_f32(reduction, values[v], next);
			sum = ADD(sum, next * SPLAT(0.0f));
		}
	}
	for (; i + LANES <= count; i += LANES) {
		const VF next = LOAD(x + i);

		values[0] = combine_f32(reduction, values[0], next);
		sum = ADD(sum, next * SPLAT(0.0f));
	}
	UNROLL
	for (size_t v = 1; v < REDUCE_VECTORS; v++)
		values[0] = combine_f32(reduction, values[0], values[v]);
	UNROLL
	for (size_t k = 0; k < LANES; k++)
		lanes[k] = values[0][k];
	UNROLL
	for (size_t n = LANES / 2; n; n /= 2)
		UNROLL
		for (size_t k = 0; k < n; k++)
			lanes[k] = combine_one_f32(reduction, lanes[k], lanes[k + n]);
	value = in_order_f32(reduction, lanes[0], x + i, count - i);
	/* `sum` has the sum of products with 0, which is NaN if an element is NaN or infinite. */
	if (isnan(add_lanes_f32(sum)))
		value = in_order_f32(reduction, first, x, count);
	return value;
}

/* Reduces the columns [c, c + some), which are at most one vector of columns. */
static inline ALWAYS_INLINE TARGET void reduce_columns_f32(enum nn_reduction reduction,
							   const struct nn_reduce_f32 *r, size_t c,
							   size_t some)
{
	VF value = SPLAT(first_f32(reduction));

	for (size_t k = 0; k < r->count; k++)
		value = combine_f32(reduction, value, load_f32(r->in + k * r->columns + c, some));
	store_f32(r->out + c, value, some);
}

static inline ALWAYS_INLINE TARGET void reduce_of_f32(enum nn_reduction reduction,
						      const struct nn_reduce_f32 *r)
{
	size_t c = 0;

	if (r->columns == 1) {
		*r->out = reduce_row_f32(reduction, r->in, r->count);
		return;
	}
	for (; c + LANES <= r->columns; c += LANES)
		reduce_columns_f32(reduction, r, c, LANES);
	if (c < r->columns)
		reduce_columns_f32(reduction, r, c, r->columns - c);
}

static TARGET void reduce_f32(const struct nn_reduce_f32 *r)
{
	if (r->reduction == NN_REDUCE_MAX)
		reduce_of_f32(NN_REDUCE_MAX, r);
	else
		reduce_of_f32(NN_REDUCE_MIN, r);
}
