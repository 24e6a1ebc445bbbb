/* SPDX-License-Identifier: MIT */
/*
 * FarmHash's Fingerprint64, written from its definition. FarmHash has one mixing rule for each
 * class of input lengths, and reads little-endian words.
 */
#include "model/fingerprint.h"

#include <endian.h>
#include <string.h>

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

struct pair {
	uint64_t a, b;
};

static uint64_t word(const uint8_t *s)
{
	uint64_t w;

	memcpy(&w, s, sizeof(w));
	return le64toh(w);
}

static uint64_t half_word(const uint8_t *s)
{
	uint32_t w;

	memcpy(&w, s, sizeof(w));
	return le32toh(w);
}

static uint64_t rotate(uint64_t v, unsigned int by)
{
	return v >> by | v << (64 - by);
}

static uint64_t fold(uint64_t v)
{
	return v ^ v >> 47;
}

static uint64_t mix(uint64_t u, uint64_t v, uint64_t multiplier)
{
	uint64_t a = fold((u ^ v) * multiplier);

	return fold((v ^ a) * multiplier) * multiplier;
}

static uint64_t up_to_16(const uint8_t *s, size_t n)
{
	uint64_t multiplier = K2 + n * 2, a, b;

	if (n >= 8) {
		a = word(s) + K2;
		b = word(s + n - 8);
		return mix(rotate(b, 37) * multiplier + a, (rotate(a, 25) + b) * multiplier,
			   multiplier);
	}
	if (n >= 4)
		return mix(n + (half_word(s) << 3), half_word(s + n - 4), multiplier);
	if (n == 0)
		return K2;
	a = s[0] + ((uint64_t)s[n >> 1] << 8);
	b = n + ((uint64_t)s[n - 1] << 2);
	return fold(a * K2 ^ b * K0) * K2;
}

static uint64_t up_to_32(const uint8_t *s, size_t n)
{
	uint64_t multiplier = K2 + n * 2, a = word(s) * K1, b = word(s + 8);
	uint64_t c = word(s + n - 8) * multiplier, d = word(s + n - 16) * K2;

	return mix(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + K2, 18) + c, multiplier);
}

static uint64_t up_to_64(const uint8_t *s, size_t n)
{
	uint64_t multiplier = K2 + n * 2, a = word(s) * K2, b = word(s + 8);
	uint64_t c = word(s + n - 8) * multiplier, d = word(s + n - 16) * K2;
	uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
	uint64_t z = mix(y, a + rotate(b + K2, 18) + c, multiplier);
	uint64_t e = word(s + 16) * multiplier, f = word(s + 24);
	uint64_t g = (y + word(s + n - 32)) * multiplier, h = (z + word(s + n - 24)) * multiplier;

	return mix(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, multiplier);
}

/* Computes FarmHash's weak hash of 32 bytes with two seeds. */
static struct pair weak(const uint8_t *s, uint64_t a, uint64_t b)
{
	uint64_t z = word(s + 24), c;

	a += word(s);
	b = rotate(b + a + z, 21);
	c = a;
	a += word(s + 8) + word(s + 16);
	b += rotate(a, 44);
	return (struct pair){ a + z, b + c };
}

struct state {
	uint64_t x, y, z;
	struct pair v, w;
};

/*
 * Adds a block of 64 bytes to the hash. For the last block of the data, `multiplier` and `last`
 * have other values than for earlier blocks.
 */
static void block(struct state *h, const uint8_t *s, uint64_t multiplier, uint64_t last)
{
	uint64_t x;

	h->x = rotate(h->x + h->y + h->v.a + word(s + 8), 37) * multiplier;
	h->y = rotate(h->y + h->v.b + word(s + 48), 42) * multiplier;
	h->x ^= h->w.b * last;
	h->y += h->v.a * last + word(s + 40);
	h->z = rotate(h->z + h->w.a, 33) * multiplier;
	h->v = weak(s, h->v.b * multiplier, h->x + h->w.a);
	h->w = weak(s + 32, h->z + h->w.b, h->y + word(s + 16));
	x = h->x;
	h->x = h->z;
	h->z = x;
}

uint64_t nn_fingerprint64(const void *data, size_t size)
{
	const uint8_t *s = data, *end;
	uint64_t seed = 81, multiplier;
	struct state h = { .x = seed, .y = seed * K1 + 113 };

	if (size <= 16)
		return up_to_16(s, size);
	if (size <= 32)
		return up_to_32(s, size);
	if (size <= 64)
		return up_to_64(s, size);
	h.z = fold(h.y * K2 + 113) * K2;
	h.x = h.x * K2 + word(s);
	end = s + (size - 1) / 64 * 64;
	for (; s != end; s += 64)
		block(&h, s, K1, 1);
	multiplier = K1 + ((h.z & 0xff) << 1);
	h.w.a += (size - 1) & 63;
	h.v.a += h.w.a;
	h.w.a += h.v.a;
	block(&h, end + ((size - 1) & 63) - 63, multiplier, 9);
	return mix(mix(h.v.a, h.w.a, multiplier) + fold(h.y) * K0 + h.z,
		   mix(h.v.b, h.w.b, multiplier) + h.x, multiplier);
}
