/* SPDX-License-Identifier: MIT */
/*
 * Transposes squares of 16 x 16 bytes, and matrices of bytes.
 */
#ifndef NN_PLAN_KERNELS_SQUARES_H
#define NN_PLAN_KERNELS_SQUARES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/kernels/unroll.h"

#define NN_SQUARE 16

typedef uint8_t u8x16 __attribute__((vector_size(16)));

#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, \
					    7, 23)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, \
					     14, 30, 15, 31)

static inline u8x16 load_16(const void *p)
{
	u8x16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Does one of the four rounds of a transposition: interleaves each of the first eight rows with the
 * eighth row after it.
 */
static inline ALWAYS_INLINE void interleave_rows(const u8x16 from[NN_SQUARE], u8x16 to[NN_SQUARE])
{
	UNROLL
	for (size_t i = 0; i < NN_SQUARE / 2; i++) {
		to[2 * i] = LOW_8(from[i], from[i + NN_SQUARE / 2]);
		to[2 * i + 1] = HIGH_8(from[i], from[i + NN_SQUARE / 2]);
	}
}

/*
 * Transposes a square. Rows of `in` are `step` bytes apart, and rows of `out` are `stride` bytes
 * apart.
 */
static inline ALWAYS_INLINE void transpose_square(const uint8_t *in, size_t step, uint8_t *out,
						  size_t stride)
{
	u8x16 x[NN_SQUARE], y[NN_SQUARE];

	UNROLL
	for (size_t i = 0; i < NN_SQUARE; i++)
		x[i] = load_16(in + i * step);
	interleave_rows(x, y);
	interleave_rows(y, x);
	interleave_rows(x, y);
	interleave_rows(y, x);
	UNROLL
	for (size_t i = 0; i < NN_SQUARE; i++)
		memcpy(out + i * stride, &x[i], sizeof(x[i]));
}

/* Transposes a matrix of `rows` rows and `columns` columns of bytes, one square at a time. */
static inline void transpose_bytes(const uint8_t *in, size_t rows, size_t columns, size_t step,
				   uint8_t *out, size_t stride)
{
	for (size_t y = 0; y < rows; y += NN_SQUARE) {
		size_t height = rows - y < NN_SQUARE ? rows - y : NN_SQUARE, x = 0;

		for (; height == NN_SQUARE && x + NN_SQUARE <= columns; x += NN_SQUARE)
			transpose_square(in + y * step + x, step, out + x * stride + y, stride);
		for (; x < columns; x++)
			for (size_t i = y; i < y + height; i++)
				out[x * stride + i] = in[i * step + x];
	}
}

#endif /* NN_PLAN_KERNELS_SQUARES_H */
