/* SPDX-License-Identifier: MIT */
/*
 * Tests the compilation cache that the engine stores itself: the store of entries, and the keeper.
 * The store runs in this process, or in processes that the test kills, each at a different system
 * call.
 *
 * With _FORTIFY_SOURCE, headers may define pread() inline, and clang does not accept a second
 * definition.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "../../selftests/lib/runner.h"
#include "engine/keeper/blob_store.h"
#include "kit/api/store.h"
#include "kit/cache/message.h"
#include "tests/keeper_fixture.h"
#include "tests/killing.h"

#define VERSION "some engine"
#define PAGE BLOB_PAGE
#define MODEL 100
#define ENTRY (MODEL + PAGE)
#define SIZES(model, data) ((struct blob){ .model_size = model, .data_size = data })

/*
 * Number of times that the test kills the keeper. In every second run, one of FULL_ONE_IN writes
 * fails as if the disk were full.
 */
#define KILLS how_often(300, 40)
#define FULL_ONE_IN 6

/*
 * Number of entries that fit into the store of the killed process. The store is full when the test
 * kills the process of the store.
 */
#define FITTING 3

static struct cache_index *index_;
static struct blob_store *store;
static struct blob_limits limits = { 10 * ENTRY, 4 * ENTRY };

static void open_store(void)
{
	index_ = cache_index_open(folder, VERSION, "");
	assert_non_null(index_);
	store = blob_store_open(index_, folder, &limits);
	assert_non_null(store);
}

static void close_store(void)
{
	blob_store_close(store);
	cache_index_close(index_);
}

static int set_up(void **state)
{
	if (make_folder(state))
		return -1;
	open_store();
	return 0;
}

static int tear_down(void **state)
{
	close_store();
	return remove_folder(state);
}

static const char *plans(void)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/" BLOB_FOLDER, folder);
	return path;
}

static const uint8_t *key_of(uint32_t number)
{
	static uint8_t key[DIGEST_SIZE];

	memset(key, 0, sizeof(key));
	memcpy(key + 3, &number, sizeof(number));
	return key;
}

/* The bytes of an entry are computed from the entry's number. */
static void fill(uint8_t bytes[ENTRY], uint32_t number)
{
	for (size_t i = 0; i < ENTRY; i++)
		bytes[i] = (uint8_t)(number * 31 + i * 7);
}

/* Stores an entry on one thread; the keeper divides the work of storing among threads. */
static bool put_blob(uint32_t uid, uint32_t number, const void *bytes, const struct blob *blob)
{
	struct blob_work work;

	if (!blob_store_put(store, uid, key_of(number), bytes, blob, &work))
		return false;
	blob_work_run(&work);
	return blob_store_end(store, &work);
}

static bool put_bytes(uint32_t uid, uint32_t number, const void *bytes, uint64_t model,
		      uint64_t data)
{
	return put_blob(uid, number, bytes, &SIZES(model, data));
}

static bool put(uint32_t uid, uint32_t number)
{
	uint8_t bytes[ENTRY];

	fill(bytes, number);
	return put_bytes(uid, number, bytes, MODEL, PAGE);
}

/* Puts an entry into the engine's own store; the entry's bytes follow from `contents`. */
static bool put_own(uint32_t uid, uint32_t number, uint32_t contents)
{
	const struct blob blob = { .model_size = MODEL, .data_size = PAGE, .is_own = true };
	uint8_t bytes[ENTRY];

	fill(bytes, contents);
	return blob_store_wants(store, uid, key_of(number), &blob) &&
	       put_blob(uid, number, bytes, &blob);
}

/*
 * Returns 1 if an entry has the bytes that put_own() stores for `contents`, 0 if there is no entry,
 * or -1 if the entry has wrong bytes.
 */
static int get_as(uint32_t uid, uint32_t number, uint32_t contents)
{
	uint8_t bytes[ENTRY], found[ENTRY + 1], hash[DIGEST_SIZE];
	struct blob_work work;
	const struct blob *blob = &work.blob;
	ssize_t n;

	if (!blob_store_get(store, uid, key_of(number), &work))
		return 0;
	if (!work.done) {
		blob_work_run(&work);
		if (!blob_store_end(store, &work))
			return 0;
	}
	n = pread(work.file, found, sizeof(found), 0);
	close(work.file);
	fill(bytes, contents);
	digest(bytes + PAGE, MODEL, hash);
	return n == ENTRY && !memcmp(bytes, found, ENTRY) && blob->model_size == MODEL &&
	       blob->data_size == PAGE && !memcmp(hash, blob->model_hash, sizeof(hash)) ? 1 : -1;
}

static int get(uint32_t uid, uint32_t number)
{
	return get_as(uid, number, number);
}

static unsigned int count_files(void)
{
	DIR *d = opendir(plans());
	const struct dirent *e;
	unsigned int count = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		count += e->d_name[0] != '.';
	closedir(d);
	return count;
}

/* Opens the only file of the store. */
static int only_file(int flags)
{
	DIR *d = opendir(plans());
	const struct dirent *e;
	int fd = -1;

	assert_int_equal(count_files(), 1);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			fd = openat(dirfd(d), e->d_name, flags);
	closedir(d);
	assert_true(fd >= 0);
	return fd;
}

/* ---- the store ---- */

static void test_put_and_get(void **state)
{
	(void)state;
	assert_int_equal(get(1, 1), 0);
	assert_true(blob_store_wants(store, 1, key_of(1), &SIZES(MODEL, PAGE)));
	assert_true(put(1, 1));
	assert_false(blob_store_wants(store, 1, key_of(1), &SIZES(MODEL, PAGE)));
	assert_true(put(2, 2));
	for (int again = 0; again < 2; again++) {
		assert_int_equal(get(1, 1), 1);
		assert_int_equal(get(2, 2), 1);
		assert_int_equal(get(1, 2), 0);
		assert_int_equal(get(2, 1), 0);
		close_store();
		open_store();
	}
	blob_store_drop(store, 2, key_of(1));
	assert_int_equal(get(1, 1), 1);
	blob_store_drop(store, 1, key_of(1));
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(count_files(), 1);
}

/*
 * Tests whether plans of different sizes fit into the limits for one user and for all users
 * together.
 */
