/* SPDX-License-Identifier: MIT */
/*
 * The engine's own cache: plans that workers made, kept in files of the engine's
 * under a key that is a hash of all that they were made of. Bounded by number and
 * size, per user and in all; an entry is whole or not there, whenever its maker
 * died.
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
};

struct blob_store;

/*
 * What is left to do of a get or a put, and what comes of it. It takes as long as the
 * entry is large, and needs the store no more: blob_work_run() may be called on any
 * thread, at most one put's at a time; then blob_store_end() tells.
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
	int file;			/* of a get: open for reading; -1: there is none */
	bool right;			/* it was written, or is what it should be */
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

/* What a user may keep. */
uint64_t blob_store_user_bytes(const struct blob_store *store);

/*
 * Where the index was begun (cache_index_begin()), files of entries that are gone from it are
 * removed when it is committed, and stay where it was rolled back.
 */
void blob_store_committed(struct blob_store *store);
void blob_store_rolled_back(struct blob_store *store);

/* What was put, or was to be, and is in no index: it was rolled back. */
void blob_store_abandon(struct blob_store *store, struct blob_work *work);

/* Drops all entries of a user, or of all: CACHE_ALL_USERS, and counts them. */
bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count);

/*
 * A user's entry: its file, which is the caller's to close, and what is in it. False:
 * there is none. The data part's checksum is looked at once as long as the store is
 * open: where it was not yet, that is left to do.
 */
bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work);

/* Whether an entry of these sizes could be put there, and is not there yet. */
bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		      uint64_t model_size, uint64_t data_size);

/*
 * Begins to keep what lies in memory, data part first, until its end. The least recently
 * used entries of the user, or of all, make room. False, with a log line where the disk
 * or the index failed: there is none.
 */
bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    const void *bytes, uint64_t model_size, uint64_t data_size,
		    struct blob_work *work);

void blob_work_run(struct blob_work *work);

/*
 * True: an entry that is on the disk now, or was right. False: there is none, with a
 * log line; a get's file is closed.
 */
bool blob_store_end(struct blob_store *store, struct blob_work *work);

/*
 * Begins to look whether all is whole, and has a line of each fault written to a file. False, with
 * a log line: it cannot. blob_store_end_check() counts plans and faults in the end.
 */
bool blob_store_check(struct blob_store *store, int report, struct blob_work *work);
void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plans,
			  uint64_t *faults);

/* An entry turned out to be of no use. False: it may still be there; where there was none, true. */
bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE]);

#endif /* NN_ENGINE_BLOB_STORE_H */
