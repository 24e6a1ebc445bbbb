// SPDX-License-Identifier: MIT
/*
 * The engine's own cache. A new entry's file gets a name that no file had before, and is on the
 * disk before the index names the file. To remove an entry, the store deletes the index's row
 * before the file. Only the thread that owns the store changes the index; another thread may hash
 * and write files at the same time. Files that the index does not name are removed when the store
 * is opened.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write.h"
#include "engine/keeper/blob_store.h"
#include "kit/api/log.h"
#include "kit/cache/keeper_message.h"

/*
 * Maximum number of cache entries that the store remembers as verified. An entry that the store has
 * forgotten is verified again at its next use.
 */
#define MAX_VERIFIED 256

struct blob_store {
	struct cache_index *index;
	int folder;
	struct blob_limits limits;
	int64_t verified[MAX_VERIFIED];
	unsigned int next_verified;	/* number of entries put in `verified` so far */
	int64_t *removed;		/* files of removed entries, to be deleted */
	size_t num_removed, removed_room;
	uint64_t in_flight;		/* number of puts in progress */
	int64_t last_file;		/* highest number that a file has had */
};

struct row {
	int64_t file;
	struct blob blob;
	uint8_t data_hash[DIGEST_SIZE];
};

/* ---- the index's part ---- */

/*
 * Prepares a statement and binds `number`, `hash` and `other` as the statement's first three
 * values.
 */
static sqlite3_stmt *prepare(struct blob_store *store, const char *sql, int64_t number,
			     const uint8_t *hash, int64_t other)
{
	sqlite3 *db = cache_index_db(store->index);
	sqlite3_stmt *s = NULL;
	int error = db ? sqlite3_prepare_v2(db, sql, -1, &s, NULL) : SQLITE_OK;

	if (!s) {
		if (error)
			cache_index_failed(store->index, error);
		return NULL;
	}
	sqlite3_bind_int64(s, 1, number);
	if (hash)
		sqlite3_bind_blob(s, 2, hash, DIGEST_SIZE, SQLITE_TRANSIENT);
	sqlite3_bind_int64(s, 3, other);
	return s;
}

/* Runs a statement to its end and frees it. */
static bool finish(struct blob_store *store, sqlite3_stmt *s)
{
	int error;

	if (!s)
		return false;
	do {
		error = sqlite3_step(s);
	} while (error == SQLITE_ROW);
	sqlite3_finalize(s);
	if (error == SQLITE_DONE)
		return true;
	cache_index_failed(store->index, error);
	return false;
}

/*
 * Reads the numbers of a statement's first row, and frees the statement. Returns false if the
 * statement yields no row.
 */
static bool first_row(struct blob_store *store, sqlite3_stmt *s, int64_t *row, int columns)
{
	int error = s ? sqlite3_step(s) : SQLITE_DONE;

	for (int i = 0; error == SQLITE_ROW && i < columns; i++)
		row[i] = sqlite3_column_int64(s, i);
	sqlite3_finalize(s);
	if (error != SQLITE_ROW && error != SQLITE_DONE)
		cache_index_failed(store->index, error);
	return error == SQLITE_ROW;
}

/* Returns the number that a query yields, or -1 if the query yields no row. */
static int64_t ask(struct blob_store *store, const char *sql, int64_t number)
{
	int64_t answer;

	return first_row(store, prepare(store, sql, number, NULL, 0), &answer, 1) ? answer : -1;
}

static bool copy_hash(uint8_t to[DIGEST_SIZE], sqlite3_stmt *s, int column)
{
	if (sqlite3_column_bytes(s, column) != DIGEST_SIZE)
		return false;
	memcpy(to, sqlite3_column_blob(s, column), DIGEST_SIZE);
	return true;
}

