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
 * Loads SHA-256 from libcrypto. The process must call digest_init() once, before the other
 * functions of digest.h. The process must not have loaded the filter of system calls yet, because
 * libcrypto reads its configuration file. Only one thread may call digest_init(); the other
 * functions are thread-safe.
 */
bool digest_init(void);

/* Computes the hash of `size` bytes. Returns false if memory runs out. */
bool digest(const void *data, size_t size, uint8_t hash[DIGEST_SIZE]);

/*
 * Computes the hash of `size` bytes of a file from offset `at` on. Reads the file instead of mapping
 * it, because a read error of mapped memory kills the process. Returns false if the bytes cannot be
 * read or memory runs out.
 */
bool digest_file(int fd, uint64_t at, uint64_t size, uint8_t hash[DIGEST_SIZE]);

/*
 * Begins a hash of data that is added by several calls. Returns NULL if memory runs out; for a
 * context of NULL, digest_add() does nothing and digest_end() fails.
 */
struct evp_md_ctx_st;
struct evp_md_ctx_st *digest_begin(void);
void digest_add(struct evp_md_ctx_st *context, const void *data, size_t size);

/* Ends a hash and frees its context. Returns false if `context` is NULL or libcrypto fails. */
bool digest_end(struct evp_md_ctx_st *context, uint8_t hash[DIGEST_SIZE]);

#endif /* NN_KIT_DIGEST_H */