static void test_sizes(void **state)
{
#define BOUNDS { 10 * ENTRY, 4 * ENTRY }
#define LARGE { 4 * BLOB_MAX_MODEL, 3 * BLOB_MAX_MODEL }
#define FEW { 2 * ENTRY, 4 * ENTRY }
	const struct {
		struct blob_limits limits;
		uint64_t model, data;
		bool wanted;
	} cases[] = {
		{ BOUNDS, 0, PAGE, false }, { BOUNDS, 1, 0, true }, { BOUNDS, 1, PAGE - 1, false },
		{ BOUNDS, 1, PAGE + 1, false }, { BOUNDS, MODEL, PAGE, true },
		{ BOUNDS, 4 * ENTRY, 0, true }, { BOUNDS, 4 * ENTRY + 1, 0, false },
		{ BOUNDS, 4 * ENTRY - PAGE, PAGE, true },
		{ BOUNDS, 4 * ENTRY - PAGE + 1, PAGE, false },
		{ BOUNDS, UINT64_MAX, 0, false }, { BOUNDS, 1, UINT64_MAX - PAGE + 1, false },
		{ BOUNDS, UINT64_MAX, UINT64_MAX - PAGE + 1, false },
		{ BOUNDS, 1, UINT64_MAX / PAGE * PAGE, false },
		{ LARGE, BLOB_MAX_MODEL, 0, true }, { LARGE, BLOB_MAX_MODEL + 1, 0, false },
		{ LARGE, BLOB_MAX_MODEL, 2 * BLOB_MAX_MODEL, true },
		{ LARGE, BLOB_MAX_MODEL, 2 * BLOB_MAX_MODEL + PAGE, false },
		{ FEW, 2 * ENTRY, 0, true }, { FEW, 2 * ENTRY + 1, 0, false },
		{ FEW, 2 * ENTRY - PAGE, PAGE, true }, { FEW, 2 * ENTRY - PAGE + 1, PAGE, false },
		{ FEW, 1, 4 * PAGE, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct blob_store *other = blob_store_open(index_, folder, &cases[i].limits);

		assert_non_null(other);
		assert_int_equal(blob_store_user_bytes(other), cases[i].limits.bytes_per_user);
		if (blob_store_wants(other, 1, key_of(1), &SIZES(cases[i].model, cases[i].data)) !=
		    cases[i].wanted)
			fail_msg("case %zu", i);
		blob_store_close(other);
	}
#undef BOUNDS
#undef LARGE
#undef FEW
}

/*
 * A user may have 4 plans, and all users together 10 plans; the least recently used plans are
 * removed.
 */
static void test_limits(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_true(put(1, i));
	assert_int_equal(get(1, 0), 1);
	assert_true(put(1, 4));
	/*
	 * The store writes the time of a plan's last use to the index when it stores the next
	 * entry.
	 */
	assert_int_equal(get(1, 4), 1);
	assert_int_equal(count_files(), 4);
	for (uint32_t uid = 2; uid < 5; uid++)
		for (uint32_t i = 0; i < 4; i++)
			assert_true(put(uid, i));
	assert_int_equal(count_files(), 10);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(get(4, i), 1);
	assert_int_equal(get(1, 4), 0);
}

/*
 * The limits hold even if workers store plans at the same time, although the index does not yet
 * contain plans that are still being stored.
 */
static void test_limits_at_once(void **state)
{
	enum { USERS = 3, PUTS = 6 };
	struct blob_work works[USERS * PUTS];
	uint8_t bytes[ENTRY];

	for (int in_batch = 0; in_batch < 2; in_batch++) {
		for (uint32_t i = 0; i < USERS * PUTS; i++)
			assert_true(blob_store_put(store, i / PUTS, key_of(i), bytes,
						   &SIZES(MODEL, PAGE), &works[i]));
		assert_true(!in_batch || cache_index_begin(index_));
		for (uint32_t i = 0; i < USERS * PUTS; i++) {
			fill(bytes, i);
			blob_work_run(&works[i]);
			assert_true(blob_store_end(store, &works[i]));
		}
		assert_true(!in_batch || cache_index_commit(index_));
		if (in_batch)
			blob_store_committed(store);
		/* The last two users have 4 plans each, and the first user has the remaining 2. */
		assert_int_equal(count_files(), 10);
		for (uint32_t i = 0; i < USERS * PUTS; i++)
			assert_int_equal(get(i / PUTS, i), i % PUTS >= (i < PUTS ? PUTS - 2 : PUTS - 4));
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
	}
}

static void test_uses(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_true(put(1, i));
	assert_int_equal(get(1, 0), 1);
	cache_index_flush(index_);
	assert_true(put(1, 4));
	assert_int_equal(get(1, 0), 1);
	assert_int_equal(get(1, 1), 0);
}

static void test_many_entries(void **state)
{
	uint8_t bytes[1] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < BLOB_PER_USER + 5; i++)
		assert_true(put_bytes(1, i, bytes, 1, 0));
	assert_int_equal(count_files(), BLOB_PER_USER);
}

/* If an SQL statement of a transaction fails, the rest of the transaction is skipped. */
static void test_failed_batch(void **state)
{
	const uint8_t token[CACHE_TOKEN_SIZE] = { 1 };

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		assert_true(put(1, i));
	assert_true(cache_index_begin(index_));
	assert_int_equal(cache_index_store(index_, 1, token, key_of(9)), CACHE_YES);
	assert_int_equal(cache_index_query(index_, 1, token, key_of(9)), CACHE_YES);
	blob_store_drop(store, 1, key_of(1));
	assert_int_equal(cache_index_failed(index_, SQLITE_FULL), CACHE_FAILED);
	blob_store_drop(store, 1, key_of(2));
	assert_false(put(1, 4));
	assert_int_equal(cache_index_store(index_, 1, token, key_of(9)), CACHE_FAILED);
	for (uint32_t i = 0; i < 100; i++)
		cache_index_used(index_, 1);
	assert_false(cache_index_commit(index_));
	blob_store_rolled_back(store);
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(get(1, i), 1);
	assert_int_equal(cache_index_query(index_, 1, token, key_of(9)), CACHE_NO);
	assert_int_equal(count_files(), 3);
	/* A transaction after the failed transaction succeeds. */
	assert_true(cache_index_begin(index_));
	blob_store_drop(store, 1, key_of(1));
	assert_true(cache_index_commit(index_));
	blob_store_committed(store);
	assert_int_equal(count_files(), 2);
	assert_true(put(1, 4));
}

/* The store drops an entry whose file is missing, too short, too long or changed. */
static void test_damaged_files(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		uint8_t byte;
		int fd;

		assert_true(put(1, 1));
		assert_int_equal(get(1, 1), 1);
		close_store();
		fd = only_file(O_RDWR);
		switch (i) {
		case 0:
			remove_folder(NULL);
			break;
		case 1:
			assert_int_equal(ftruncate(fd, ENTRY - 1), 0);
			break;
		case 2:
			assert_int_equal(ftruncate(fd, ENTRY + 1), 0);
			break;
		default:
			/*
			 * The store verifies only the data part of an entry, because the worker
			 * verifies the model part.
			 */
			assert_int_equal(pread(fd, &byte, 1, i == 3 ? 0 : PAGE - 1), 1);
			byte ^= 4;
			assert_int_equal(pwrite(fd, &byte, 1, i == 3 ? 0 : PAGE - 1), 1);
		}
		close(fd);
		if (i == 0)
			assert_int_equal(mkdir(folder, 0700), 0);
		open_store();
		assert_int_equal(get(1, 1), 0);
		assert_int_equal(count_files(), 0);
		assert_true(blob_store_wants(store, 1, key_of(1), &SIZES(MODEL, PAGE)));
	}
}

/*
 * After an entry's file was verified, the test damages both sizes in the entry's row without
 * changing the sum of the sizes.
 */
static void test_sizes_that_wrap(void **state)
{
	(void)state;
	assert_true(put(1, 1));
	assert_int_equal(get(1, 1), 1);
	assert_int_equal(sqlite3_exec(cache_index_db(index_), "UPDATE plan SET model_size = "
				      "model_size + data_size + 4096, data_size = -4096", NULL,
				      NULL, NULL), 0);
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(count_files(), 0);
}

/* Checks the store; returns the number of faults, and copies the report's first line to `line`. */
static uint64_t count_faults(char line[128])
{
	int report = memfd_create("report", MFD_CLOEXEC);
	uint64_t found, faults;
	struct blob_work work;
	ssize_t n;

	assert_true(blob_store_check(store, report, &work));
	blob_work_run(&work);
	blob_store_end_check(store, &work, &found, &faults);
	n = pread(report, line, 127, 0);
	line[n < 0 ? 0 : n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	close(report);
	assert_int_equal(found, 2);
	return faults;
}

/* A check of the store reports exactly the faults that exist. */
static void test_check(void **state)
{
	static const struct {
		const char *fault, *sql;
		off_t at;		/* offset of the byte that the test changes; -1 for none */
	} cases[] = {
		{ "its data part is damaged", NULL, 5 },
		{ "its model part is damaged", NULL, ENTRY - 1 },
		{ "its file has another size", "UPDATE plan SET model_size = 99 WHERE uid = 1", -1 },
		{ "its file has another size", "UPDATE plan SET model_size = model_size + data_size + "
		  "4096, data_size = -4096 WHERE uid = 1", -1 },
		{ "its hashes have a wrong length", "UPDATE plan SET data_hash = 'x' WHERE uid = 1", -1 },
		{ "its file does not exist", "UPDATE plan SET file = 77 WHERE uid = 1", -1 },
		{ "the index: ", "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'plan_by_user'; "
		  "PRAGMA writable_schema = RESET", -1 },
	};
	uint8_t bytes[ENTRY], byte;
	struct blob_work work;
	char line[128], path[160];
	int fd;

	(void)state;
	fill(bytes, 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(put(1, 1));
		/* Open the file of the first entry while the store has no other file. */
		fd = only_file(O_RDWR);
		assert_true(put(2, 2));
		assert_int_equal(count_faults(line), 0);
		/* A file that is still being written is not reported as a fault. */
		assert_true(blob_store_put(store, 1, key_of(3), bytes, &SIZES(MODEL, PAGE), &work));
		blob_work_run(&work);
		assert_int_equal(count_faults(line), 0);
		/*
		 * If the transaction that ends a put is rolled back, blob_store_abandon() can still
		 * abandon the put.
		 */
		assert_true(cache_index_begin(index_));
		assert_true(blob_store_end(store, &work));
		cache_index_failed(index_, SQLITE_FULL);
		assert_false(cache_index_commit(index_));
		blob_store_rolled_back(store);
		blob_store_abandon(store, &work);
		if (cases[i].sql) {
			assert_int_equal(sqlite3_exec(cache_index_db(index_), cases[i].sql, NULL,
						      NULL, NULL), 0);
		} else {
			assert_int_equal(pread(fd, &byte, 1, cases[i].at), 1);
			byte ^= 1;
			assert_int_equal(pwrite(fd, &byte, 1, cases[i].at), 1);
		}
		close(fd);
		/*
		 * A damaged row that names a wrong file causes a second fault: a file without a
		 * row.
		 */
		assert_int_equal(count_faults(line), strstr(cases[i].fault, "not exist") ? 2 : 1);
		if (!strstr(line, cases[i].fault))
			fail_msg("%s: %s", cases[i].fault, line);
		close_store();
		remove_folder(NULL);
		assert_int_equal(mkdir(folder, 0700), 0);
		open_store();
	}
	assert_true(put(1, 1) && put(2, 2));
	snprintf(path, sizeof(path), "%s/88", plans());
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(count_faults(line), 1);
	assert_string_equal(line, "1 files have no plan, of which 0 are being written");
}

/* While `is_bad_sector` is set, pread() fails as for a bad sector of the disk. */
static bool is_bad_sector;

__attribute__((visibility("default"))) ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	errno = EIO;
	return is_bad_sector ? -1 : syscall(SYS_pread64, fd, bytes, size, at);
}

