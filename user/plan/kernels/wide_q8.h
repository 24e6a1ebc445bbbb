/* SPDX-License-Identifier: MIT */
/*
 * Vectors of bytes that are widened to 16-bit numbers. The includer defines TARGET, LANES (of 32
 * bits) and the type wide_q8. WIDE_OF_BYTES and WIDE_OF_SIGNED widen unsigned and signed bytes. If
 * the instruction set needs fewer instructions than the compiler's default code, the includer also
 * defines LOAD_BYTES, STORE_BYTES, or both WIDE_OF macros.
 */
#if !defined(LANES) || !defined(TARGET)
#error "wide_q8.h needs: LANES TARGET"
#endif

#define WIDTH (2 * LANES)	/* number of 16-bit values in a vector */

typedef uint8_t bytes_q8 __attribute__((vector_size(WIDTH)));

#ifndef WIDE_OF_BYTES
typedef int8_t signed_q8 __attribute__((vector_size(WIDTH)));
#define WIDE_OF_BYTES(b) __builtin_convertvector(b, wide_q8)
#define WIDE_OF_SIGNED(b) __builtin_convertvector((signed_q8)(b), wide_q8)
#endif

/*
 * Loads up to WIDTH bytes, and fills the rest of the vector with zeros. LOAD_BYTES and STORE_BYTES
 * are called for fewer than WIDTH bytes.
 */
static inline ALWAYS_INLINE TARGET bytes_q8 load_bytes(const uint8_t *p, size_t count)
{
	bytes_q8 bytes = { 0 };

	if (count >= WIDTH)
		memcpy(&bytes, p, WIDTH);
	else
#ifdef LOAD_BYTES
		bytes = LOAD_BYTES(p, count);
#else
		memcpy(&bytes, p, count);
#endif
	return bytes;
}

static inline ALWAYS_INLINE TARGET void store_bytes(uint8_t *p, bytes_q8 bytes, size_t count)
{
	if (count >= WIDTH)
		memcpy(p, &bytes, WIDTH);
	else
#ifdef STORE_BYTES
		STORE_BYTES(p, bytes, count);
#else
		memcpy(p, &bytes, count);
#endif
}

/*
 * Loads `count` bytes at `p` as 16-bit numbers, with the zero point subtracted. Lanes after the
 * first `count` lanes have the value that results from a byte of 0.
 */
static inline ALWAYS_INLINE TARGET wide_q8 load_wide(const uint8_t *p, size_t count, uint8_t flip,
						     int32_t zero)
{
	return WIDE_OF_BYTES(load_bytes(p, count) ^ flip) - (int16_t)zero;
}
