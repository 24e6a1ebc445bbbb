/* SPDX-License-Identifier: MIT */
/*
 * Functions for the cells of quantised LSTMs, for one instruction set; results equal those of
 * ops/quant.h bit for bit. This file is included after wide_q8.h. The includer defines TARGET,
 * LANES and DOT as in q8_pairs.h. DOT may add the products in any order, if each product is in
 * exactly one sum. MULTIPLY_Q15 computes nn_srdhm16() for each lane of two vectors; no lane has
 * INT16_MIN in both vectors. multiply_q31() computes nn_srdhm() for a factor of at least 0.
 */
#if !defined(DOT) || !defined(LANES) || !defined(MULTIPLY_Q15) || !defined(TARGET) || \
    !defined(WIDTH)
#error "cell_q16.h needs: DOT LANES MULTIPLY_Q15 TARGET WIDTH"
#endif

#include "plan/kernels/fours.h"

typedef int16_t narrow_q16 __attribute__((vector_size(2 * LANES)));
typedef uint32_t unsigned_q16 __attribute__((vector_size(4 * LANES)));

/* ---- Products ---- */

/*
 * Sums the lanes of each of four vectors. Lane i of the result is the sum of all lanes of vector i.
 */
static inline ALWAYS_INLINE TARGET four sum_four_q16(const sums_q8 sums[4])
{
	four x[4];

	UNROLL
	for (int i = 0; i < 4; i++) {
		int32_t lanes[LANES];

		memcpy(lanes, &sums[i], sizeof(lanes));
		memcpy(&x[i], lanes, sizeof(x[i]));
		for (int lane = 4; lane < LANES; lane += 4) {
			four more;

			memcpy(&more, lanes + lane, sizeof(more));
			x[i] += more;
		}
	}
	transpose_fours(x);
	return x[0] + x[1] + (x[2] + x[3]);
}

/*
 * Multiplies up to four rows of weights by the vector x. Up to WIDTH - 1 bytes after each row must
 * be readable; the elements of x after `depth` must be 0.
 */
static inline ALWAYS_INLINE TARGET void dot_rows_q16(const struct nn_dots_q16 *d,
						      const uint8_t *weights, size_t stride,
						      int32_t *to, size_t rows)
{
	const int16_t *x = d->x;
	const size_t depth = d->depth;
	sums_q8 acc[4];
	four sums;

	UNROLL
	for (int i = 0; i < 4; i++)
		acc[i] = (sums_q8){ 0 };
	for (size_t k = 0; k < depth; k += WIDTH) {
		wide_q8 values;

		memcpy(&values, x + k, sizeof(values));
		UNROLL
		for (int i = 0; i < 4; i++)
			acc[i] += DOT(WIDE_OF_SIGNED(load_bytes(weights + (size_t)i * stride + k,
								WIDTH)), values);
	}
	sums = sum_four_q16(acc);
	for (size_t i = 0; i < rows; i++)
		to[i] = (int32_t)((d->add ? (uint32_t)to[i] : 0) + sums[i]);
}

/*
 * Multiplies one of the last rows of the weights by the vector x. The end of the row is copied
 * first, so that no byte after the row is read.
 */
static TARGET void dot_last_q16(const struct nn_dots_q16 *d, size_t row)
{
	const uint8_t *weights = d->weights + row * d->depth;
	const size_t whole = d->depth / WIDTH * WIDTH;
	struct nn_dots_q16 part = *d;
	uint8_t end[WIDTH] = { 0 };

	part.depth = whole;
	if (whole)
		dot_rows_q16(&part, weights, 0, d->sums + row, 1);
	if (whole == d->depth)
		return;
	memcpy(end, weights + whole, d->depth - whole);
	part.add |= whole != 0;
	part.depth = WIDTH;
	part.x += whole;
	dot_rows_q16(&part, end, 0, d->sums + row, 1);
}

static TARGET void dots_q16(const struct nn_dots_q16 *d)
{
	const size_t read = (d->depth + WIDTH - 1) / WIDTH * WIDTH, all = d->rows * d->depth;
	size_t row = 0;

	for (; row + 4 <= d->rows && (row + 3) * d->depth + read <= all; row += 4)
		dot_rows_q16(d, d->weights + row * d->depth, d->depth, d->sums + row, 4);
	for (; row < d->rows; row++)
		dot_last_q16(d, row);
}

/* ---- Scales ---- */

