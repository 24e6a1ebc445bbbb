/* SPDX-License-Identifier: MIT */
/*
 * Tests the index of the compilation cache and the cache's keeper: which entries are durable, which
 * entries are removed, and what damaged files and hostile workers can do.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/build_id.h"
#include "engine/keeper/cache_index.h"
#include "kit/api/log.h"
#include "kit/cache/digest.h"
#include "kit/cache/message.h"
#include "tests/open_files.h"
#include "tests/keeper_fixture.h"
#include "tests/killing.h"
#include "tests/heap_blocks.h"

#define VERSION "some engine"
#define STORES_AT_ONCE 32

/*
 * Number of hashes of one token in the index when the test begins to kill processes that use the
 * index.
 */
#define STORED CACHE_INDEX_PER_TOKEN

/* ---- a keeper that is stopped, until its socket is shut down ---- */

static pid_t stopped;

int shutdown(int socket, int how)
{
	if (stopped)
		kill(stopped, SIGCONT);
	return (int)syscall(SYS_shutdown, socket, how);
}

/* ---- the index ---- */

static const char *path(void)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s/" CACHE_INDEX_FILE, folder);
	return text;
}

/* Returns a token or a hash made from a number. */
static const uint8_t *id(uint32_t number)
{
	static uint8_t ids[4][CACHE_TOKEN_SIZE];
	static unsigned int next;
	uint8_t *to = ids[next++ % 4];

	memset(to, 0, CACHE_TOKEN_SIZE);
	memcpy(to + 7, &number, sizeof(number));
	return to;
}

static struct cache_index *open_index(const char *version)
{
	struct cache_index *index = cache_index_open(folder, version, "");

	assert_non_null(index);
	return index;
}

static void store(struct cache_index *index, uint32_t uid, uint32_t token, uint32_t hash)
{
	assert_int_equal(cache_index_store(index, uid, id(token), id(hash)), CACHE_YES);
}

static bool knows(struct cache_index *index, uint32_t uid, uint32_t token, uint32_t hash)
{
	enum message_kind verdict = cache_index_query(index, uid, id(token), id(hash));

	assert_true(verdict == CACHE_YES || verdict == CACHE_NO);
	return verdict == CACHE_YES;
}

static void test_knows_what_was_stored(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	assert_false(knows(index, 1, 2, 3));
	store(index, 1, 2, 3);
	store(index, 1, 2, 3);
	store(index, 1, 2, 4);
	store(index, UINT32_MAX, 2, 9);
	for (int again = 0; again < 2; again++) {
		assert_true(knows(index, 1, 2, 3));
		assert_true(knows(index, 1, 2, 4));
		assert_true(knows(index, UINT32_MAX, 2, 9));
		/*
		 * A query succeeds only if one stored hash has the hash, the token and the user of
		 * the query.
		 */
		assert_false(knows(index, 1, 2, 9));
		assert_false(knows(index, 1, 3, 3));
		assert_false(knows(index, 2, 2, 3));
		assert_false(knows(index, 0, 2, 3));
		cache_index_close(index);
		index = open_index(VERSION);
	}
	cache_index_close(index);
}

/*
 * If a token has the maximum number of hashes, a new hash replaces the token's least recently used
 * hash. A query counts as a use of a hash, even after the index was closed and opened.
 */
static void test_hashes_of_a_token(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	for (uint32_t i = 0; i < CACHE_INDEX_PER_TOKEN; i++)
		store(index, 1, 1, i);
	assert_true(knows(index, 1, 1, 0));
	cache_index_close(index);
	index = open_index(VERSION);
	store(index, 1, 1, 100);
	assert_true(knows(index, 1, 1, 0));
	assert_false(knows(index, 1, 1, 1));
	assert_true(knows(index, 1, 1, 2));
	assert_true(knows(index, 1, 1, 100));
	/* The index forgets the answers to earlier queries, because stores may remove hashes. */
	for (uint32_t i = 0; i < CACHE_INDEX_PER_TOKEN; i++)
		store(index, 1, 1, 200 + i);
	assert_false(knows(index, 1, 1, 2));
	cache_index_close(index);
}

/* A hash that was stored again after a query is the most recently used one. */
static void test_stored_again(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	for (uint32_t i = 0; i < CACHE_INDEX_PER_TOKEN; i++)
		store(index, 1, 1, i);
	assert_true(knows(index, 1, 1, 0));
	for (uint32_t i = 1; i <= CACHE_INDEX_PER_TOKEN; i++)
		store(index, 1, 1, i % CACHE_INDEX_PER_TOKEN);
	cache_index_close(index);
	index = open_index(VERSION);
	store(index, 1, 1, 100);
	assert_true(knows(index, 1, 1, 0));
	assert_false(knows(index, 1, 1, 1));
	cache_index_close(index);
}

/* Queries find more hashes at once than the index remembers. */
static void test_many_queries(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	assert_true(cache_index_begin(index));
	for (uint32_t i = 0; i < 200; i++)
		store(index, UINT32_MAX, i, i);
	assert_true(cache_index_commit(index));
	for (uint32_t i = 0; i < 400; i++)
		assert_true(knows(index, UINT32_MAX, i % 200, i % 200));
	assert_false(knows(index, UINT32_MAX, 0, 1));
	cache_index_close(index);
}

static int refuse_commit(void *data)
{
	(void)data;
	return 1;
}

/* A hash whose transaction was rolled back is not known, even if a query has found the hash before. */
static void test_rolled_back(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	assert_true(cache_index_begin(index));
	store(index, 1, 1, 1);
	assert_true(knows(index, 1, 1, 1));
	sqlite3_commit_hook(cache_index_db(index), refuse_commit, NULL);
	assert_false(cache_index_commit(index));
	sqlite3_commit_hook(cache_index_db(index), NULL, NULL);
	assert_false(knows(index, 1, 1, 1));
	store(index, 1, 1, 1);
	assert_true(knows(index, 1, 1, 1));
	cache_index_close(index);
}

