/* SPDX-License-Identifier: MIT */
/*
 * The engine's own cache: plans that workers made and entries of the engine's own store. A plan's
 * key is a hash of everything that it was made from. Number and size are limited for each user and
 * in total. An entry is either complete or absent, even if its writer crashed.
 */
#ifndef NN_ENGINE_BLOB_STORE_H
#define NN_ENGINE_BLOB_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/keeper/blob_check.h"
#include "engine/keeper/cache_index.h"

#define BLOB_FOLDER "plans"

/* Limits for the entries of a user, and for all entries. */
#define BLOB_PER_USER 64
#define BLOB_ALL 1024

struct blob_limits {
	uint64_t bytes;			/* bytes of all entries together; 0 if the cache is off */
	uint64_t bytes_per_user;
};

/* An entry. An entry's file has the data part, then the model part. */
struct blob {
	uint64_t model_size, data_size;
	uint8_t model_hash[DIGEST_SIZE];
	bool is_own;	/* the entry belongs to the engine's own store; see cache_index_open() */
};

struct blob_store;

/*
 * The part of a get or a put that is left to do, and its result. Its time grows with the entry's
 * size, and it does not use the store. blob_work_run() may be called on any thread, for one put at
 * a time. Then blob_store_end() returns the result.
 */
struct blob_work {
	bool done;			/* a get is finished, without further work */
	uint32_t uid;
	uint8_t key[DIGEST_SIZE];
	int64_t number;			/* number of the entry's file */
	struct blob blob;
	uint8_t data_hash[DIGEST_SIZE];
	const void *bytes;		/* bytes that a put writes; NULL for a get */
	int folder;
	int file;	/* file of a get, open for reading; -1 if there is no file */
	bool right;			/* the file was written, or its checksum is right */
	bool in_flight;			/* the store counts this put as running */
	struct blob_check *check;	/* the check, if this work is one; otherwise NULL */
};

/*
 * Opens the store of an index, which must outlive it. Removes entries without a file and files
 * without an entry. Returns NULL, with a log line, if the store cannot be used.
 */
struct blob_store *blob_store_open(struct cache_index *index, const char *folder,
				   const struct blob_limits *limits);
void blob_store_close(struct blob_store *store);

/* Returns the limit of a user's entries in bytes. */
uint64_t blob_store_user_bytes(const struct blob_store *store);

/*
 * Removes the files of entries that a committed transaction (cache_index_begin()) removed. They
 * stay if it is rolled back.
 */
void blob_store_committed(struct blob_store *store);
void blob_store_rolled_back(struct blob_store *store);

/* Ends a put whose transaction was rolled back, so that no index names its file. */
void blob_store_abandon(struct blob_store *store, struct blob_work *work);

/* Drops all entries of a user, or of all: CACHE_ALL_USERS, and counts them. */
bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count);

/*
 * Finds a user's entry: its file, which the caller closes, and its sizes. Returns false if there is
 * no such entry. The data part's checksum is compared once while the store is open; `work` does it
 * if it is not yet done.
 */
bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work);

/*
 * Returns whether an entry of these sizes can be stored under this key. A plan must not exist yet;
 * an entry of the engine's own store replaces the older one.
 */
bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		      const struct blob *blob);

/*
 * Begins to store the contents of a memory, data part first, of which `blob` has the sizes. The
 * least recently used entries of the user, or of all users, are removed to make room. Returns
 * false if it cannot be stored; if the disk or the index failed, a log line says so.
 */
bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    const void *bytes, const struct blob *blob, struct blob_work *work);

void blob_work_run(struct blob_work *work);

/*
 * Ends a get or a put. Returns true if a put's entry is on the disk, or a get's entry is valid.
 * Returns false, with a log line, if it failed; a get's file is closed then.
 */
bool blob_store_end(struct blob_store *store, struct blob_work *work);

/*
 * Begins to check all entries, and writes a line for each fault to a file. Returns false, with a
 * log line, if that is not possible. blob_store_end_check() counts plans and faults at the end.
 */
bool blob_store_check(struct blob_store *store, int report, struct blob_work *work);
void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plans,
			  uint64_t *faults);

/*
 * Removes a useless entry. Returns false if the entry may still exist, and true if it was missing.
 */
bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE]);

#endif /* NN_ENGINE_BLOB_STORE_H */
