/* SPDX-License-Identifier: MIT */
/*
 * Vectors of bytes in 16 bits. Whoever includes it defines TARGET, LANES (of 32 bits),
 * the type wide_q8, and where the compiler does not make one instruction of it WIDE_OF_BYTES and
 * WIDE_OF_SIGNED, which widen bytes and bytes with a sign.
 */
#if !defined(LANES) || !defined(TARGET)
#error "wide_q8.h needs: LANES TARGET"
#endif

#define WIDTH (2 * LANES)	/* values in 16 bits of a vector */

typedef uint8_t bytes_q8 __attribute__((vector_size(WIDTH)));

#ifndef WIDE_OF_BYTES
typedef int8_t signed_q8 __attribute__((vector_size(WIDTH)));
#define WIDE_OF_BYTES(b) __builtin_convertvector(b, wide_q8)
#define WIDE_OF_SIGNED(b) __builtin_convertvector((signed_q8)(b), wide_q8)
#endif

/* Values [0, count) of a vector that begins at `p`; the others are those of 0. */
static inline ALWAYS_INLINE TARGET wide_q8 load_wide(const uint8_t *p, size_t count, uint8_t flip,
						     int32_t zero)
{
	bytes_q8 bytes = { 0 };

	if (count >= WIDTH)
		memcpy(&bytes, p, WIDTH);
	else
		memcpy(&bytes, p, count);
	return WIDE_OF_BYTES(bytes ^ flip) - (int16_t)zero;
}
