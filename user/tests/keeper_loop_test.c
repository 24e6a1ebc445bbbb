/* SPDX-License-Identifier: MIT */
/*
 * Tests the loop of the keeper, in which the keeper handles messages of broker and clients. The
 * tests replace all functions that the loop calls: the index, the store of plans, the time, and
 * system calls, which may fail. The keeper's loop has no threads in these tests; the tests do the
 * work of the threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/keeper/loop.h"
#include "kit/api/log.h"
#include "kit/cache/keeper_message.h"
#include "tests/open_files.h"

#define PAGE BLOB_PAGE
#define USER_BYTES (16 * PAGE)	/* maximum size of all plans of a user in bytes */

/* ---- what fails ---- */

enum call {
	NONE,
	/* System calls and allocations that a test can make fail. */
	F_ACCEPT, F_CALLOC, F_COPY, F_FSTAT, F_MEMFD, F_MMAP, F_POLL, F_READ, F_REALLOC, F_RECEIVE,
	F_SEAL, F_TRUNCATE, F_WRITE,
	/* Calls to the index and to the store of plans that a test can make fail. */
	F_BATCH, F_BEGIN, F_CHECK, F_CLEAR, F_CLEAR_PLANS, F_COMMIT, F_DROP, F_END, F_PUT, F_REPORT, F_WANTS,
	CALLS
};

static struct {
	int left[CALLS];	/* number of the call that fails, from 1; 0: none */
	int error;		/* errno of the calls that fail */
	unsigned int committed, rolled_back, abandoned, lines;
	time_t passed_s;
} played;

static bool fails(enum call call)
{
	if (!played.left[call] || --played.left[call])
		return false;
	errno = played.error;
	return true;
}

static void let_fail(enum call call, int error)
{
	played.left[call] = call != NONE;
	played.error = error;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += clock == CLOCK_MONOTONIC ? played.passed_s : 0;
	return result;
}

static int no_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
		     void *data)
{
	(void)thread;
	(void)attributes;
	(void)body;
	(void)data;
	return 0;
}

static int try_ftruncate(int fd, off_t size)
{
	return fails(F_TRUNCATE) ? -1 : ftruncate(fd, size);
}

static int try_fcntl(int fd, int command, int value)
{
	return fails(command == F_ADD_SEALS ? F_SEAL : F_COPY) ? -1 : fcntl(fd, command, value);
}

static int try_fstat(int fd, struct stat *st)
{
	return fails(F_FSTAT) ? -1 : fstat(fd, st);
}

#define pthread_create no_thread
#define ftruncate try_ftruncate
#define fcntl try_fcntl
#define fstat try_fstat
#define pthread_join(thread, result) ((void)(thread))
#define accept4(...) (fails(F_ACCEPT) ? -1 : accept4(__VA_ARGS__))
#define calloc(...) (fails(F_CALLOC) ? NULL : calloc(__VA_ARGS__))
#define realloc(...) (fails(F_REALLOC) ? NULL : realloc(__VA_ARGS__))
#define memfd_create(...) (fails(F_MEMFD) ? -1 : memfd_create(__VA_ARGS__))
#define mmap(...) (fails(F_MMAP) ? MAP_FAILED : mmap(__VA_ARGS__))
#define poll(...) (fails(F_POLL) ? -1 : poll(__VA_ARGS__))
#define read(...) (fails(F_READ) ? -1 : read(__VA_ARGS__))
#define write(...) (fails(F_WRITE) ? -1 : write(__VA_ARGS__))
#define message_receive(...) (fails(F_RECEIVE) ? -1 : message_receive(__VA_ARGS__))
#include "engine/keeper/loop.c"
#undef pthread_create
#undef pthread_join
#undef accept4
#undef calloc
#undef realloc
#undef memfd_create
#undef ftruncate
#undef fcntl
#undef fstat
#undef mmap
#undef poll
#undef read
#undef write
#undef message_receive

/* ---- the played index and store, which have every requested entry ---- */

enum message_kind cache_index_query(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	(void)index;
	(void)uid;
	(void)token;
	(void)hash;
	return CACHE_YES;
}

enum message_kind cache_index_store(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	return cache_index_query(index, uid, token, hash);
}

bool cache_index_begin(struct cache_index *index)
{
	(void)index;
	return !fails(F_BEGIN);
}

bool cache_index_batch_failed(const struct cache_index *index)
{
	(void)index;
	return fails(F_BATCH);
}

bool cache_index_commit(struct cache_index *index)
{
	(void)index;
	return !fails(F_COMMIT);
}