static inline ALWAYS_INLINE TARGET sums_q8 choose_q16(sums_q8 mask, sums_q8 yes, sums_q8 no)
{
	return (mask & yes) | (~mask & no);
}

static inline ALWAYS_INLINE TARGET sums_q8 clamp_q16(sums_q8 x)
{
	const sums_q8 low = (sums_q8){ 0 } + INT16_MIN, high = (sums_q8){ 0 } + INT16_MAX;

	x = choose_q16((sums_q8)(x < low), low, x);
	return choose_q16((sums_q8)(x > high), high, x);
}

/* Adds, and saturates. */
static inline ALWAYS_INLINE TARGET sums_q8 add_q16(sums_q8 a, sums_q8 b)
{
	const sums_q8 sum = (sums_q8)((unsigned_q16)a + (unsigned_q16)b);
	const sums_q8 full = (a >> 31) ^ INT32_MAX;

	return choose_q16(((sum ^ a) & (sum ^ b)) >> 31, full, sum);
}

/* Divides by 2^exponent like nn_rdp(): halves are rounded away from zero. */
static inline ALWAYS_INLINE TARGET sums_q8 divide_q16(sums_q8 x, int32_t exponent)
{
	const sums_q8 mask = (sums_q8){ 0 } + (int32_t)((UINT32_C(1) << exponent) - 1);
	const sums_q8 threshold = (mask >> 1) - (sums_q8)(x < 0);

	return (x >> exponent) - (sums_q8)((x & mask) > threshold);
}

static inline ALWAYS_INLINE TARGET void scale_lanes_q16(const struct nn_scale_q16 *s, size_t at,
							size_t count)
{
	const int32_t left = s->shift > 0 ? s->shift : 0, right = s->shift < 0 ? -s->shift : 0;
	sums_q8 x = { 0 }, bias = { 0 };
	narrow_q16 values = { 0 };

	memcpy(&x, s->sums + at, count * sizeof(int32_t));
	if (s->bias) {
		memcpy(&bias, s->bias + at, count * sizeof(int32_t));
		x = add_q16(x, bias);
	}
	x = left < 32 ? (sums_q8)((unsigned_q16)x << left) : (sums_q8){ 0 };
	x = clamp_q16(divide_q16(multiply_q31(x, s->multiplier), right));
	if (s->add) {
		memcpy(&values, s->values + at, count * sizeof(int16_t));
		x = clamp_q16(x + __builtin_convertvector(values, sums_q8));
	}
	values = __builtin_convertvector(x, narrow_q16);
	memcpy(s->values + at, &values, count * sizeof(int16_t));
}

static TARGET void scale_q16(const struct nn_scale_q16 *s)
{
	size_t i = 0;

	for (; i + LANES <= s->count; i += LANES)
		scale_lanes_q16(s, i, LANES);
	if (i < s->count)
		scale_lanes_q16(s, i, s->count - i);
}

/* ---- Functions ---- */

/* Rounds a fixed-point number of 32 bits to 16 bits. */
#define Q15(raw) ((int16_t)(((raw) + 0x8000) >> 16))

static inline ALWAYS_INLINE TARGET wide_q8 splat_q15(int32_t x)
{
	return (wide_q8){ 0 } + (int16_t)x;
}

static inline ALWAYS_INLINE TARGET wide_q8 choose_q15(wide_q8 mask, wide_q8 yes, wide_q8 no)
{
	return (mask & yes) | (~mask & no);
}

/* Return x / 2 and x / 4, rounded to the nearest integer. Halves are rounded away from zero. */
static inline ALWAYS_INLINE TARGET wide_q8 half_q15(wide_q8 x)
{
	return (x >> 1) - (wide_q8)((x & 1) > -(wide_q8)(x < 0));
}

static inline ALWAYS_INLINE TARGET wide_q8 quarter_q15(wide_q8 x)
{
	return (x >> 2) - (wide_q8)((x & 3) > 1 - (wide_q8)(x < 0));
}

/* Computes e^a for a in [-1/4, 0). The fixed-point number `a` has no integer bits. */
static inline ALWAYS_INLINE TARGET wide_q8 exp_quarter_q15(wide_q8 a)
{
	const wide_q8 term = splat_q15(Q15(1895147668));
	const wide_q8 x = a + (1 << 12), x2 = MULTIPLY_Q15(x, x), x3 = MULTIPLY_Q15(x2, x);
	const wide_q8 x4 = MULTIPLY_Q15(x2, x2);
	wide_q8 tail = MULTIPLY_Q15(quarter_q15(x4) + x3, splat_q15(Q15(715827883)));

	tail = term + MULTIPLY_Q15(term, x + half_q15(tail + x2));
	/*
	 * The exact result is positive, so a negative number is an overflow, and INT16_MAX is
	 * returned instead.
	 */
	return choose_q15((wide_q8)(tail < 0), splat_q15(INT16_MAX), tail);
}

