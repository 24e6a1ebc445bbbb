/* SPDX-License-Identifier: MIT */
/*
 * The engine's own cache: plans that workers made, kept in files of the engine's
 * under a key that is a hash of all that they were made of; and the entries of the
 * engine's own store. Bounded together by number and size, per user and in all; an
 * entry is whole or not there, whenever its maker died.
 */
#ifndef NN_ENGINE_BLOB_STORE_H
#define NN_ENGINE_BLOB_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/keeper/blob_check.h"
#include "engine/keeper/cache_index.h"

#define BLOB_FOLDER "plans"

/* Entries of a user, and in all. */
#define BLOB_PER_USER 64
#define BLOB_ALL 1024

struct blob_limits {
	uint64_t bytes;			/* of all entries; 0: nothing is kept */
	uint64_t bytes_per_user;
};

/* An entry. Its file is the data part, then the model part. */
struct blob {
	uint64_t model_size, data_size;
	uint8_t model_hash[DIGEST_SIZE];
	bool is_own;			/* of the engine's own store; see cache_index_open() */
};

struct blob_store;

/*
 * The rest of a get or a put, and its result. Its time grows with the entry's size, and it does
 * not use the store. blob_work_run() may be called on any thread, for one put at a time. Then
 * blob_store_end() returns the result.
 */
struct blob_work {
	bool done;			/* of a get: nothing is left */
	uint32_t uid;
	uint8_t key[DIGEST_SIZE];
	int64_t number;			/* of the entry's file */
	struct blob blob;
	uint8_t data_hash[DIGEST_SIZE];
	const void *bytes;		/* of a put; NULL: it is a get */
	int folder;
	int file;			/* of a get: open for reading; -1: no file */
	bool right;			/* it was written, or its checksum is right */
	bool in_flight;			/* of a put: the store counts it */
	struct blob_check *check;	/* NULL: it is a get or a put */
};

/*
 * Opens the store beside an index, which has to outlive it: drops entries whose
 * files are gone and files that belong to no entry. NULL, with a log line: it
 * cannot be used.
 */
struct blob_store *blob_store_open(struct cache_index *index, const char *folder,
				   const struct blob_limits *limits);
void blob_store_close(struct blob_store *store);

/* Returns the bytes that a user may keep. */
uint64_t blob_store_user_bytes(const struct blob_store *store);

/*
 * Removes the files of entries that a committed transaction (cache_index_begin()) removed. They
 * stay if it is rolled back.
 */
void blob_store_committed(struct blob_store *store);
void blob_store_rolled_back(struct blob_store *store);

/* Ends a put whose transaction was rolled back: no index names it. */
void blob_store_abandon(struct blob_store *store, struct blob_work *work);

/* Drops all entries of a user, or of all: CACHE_ALL_USERS, and counts them. */
bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count);

/*
 * Finds a user's entry: its file, which the caller closes, and its contents. Returns false if
 * there is no such entry. The data part's checksum is compared once while the store is open; if
 * that is still to be done, `work` does it.
 */
bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work);

/*
 * Returns whether an entry of these sizes could be put there. A plan must not be there yet; the
 * engine's own entry takes the place of an older one.
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
 * Ends a get or a put. Returns true if the entry is on the disk, or was right. Returns false, with
 * a log line, if it failed; a get's file is closed then.
 */
bool blob_store_end(struct blob_store *store, struct blob_work *work);

/*
 * Begins to look whether all is whole, and has a line of each fault written to a file. False, with
 * a log line: it cannot. blob_store_end_check() counts plans and faults in the end.
 */
bool blob_store_check(struct blob_store *store, int report, struct blob_work *work);
void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plans,
			  uint64_t *faults);

/* Removes a useless entry. Returns false if it may still be there, and true if there was no entry. */
bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE]);

#endif /* NN_ENGINE_BLOB_STORE_H */
