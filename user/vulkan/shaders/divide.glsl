/* SPDX-License-Identifier: MIT */
/*
 * The nearest float to a quotient. That of Vulkan may be off by 2.5 units in the last place.
 */
#ifndef QUOTIENT
#define QUOTIENT(a, b) ((a) / (b))
#endif

float nn_divide(float x, float y)
{
	const uint bits_x = floatBitsToUint(x) & 0x7fffffffu;
	const uint bits_y = floatBitsToUint(y) & 0x7fffffffu;
	const uint whole_x = (bits_x & 0x7fffffu) | 0x800000u;
	const uint whole_y = (bits_y & 0x7fffffu) | 0x800000u;
	const uint exponents = (bits_x >> 23) - (bits_y >> 23) + 150u;
	float q = QUOTIENT(x, y);

	if (min(bits_x, bits_y) < 0x800000u || max(bits_x, bits_y) >= 0x7f800000u)
		return q;
	for (uint i = 0u; i < 8u; i++) {
		const uint bits = floatBitsToUint(q), exponent = (bits >> 23) & 255u;
		/* 2 (x - q y): its upper bits are lost, which are 0. */
		const int rest = 2 * int((whole_x << (exponents - exponent)) -
					 ((bits & 0x7fffffu) | 0x800000u) * whole_y);

		if (exponent == 0u || exponent == 255u || abs(rest) < int(whole_y))
			break;
		q = uintBitsToFloat(rest > 0 ? bits + 1u : bits - 1u);
	}
	return q;
}
