/* SPDX-License-Identifier: MIT */
#include "vectors/random.h"

static uint64_t state;

void random_start(uint64_t seed)
{
	state = seed;
}

uint32_t random_bits(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

uint32_t pick(uint32_t low, uint32_t high)
{
	return low + random_bits() % (high - low + 1);
}

bool chance(uint32_t one_in)
{
	return pick(1, one_in) == 1;
}

float random_float(float low, float high)
{
	return low + (high - low) * (float)(random_bits() % 65536) / 65535;
}
