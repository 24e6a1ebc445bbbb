/* SPDX-License-Identifier: MIT */
/*
 * Fixed point as ops/quant.h has it, bit for bit.
 */

/* round(a * b / 2^31) for b >= 0. */
int srdhm(int a, int b)
{
	const bool is_negative = a < 0;
	uint high, low, carry;

	umulExtended(is_negative ? uint(-a) : uint(a), uint(b), high, low);
	low = uaddCarry(low, is_negative ? (1u << 30) - 1u : 1u << 30, carry);
	high = ((high + carry) << 1) | (low >> 31);
	return is_negative ? -int(high) : int(high);
}

/* Division by 2^exponent, halves away from zero. */
int rdp(int x, int exponent)
{
	const int mask = int((1u << exponent) - 1u);

	return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0 ? 1 : 0) ? 1 : 0);
}

/* x times value / 2^31 * 2^shift. */
int mbqm(int x, int value, int shift)
{
	const int left = shift > 0 ? shift : 0;

	return rdp(srdhm(left < 32 ? int(uint(x) << left) : 0, value), shift < 0 ? -shift : 0);
}

/* What a quantised output is of an accumulator; tensor 3 has a multiplier and a shift a channel. */
int requantised(int sum, uint channel)
{
	const uint at = p.at[3] + 2u * channel;

	return clamp(mbqm(sum, i32[at], i32[at + 1u]) + p.out_zero, p.low_q, p.high_q);
}