/* Returns the number of hashes that a user has, or all users have if `uid` is negative. */
static int count_hashes(struct cache_index *index, int uid)
{
	sqlite3_stmt *s;
	int count;

	assert_int_equal(sqlite3_prepare_v2(cache_index_db(index), "SELECT count(*) FROM hash WHERE ?1 < 0 "
					    "OR uid = ?1", -1, &s, NULL), SQLITE_OK);
	sqlite3_bind_int(s, 1, uid);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	count = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return count;
}

/*
 * If all users together have too many hashes, the least recently used hash of any user is removed,
 * and counts no longer for its user. The first hash of user 0 was used before all others, and the
 * other hashes of user 0 after all others.
 */
static void test_hashes_of_all(void **state)
{
	enum { USERS = CACHE_INDEX_ALL / CACHE_INDEX_PER_USER };
	struct cache_index *index = open_index(VERSION);
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) "
		 "INSERT INTO hash SELECT i %% %d, CAST(printf('%%032d', i) AS BLOB), "
		 "CAST(printf('%%032d', i) AS BLOB), CASE WHEN i %% %d OR i = %d THEN i ELSE 100000 + i END "
		 "FROM n", CACHE_INDEX_ALL - 1, USERS, USERS, USERS);
	assert_int_equal(sqlite3_exec(cache_index_db(index), text, NULL, NULL, NULL), SQLITE_OK);
	snprintf(text, sizeof(text), "UPDATE hash SET used = 0 WHERE uid = 0 AND used = %d", USERS);
	assert_int_equal(sqlite3_exec(cache_index_db(index), text, NULL, NULL, NULL), SQLITE_OK);
	cache_index_close(index);
	index = open_index(VERSION);
	assert_int_equal(count_hashes(index, 0), CACHE_INDEX_PER_USER - 1);
	store(index, 0, 1, 1);
	assert_int_equal(count_hashes(index, -1), CACHE_INDEX_ALL);
	store(index, 1000, 1, 1);
	assert_int_equal(count_hashes(index, -1), CACHE_INDEX_ALL);
	assert_int_equal(count_hashes(index, 0), CACHE_INDEX_PER_USER - 1);
	store(index, 0, 2, 2);
	assert_int_equal(count_hashes(index, -1), CACHE_INDEX_ALL);
	assert_int_equal(count_hashes(index, 0), CACHE_INDEX_PER_USER);
	assert_int_equal(count_hashes(index, 1), CACHE_INDEX_PER_USER - 1);
	cache_index_close(index);
}

/* The requests in one transaction use hashes more often than the index can remember. */
static void test_uses_in_a_batch(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	for (uint32_t i = 0; i < CACHE_INDEX_PER_TOKEN; i++)
		store(index, 1, 1, i);
	assert_true(cache_index_begin(index));
	for (int i = 0; i < 300; i++)
		assert_true(knows(index, 1, 1, 0));
	store(index, 1, 2, 0);
	assert_true(cache_index_commit(index));
	cache_index_close(index);
	index = open_index(VERSION);
	store(index, 1, 1, 100);
	assert_true(knows(index, 1, 1, 0));
	assert_false(knows(index, 1, 1, 1));
	assert_true(knows(index, 1, 2, 0));
	cache_index_close(index);
}

static void test_hashes_of_a_user(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	store(index, 2, 0, 0);
	for (uint32_t i = 0; i < CACHE_INDEX_PER_USER; i++)
		store(index, 1, i, i);
	assert_true(knows(index, 1, 0, 0));
	for (uint32_t i = 0; i < 3; i++)
		store(index, 1, CACHE_INDEX_PER_USER + i, 0);
	assert_true(knows(index, 1, 0, 0));
	assert_false(knows(index, 1, 1, 1));
	assert_false(knows(index, 1, 3, 3));
	assert_true(knows(index, 1, 4, 4));
	/* Another's stay. */
	assert_true(knows(index, 2, 0, 0));
	cache_index_close(index);
}

static int interrupt(void *data)
{
	(void)data;
	return 1;
}

/* Removed hashes do not count towards their user's limit. */
static void test_removed_hashes(void **state)
{
	struct cache_index *index = open_index(VERSION);
	uint64_t count;

	(void)state;
	assert_true(cache_index_begin(index));
	store(index, 1, 0, 0);
	for (uint32_t i = 0; i < CACHE_INDEX_PER_USER + 1; i++)
		store(index, 1, 1, i);
	assert_true(cache_index_commit(index));
	assert_true(knows(index, 1, 0, 0));
	assert_true(cache_index_begin(index));
	for (uint32_t i = 2; i < CACHE_INDEX_PER_USER; i++)
		store(index, 1, i, i);
	assert_true(cache_index_clear(index, 1, &count));
	assert_true(count > CACHE_INDEX_PER_USER - 10);
	for (uint32_t i = 0; i < 20; i++)
		store(index, 1, i, i);
	assert_true(cache_index_commit(index));
	for (uint32_t i = 0; i < 20; i++)
		assert_true(knows(index, 1, i, i));
	cache_index_close(index);
}

/*
 * If the statement that counts the stored hashes is interrupted, the index stores no new hash,
 * because the limits need the count.
 */
static void test_count_is_interrupted(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	assert_true(cache_index_begin(index));
	for (uint32_t uid = 0; uid < 500; uid++)
		store(index, uid, 0, 0);
	assert_true(cache_index_commit(index));
	cache_index_close(index);
	index = open_index(VERSION);
	/*
	 * Interrupt SQLite after 1000 steps; only the statement that counts all rows needs so many
	 * steps.
	 */
	sqlite3_progress_handler(cache_index_db(index), 1000, interrupt, NULL);
	assert_int_equal(cache_index_store(index, 1, id(1), id(1)), CACHE_FAILED);
	sqlite3_progress_handler(cache_index_db(index), 0, NULL, NULL);
	assert_false(knows(index, 1, 1, 1));
	store(index, 1, 1, 1);
	cache_index_close(index);
}

