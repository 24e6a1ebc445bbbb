/* SPDX-License-Identifier: MIT */
/*
 * Inner loops for any CPU, in vectors of four floats that compilers know.
 */
#include <math.h>
#include <string.h>

#include "plan/kernels/isa.h"

typedef float vector __attribute__((vector_size(16)));

#define TARGET
#define LANES 4
#define ROWS 4
#define VF vector
#define LOAD(p) load(p, LANES)
#define LOAD_SOME(p, n) load(p, n)
#define STORE(p, v) store(p, v, LANES)
#define STORE_SOME(p, v, n) store(p, v, n)
#define SPLAT(x) ((vector){ x, x, x, x })
#define MADD(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#define SQRT(a) roots(a)
#define MIN(a, b) select_smaller(a, b)
#define MAX(a, b) (-select_smaller(-(a), -(b)))
#define TILES(T) T(4, 2) T(1, 2) T(4, 1) T(1, 1)

static inline vector load(const float *p, size_t n)
{
	vector v = { 0 };

	memcpy(&v, p, n * sizeof(*p));
	return v;
}

static inline void store(float *p, vector v, size_t n)
{
	memcpy(p, &v, n * sizeof(*p));
}

/* a where it is smaller, else b. */
static inline vector select_smaller(vector a, vector b)
{
	typedef int32_t mask __attribute__((vector_size(16)));
	mask smaller = (mask)(a < b);

	return (vector)(((mask)a & smaller) | ((mask)b & ~smaller));
}

static inline vector roots(vector a)
{
	return (vector){ sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3]) };
}

#include "plan/kernels/gemm_f32.h"
#include "plan/kernels/depthwise_f32.h"
#include "plan/kernels/elementwise_f32.h"
#include "plan/kernels/math_f32.h"

const struct nn_isa nn_isa_plain = {
	.name = "plain",
	.lanes = LANES,
	.gemm_f32 = gemm_f32,
	.depthwise_f32 = depthwise_f32,
	.binary_f32 = binary_f32,
	.unary_f32 = unary_f32,
	.softmax_f32 = softmax_f32,
	.sum_f32 = sum_f32,
	.sum_row_f32 = sum_row_f32,
};