/* A plan that cannot be read any more is dropped, and is reported by a check. */
static void test_unreadable(void **state)
{
	int report = memfd_create("report", MFD_CLOEXEC);
	uint64_t found, faults;
	struct blob_work work;
	char path[160];

	(void)state;
	assert_true(put(1, 1));
	assert_true(blob_store_check(store, report, &work));
	is_bad_sector = true;
	blob_work_run(&work);
	is_bad_sector = false;
	blob_store_end_check(store, &work, &found, &faults);
	close(report);
	assert_int_equal(faults, 1);
	assert_true(blob_store_get(store, 1, key_of(1), &work));
	assert_false(work.done);
	/* Reading a mapped page beyond the end of the file raises SIGBUS, as a bad sector does. */
	snprintf(path, sizeof(path), "%s/1", plans());
	assert_int_equal(truncate(path, 0), 0);
	blob_work_run(&work);
	assert_false(blob_store_end(store, &work));
	assert_int_equal(count_files(), 0);
}

/* If a damaged plan is removed while a check of the store runs, the check reports no fault. */
static void test_check_of_what_goes(void **state)
{
	int report = memfd_create("report", MFD_CLOEXEC), fd;
	uint64_t found, faults;
	struct blob_work work;
	char line[128] = "";

	(void)state;
	for (int goes = 0; goes < 2; goes++) {
		assert_true(put(1, 1));
		fd = only_file(O_RDWR);
		assert_int_equal(pwrite(fd, "damaged", 7, 0), 7);
		close(fd);
		assert_true(blob_store_check(store, report, &work));
		blob_work_run(&work);
		if (goes)
			assert_true(blob_store_drop(store, 1, key_of(1)));
		blob_store_end_check(store, &work, &found, &faults);
		assert_int_equal(found, 1);
		assert_int_equal(faults, !goes);
		blob_store_drop(store, 1, key_of(1));
	}
	assert_true(pread(report, line, sizeof(line) - 1, 0) > 0);
	assert_non_null(strstr(line, " of uid 1: its data part is damaged\n"));
	close(report);
}

static void test_strange_files(void **state)
{
	static const char *const names[] = { "1", "007", "-5", "tmp", "99999999999999999999" };
	char path[160];

	(void)state;
	close_store();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", plans(), names[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	open_store();
	assert_int_equal(count_files(), 0);
}

static void test_other_version(void **state)
{
	(void)state;
	assert_true(put(1, 1));
	close_store();
	index_ = cache_index_open(folder, "another", "");
	store = blob_store_open(index_, folder, &limits);
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(count_files(), 0);
	assert_true(put(1, 1));
	assert_int_equal(get(1, 1), 1);
}

/* ---- the engine's own store ---- */

static void reopen(const char *version, const char *identity)
{
	close_store();
	index_ = cache_index_open(folder, version, identity);
	store = blob_store_open(index_, folder, &limits);
	assert_non_null(store);
}

/*
 * An entry of the engine's own store stays valid for a new build, but not for an engine with
 * another identity. A new entry replaces an existing entry of the same key.
 */
static void test_own(void **state)
{
	(void)state;
	assert_false(put_own(1, 1, 1));
	reopen(VERSION, "library 1");
	assert_true(put(1, 1));
	assert_true(put_own(1, 2, 2));
	assert_int_equal(get(1, 2), 1);
	assert_int_equal(get(2, 2), 0);
	assert_true(put_own(1, 2, 3));
	assert_int_equal(get_as(1, 2, 3), 1);
	assert_int_equal(count_files(), 2);
	reopen("another", "library 1");
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(get_as(1, 2, 3), 1);
	assert_int_equal(count_files(), 1);
	reopen("another", "library 2");
	assert_int_equal(get_as(1, 2, 3), 0);
	assert_int_equal(count_files(), 0);
	assert_true(put_own(1, 2, 4));
	reopen("another", "");
	assert_int_equal(count_files(), 0);
	assert_false(put_own(1, 2, 4));
}

/*
 * An older build, which did not support the engine's own store, has written the index. When the
 * current build opens the index, all plans remain valid.
 */
static void test_own_in_an_old_index(void **state)
{
	(void)state;
	assert_true(put(1, 1));
	assert_int_equal(sqlite3_exec(cache_index_db(index_), "DROP VIEW usable; ALTER TABLE plan "
				      "DROP COLUMN identity", NULL, NULL, NULL), 0);
	reopen(VERSION, "library 1");
	assert_int_equal(get(1, 1), 1);
	assert_true(put_own(1, 2, 2));
	assert_int_equal(get(1, 2), 1);
}

/*
 * A user may have 4 entries, plans and own entries together; a fifth entry evicts the least
 * recently used entry.
 */
static void test_own_evicted(void **state)
{
	(void)state;
	reopen(VERSION, "library 1");
	assert_true(put(1, 0) && put_own(1, 1, 1) && put(1, 2) && put_own(1, 3, 3));
	assert_int_equal(get(1, 0), 1);
	assert_true(put_own(1, 4, 4));
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(get(1, 0), 1);
	assert_true(put(1, 5));
	assert_int_equal(get(1, 2), 0);
	for (uint32_t i = 3; i < 6; i++)
		assert_int_equal(get(1, i), 1);
	/* Replacing an entry of a user with 4 entries evicts no other entry. */
	assert_true(put_own(1, 4, 7));
	assert_int_equal(get_as(1, 4, 7), 1);
	assert_int_equal(get(1, 0), 1);
	assert_int_equal(get(1, 3), 1);
	assert_int_equal(get(1, 5), 1);
}

/* Puts 30 entries under three keys in turn; `contents` and the key determine an entry's bytes. */
static bool put_often(uint32_t contents)
{
	bool put_all = true;

	for (uint32_t i = 0; i < 30 && put_all; i++) {
		put_all = cache_index_begin(index_) && put_own(1, i % 3, contents + i % 3) &&
			  cache_index_commit(index_);
		blob_store_committed(store);
	}
	return put_all;
}

/*
 * If two processes put entries with the same keys at the same time, the store has for each key a
 * complete entry of one process.
 */
static void test_own_of_two_processes(void **state)
{
	int ready[2], status;
	char byte = 0;
	pid_t other;

	(void)state;
	close_store();
	assert_int_equal(pipe(ready), 0);
	other = fork();
	index_ = cache_index_open(folder, VERSION, "library 1");
	store = blob_store_open(index_, folder, &limits);
	if (!other) {
		byte = store && write(ready[1], &byte, 1) == 1 && put_often(100);
		close_store();
		_exit(!byte);
	}
	/*
	 * Opening a store removes files without an entry, even files that another process is
	 * writing.
	 */
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_true(put_often(200));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(get_as(1, i, 100 + i) == 1 || get_as(1, i, 200 + i) == 1);
	assert_int_equal(count_files(), 3);
	close(ready[0]);
	close(ready[1]);
}