static bool find(struct blob_store *store, uint32_t uid, const uint8_t *key, struct row *row)
{
	sqlite3_stmt *s = prepare(store, "SELECT file, model_size, data_size, model_hash, "
				  "data_hash FROM usable WHERE uid = ?1 AND key = ?2", uid,
				  key, 0);
	int error = s ? sqlite3_step(s) : SQLITE_DONE;
	bool found = false;

	if (error == SQLITE_ROW) {
		row->file = sqlite3_column_int64(s, 0);
		row->blob.model_size = (uint64_t)sqlite3_column_int64(s, 1);
		row->blob.data_size = (uint64_t)sqlite3_column_int64(s, 2);
		found = copy_hash(row->blob.model_hash, s, 3) && copy_hash(row->data_hash, s, 4);
	}
	sqlite3_finalize(s);
	if (error != SQLITE_ROW && error != SQLITE_DONE)
		cache_index_failed(store->index, error);
	return found;
}

static bool forget(struct blob_store *store, int64_t file)
{
	return finish(store, prepare(store, "DELETE FROM plan WHERE file = ?1", file, NULL, 0));
}

/* ---- files ---- */

static void file_name(char name[24], int64_t file)
{
	snprintf(name, 24, "%" PRId64, file);
}

static void remove_file(struct blob_store *store, int64_t file)
{
	char name[24];

	file_name(name, file);
	unlinkat(store->folder, name, 0);
}

/*
 * Marks a file for deletion after the commit of the index's transaction. If memory runs out, the
 * file stays, without an entry, until the store is opened again.
 */
static void remove_later(struct blob_store *store, int64_t file)
{
	int64_t *removed;
	size_t room;

	if (store->num_removed == store->removed_room) {
		room = store->removed_room ? 2 * store->removed_room : 64;
		removed = realloc(store->removed, room * sizeof(*removed));
		if (!removed)
			return;
		store->removed = removed;
		store->removed_room = room;
	}
	store->removed[store->num_removed++] = file;
}

void blob_store_committed(struct blob_store *store)
{
	for (size_t i = 0; i < store->num_removed; i++)
		remove_file(store, store->removed[i]);
	store->num_removed = 0;
}

void blob_store_rolled_back(struct blob_store *store)
{
	store->num_removed = 0;
}

static int open_file(struct blob_store *store, int64_t file, const struct blob *blob)
{
	struct stat st;
	char name[24];
	int fd;

	file_name(name, file);
	fd = openat(store->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && blob->model_size <= (uint64_t)st.st_size &&
	    (uint64_t)st.st_size - blob->model_size == blob->data_size)
		return fd;
	close(fd);
	return -1;
}

/* Writes a file, usually in one call, and syncs the file and its folder to the disk. */
static bool write_file(int folder, int64_t file, const char *bytes, uint64_t size)
{
	char name[24];
	bool written;
	int fd;

	file_name(name, file);
	/*
	 * Delete an existing file instead of overwriting the file, because another process may have
	 * mapped the file.
	 */
	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	written = write_at(fd, bytes, size, 0) && !fsync(fd);
	close(fd);
	return written && !fsync(folder);
}

/* Returns whether the index has a file called `name`. */
static bool is_known(struct blob_store *store, const char *name)
{
	char *end, same[24];
	long long file = strtoll(name, &end, 10);

	file_name(same, file);
	return !*end && !strcmp(name, same) &&
	       ask(store, "SELECT count(*) FROM plan WHERE file = ?1", file) != 0;
}

/* Removes files that a killed process left behind. */
static void sweep(struct blob_store *store)
{
	int fd = dup(store->folder);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return;
	}
	rewinddir(folder);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] != '.' && !is_known(store, entry->d_name))
			unlinkat(store->folder, entry->d_name, 0);
	}
	closedir(folder);
}

