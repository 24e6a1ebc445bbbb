// SPDX-License-Identifier: MIT
/*
 * Executions on memory of an exporter that misbehaves. The exporter blocks at the begin or the end
 * of an access, is interrupted, or is removed. Every execution with a deadline ends, and a
 * misbehaving exporter blocks no other client.
 */
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "exporters.h"
#include "fence.h"
#include "harness.h"

#define LENGTH (EXPORTER_NUM_PAGES * PAGE)
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

/* ERESTARTSYS and ERESTARTNOINTR are internal to the kernel and must not reach a program. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513

FIXTURE(misbehave) {
	struct summary before;
	struct served s;
	struct exporter x;
	uint32_t own;
	uint32_t pool;
	uint32_t model;
	long long grace;
	union command cmd;
};

FIXTURE_SETUP(misbehave)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->own = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->own);
	ASSERT_NE(self->model, 0);
	ASSERT_TRUE(exporter_open(&self->x, 0));
	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &self->pool), 0);
	self->grace = param_set("kill_grace_ms", 10);
	param_set("kill_grace_ms", self->grace);
}

FIXTURE_TEARDOWN(misbehave)
{
	exporter_close(&self->x);
	served_close(&self->s);
	param_set("kill_grace_ms", self->grace);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* ---- helpers ---- */

static int fetch(FIXTURE_DATA(misbehave) *self)
{
	return session_fetch(self->s.session, 0, &self->cmd);
}

static int answer(FIXTURE_DATA(misbehave) *self)
{
	return session_answer(self->s.session, &self->cmd);
}

static int start(FIXTURE_DATA(misbehave) *self, int fence)
{
	return file_start(self->s.fd, self->model, self->pool, fence);
}

/* Starts an execution whose deadline is late enough for the test's next steps. */
static int start_with_deadline(FIXTURE_DATA(misbehave) *self)
{
	return file_start_until(self->s.fd, self->model, self->pool, -1, deadline_soon());
}

/* Starts an execution on memory that the module allocated. */
static int start_own(FIXTURE_DATA(misbehave) *self, int fence)
{
	return file_start(self->s.fd, self->model, self->own, fence);
}

static void misbehave(FIXTURE_DATA(misbehave) *self, unsigned long how)
{
	ioctl(self->x.fd, EXPORTER_REFUSE, how);
}

/* Waits until the exporter's counter at @offset is @value; returns false after too long a wait. */
static bool becomes(const struct exporter *x, size_t offset, uint32_t value)
{
	for (unsigned long long i = scaled(10000); i; i--) {
		struct exporter_counts counts = exporter_counts(x);

		if (*(uint32_t *)((char *)&counts + offset) == value)
			return true;
		usleep(10000);
	}
	return false;
}

#define BECOMES(_x, _count, _value)						\
	becomes(_x, offsetof(struct exporter_counts, _count), _value)

static bool command_waits(FIXTURE_DATA(misbehave) *self)
{
	struct pollfd poller = { self->s.session, POLLIN, 0 };

	return poll(&poller, 1, 200) == 1;
}

/* Checks that @n accesses began, and that all @n accesses ended. */
#define EXPECT_PAIRS(_n) do {							\
	EXPECT_TRUE(BECOMES(&self->x, ended[0], _n));				\
	EXPECT_EQ(exporter_counts(&self->x).begun[0], _n);			\
	EXPECT_EQ(exporter_counts(&self->x).ended[0], _n);			\
} while (0)

/* ---- fences added later ---- */