/*
 * A query does not find an entry while the entry is being stored. If the engine restarts while an
 * entry is being stored, the index has no row for the entry.
 */
static void test_interrupted(void **state)
{
	uint8_t bytes[ENTRY];
	struct blob_work work;

	(void)state;
	fill(bytes, 1);
	assert_true(blob_store_put(store, 1, key_of(1), bytes, &SIZES(MODEL, PAGE), &work));
	assert_int_equal(get(1, 1), 0);
	blob_work_run(&work);
	assert_int_equal(get(1, 1), 0);
	assert_true(blob_store_end(store, &work));
	assert_int_equal(get(1, 1), 1);
	assert_true(blob_store_put(store, 1, key_of(2), bytes, &SIZES(MODEL, PAGE), &work));
	blob_work_run(&work);
	assert_int_equal(sqlite3_exec(cache_index_db(index_), "DELETE FROM plan; UPDATE meta SET "
				      "value = '0' WHERE key = 'next_file'", NULL, NULL, NULL), 0);
	assert_false(blob_store_end(store, &work));
	assert_int_equal(get(1, 2), 0);
}

/*
 * If two workers of a user store the same plan at the same time, the store keeps one plan, and
 * still serves other requests.
 */
static void test_same_twice(void **state)
{
	const uint8_t token[CACHE_TOKEN_SIZE] = { 1 };
	struct blob_work first, second;
	uint8_t bytes[ENTRY];

	(void)state;
	fill(bytes, 1);
	assert_true(blob_store_put(store, 1, key_of(1), bytes, &SIZES(MODEL, PAGE), &first));
	assert_true(blob_store_put(store, 1, key_of(1), bytes, &SIZES(MODEL, PAGE), &second));
	blob_work_run(&first);
	blob_work_run(&second);
	assert_true(cache_index_begin(index_));
	assert_int_equal(cache_index_store(index_, 2, token, key_of(9)), CACHE_YES);
	assert_true(blob_store_end(store, &first));
	assert_false(blob_store_end(store, &second));
	assert_false(cache_index_batch_failed(index_));
	assert_true(cache_index_commit(index_));
	blob_store_committed(store);
	assert_int_equal(cache_index_query(index_, 2, token, key_of(9)), CACHE_YES);
	assert_int_equal(get(1, 1), 1);
	assert_int_equal(count_files(), 1);
}

/*
 * If an index is damaged while plans are written, a new index replaces the index. The new index
 * continues the numbering of files where the damaged index ended.
 */
static void test_replaced(void **state)
{
	uint8_t bytes[ENTRY], others[ENTRY];
	struct blob_work before, after;
	bool kept;

	(void)state;
	fill(bytes, 1);
	fill(others, 2);
	assert_true(blob_store_put(store, 1, key_of(1), bytes, &SIZES(MODEL, PAGE), &before));
	assert_int_equal(cache_index_failed(index_, SQLITE_CORRUPT), CACHE_FAILED);
	assert_true(blob_store_put(store, 2, key_of(2), others, &SIZES(MODEL, PAGE), &after));
	assert_int_not_equal(before.number, after.number);
	blob_work_run(&before);
	kept = blob_store_end(store, &before);
	blob_work_run(&after);
	assert_true(blob_store_end(store, &after));
	assert_int_equal(get(1, 1), kept);
	assert_int_equal(get(2, 2), 1);
	/*
	 * After a restart, a new index does not know the numbers of the old files, and new plans
	 * replace the old files.
	 */
	close_store();
	open_store();
	assert_int_equal(cache_index_failed(index_, SQLITE_CORRUPT), CACHE_FAILED);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(put(1, i));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(get(1, i), 1);
}

/*
 * After a new index has replaced a damaged index, a new file must be verified even if an old file
 * with the same number was verified.
 */
static void test_replaced_verified(void **state)
{
	DIR *d;
	const struct dirent *e;
	char last[24] = "";
	int fd;

	(void)state;
	assert_true(put(1, 1));
	assert_int_equal(get(1, 1), 1);
	assert_int_equal(cache_index_failed(index_, SQLITE_CORRUPT), CACHE_FAILED);
	assert_true(put(1, 2));
	d = opendir(plans());
	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, last) > 0)
			snprintf(last, sizeof(last), "%.20s", e->d_name);
	fd = openat(dirfd(d), last, O_WRONLY);
	assert_true(fd >= 0);
	closedir(d);
	assert_int_equal(pwrite(fd, "damage", 6, 0), 6);
	close(fd);
	assert_int_equal(get(1, 2), 0);
}

/*
 * After an engine of another version has opened the index, an engine of the old version can neither
 * read nor store entries.
 */
static void test_taken_over(void **state)
{
	uint8_t bytes[ENTRY];
	struct blob_work work;
	struct cache_index *other;

	(void)state;
	assert_true(put(1, 1));
	assert_true(blob_store_put(store, 1, key_of(2), bytes, &SIZES(MODEL, PAGE), &work));
	blob_work_run(&work);
	other = cache_index_open(folder, "another", "");
	assert_false(blob_store_end(store, &work));
	assert_int_equal(get(1, 1), 0);
	assert_false(blob_store_wants(store, 1, key_of(3), &SIZES(MODEL, PAGE)));
	assert_false(cache_index_is_current(index_));
	assert_true(cache_index_is_current(other));
	cache_index_close(other);
}

/* If a transaction makes the database too large, SQLite rolls the transaction back by itself. */
static void test_full_batch(void **state)
{
	uint8_t bytes[ENTRY], hash[DIGEST_SIZE] = { 0 };
	struct blob_work work;
	uint64_t count;
	uint32_t i = 0;

	(void)state;
	for (uint32_t number = 1; number <= 3; number++)
		assert_true(put(1, number));
	fill(bytes, 4);
	assert_true(cache_index_begin(index_));
	blob_store_drop(store, 1, key_of(1));
	/* The limit of one page prevents the database from growing. */
	assert_int_equal(sqlite3_exec(cache_index_db(index_), "PRAGMA max_page_count = 1", NULL,
				      NULL, NULL), 0);
	while (cache_index_store(index_, 1, key_of(i), hash) == CACHE_YES)
		i++;
	assert_true(cache_index_batch_failed(index_));
	assert_false(blob_store_clear(store, 1, &count));
	assert_false(cache_index_clear(index_, 1, &count));
	assert_false(blob_store_put(store, 1, key_of(4), bytes, &SIZES(MODEL, PAGE), &work));
	assert_int_equal(get(1, 3), 0);
	assert_false(cache_index_commit(index_));
	assert_false(cache_index_batch_failed(index_));
	blob_store_rolled_back(store);
	for (uint32_t number = 1; number <= 3; number++)
		assert_int_equal(get(1, number), 1);
	assert_int_equal(count_files(), 3);
	assert_int_equal(cache_index_query(index_, 1, key_of(0), hash), CACHE_NO);
}

/* ---- killed, or failed by the disk, at every system call ---- */

/* Runs in the process that the test kills: puts an entry into a store that is full. */
static int be_victim(const char *in, bool opening)
{
	strcpy(folder, in);
	limits = (struct blob_limits){ FITTING * ENTRY, FITTING * ENTRY };
	if (!digest_init())
		return 1;
	if (opening)
		killing_mark();
	index_ = cache_index_open(folder, VERSION, "");
	store = index_ ? blob_store_open(index_, folder, &limits) : NULL;
	if (!store)
		return KILLING_REFUSED;
	if (!opening)
		killing_mark();
	if (!put(1, FITTING))
		return KILLING_REFUSED;
	killing_acknowledge();
	killing_mark();
	close_store();
	return 0;
}

static void prepare_victim(void)
{
	remove_folder(NULL);
	assert_int_equal(mkdir(folder, 0700), 0);
	open_store();
	for (uint32_t i = 0; i < FITTING; i++)
		assert_true(put(1, i));
	close_store();
}

/*
 * Checks that each entry is complete or absent, that each file belongs to an entry, and that the
 * store still stores entries.
 */
