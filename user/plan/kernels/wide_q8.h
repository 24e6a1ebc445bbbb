/* SPDX-License-Identifier: MIT */
/*
 * Vectors of bytes in 16 bits. Whoever includes it defines TARGET, LANES (of 32 bits) and
 * the type wide_q8.
 */
#define WIDTH (2 * LANES)	/* values in 16 bits of a vector */

typedef uint8_t bytes_q8 __attribute__((vector_size(WIDTH)));

/* Values [0, count) of a vector that begins at `p`; the others are those of 0. */
static inline ALWAYS_INLINE TARGET wide_q8 load_wide(const uint8_t *p, size_t count, uint8_t flip,
						     int32_t zero)
{
	bytes_q8 bytes = { 0 };

	if (count >= WIDTH)
		memcpy(&bytes, p, WIDTH);
	else
		memcpy(&bytes, p, count);
	return __builtin_convertvector(bytes ^ flip, wide_q8) - (int16_t)zero;
}