struct blob_store *blob_store_open(struct cache_index *index, const char *folder,
				   const struct blob_limits *limits)
{
	struct blob_store *store = calloc(1, sizeof(*store));
	char path[PATH_MAX];

	if (!store)
		return NULL;
	store->index = index;
	store->limits = *limits;
	store->folder = -1;
	if (snprintf(path, sizeof(path), "%s/" BLOB_FOLDER, folder) < (int)sizeof(path) &&
	    (!mkdir(path, 0700) || errno == EEXIST))
		store->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (store->folder < 0) {
		log_error("%s: no plans are cached: %s", path, strerror(errno));
		free(store);
		return NULL;
	}
	sweep(store);
	return store;
}

void blob_store_close(struct blob_store *store)
{
	if (!store)
		return;
	close(store->folder);
	free(store->removed);
	free(store);
}

uint64_t blob_store_user_bytes(const struct blob_store *store)
{
	return store->limits.bytes_per_user;
}

/* ---- entries ---- */

static bool was_verified(const struct blob_store *store, int64_t file)
{
	for (unsigned int i = 0; i < MAX_VERIFIED; i++)
		if (store->verified[i] == file)
			return file;
	return false;
}

static void verify(struct blob_work *work)
{
	uint8_t hash[DIGEST_SIZE];

	work->right = digest_file(work->file, 0, work->blob.data_size, hash) &&
		      !memcmp(hash, work->data_hash, sizeof(hash));
}

/*
 * Hashes an entry and writes the entry's file. The function blob_store_end() writes the hashes to
 * the index.
 */
static void write_entry(struct blob_work *work)
{
	const struct blob *blob = &work->blob;
	const char *model = (const char *)work->bytes + blob->data_size;

	work->right = digest(work->bytes, blob->data_size, work->data_hash) &&
		      digest(model, blob->model_size, work->blob.model_hash) &&
		      write_file(work->folder, work->number, work->bytes,
				 blob->model_size + blob->data_size);
	if (!work->right)
		log_warning("a plan is not cached: %s", strerror(errno));
}

void blob_work_run(struct blob_work *work)
{
	if (work->check)
		blob_check_run(work->check);
	else if (work->bytes)
		write_entry(work);
	else
		verify(work);
}

/* Deletes the files of removed entries, unless the caller has begun a transaction. */
static void end_change(struct blob_store *store)
{
	sqlite3 *db = cache_index_db(store->index);

	if (db && sqlite3_get_autocommit(db))
		blob_store_committed(store);
}

static void drop(struct blob_store *store, int64_t file)
{
	if (!forget(store, file))
		return;
	remove_later(store, file);
	end_change(store);
}

bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work)
{
	struct row row;

	if (!find(store, uid, key, &row))
		return false;
	*work = (struct blob_work){
		.uid = uid,
		.number = row.file,
		.blob = row.blob,
		.file = open_file(store, row.file, &row.blob),
		.right = was_verified(store, row.file),
	};
	memcpy(work->key, key, sizeof(work->key));
	memcpy(work->data_hash, row.data_hash, sizeof(work->data_hash));
	work->done = work->right || work->file < 0;
	return !work->done || blob_store_end(store, work);
}

bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		      const struct blob *blob)
{
	const uint64_t model_size = blob->model_size, data_size = blob->data_size;
	struct row row;

	return model_size && model_size <= BLOB_MAX_MODEL && data_size % BLOB_PAGE == 0 &&
	       data_size <= store->limits.bytes && data_size <= store->limits.bytes_per_user &&
	       model_size <= store->limits.bytes - data_size &&
	       model_size <= store->limits.bytes_per_user - data_size &&
	       (blob->is_own ? cache_index_identity(store->index)[0] :
		cache_index_is_current(store->index) && !find(store, uid, key, &row));
}

/*
 * SQL conditions for adding an entry: OF_USER selects the entries of the user who adds the entry,
 * and OF_ALL selects the entries of all users. The entry that the new entry replaces is not
 * selected.
 */
