/* SPDX-License-Identifier: MIT */
/*
 * The engine's own cache: plans that workers made and entries of the engine's own store. A plan's
 * key is a hash of all data from which the plan was made. Number and size of entries are limited
 * for each user and in total. An entry is either complete or absent, even after a crash.
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
	uint64_t bytes;	/* limit of bytes of all entries together; 0 turns the cache off */
	uint64_t bytes_per_user;
};

/* An entry of the cache; the entry's file contains the data part, then the model part. */
struct blob {
	uint64_t model_size, data_size;
	uint8_t model_hash[DIGEST_SIZE];
	/* true: the entry belongs to the engine's own store; see cache_index_open() */
	bool is_own;
};

struct blob_store;

/*
 * The slow part of a get, a put or a check of the store, and its result. The function
 * blob_work_run() does this work, in time proportional to the entry's size, without access to the
 * struct blob_store. Any thread may call blob_work_run(), with only one put at a time. After
 * blob_work_run(), blob_store_end() returns the result.
 */
struct blob_work {
	bool done;	/* true: blob_work_run() has nothing to do for this get */
	uint32_t uid;
	uint8_t key[DIGEST_SIZE];
	int64_t number;			/* number of the entry's file */
	struct blob blob;
	uint8_t data_hash[DIGEST_SIZE];
	const void *bytes;		/* bytes that a put writes; NULL for a get */
	int folder;
	int file;	/* file of a get, open for reading; -1 if there is no file */
	bool right;	/* true: the file was written, or the checksum of the file is right */
	bool in_flight;			/* true: in_flight of the store counts this put */
	/* the check, if this work is a check of all entries; else NULL */
	struct blob_check *check;
};

/*
 * Opens the store of an index; the caller must close the store before the index. Removes entries
 * without a file, and files without an entry. Returns NULL, with a log line, if the store cannot be
 * used.
 */
struct blob_store *blob_store_open(struct cache_index *index, const char *folder,
				   const struct blob_limits *limits);
void blob_store_close(struct blob_store *store);

uint64_t blob_store_user_bytes(const struct blob_store *store);

/*
 * End a transaction that cache_index_begin() has begun. After a commit, blob_store_committed()
 * deletes the files of removed entries. After a rollback, blob_store_rolled_back() keeps the files
 * of removed entries.
 */
void blob_store_committed(struct blob_store *store);
void blob_store_rolled_back(struct blob_store *store);

/* Ends a put whose transaction was rolled back; the index does not have the put's file. */
void blob_store_abandon(struct blob_store *store, struct blob_work *work);

/* Removes and counts all entries of a user, or of all users if `uid` is CACHE_ALL_USERS. */
bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count);

/*
 * Finds a user's entry. Sets *work to the entry's sizes and file, which the caller closes. Returns
 * false if the user has no entry with the key `key`. While the store is open, the checksum of an
 * entry's data part is verified once. If the checksum was not yet verified, `work` verifies the
 * checksum.
 */
bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work);

/*
 * Returns whether an entry that is as large as `blob` can be stored under `key`. A plan that exists
 * cannot be stored again; an entry of the engine's own store replaces an older entry.
 */
bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		      const struct blob *blob);

/*
 * Begins to store an entry whose data part and model part follow each other at `bytes`; `blob` has
 * their sizes. To make room, removes the least recently used entries of the user, or of all users.
 * Returns false if the entry cannot be stored, with a log line if the disk or the index failed.
 */
bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    const void *bytes, const struct blob *blob, struct blob_work *work);

void blob_work_run(struct blob_work *work);

/*
 * Ends the work that blob_store_get() or blob_store_put() began. Returns true if a put's entry is
 * on the disk, or a get's entry is valid. On failure closes a get's file and returns false, with a
 * log line.
 */
bool blob_store_end(struct blob_store *store, struct blob_work *work);

/*
 * Begins to check all entries; `work` writes a line for each fault to the file `report`. Returns
 * false, with a log line, on failure. At the end of the check, blob_store_end_check() counts plans
 * and faults.
 */
bool blob_store_check(struct blob_store *store, int report, struct blob_work *work);
void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plans,
			  uint64_t *faults);

/*
 * Removes a user's entry. Returns true if the entry does not exist any more, and false if the entry
 * may still exist.
 */
bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE]);

#endif /* NN_ENGINE_BLOB_STORE_H */
