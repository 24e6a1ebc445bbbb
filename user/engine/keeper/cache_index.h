/* SPDX-License-Identifier: MIT */
/*
 * The index of the compilation cache: which hashes were recorded for which token of which user. The
 * index is a database of SQLite on the disk. If the index is full, a new row replaces the least
 * recently used row.
 */
#ifndef NN_ENGINE_CACHE_INDEX_H
#define NN_ENGINE_CACHE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/cache/message.h"

/* Limits for the hashes of a token, of a user, and of all users. */
#define CACHE_INDEX_PER_TOKEN 8
#define CACHE_INDEX_PER_USER 4096
#define CACHE_INDEX_ALL 65536

#define CACHE_INDEX_FILE "index.db"

struct cache_index;

/*
 * Opens or makes the index in an existing folder. `version` describes everything on which hashes
 * and plans depend. If the index was written for another version, logs a line and removes all
 * hashes and plans. `identity` describes what the entries of the engine's own store depend on;
 * `identity` is "" if the engine has no store. Entries whose recorded identity is not `identity`
 * are removed. A damaged index is renamed and replaced, with a log line. Returns NULL, with a log
 * line, if the folder cannot be used.
 */
struct cache_index *cache_index_open(const char *folder, const char *version,
				     const char *identity);
void cache_index_close(struct cache_index *index);

/*
 * Calls between cache_index_begin() and cache_index_commit() form a batch, which is one
 * transaction. If the transaction was rolled back, cache_index_commit() logs a line and returns
 * false.
 */
bool cache_index_begin(struct cache_index *index);
bool cache_index_commit(struct cache_index *index);

/*
 * Returns whether an error has rolled back the transaction of the present batch. After an error in
 * a batch, calls do nothing until cache_index_commit().
 */
bool cache_index_batch_failed(const struct cache_index *index);

/* Removes and counts the hashes of a user, or of all users if `uid` is CACHE_ALL_USERS. */
bool cache_index_clear(struct cache_index *index, uint64_t uid, uint64_t *count);

/* Writes each user's totals in the format of keeper_message.h, and counts the users. */
bool cache_index_report(struct cache_index *index, int file, uint64_t *count);

/*
 * Stores a hash. Returns CACHE_YES if the hash is on the disk, or CACHE_FAILED with a log line. If
 * the new hash exceeds a limit, removes the least recently used hashes of the token, of the user or
 * of all users.
 */
enum message_kind cache_index_store(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE]);

/*
 * Returns CACHE_YES if the hash is stored for the token, or CACHE_NO or CACHE_FAILED. The hash's
 * time of use is written to the disk later.
 */
enum message_kind cache_index_query(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE]);

/*
 * Writes the times of use that are not on the disk yet. The keeper calls cache_index_flush() when
 * the keeper is idle.
 */
void cache_index_flush(struct cache_index *index);

/*
 * Returns the database, which the store of plans shares with the index. Returns NULL if there is no
 * database, or if a statement of the current transaction failed. SQLite rolls a failed transaction
 * back, and no statement may run before cache_index_commit().
 */
struct sqlite3;
struct sqlite3 *cache_index_db(struct cache_index *index);

/*
 * Returns whether the index still belongs to this engine's version. A newer engine may have emptied
 * the index while workers of this engine still run.
 */
bool cache_index_is_current(struct cache_index *index);

/* Returns the identity of the engine's own store, or "". */
const char *cache_index_identity(const struct cache_index *index);

/* Returns the next number of a counter, which serves as the time of use. */
int64_t cache_index_tick(struct cache_index *index);

/*
 * Records that the plan in file `file` was used. The plan's time of use is written to the disk
 * later.
 */
void cache_index_used(struct cache_index *index, int64_t file);

/*
 * Logs an error of the database. If the error shows that the database is damaged, replaces the
 * database. Returns CACHE_FAILED.
 */
enum message_kind cache_index_failed(struct cache_index *index, int error);

#endif /* NN_ENGINE_CACHE_INDEX_H */