/*
 * After another process has changed the index's file, the index reads the file instead of answering
 * from memory.
 */
static void test_cleared_by_another(void **state)
{
	struct cache_index *index = open_index(VERSION), *other = open_index(VERSION);

	(void)state;
	store(index, 1, 1, 1);
	for (int i = 0; i < 3; i++)
		assert_true(knows(index, 1, 1, 1));
	for (uint32_t i = 0; i < CACHE_INDEX_PER_TOKEN; i++)
		store(other, 1, 1, 100 + i);
	/*
	 * The index looks for changes of its file once a second; until then, queries still find the
	 * hash that the second index has replaced.
	 */
	while (knows(index, 1, 1, 1))
		usleep(50000);
	assert_true(knows(index, 1, 1, 100));
	cache_index_close(other);
	cache_index_close(index);
}

static void test_other_version(void **state)
{
	struct cache_index *index = open_index(VERSION);

	(void)state;
	store(index, 1, 2, 3);
	cache_index_close(index);
	index = open_index("another's, with a plug-in");
	assert_false(knows(index, 1, 2, 3));
	store(index, 1, 2, 5);
	cache_index_close(index);
	index = open_index(VERSION);
	assert_false(knows(index, 1, 2, 3));
	assert_false(knows(index, 1, 2, 5));
	cache_index_close(index);
}

static void overwrite(off_t at, const void *bytes, size_t size)
{
	int fd = open(path(), O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, at), size);
	close(fd);
}

static bool was_put_aside(void)
{
	char aside[128];

	snprintf(aside, sizeof(aside), "%s.damaged", path());
	return !access(aside, F_OK);
}

static void test_not_a_database(void **state)
{
	static const char rubbish[8192] = "This is no database, nor was it ever one.";
	struct cache_index *index = open_index(VERSION);

	(void)state;
	store(index, 1, 2, 3);
	cache_index_close(index);
	overwrite(0, rubbish, sizeof(rubbish));
	index = open_index(VERSION);
	assert_true(was_put_aside());
	assert_false(knows(index, 1, 2, 3));
	store(index, 1, 2, 3);
	assert_true(knows(index, 1, 2, 3));
	cache_index_close(index);
}

/*
 * The index renames a file that is another program's database, even if the names of the tables are
 * equal.
 */
static void test_another_schema(void **state)
{
	char command[256];
	struct cache_index *index;

	(void)state;
	snprintf(command, sizeof(command), "test -x /usr/bin/sqlite3 && sqlite3 %s "
		 "'CREATE TABLE hash (a); CREATE TABLE meta (b)'", path());
	if (system(command))
		skip();
	index = open_index(VERSION);
	assert_true(was_put_aside());
	store(index, 1, 2, 3);
	assert_true(knows(index, 1, 2, 3));
	cache_index_close(index);
}

/* If any byte of the index's file is wrong, each query still returns "yes", "no" or "failed". */
static void test_damaged_anywhere(void **state)
{
	struct stat st;

	(void)state;
	srand(1);
	for (int i = 0; i < 200; i++) {
		struct cache_index *index = open_index(VERSION);
		uint8_t bytes[16];

		for (uint32_t k = 0; k < 4; k++)
			cache_index_store(index, 1, id(k), id(k));
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)rand();
		assert_int_equal(stat(path(), &st), 0);
		/* Damage the file while the index is closed or, in every second round, open. */
		if (i % 2) {
			cache_index_close(index);
			overwrite(rand() % st.st_size, bytes, sizeof(bytes));
			index = open_index(VERSION);
		} else {
			overwrite(rand() % st.st_size, bytes, sizeof(bytes));
		}
		for (uint32_t k = 0; k < 4; k++) {
			cache_index_query(index, 1, id(k), id(k));
			assert_true(cache_index_query(index, 2, id(k), id(k)) != CACHE_YES);
		}
		cache_index_store(index, 1, id(9), id(9));
		cache_index_close(index);
	}
}

static void test_cut_short(void **state)
{
	(void)state;
	for (off_t size = 0; size < 40000; size += 1111) {
		struct cache_index *index = open_index(VERSION);

		store(index, 1, 2, 3);
		cache_index_close(index);
		assert_int_equal(truncate(path(), size), 0);
		index = open_index(VERSION);
		store(index, 1, 2, 4);
		assert_true(knows(index, 1, 2, 4));
		cache_index_close(index);
	}
}

static void test_no_folder(void **state)
{
	(void)state;
	assert_null(cache_index_open("/proc/nowhere", VERSION, ""));
}

/* ---- killed, or failed by the disk, at every system call ---- */

/* Runs in the process that the test kills: stores one hash more than a token may have. */
static int be_victim(const char *in, bool opening)
{
	struct cache_index *index;

	if (opening)
		killing_mark();
	index = cache_index_open(in, VERSION, "");
	if (!index)
		return KILLING_REFUSED;
	if (!opening)
		killing_mark();
	if (cache_index_store(index, 1, id(1), id(STORED)) != CACHE_YES)
		return KILLING_REFUSED;
	killing_acknowledge();
	killing_mark();
	cache_index_close(index);
	return 0;
}

static void prepare_victim(void)
{
	struct cache_index *index;

	remove_folder(NULL);
	assert_int_equal(mkdir(folder, 0700), 0);
	index = open_index(VERSION);
	for (uint32_t i = 0; i < STORED; i++)
		store(index, 1, 1, i);
	store(index, 2, 1, 0);
	cache_index_close(index);
}

/*
 * Checks that the index can still be used, and that the index is either unchanged or has the new
 * hash instead of the oldest hash.
 */
static void check_survival(bool acknowledged)
{
	struct cache_index *index = open_index(VERSION);
	bool is_stored = knows(index, 1, 1, STORED);

	assert_false(was_put_aside());
	assert_true(is_stored || !acknowledged);
	assert_int_equal(knows(index, 1, 1, 0), !is_stored);
	for (uint32_t i = 1; i < STORED; i++)
		assert_true(knows(index, 1, 1, i));
	assert_true(knows(index, 2, 1, 0));
	assert_false(knows(index, 2, 1, STORED));
	store(index, 1, 1, STORED + 1);
	assert_true(knows(index, 1, 1, STORED + 1));
	cache_index_close(index);
}