TEST_F(misbehave, a_fence_that_comes_later_is_not_waited_for)
{
	int gate = start_own(self, -1), fence = start(self, gate);

	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	EXPECT_EQ(answer(self), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(exporter_counts(&self->x).fences, 1);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	EXPECT_EQ(exporter_counts(&self->x).fences, 1);
	close(fence);
	close(gate);
}

TEST_F(misbehave, a_fence_that_was_there_before_is_waited_for)
{
	int gate = start_own(self, -1), fence;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	fence = start(self, gate);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_FALSE(command_waits(self));
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
	close(gate);
}

/* ---- exporters that block ---- */

TEST_F(misbehave, a_begin_that_blocks_ends_with_the_deadline)
{
	int fence;

	misbehave(self, EXPORTER_BEGIN_BLOCKS);
	fence = start_with_deadline(self);
	EXPECT_EQ(file_end(self->s.fd, fence), ETIME);
	EXPECT_EQ(exporter_counts(&self->x).blocked, 1);
	/*
	 * The exporter begins the access only now, after the deadline, so the module ends the
	 * access at once.
	 */
	misbehave(self, 0);
	EXPECT_PAIRS(1);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_FALSE(command_waits(self));
	close(fence);
}

TEST_F(misbehave, a_begin_that_blocks_until_it_is_released)
{
	int fence;

	misbehave(self, EXPORTER_BEGIN_BLOCKS);
	fence = start(self, -1);
	EXPECT_TRUE(BECOMES(&self->x, blocked, 1));
	EXPECT_FALSE(command_waits(self));
	misbehave(self, 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	EXPECT_PAIRS(1);
	close(fence);
}

TEST_F(misbehave, an_end_that_blocks_ends_with_the_deadline)
{
	int fence;

	misbehave(self, EXPORTER_END_BLOCKS);
	fence = start_with_deadline(self);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), ETIME);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	misbehave(self, 0);
	EXPECT_PAIRS(1);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	close(fence);
}

/*
 * Runs one execution by io_uring with the deadline, answers it as the worker, and returns its
 * result.
 */
static int run_by_uring(FIXTURE_DATA(misbehave) *self, uint64_t deadline_ns, unsigned long then)
{
	struct nnaccel_submit submit;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct execution e;
	int res = -EBADF;

	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.deadline_ns = deadline_ns;
	if (io_uring_queue_init(1, &ring, 0))
		return res;
	submit_by_ring(io_uring_get_sqe(&ring), self->s.fd, &submit, &e.cmd, 0);
	if (io_uring_submit(&ring) == 1 && !fetch(self) && !answer(self)) {
		usleep(100000);
		misbehave(self, then);
		if (!io_uring_wait_cqe(&ring, &cqe))
			res = cqe->res;
	}
	misbehave(self, 0);
	io_uring_queue_exit(&ring);
	return res;
}

/* An execution by io_uring waits for its exporter until the client's deadline. */
TEST_F(misbehave, an_end_that_blocks_and_io_uring)
{
	param_set("kill_grace_ms", 20);
	misbehave(self, EXPORTER_END_BLOCKS);
	EXPECT_EQ(run_by_uring(self, 0, 0), 0);
	EXPECT_PAIRS(1);
	misbehave(self, EXPORTER_END_BLOCKS);
	EXPECT_EQ(run_by_uring(self, deadline_soon(), EXPORTER_END_BLOCKS), -ETIME);
	EXPECT_PAIRS(2);
}

/*
 * An execution whose exporter blocks counts against the client's limit of commands, even if the
 * client has cancelled it.
 */
