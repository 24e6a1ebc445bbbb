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
#include <sys/mman.h>
#include <unistd.h>

#include "engine/cache_index.h"
#include "engine/log.h"

/* Uses that are remembered until they are written. */
#define MAX_USES 64

/* Answers that are remembered as long as the database is as it was. */
#define MAX_KNOWN 64

/* Where SQLite counts the transactions that changed a database with a rollback journal. */
#define CHANGE_COUNTER 24
#define FIRST_PAGE 512			/* the least that a database can have */

/* How long another process's lock is waited for: `nnaccel cache clear` is quick. */
#define BUSY_MS 2000

enum statement {
	BEGIN,
	COMMIT,
	ROLLBACK,
	CURRENT,
	INSERT,
	TRIM_TOKEN,
	TRIM_USER,
	TRIM_ALL,
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
	[TRIM_USER] = "DELETE FROM hash WHERE uid = ?1 AND used IN (SELECT used FROM hash "
		      "WHERE uid = ?1 ORDER BY used DESC LIMIT -1 OFFSET ?5)",
	[TRIM_ALL] = "DELETE FROM hash WHERE used IN "
		     "(SELECT used FROM hash ORDER BY used DESC LIMIT -1 OFFSET ?5)",
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
	" PRIMARY KEY (uid, key)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS plan_by_user ON plan (uid, used);"
	"INSERT OR IGNORE INTO meta VALUES ('next_file', '0');";

/* A row, and when it was used: a number that only grows. */
struct use {
	uint32_t uid;
	uint8_t token[CACHE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
	int64_t used;
	int64_t file;			/* of a plan, which has neither token nor hash; 0: none */
};

struct cache_index {
	char path[PATH_MAX];
	char *version;
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	int64_t last_use;
	struct use uses[MAX_USES];
	unsigned int num_uses;
	int file;			/* the database's; closing it would end SQLite's locks */
	const char *page;		/* its first page, mapped; NULL: it cannot be */
	bool page_follows;		/* the mapping was seen to change with the file, */
	uint32_t page_began;		/* which began with this counter of changes */
	uint32_t known_at;		/* the counter of changes that the following are good for */
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
	if (index->page)
		munmap((void *)index->page, FIRST_PAGE);
	index->page = NULL;
	index->page_follows = false;
	if (index->file >= 0)
		close(index->file);
	index->file = -1;
}

/* Gives the one number or text that a query has for an answer, or NULL. */
static char *ask(sqlite3 *db, const char *query)
{
	sqlite3_stmt *statement = NULL;
	char *answer = NULL;

	if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
		answer = strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return answer;
}

static bool answers(sqlite3 *db, const char *query, const char *expected)
{
	char *answer = ask(db, query);
	bool same = answer && !strcmp(answer, expected);

	free(answer);
	return same;
}

/* What was noted for another version is void. */
static int reset(struct cache_index *index)
{
	char *text;
	int error;

	if (answers(index->db, "SELECT value FROM meta WHERE key = 'version'", index->version))
		return SQLITE_OK;
	if (!answers(index->db, "SELECT (SELECT count(*) FROM hash) + (SELECT count(*) FROM plan)",
		     "0"))
		log_info("the compilation cache is emptied: it was made by another engine");
	text = sqlite3_mprintf("BEGIN IMMEDIATE; DELETE FROM hash; DELETE FROM plan;"
			       "INSERT OR REPLACE INTO meta VALUES ('version', %Q); COMMIT",
			       index->version);
	error = text ? sqlite3_exec(index->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	return error;
}

static uint32_t mapped_changes(const struct cache_index *index)
{
	return *(const volatile uint32_t *)(index->page + CHANGE_COUNTER);
}

/*
 * Whoever cuts the file off later ends the keeper when this is read: a crash as any
 * other. There is a first page by now.
 */
static void map_page(struct cache_index *index)
{
	void *page = index->file < 0 ? MAP_FAILED :
		     mmap(NULL, FIRST_PAGE, PROT_READ, MAP_SHARED, index->file, 0);

	if (page == MAP_FAILED)
		return;
	index->page = page;
	index->page_began = mapped_changes(index);
}

/* One row as long as the version is this one, for statements to look at. */
static int make_view(struct cache_index *index)
{
	char *text = sqlite3_mprintf("PRAGMA temp_store = MEMORY; CREATE TEMP VIEW current AS "
				     "SELECT 1 FROM meta WHERE key = 'version' AND value = %Q",
				     index->version);
	int error = text ? sqlite3_exec(index->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return error;
}

/* A rollback journal and every write through to the disk: any file system will do. */
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
	if (!error && !answers(index->db, "PRAGMA quick_check(1)", "ok"))
		error = SQLITE_CORRUPT;
	if (!error)
		error = sqlite3_exec(index->db, schema, NULL, NULL, NULL);
	if (!error)
		error = reset(index);
	if (!error)
		error = make_view(index);
	for (int i = 0; !error && i < STATEMENTS; i++)
		error = sqlite3_prepare_v3(index->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
					   &index->statements[i], NULL);
	if (error)
		return error;
	index->file = open(index->path, O_RDONLY | O_CLOEXEC);
	map_page(index);
	last = ask(index->db, "SELECT max((SELECT coalesce(max(used), 0) FROM hash), "
		   "(SELECT coalesce(max(used), 0) FROM plan))");
	index->last_use = last ? strtoll(last, NULL, 10) : 0;
	free(last);
	return SQLITE_OK;
}

static bool is_damaged(int error)
{
	/* The schema of another program's file is an error without a name. */
	return (error & 0xff) == SQLITE_CORRUPT || (error & 0xff) == SQLITE_NOTADB ||
	       (error & 0xff) == SQLITE_ERROR;
}

/* Puts the damaged file aside and begins anew. False: that does not work either. */
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
		log_warning("%s: damaged: put aside, begun anew", index->path);
		return true;
	}
	log_error("%s: damaged, and cannot be made anew: %s", index->path, sqlite3_errstr(error));
	disconnect(index);
	return false;
}

struct cache_index *cache_index_open(const char *folder, const char *version)
{
	struct cache_index *index = calloc(1, sizeof(*index));
	int error;