/*
 * Storing a hash and removing the oldest hash are one atomic change, even if the process is killed.
 */
static void test_killed_anywhere(void **state)
{
	(void)state;
	if (!killing_run("be-killed", folder, prepare_victim, check_survival))
		skip();
}

/* Makes each system call that opens the index or stores the hash fail with a disk error. */
static void test_disk_errors(void **state)
{
	(void)state;
	if (!failing_run("be-refused", folder, prepare_victim, check_survival))
		skip();
}

/* ---- messages ---- */

static void test_requests(void **state)
{
	struct message good = { .kind = CACHE_QUERY, .hash = { 7 } }, bad, parsed;
	uint8_t bytes[sizeof(good) + 1];

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &good, sizeof(good));
	for (size_t size = 0; size <= sizeof(bytes); size++)
		assert_int_equal(message_parse(bytes, size, WORKER_TO_KEEPER, &parsed),
				 size == sizeof(good));
	assert_true(message_parse(&good, sizeof(good), WORKER_TO_KEEPER, &parsed));
	assert_memory_equal(&parsed, &good, sizeof(good));
	for (uint32_t kind = 0; kind < 300; kind++) {
		bad = good;
		bad.kind = kind;
		assert_int_equal(message_parse(&bad, sizeof(bad), WORKER_TO_KEEPER, &parsed),
				 kind == CACHE_STORE || kind == CACHE_QUERY);
	}
	/*
	 * Requests of the kinds from CACHE_STORE to CACHE_DROP are valid without a hash, but only
	 * CACHE_NEW may have sizes.
	 */
	for (uint32_t kind = CACHE_STORE; kind <= CACHE_DROP; kind++) {
		bad = (struct message){ .kind = kind };
		assert_true(message_parse(&bad, sizeof(bad), WORKER_TO_KEEPER, &parsed));
		bad.model_size = 1;
		assert_int_equal(message_parse(&bad, sizeof(bad), WORKER_TO_KEEPER, &parsed),
				 kind == CACHE_NEW);
		bad = (struct message){ .kind = kind, .data_size = UINT64_MAX };
		assert_int_equal(message_parse(&bad, sizeof(bad), WORKER_TO_KEEPER, &parsed),
				 kind == CACHE_NEW);
	}
}

static void test_digest(void **state)
{
	static const uint8_t of_abc[] = { 0xba, 0x78, 0x16, 0xbf };
	uint8_t hash[DIGEST_SIZE], parts[DIGEST_SIZE];
	struct evp_md_ctx_st *context;

	(void)state;
	assert_true(digest_init());
	assert_true(digest("abc", 3, hash));
	assert_memory_equal(hash, of_abc, sizeof(of_abc));
	context = digest_begin();
	digest_add(context, "a", 1);
	digest_add(context, "bc", 2);
	assert_true(digest_end(context, parts));
	assert_memory_equal(hash, parts, sizeof(hash));
}

/*
 * The digest of a range of a file equals the digest of the same bytes in memory. A range must not
 * exceed the file.
 */
static void test_digest_of_a_file(void **state)
{
	enum { SIZE = 200000 };
	static const struct {
		uint64_t at, size;
		bool is_there;
	} ranges[] = {
		{ 0, 0, true }, { 0, SIZE, true }, { 4096, 100000, true }, { 1, 65536, true },
		{ 7, 65537, true }, { SIZE - 1, 1, true }, { SIZE, 0, true }, { SIZE - 1, 2, false },
		{ 0, SIZE + 1, false }, { SIZE, 1, false },
	};
	int fd = memfd_create("file", MFD_CLOEXEC);
	uint8_t hash[DIGEST_SIZE], of_file[DIGEST_SIZE];
	static uint32_t bytes[SIZE / 4];

	(void)state;
	for (uint32_t i = 0; i < SIZE / 4; i++)
		bytes[i] = i * 2654435761;
	assert_int_equal(pwrite(fd, bytes, SIZE, 0), SIZE);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		assert_int_equal(digest_file(fd, ranges[i].at, ranges[i].size, of_file),
				 ranges[i].is_there);
		if (!ranges[i].is_there)
			continue;
		assert_true(digest((char *)bytes + ranges[i].at, ranges[i].size, hash));
		assert_memory_equal(hash, of_file, sizeof(hash));
	}
	close(fd);
	assert_false(digest_file(fd, 0, 1, of_file));
}

/* ---- the keeper ---- */

/*
 * Kills the keeper. Waits for the keeper's end, because until then some of the keeper's files may
 * still be open.
 */
static void kill_keeper(void)
{
	siginfo_t info;

	kill(keeper.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)keeper.pid, &info, WEXITED | WNOWAIT), 0);
}

static void test_keeper(void **state)
{
	struct cache_client a, b, other;
	struct nn_error err = { "" };

	(void)state;
	client_of(&a, 1);
	client_of(&b, 1);
	client_of(&other, 2);
	assert_int_equal(cache_client_query(&a, id(1), id(2), &err), NN_GENERAL_FAILURE);
	assert_true(err.message[0]);
	assert_int_equal(cache_client_store(&a, id(1), id(2), &err), NN_OK);
	assert_int_equal(cache_client_query(&a, id(1), id(2), &err), NN_OK);
	assert_int_equal(cache_client_query(&b, id(1), id(2), &err), NN_OK);
	assert_int_equal(cache_client_query(&other, id(1), id(2), &err), NN_GENERAL_FAILURE);
	close(a.socket);
	assert_int_equal(cache_client_query(&b, id(1), id(2), &err), NN_OK);
	/* A stored hash is durable: after a keeper was killed, the next keeper knows the hash. */
	kill_keeper();
	assert_int_equal(cache_client_query(&b, id(1), id(2), &err), NN_GENERAL_FAILURE);
	assert_int_equal(b.socket, -1);
	keeper_stop(&keeper);
	assert_true(keeper_start(&keeper, &options));
	client_of(&a, 1);
	assert_int_equal(cache_client_query(&a, id(1), id(2), &err), NN_OK);
	close(a.socket);
	close(other.socket);
}