TEST_F(misbehave, what_blocks_counts_against_the_limit)
{
	long long max = param_set("max_commands", 2);
	int fences[2];

	misbehave(self, EXPORTER_BEGIN_BLOCKS);
	for (size_t i = 0; i < ARRAY_SIZE(fences); i++)
		fences[i] = start(self, -1);
	/* The exporter blocks the first execution, for which the second one waits. */
	EXPECT_TRUE(BECOMES(&self->x, blocked, 1));
	usleep(100000);
	for (size_t i = 0; i < ARRAY_SIZE(fences); i++) {
		EXPECT_EQ(file_cancel(self->s.fd, fences[i]), 0);
		EXPECT_TRUE(file_readable(fences[i], 0));
		close(fences[i]);
	}
	EXPECT_EQ(start_own(self, -1), -1);
	EXPECT_EQ(errno, EXFULL);
	misbehave(self, 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_EQ(exporter_counts(&self->x).begun[0], exporter_counts(&self->x).ended[0]);
	param_set("max_commands", max);
}

/* Worker, context and deadline end while the exporter blocks the end of an access. */
TEST_F(misbehave, a_context_that_ends_while_an_end_blocks)
{
	int fence;

	misbehave(self, EXPORTER_END_BLOCKS);
	fence = start_with_deadline(self);
	ASSERT_EQ(fetch(self), 0);
	served_close(&self->s);
	EXPECT_TRUE(BECOMES(&self->x, blocked, 1));
	EXPECT_TRUE(file_readable(fence, -1));
	misbehave(self, 0);
	EXPECT_PAIRS(1);
	close(fence);
	self->s = (struct served){ .broker = -1, .fd = -1, .session = -1 };
}

/* ---- exporters that are interrupted, or refuse ---- */

static const struct {
	const char *name;
	uint32_t error;
	int seen;		/* the client's error; 0: the module repeats the exporter's call */
} errors[] = {
	{ "EINTR", EINTR, 0 },
	{ "EAGAIN", EAGAIN, 0 },
	{ "ERESTARTSYS", ERESTARTSYS, 0 },
	{ "ERESTARTNOINTR", ERESTARTNOINTR, 0 },
	{ "ENODEV", ENODEV, EIO },
	{ "ETIMEDOUT", ETIMEDOUT, EIO },
	{ "the kernel's 516", 516, EIO },
};

TEST_F(misbehave, an_interrupted_begin_or_end_is_repeated)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		uint32_t n = errors[i].seen ? 1 : 3;
		struct exporter_failures failures = { errors[i].error, n, 0 };
		uint32_t before = exporter_counts(&self->x).ended[0];
		int fence;

		/* The exporter returns an error when an access begins. */
		ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FAIL, &failures), 0);
		fence = start(self, -1);
		if (!errors[i].seen) {
			ASSERT_EQ(fetch(self), 0);
			EXPECT_EQ(answer(self), 0);
		}
		EXPECT_EQ(file_end(self->s.fd, fence), errors[i].seen)
			TH_LOG("%s of the begin", errors[i].name);
		EXPECT_TRUE(BECOMES(&self->x, ended[0], before + !errors[i].seen));
		close(fence);

		/* The exporter returns an error when an access ends. */
		before = exporter_counts(&self->x).ended[0];
		failures = (struct exporter_failures){ errors[i].error, 0, n };
		ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FAIL, &failures), 0);
		fence = start(self, -1);
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(answer(self), 0);
		EXPECT_EQ(file_end(self->s.fd, fence), errors[i].seen)
			TH_LOG("%s of the end", errors[i].name);
		EXPECT_EQ(exporter_counts(&self->x).ended[0], before + !errors[i].seen);
		close(fence);
	}
}

/* Tests failed accesses with EXECUTE, a call that signals can interrupt. */
TEST_F(misbehave, an_interrupted_begin_or_end_of_a_call_is_repeated)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		uint32_t n = errors[i].seen ? 1 : 3;
		struct exporter_failures failures = { errors[i].error, n, 0 };
		uint32_t before = exporter_counts(&self->x).ended[0];
		struct execution e;
		struct async async;

		execution_init(&e, self->model, self->pool, self->pool);
		ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FAIL, &failures), 0);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
		if (!errors[i].seen) {
			failures = (struct exporter_failures){ errors[i].error, 0, n };
			ASSERT_EQ(fetch(self), 0);
			ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FAIL, &failures), 0);
			EXPECT_EQ(answer(self), 0);
		}
		EXPECT_EQ(async_wait(&async), errors[i].seen) TH_LOG("%s", errors[i].name);
		EXPECT_TRUE(BECOMES(&self->x, ended[0], before + !errors[i].seen));
		EXPECT_EQ(exporter_counts(&self->x).begun[0], exporter_counts(&self->x).ended[0]);
	}
}

TEST_F(misbehave, the_exporter_goes_away_while_begin_blocks)
{
	int fence;

	misbehave(self, EXPORTER_BEGIN_BLOCKS);
	fence = start(self, -1);
	EXPECT_TRUE(BECOMES(&self->x, blocked, 1));
	close(self->x.fd);
	self->x.fd = -1;
	EXPECT_EQ(file_end(self->s.fd, fence), EIO);
	EXPECT_FALSE(command_waits(self));
	close(fence);
}