static void check_survival(bool acknowledged)
{
	unsigned int there = 0;

	open_store();
	for (uint32_t i = 0; i <= FITTING; i++) {
		int found = get(1, i);

		assert_true(found >= 0);
		there += (unsigned int)found;
	}
	/* At most one old entry is missing: the entry that the store evicted for the new entry. */
	assert_true(there >= FITTING - 1 && there <= FITTING);
	assert_int_equal(count_files(), there);
	assert_int_equal(get(1, 0) + get(1, FITTING) <= 1, 1);
	assert_true(get(1, FITTING) || !acknowledged);
	assert_true(put(1, FITTING + 1));
	assert_int_equal(get(1, FITTING + 1), 1);
	close_store();
}

/*
 * The store is full, so storing a new entry evicts an old entry, and the test also kills the
 * process during the eviction.
 */
static void test_killed_anywhere(void **state)
{
	struct blob_limits usual = limits;

	(void)state;
	limits = (struct blob_limits){ FITTING * ENTRY, FITTING * ENTRY };
	if (!killing_run("be-killed", folder, prepare_victim, check_survival))
		skip();
	limits = usual;
}

/* Makes each system call that stores an entry or opens the store fail with a disk error. */
static void test_disk_errors(void **state)
{
	struct blob_limits usual = limits;

	(void)state;
	limits = (struct blob_limits){ FITTING * ENTRY, FITTING * ENTRY };
	if (!failing_run("be-refused", folder, prepare_victim, check_survival))
		skip();
	limits = usual;
}

/* ---- the keeper ---- */

static void request_of(struct message *request, uint32_t kind, uint32_t number,
		       uint64_t model, uint64_t data)
{
	static uint32_t serial;

	*request = (struct message){
		.kind = kind, .serial = ++serial, .model_size = model, .data_size = data,
	};
	memcpy(request->token, key_of(number), sizeof(request->token));
}

static void send_request(int worker, const struct message *request)
{
	assert_int_equal(send(worker, request, sizeof(*request), MSG_NOSIGNAL), sizeof(*request));
}

/*
 * Receives the keeper's answer, and returns the kind of the answer. Sets *file to the file that
 * came with the answer, or to -1.
 */
static uint32_t receive(int worker, const struct message *request, int *file)
{
	struct message answer = { 0 };

	assert_int_equal(message_receive(worker, KEEPER_ANSWERS, MSG_CMSG_CLOEXEC, &answer,
					 file), 1);
	assert_int_equal(answer.serial, request->serial);
	return answer.kind;
}

static uint32_t ask(int worker, uint32_t kind, uint32_t number, uint64_t model, uint64_t data,
		    int *file)
{
	struct message request;

	request_of(&request, kind, number, model, data);
	send_request(worker, &request);
	return receive(worker, &request, file);
}

static void test_keeper(void **state)
{
	int worker = worker_of(1), other = worker_of(2), file;
	uint8_t bytes[ENTRY], found[ENTRY];

	(void)state;
	assert_int_equal(ask(worker, CACHE_GET, 1, 0, 0, &file), CACHE_NO);
	assert_int_equal(file, -1);
	assert_int_equal(ask(worker, CACHE_NEW, 1, MODEL, PAGE, &file), CACHE_YES);
	assert_true(file >= 0);
	fill(bytes, 1);
	assert_int_equal(pwrite(file, bytes, ENTRY, 0), ENTRY);
	assert_true(ftruncate(file, ENTRY + 1) && ftruncate(file, ENTRY - 1));
	close(file);
	assert_int_equal(ask(worker, CACHE_DONE, 1, 0, 0, &file), CACHE_YES);
	assert_int_equal(ask(worker, CACHE_NEW, 1, MODEL, PAGE, &file), CACHE_NO);
	assert_int_equal(ask(worker, CACHE_GET, 1, 0, 0, &file), CACHE_YES);
	assert_int_equal(pread(file, found, ENTRY, 0), ENTRY);
	assert_memory_equal(bytes, found, ENTRY);
	/* A worker cannot write to the file of a stored plan. */
	assert_int_equal(pwrite(file, bytes, 1, 0), -1);
	assert_ptr_equal(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
	close(file);
	assert_int_equal(ask(other, CACHE_GET, 1, 0, 0, &file), CACHE_NO);
	assert_int_equal(ask(other, CACHE_DROP, 1, 0, 0, &file), CACHE_YES);
	assert_int_equal(ask(worker, CACHE_GET, 1, 0, 0, &file), CACHE_YES);
	close(file);
	assert_int_equal(ask(worker, CACHE_DROP, 1, 0, 0, &file), CACHE_YES);
	assert_int_equal(ask(worker, CACHE_GET, 1, 0, 0, &file), CACHE_NO);
	close(worker);
	close(other);
}

/* Returns a number that changes when another connection has changed the index. */
static int data_version(sqlite3 *db)
{
	sqlite3_stmt *s;
	int version;

	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA data_version", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	version = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return version;
}

/* Requests to drop plans that do not exist cause no write to the index. */
static void test_drop_of_nothing(void **state)
{
	struct cache_client client;
	int before, after, changes = 0;
	char path[96];
	sqlite3 *db;

	(void)state;
	client_of(&client, 1);
	assert_int_equal(cache_client_store(&client, key_of(1), key_of(2), NULL), NN_OK);
	snprintf(path, sizeof(path), "%s/" CACHE_INDEX_FILE, folder);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 10000);
	before = data_version(db);
	for (int i = 0; i < 30; i++) {
		assert_int_equal(cache_client_query(&client, key_of(1), key_of(2), NULL), NN_OK);
		cache_client_drop(&client, key_of(3));
		after = data_version(db);
		changes += after != before;
		before = after;
	}
	sqlite3_close(db);
	close(client.socket);
	/*
	 * The keeper writes the times of last use only after a second without requests, so the
	 * index rarely changes.
	 */
	assert_true(changes <= 3);
}

/*
 * The keeper stores only memory that the keeper itself provided, and that the worker can no longer
 * write.
 */
static void test_no_late_writes(void **state)
{
	int worker = worker_of(1), file, none;
	uint8_t *map, bytes[ENTRY];

	(void)state;
	assert_int_equal(ask(worker, CACHE_DONE, 1, 0, 0, &none), CACHE_NO);
	assert_int_equal(ask(worker, CACHE_NEW, 1, MODEL, PAGE, &file), CACHE_YES);
	assert_int_equal(ask(worker, CACHE_DONE, 2, 0, 0, &none), CACHE_NO);
	assert_int_equal(ask(worker, CACHE_DONE, 1, 0, 0, &none), CACHE_NO);
	close(file);
	assert_int_equal(ask(worker, CACHE_NEW, 1, MODEL, PAGE, &file), CACHE_YES);
	map = mmap(NULL, ENTRY, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	close(file);
	assert_int_equal(ask(worker, CACHE_DONE, 1, 0, 0, &none), CACHE_NO);
	munmap(map, ENTRY);
	assert_int_equal(ask(worker, CACHE_GET, 1, 0, 0, &none), CACHE_NO);
	/* After CACHE_DONE, the worker still has the file open, but writes to the file fail. */
	assert_int_equal(ask(worker, CACHE_NEW, 1, MODEL, PAGE, &file), CACHE_YES);
	fill(bytes, 1);
	assert_int_equal(pwrite(file, bytes, ENTRY, 0), ENTRY);
	assert_int_equal(ask(worker, CACHE_DONE, 1, 0, 0, &none), CACHE_YES);
	assert_int_equal(pwrite(file, "x", 1, 0), -1);
	close(file);
	assert_int_equal(ask(worker, CACHE_NEW, 2, 2 << 20, 0, &file), CACHE_NO);
	assert_int_equal(file, -1);
	close(worker);
}

/*
 * In an hour, a user may write four times as many bytes as the user may have in the store. If a
 * user exceeds this rate, the keeper defers the user's requests, but serves the requests of other
 * users.
 */
static void test_too_much_written(void **state)
{
	const uint64_t most = options.plans.bytes_per_user;
	int workers[2] = { worker_of(1), worker_of(1) }, other = worker_of(2), file;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(ask(workers[i % 2], CACHE_NEW, i, most, 0, &file), CACHE_YES);
		close(file);
	}
	for (uint32_t i = 4; i < 6; i++) {
		assert_int_equal(ask(workers[i % 2], CACHE_NEW, i, most / 16, 0, &file),
				 CACHE_LATER);
		assert_int_equal(file, -1);
		/* A user whose writes are deferred may still ask for plans. */
		assert_int_equal(ask(workers[i % 2], CACHE_GET, i, 0, 0, &file), CACHE_NO);
	}
	assert_int_equal(ask(other, CACHE_NEW, 4, most, 0, &file), CACHE_YES);
	close(file);
	close(workers[0]);
	close(workers[1]);
	close(other);
}

