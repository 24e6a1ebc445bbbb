/* SPDX-License-Identifier: MIT */
/*
 * The nearest float to a quotient. That of Vulkan may be off by 2.5 units in the last place.
 */
#ifndef QUOTIENT
#define QUOTIENT(a, b) ((a) / (b))
#endif

float nn_divide(float a, float b)
{
	const uint bits_a = floatBitsToUint(a) & 0x7fffffffu;
	const uint bits_b = floatBitsToUint(b) & 0x7fffffffu;
	const uint whole_a = (bits_a & 0x7fffffu) | 0x800000u;
	const uint whole_b = (bits_b & 0x7fffffu) | 0x800000u;
	const uint exponents = (bits_a >> 23) - (bits_b >> 23) + 150u;
	float q = QUOTIENT(a, b);

	if (min(bits_a, bits_b) < 0x800000u || max(bits_a, bits_b) >= 0x7f800000u)
		return q;
	for (uint i = 0u; i < 8u; i++) {
		const uint bits = floatBitsToUint(q), exponent = (bits >> 23) & 255u;
		/* 2 (a - q b): its upper bits are lost, which are 0. */
		const int rest = 2 * int((whole_a << (exponents - exponent)) -
					 ((bits & 0x7fffffu) | 0x800000u) * whole_b);

		if (exponent == 0u || exponent == 255u || abs(rest) < int(whole_b))
			break;
		q = uintBitsToFloat(rest > 0 ? bits + 1u : bits - 1u);
	}
	return q;
}
