/* SPDX-License-Identifier: MIT */
/*
 * Bytes that are mostly zeros, without these: for each eight bytes one that tells
 * which of them are not zero, then those.
 */
#ifndef NN_PLAN_SQUEEZE_H
#define NN_PLAN_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that `size` bytes are squeezed to. */
static inline size_t squeeze_bound(size_t size)
{
	return (size + 7) / 8 * 9;
}

/* Returns how many it wrote. */
size_t squeeze(const uint8_t *from, size_t size, uint8_t *to);

/* Bytes that squeezed ones are of, a multiple of eight; false: they are cut off. */
bool squeezed_size(const uint8_t *from, size_t size, size_t *whole);

/* Writes as many bytes as squeezed_size() told. */
void unsqueeze(const uint8_t *from, size_t size, uint8_t *to);

#endif /* NN_PLAN_SQUEEZE_H */