bool cache_index_clear(struct cache_index *index, uint64_t uid, uint64_t *count)
{
	(void)index;
	*count = uid;
	return !fails(F_CLEAR);
}

bool cache_index_report(struct cache_index *index, int file, uint64_t *count)
{
	(void)index;
	(void)file;
	*count = 2;
	return !fails(F_REPORT);
}

void cache_index_flush(struct cache_index *index)
{
	(void)index;
}

bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work)
{
	assert_non_null(store);
	(void)key;
	*work = (struct blob_work){ .uid = uid, .file = memfd_create("plan", MFD_CLOEXEC) };
	return true;
}

bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		      const struct blob *blob)
{
	assert_non_null(store);
	(void)uid;
	(void)key;
	(void)blob;
	return !fails(F_WANTS);
}

bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    const void *bytes, const struct blob *blob, struct blob_work *work)
{
	assert_non_null(store);
	(void)key;
	*work = (struct blob_work){ .uid = uid, .bytes = bytes, .file = -1, .blob = *blob };
	return !fails(F_PUT);
}

void blob_work_run(struct blob_work *work)
{
	work->right = true;
}

bool blob_store_end(struct blob_store *store, struct blob_work *work)
{
	assert_non_null(store);
	if (!fails(F_END))
		return true;
	if (work->file >= 0)
		close(work->file);
	work->file = -1;
	return false;
}

bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE])
{
	assert_non_null(store);
	(void)uid;
	(void)key;
	return !fails(F_DROP);
}

bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count)
{
	assert_non_null(store);
	*count = uid + 1;
	return !fails(F_CLEAR_PLANS);
}

bool blob_store_check(struct blob_store *store, int report, struct blob_work *work)
{
	assert_non_null(store);
	(void)report;
	*work = (struct blob_work){ .file = -1 };
	return !fails(F_CHECK);
}

void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plans,
			  uint64_t *faults)
{
	assert_non_null(store);
	assert_true(work->right);
	*plans = 4;
	*faults = 5;
}

uint64_t blob_store_user_bytes(const struct blob_store *store)
{
	assert_non_null(store);
	return USER_BYTES;
}

void blob_store_abandon(struct blob_store *store, struct blob_work *work)
{
	assert_non_null(store);
	assert_non_null(work->bytes);
	played.abandoned++;
}

void blob_store_committed(struct blob_store *store)
{
	assert_non_null(store);
	played.committed++;
}

void blob_store_rolled_back(struct blob_store *store)
{
	assert_non_null(store);
	played.rolled_back++;
}

/* ---- a keeper, its broker and its clients ---- */

static struct {
	struct keep *keep;
	int broker, client;	/* the test's ends of the sockets of broker and client */
} t;

static void count_line(void *data, enum log_level level, const char *line)
{
	(void)data;
	(void)level;
	(void)line;
	played.lines++;
}

static void begin(bool keeps_plans)
{
	static char plans;
	int ends[2];

	memset(&played, 0, sizeof(played));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	t.broker = ends[0];
	t.keep = keep_begin(ends[1], -1, NULL, keeps_plans ? (struct blob_store *)&plans : NULL);
	assert_non_null(t.keep);
	log_set_sink(count_line, NULL);
}

/* Closes the socket of the broker, which ends the keeper's loop. */
static void end(void)
{
	int ours = t.keep->fds[BROKER].fd;

	close(t.broker);
	keep_run(t.keep);
	close(ours);
	log_set_sink(NULL, NULL);
}

/* Connects one more client to the keeper. */
static void join(uint32_t uid, bool is_admin)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	t.client = ends[0];
	add_client(t.keep, ends[1], uid, is_admin);
}

/* Does the work that waits in one queue, as the keeper's threads would. */
static void work(enum queue_kind kind)
{
	struct task *batch = take_work(t.keep, kind);

	assert_non_null(batch);
	do_work(t.keep, kind, batch);
	hand_back(t.keep, batch);
	end_work(t.keep);
}

static void work_all(void)
{
	for (int kind = INDEX; kind < QUEUES; kind++)
		if (t.keep->queues[kind].first) {
			work(kind);
			kind = INDEX - 1;
		}
}

/*
 * Sends a request as a client. When request() returns, the keeper has queued the work of the
 * request, or has answered the request.
 */