	if (index) {
		index->file = -1;
		index->version = strdup(version);
	}
	if (!index || !index->version ||
	    snprintf(index->path, sizeof(index->path), "%s/" CACHE_INDEX_FILE, folder) >=
	    (int)sizeof(index->path)) {
		log_error("%s: the compilation cache cannot be opened", folder);
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
	free(index->version);
	free(index);
}

/* Runs a statement, whose fifth value is `last`; SQLITE_ROW, SQLITE_DONE or an error. */
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

enum cache_verdict cache_index_failed(struct cache_index *index, int error)
{
	log_error("%s: %s", index->path, sqlite3_errstr(error));
	if (!sqlite3_get_autocommit(index->db))
		run(index, ROLLBACK, NULL, 0);
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

/* How often the database was changed, by whomever; false: nobody knows. */
static bool read_changes(const struct cache_index *index, uint32_t *changes)
{
	if (index->page_follows) {
		*changes = mapped_changes(index);
		return true;
	}
	return index->file >= 0 &&
	       pread(index->file, changes, sizeof(*changes), CHANGE_COUNTER) == sizeof(*changes);
}

/* After a transaction: there are file systems whose mappings do not change with files. */
static void watch_page(struct cache_index *index)
{
	uint32_t changes;

	if (!index->page_follows && index->page && read_changes(index, &changes))
		index->page_follows = changes != index->page_began &&
				      changes == mapped_changes(index);
}

/* The remembered uses, within a transaction. SQLITE_DONE or an error. */
static int write_uses(struct cache_index *index)
{
	int error = SQLITE_DONE;

	for (unsigned int i = 0; i < index->num_uses && error == SQLITE_DONE; i++)
		error = run(index, index->uses[i].file ? TOUCH_PLAN : TOUCH, &index->uses[i],
			    index->uses[i].file);
	return error;
}

enum cache_verdict cache_index_store(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	struct use use;
	int error;

	if (!index->db)
		return CACHE_FAILED;
	use = make_use(index, uid, token, hash);
	error = run(index, BEGIN, NULL, 0);
	if (error == SQLITE_DONE && !cache_index_is_current(index)) {
		run(index, ROLLBACK, NULL, 0);
		return CACHE_FAILED;
	}
	if (error == SQLITE_DONE)
		error = write_uses(index);
	if (error == SQLITE_DONE)
		error = run(index, INSERT, &use, 0);
	if (error == SQLITE_DONE)
		error = run(index, TRIM_TOKEN, &use, CACHE_INDEX_PER_TOKEN);
	if (error == SQLITE_DONE)
		error = run(index, TRIM_USER, &use, CACHE_INDEX_PER_USER);
	if (error == SQLITE_DONE)
		error = run(index, TRIM_ALL, &use, CACHE_INDEX_ALL);
	if (error == SQLITE_DONE)
		error = run(index, COMMIT, NULL, 0);
	if (error != SQLITE_DONE)
		return cache_index_failed(index, error);
	index->num_uses = 0;
	watch_page(index);
	return CACHE_YES;
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

static void learn(struct cache_index *index, uint32_t changes, const struct use *use)
{
	if (index->known_at != changes || index->num_known == MAX_KNOWN)
		index->num_known = 0;
	index->known_at = changes;
	index->known[index->num_known++] = *use;
}

enum cache_verdict cache_index_query(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	uint32_t changes = 0;
	struct use use;
	bool counted;
	int error;

	if (!index->db)
		return CACHE_FAILED;
	use = make_use(index, uid, token, hash);
	counted = read_changes(index, &changes);
	if (counted && changes == index->known_at && is_known(index, &use)) {
		remember(index, &use);
		return CACHE_YES;
	}
	error = run(index, FIND, &use, 0);
	if (error == SQLITE_DONE)
		return CACHE_NO;
	if (error != SQLITE_ROW)
		return cache_index_failed(index, error);
	if (counted)
		learn(index, changes, &use);
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

struct sqlite3 *cache_index_db(struct cache_index *index)
{
	return index->db;
}

int64_t cache_index_tick(struct cache_index *index)
{
	return ++index->last_use;
}

void cache_index_flush(struct cache_index *index)
{
	int error;

	if (!index->db || !index->num_uses)
		return;
	error = run(index, BEGIN, NULL, 0);
	if (error == SQLITE_DONE)
		error = write_uses(index);
	if (error == SQLITE_DONE)
		error = run(index, COMMIT, NULL, 0);
	/* Which ones go first is not worth more tries. */
	index->num_uses = 0;
	if (error != SQLITE_DONE)
		cache_index_failed(index, error);
	else
		watch_page(index);
}
