/* SPDX-License-Identifier: MIT */
/*
 * Mathematical functions of floats, for all instruction sets. This file is included after
 * elementwise_f32.h and uses the macros of elementwise_f32.h, and SQRT.
 */
#if !defined(CLAMP) || !defined(LANES) || !defined(LOAD) || !defined(MADD) || !defined(MAX) || \
    !defined(MIN) || !defined(SPLAT) || !defined(SQRT) || !defined(STORE) || \
    !defined(TARGET) || !defined(VF)
#error "math_f32.h needs: CLAMP LANES LOAD MADD MAX MIN SPLAT SQRT STORE TARGET VF"
#endif

#include <float.h>
#include <math.h>

#define EXP_LOW (-86.5f)	/* smallest x whose e^x is computed without subnormal numbers */
#define EXP_HIGH 88.7228f	/* largest x for which e^x is finite */

/*
 * Evaluates a polynomial of x with `count` coefficients, the coefficient of the highest power
 * first.
 */
static inline ALWAYS_INLINE TARGET VF polynomial_f32(VF x, const float *coefficients, int count)
{
	VF p = SPLAT(coefficients[0]);

	UNROLL
	for (int i = 1; i < count; i++)
		p = MADD(p, x, SPLAT(coefficients[i]));
	return p;
}

#define POLYNOMIAL(x, ...) polynomial_f32(x, (const float[]){ __VA_ARGS__ },		\
					  sizeof((float[]){ __VA_ARGS__ }) / sizeof(float))

/*
 * Computes e^x with an error of one unit in the last place, for x in [EXP_LOW, EXP_HIGH]. The
 * result is 2^n times a polynomial of x - n ln 2, where |x - n ln 2| is at most ln 2 / 2. The
 * exponential of NaN is NaN.
 */