static void request(size_t place, int client, uint32_t kind, uint64_t model_size,
		    uint64_t data_size)
{
	const struct message r = {
		.kind = kind, .serial = 7, .model_size = model_size, .data_size = data_size,
	};

	assert_true(message_send(client, &r, -1));
	assert_true(serve_client(t.keep, place));
}

static struct message answer_to(int client, int *file)
{
	const int flags = MSG_CMSG_CLOEXEC | MSG_DONTWAIT;
	struct message answer = { 0 };

	assert_int_equal(message_receive(client, KEEPER_ANSWERS, flags, &answer, file), 1);
	assert_int_equal(answer.serial, 7);
	return answer;
}

static struct message ask(uint32_t kind, uint64_t model_size, uint64_t data_size, int *file)
{
	request(t.keep->count - 1, t.client, kind, model_size, data_size);
	work_all();
	return answer_to(t.client, file);
}

static void fill_memory(void)
{
	char page[PAGE] = "a plan";
	int file;

	assert_int_equal(ask(CACHE_NEW, PAGE, 0, &file).kind, CACHE_YES);
	assert_int_equal(write(file, page, sizeof(page)), sizeof(page));
	close(file);
}

/* ---- tests ---- */

/* The expected answer to each kind of request, if no call fails or if the given call fails. */
static const struct {
	const char *name;
	uint32_t kind;
	bool has_plans;
	enum call call;
	enum message_kind verdict;
	bool has_file;
} cases[] = {
	{ "query", CACHE_QUERY, true, NONE, CACHE_YES, false },
	{ "store", CACHE_STORE, true, NONE, CACHE_YES, false },
	{ "store, no transaction", CACHE_STORE, true, F_BEGIN, CACHE_YES, false },
	{ "store, not committed", CACHE_STORE, true, F_COMMIT, CACHE_FAILED, false },
	{ "store, not committed, no plans", CACHE_STORE, false, F_COMMIT, CACHE_FAILED, false },
	{ "store, no memory", CACHE_STORE, true, F_REALLOC, CACHE_LATER, false },
	{ "get", CACHE_GET, true, NONE, CACHE_YES, true },
	{ "get, damaged", CACHE_GET, true, F_END, CACHE_NO, false },
	{ "get, no plans", CACHE_GET, false, NONE, CACHE_NO, false },
	{ "new", CACHE_NEW, true, NONE, CACHE_YES, true },
	{ "new, not wanted", CACHE_NEW, true, F_WANTS, CACHE_NO, false },
	{ "new, no plans", CACHE_NEW, false, NONE, CACHE_NO, false },
	{ "new, no memory", CACHE_NEW, true, F_REALLOC, CACHE_LATER, false },
	{ "new, no file", CACHE_NEW, true, F_MEMFD, CACHE_FAILED, false },
	{ "new, no size", CACHE_NEW, true, F_TRUNCATE, CACHE_FAILED, false },
	{ "new, no seals", CACHE_NEW, true, F_SEAL, CACHE_FAILED, false },
	{ "new, no copy", CACHE_NEW, true, F_COPY, CACHE_FAILED, false },
	{ "done", CACHE_DONE, true, NONE, CACHE_YES, false },
	{ "done, not sealed", CACHE_DONE, true, F_SEAL, CACHE_NO, false },
	{ "done, of unknown size", CACHE_DONE, true, F_FSTAT, CACHE_NO, false },
	{ "done, not mapped", CACHE_DONE, true, F_MMAP, CACHE_FAILED, false },
	{ "done, not wanted", CACHE_DONE, true, F_WANTS, CACHE_NO, false },
	{ "done, no room", CACHE_DONE, true, F_PUT, CACHE_FAILED, false },
	{ "done, not written", CACHE_DONE, true, F_END, CACHE_FAILED, false },
	{ "drop", CACHE_DROP, true, NONE, CACHE_YES, false },
	{ "drop, not done", CACHE_DROP, true, F_DROP, CACHE_FAILED, false },
	{ "drop, no plans", CACHE_DROP, false, NONE, CACHE_YES, false },
	{ "clear", CACHE_CLEAR, true, NONE, CACHE_YES, false },
	{ "clear, hashes stay", CACHE_CLEAR, true, F_CLEAR, CACHE_FAILED, false },
	{ "clear, plans stay", CACHE_CLEAR, true, F_CLEAR_PLANS, CACHE_FAILED, false },
	{ "clear, no plans", CACHE_CLEAR, false, NONE, CACHE_YES, false },
	{ "show", CACHE_SHOW, true, NONE, CACHE_YES, true },
	{ "show, no file", CACHE_SHOW, true, F_MEMFD, CACHE_FAILED, false },
	{ "show, not written", CACHE_SHOW, true, F_REPORT, CACHE_FAILED, false },
	{ "check", CACHE_CHECK, true, NONE, CACHE_YES, true },
	{ "check, no file", CACHE_CHECK, true, F_MEMFD, CACHE_FAILED, false },
	{ "check, not begun", CACHE_CHECK, true, F_CHECK, CACHE_FAILED, false },
	{ "check, no plans", CACHE_CHECK, false, NONE, CACHE_FAILED, false },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool is_new = cases[i].kind == CACHE_NEW;
		const int files = count_files();
		struct message answer;
		int file;

		begin(cases[i].has_plans);
		join(1, cases[i].kind >= CACHE_CLEAR);
		if (cases[i].kind == CACHE_DONE)
			fill_memory();
		let_fail(cases[i].call, ENOMEM);
		answer = ask(cases[i].kind, is_new || cases[i].kind == CACHE_CLEAR ? PAGE : 0,
			     is_new ? PAGE : 0, &file);
		if (answer.kind != cases[i].verdict || (file >= 0) != cases[i].has_file ||
		    played.left[cases[i].call])
			fail_msg("%s: verdict %u, file %d", cases[i].name, answer.kind, file);
		if (file >= 0)
			close(file);
		close(t.client);
		end();
		if (count_files() != files)
			fail_msg("%s: %d files are left", cases[i].name, count_files() - files);
	}
}

