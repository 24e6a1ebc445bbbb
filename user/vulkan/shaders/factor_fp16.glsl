/* SPDX-License-Identifier: MIT */
/*
 * Factors in float16. Four products are added in float16, and these sums in float32.
 */
#define FACTOR f16vec4
#define factor(x) f16vec4(x)
#define SHIFT(type) NUMBER(0)
#define inside(x, zero, type) ((x) - (zero))
#define outside(zero) NUMBER(0)

float product(f16vec4 a, f16vec4 b)
{
	return float(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
