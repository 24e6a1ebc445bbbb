/* SPDX-License-Identifier: MIT */
/*
 * SHA-256, by libcrypto.
 */
#ifndef NN_KIT_DIGEST_H
#define NN_KIT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32

/*
 * Gets the algorithm ready. To be called once before the others, and before a
 * filter of system calls: libcrypto looks for its configuration. Not thread-safe;
 * the others are.
 */
bool digest_init(void);

/* The hash of `size` bytes. False: no memory. */
bool digest(const void *data, size_t size, uint8_t hash[DIGEST_SIZE]);

/* The hash of several pieces, one after the other. NULL: no memory; then all else fails. */
struct evp_md_ctx_st;
struct evp_md_ctx_st *digest_begin(void);
void digest_add(struct evp_md_ctx_st *context, const void *data, size_t size);

/* Ends and frees. False: something failed since digest_begin(). */
bool digest_end(struct evp_md_ctx_st *context, uint8_t hash[DIGEST_SIZE]);

#endif /* NN_KIT_DIGEST_H */
