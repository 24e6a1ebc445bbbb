/* SPDX-License-Identifier: MIT */
/*
 * Factors as they are loaded, without their zero points.
 */
#define FACTOR NUMBER4
#define factor(x) (x)
#define SHIFT(type) NUMBER(0)
#define inside(x, zero, type) ((x) - (zero))
#define outside(zero) NUMBER(0)

NUMBER product(NUMBER4 a, NUMBER4 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