/*
 * The worker leaves a hole in the file of a plan. The keeper must not read the hole of a file,
 * because reading would allocate pages.
 */
static void test_no_holes(void **state)
{
	const uint64_t data = 64 * PAGE;
	int worker = worker_of(1), file, none;
	struct stat st;

	(void)state;
	for (uint64_t written = 0; written <= data; written += data / 4) {
		assert_int_equal(ask(worker, CACHE_NEW, 1, PAGE, data, &file), CACHE_YES);
		for (uint64_t at = 0; at < written; at += PAGE)
			assert_int_equal(pwrite(file, "x", 1, (off_t)at), 1);
		assert_int_equal(ask(worker, CACHE_DONE, 1, 0, 0, &none), CACHE_NO);
		/* The keeper has not allocated pages for the file's hole. */
		assert_int_equal(fstat(file, &st), 0);
		assert_int_equal(st.st_blocks * 512, written);
		close(file);
	}
	close(worker);
}

/* ---- a disk that takes its time ---- */

/*
 * Memory shared with the keeper; before the keeper syncs a file whose path contains `part`, the
 * keeper waits.
 */
static struct slow_disk {
	char part[16];			/* part of the slow file's path; empty if no file is slow */
	/* If `full_one_in` is not 0, one of `full_one_in` writes fails because the disk is full. */
	unsigned int full_one_in;
	sem_t entered, go;
} *slow_disk;

static struct slow_disk *map_slow_disk(const char *in, int flags)
{
	char path[128];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%.100s/slow", in);
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (fd < 0 || (flags && ftruncate(fd, sizeof(*slow_disk))))
		return NULL;
	map = mmap(NULL, sizeof(*slow_disk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/*
 * If the path of the file `fd` contains slow_disk->part, blocks the keeper until the test posts
 * slow_disk->go.
 */
static void be_slow(int fd)
{
	char link[64], path[256] = "", *end;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) <= 0)
		return;
	if (!slow_disk) {
		char in[256];

		strcpy(in, path);
		end = strstr(in, "/" BLOB_FOLDER) ? strstr(in, "/" BLOB_FOLDER) : strrchr(in, '/');
		if (!end)
			return;
		*end = '\0';
		slow_disk = map_slow_disk(in, 0);
	}
	if (slow_disk && slow_disk->part[0] && strstr(path, slow_disk->part)) {
		sem_post(&slow_disk->entered);
		sem_wait(&slow_disk->go);
	}
}

static bool is_full(void)
{
	static unsigned int random_state = 1;

	if (!slow_disk || !slow_disk->full_one_in)
		return false;
	random_state = random_state * 1103515245 + 12345 + (unsigned int)getpid();
	errno = ENOSPC;
	return (random_state >> 16) % slow_disk->full_one_in == 0;
}

/* SQLite calls the functions that this test replaces, such as pwrite64(). */
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *bytes, size_t size,
							off64_t at)
{
	return is_full() ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	be_slow(fd);
	return (int)syscall(SYS_fsync, fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	be_slow(fd);
	return (int)syscall(SYS_fdatasync, fd);
}

static int start_slow_keeper(void **state)
{
	if (make_folder(state))
		return -1;
	slow_disk = map_slow_disk(folder, O_CREAT);
	if (!slow_disk || sem_init(&slow_disk->entered, 1, 0) || sem_init(&slow_disk->go, 1, 0))
		return -1;
	strcpy(slow_disk->part, "/" BLOB_FOLDER "/");
	options.folder = folder;
	return keeper_start(&keeper, &options) ? 0 : -1;
}

static int stop_slow_keeper(void **state)
{
	int failed = stop_keeper(state);

	munmap(slow_disk, sizeof(*slow_disk));
	slow_disk = NULL;
	return failed;
}

/*
 * Connects a worker, which requests memory for a plan and writes the plan into this memory. Sets
 * *done to the request that asks the keeper to store the plan. The test fails if the keeper does
 * not answer the worker.
 */
static int writer_of(uint32_t uid, uint32_t number, struct message *done)
{
	const struct timeval patience = { .tv_sec = 30 };
	int worker = worker_of(uid), file;
	uint8_t bytes[ENTRY];

	setsockopt(worker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(ask(worker, CACHE_NEW, number, MODEL, PAGE, &file), CACHE_YES);
	fill(bytes, number);
	assert_int_equal(pwrite(file, bytes, ENTRY, 0), ENTRY);
	close(file);
	request_of(done, CACHE_DONE, number, 0, 0);
	return worker;
}

/* While the keeper writes one plan, the keeper answers other requests, and a second plan waits. */
static void test_slow_disk(void **state)
{
	struct message first_done, second_done, third_done;
	int first = writer_of(1, 1, &first_done), second = writer_of(2, 2, &second_done),
	    third = writer_of(3, 3, &third_done), other = worker_of(4), file;
	struct cache_client client;

	(void)state;
	client_of(&client, 1);
	send_request(first, &first_done);
	assert_int_equal(sem_wait(&slow_disk->entered), 0);
	send_request(second, &second_done);
	send_request(third, &third_done);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cache_client_store(&client, key_of(1), key_of(2), NULL), NN_OK);
		assert_int_equal(cache_client_query(&client, key_of(1), key_of(2), NULL), NN_OK);
		assert_int_equal(ask(other, CACHE_GET, 1, 0, 0, &file), CACHE_NO);
	}
	/* The keeper refuses a third plan, because the queue has room for only one waiting plan. */
	close(third);
	assert_int_equal(recv(first, &file, sizeof(file), MSG_DONTWAIT), -1);
	assert_int_equal(recv(second, &file, sizeof(file), MSG_DONTWAIT), -1);
	slow_disk->part[0] = '\0';
	assert_int_equal(sem_post(&slow_disk->go), 0);
	assert_int_equal(receive(first, &first_done, &file), CACHE_YES);
	assert_int_equal(receive(second, &second_done, &file), CACHE_YES);
	assert_int_equal(ask(first, CACHE_GET, 1, 0, 0, &file), CACHE_YES);
	close(file);
	assert_int_equal(ask(second, CACHE_GET, 2, 0, 0, &file), CACHE_YES);
	close(file);
	close(first);
	close(second);
	close(other);
	close(client.socket);
}

/* Waits until the keeper has opened its index, and then makes the disk slow for the index. */
static void slow_index_down(void)
{
	int worker = worker_of(9), file;

	assert_int_equal(ask(worker, CACHE_DROP, 1, 0, 0, &file), CACHE_YES);
	close(worker);
	strcpy(slow_disk->part, "/index.db");
}

/* While the index waits for the disk, the keeper accepts, answers and disconnects new workers. */
static void test_slow_index(void **state)
{
	struct message noted = { .kind = CACHE_STORE, .serial = 7 };
	int first = worker_of(1), second, file;
	char byte;

	(void)state;
	slow_index_down();
	send_request(first, &noted);
	assert_int_equal(sem_wait(&slow_disk->entered), 0);
	second = worker_of(2);
	assert_int_equal(send(second, "no request", 10, MSG_NOSIGNAL), 10);
	assert_int_equal(recv(second, &byte, 1, 0), 0);
	close(second);
	second = worker_of(2);
	assert_int_equal(ask(second, CACHE_DONE, 1, 0, 0, &file), CACHE_NO);
	assert_int_equal(recv(first, &byte, 1, MSG_DONTWAIT), -1);
	slow_disk->part[0] = '\0';
	assert_int_equal(sem_post(&slow_disk->go), 0);
	assert_int_equal(receive(first, &noted, &file), CACHE_YES);
	close(first);
	close(second);
}