/*
 * Requests that change no entry succeed even if the transaction fails. Requests that change an
 * entry fail if the transaction fails.
 */
static const struct {
	uint32_t kind;
	enum message_kind verdict;
} batch[] = {
	{ CACHE_QUERY, CACHE_YES }, { CACHE_GET, CACHE_YES }, { CACHE_NEW, CACHE_YES },
	{ CACHE_SHOW, CACHE_YES }, { CACHE_CHECK, CACHE_YES }, { CACHE_STORE, CACHE_FAILED },
	{ CACHE_DROP, CACHE_FAILED }, { CACHE_CLEAR, CACHE_FAILED }, { CACHE_DONE, CACHE_FAILED },
};

#define BATCH (sizeof(batch) / sizeof(batch[0]))

static void test_not_committed(void **state)
{
	int clients[BATCH], file;

	(void)state;
	begin(true);
	for (size_t i = 0; i < BATCH; i++) {
		join(1, batch[i].kind >= CACHE_CLEAR);
		clients[i] = t.client;
		if (batch[i].kind == CACHE_DONE)
			fill_memory();
	}
	for (size_t i = 0; i < BATCH; i++)
		request(FIRST_CLIENT + i, clients[i], batch[i].kind, batch[i].kind == CACHE_NEW, 0);
	played.committed = 0;
	let_fail(F_COMMIT, EIO);
	work(INDEX);
	assert_int_equal(played.rolled_back, 1);
	assert_int_equal(played.committed, 0);
	assert_int_equal(played.abandoned, 1);
	work_all();
	for (size_t i = 0; i < BATCH; i++) {
		if (answer_to(clients[i], &file).kind != batch[i].verdict)
			fail_msg("request of kind %u", batch[i].kind);
		if (file >= 0)
			close(file);
		close(clients[i]);
	}
	end();
}

/*
 * If the commit of an entry fails, the keeper removes the entry's file. If the keeper rejects an
 * entry, the keeper writes no file.
 */
static void test_plan_not_committed(void **state)
{
	int file;

	(void)state;
	for (int wanted = 0; wanted < 2; wanted++) {
		begin(true);
		join(1, false);
		fill_memory();
		request(FIRST_CLIENT, t.client, CACHE_DONE, 0, 0);
		if (wanted) {
			work(INDEX);
			work(WRITE);
		}
		let_fail(wanted ? NONE : F_WANTS, 0);
		let_fail(F_COMMIT, EIO);
		work(INDEX);
		assert_int_equal(answer_to(t.client, &file).kind, wanted ? CACHE_FAILED : CACHE_NO);
		assert_int_equal(played.abandoned, wanted);
		close(t.client);
		end();
	}
}

