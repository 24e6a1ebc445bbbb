/* SPDX-License-Identifier: MIT */
/*
 * Computes SHA-256 for the names of cache files, so that applications need no crypto library. The
 * speed of SHA-256 does not matter, because the runtime hashes only a few hundred bytes.
 */
#ifndef NN_RUNTIME_SHA256_H
#define NN_RUNTIME_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256 {
	uint32_t state[8];
	uint8_t block[64];
	uint64_t length;		/* bytes so far */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t size);
void sha256_end(struct sha256 *s, uint8_t hash[SHA256_SIZE]);

#endif /* NN_RUNTIME_SHA256_H */