/* One transaction executes all requests that arrive during a slow write. */
static void test_batch(void **state)
{
	struct message stores[20];
	int workers[20], file, syncs = 0;

	(void)state;
	slow_index_down();
	for (uint32_t i = 0; i < 20; i++) {
		workers[i] = worker_of(i);
		stores[i] = (struct message){ .kind = CACHE_STORE, .serial = i };
		send_request(workers[i], &stores[i]);
		if (!i)
			assert_int_equal(sem_wait(&slow_disk->entered), 0);
	}
	/*
	 * Wait until the keeper has read the requests of workers 1 to 19, while it still executes
	 * the request of worker 0.
	 */
	for (uint32_t i = 1; i < 20; i++) {
		int queued = 1;

		while (queued > 0 && !ioctl(workers[i], SIOCOUTQ, &queued) && queued > 0)
			usleep(1000);
	}
	/*
	 * Each transaction syncs the journal and the database, so few syncs mean few transactions.
	 */
	for (uint32_t i = 0; i < 20; i++) {
		struct pollfd answered = { .fd = workers[i], .events = POLLIN };

		while (!poll(&answered, 1, 0)) {
			if (sem_trywait(&slow_disk->entered) == 0)
				syncs++;
			sem_post(&slow_disk->go);
			usleep(1000);
		}
		assert_int_equal(receive(workers[i], &stores[i], &file), CACHE_YES);
		close(workers[i]);
	}
	slow_disk->part[0] = '\0';
	print_message("20 stores, synced %d times\n", syncs + 1);
	assert_true(syncs < 20);
}

/* The keeper finishes a write before the keeper ends, so that the next keeper finds the entry. */
static void test_end_while_writing(void **state)
{
	struct message done;
	int worker = writer_of(1, 1, &done), file;

	(void)state;
	send_request(worker, &done);
	assert_int_equal(sem_wait(&slow_disk->entered), 0);
	slow_disk->part[0] = '\0';
	assert_int_equal(sem_post(&slow_disk->go), 0);
	keeper_stop(&keeper);
	close(worker);
	assert_true(keeper_start(&keeper, &options));
	worker = worker_of(1);
	assert_int_equal(ask(worker, CACHE_GET, 1, 0, 0, &file), CACHE_YES);
	close(file);
	close(worker);
}

/*
 * Several workers request the same plan at the same time: first a plan that is not verified yet,
 * then a damaged plan.
 */
static void test_verified_for_many(void **state)
{
	int workers[8], worker = worker_of(1), file;
	struct message requests[8], done;

	(void)state;
	close(worker);
	slow_disk->part[0] = '\0';
	for (uint32_t number = 1; number <= 2; number++) {
		worker = writer_of(1, number, &done);
		send_request(worker, &done);
		assert_int_equal(receive(worker, &done, &file), CACHE_YES);
		if (number == 2)
			assert_int_equal(ask(worker, CACHE_DROP, 1, 0, 0, &file), CACHE_YES);
		close(worker);
		keeper_stop(&keeper);
		if (number == 2) {
			file = only_file(O_RDWR);
			assert_int_equal(pwrite(file, "damaged", 7, 0), 7);
			close(file);
		}
		assert_true(keeper_start(&keeper, &options));
		for (int i = 0; i < 8; i++) {
			workers[i] = worker_of(1);
			request_of(&requests[i], CACHE_GET, number, 0, 0);
			send_request(workers[i], &requests[i]);
		}
		for (int i = 0; i < 8; i++) {
			assert_int_equal(receive(workers[i], &requests[i], &file),
					 number == 1 ? CACHE_YES : CACHE_NO);
			if (file >= 0)
				close(file);
			close(workers[i]);
		}
	}
}

/* ---- killed at any time ---- */

static void kill_keeper(int signal)
{
	(void)signal;
	kill(keeper.pid, SIGKILL);
}

/*
 * Number of workers that store plans; two workers belong to one user, and the third worker to
 * another.
 */
#define CROWD 3
#define NUMBERS 6

enum known { GONE, THERE, UNKNOWN };

static struct hand {
	int socket;
	uint32_t number;		/* number of the plan that `request` names */
	struct message request;
	bool asks;
} crowd[CROWD];
static enum known known[CROWD][NUMBERS];

static uint32_t user_of(int i)
{
	return i ? 2 : 1;
}

/* Returns the number of a plan of worker `i`; plans of different workers have different numbers. */
static uint32_t number_of(int i, uint32_t number)
{
	return (uint32_t)i * NUMBERS + number;
}

/*
 * Receives the keeper's answer to a request and returns the answer's kind; returns 0 if the keeper
 * is dead.
 */
static uint32_t take_answer(struct hand *h, int *file)
{
	struct message answer = { 0 };

	h->asks = false;
	*file = -1;
	if (message_receive(h->socket, KEEPER_ANSWERS, MSG_CMSG_CLOEXEC, &answer, file) != 1)
		return 0;
	assert_int_equal(answer.serial, h->request.serial);
	return answer.kind;
}

static bool send_it(struct hand *h, int i, uint32_t kind, uint64_t model, uint64_t data)
{
	request_of(&h->request, kind, number_of(i, h->number), model, data);
	h->asks = send(h->socket, &h->request, sizeof(h->request), MSG_NOSIGNAL) ==
		  sizeof(h->request);
	return h->asks;
}

/* Sends a random request of worker `i`, without waiting for the answer. */
static bool begin_step(int i)
{
	struct hand *h = &crowd[i];
	uint8_t bytes[ENTRY];
	int file;

	h->number = (uint32_t)rand() % NUMBERS;
	switch (rand() % 4) {
	case 0:
		return send_it(h, i, CACHE_GET, 0, 0);
	case 1:
		known[i][h->number] = UNKNOWN;
		return send_it(h, i, CACHE_DROP, 0, 0);
	default:
		if (!send_it(h, i, CACHE_NEW, MODEL, PAGE))
			return false;
		switch (take_answer(h, &file)) {
		case 0:
			return false;
		case CACHE_YES:
			break;
		default:
			return true;
		}
		fill(bytes, number_of(i, h->number));
		assert_int_equal(write(file, bytes, ENTRY), ENTRY);
		close(file);
		known[i][h->number] = UNKNOWN;
		return send_it(h, i, CACHE_DONE, 0, 0);
	}
}

static bool end_step(int i)
{
	struct hand *h = &crowd[i];
	uint32_t verdict;
	int file;

	if (!h->asks)
		return true;
	verdict = take_answer(h, &file);
	if (file >= 0)
		close(file);
	if (verdict == CACHE_YES && h->request.kind == CACHE_DONE)
		known[i][h->number] = THERE;
	return verdict;
}

/*
 * Checks after a restart of the keeper that every entry is complete, and that every acknowledged
 * entry exists.
 */
static void check_keeper(void)
{
	uint8_t bytes[ENTRY], found[ENTRY];
	struct message answer = { 0 };
	char text[256] = "";
	int file;

	for (int i = 0; i < CROWD; i++) {
		int worker = worker_of(user_of(i));

		for (uint32_t number = 0; number < NUMBERS; number++) {
			uint32_t verdict = ask(worker, CACHE_GET, number_of(i, number), 0, 0, &file);

			if (verdict != CACHE_YES) {
				assert_int_not_equal(known[i][number], THERE);
				known[i][number] = GONE;
				continue;
			}
			fill(bytes, number_of(i, number));
			assert_int_equal(pread(file, found, ENTRY, 0), ENTRY);
			assert_memory_equal(bytes, found, ENTRY);
			close(file);
			known[i][number] = THERE;
		}
		close(worker);
	}
	assert_int_equal(ask_as_admin(0, CACHE_CHECK, &answer, &file), CACHE_YES);
	if (answer.data_size) {
		text[pread(file, text, sizeof(text) - 1, 0)] = '\0';
		fail_msg("%s", text);
	}
	close(file);
}

static void test_killed_under_load(void **state)
{
	const int kills = KILLS;
	unsigned int seed = 1, steps = 0;
	const struct itimerval none = { .it_value.tv_usec = 0 };

	(void)state;
	signal(SIGALRM, kill_keeper);
	slow_disk->part[0] = '\0';
	srand(seed);
	memset(known, 0, sizeof(known));
	for (int i = 0; i < kills; i++) {
		struct itimerval soon = { .it_value.tv_usec = 1 + rand() % 4000 };
		bool alive = true;

		check_keeper();
		slow_disk->full_one_in = i < kills / 2 ? FULL_ONE_IN : 0;
		for (int w = 0; w < CROWD; w++)
			crowd[w] = (struct hand){ .socket = worker_of(user_of(w)) };
		setitimer(ITIMER_REAL, &soon, NULL);
		for (; alive; steps++) {
			for (int w = 0; w < CROWD && alive; w++)
				alive = begin_step(w);
			for (int w = 0; w < CROWD && alive; w++)
				alive = end_step(w);
		}
		setitimer(ITIMER_REAL, &none, NULL);
		for (int w = 0; w < CROWD; w++)
			close(crowd[w].socket);
		slow_disk->full_one_in = 0;
		keeper_stop(&keeper);
		assert_true(keeper_start(&keeper, &options));
	}
	check_keeper();
	signal(SIGALRM, SIG_DFL);
	print_message("%d times killed, in %u steps of %d workers; seed %u\n", kills, steps, CROWD,
		      seed);
}

