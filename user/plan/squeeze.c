/* SPDX-License-Identifier: MIT */
/*
 * Zeros left out of bytes, and put back.
 */
#include <string.h>

#include "squeeze.h"

#define GROUP 8

size_t squeeze(const uint8_t *from, size_t size, uint8_t *to)
{
	uint8_t *next = to;

	for (size_t at = 0; at < size; at += GROUP) {
		uint8_t *mask = next++;

		*mask = 0;
		for (size_t i = 0; i < GROUP && at + i < size; i++) {
			if (!from[at + i])
				continue;
			*mask |= 1 << i;
			*next++ = from[at + i];
		}
	}
	return (size_t)(next - to);
}

bool squeezed_size(const uint8_t *from, size_t size, size_t *whole)
{
	size_t at = 0;

	for (*whole = 0; at < size; *whole += GROUP)
		at += 1 + (size_t)__builtin_popcount(from[at]);
	return at == size;
}

void unsqueeze(const uint8_t *from, size_t size, uint8_t *to)
{
	const uint8_t *end = from + size;

	while (from < end) {
		uint8_t mask = *from++;

		for (size_t i = 0; i < GROUP; i++)
			*to++ = mask >> i & 1 ? *from++ : 0;
	}
}