/* Computes e^a for a <= 0. The fixed-point number `a` has 1 to 7 integer bits. */
static inline ALWAYS_INLINE TARGET wide_q8 exp_q15(wide_q8 a, int integer_bits)
{
	static const int16_t powers[] = {
		Q15(1672461947), Q15(1302514674), Q15(790015084), Q15(290630308), Q15(39332535),
		Q15(720401), Q15(242),
	};
	const int fraction = 15 - integer_bits;
	const int16_t quarter = (int16_t)(1 << (fraction - 2));
	const wide_q8 mod = (a & (int16_t)(quarter - 1)) - quarter, rest = mod - a;
	wide_q8 result = exp_quarter_q15(mod << (int16_t)integer_bits);

	for (int i = 0; i < 7 && i - 2 < integer_bits; i++) {
		const wide_q8 bit = rest & (int16_t)(1 << (fraction + i - 2));

		result = choose_q15((wide_q8)(bit != 0), MULTIPLY_Q15(result, splat_q15(powers[i])),
				    result);
	}
	if (integer_bits > 5)
		result &= (wide_q8)(a >= splat_q15(-(32 << fraction)));
	return choose_q15((wide_q8)(a == 0), splat_q15(INT16_MAX), result);
}

/* Computes 2 / (1 + a) for a in [0, 1]. The fixed-point result has two integer bits. */
static inline ALWAYS_INLINE TARGET wide_q8 reciprocal_q15(wide_q8 a)
{
	const wide_q8 half = (a >> 1) + (1 << 14);
	wide_q8 x = MULTIPLY_Q15(half, splat_q15(Q15(-1010580540))) + Q15(1515870810);

	UNROLL
	for (int i = 0; i < 3; i++)
		x += MULTIPLY_Q15(x, (1 << 13) - MULTIPLY_Q15(half, x)) << 2;
	return x;
}

/*
 * Returns x * 2^shift, saturated at INT16_MAX. The caller ensures that x * 2^shift is at least
 * INT16_MIN.
 */
static inline ALWAYS_INLINE TARGET wide_q8 shift_q15(wide_q8 x, int shift)
{
	return choose_q15((wide_q8)(x > splat_q15(INT16_MAX >> shift)), splat_q15(INT16_MAX),
			  x << (int16_t)shift);
}

static inline ALWAYS_INLINE TARGET wide_q8 squash_one_q15(wide_q8 a, bool is_tanh,
							   int integer_bits)
{
	const wide_q8 positive = (wide_q8)(a > 0), negated = (a ^ positive) - positive;
	const wide_q8 e = exp_q15(negated, integer_bits + is_tanh), r = reciprocal_q15(e);
	wide_q8 y;

	if (is_tanh) {
		y = shift_q15(r - (1 << 13), 2);
		y = choose_q15(positive, y, -y);
		return y & (wide_q8)(a != 0);
	}
	y = shift_q15(r, 1);
	y = choose_q15(positive, y, INT16_MAX - y);
	return choose_q15((wide_q8)(a == 0), splat_q15(1 << 14), y);
}

static inline ALWAYS_INLINE TARGET void squash_all_q15(const struct nn_squash_q16 *s, bool is_tanh)
{
	const int integer_bits = (int)s->integer_bits;
	wide_q8 x;

	for (size_t i = 0; i < s->count; i += WIDTH) {
		if (s->count - i >= WIDTH) {
			memcpy(&x, s->in + i, sizeof(x));
			x = squash_one_q15(x, is_tanh, integer_bits);
			memcpy(s->out + i, &x, sizeof(x));
		} else {
			const size_t size = (s->count - i) * sizeof(int16_t);

			x = (wide_q8){ 0 };
			memcpy(&x, s->in + i, size);
			x = squash_one_q15(x, is_tanh, integer_bits);
			memcpy(s->out + i, &x, size);
		}
	}
}

static TARGET void squash_q16(const struct nn_squash_q16 *s)
{
	if (s->is_tanh)
		squash_all_q15(s, true);
	else
		squash_all_q15(s, false);
}

#define CELL_Q16 .qlstm = { dots_q16, scale_q16, squash_q16 }
