// SPDX-License-Identifier: MIT
/*
 * The index of the compilation cache, in SQLite.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/write.h"
#include "engine/keeper/cache_index.h"
#include "kit/api/log.h"
#include "kit/cache/keeper_message.h"

/*
 * Number of times of use that the index keeps in memory before it writes them to the disk.
 */
#define MAX_USES 64

/*
 * Maximum number of hashes that are remembered as stored until another connection changes the
 * database.
 */
#define MAX_KNOWN 64

/*
 * Minimum time between two checks for changes by another connection, because SQLite locks the file
 * during a check. Between two checks, the keeper may report a hash as stored although another
 * connection has removed it. The wrong report is harmless, because this engine did store the hash.
 */
#define ASK_AGAIN_NS UINT64_C(1000000000)

/* Maximum wait for a lock of the database that another process holds, such as an ending keeper. */
#define BUSY_MS 2000

enum statement {
	BEGIN,
	COMMIT,
	ROLLBACK,
	CURRENT,
	INSERT,
	TRIM_TOKEN,
	TRIM_USER,
	OLDEST,
	FIND_ANY,
	DATA_VERSION,
	FIND,
	TOUCH,
	TOUCH_PLAN,
	STATEMENTS
};

static const char *const sql[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[CURRENT] = "SELECT 1 FROM current",
	[INSERT] = "INSERT OR REPLACE INTO hash (uid, token, hash, used) VALUES (?1, ?2, ?3, ?4)",
	[TRIM_TOKEN] = "DELETE FROM hash WHERE uid = ?1 AND token = ?2 AND hash IN "
		       "(SELECT hash FROM hash WHERE uid = ?1 AND token = ?2 "
		       "ORDER BY used DESC LIMIT -1 OFFSET ?5)",
	[TRIM_USER] = ("DELETE FROM hash WHERE uid = ?1 AND used IN (SELECT used FROM hash "
		       "WHERE uid = ?1 ORDER BY used LIMIT ?5)"),
	[OLDEST] = "DELETE FROM hash WHERE used = (SELECT min(used) FROM hash) RETURNING uid",
	[FIND_ANY] = "SELECT 1 FROM hash WHERE uid = ?1 AND token = ?2 AND hash = ?3",
	[DATA_VERSION] = "PRAGMA data_version",
	[FIND] = "SELECT 1 FROM hash, current WHERE uid = ?1 AND token = ?2 AND hash = ?3",
	[TOUCH] = "UPDATE hash SET used = ?4 WHERE uid = ?1 AND token = ?2 AND hash = ?3",
	[TOUCH_PLAN] = "UPDATE plan SET used = ?4 WHERE file = ?5",
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS hash (uid INTEGER NOT NULL, token BLOB NOT NULL,"
	" hash BLOB NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (uid, token, hash)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS hash_by_user ON hash (uid, used);"
	"CREATE INDEX IF NOT EXISTS hash_by_use ON hash (used);"
	"CREATE TABLE IF NOT EXISTS plan (uid INTEGER NOT NULL, key BLOB NOT NULL,"
	" file INTEGER NOT NULL UNIQUE, model_size INTEGER NOT NULL, data_size INTEGER NOT NULL,"
	" model_hash BLOB NOT NULL, data_hash BLOB NOT NULL, used INTEGER NOT NULL,"
	" identity TEXT, PRIMARY KEY (uid, key)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS plan_by_user ON plan (uid, used);"
	"INSERT OR IGNORE INTO meta VALUES ('next_file', '0');";

/*
 * A row of the index, and the time of its last use: the value of a counter that each use
 * increments.
 */
struct use {
	uint32_t uid;
	uint8_t token[CACHE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
	int64_t used;
	/*
	 * File number of a plan; 0 for a row of the table `hash`. A plan has neither token nor
	 * hash.
	 */
	int64_t file;
};

struct user_count {
	uint32_t uid;
	int64_t count;
};

struct cache_index {
	char path[PATH_MAX];
	char *version, *identity;
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	int64_t last_use;
	struct use uses[MAX_USES];
	unsigned int num_uses;
	bool in_batch;			/* true: the caller has begun a transaction */
	/*
	 * true: the caller's transaction was rolled back; calls do nothing until
	 * cache_index_commit()
	 */
	bool batch_failed;
	struct user_count *counts;
	size_t num_counts, count_room;
	int64_t total;			/* sum of the counts of all users */
	bool counted;	/* true: rows were counted when data_version was `counted_at` */
	int64_t counted_at;		/* data_version when the rows were counted last */
	int64_t known_at;		/* data_version for which `known` is valid */
	uint64_t asked_ns;		/* time of the last read of data_version */
	struct use known[MAX_KNOWN];
	unsigned int num_known;
};

static void disconnect(struct cache_index *index)
{
	for (int i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(index->statements[i]);
		index->statements[i] = NULL;
	}
	sqlite3_close(index->db);
	index->db = NULL;
	index->num_uses = 0;
	index->num_known = 0;
	index->counted = false;
}

/*
 * Runs a query that yields one number or text. Sets *answer to the number or text, or to NULL if
 * the query yields no row. Returns SQLITE_OK or an error.
 */
static int ask(sqlite3 *db, const char *query, char **answer)
{
	sqlite3_stmt *statement = NULL;
	int error = sqlite3_prepare_v2(db, query, -1, &statement, NULL);

	*answer = NULL;
	if (!error && sqlite3_step(statement) == SQLITE_ROW &&
	    sqlite3_column_text(statement, 0)) {
		*answer = strdup((const char *)sqlite3_column_text(statement, 0));
		error = *answer ? SQLITE_OK : SQLITE_NOMEM;
		sqlite3_finalize(statement);
		return error;
	}
	/* sqlite3_finalize() returns the error of sqlite3_step(). */
	return error ? error : sqlite3_finalize(statement);
}

/*
 * Sets *same to true if a query yields `expected`. Returns SQLITE_OK, or an error; after an error,
 * the value of *same is not valid.
 */
static int answers(sqlite3 *db, const char *query, const char *expected, bool *same)
{
	char *answer;
	int error = ask(db, query, &answer);

	*same = answer && !strcmp(answer, expected);
	free(answer);
	return error;
}

/*
 * Adds the column `identity` to an index of an older build. The column `identity` is NULL in rows
 * of plans.
 */
static int add_identity(sqlite3 *db)
{
	bool is_there;
	int error = answers(db, "SELECT count(*) FROM pragma_table_info('plan') WHERE name = "
			    "'identity'", "1", &is_there);

	if (error || is_there)
		return error;
	return sqlite3_exec(db, "ALTER TABLE plan ADD COLUMN identity TEXT", NULL, NULL, NULL);
}

/* Runs a statement in which `value` replaces %Q. Returns SQLITE_OK or an error. */
static int run_text(struct cache_index *index, const char *format, const char *value)
{
	char *text = sqlite3_mprintf(format, value);
	int error = text ? sqlite3_exec(index->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return error;
}

/* Deletes hashes and plans of another version, and entries of another identity. */
static int reset(struct cache_index *index)
{
	bool same, empty;
	int error;

	error = run_text(index, "DELETE FROM plan WHERE identity <> %Q", index->identity);
	if (error)
		return error;
	error = answers(index->db, "SELECT value FROM meta WHERE key = 'version'", index->version,
			&same);
	if (error || same)
		return error;
	error = answers(index->db,
			"SELECT (SELECT count(*) FROM hash) + "
			"(SELECT count(*) FROM plan WHERE identity IS NULL)", "0", &empty);
	if (error)
		return error;
	if (!empty)
		log_info("the compilation cache is emptied: it was made by another engine");
	return run_text(index, "BEGIN IMMEDIATE; DELETE FROM hash;"
			"DELETE FROM plan WHERE identity IS NULL;"
			"INSERT OR REPLACE INTO meta VALUES ('version', %Q); COMMIT",
			index->version);
}

/*
 * Makes two temporary views: `current` has one row while the index has this engine's version, and
 * `usable` has the rows of `plan` that this engine may use.
 */
static int make_views(struct cache_index *index)
{
	int error = run_text(index, "PRAGMA temp_store = MEMORY; CREATE TEMP VIEW current AS "
			     "SELECT 1 FROM meta WHERE key = 'version' AND value = %Q",
			     index->version);

	if (error)
		return error;
	return run_text(index, "CREATE TEMP VIEW usable AS SELECT * FROM plan WHERE identity = %Q "
			"OR (identity IS NULL AND EXISTS (SELECT 1 FROM current))",
			index->identity);
}

/*
 * Checks the database: returns SQLITE_OK, SQLITE_CORRUPT or another error. If SQLite's check could
 * not read a page, the text that the check yields contains the error code. I/O errors do not count
 * as damage, except SQLITE_IOERR_CORRUPTFS.
 */
static int check(sqlite3 *db)
{
	static const char unread[] = "error code=";
	const char *code;
	char *answer;
	int error = ask(db, "PRAGMA quick_check(1)", &answer);

	if (!error && (!answer || strcmp(answer, "ok"))) {
		code = answer ? strstr(answer, unread) : NULL;
		error = code ? atoi(code + strlen(unread)) : SQLITE_CORRUPT;
		if ((error & 0xff) != SQLITE_IOERR || error == SQLITE_IOERR_CORRUPTFS)
			error = SQLITE_CORRUPT;
	}
	free(answer);
	return error;
}

/*
 * Opens the database with a rollback journal and synchronous writes, which work on any file system.
 */
static int connect(struct cache_index *index)
{
	char *last;
	int error = sqlite3_open_v2(index->path, &index->db,
				    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (!error) {
		sqlite3_busy_timeout(index->db, BUSY_MS);
		error = sqlite3_exec(index->db, "PRAGMA journal_mode = TRUNCATE;"
				     "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF",
				     NULL, NULL, NULL);
	}
	if (!error)
		error = check(index->db);
	if (!error)
		error = sqlite3_exec(index->db, schema, NULL, NULL, NULL);
	if (!error)
		error = add_identity(index->db);
	if (!error)
		error = reset(index);
	if (!error)
		error = make_views(index);
	for (int i = 0; !error && i < STATEMENTS; i++)
		error = sqlite3_prepare_v3(index->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
					   &index->statements[i], NULL);
	if (!error)
		error = ask(index->db, "SELECT max((SELECT coalesce(max(used), 0) FROM hash), "
			    "(SELECT coalesce(max(used), 0) FROM plan))", &last);
	if (error)
		return error;
	index->last_use = last ? strtoll(last, NULL, 10) : 0;
	free(last);
	return SQLITE_OK;
}

static bool is_damaged(int error)
{
	/*
	 * SQLite reports SQLITE_ERROR for a database of another program, because the tables differ.
	 */
	return (error & 0xff) == SQLITE_CORRUPT || (error & 0xff) == SQLITE_NOTADB ||
	       (error & 0xff) == SQLITE_ERROR;
}

/* Renames the damaged index and makes a new index; returns false on failure. */
static bool replace(struct cache_index *index)
{
	char aside[PATH_MAX + 16], journal[PATH_MAX + 16];
	int error;

	disconnect(index);
	snprintf(aside, sizeof(aside), "%s.damaged", index->path);
	snprintf(journal, sizeof(journal), "%s-journal", index->path);
	if (rename(index->path, aside) && remove(index->path) && errno != ENOENT) {
		log_error("%s: damaged, and cannot be put aside: %s", index->path,
			  strerror(errno));
		return false;
	}
	remove(journal);
	error = connect(index);
	if (!error) {
		log_warning("%s: damaged: renamed, and a new index is begun", index->path);
		return true;
	}
	log_error("%s: damaged, and cannot be replaced: %s", index->path, sqlite3_errstr(error));
	disconnect(index);
	return false;
}

struct cache_index *cache_index_open(const char *folder, const char *version,
				     const char *identity)
{
	struct cache_index *index = calloc(1, sizeof(*index));
	int error;

	if (index) {
		index->version = strdup(version);
		index->identity = strdup(identity);
	}
	if (!index || !index->version || !index->identity ||
	    snprintf(index->path, sizeof(index->path), "%s/" CACHE_INDEX_FILE, folder) >=
	    (int)sizeof(index->path)) {
		log_error("%s: no compilation cache: its path is too long, or no memory", folder);
		cache_index_close(index);
		return NULL;
	}
	error = connect(index);
	if (error && !is_damaged(error))
		log_error("%s: %s", index->path, sqlite3_errstr(error));
	if (error && (!is_damaged(error) || !replace(index))) {
		cache_index_close(index);
		return NULL;
	}
	return index;
}

void cache_index_close(struct cache_index *index)
{
	if (!index)
		return;
	if (index->db)
		cache_index_flush(index);
	disconnect(index);
	free(index->counts);
	free(index->version);
	free(index->identity);
	free(index);
}

/*
 * Runs a statement whose first four values come from `use`, and whose fifth value is `last`.
 * Returns SQLITE_ROW, SQLITE_DONE or an error.
 */
static int run(struct cache_index *index, enum statement which, const struct use *use,
	       int64_t last)
{
	sqlite3_stmt *s = index->statements[which];
	int count = sqlite3_bind_parameter_count(s), error;

	if (count >= 1)
		sqlite3_bind_int64(s, 1, use->uid);
	if (count >= 2)
		sqlite3_bind_blob(s, 2, use->token, sizeof(use->token), SQLITE_STATIC);
	if (count >= 3)
		sqlite3_bind_blob(s, 3, use->hash, sizeof(use->hash), SQLITE_STATIC);
	if (count >= 4)
		sqlite3_bind_int64(s, 4, use->used);
	if (count >= 5)
		sqlite3_bind_int64(s, 5, last);
	error = sqlite3_step(s);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return error;
}

enum message_kind cache_index_failed(struct cache_index *index, int error)
{
	log_error("%s: %s", index->path, sqlite3_errstr(error));
	if (!sqlite3_get_autocommit(index->db))
		run(index, ROLLBACK, NULL, 0);
	index->counted = false;
	index->num_known = 0;
	index->batch_failed = index->in_batch;
	if ((error & 0xff) == SQLITE_CORRUPT || (error & 0xff) == SQLITE_NOTADB)
		replace(index);
	return CACHE_FAILED;
}

static struct use make_use(struct cache_index *index, uint32_t uid, const uint8_t *token,
			   const uint8_t *hash)
{
	struct use use = { .uid = uid, .used = ++index->last_use };

	memcpy(use.token, token, sizeof(use.token));
	memcpy(use.hash, hash, sizeof(use.hash));
	return use;
}

/* Returns the first number of a statement's first row, or -1 if the statement yields no row. */
static int64_t run_number(struct cache_index *index, enum statement which)
{
	sqlite3_stmt *s = index->statements[which];
	int64_t number = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;

	sqlite3_reset(s);
	return number;
}

/* ---- how many hashes there are ---- */

static int64_t *count_of(struct cache_index *index, uint32_t uid)
{
	struct user_count *counts;
	size_t room;

	for (size_t i = 0; i < index->num_counts; i++)
		if (index->counts[i].uid == uid)
			return &index->counts[i].count;
	if (index->num_counts == index->count_room) {
		room = index->count_room ? 2 * index->count_room : 16;
		counts = realloc(index->counts, room * sizeof(*counts));
		if (!counts)
			return NULL;
		index->counts = counts;
		index->count_room = room;
	}
	index->counts[index->num_counts] = (struct user_count){ .uid = uid };
	return &index->counts[index->num_counts++].count;
}

/*
 * Counts the rows of the database at the start, and again after another connection has changed it.
 * Returns SQLITE_DONE or an error.
 */
static int count_all(struct cache_index *index)
{
	int64_t version = run_number(index, DATA_VERSION), *count;
	sqlite3_stmt *s = NULL;
	int error;

	if (index->counted && index->counted_at == version)
		return SQLITE_DONE;
	index->num_counts = 0;
	index->total = 0;
	error = sqlite3_prepare_v2(index->db, "SELECT uid, count(*) FROM hash GROUP BY uid", -1,
				   &s, NULL);
	while (!error && (error = sqlite3_step(s)) == SQLITE_ROW) {
		count = count_of(index, (uint32_t)sqlite3_column_int64(s, 0));
		error = count ? SQLITE_OK : SQLITE_NOMEM;
		if (count)
			*count = sqlite3_column_int64(s, 1);
		index->total += sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	index->counted = error == SQLITE_DONE;
	index->counted_at = version;
	return error;
}

/* Subtracts the rows that the last statement removed from the counts of rows. */
static void uncount(struct cache_index *index, int64_t *of_user)
{
	int64_t gone = sqlite3_changes(index->db);

	*of_user -= gone;
	index->total -= gone;
}

/*
 * Removes the least recently used rows until the limits are met. Returns SQLITE_DONE or an error.
 */
static int trim(struct cache_index *index, const struct use *use, int64_t *of_user)
{
	int error = run(index, TRIM_TOKEN, use, CACHE_INDEX_PER_TOKEN);
	int64_t uid, *count;

	if (error != SQLITE_DONE)
		return error;
	uncount(index, of_user);
	if (*of_user > CACHE_INDEX_PER_USER) {
		error = run(index, TRIM_USER, use, *of_user - CACHE_INDEX_PER_USER);
		if (error != SQLITE_DONE)
			return error;
		uncount(index, of_user);
	}
	while (index->total > CACHE_INDEX_ALL) {
		uid = run_number(index, OLDEST);
		count = uid < 0 ? NULL : count_of(index, (uint32_t)uid);
		if (!count)
			return SQLITE_ERROR;
		uncount(index, count);
	}
	return SQLITE_DONE;
}

/*
 * Writes the entries' times of use that are kept in memory. The caller must have begun a
 * transaction. Returns SQLITE_DONE or an error.
 */
static int write_uses(struct cache_index *index)
{
	int error = SQLITE_DONE;

	for (unsigned int i = 0; i < index->num_uses && error == SQLITE_DONE; i++)
		error = run(index, index->uses[i].file ? TOUCH_PLAN : TOUCH, &index->uses[i],
			    index->uses[i].file);
	return error;
}

/*
 * Adds a hash to the index. The caller must have begun a transaction. Returns SQLITE_DONE or an
 * error.
 */
static int store_hash(struct cache_index *index, const struct use *use)
{
	int error = count_all(index);
	int64_t *of_user;
	bool is_new;

	if (error != SQLITE_DONE)
		return error;
	of_user = count_of(index, use->uid);
	if (!of_user)
		return SQLITE_NOMEM;
	is_new = run(index, FIND_ANY, use, 0) == SQLITE_DONE;
	error = run(index, INSERT, use, 0);
	if (error != SQLITE_DONE)
		return error;
	*of_user += is_new;
	index->total += is_new;
	index->num_known = 0;
	return trim(index, use, of_user);
}

/*
 * Begins a transaction. The transaction writes the times of use that are kept in memory, because it
 * may remove the least recently used entries.
 */
bool cache_index_begin(struct cache_index *index)
{
	int error = index->db ? run(index, BEGIN, NULL, 0) : SQLITE_ERROR;

	if (error == SQLITE_DONE)
		error = write_uses(index);
	index->num_uses = 0;
	index->in_batch = error == SQLITE_DONE;
	if (!index->in_batch && index->db)
		cache_index_failed(index, error);
	return index->in_batch;
}

bool cache_index_batch_failed(const struct cache_index *index)
{
	return index->batch_failed;
}

/*
 * Resets the state of the caller's transaction. Returns false if the transaction was rolled back.
 */
static bool end_batch(struct cache_index *index)
{
	const bool failed = index->batch_failed;

	index->in_batch = false;
	index->batch_failed = false;
	return !failed;
}

bool cache_index_commit(struct cache_index *index)
{
	int error;

	if (!end_batch(index) || !index->db)
		return false;
	error = run(index, COMMIT, NULL, 0);
	if (error == SQLITE_DONE)
		return true;
	cache_index_failed(index, error);
	return false;
}

enum message_kind cache_index_store(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	bool own = !index->in_batch;
	struct use use;
	int error;

	if (!cache_index_db(index) || (own && !cache_index_begin(index)))
		return CACHE_FAILED;
	use = make_use(index, uid, token, hash);
	if (!cache_index_is_current(index)) {
		if (own) {
			run(index, ROLLBACK, NULL, 0);
			end_batch(index);
		}
		return CACHE_FAILED;
	}
	error = store_hash(index, &use);
	if (error != SQLITE_DONE) {
		cache_index_failed(index, error);
		if (own)
			end_batch(index);
		return CACHE_FAILED;
	}
	return !own || cache_index_commit(index) ? CACHE_YES : CACHE_FAILED;
}

bool cache_index_clear(struct cache_index *index, uint64_t uid, uint64_t *count)
{
	char *text = sqlite3_mprintf(uid == CACHE_ALL_USERS ? "DELETE FROM hash WHERE 1" :
				     "DELETE FROM hash WHERE uid = %lld", (long long)uid);
	sqlite3 *db = cache_index_db(index);
	int error = !text ? SQLITE_NOMEM : !db ? SQLITE_ERROR :
		    sqlite3_exec(db, text, NULL, NULL, NULL);

	sqlite3_free(text);
	index->counted = false;
	index->num_known = 0;
	*count = error ? 0 : (uint64_t)sqlite3_changes(db);
	if (error && db)
		cache_index_failed(index, error);
	return !error;
}

bool cache_index_report(struct cache_index *index, int file, uint64_t *count)
{
	struct cache_report head = { "" };
	off_t at = sizeof(head);
	sqlite3_stmt *s = NULL;
	int error;

	*count = 0;
	if (!index->db)
		return false;
	snprintf(head.version, sizeof(head.version), "%s", index->version);
	if (!write_at(file, &head, sizeof(head), 0))
		return false;
	error = sqlite3_prepare_v2(index->db, CACHE_REPORT_SQL, -1, &s, NULL);
	while (!error && (error = sqlite3_step(s)) == SQLITE_ROW) {
		const struct cache_report_user user = {
			.uid = (uint64_t)sqlite3_column_int64(s, 0),
			.tokens = (uint64_t)sqlite3_column_int64(s, 1),
			.hashes = (uint64_t)sqlite3_column_int64(s, 2),
			.plans = (uint64_t)sqlite3_column_int64(s, 3),
			.entries = (uint64_t)sqlite3_column_int64(s, 4),
			.bytes = (uint64_t)sqlite3_column_int64(s, 5),
		};

		error = write_at(file, &user, sizeof(user), at) ? SQLITE_OK : SQLITE_IOERR;
		at += sizeof(user);
		++*count;
	}
	sqlite3_finalize(s);
	if (error != SQLITE_DONE)
		cache_index_failed(index, error);
	return error == SQLITE_DONE;
}

static void remember(struct cache_index *index, const struct use *use)
{
	if (index->num_uses == MAX_USES)
		cache_index_flush(index);
	if (index->db)
		index->uses[index->num_uses++] = *use;
}

static bool is_known(const struct cache_index *index, const struct use *use)
{
	for (unsigned int i = 0; i < index->num_known; i++) {
		const struct use *k = &index->known[i];

		if (k->uid == use->uid && !memcmp(k->token, use->token, sizeof(k->token)) &&
		    !memcmp(k->hash, use->hash, sizeof(k->hash)))
			return true;
	}
	return false;
}

/* Forgets cached answers if another connection has changed the database. */
static void ask_again(struct cache_index *index)
{
	uint64_t now = clock_ns();
	int64_t changes;

	if (index->num_known && now - index->asked_ns < ASK_AGAIN_NS)
		return;
	changes = run_number(index, DATA_VERSION);
	if (index->known_at != changes)
		index->num_known = 0;
	index->known_at = changes;
	index->asked_ns = now;
}

static void learn(struct cache_index *index, const struct use *use)
{
	if (index->num_known == MAX_KNOWN)
		index->num_known = 0;
	index->known[index->num_known++] = *use;
}

enum message_kind cache_index_query(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	struct use use;
	int error;

	if (!index->db)
		return CACHE_FAILED;
	use = make_use(index, uid, token, hash);
	ask_again(index);
	if (is_known(index, &use)) {
		remember(index, &use);
		return CACHE_YES;
	}
	error = run(index, FIND, &use, 0);
	if (error == SQLITE_DONE)
		return CACHE_NO;
	if (error != SQLITE_ROW)
		return cache_index_failed(index, error);
	learn(index, &use);
	remember(index, &use);
	return CACHE_YES;
}

void cache_index_used(struct cache_index *index, int64_t file)
{
	const struct use use = { .file = file, .used = ++index->last_use };

	if (index->db)
		remember(index, &use);
}

bool cache_index_is_current(struct cache_index *index)
{
	return index->db && run(index, CURRENT, NULL, 0) == SQLITE_ROW;
}

const char *cache_index_identity(const struct cache_index *index)
{
	return index->identity;
}

struct sqlite3 *cache_index_db(struct cache_index *index)
{
	return index->batch_failed ? NULL : index->db;
}

int64_t cache_index_tick(struct cache_index *index)
{
	return ++index->last_use;
}

/*
 * Writes times of use, and ignores errors, because wrong times only change which rows are removed
 * first. If the caller has begun a transaction, the writes become part of this transaction.
 */
void cache_index_flush(struct cache_index *index)
{
	int error;

	if (!cache_index_db(index))
		index->num_uses = 0;
	if (!index->num_uses)
		return;
	if (!index->in_batch) {
		if (cache_index_begin(index))
			cache_index_commit(index);
		return;
	}
	error = write_uses(index);
	index->num_uses = 0;
	if (error != SQLITE_DONE)
		cache_index_failed(index, error);
}