/* The keeper disconnects a worker that sends a wrong request, and serves all other workers. */
static void test_hostile_workers(void **state)
{
	struct message request = { .kind = CACHE_QUERY };
	uint8_t bytes[4096] = { 0 };
	struct cache_client good;
	struct nn_error err;
	int worker;

	(void)state;
	client_of(&good, 1);
	for (size_t size = 0; size < sizeof(bytes); size += 1 + size / 3) {
		if (size == sizeof(request))
			continue;
		worker = worker_of(1);
		assert_int_equal(send(worker, bytes, size, MSG_NOSIGNAL), size);
		assert_int_equal(recv(worker, bytes, sizeof(bytes), 0), 0);
		close(worker);
	}
	for (unsigned int i = 0; i < 8 * sizeof(uint64_t); i++) {
		struct message bad = request, parsed;

		((uint8_t *)&bad)[i / 8] ^= (uint8_t)(1 << i % 8);
		worker = worker_of(1);
		assert_int_equal(send(worker, &bad, sizeof(bad), MSG_NOSIGNAL), sizeof(bad));
		assert_int_equal(recv(worker, bytes, sizeof(bytes), 0),
				 message_parse(&bad, sizeof(bad), WORKER_TO_KEEPER, &parsed) ?
				 (ssize_t)sizeof(struct message) : 0);
		close(worker);
	}
	/* Let a worker send requests without reading the keeper's answers. */
	worker = worker_of(1);
	while (send(worker, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	assert_int_equal(cache_client_store(&good, id(1), id(1), &err), NN_OK);
	close(worker);
	close(good.socket);
}

/* Workers send packets that have the size of requests but random contents. */
static void test_random_requests(void **state)
{
	struct cache_client good;
	struct nn_error err;
	int worker = -1;

	(void)state;
	srand(1);
	client_of(&good, 1);
	assert_int_equal(cache_client_store(&good, id(1), id(1), &err), NN_OK);
	for (int i = 0; i < 20000; i++) {
		struct message request;
		struct message answer;

		for (size_t k = 0; k < sizeof(request); k++)
			((uint8_t *)&request)[k] = rand() % 4 ? 0 : (uint8_t)rand();
		request.kind = (uint32_t)rand() % 8;
		if (request.kind >= CACHE_GET && rand() % 8)
			memset(request.hash, 0, sizeof(request.hash));
		if (rand() % 2)
			request.model_size = request.data_size = 0;
		if (rand() % 4)
			memcpy(request.token, id((uint32_t)rand() % 4), sizeof(request.token));
		if (worker < 0)
			worker = worker_of(2);
		/*
		 * If an answer carries a file, the kernel closes the file, because recv() accepts
		 * no files.
		 */
		if (send(worker, &request, sizeof(request), MSG_NOSIGNAL) < 0 ||
		    recv(worker, &answer, sizeof(answer), 0) <= 0) {
			close(worker);
			worker = -1;
		}
	}
	close(worker);
	assert_int_equal(cache_client_query(&good, id(1), id(1), &err), NN_OK);
	close(good.socket);
}

static void test_too_many_stores(void **state)
{
	struct cache_client greedy, again, other;
	unsigned int stored = 0, put_off = 0;

	(void)state;
	client_of(&greedy, 1);
	client_of(&again, 1);
	client_of(&other, 2);
	for (uint32_t i = 0; i < 4 * STORES_AT_ONCE; i++) {
		if (cache_client_store(&greedy, id(i), id(i), NULL))
			put_off++;
		else
			stored++;
	}
	assert_true(stored >= STORES_AT_ONCE);
	assert_true(put_off > 0);
	/*
	 * After a user's budget of stores is used up, a second worker of the user may not store,
	 * either. The user's workers may still query, and other users may store.
	 */
	stored = 0;
	for (uint32_t i = 0; i < STORES_AT_ONCE; i++)
		stored += !cache_client_store(&again, id(i), id(i), NULL);
	assert_true(stored < STORES_AT_ONCE);
	assert_int_equal(cache_client_query(&greedy, id(0), id(0), NULL), NN_OK);
	assert_int_equal(cache_client_store(&other, id(1), id(1), NULL), NN_OK);
	close(greedy.socket);
	close(again.socket);
	close(other.socket);
}

static void test_many_workers(void **state)
{
	struct cache_client clients[100];

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		client_of(&clients[i], i);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(cache_client_store(&clients[i], id(1), id(i), NULL), NN_OK);
	for (uint32_t i = 0; i < 100; i += 2)
		close(clients[i].socket);
	for (uint32_t i = 1; i < 100; i += 2) {
		assert_int_equal(cache_client_query(&clients[i], id(1), id(i), NULL), NN_OK);
		assert_int_equal(cache_client_query(&clients[i], id(1), id(i - 1), NULL),
				 NN_GENERAL_FAILURE);
		close(clients[i].socket);
	}
}

/*
 * The broker starts a new keeper some time after the previous keeper has died. Workers can go on
 * using their sockets to the keeper, because the broker holds the other ends of the sockets.
 */
static void test_keeper_dies(void **state)
{
	const struct timeval patience = { .tv_sec = 1 }, none = { 0 };
	struct cache_client client, own;
	struct nn_error err = { "" };
	int sockets[2];

	(void)state;
	assert_true(cache_client_init(&own, keeper_connect(&keeper)));
	assert_int_equal(cache_client_store(&own, id(7), id(8), NULL), NN_OK);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	assert_true(keeper_pass(&keeper, sockets[0], 1));
	assert_true(cache_client_init(&client, sockets[1]));
	assert_int_equal(cache_client_store(&client, id(1), id(2), NULL), NN_OK);
	setsockopt(sockets[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	kill_keeper();
	/*
	 * The next keeper may not start yet, because the previous keeper started only a short time
	 * ago. The broker closes the socket from keeper_connect() at once.
	 */
	assert_false(keeper_revive(&keeper));
	assert_int_equal(cache_client_query(&own, id(7), id(8), &err), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "the engine's cache is gone");
	err.message[0] = '\0';
	assert_false(keeper_pass(&keeper, sockets[0], 1));
	assert_int_equal(cache_client_query(&client, id(1), id(2), &err), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "the engine's cache does not answer");
	setsockopt(sockets[1], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	keeper.started_ns = 0;
	assert_true(keeper_revive(&keeper));
	assert_true(keeper_pass(&keeper, sockets[0], 1));
	/*
	 * The client does not mistake a late answer to an earlier request for the answer to the
	 * current request.
	 */
	err.message[0] = '\0';
	assert_int_equal(cache_client_query(&client, id(1), id(3), &err), NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, "did not save the model file"));
	assert_int_equal(cache_client_query(&client, id(1), id(2), NULL), NN_OK);
	assert_int_equal(cache_client_store(&client, id(1), id(3), NULL), NN_OK);
	close(client.socket);
	close(sockets[0]);
	/* A request that a worker sends just before a new keeper starts reaches the new keeper. */
	own.socket = keeper_connect(&keeper);
	keeper.started_ns = 0;
	kill_keeper();
	assert_true(keeper_revive(&keeper));
	assert_int_equal(cache_client_query(&own, id(7), id(8), NULL), NN_OK);
	close(own.socket);
}

/*
 * Checks in /proc that each thread of the keeper has a seccomp filter, that no thread can gain
 * privileges, and that only the keeper's own files are open.
 */
static void test_sandbox(void **state)
{
	char path[64], line[256];
	const uint64_t wanted = 1 << (SIGTERM - 1) | 1 << (SIGINT - 1) | 1 << (SIGPIPE - 1);
	uint64_t blocked = UINT64_MAX, ignored = 0;
	int threads = 0, filtered = 0;
	struct cache_client client;
	struct dirent *entry;
	sigset_t all, old;
	FILE *status;
	DIR *tasks;

	(void)state;
	/* A keeper does not inherit the signals that its broker blocks. */
	keeper_stop(&keeper);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	assert_true(keeper_start(&keeper, &options));
	sigprocmask(SIG_SETMASK, &old, NULL);
	/*
	 * The keeper has started all threads and applied all restrictions before the keeper answers
	 * a request.
	 */
	client_of(&client, 1);
	assert_int_equal(cache_client_store(&client, id(1), id(1), NULL), NN_OK);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)keeper.pid);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)keeper.pid,
			 entry->d_name);
		status = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (status && fgets(line, sizeof(line), status)) {
			threads += !strncmp(line, "Name:", 5);
			filtered += !strcmp(line, "Seccomp:\t2\n") ||
				    !strcmp(line, "NoNewPrivs:\t1\n");
			/*
			 * Read the signal mask of the main thread, because the keeper's other
			 * threads block signals.
			 */
			if (atoi(entry->d_name) == keeper.pid)
				sscanf(line, "SigBlk: %" SCNx64, &blocked);
			sscanf(line, "SigIgn: %" SCNx64, &ignored);
		}
		if (status)
			fclose(status);
	}
	closedir(tasks);
	assert_true(threads >= 4);
	assert_int_equal(filtered, 2 * threads);
	/*
	 * The keeper ignores the signals that would end it, because only the keeper's broker may
	 * end it. The keeper may ignore more signals than `wanted`, if the shell or make that runs
	 * this test ignores them.
	 */
	assert_int_equal(blocked, 0);
	assert_int_equal(ignored & wanted, wanted);
	close(client.socket);
}