static inline ALWAYS_INLINE TARGET VF exp_f32(VF x)
{
	/*
	 * Adding `rounder` to a small number rounds the number to an integer; the last bits of the
	 * sum are this integer.
	 */
	const VF rounder = SPLAT(0x1.8p23f);
	VF shifted, n, r, p;

	x = CLAMP(x, SPLAT(EXP_LOW), SPLAT(EXP_HIGH));
	shifted = MADD(x, SPLAT(0x1.715476p0f), rounder);
	n = shifted - rounder;
	r = MADD(n, SPLAT(-0x1.62e4p-1f), x);
	r = MADD(n, SPLAT(-0x1.7f7d1cp-20f), r);
	p = POLYNOMIAL(r, 0.0013926927f, 0.0083637739f, 0.0416665501f, 0.1666657338f, 0.5f);
	p = MADD(p * r, r, r) + SPLAT(1.0f);
	p = (VF)((bits_f32)p + ((bits_f32)shifted << 23));
	return choose_f32((bits_f32)(x == x), p, x);
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

/*
 * Computes tanh x = (1 - e^-2|x|) / (1 + e^-2|x|). Near 0, where this formula for tanh loses
 * digits, the function computes a polynomial.
 */
static inline ALWAYS_INLINE TARGET VF tanh_f32(VF x)
{
	const bits_f32 sign = (bits_f32)x & (bits_f32)SPLAT(-0.0f);
	const VF size = (VF)((bits_f32)x ^ sign), square = x * x;
	const VF e = exp_f32(SPLAT(-2.0f) * size);
	const VF large = (SPLAT(1.0f) - e) / (SPLAT(1.0f) + e);
	const VF p = POLYNOMIAL(square, 0.0022208880f, -0.0082781544f, 0.0217480641f, -0.0539565983f,
				0.1333329188f, -0.3333333309f);

	return choose_f32((bits_f32)(size < SPLAT(0.625f)), MADD(p * square, x, x),
			  (VF)((bits_f32)large | sign));
}

#define SQRT_HALF 0x3f3504f3		/* bits of the square root of 1/2 */
#define LN2_HIGH 0x1.63p-1f
#define LN2_LOW (-0x1.bd0106p-13f)	/* ln 2 - LN2_HIGH */

/*
 * Computes ln x with an error of two units in the last place. For x = 2^n * f with f near 1, a
 * polynomial computes ln f. A subnormal x is scaled to a normal number before the computation.
 */
static inline ALWAYS_INLINE TARGET VF log_f32(VF x)
{
	const bits_f32 small = (bits_f32)(x < SPLAT(FLT_MIN));
	const bits_f32 bits = (bits_f32)choose_f32(small, x * SPLAT(0x1p23f), x) - SQRT_HALF;
	const VF n = __builtin_convertvector((ints_f32)bits >> 23, VF) -
		     choose_f32(small, SPLAT(23.0f), SPLAT(0.0f));
	const VF f = (VF)((bits & 0x7fffff) + SQRT_HALF) - SPLAT(1.0f);
	VF p = POLYNOMIAL(f, -0.0763530584f, 0.1276192641f, -0.1315987595f, 0.1420160034f,
			  -0.1662337627f, 0.2000124049f, -0.2500082092f, 0.3333333148f);

	p = MADD(p * f * f, f, n * SPLAT(LN2_LOW)) - SPLAT(0.5f) * f * f;
	p = MADD(n, SPLAT(LN2_HIGH), p + f);
	/* The logarithm of infinity is infinity, and the logarithm of NaN is NaN. */
	p = choose_f32((bits_f32)(x <= SPLAT(FLT_MAX)), p, x);
	p = choose_f32((bits_f32)(x >= SPLAT(0.0f)), p, SPLAT(NAN));
	return choose_f32((bits_f32)(x == SPLAT(0.0f)), SPLAT(-INFINITY), p);
}

#define SIN_HIGH 8192.0f	/* largest x whose sine is computed without loss of digits */

/*
 * Computes sin x for |x| up to SIN_HIGH. Subtracts a multiple of pi from x, in three parts, and
 * evaluates a polynomial of the remainder.
 */
static inline ALWAYS_INLINE TARGET VF sin_f32(VF x)
{
	const VF rounder = SPLAT(0x1.8p23f);
	const VF shifted = MADD(x, SPLAT(0x1.45f306p-2f), rounder);
	const VF n = shifted - rounder;
	VF r = MADD(n, SPLAT(-0x1.92p+1f), x), square, p;

	r = MADD(n, SPLAT(-0x1.fb4p-11f), r);
	r = MADD(n, SPLAT(-0x1.4442dp-23f), r);
	square = r * r;
	p = POLYNOMIAL(square, 0.000002605629f, -0.000198095378f, 0.008333065410f, -0.166666595202f);
	return (VF)((bits_f32)MADD(p * square, r, r) ^ ((bits_f32)shifted << 31));
}

/*
 * Rounds each lane toward minus infinity. Lanes of at least 2^23 are integers, so these lanes stay
 * unchanged.
 */
static inline ALWAYS_INLINE TARGET VF floor_f32(VF x)
{
	const bits_f32 sign = (bits_f32)x & (bits_f32)SPLAT(-0.0f);
	const bits_f32 is_small = (bits_f32)((VF)((bits_f32)x ^ sign) < SPLAT(0x1p23f));
	const VF near = choose_f32(is_small, x, SPLAT(0.0f));
	VF whole = __builtin_convertvector(__builtin_convertvector(near, ints_f32), VF);

	whole = choose_f32((bits_f32)(whole > near), whole - SPLAT(1.0f), whole);
	return choose_f32(is_small, (VF)((bits_f32)whole | sign), x);
}

/*
 * Computes the error function with an error of two units in the last place. The error function is
 * computed by a polynomial of x, or, if |x| is large, as 1 - e^p with another polynomial p. The
 * error function of NaN is NaN.
 */
static inline ALWAYS_INLINE TARGET VF erf_f32(VF x)
{
	const bits_f32 sign = (bits_f32)x & (bits_f32)SPLAT(-0.0f);
	const VF size = (VF)((bits_f32)x ^ sign), square = x * x, t = MIN(SPLAT(4.0f), size);
	const VF p = POLYNOMIAL(square, -0.000596761703f, 0.00499119423f, -0.0267681349f, 0.112819925f,
				-0.376125336f, 0.128379166f);
	VF q = POLYNOMIAL(t, -0.0000172853470f, 0.000383197126f, -0.00388396438f, 0.0242546219f,
			  -0.106777877f, -0.634846687f, -0.128717512f);

	q = SPLAT(1.0f) - exp_f32(MADD(q, t, -t));
	return choose_f32((bits_f32)(size <= SPLAT(0.921875f)), MADD(p, x, x),
			  (VF)((bits_f32)q | sign));
}

#define GELU_HIGH 5.3f			/* |x| from which erf(x / sqrt(2)) is nearly 1 or -1 */

/*
 * Computes x * (1 + erf(x / sqrt(2))) / 2 with an error of three units in the last place, or of
 * 10^-6 if x is negative. The function gelu_f32() uses a quotient of polynomials, which takes half
 * the time of erf_f32(). GELU of NaN is NaN.
 */
static inline ALWAYS_INLINE TARGET VF gelu_f32(VF x)
{
	const VF factor = MAX(SPLAT(-GELU_HIGH), x), t = MIN(SPLAT(GELU_HIGH), factor), square = t * t;
	const VF p = POLYNOMIAL(square, 2.34561685e-8f, 6.43659947e-6f, 0.000168163103f,
				0.00467487739f, 0.0336970107f, 0.398942203f);
	const VF q = POLYNOMIAL(square, 1.22421726e-6f, 7.38939411e-5f, 0.00188050505f,
				0.0285752982f, 0.251131421f, 1.0f);

	return factor * (SPLAT(0.5f) + t * p / q);
}

/*
 * Applies a function to the lanes of a vector. The operands of MIN and MAX have the order of the
 * reference kernel, because the order decides whether the result is NaN.
 */
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
	case NN_UNARY_LOG:
		return log_f32(x);
	case NN_UNARY_SIN:
		return sin_f32(x);
	case NN_UNARY_FLOOR:
		return floor_f32(x);
	case NN_UNARY_ERF:
		return erf_f32(x);
	case NN_UNARY_GELU:
		return gelu_f32(x);
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

#define SIN_COUNT 256

static inline ALWAYS_INLINE TARGET bool has_large_f32(const float *x, size_t count)
{
	const bits_f32 sign = (bits_f32)SPLAT(-0.0f);
	bits_f32 large = { 0 };
	uint32_t lanes[LANES], any = 0;

	for (size_t i = 0; i < count; i += LANES)
		large |= (bits_f32)((VF)((bits_f32)load_f32(x + i, count - i) & ~sign) >
				    SPLAT(SIN_HIGH));
	memcpy(lanes, &large, sizeof(lanes));
	for (size_t k = 0; k < LANES; k++)
		any |= lanes[k];
	return any;
}

/* Computes NN_UNARY_SIN. Calls the C library for blocks with large arguments, which are rare. */
static inline ALWAYS_INLINE TARGET void map_sin_f32(const struct nn_unary_f32 *u)
{
	for (size_t first = 0; first < u->count; first += SIN_COUNT) {
		struct nn_unary_f32 some = *u;

		some.count = u->count - first < SIN_COUNT ? u->count - first : SIN_COUNT;
		some.in += first;
		some.out += first;
		if (!has_large_f32(some.in, some.count))
			map_f32(NN_UNARY_SIN, &some);
		else
			for (size_t i = 0; i < some.count; i++)
				some.out[i] = sinf(some.in[i]);
	}
}

static TARGET void unary_f32(const struct nn_unary_f32 *u)
{
	switch (u->function) {
#define MAP(which) case NN_UNARY_##which: return map_f32(NN_UNARY_##which, u);
	MAP(CLAMP) MAP(LOGISTIC) MAP(TANH) MAP(EXP) MAP(ABS) MAP(NEG) MAP(SQRT) MAP(RSQRT)
	MAP(HARD_SWISH) MAP(ELU) MAP(LOG) MAP(FLOOR) MAP(ERF) MAP(GELU)
#undef MAP
	case NN_UNARY_SIN:
		return map_sin_f32(u);
	}
}

/*
 * Returns the largest of `count` elements. If any element is NaN, the result may be another
 * element, but the sum of exponentials then is NaN too.
 */
static TARGET float largest_f32(const float *x, size_t count)
{
	float lanes[LANES], largest = x[0];
	size_t i = 0;

	if (count >= LANES) {
		VF max = LOAD(x);

		for (i = LANES; i + LANES <= count; i += LANES)
			max = MAX(max, LOAD(x + i));
		STORE(lanes, max);
		UNROLL
		for (size_t n = LANES / 2; n; n /= 2)
			UNROLL
			for (size_t k = 0; k < n; k++)
				lanes[k] = lanes[k] > lanes[k + n] ? lanes[k] : lanes[k + n];
		largest = lanes[0];
	}
	for (; i < count; i++)
		largest = x[i] > largest ? x[i] : largest;
	return largest;
}

/* Computes the logarithm of softmax; `out` may be the same array as `in`. */
static TARGET void log_softmax_f32(const float *in, float *out, size_t count, float beta)
{
	const VF max = SPLAT(largest_f32(in, count)), factor = SPLAT(beta);
	float lanes[LANES], total = 0;
	VF sum = SPLAT(0.0f), log_sum;

	for (size_t i = 0; i < count; i += LANES) {
		const VF e = exp_f32((load_f32(in + i, count - i) - max) * factor);

		if (count - i >= LANES) {
			sum = sum + e;
			continue;
		}
		STORE(lanes, e);
		for (size_t k = 0; k < count - i; k++)
			total += lanes[k];
	}
	STORE(lanes, sum);
	for (size_t k = 0; k < LANES; k++)
		total += lanes[k];
	log_sum = SPLAT(logf(total));
	for (size_t i = 0; i < count; i += LANES)
		store_f32(out + i, (load_f32(in + i, count - i) - max) * factor - log_sum, count - i);
}

static TARGET void softmax_f32(const float *in, float *out, size_t count, float beta)
{
	const VF max = SPLAT(largest_f32(in, count)), factor = SPLAT(beta);
	VF sum = SPLAT(0.0f), scale;

	for (size_t i = 0; i < count; i += LANES) {
		VF e = exp_f32((load_f32(in + i, count - i) - max) * factor);

		store_f32(out + i, e, count - i);
		if (count - i < LANES)
			e = load_f32(out + i, count - i);
		sum = sum + e;
	}
	scale = SPLAT(1.0f / add_lanes_f32(sum));
	for (size_t i = 0; i < count; i += LANES)
		store_f32(out + i, load_f32(out + i, count - i) * scale, count - i);
}

/* If any element of a column is NaN, the sum of the column's exponentials is NaN. */
static TARGET void softmax_columns_f32(const struct nn_softmax_f32 *s)
{
	const VF beta = SPLAT(s->beta);
	VF max = load_f32(s->in, s->columns), sum = SPLAT(0.0f);

	for (size_t i = 0; i < s->rows; i++) {
		const VF x = load_f32(s->in + i * s->stride, s->columns);

		STORE(s->scratch + i * LANES, x);
		max = MAX(x, max);
	}
	for (size_t i = 0; i < s->rows; i++) {
		const VF x = (LOAD(s->scratch + i * LANES) - max) * beta, e = exp_f32(x);

		STORE(s->scratch + i * LANES, s->is_log ? x : e);
		sum = sum + e;
	}
	if (s->is_log)
		sum = log_f32(sum);
	else
		sum = SPLAT(1.0f) / sum;
	for (size_t i = 0; i < s->rows; i++) {
		const VF x = LOAD(s->scratch + i * LANES);

		store_f32(s->out + i * s->stride, s->is_log ? x - sum : x * sum, s->columns);
	}
}