#define OF_USER "FROM plan WHERE uid = ?1 AND key <> ?2"
#define OF_ALL "FROM plan WHERE uid <> ?1 OR key <> ?2"
#define SUMS "SELECT count(*), coalesce(sum(model_size + data_size), 0) "
#define FIRST(entries) "SELECT file, model_size + data_size " entries " ORDER BY used LIMIT 1"

/*
 * Removes the least recently used entries of the user, or of all users, until the remaining entries
 * and the new entry are within the limits of number and size. Reads the number and the sizes of
 * entries from the index only once.
 */
static bool make_room(struct blob_store *store, const struct blob_work *work, bool of_all)
{
	const char *sums = of_all ? SUMS OF_ALL : SUMS OF_USER;
	const char *first = of_all ? FIRST(OF_ALL) : FIRST(OF_USER);
	const uint64_t size = work->blob.model_size + work->blob.data_size;
	const uint64_t max_bytes = of_all ? store->limits.bytes : store->limits.bytes_per_user;
	const int64_t max_entries = of_all ? BLOB_ALL : BLOB_PER_USER;
	int64_t sum[2], entry[2];

	if (!first_row(store, prepare(store, sums, work->uid, work->key, 0), sum, 2))
		return false;
	for (; sum[0] >= max_entries || (uint64_t)sum[1] + size > max_bytes; sum[0]--) {
		if (!first_row(store, prepare(store, first, work->uid, work->key, 0), entry, 2) ||
		    !forget(store, entry[0]))
			return false;
		remove_later(store, entry[0]);
		sum[1] -= entry[1];
	}
	return true;
}

/*
 * Returns a number that no file ever had. The index records the number before the file is made, so
 * that no other keeper uses the number. A new index numbers its files from 1, but running puts and
 * `verified` may still have numbers of the old index, so next_file() skips numbers up to
 * `last_file`.
 */
static int64_t next_file(struct blob_store *store)
{
	int64_t file = ask(store, "UPDATE meta SET value = max(CAST(value AS INTEGER), ?1) + 1 "
			   "WHERE key = 'next_file' RETURNING CAST(value AS INTEGER)",
			   store->last_file);

	if (file > store->last_file)
		store->last_file = file;
	return file;
}

/*
 * Makes room for a put and returns the number of the put's file, or -1. Uses the transaction that
 * the caller has begun, or else a new transaction.
 */
static int64_t make_room_and_name(struct blob_store *store, const struct blob_work *work)
{
	sqlite3 *db = cache_index_db(store->index);
	bool own = db && sqlite3_get_autocommit(db);
	int64_t file = -1;

	if (own && !cache_index_begin(store->index))
		return -1;
	if (make_room(store, work, false) && make_room(store, work, true))
		file = next_file(store);
	if (own && !cache_index_commit(store->index)) {
		blob_store_rolled_back(store);
		return -1;
	}
	end_change(store);
	return file;
}

/*
 * Adds an entry, unless the index changed after the file got its number. A changed index may belong
 * to another engine, or may be a new index in which the file's number is not reserved. Makes room
 * again, because other workers may have added entries while the file was written. A key that
 * another worker of the user has already added is not an error, because an error would roll back
 * the whole transaction. An entry of the engine's own store replaces an older entry of the same
 * key.
 */
static bool publish(struct blob_store *store, const struct blob_work *work)
{
	sqlite3_stmt *s;

	if (work->blob.is_own && !blob_store_drop(store, work->uid, work->key))
		return false;
	s = prepare(store, "INSERT OR IGNORE INTO plan (uid, key, file, model_size, data_size, "
		    "model_hash, data_hash, used, identity) "
		    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM meta "
		    "WHERE key = 'next_file' AND CAST(value AS INTEGER) >= ?3 "
		    "AND (?9 IS NOT NULL OR EXISTS (SELECT 1 FROM current))",
		    work->uid, work->key, work->number);
	if (!s)
		return false;
	if (work->blob.is_own)
		sqlite3_bind_text(s, 9, cache_index_identity(store->index), -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, (int64_t)work->blob.model_size);
	sqlite3_bind_int64(s, 5, (int64_t)work->blob.data_size);
	sqlite3_bind_blob(s, 6, work->blob.model_hash, DIGEST_SIZE, SQLITE_STATIC);
	sqlite3_bind_blob(s, 7, work->data_hash, DIGEST_SIZE, SQLITE_STATIC);
	sqlite3_bind_int64(s, 8, cache_index_tick(store->index));
	return finish(store, s) && sqlite3_changes(cache_index_db(store->index)) == 1 &&
	       make_room(store, work, false) && make_room(store, work, true);
}

bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    const void *bytes, const struct blob *blob, struct blob_work *work)
{
	*work = (struct blob_work){
		.uid = uid,
		.blob = *blob,
		.bytes = bytes,
		.folder = store->folder,
		.file = -1,
	};
	memcpy(work->key, key, sizeof(work->key));
	work->number = make_room_and_name(store, work);
	work->in_flight = work->number >= 0;
	store->in_flight += work->in_flight;
	return work->in_flight;
}

static void land(struct blob_store *store, struct blob_work *work)
{
	store->in_flight -= work->in_flight;
	work->in_flight = false;
}

static bool end_put(struct blob_store *store, struct blob_work *work)
{
	land(store, work);
	if (work->right && publish(store, work)) {
		end_change(store);
		return true;
	}
	remove_file(store, work->number);
	return false;
}

static bool end_get(struct blob_store *store, struct blob_work *work)
{
	if (work->file >= 0 && work->right) {
		if (!was_verified(store, work->number))
			store->verified[store->next_verified++ % MAX_VERIFIED] = work->number;
		cache_index_used(store->index, work->number);
		return true;
	}
	log_warning("a cached plan of uid %u is damaged: dropped", work->uid);
	if (work->file >= 0)
		close(work->file);
	drop(store, work->number);
	return false;
}

bool blob_store_end(struct blob_store *store, struct blob_work *work)
{
	return work->bytes ? end_put(store, work) : end_get(store, work);
}

void blob_store_abandon(struct blob_store *store, struct blob_work *work)
{
	land(store, work);
	remove_file(store, work->number);
}

/* Runs a statement that deletes entries and yields their files, and counts the deleted entries. */
static bool delete_entries(struct blob_store *store, sqlite3_stmt *s, uint64_t *count)
{
	size_t num_removed = store->num_removed;
	int error;

	*count = 0;
	if (!s)
		return false;
	while ((error = sqlite3_step(s)) == SQLITE_ROW) {
		remove_later(store, sqlite3_column_int64(s, 0));
		++*count;
	}
	sqlite3_finalize(s);
	if (error == SQLITE_DONE) {
		end_change(store);
		return true;
	}
	store->num_removed = num_removed;
	cache_index_failed(store->index, error);
	return false;
}

bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count)
{
	const char *sql = uid == CACHE_ALL_USERS ? "DELETE FROM plan RETURNING file" :
			  "DELETE FROM plan WHERE uid = ?1 RETURNING file";

	return delete_entries(store, prepare(store, sql, (int64_t)uid, NULL, 0), count);
}

bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE])
{
	uint64_t count;

	return delete_entries(store, prepare(store, "DELETE FROM plan WHERE uid = ?1 AND "
					     "key = ?2 RETURNING file", uid, key, 0), &count);
}

bool blob_store_check(struct blob_store *store, int report, struct blob_work *work)
{
	*work = (struct blob_work){
		.file = -1,
		.check = blob_check_begin(store->index, store->folder, report),
	};
	return work->check;
}

void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plans,
			  uint64_t *faults)
{
	/*
	 * If a transaction removes entries, the entries' files are deleted only after the commit.
	 */
	blob_check_end(work->check, store->index, store->in_flight + store->num_removed, plans,
		       faults);
	work->check = NULL;
}