/*
 * The keeper shuts down a dropped client's socket, although the broker still has the socket open.
 */
static void test_shut_out(void **state)
{
	int sockets[2];
	char byte;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	assert_true(keeper_pass(&keeper, sockets[0], 1));
	assert_int_equal(send(sockets[1], "no request", 10, MSG_NOSIGNAL), 10);
	assert_int_equal(recv(sockets[1], &byte, 1, 0), 0);
	close(sockets[0]);
	close(sockets[1]);
}

/*
 * When the broker ends, the keeper finishes the requests that the keeper has received, and then
 * ends.
 */
static void test_ends_with_its_broker(void **state)
{
	int report[2], sockets[2], status;
	struct cache_client client;
	pid_t broker, orphan = 0;

	(void)state;
	keeper_stop(&keeper);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_true(cache_client_init(&client, sockets[1]));
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	broker = fork();
	if (!broker) {
		if (keeper_start(&keeper, &options) && keeper_pass(&keeper, sockets[0], 1) &&
		    write(report[1], &keeper.pid, sizeof(keeper.pid)) == sizeof(keeper.pid))
			pause();
		_exit(1);
	}
	assert_int_equal(read(report[0], &orphan, sizeof(orphan)), sizeof(orphan));
	close(sockets[0]);
	assert_int_equal(cache_client_store(&client, id(1), id(1), NULL), NN_OK);
	kill(broker, SIGKILL);
	assert_int_equal(waitpid(broker, &status, 0), broker);
	assert_int_equal(waitpid(orphan, &status, 0), orphan);
	assert_int_equal(status, 0);
	close(report[0]);
	close(report[1]);
	close(client.socket);
	assert_true(keeper_start(&keeper, &options));
	client_of(&client, 1);
	assert_int_equal(cache_client_query(&client, id(1), id(1), NULL), NN_OK);
	close(client.socket);
}

static void count_line(void *data, enum log_level level, const char *line)
{
	(void)level;
	(void)line;
	++*(int *)data;
}

/*
 * A keeper ends if the keeper's queue is so full that the broker cannot send the request to end.
 */
