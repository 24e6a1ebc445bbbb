#version 450
/* SPDX-License-Identifier: MIT */
/*
 * SOFTMAX of bytes, as ops/softmax_q8.h has it. Tensor 1 has exponentials by the distance from the
 * largest value. An invocation computes a row.
 */
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#define PARAMS ROWS_PARAMS
#include "common.glsl"

layout(constant_id = 0) const uint TYPE = TYPE_U8;
layout(local_size_x = GROUP_SIZE) in;

#define SUM_BITS 12

int srdhm(int a, int b)
{
	const bool is_negative = (a < 0) != (b < 0);
	uint high, low, carry;

	umulExtended(uint(abs(a)), uint(abs(b)), high, low);
	low = uaddCarry(low, is_negative ? (1u << 30) - 1u : 1u << 30, carry);
	high = ((high + carry) << 1) | (low >> 31);
	return is_negative ? -int(high) : int(high);
}

/* 1 / (1 + a), neither with integer bits: three steps of Newton from 48/17 - 32/17 * half. */
int one_over_one_plus(int a)
{
	const int mean = int((uint(a) + 0x80000000u) >> 1);
	int x = 1515870810 + srdhm(mean, -1010580540);

	for (int i = 0; i < 3; i++) {
		const int rest = (1 << 29) - srdhm(mean, x);
		const int change = srdhm(x, rest);

		x += int(uint(change) << 2);
	}
	return x >= 1 << 30 ? 0x7fffffff : x <= -(1 << 30) ? int(0x80000000u) : x * 2;
}

void main()
{
	const uint row = linear_index();
	const uint start = row / p.inner * p.size * p.inner + row % p.inner;
	uint sum = 0u, reciprocal = 0u;
	int largest = -128, exponent = 31;

	if (row >= p.count)
		return;
	for (uint i = 0u; i < p.size; i++)
		largest = max(largest, load_int(TYPE, p.at[0] + start + i * p.inner));
	for (uint i = 0u; i < p.size; i++) {
		const int value = load_int(TYPE, p.at[0] + start + i * p.inner);

		sum += (uint(i32[p.at[1] + uint(largest - value)]) + (1u << (SUM_BITS - 1))) >> SUM_BITS;
	}
	if (sum != 0u) {
		const int headroom = 31 - findMSB(sum);

		exponent = SUM_BITS - headroom + 31 - 8;
		reciprocal = uint(one_over_one_plus(int((sum << headroom) - 0x80000000u)));
	}
	for (uint i = 0u; i < p.size; i++) {
		const uint at = start + i * p.inner;
		const uint e = uint(i32[p.at[1] + uint(largest - load_int(TYPE, p.at[0] + at))]);
		uint high, low, carry, value;

		umulExtended(reciprocal, e, high, low);
		low = uaddCarry(low, 1u << 30, carry);
		value = ((high + carry) << 1) | (low >> 31);
		value = exponent > 31 ? 0u :
			(value + (exponent > 0 ? 1u << (exponent - 1) : 0u)) >> exponent;
		store_int(TYPE, p.at[OUTPUT] + at,
			  int(min(value, 255u)) - (TYPE == TYPE_I8 ? 128 : 0));
	}
}
