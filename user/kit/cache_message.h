/* SPDX-License-Identifier: MIT */
/*
 * What workers ask the keeper of the compilation cache, and its answers: packets
 * of one size each on a socket. A worker never says who its user is.
 */
#ifndef NN_KIT_CACHE_MESSAGE_H
#define NN_KIT_CACHE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/digest.h"

#define CACHE_TOKEN_SIZE 32

/* Bytes of a kept plan's model part, which workers copy, and granule of its data part. */
#define BLOB_MAX_MODEL (UINT64_C(64) << 20)
#define BLOB_PAGE 4096

enum cache_request_kind {
	CACHE_STORE = 1,	/* note `hash` for `token`, durably */
	CACHE_QUERY = 2,	/* is `hash` noted for `token`? */
	/* The engine's own cache, where `token` is the key of an entry. */
	CACHE_GET = 3,		/* the entry: its file comes with the answer */
	CACHE_NEW = 4,		/* memory to write an entry of these sizes to comes with it */
	CACHE_DONE = 5,		/* that memory is written, and unmapped */
	CACHE_DROP = 6,		/* the entry is of no use */
};

struct cache_request {
	uint32_t kind;			/* enum cache_request_kind */
	uint32_t serial;		/* comes back with the answer */
	uint8_t token[CACHE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];	/* STORE, QUERY; else 0 */
	uint64_t model_size;		/* NEW; else 0 */
	uint64_t data_size;		/* the same */
};

enum cache_verdict {
	CACHE_YES = 1,			/* stored; known */
	CACHE_NO = 2,			/* not known */
	CACHE_FAILED = 3,		/* the index or its disk */
	CACHE_LATER = 4,		/* too many stores of this user */
};

struct cache_answer {
	uint32_t verdict;		/* enum cache_verdict */
	uint32_t serial;		/* the request's */
	uint64_t model_size;		/* GET: what the file holds, behind the data part */
	uint64_t data_size;
	uint8_t hash[DIGEST_SIZE];	/* GET: of the model part */
};

/*
 * Checks `size` bytes that a worker sent and copies them. False: no request; its
 * sender is not worth listening to.
 */
bool cache_request_parse(const void *data, size_t size, struct cache_request *request);

#endif /* NN_KIT_CACHE_MESSAGE_H */
