/* SPDX-License-Identifier: MIT */
/*
 * Functions of floats to one or two units in the last place on each device: what Vulkan guarantees of
 * its own is less than the NNAPI asks for. The polynomials are those of Cephes.
 */

#include "divide.glsl"

/* 2^n for whole n from -252 to 254, in two factors so that neither overflows before the product. */
float scale_by_power(float x, int n)
{
	const int half_n = n / 2;

	return x * uintBitsToFloat(uint(half_n + 127) << 23) *
	       uintBitsToFloat(uint(n - half_n + 127) << 23);
}

/* e^r for |r| up to half of ln 2. */
float exp_rest(float r)
{
	float e = 1.9875691500e-4;

	e = e * r + 1.3981999507e-3;
	e = e * r + 8.3334519073e-3;
	e = e * r + 4.1665795894e-2;
	e = e * r + 1.6666665459e-1;
	e = e * r + 5.0000001201e-1;
	return e * (r * r) + r + 1.0;
}

float nn_exp(float x)
{
	float n, r;

	if (isnan(x))
		return x;
	x = min(max(x, -104.0), 89.0);
	n = roundEven(x * 1.44269504088896341);
	r = fma(n, -0.693359375, x);
	return scale_by_power(exp_rest(fma(n, 2.12194440e-4, r)), int(n));
}

/* The exponent of x > 0, and log(m) of the m within [sqrt(1/2), sqrt(2)) that is left. */
float log_rest(float x, out float exponent)
{
	int e = 0;
	uint bits;
	float y;

	if (x < 1.17549435e-38) {
		x *= 16777216.0;
		e = -24;
	}
	bits = floatBitsToUint(x);
	e += int(bits >> 23) - 126;
	x = uintBitsToFloat((bits & 0x7fffffu) | 0x3f000000u);
	if (x < 0.707106781186547524) {
		e--;
		x += x;
	}
	x -= 1.0;
	exponent = float(e);
	y = 7.0376836292e-2;
	y = y * x - 1.1514610310e-1;
	y = y * x + 1.1676998740e-1;
	y = y * x - 1.2420140846e-1;
	y = y * x + 1.4249322787e-1;
	y = y * x - 1.6668057665e-1;
	y = y * x + 2.0000714765e-1;
	y = y * x - 2.4999993993e-1;
	y = y * x + 3.3333331174e-1;
	return x + (x * x * x * y - 0.5 * (x * x));
}

float nn_log(float x)
{
	float e, rest;

	if (x == 0.0)
		return uintBitsToFloat(0xff800000u);
	if (!(x > 0.0))
		return uintBitsToFloat(0x7fc00000u);
	if (isinf(x))
		return x;
	rest = log_rest(x, e);
	return fma(e, 0.693359375, fma(e, -2.12194440e-4, rest));
}

/* |x|^y, x not 0: the whole part of y * log2(x) becomes the exponent without a rounding. */
float pow_positive(float x, float y)
{
	float e, f = log_rest(x, e) * 1.44269504088896341;
	float high = y * e, low = fma(y, e, -high), n = roundEven(high + y * f);

	if (n > 250.0)
		return uintBitsToFloat(0x7f800000u);
	if (n < -250.0)
		return 0.0;
	return scale_by_power(exp_rest(((high - n) + (y * f + low)) * 0.693147180559945309),
			      int(n));
}

float nn_pow(float x, float y)
{
	const bool is_whole = floor(y) == y;
	const bool is_odd = is_whole && floor(y * 0.5) * 2.0 != y;
	float result;

	if (y == 0.0 || x == 1.0)
		return 1.0;
	if (x == 0.0)
		return y > 0.0 ? (is_odd ? x : 0.0) : uintBitsToFloat(0x7f800000u);
	if (x < 0.0 && !is_whole)
		return uintBitsToFloat(0x7fc00000u);
	result = pow_positive(abs(x), y);
	return x < 0.0 && is_odd ? -result : result;
}

float nn_sin(float x)
{
	const float a = abs(x);
	const float n = floor(a * 1.27323954473516), octant = n + mod(n, 2.0);
	float r = fma(octant, -0.78515625, a), z, y;
	const uint quarter = uint(octant) / 2u;

	r = fma(octant, -2.4187564849853515625e-4, r);
	r = fma(octant, -3.77489497744594108e-8, r);
	z = r * r;
	if (quarter % 2u == 1u) {
		y = 2.443315711809948e-5 * z - 1.388731625493765e-3;
		y = y * z + 4.166664568298827e-2;
		y = y * (z * z) - 0.5 * z + 1.0;
	} else {
		y = -1.9515295891e-4 * z + 8.3321608736e-3;
		y = y * z - 1.6666654611e-1;
		y = y * z * r + r;
	}
	return (quarter % 4u >= 2u) != (x < 0.0) ? -y : y;
}

float nn_tanh(float x)
{
	const float a = abs(x), z = x * x;
	float y;

	if (a > 9.1)
		return sign(x);
	if (a >= 0.625) {
		y = 1.0 - 2.0 / (nn_exp(2.0 * a) + 1.0);
		return x < 0.0 ? -y : y;
	}
	y = -5.70498872745e-3 * z + 2.06390887954e-2;
	y = y * z - 5.37397155531e-2;
	y = y * z + 1.33314422036e-1;
	y = y * z - 3.33332819422e-1;
	return y * z * x + x;
}

/* Halves away from zero. */
float nn_round(float x)
{
	const float whole = trunc(x);

	return abs(x - whole) >= 0.5 ? whole + sign(x) : whole;
}