/* ---- the worker's side ---- */

static void write_model(const struct cache_entry *entry, char *bytes)
{
	memcpy(bytes, "a model part", entry->model_size);
}

static void test_client(void **state)
{
	const struct cache_entry entry = {
		.key = key_of(1), .model_size = 13, .write = write_model,
	};
	struct cache_client client;
	struct cached_parts plan;

	(void)state;
	client_of(&client, 1);
	assert_int_equal(cache_client_get(&client, key_of(1), &plan, NULL), NN_GENERAL_FAILURE);
	assert_int_equal(cache_client_put(&client, &entry, NULL), NN_OK);
	assert_int_equal(cache_client_put(&client, &entry, NULL), NN_GENERAL_FAILURE);
	assert_int_equal(cache_client_get(&client, key_of(1), &plan, NULL), NN_OK);
	assert_int_equal(plan.model_size, 13);
	assert_int_equal(plan.data_size, 0);
	assert_string_equal(plan.base, "a model part");
	cached_parts_unmap(&plan);
	cache_client_drop(&client, key_of(1));
	assert_int_equal(cache_client_get(&client, key_of(1), &plan, NULL), NN_GENERAL_FAILURE);
	close(client.socket);
}

/* ---- the engine's side of its own store ---- */

static struct cache_client own_client;

static void open_own(uint32_t uid)
{
	client_of(&own_client, uid);
	store_open(&own_client);
}

static void close_own(void)
{
	close(own_client.socket);
	store_open(NULL);
}

static enum nn_status put_text(const char *key, const char *text)
{
	return nna_engine_store_put(key, strlen(key), text, strlen(text), NULL);
}

/* Returns whether this process has mapped the file of an entry. */
static bool maps_an_entry(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "/" BLOB_FOLDER "/") != NULL;
	fclose(maps);
	return found;
}

/*
 * Checks that loading an entry returns the text `text` or, if `text` is NULL, fails with the given
 * reason.
 */
static void check_text(const char *key, const char *text, const char *reason)
{
	struct nn_error err = { "" };
	void *data = &err;
	size_t size = 1;
	enum nn_status status = nna_engine_store_get(key, strlen(key), &data, &size, &err);

	assert_int_equal(status, text ? NN_OK : NN_GENERAL_FAILURE);
	assert_int_equal(size, text ? strlen(text) : 0);
	if (text)
		assert_memory_equal(data, text, size);
	else
		assert_null(data);
	assert_string_equal(err.message, text ? "" : reason);
	assert_false(maps_an_entry());
	free(data);
}

#define NO_ENTRY "there is no such entry"

static void test_own_by_keeper(void **state)
{
	static char large[(1 << 20) + 1];
	struct message later = { .kind = CACHE_LATER };
	struct nn_error err = { "" };
	uint8_t hash[DIGEST_SIZE];
	struct cached_parts plan;
	int ends[2], fd;

	(void)state;
	check_text("a", NULL, "this process has no store");
	open_own(1);
	check_text("a", NULL, NO_ENTRY);
	assert_int_equal(put_text("a", "one"), NN_OK);
	assert_int_equal(put_text("ab", "two"), NN_OK);
	check_text("a", "one", NULL);
	check_text("ab", "two", NULL);
	assert_int_equal(put_text("ab", "three"), NN_OK);
	check_text("ab", "three", NULL);
	/*
	 * A request for a plan does not find an entry of the own store, even if the request has the
	 * hash of the entry's key.
	 */
	assert_true(digest("ab", 2, hash));
	assert_int_equal(cache_client_get(&own_client, hash, &plan, NULL), NN_GENERAL_FAILURE);
	assert_int_equal(nna_engine_store_put("", 0, "x", 1, NULL), NN_OK);
	check_text("", "x", NULL);
	/* Storing an entry fails if the entry's size is invalid or exceeds the user's limit. */
	assert_int_equal(put_text("a", ""), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_engine_store_put("a", 1, large, NNA_ENGINE_MAX_STORED + 1, &err),
			 NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "an entry of 67108865 bytes, must have 1 to 67108864");
	assert_int_equal(nna_engine_store_put("a", 1, large, sizeof(large), NULL),
			 NN_GENERAL_FAILURE);
	check_text("a", "one", NULL);
	close_own();
	open_own(2);
	check_text("a", NULL, NO_ENTRY);
	close_own();
	/* An engine whose store_identity has changed does not find the entry "a". */
	keeper_stop(&keeper);
	options.identity = "library 2";
	assert_true(keeper_start(&keeper, &options));
	options.identity = "library 1";
	open_own(1);
	check_text("a", NULL, NO_ENTRY);
	/* Damage one byte of the only file in the store. */
	assert_int_equal(put_text("a", "four"), NN_OK);
	fd = only_file(O_RDWR);
	assert_int_equal(pwrite(fd, "F", 1, 0), 1);
	close(fd);
	check_text("a", NULL, "the entry is damaged");
	assert_int_equal(count_files(), 0);
	check_text("a", NULL, NO_ENTRY);
	close_own();
	/* The keeper answers the request to store an entry with CACHE_LATER. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_true(cache_client_init(&own_client, ends[0]));
	store_open(&own_client);
	later.serial = 1;
	assert_true(message_send(ends[1], &later, -1));
	assert_int_equal(put_text("a", "x"), NN_RESOURCE_EXHAUSTED_TRANSIENT);
	close_own();
	close(ends[1]);
}

/* If a full disk prevents the replacement of an entry, the old entry can still be loaded. */
static void test_own_on_a_full_disk(void **state)
{
	(void)state;
	slow_disk->part[0] = '\0';
	open_own(1);
	assert_int_equal(put_text("a", "one"), NN_OK);
	slow_disk->full_one_in = 1;
	assert_int_equal(put_text("a", "two"), NN_GENERAL_FAILURE);
	check_text("a", "one", NULL);
	slow_disk->full_one_in = 0;
	assert_int_equal(put_text("a", "two"), NN_OK);
	check_text("a", "two", NULL);
	close_own();
}

#define FOLDER(name) cmocka_unit_test_setup_teardown(test_##name, make_folder, remove_folder)
#define STORE(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
#define SLOW(name) \
	cmocka_unit_test_setup_teardown(test_##name, start_slow_keeper, stop_slow_keeper)
#define KEEPER(name) cmocka_unit_test_setup_teardown(test_##name, start_keeper, stop_keeper)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		STORE(put_and_get),
		STORE(sizes),
		STORE(limits),
		STORE(limits_at_once),
		STORE(uses),
		STORE(many_entries),
		STORE(failed_batch),
		STORE(damaged_files),
		STORE(sizes_that_wrap),
		STORE(check),
		STORE(unreadable),
		STORE(check_of_what_goes),
		STORE(strange_files),
		STORE(other_version),
		STORE(own),
		STORE(own_in_an_old_index),
		STORE(own_evicted),
		STORE(own_of_two_processes),
		STORE(interrupted),
		STORE(same_twice),
		STORE(replaced),
		STORE(replaced_verified),
		STORE(taken_over),
		STORE(full_batch),
		FOLDER(killed_anywhere),
		FOLDER(disk_errors),
		KEEPER(keeper),
		KEEPER(too_much_written),
		KEEPER(drop_of_nothing),
		KEEPER(no_late_writes),
		KEEPER(no_holes),
		SLOW(slow_disk),
		SLOW(slow_index),
		SLOW(batch),
		SLOW(end_while_writing),
		SLOW(verified_for_many),
		SLOW(killed_under_load),
		KEEPER(client),
		KEEPER(own_by_keeper),
		SLOW(own_on_a_full_disk),
	};

	be_keeper(argc, argv);
	if (argc == 3 && !strcmp(argv[1], "be-killed"))
		return be_victim(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "be-refused"))
		return be_victim(argv[2], true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