/* If a request breaks its transaction, a new transaction executes the later requests. */
static void test_broken_transaction(void **state)
{
	int clients[3], file;

	(void)state;
	begin(true);
	for (size_t i = 0; i < 3; i++) {
		join(1, false);
		clients[i] = t.client;
		request(FIRST_CLIENT + i, clients[i], CACHE_STORE, 0, 0);
	}
	let_fail(F_COMMIT, EIO);
	played.left[F_BATCH] = 2;
	work(INDEX);
	assert_int_equal(played.rolled_back, 1);
	assert_int_equal(played.committed, 1);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(answer_to(clients[i], &file).kind, i == 2 ? CACHE_YES : CACHE_FAILED);
		close(clients[i]);
	}
	end();
}

/* A user with many requests does not delay another user's request by more than one request. */
static void test_turns(void **state)
{
	static const uint32_t uids[] = { 1, 1, 1, 2 }, turns[] = { 1, 2, 1, 1 };
	int clients[4], file;

	(void)state;
	begin(true);
	for (size_t i = 0; i < 4; i++) {
		join(uids[i], false);
		clients[i] = t.client;
		request(FIRST_CLIENT + i, clients[i], CACHE_GET, 0, 0);
	}
	work(INDEX);
	for (size_t i = 0; i < 4; i++) {
		work(VERIFY);
		assert_int_equal(t.keep->queues[VERIFY].last_uid, turns[i]);
	}
	work(INDEX);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(answer_to(clients[i], &file).kind, CACHE_YES);
		close(file);
		close(clients[i]);
	}
	end();
}

/*
 * A client has memory for only one entry at a time. The keeper stores the memory only as the entry
 * for which the client requested the memory.
 */
static void test_memory_of_a_client(void **state)
{
	const struct message other = { .kind = CACHE_DONE, .serial = 7, .token = { 1 } };
	int file, files;

	(void)state;
	begin(true);
	join(1, false);
	fill_memory();
	files = count_files();
	fill_memory();
	assert_int_equal(count_files(), files);
	assert_true(message_send(t.client, &other, -1));
	assert_true(serve_client(t.keep, FIRST_CLIENT));
	work_all();
	assert_int_equal(answer_to(t.client, &file).kind, CACHE_NO);
	close(t.client);
	end();
}

/* The keeper rejects a plan that has more bytes than a user may write in an hour. */
static void test_too_large(void **state)
{
	const uint64_t most = WRITE_TIMES * USER_BYTES;
	int file;

	(void)state;
	begin(true);
	join(1, false);
	assert_int_equal(ask(CACHE_NEW, 1, most, &file).kind, CACHE_LATER);
	assert_int_equal(ask(CACHE_NEW, PAGE, most - PAGE, &file).kind, CACHE_YES);
	close(file);
	assert_int_equal(ask(CACHE_NEW, PAGE, 0, &file).kind, CACHE_LATER);
	close(t.client);
	end();
}

/* The keeper forgets a user once the user's budgets for stores and for bytes are full again. */
static void test_debts(void **state)
{
	static const struct {
		time_t passed_s;
		size_t users;		/* number of users that the keeper remembers */
	} ages[] = { { 0, 3 }, { 60, 2 }, { 2 * 3600, 1 } };
	int clients[2], file;

	(void)state;
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		begin(true);
		join(1, false);
		clients[0] = t.client;
		assert_int_equal(ask(CACHE_STORE, 0, 0, &file).kind, CACHE_YES);
		join(2, false);
		clients[1] = t.client;
		assert_int_equal(ask(CACHE_NEW, PAGE, USER_BYTES, &file).kind, CACHE_YES);
		close(file);
		played.passed_s = ages[i].passed_s;
		join(3, false);
		assert_int_equal(ask(CACHE_STORE, 0, 0, &file).kind, CACHE_YES);
		assert_int_equal(t.keep->num_users, ages[i].users);
		close(clients[0]);
		close(clients[1]);
		close(t.client);
		end();
	}
}

/*
 * If memory for a new client runs out, the keeper drops the new client; existing clients stay
 * connected.
 */
static void test_no_room(void **state)
{
	static const struct {
		enum call call;
		int left;
	} failures[] = { { F_CALLOC, 1 }, { F_REALLOC, 1 }, { F_REALLOC, 2 } };
	int clients[FIRST_ROOM], refused, file;
	size_t count = 0;
	char byte;

	(void)state;
	begin(true);
	for (; t.keep->count < FIRST_ROOM; clients[count++] = t.client)
		join(1, false);
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		played.left[failures[i].call] = failures[i].left;
		join(1, false);
		refused = t.client;
		assert_int_equal(recv(refused, &byte, 1, MSG_DONTWAIT), 0);
		close(refused);
		assert_int_equal(t.keep->count, FIRST_ROOM);
	}
	join(1, false);
	assert_int_equal(ask(CACHE_QUERY, 0, 0, &file).kind, CACHE_YES);
	close(t.client);
	while (count)
		close(clients[--count]);
	end();
}

