/* SPDX-License-Identifier: MIT */
/*
 * POW of floats for one instruction set; included like, and after, math_f32.h.
 */
#if !defined(LANES) || !defined(LOAD) || !defined(SPLAT) || !defined(STORE) || \
    !defined(TARGET) || !defined(VF)
#error "pow_f32.h needs: LANES LOAD SPLAT STORE TARGET VF"
#endif

/* Half a vector of floats as doubles, which have the digits that a logarithm needs here. */
#define FEW (LANES / 2)

typedef float few_f32 __attribute__((vector_size(4 * FEW)));
typedef double few_f64 __attribute__((vector_size(8 * FEW)));
typedef uint64_t few_bits __attribute__((vector_size(8 * FEW)));

#define DOUBLE_SQRT_HALF 0x3fe6a09e667f3bcdULL	/* the bits of the root of 1/2 */
#define DOUBLE_ROUNDER 0x1.8p52			/* leaves an integer in the last bits */
#define DOUBLE_BIAS 1024

/*
 * log2 x, of x above 0, to 2^-38: x is 2^n times m, and log2 m twice the inverse hyperbolic
 * tangent of (m - 1) / (m + 1), divided by ln 2.
 */
static inline ALWAYS_INLINE TARGET few_f64 log2_f64(few_f64 x)
{
	const few_bits bits = (few_bits)x - DOUBLE_SQRT_HALF + ((uint64_t)DOUBLE_BIAS << 52);
	const few_f64 rounder = (few_f64){ 0 } + DOUBLE_ROUNDER;
	const few_f64 n = (few_f64)((bits >> 52) + (few_bits)rounder) - (DOUBLE_ROUNDER + DOUBLE_BIAS);
	const few_f64 m = (few_f64)((bits & ((1ULL << 52) - 1)) + DOUBLE_SQRT_HALF);
	const few_f64 s = (m - 1) / (m + 1), z = s * s;
	few_f64 p = z * 0x1.89f3b1694cffep-3 + 0x1.c68f568d31761p-3;

	p = p * z + 0x1.0c9a84994022dp-2;
	p = p * z + 0x1.484b13d7c02a9p-2;
	p = p * z + 0x1.a61762a7adedap-2;
	p = p * z + 0x1.2776c50ef9bfep-1;
	p = p * z + 0x1.ec709dc3a03fep-1;
	p = p * z + 0x1.71547652b82fep+1;
	return p * s + n;
}

/* 2^x, of x between -200 and 200, to 2^-32. */
static inline ALWAYS_INLINE TARGET few_f64 exp2_f64(few_f64 x)
{
	const few_f64 shifted = x + DOUBLE_ROUNDER, r = x - (shifted - DOUBLE_ROUNDER);
	few_f64 p = r * 0x1.62c0223a5c822p-20 + 0x1.ffcbfc588b0c5p-17;

	p = p * r + 0x1.430912f86c786p-13;
	p = p * r + 0x1.5d87fe78a6730p-10;
	p = p * r + 0x1.3b2ab6fba4e77p-7;
	p = p * r + 0x1.c6b08d704a0bfp-5;
	p = p * r + 0x1.ebfbdff82c58ep-3;
	p = p * r + 0x1.62e42fefa39efp-1;
	p = p * r + 1;
	return (few_f64)((few_bits)p + ((few_bits)shifted << 52));
}

/* Of x above 0, and all of them finite. What is too large or small for a float becomes so. */
static inline ALWAYS_INLINE TARGET few_f32 pow_few(few_f32 x, few_f32 y)
{
	const few_f64 high = (few_f64){ 0 } + 200;
	few_f64 e = log2_f64(__builtin_convertvector(x, few_f64)) *
		    __builtin_convertvector(y, few_f64);

	e = (few_f64)(((few_bits)e & (few_bits)(e < high)) | ((few_bits)high & ~(few_bits)(e < high)));
	e = (few_f64)(((few_bits)e & (few_bits)(e > -high)) |
		      ((few_bits)-high & ~(few_bits)(e > -high)));
	return __builtin_convertvector(exp2_f64(e), few_f32);
}

/* Powers of |x| as those of x: of a negative number only integers give one. */
static inline ALWAYS_INLINE TARGET VF signed_f32(VF x, VF y, VF power)
{
	const bits_f32 sign = (bits_f32)SPLAT(-0.0f), is_negative = (bits_f32)(x < SPLAT(0.0f));
	const VF half = y * SPLAT(0.5f);
	const bits_f32 is_odd = (bits_f32)(floor_f32(half) != half);
	const bits_f32 is_whole = (bits_f32)(floor_f32(y) == y);

	power = (VF)((bits_f32)power ^ (is_negative & is_odd & sign));
	return choose_f32(is_negative & ~is_whole, SPLAT(NAN), power);
}

static inline ALWAYS_INLINE TARGET VF pow_lanes_f32(VF x, VF y)
{
	float from[2][LANES], to[LANES];

	STORE(from[0], (VF)((bits_f32)x & ~(bits_f32)SPLAT(-0.0f)));
	STORE(from[1], y);
	UNROLL
	for (size_t k = 0; k < LANES; k += FEW) {
		few_f32 few[2];

		memcpy(&few[0], from[0] + k, sizeof(few[0]));
		memcpy(&few[1], from[1] + k, sizeof(few[1]));
		few[0] = pow_few(few[0], few[1]);
		memcpy(to + k, &few[0], sizeof(few[0]));
	}
	return signed_f32(x, y, LOAD(to));
}

/* Whether all are finite, and none of x is 0. */
static inline ALWAYS_INLINE TARGET bool are_plain_f32(VF x, VF y)
{
	const bits_f32 sign = (bits_f32)SPLAT(-0.0f);
	const VF size_x = (VF)((bits_f32)x & ~sign), size_y = (VF)((bits_f32)y & ~sign);
	const bits_f32 mask = (bits_f32)(size_x > SPLAT(0.0f)) & (bits_f32)(size_x <= SPLAT(FLT_MAX)) &
			      (bits_f32)(size_y <= SPLAT(FLT_MAX));
	uint32_t lanes[LANES], all = UINT32_MAX;

	memcpy(lanes, &mask, sizeof(lanes));
	for (size_t k = 0; k < LANES; k++)
		all &= lanes[k];
	return all;
}

/* The library has a vector in which one is not plain. */
static TARGET void pow_f32(const struct nn_binary_f32 *b)
{
	const float *from_a = b->a, *from_b = b->b;
	float a[LANES], c[LANES];

	for (size_t i = 0; i < b->count; i += LANES) {
		const size_t count = b->count - i;
		const VF x = b->one_a ? SPLAT(*from_a) : load_f32(from_a + i, count);
		const VF y = b->one_b ? SPLAT(*from_b) : load_f32(from_b + i, count);
		VF power;

		if (count >= LANES && are_plain_f32(x, y)) {
			STORE((float *)b->out + i, pow_lanes_f32(x, y));
			continue;
		}
		STORE(a, x);
		STORE(c, y);
		for (size_t k = 0; k < LANES && k < count; k++)
			a[k] = powf(a[k], c[k]);
		power = LOAD(a);
		store_f32((float *)b->out + i, power, count);
	}
}