TEST_F(misbehave, the_exporter_goes_away_while_end_blocks)
{
	int fence;

	misbehave(self, EXPORTER_END_BLOCKS);
	fence = start(self, -1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_TRUE(BECOMES(&self->x, blocked, 1));
	close(self->x.fd);
	self->x.fd = -1;
	EXPECT_EQ(file_end(self->s.fd, fence), EIO);
	close(fence);
}

/* ---- other clients ---- */

#define CROWD 300
#define MOST_ROUNDS 100

/* A second client with its own context, and with memory of a second exporter and of the module. */
struct other {
	struct served s;
	struct exporter x;
	uint32_t pools[2];
	uint32_t model;
};

static bool other_open(struct other *o)
{
	if (!exporter_open(&o->x, 0) || served_open(&o->s))
		return false;
	o->pools[0] = pool_alloc(o->s.fd, LENGTH);
	o->model = served_prepare(&o->s, o->pools[0]);
	return o->model && !served_start(&o->s) &&
	       !pool_import(o->s.fd, o->x.buffer, PROT_RW, 0, LENGTH, &o->pools[1]);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Runs executions of the second client on its two pools in turn; returns how many failed. */
static int other_runs(struct other *o, const char *when)
{
	static uint64_t times[2 * MOST_ROUNDS];
	const int count = how_often(2 * MOST_ROUNDS, 20);
	int failed = 0;

	for (int i = 0; i < count; i++) {
		uint64_t before = now_ns();
		int fence = file_start(o->s.fd, o->model, o->pools[i % 2], -1);

		failed += file_end(o->s.fd, fence) != 0;
		times[i] = now_ns() - before;
		close(fence);
	}
	qsort(times, (size_t)count, sizeof(*times), compare_times);
	fprintf(stderr, "# another client, %s: p50 %llu us, p99 %llu us, longest %llu us\n", when,
		(unsigned long long)times[count / 2] / 1000,
		(unsigned long long)times[count * 99 / 100] / 1000,
		(unsigned long long)times[count - 1] / 1000);
	return failed;
}

/*
 * Blocks more executions than the module's maximum number of threads. A second client must make
 * progress while the executions are blocked.
 */
static void crowd(struct __test_metadata *_metadata, FIXTURE_DATA(misbehave) *self,
		  unsigned long how)
{
	long long max = param_set("max_commands", CROWD);
	static int fences[CROWD];
	struct other other;

	/* The second client opens its own broker, so close the broker of the fixture. */
	close(self->s.broker);
	self->s.broker = -1;
	ASSERT_TRUE(other_open(&other));
	EXPECT_EQ(other_runs(&other, "alone"), 0);
	misbehave(self, how);
	for (int i = 0; i < CROWD; i++) {
		fences[i] = start(self, -1);
		ASSERT_GE(fences[i], 0);
	}
	for (int i = 0; i < CROWD && how == EXPORTER_END_BLOCKS; i++) {
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(answer(self), 0);
	}
	/*
	 * The module makes only one call of the exporter at a time. The number of threads that wait
	 * for the blocked call is limited, and much smaller than CROWD.
	 */
	EXPECT_TRUE(BECOMES(&self->x, blocked, 1));
	EXPECT_EQ(other_runs(&other, how == EXPORTER_END_BLOCKS ? "300 ends blocked" :
								  "300 begins blocked"), 0);
	EXPECT_EQ(exporter_counts(&self->x).blocked, 1);
	misbehave(self, 0);
	for (int i = 0; i < CROWD; i++) {
		if (how == EXPORTER_BEGIN_BLOCKS) {
			ASSERT_EQ(fetch(self), 0);
			EXPECT_EQ(answer(self), 0);
		}
	}
	for (int i = 0; i < CROWD; i++) {
		EXPECT_EQ(file_end(self->s.fd, fences[i]), 0);
		close(fences[i]);
	}
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_EQ(exporter_counts(&self->x).begun[0], exporter_counts(&self->x).ended[0]);
	param_set("max_commands", max);
	exporter_close(&other.x);
	served_close(&other.s);
}

TEST_F(misbehave, another_client_while_300_begins_block)
{
	crowd(_metadata, self, EXPORTER_BEGIN_BLOCKS);
}

TEST_F(misbehave, another_client_while_300_ends_block)
{
	crowd(_metadata, self, EXPORTER_END_BLOCKS);
}

/* Each of many blocked executions ends at its deadline. */
TEST_F(misbehave, a_crowd_that_blocks_ends_with_the_deadline)
{
	long long max = param_set("max_commands", CROWD);
	static int fences[CROWD];

	misbehave(self, EXPORTER_BEGIN_BLOCKS);
	for (int i = 0; i < CROWD; i++) {
		fences[i] = start_with_deadline(self);
		ASSERT_GE(fences[i], 0);
	}
	for (int i = 0; i < CROWD; i++) {
		EXPECT_EQ(file_end(self->s.fd, fences[i]), ETIME);
		close(fences[i]);
	}
	misbehave(self, 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_EQ(exporter_counts(&self->x).begun[0], exporter_counts(&self->x).ended[0]);
	param_set("max_commands", max);
}

TEST_HARNESS_MAIN
