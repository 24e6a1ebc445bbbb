/* SPDX-License-Identifier: MIT */
/*
 * Loops on int8 and uint8 for one instruction set: sums of pixels, maxima of pixels, and lookups in
 * tables. Compilers vectorise the loops of this file. LOOPS_BYTES sets members of struct nn_isa to
 * the loops of this file, of binary_q8.h and of average_q8.h. The includer must include binary_q8.h
 * and average_q8.h before this file. The includer may define the following macros, whose vectors
 * have 4 * LANES bytes. MAX_OF_BYTES returns the larger byte of each pair from two vectors.
 * REPEAT_16 fills a vector with copies of 16 bytes. FIND_BYTES looks bytes up in a table of 16
 * entries. For each byte of `mask`, CHOOSE_BYTES(a, b, mask) returns the byte of b if the highest
 * bit is set, and otherwise the byte of a.
 */
#if !defined(LANES) || !defined(TARGET) || !defined(WIDTH)
#error "bytes_q8.h needs: LANES TARGET WIDTH"
#endif

static TARGET void sum_q8(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
			  uint8_t flip, int32_t *sums)
{
	for (size_t c = 0; c < channels; c += WIDTH) {
		size_t count = channels - c < WIDTH ? channels - c : WIDTH;

		for (size_t first = 0; first < pixels; first += 128) {
			size_t end = first + 128 < pixels ? first + 128 : pixels;
			wide_q8 sum = { 0 };
			int16_t values[WIDTH];

			/* The sum of 128 bytes is at most 128 * 255, which fits in 16 bits. */
			for (size_t i = first; i < end; i++)
				sum += load_wide(x + i * stride + c, count, flip, 0);
			memcpy(values, &sum, sizeof(values));
			for (size_t i = 0; i < count; i++)
				sums[c + i] += values[i];
		}
	}
}

typedef uint8_t full_q8 __attribute__((vector_size(4 * LANES)));

#ifndef MAX_OF_BYTES
#define MAX_OF_BYTES(a, b) (((a) & (full_q8)((a) > (b))) | ((b) & ~(full_q8)((a) > (b))))
#endif

#define LOOPS_BYTES \
	.binary_q8 = binary_q8, \
	.sum_q8 = sum_q8, \
	.average_q8 = average_q8, \
	.max_q8 = max_q8, \
	.lookup_q8 = lookup_q8

/*
 * Finds the largest byte of each of `count` channels. In calls for whole vectors, `count` is a
 * compile-time constant, so each memcpy() becomes one load or store.
 */
static inline ALWAYS_INLINE TARGET void max_some_q8(const uint8_t *x, size_t stride, size_t pixels,
						    size_t count, uint8_t flip, uint8_t *largest)
{
	full_q8 max = { 0 }, bytes = { 0 };

	memcpy(&max, largest, count);
	max ^= flip;
	for (size_t i = 0; i < pixels; i++) {
		memcpy(&bytes, x + i * stride, count);
		max = MAX_OF_BYTES(max, bytes ^ flip);
	}
	max ^= flip;
	memcpy(largest, &max, count);
}

static TARGET void max_q8(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
			  uint8_t flip, uint8_t *largest)
{
	size_t c = 0;

	for (; c + sizeof(full_q8) <= channels; c += sizeof(full_q8))
		max_some_q8(x + c, stride, pixels, sizeof(full_q8), flip, largest + c);
	for (; c + WIDTH <= channels; c += WIDTH)
		max_some_q8(x + c, stride, pixels, WIDTH, flip, largest + c);
	for (; c + 8 <= channels; c += 8)
		max_some_q8(x + c, stride, pixels, 8, flip, largest + c);
	if (c < channels)
		max_some_q8(x + c, stride, pixels, channels - c, flip, largest + c);
}

#ifdef FIND_BYTES

/*
 * Looks up bytes in a table of 256 entries, which is divided into 16 parts of 16 entries. The upper
 * four bits of a byte choose the part, and the lower four bits choose the entry of the part.
 */
static inline ALWAYS_INLINE TARGET full_q8 look_up_q8(const full_q8 parts[16], full_q8 x)
{
	typedef uint16_t two_bytes __attribute__((vector_size(4 * LANES)));
	const full_q8 low = x & 15;
	full_q8 found[16];

	UNROLL
	for (int i = 0; i < 16; i++)
		found[i] = FIND_BYTES(parts[i], low);
	UNROLL
	for (int bit = 4; bit < 8; bit++) {
		const full_q8 chosen = (full_q8)((two_bytes)x << (7 - bit));

		UNROLL
		for (int i = 0; i < 8; i++)
			if (i < 128 >> bit)
				found[i] = CHOOSE_BYTES(found[2 * i], found[2 * i + 1], chosen);
	}
	return found[0];
}

#endif

static TARGET void lookup_q8(const uint8_t *table, const uint8_t *in, uint8_t *out, size_t count)
{
	size_t i = 0;
#ifdef FIND_BYTES
	full_q8 parts[16], x;

	for (size_t k = 0; k < 16; k++)
		parts[k] = REPEAT_16(table + 16 * k);
	for (; i + sizeof(x) <= count; i += sizeof(x)) {
		memcpy(&x, in + i, sizeof(x));
		x = look_up_q8(parts, x);
		memcpy(out + i, &x, sizeof(x));
	}
#endif
	for (; i < count; i++)
		out[i] = table[in[i]];
}
