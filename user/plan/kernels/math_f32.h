/* SPDX-License-Identifier: MIT */
/*
 * Functions of floats for one instruction set; included like, and after,
 * elementwise_f32.h, by who also defines SQRT.
 */

#define EXP_LOW (-86.5f)	/* below, the result would be subnormal */
#define EXP_HIGH 88.7228f	/* above, infinite */

/*
 * e^x to one unit in the last place, of x between the bounds above: 2^n times a
 * polynomial of what is left of x, at most half of ln 2. NaN passes.
 */
static inline ALWAYS_INLINE TARGET VF exp_f32(VF x)
{
	/* Added to a small number it leaves an integer in the last bits. */
	const VF rounder = SPLAT(0x1.8p23f);
	VF shifted, n, r, p;

	x = CLAMP(x, SPLAT(EXP_LOW), SPLAT(EXP_HIGH));
	shifted = MADD(x, SPLAT(0x1.715476p0f), rounder);
	n = shifted - rounder;
	r = MADD(n, SPLAT(-0x1.62e4p-1f), x);
	r = MADD(n, SPLAT(-0x1.7f7d1cp-20f), r);
	p = MADD(SPLAT(0.0013926927f), r, SPLAT(0.0083637739f));
	p = MADD(p, r, SPLAT(0.0416665501f));
	p = MADD(p, r, SPLAT(0.1666657338f));
	p = MADD(p, r, SPLAT(0.5f));
	p = MADD(p * r, r, r) + SPLAT(1.0f);
	return (VF)((bits_f32)p + ((bits_f32)shifted << 23));
}

static inline ALWAYS_INLINE TARGET VF full_exp_f32(VF x)
{
	const VF e = choose_f32((bits_f32)(x > SPLAT(EXP_HIGH)), SPLAT(INFINITY), exp_f32(x));

	return choose_f32((bits_f32)(x < SPLAT(EXP_LOW)), SPLAT(0.0f), e);
}

static inline ALWAYS_INLINE TARGET VF logistic_f32(VF x)
{
	return SPLAT(1.0f) / (SPLAT(1.0f) + exp_f32(-x));
}

/* (1 - e^-2|x|) / (1 + e^-2|x|); near 0, where that loses digits, a polynomial. */
static inline ALWAYS_INLINE TARGET VF tanh_f32(VF x)
{
	const bits_f32 sign = (bits_f32)x & (bits_f32)SPLAT(-0.0f);
	const VF size = (VF)((bits_f32)x ^ sign), square = x * x;
	const VF e = exp_f32(SPLAT(-2.0f) * size);
	const VF large = (SPLAT(1.0f) - e) / (SPLAT(1.0f) + e);
	VF p = MADD(SPLAT(0.0022208880f), square, SPLAT(-0.0082781544f));

	p = MADD(p, square, SPLAT(0.0217480641f));
	p = MADD(p, square, SPLAT(-0.0539565983f));
	p = MADD(p, square, SPLAT(0.1333329188f));
	p = MADD(p, square, SPLAT(-0.3333333309f));
	return choose_f32((bits_f32)(size < SPLAT(0.625f)), MADD(p * square, x, x),
			  (VF)((bits_f32)large | sign));
}

/* The order of operands lets NaN pass, or not, as the reference does. */
static inline ALWAYS_INLINE TARGET VF function_f32(enum nn_unary function,
						   const struct nn_unary_f32 *u, VF x)
{
	const VF zero = SPLAT(0.0f), one = SPLAT(1.0f);

	switch (function) {
	case NN_UNARY_CLAMP:
		return CLAMP(x, SPLAT(u->low), SPLAT(u->high));
	case NN_UNARY_LOGISTIC:
		return logistic_f32(x);
	case NN_UNARY_TANH:
		return tanh_f32(x);
	case NN_UNARY_EXP:
		return full_exp_f32(x);
	case NN_UNARY_ABS:
		return (VF)((bits_f32)x & ~(bits_f32)SPLAT(-0.0f));
	case NN_UNARY_NEG:
		return -x;
	case NN_UNARY_SQRT:
		return SQRT(x);
	case NN_UNARY_RSQRT:
		return one / SQRT(x);
	case NN_UNARY_HARD_SWISH:
		return x * MIN(SPLAT(6.0f), MAX(zero, x + SPLAT(3.0f))) / SPLAT(6.0f);
	case NN_UNARY_ELU:
		return MAX(x, zero) + MIN(SPLAT(u->alpha) * (full_exp_f32(x) - one), zero);
	}
	return x;
}

static inline ALWAYS_INLINE TARGET void map_f32(enum nn_unary function,
						const struct nn_unary_f32 *u)
{
	for (size_t i = 0; i < u->count; i += LANES) {
		size_t count = u->count - i;

		store_f32(u->out + i, function_f32(function, u, load_f32(u->in + i, count)), count);
	}
}

static TARGET void unary_f32(const struct nn_unary_f32 *u)
{
	switch (u->function) {
	case NN_UNARY_CLAMP:
		return map_f32(NN_UNARY_CLAMP, u);
	case NN_UNARY_LOGISTIC:
		return map_f32(NN_UNARY_LOGISTIC, u);
	case NN_UNARY_TANH:
		return map_f32(NN_UNARY_TANH, u);
	case NN_UNARY_EXP:
		return map_f32(NN_UNARY_EXP, u);
	case NN_UNARY_ABS:
		return map_f32(NN_UNARY_ABS, u);
	case NN_UNARY_NEG:
		return map_f32(NN_UNARY_NEG, u);
	case NN_UNARY_SQRT:
		return map_f32(NN_UNARY_SQRT, u);
	case NN_UNARY_RSQRT:
		return map_f32(NN_UNARY_RSQRT, u);
	case NN_UNARY_HARD_SWISH:
		return map_f32(NN_UNARY_HARD_SWISH, u);
	case NN_UNARY_ELU:
		return map_f32(NN_UNARY_ELU, u);
	}
}

/* NaN may come out as something smaller: the sum of exponentials still has it. */
static TARGET float largest_f32(const float *x, size_t count)
{
	float lanes[LANES], largest = x[0];
	size_t i = 0;

	if (count >= LANES) {
		VF max = LOAD(x);

		for (i = LANES; i + LANES <= count; i += LANES)
			max = MAX(max, LOAD(x + i));
		STORE(lanes, max);
		for (size_t k = 0; k < LANES; k++)
			largest = lanes[k] > largest ? lanes[k] : largest;
	}
	for (; i < count; i++)
		largest = x[i] > largest ? x[i] : largest;
	return largest;
}

static TARGET void softmax_f32(const float *in, float *out, size_t count, float beta)
{
	const VF max = SPLAT(largest_f32(in, count)), factor = SPLAT(beta);
	float sum = 0;
	VF scale;

	for (size_t i = 0; i < count; i += LANES) {
		const VF x = load_f32(in + i, count - i);

		store_f32(out + i, exp_f32((x - max) * factor), count - i);
	}
	sum = sum_row_f32(out, count);
	scale = SPLAT(1.0f / sum);
	for (size_t i = 0; i < count; i += LANES)
		store_f32(out + i, load_f32(out + i, count - i) * scale, count - i);
}
