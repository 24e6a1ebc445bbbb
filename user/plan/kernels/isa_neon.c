/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for arm64 CPUs, which all have NEON.
 */
#if defined(__aarch64__)

#include "plan/kernels/q8_neon.h"

#include <math.h>
#include <sys/auxv.h>

#include "plan/kernels/pack_q8.h"

#define TARGET
#define LANES 4
#define ROWS 7
#define VF float32x4_t
#define LOAD(p) vld1q_f32(p)
#define LOAD_SOME(p, n) load_some(p, n)
#define STORE(p, v) vst1q_f32(p, v)
#define STORE_SOME(p, v, n) store_some(p, v, n)
#define SPLAT(x) vdupq_n_f32(x)
#define MADD(a, b, c) vfmaq_f32(c, a, b)
#define MADD_LANE(a, lane, b, c) vfmaq_laneq_f32(c, b, a, lane)
#define ADD(a, b) vaddq_f32(a, b)
#define SQRT(a) vsqrtq_f32(a)
/*
 * MIN and MAX return the second number if either is NaN, as on x86. MIN and MAX need one more
 * instruction than the operations in CLAMP.
 */
#define MIN(a, b) smaller(a, b)
#define MAX(a, b) larger(a, b)
#define CLAMP(x, low, high) vminq_f32(high, vmaxq_f32(low, x))
#define CHOOSE(mask, a, b) vbslq_f32((uint32x4_t)(mask), a, b)
#define TILES(T) T(7, 2) T(4, 2) T(2, 2) T(1, 2) T(7, 1) T(4, 1) T(2, 1) T(1, 1)

static inline ALWAYS_INLINE float32x4_t smaller(float32x4_t a, float32x4_t b)
{
	return vbslq_f32(vcltq_f32(a, b), a, b);
}

static inline ALWAYS_INLINE float32x4_t larger(float32x4_t a, float32x4_t b)
{
	return vbslq_f32(vcgtq_f32(a, b), a, b);
}

/*
 * Loads fewer than LANES numbers. The code does not call memcpy(), because the compiler would save
 * all vector registers before the call.
 */
static inline ALWAYS_INLINE float32x4_t load_some(const float *p, size_t n)
{
	float32x4_t v = vdupq_n_f32(0);

	if (n & 2) {
		v = vcombine_f32(vld1_f32(p), vdup_n_f32(0));
		if (n & 1)
			v = vld1q_lane_f32(p + 2, v, 2);
	} else if (n & 1) {
		v = vld1q_lane_f32(p, v, 0);
	}
	return v;
}

static inline ALWAYS_INLINE void store_some(float *p, float32x4_t v, size_t n)
{
	if (n & 2) {
		vst1_f32(p, vget_low_f32(v));
		if (n & 1)
			vst1q_lane_f32(p + 2, v, 2);
	} else if (n & 1) {
		vst1q_lane_f32(p, v, 0);
	}
}

#include "plan/kernels/loops_f32.h"

/* ---- Bytes ---- */

typedef int32_t sums_q8 __attribute__((vector_size(16)));
typedef int16_t wide_q8 __attribute__((vector_size(16)));

#define LOW_PAIRS(a, b) ((wide_q8)vzip1q_s16((int16x8_t)(a), (int16x8_t)(b)))
#define HIGH_PAIRS(a, b) ((wide_q8)vzip2q_s16((int16x8_t)(a), (int16x8_t)(b)))
#define DOT(a, b) dot((int16x8_t)(a), (int16x8_t)(b))
#define MULTIPLY_Q15(a, b) ((wide_q8)vqrdmulhq_s16((int16x8_t)(a), (int16x8_t)(b)))

static inline ALWAYS_INLINE sums_q8 dot(int16x8_t a, int16x8_t b)
{
	return (sums_q8)vmlal_high_s16(vmull_s16(vget_low_s16(a), vget_low_s16(b)), a, b);
}

static inline ALWAYS_INLINE sums_q8 multiply_q31(sums_q8 x, int32_t factor)
{
	return (sums_q8)vqrdmulhq_s32((int32x4_t)x, vdupq_n_s32(factor));
}

static inline ALWAYS_INLINE sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	return (sums_q8)q8_scaled((int32x4_t)acc, vld1q_s32(s->multiplier),
				  vnegq_s32(vld1q_s32(s->shift)), false);
}

/* Scales up to 8 sums and stores them as bytes. */
static inline ALWAYS_INLINE void store_q8(uint8_t *out, sums_q8 x, sums_q8 y,
					  const struct nn_q8_output *o, size_t count)
{
	const struct q8_bounds bounds = q8_bounds_of(o);

	q8_store_eight(out, (int32x4_t)x, (int32x4_t)y, &bounds, count);
}

#define MAX_OF_BYTES(a, b) ((full_q8)vmaxq_u8((uint8x16_t)(a), (uint8x16_t)(b)))
#define REPEAT_16(p) ((full_q8)vld1q_u8(p))
#define FIND_BYTES(t, i) ((full_q8)vqtbl1q_u8((uint8x16_t)(t), (uint8x16_t)(i)))
#define CHOOSE_BYTES(a, b, c) \
	((full_q8)vbslq_u8((uint8x16_t)vshrq_n_s8((int8x16_t)(c), 7), (uint8x16_t)(b), (uint8x16_t)(a)))

#include "plan/kernels/wide_q8.h"
#include "plan/kernels/average_q8.h"
#include "plan/kernels/binary_q8.h"
#include "plan/kernels/bytes_q8.h"
#include "plan/kernels/cell_q16.h"

#define ARM64_Q8(depth, product) \
	.gemm_q8 = { NN_GEMM_EIGHTS(depth), .run = product }, \
	.depthwise_q8 = { NN_DEPTHWISE_EIGHTS, .run = nn_depthwise_q8_neon }, \
	LOOPS_BYTES, \
	CELL_Q16

#define ARM64_F16 \
	.gemm_f16 = nn_gemm_f16_neon, \
	.depthwise_f16 = nn_depthwise_f16_neon, \
	.binary_f16 = nn_binary_f16_neon

static bool runs_dotprod(void)
{
	return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}

static bool runs_fp16(void)
{
	return runs_dotprod() && getauxval(AT_HWCAP) & HWCAP_ASIMDHP;
}

static bool runs_i8mm(void)
{
	return runs_fp16() && getauxval(AT_HWCAP2) & HWCAP2_I8MM;
}

const struct nn_isa nn_isa_i8mm = {
	.name = "i8mm",
	.runs = runs_i8mm,
	LOOPS_F32,
	ARM64_F16,
	ARM64_Q8(8, nn_gemm_q8_i8mm),
};

const struct nn_isa nn_isa_fp16 = {
	.name = "fp16",
	.runs = runs_fp16,
	LOOPS_F32,
	ARM64_F16,
	ARM64_Q8(4, nn_gemm_q8_dotprod),
};

const struct nn_isa nn_isa_dotprod = {
	.name = "dotprod",
	.runs = runs_dotprod,
	LOOPS_F32,
	ARM64_Q8(4, nn_gemm_q8_dotprod),
};

const struct nn_isa nn_isa_neon = {
	.name = "neon",
	LOOPS_F32,
	ARM64_Q8(NN_Q8_SIGNED_GROUP, nn_gemm_q8_neon),
};

#endif