/*
 * A broker's message either passes a worker's socket to the keeper or ends the keeper. The keeper
 * only logs a message that lacks its socket, but an invalid message ends the keeper.
 */
static void test_broker(void **state)
{
	static const struct {
		struct message message;
		bool has_socket;
		int error;		/* errno of the call that receives the message, or 0 */
		bool goes_on;
		size_t clients;		/* number of clients after the message */
		unsigned int lines;	/* number of lines in the log after the message */
	} messages[] = {
		{ { .kind = KEEPER_SERVE, .uid = 5 }, true, 0, true, 1, 0 },
		{ { .kind = KEEPER_SERVE, .uid = 5 }, false, 0, true, 0, 1 },
		{ { .kind = KEEPER_END }, false, 0, false, 0, 0 },
		{ { .kind = CACHE_QUERY }, true, 0, false, 0, 0 },
		{ { .kind = CACHE_QUERY }, false, 0, false, 0, 0 },
		{ { .kind = 0 }, false, EAGAIN, true, 0, 0 },
		{ { .kind = 0 }, false, EINTR, true, 0, 0 },
		{ { .kind = 0 }, false, ECONNRESET, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		int ends[2];

		begin(true);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		if (messages[i].error)
			let_fail(F_RECEIVE, messages[i].error);
		else
			assert_true(message_send(t.broker, &messages[i].message,
						 messages[i].has_socket ? ends[0] : -1));
		if (take_client(t.keep) != messages[i].goes_on ||
		    t.keep->count != FIRST_CLIENT + messages[i].clients ||
		    played.lines != messages[i].lines)
			fail_msg("message %zu", i);
		close(ends[0]);
		close(ends[1]);
		end();
	}
}

/*
 * The test makes receiving from a client fail with different errors, and then makes accept(),
 * write() and poll() fail.
 */
static void test_client_errors(void **state)
{
	static const struct {
		int error;
		bool stays;
		unsigned int lines;	/* number of log lines since the test began */
	} errors[] = {
		{ EAGAIN, true, 0 }, { EINTR, true, 0 }, { ECONNRESET, false, 0 },
		{ EPROTO, false, 1 },
	};

	(void)state;
	begin(true);
	join(1, false);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		let_fail(F_RECEIVE, errors[i].error);
		assert_int_equal(serve_client(t.keep, FIRST_CLIENT), errors[i].stays);
		assert_int_equal(played.lines, errors[i].lines);
	}
	/* An administrator disconnects before the keeper accepts the connection. */
	let_fail(F_ACCEPT, ECONNABORTED);
	take_admin(t.keep);
	assert_int_equal(t.keep->count, FIRST_CLIENT + 1);
	/*
	 * end_work() must work even if no thread has reported finished work, or if a thread could
	 * not write its report.
	 */
	end_work(t.keep);
	request(FIRST_CLIENT, t.client, CACHE_QUERY, 0, 0);
	let_fail(F_WRITE, EIO);
	work(INDEX);
	assert_int_equal(played.lines, 2);
	assert_true(t.keep->clients[FIRST_CLIENT]->is_busy);
	hand_back(t.keep, NULL);
	end_work(t.keep);
	assert_false(t.keep->clients[FIRST_CLIENT]->is_busy);
	close(t.client);
	/* The loop of the keeper continues after poll() was interrupted by a signal. */
	let_fail(F_POLL, EINTR);
	end();
	assert_int_equal(played.left[F_POLL], 0);
}

/* A thread that the keeper stops finishes all queued work before the thread ends. */
static void test_stop(void **state)
{
	int clients[2], file;

	(void)state;
	begin(true);
	for (int i = 0; i < 2; i++) {
		join(1, false);
		clients[i] = t.client;
		request(FIRST_CLIENT + i, t.client, CACHE_GET, 0, 0);
	}
	work(INDEX);
	t.keep->stop = true;
	verify_thread(t.keep);
	end_work(t.keep);
	work(INDEX);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(answer_to(clients[i], &file).kind, CACHE_YES);
		close(file);
		close(clients[i]);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_not_committed),
		cmocka_unit_test(test_plan_not_committed),
		cmocka_unit_test(test_broken_transaction),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_memory_of_a_client),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_debts),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_broker),
		cmocka_unit_test(test_client_errors),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests_name("keeper_loop", tests, NULL, NULL);
}
