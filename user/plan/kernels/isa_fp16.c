/* SPDX-License-Identifier: MIT */
/*
 * Inner loops on fp16, for arm64 CPUs that compute in fp16. At most 64 products are summed in fp16
 * before their sum is added to the total. The error of a sum of 1024 random products is 0.14 % of
 * the sum's usual size; without partial sums, the error would be 0.47 %.
 */
#if defined(__aarch64__)

/*
 * Without the option no-schedule-insns, gcc moves the products of a row together, and each product
 * waits for its predecessor.
 */
#ifndef __clang__
#pragma GCC optimize("no-schedule-insns")
#endif

#include <arm_neon.h>
#include <string.h>

#include "plan/kernels/isa_arm64.h"
#include "plan/kernels/unroll.h"

#define TARGET
#define NUM float16_t
#define BITS uint16_t
#define SUM_MOST 64
#define LANES 8
#define ROWS 7
#define VF float16x8_t
#define LOAD(p) vld1q_f16(p)
#define LOAD_SOME(p, n) load_some(p, n)
#define STORE(p, v) vst1q_f16(p, v)
#define STORE_SOME(p, v, n) store_some(p, v, n)
#define SPLAT(x) vdupq_n_f16((float16_t)(x))
#define MADD(a, b, c) vfmaq_f16(c, a, b)
#ifdef __clang__
#define MADD_LANE(a, lane, b, c) vfmaq_laneq_f16(c, b, a, lane)
#else
/*
 * For the intrinsic vfmaq_laneq_f16(), gcc 12 generates two instructions; the first instruction
 * copies the lane to a whole vector.
 */
#define MADD_LANE(a, lane, b, c) ({							\
	float16x8_t sum_ = c;								\
	__asm__("fmla %0.8h, %1.8h, %2.h[" #lane "]" : "+w"(sum_) : "w"(b), "x"(a));	\
	sum_;										\
})
#endif
#define ADD(a, b) vaddq_f16(a, b)
/* MIN and MAX return the second argument if one argument is NaN, as for float32. */
#define MIN(a, b) vbslq_f16(vcltq_f16(a, b), a, b)
#define MAX(a, b) vbslq_f16(vcgtq_f16(a, b), a, b)
#define CLAMP(x, low, high) vminq_f16(high, vmaxq_f16(low, x))
#define TILES(T) T(7, 2) T(4, 2) T(2, 2) T(1, 2) T(7, 1) T(4, 1) T(2, 1) T(1, 1)

/*
 * Loads fewer than LANES numbers. The loop avoids a call of memcpy(), before which the compiler
 * would save all vector registers.
 */
static inline ALWAYS_INLINE float16x8_t load_some(const float16_t *p, size_t n)
{
	float16x8_t v = vdupq_n_f16(0);

	/*
	 * Numbers are inserted from the last to the first, because each insertion moves the
	 * previous numbers by one lane.
	 */
	while (n-- > 0)
		v = vsetq_lane_f16(p[n], vextq_f16(v, v, 7), 0);
	return v;
}

static inline ALWAYS_INLINE void store_some(float16_t *p, float16x8_t v, size_t n)
{
	for (; n > 0; n--, p++) {
		vst1q_lane_f16(p, v, 0);
		v = vextq_f16(v, v, 1);
	}
}

#include "plan/kernels/gemm_f32.h"
#include "plan/kernels/depthwise_f32.h"
#include "plan/kernels/binary_f32.h"

void nn_gemm_f16_neon(const struct nn_gemm_f32 *g)
{
	gemm_f32(g);
}

void nn_depthwise_f16_neon(const struct nn_depthwise_f32 *d)
{
	depthwise_f32(d);
}

void nn_binary_f16_neon(const struct nn_binary_f32 *b)
{
	binary_f32(b);
}

#endif