static void test_ends_behind(void **state)
{
	struct message request = { .kind = CACHE_STORE };
	struct cache_client client;
	int asks[2], fills[2], status, lines = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, asks), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fills), 0);
	assert_int_equal(kill(keeper.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(keeper.pid, &status, WUNTRACED), keeper.pid);
	memcpy(request.token, id(1), sizeof(request.token));
	memcpy(request.hash, id(2), sizeof(request.hash));
	assert_int_equal(send(asks[1], &request, sizeof(request), 0), sizeof(request));
	assert_true(keeper_pass(&keeper, asks[0], 1));
	while (keeper_pass(&keeper, fills[0], 1))
		;
	stopped = keeper.pid;
	log_set_sink(count_line, &lines);
	keeper_stop(&keeper);
	log_set_sink(NULL, NULL);
	stopped = 0;
	/* The broker logged no kill: the keeper finished the queued requests and ended. */
	assert_int_equal(lines, 0);
	assert_true(keeper_start(&keeper, &options));
	client_of(&client, 1);
	assert_int_equal(cache_client_query(&client, id(1), id(2), NULL), NN_OK);
	close(client.socket);
	for (int i = 0; i < 2; i++) {
		close(asks[i]);
		close(fills[i]);
	}
}

static uint32_t ask_to_clear(uint64_t uid, uint32_t kind, struct message *answer)
{
	uint32_t verdict;
	int file;

	verdict = ask_as_admin(uid, kind, answer, &file);
	assert_int_equal(file, -1);
	return verdict;
}

/* Only the keeper opens the index, so `nnaccel cache` asks the keeper for each user's entries. */
static void test_show(void **state)
{
	struct cache_report_user users[3];
	struct cache_client one, two;
	struct cache_report report;
	struct message answer;
	int file;

	(void)state;
	client_of(&one, 1);
	client_of(&two, 2);
	/* When the keeper answers a worker, it already listens for administrators. */
	assert_int_equal(cache_client_query(&one, id(1), id(1), NULL), NN_GENERAL_FAILURE);
	assert_int_equal(ask_as_admin(0, CACHE_SHOW, &answer, &file), CACHE_YES);
	assert_int_equal(answer.model_size, 0);
	assert_int_equal(lseek(file, 0, SEEK_END), sizeof(report));
	close(file);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(cache_client_store(&one, id(i % 2), id(i), NULL), NN_OK);
	assert_int_equal(cache_client_store(&two, id(1), id(1), NULL), NN_OK);
	assert_int_equal(ask_as_admin(0, CACHE_SHOW, &answer, &file), CACHE_YES);
	assert_int_equal(answer.model_size, 2);
	assert_int_equal(pread(file, &report, sizeof(report), 0), sizeof(report));
	assert_true(report.version[0]);
	assert_int_equal(pread(file, users, sizeof(users), sizeof(report)), 2 * sizeof(*users));
	close(file);
	assert_int_equal(users[0].uid, 1);
	assert_int_equal(users[0].tokens, 2);
	assert_int_equal(users[0].hashes, 3);
	assert_int_equal(users[0].plans, 0);
	assert_int_equal(users[1].uid, 2);
	assert_int_equal(users[1].hashes, 1);
	/* An administrator's request for a report (CACHE_SHOW) may not name a user. */
	assert_int_equal(ask_to_clear(1, CACHE_SHOW, &answer), 0);
	close(one.socket);
	close(two.socket);
}

/*
 * Only the keeper writes to the index. When the keeper clears entries, the keeper also drops the
 * cached answers to queries.
 */
static void test_clear(void **state)
{
	struct cache_client one, two;
	struct message answer;

	(void)state;
	client_of(&one, 1);
	client_of(&two, 2);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(cache_client_store(&one, id(i), id(i), NULL), NN_OK);
		assert_int_equal(cache_client_store(&two, id(i), id(i), NULL), NN_OK);
	}
	assert_int_equal(cache_client_query(&one, id(1), id(1), NULL), NN_OK);
	assert_int_equal(ask_to_clear(1, CACHE_CLEAR, &answer), CACHE_YES);
	assert_int_equal(answer.serial, 5);
	assert_int_equal(answer.model_size, 3);
	assert_int_equal(answer.data_size, 0);
	assert_int_equal(cache_client_query(&one, id(1), id(1), NULL), NN_GENERAL_FAILURE);
	assert_int_equal(cache_client_query(&two, id(1), id(1), NULL), NN_OK);
	assert_int_equal(ask_to_clear(CACHE_ALL_USERS, CACHE_CLEAR, &answer), CACHE_YES);
	assert_int_equal(answer.model_size, 3);
	assert_int_equal(cache_client_query(&two, id(1), id(1), NULL), NN_GENERAL_FAILURE);
	/*
	 * Administrators may not send workers' requests, and workers may not send administrators'
	 * requests.
	 */
	assert_int_equal(ask_to_clear(0, CACHE_DROP, &answer), 0);
	assert_int_equal(ask_to_clear(1ULL << 32, CACHE_CLEAR, &answer), 0);
	close(one.socket);
	close(two.socket);
}

/* The keeper drops stored hashes if a plug-in was added or replaced. */
static void test_plugins(void **state)
{
	char *files[] = { (char *)"a.so", NULL };
	const struct spawn_plugins plugins = { .folder = folder, .files = files, .count = 1 };
	struct cache_client client;
	char plugin[96];
	int open = 0;

	(void)state;
	snprintf(plugin, sizeof(plugin), "%s/a.so", folder);
	for (int i = 0; i < 4; i++) {
		FILE *f;

		/* A stopped keeper leaves no open file and no process. */
		keeper_stop(&keeper);
		if (!i)
			open = count_files();
		assert_int_equal(count_files(), open);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		f = fopen(plugin, "w");
		options.plugins = i ? &plugins : NULL;
		fprintf(f, "plug-in %d", i / 2);
		fclose(f);
		assert_true(keeper_start(&keeper, &options));
		client_of(&client, 1);
		/*
		 * The four rounds of the test run with no plug-in, the first plug-in, the second
		 * plug-in, and the second plug-in again.
		 */
		assert_int_equal(cache_client_query(&client, id(1), id(1), NULL),
				 i == 3 ? NN_OK : NN_GENERAL_FAILURE);
		assert_int_equal(cache_client_store(&client, id(1), id(1), NULL), NN_OK);
		close(client.socket);
	}
	options.plugins = NULL;
}

