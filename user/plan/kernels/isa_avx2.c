/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for x86 CPUs with AVX2 and FMA, with or without AVX-VNNI.
 */
#if defined(__x86_64__)

#include <cpuid.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "plan/kernels/q8_avx2.h"
#include "plan/kernels/quant8.h"

#define TARGET NN_TARGET_AVX2
#define LANES 8
#define ROWS 6
#define VF __m256
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_SOME(p, n) load_some(p, n)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_SOME(p, v, n) _mm256_maskstore_ps(p, first_lanes(n), v)
#define SPLAT(x) _mm256_set1_ps(x)
#define MADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SQRT(a) _mm256_sqrt_ps(a)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define CHOOSE(mask, a, b) _mm256_blendv_ps(b, a, (__m256)(mask))
#define INTS_OF_BYTES(b) ((ints_f32)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)(b))))
#define BYTES_OF_INTS(v) ((bytes_f32)low_bytes((__m256i)(v)))
#define TILES(T) T(6, 2) T(3, 2) T(1, 2) T(6, 1) T(3, 1) T(1, 1)

TARGET static inline __m256i first_lanes(size_t n)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Loads the first `n` elements at the end of a page, without a vector that reads beyond the page. */
TARGET __attribute__((cold, noinline)) static __m256 load_page_end(const float *p, size_t n)
{
	float some[LANES] = { 0 };

	memcpy(some, p, n * sizeof(*p));
	return _mm256_loadu_ps(some);
}

/*
 * Loads the first `n` elements, n < LANES. QEMU's CPUs read all elements of a masked load, and so
 * fail if some are on a page that is not mapped.
 */
TARGET static inline __m256 load_some(const float *p, size_t n)
{
	return (uintptr_t)p % 4096 <= 4096 - LANES * sizeof(*p) ?
	       _mm256_maskload_ps(p, first_lanes(n)) : load_page_end(p, n);
}

/* Returns the lowest byte of each 32-bit lane. */
TARGET static inline long long low_bytes(__m256i v)
{
	const __m256i fours = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c080400));

	return _mm_cvtsi128_si64(_mm_unpacklo_epi32(_mm256_castsi256_si128(fours),
						    _mm256_extracti128_si256(fours, 1)));
}

#include "plan/kernels/loops_f32.h"

/* ---- Bytes ---- */

typedef int32_t sums_q8 __attribute__((vector_size(32)));
typedef int16_t wide_q8 __attribute__((vector_size(32)));

#define Q8_ROWS 6
#define WIDE_OF_BYTES(b) ((wide_q8)_mm256_cvtepu8_epi16((__m128i)(b)))
#define WIDE_OF_SIGNED(b) ((wide_q8)_mm256_cvtepi8_epi16((__m128i)(b)))
#define MAX_OF_BYTES(a, b) ((full_q8)_mm256_max_epu8((__m256i)(a), (__m256i)(b)))
#define REPEAT_16(p) \
	((full_q8)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(p))))
#define FIND_BYTES(t, i) ((full_q8)_mm256_shuffle_epi8((__m256i)(t), (__m256i)(i)))
#define CHOOSE_BYTES(a, b, c) \
	((full_q8)_mm256_blendv_epi8((__m256i)(a), (__m256i)(b), (__m256i)(c)))
#define DOT(a, b) ((sums_q8)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#define LOW_PAIRS(a, b) ((wide_q8)_mm256_unpacklo_epi16((__m256i)(a), (__m256i)(b)))
#define HIGH_PAIRS(a, b) ((wide_q8)_mm256_unpackhi_epi16((__m256i)(a), (__m256i)(b)))
#define MULTIPLY_Q15(a, b) ((wide_q8)_mm256_mulhrs_epi16((__m256i)(a), (__m256i)(b)))
#define MULTIPLY_EVEN(a, b) _mm256_mul_epi32((__m256i)(a), (__m256i)(b))

static inline ALWAYS_INLINE TARGET sums_q8 scale_q8(sums_q8 acc, const struct nn_q8_scale *s)
{
	return (sums_q8)q8_scaled_avx2((__m256i)acc, s, false);
}

/* Stores up to 16 bytes, in the order of columns in the output. */
static inline ALWAYS_INLINE TARGET void store_q8(uint8_t *out, sums_q8 x, sums_q8 y,
						 const struct nn_q8_output *o, size_t count)
{
	q8_store_two_avx2(out, (__m256i)x, (__m256i)y, o, count);
}

#include "plan/kernels/even_q31.h"
#include "plan/kernels/loops_q8.h"

static bool runs_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/*
 * CPUID is used directly, because some compilers do not know the name of AVX-VNNI. CPUID is
 * executed only once, because in a virtual machine CPUID traps to the hypervisor.
 */
static bool runs_avx_vnni(void)
{
	/* whether the CPU has AVX-VNNI: 0 if unknown, 1 for no, 2 for yes */
	static atomic_int known;
	int answer = atomic_load_explicit(&known, memory_order_relaxed);
	uint32_t a = 0, b, c, d;

	if (!answer) {
		answer = runs_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1 << 4 ?
			 2 : 1;
		atomic_store_explicit(&known, answer, memory_order_relaxed);
	}
	return answer == 2;
}

/* Returns whether the CPU lacks AVX-VNNI, but has the same instructions in AVX-512 VNNI. */
static bool runs_vnni_256(void)
{
	return runs_avx2() && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vnni") && !runs_avx_vnni();
}

const struct nn_isa nn_isa_avx2 = {
	.name = "avx2",
	.runs = runs_avx2,
	LOOPS_F32,
	LOOPS_Q8,
	GEMM_PAIRS,
	.gemm_sums = { NN_GEMM_SPLIT_FOURS(LANES), .run = nn_gemm_q8_avx2 },
	DEPTHWISE_PAIRS,
};

/*
 * Depthwise convolutions multiply two taps at a time. Multiplying four taps at a time would not be
 * faster, because one of four taps would often be padding.
 */
#define WITH_VNNI(has, product)							\
	.name = "avx-vnni",							\
	.runs = has,								\
	LOOPS_F32,								\
	LOOPS_Q8,								\
	.gemm_q8 = { NN_GEMM_FOURS(LANES), .run = product },			\
	DEPTHWISE_PAIRS

const struct nn_isa nn_isa_avx_vnni = { WITH_VNNI(runs_avx_vnni, nn_gemm_q8_avx_vnni) };
const struct nn_isa nn_isa_avx512_vnni_256 = {
	WITH_VNNI(runs_vnni_256, nn_gemm_q8_avx512_vnni_256)
};

#endif