/* ---- another build ---- */

#define BUILD_ID_MAX 16
#define NOT_KNOWN 10
#define KNOWN 11

/*
 * Copies this program. With `is_other` the copy counts as another build, because one bit of its
 * build id differs.
 */
static int copy_program(bool is_other)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create("engine_cache_test", MFD_CLOEXEC);
	uint8_t id_bytes[BUILD_ID_MAX], *bytes, *found;
	char text[BUILD_ID_TEXT];
	size_t length = 0;
	struct stat st;

	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(ftruncate(to, st.st_size), 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (ssize_t n, at = 0; at < st.st_size; at += n) {
		n = read(from, bytes + at, (size_t)(st.st_size - at));
		assert_true(n > 0);
	}
	assert_true(build_id(text));
	while (length < BUILD_ID_MAX && sscanf(text + 2 * length, "%2hhx", &id_bytes[length]) == 1)
		length++;
	found = memmem(bytes, (size_t)st.st_size, id_bytes, length);
	assert_true(length >= 4 && found);
	found[0] ^= is_other;
	munmap(bytes, (size_t)st.st_size);
	close(from);
	return to;
}

/* Runs a copy of this program that queries and stores a hash; returns KNOWN or NOT_KNOWN. */
static int ask_copy(bool is_other)
{
	char name[] = "engine_cache_test", what[] = "ask";
	char *arguments[] = { name, what, folder, NULL };
	int program = copy_program(is_other), status;
	pid_t pid = fork();

	if (pid == 0) {
		fexecve(program, arguments, environ);
		_exit(127);
	}
	close(program);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Starts a keeper in the copy of this program; queries a hash, and stores the hash. */
static int ask_keeper(const char *of)
{
	struct cache_client client;
	char id_text[BUILD_ID_TEXT];
	enum nn_status known;
	int sockets[2];

	options.folder = of;
	options.engine = id_text;
	if (!build_id(id_text) || !keeper_start(&keeper, &options) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) ||
	    !keeper_pass(&keeper, sockets[0], 1) || !cache_client_init(&client, sockets[1]))
		return 1;
	close(sockets[0]);
	known = cache_client_query(&client, id(1), id(1), NULL);
	if (cache_client_store(&client, id(1), id(1), NULL))
		return 2;
	close(sockets[1]);
	keeper_stop(&keeper);
	options.engine = "test";
	return known ? NOT_KNOWN : KNOWN;
}

/* An entry that one build stored is not valid for another build. */
static void test_other_build(void **state)
{
	(void)state;
	keeper_stop(&keeper);
	assert_int_equal(ask_keeper(folder), NOT_KNOWN);
	assert_int_equal(ask_copy(false), KNOWN);
	assert_int_equal(ask_copy(true), NOT_KNOWN);
	assert_int_equal(ask_copy(true), KNOWN);
	assert_int_equal(ask_copy(false), NOT_KNOWN);
	assert_int_equal(ask_keeper(folder), KNOWN);
}

static void test_no_keeper(void **state)
{
	struct cache_client client;
	struct nn_error err = { "" };

	(void)state;
	options.folder = folder;
	options.engine = "";
	assert_false(keeper_start(&keeper, &options));
	options.engine = "test";
	options.folder = "/proc/nowhere";
	assert_false(keeper_start(&keeper, &options));
	assert_false(keeper_pass(&keeper, 0, 1));
	options.folder = NULL;
	assert_false(keeper_start(&keeper, &options));
	keeper_stop(&keeper);
	assert_true(cache_client_init(&client, -1));
	assert_int_equal(cache_client_store(&client, id(1), id(2), &err), NN_GENERAL_FAILURE);
	assert_true(err.message[0]);
}

static int files;

static int begin_index(void **state)
{
	int result = make_folder(state);

	files = count_files();
	return result;
}

/* After the index has been closed, no file of the index is open. */
static int end_index(void **state)
{
	return remove_folder(state) || count_files() != files;
}

#define INDEX(name) cmocka_unit_test_setup_teardown(test_##name, begin_index, end_index)
#define KEEPER(name) cmocka_unit_test_setup_teardown(test_##name, start_keeper, stop_keeper)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		INDEX(knows_what_was_stored),
		INDEX(hashes_of_a_token),
		INDEX(uses_in_a_batch),
		INDEX(hashes_of_a_user),
		INDEX(stored_again),
		INDEX(many_queries),
		INDEX(rolled_back),
		INDEX(hashes_of_all),
		INDEX(count_is_interrupted),
		INDEX(removed_hashes),
		INDEX(cleared_by_another),
		INDEX(other_version),
		INDEX(not_a_database),
		INDEX(another_schema),
		INDEX(damaged_anywhere),
		INDEX(cut_short),
		INDEX(killed_anywhere),
		INDEX(disk_errors),
		heap_unit_test(test_no_folder),
		heap_unit_test(test_requests),
		heap_unit_test(test_digest),
		heap_unit_test(test_digest_of_a_file),
		KEEPER(keeper),
		KEEPER(hostile_workers),
		KEEPER(random_requests),
		KEEPER(too_many_stores),
		KEEPER(many_workers),
		KEEPER(keeper_dies),
		KEEPER(shut_out),
		KEEPER(ends_with_its_broker),
		KEEPER(ends_behind),
		KEEPER(show),
		KEEPER(clear),
		KEEPER(sandbox),
		KEEPER(plugins),
		KEEPER(other_build),
		heap_unit_test(test_no_keeper),
	};

	be_keeper(argc, argv);
	if (argc == 3 && !strcmp(argv[1], "be-killed"))
		return be_victim(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "be-refused"))
		return be_victim(argv[2], true);
	if (argc == 3 && !strcmp(argv[1], "ask"))
		return ask_keeper(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
