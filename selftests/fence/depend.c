// SPDX-License-Identifier: MIT
/*
 * Tests the order, failures and time limits of executions that depend on other executions and on
 * fences of other drivers, and deaths of processes.
 */
#include <sys/ioctl.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH 64
#define MS 1000000ULL

FIXTURE(depend) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	union command cmd;
};

FIXTURE_SETUP(depend)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(depend)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Fetches a command without waiting; returns 0, or EAGAIN if no command is queued. */
static int fetch(FIXTURE_DATA(depend) *self)
{
	return session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd);
}

static int answer(FIXTURE_DATA(depend) *self, uint32_t status)
{
	return session_commit(self->s.session, self->cmd.head.cookie, status, NULL, 0, "reason");
}

static int start_after(FIXTURE_DATA(depend) *self, int file)
{
	return file_start(self->s.fd, self->model, self->pool, file);
}

/*
 * A chain of executions runs without calls of the client: the module queues each execution when the
 * previous execution has ended.
 */
TEST_F(depend, chain)
{
	int files[5] = { -1 };

	for (size_t i = 1; i < ARRAY_SIZE(files); i++) {
		files[i] = start_after(self, files[i - 1]);
		ASSERT_GE(files[i], 0);
	}
	await_commands(self->s.fd, ARRAY_SIZE(files) - 1);
	for (size_t i = 1; i < ARRAY_SIZE(files); i++) {
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(fetch(self), EAGAIN);
		for (size_t j = 1; j < ARRAY_SIZE(files); j++) {
			EXPECT_EQ(file_readable(files[j], 0), j < i);
		}
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	for (size_t i = 1; i < ARRAY_SIZE(files); i++) {
		EXPECT_EQ(file_end(self->s.fd, files[i]), 0);
		close(files[i]);
	}
}

/* The client may close the files of a chain while the chain runs. */
TEST_F(depend, chain_without_its_links)
{
	int fence = start_after(self, -1), last = -1;

	for (int i = 0; i < 20; i++) {
		last = start_after(self, fence);
		ASSERT_GE(last, 0);
		close(fence);
		fence = last;
	}
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(file_end(self->s.fd, last), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 21);
	close(last);
}

/* Starts an execution that depends on the @num files in @files, which are submissions or fences. */
static int start_after_all(FIXTURE_DATA(depend) *self, const int32_t *files, uint32_t num)
{
	struct nnaccel_submit submit;
	struct execution e;

	execution_init(&e, self->model, self->pool, self->pool);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &e.cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	submit.dependencies = (uintptr_t)files;
	submit.num_dependencies = num;
	return xioctl(self->s.fd, NNACCEL_SUBMIT, &submit) ? -1 : submit.out_fd;
}

TEST_F(depend, waits_for_all)
{
	const int32_t both[] = { start_after(self, -1), start_after(self, -1), };
	const int32_t twice[] = { both[0], both[1], both[0] };
	union command first;
	int c;

	c = start_after_all(self, twice, ARRAY_SIZE(twice));
	ASSERT_GE(c, 0);
	ASSERT_EQ(fetch(self), 0);
	first = self->cmd;
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, both[1]), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, c), 0);
	close(c);
	close(both[0]);
	close(both[1]);
}

TEST_F(depend, waits_for_as_many_as_may_be)
{
	static int32_t waits[NNACCEL_MAX_DEPENDENCIES];
	int gate = start_after(self, -1), last;

	for (size_t i = 0; i < NNACCEL_MAX_DEPENDENCIES; i++)
		waits[i] = gate;
	last = start_after_all(self, waits, NNACCEL_MAX_DEPENDENCIES);
	ASSERT_GE(last, 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, last), 0);
	close(last);
	close(gate);
}

/*
 * An execution that depends on a failed execution does not run. An execution may fail before or
 * after an execution that depends on it is submitted, and anywhere in a chain.
 */
TEST_F(depend, failure_spreads)
{
	int a = start_after(self, -1), b = start_after(self, a), c = start_after(self, b), d;

	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self, NNACCEL_STATUS_GENERAL_FAILURE), 0);
	EXPECT_EQ(file_end(self->s.fd, a), EPROTO);
	EXPECT_EQ(file_end(self->s.fd, b), EREMOTEIO);
	EXPECT_EQ(file_end(self->s.fd, c), EREMOTEIO);
	d = start_after(self, c);
	EXPECT_EQ(file_end(self->s.fd, d), EREMOTEIO);
	EXPECT_EQ(fetch(self), EAGAIN);
	close(a);
	close(b);
	close(c);
	close(d);
}

static int start_with_buffers(FIXTURE_DATA(depend) *self, uint64_t from, uint64_t to, int file)
{
	struct buffer_execution e;

	buffer_execution_init(&e, self->model, from, to);
	return submit_file(self->s.fd, &e.base.cmd, file);
}

static void await_queued(int count)
{
	struct shown all[8];
	int queued;

	do {
		int n = shown_commands(all, ARRAY_SIZE(all));

		queued = 0;
		for (int i = 0; i < n && i < (int)ARRAY_SIZE(all); i++)
			queued += !strcmp(all[i].state, "queued");
	} while (queued < count && !usleep(1000));
}

/*
 * Executions whose dependencies have ended at the same time are fetched in the order of their
 * priority.
 */
TEST_F(depend, priorities)
{
	const uint32_t order[] = { NNACCEL_PRIORITY_LOW, NNACCEL_PRIORITY_HIGH,
				   NNACCEL_PRIORITY_MEDIUM };
	int gate = start_after(self, -1), files[3];

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		ASSERT_EQ(fetch(self), i ? EAGAIN : 0);
	union command first = self->cmd;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		self->model = served_prepare_as(&self->s, self->pool, order[i]);
		ASSERT_NE(self->model, 0);
		files[i] = start_after(self, gate);
		ASSERT_GE(files[i], 0);
	}
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	/*
	 * Wait until all executions are queued, because the module queues them one after another.
	 */
	await_queued(ARRAY_SIZE(order));
	for (uint32_t i = ARRAY_SIZE(order); i-- > 0;) {
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.priority, i);
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		EXPECT_EQ(file_end(self->s.fd, files[i]), 0);
		close(files[i]);
	}
	close(gate);
}

/* ---- buffers: their state is judged when an execution is queued ---- */

TEST_F(depend, chain_over_buffers)
{
	const char data[16] = "of a buffer";
	uint64_t buffers[2];
	int fence = -1, next;

	ASSERT_EQ(served_start(&self->s), 0);
	buffers[0] = buffer_alloc(self->s.fd, self->model, sizeof(data));
	buffers[1] = buffer_alloc(self->s.fd, self->model, sizeof(data));
	ASSERT_NE(buffers[1], 0);
	fence = start_with_buffers(self, buffers[0], buffers[1], -1);
	EXPECT_EQ(file_end(self->s.fd, fence), ENODATA);
	close(fence);
	ASSERT_EQ(buffer_copy_in(self->s.fd, buffers[0], data, sizeof(data)), 0);
	fence = start_with_buffers(self, buffers[0], buffers[1], -1);
	for (int i = 1; i < 10; i++) {
		next = start_with_buffers(self, buffers[i % 2], buffers[(i + 1) % 2], fence);
		ASSERT_GE(next, 0);
		close(fence);
		fence = next;
	}
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 10);
	close(fence);
}

/* ---- time limits ---- */

TEST_F(depend, deadline_while_waiting)
{
	int gate = start_after(self, -1), late;

	late = file_start_until(self->s.fd, self->model, self->pool, gate, now_ns() + 50 * MS);
	EXPECT_EQ(file_end(self->s.fd, late), ETIME);
	close(late);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(file_end(self->s.fd, gate), 0);
	close(gate);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 1);
}

/*
 * The maximum duration of an execution starts when the last dependency ends. If an execution has a
 * maximum duration and a deadline, the earlier limit applies.
 */
TEST_F(depend, duration)
{
	int gate = start_after(self, -1);
	uint64_t before, limit = 3600000 * MS;
	struct nnaccel_submit submit;
	struct execution e;

	execution_init(&e, self->model, self->pool, self->pool);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &e.cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	submit.dependencies = (uintptr_t)&gate;
	submit.num_dependencies = 1;
	submit.duration_ns = limit;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	usleep(20000);
	before = now_ns();
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_GE(self->cmd.head.deadline_ns, before + limit);
	EXPECT_LE(self->cmd.head.deadline_ns, now_ns() + limit);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, submit.out_fd), 0);
	close(submit.out_fd);

	e.cmd.deadline_ns = now_ns() + limit / 2;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.deadline_ns, e.cmd.deadline_ns);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	close(submit.out_fd);

	submit.duration_ns = 1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	EXPECT_EQ(file_end(self->s.fd, submit.out_fd), ETIME);
	close(submit.out_fd);
	submit.duration_ns = UINT64_MAX;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, submit.out_fd), 0);
	close(submit.out_fd);
	close(gate);
}

/*
 * The measured time from the end of the last dependency includes the wait for the fences of the
 * execution's memory.
 */
TEST_F(depend, measured_with_fences_of_memory)
{
	int buffer = pool_export(self->s.fd, self->pool), file;
	struct exporter exporter;
	struct execution e;

	ASSERT_TRUE(exporter_open(&exporter, 0));
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_TRUE(exporter_lend_fence(&exporter, buffer));
	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.flags = NNACCEL_EXECUTE_MEASURE;
	file = submit_file(self->s.fd, &e.cmd, -1);
	ASSERT_GE(file, 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_SIGNAL, 0), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e.cmd), 0);
	EXPECT_NE(e.cmd.out_driver_ns, NNACCEL_TIME_NONE);
	/* The execution has no dependency, so both times begin with the call of SUBMIT. */
	EXPECT_EQ(e.cmd.out_fenced_ns, e.cmd.out_driver_ns);
	close(file);
	close(buffer);
	exporter_close(&exporter);
}

/* ---- fences of another driver ---- */

TEST_F(depend, foreign)
{
	int timeline = timeline_open(), a, b, first, second;

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	a = timeline_fence(timeline, 1);
	b = timeline_fence(timeline, 2);
	first = start_after(self, a);
	second = start_after(self, b);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(timeline_advance(timeline), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, first), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	/* Closing the sw_sync timeline signals its pending fences with an error. */
	close(timeline);
	EXPECT_LT(fence_status(b), 0);
	EXPECT_EQ(file_end(self->s.fd, second), EREMOTEIO);
	EXPECT_EQ(fetch(self), EAGAIN);
	close(a);
	close(b);
	close(first);
	close(second);
}

/*
 * An execution waits until its deadline for a fence that never signals. At the deadline, the module
 * removes its callback from the fence.
 */
TEST_F(depend, foreign_that_never_signals)
{
	int timeline = timeline_open(), never, file;

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	never = timeline_fence(timeline, 1);
	file = file_start_until(self->s.fd, self->model, self->pool, never, now_ns() + 50 * MS);
	EXPECT_EQ(file_end(self->s.fd, file), ETIME);
	close(file);
	file = start_after(self, never);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 1));
	served_close(&self->s);
	EXPECT_TRUE(file_readable(file, -1));
	close(file);
	EXPECT_TRUE(summary_settles(&self->before));
	close(never);
	close(timeline);
	self->s = (struct served){ .broker = -1, .fd = -1, .session = -1 };
}

TEST_F(depend, many_foreign)
{
	static int32_t waits[NNACCEL_MAX_DEPENDENCIES];
	int timeline = timeline_open(), fence, file;

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	fence = timeline_fence(timeline, 1);
	for (int i = 0; i < NNACCEL_MAX_DEPENDENCIES; i++)
		waits[i] = fence;
	file = start_after_all(self, waits, NNACCEL_MAX_DEPENDENCIES);
	ASSERT_GE(file, 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(timeline_advance(timeline), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(file);
	close(fence);
	close(timeline);
}

/* ---- deaths ---- */

enum stage { WAITING, QUEUED, FETCHED, NUM_STAGES };

static const char *const stage_names[] = { "waiting", "queued", "fetched" };

/*
 * Starts an execution and brings the execution to @stage. Stores in *@gate the file of the
 * dependency for which the execution waits, or -1.
 */
static int start_at(FIXTURE_DATA(depend) *self, enum stage stage, int *gate)
{
	*gate = -1;
	if (stage == WAITING) {
		*gate = start_after(self, -1);
		if (fetch(self))
			return -1;
	}
	return start_after(self, *gate);
}

TEST_F(depend, death_of_the_worker)
{
	for (enum stage stage = 0; stage < NUM_STAGES; stage++) {
		int gate, fence = start_at(self, stage, &gate);

		ASSERT_GE(fence, 0);
		if (stage == FETCHED) {
			ASSERT_EQ(fetch(self), 0);
		}
		EXPECT_FALSE(file_readable(fence, 0));
		close(self->s.session);
		EXPECT_EQ(file_end(self->s.fd, fence), EPIPE) TH_LOG("%s", stage_names[stage]);
		close(fence);
		close(gate);
		self->s.session = -1;
		served_close(&self->s);
		ASSERT_EQ(served_open(&self->s), 0);
		self->pool = pool_alloc(self->s.fd, LENGTH);
		self->model = served_prepare(&self->s, self->pool);
	}
}

TEST_F(depend, close_of_the_context)
{
	for (enum stage stage = 0; stage < NUM_STAGES; stage++) {
		int gate, fence = start_at(self, stage, &gate);

		ASSERT_GE(fence, 0);
		if (stage == FETCHED) {
			ASSERT_EQ(fetch(self), 0);
		}
		close(self->s.fd);
		self->s.fd = -1;
		EXPECT_TRUE(file_readable(fence, -1)) TH_LOG("%s", stage_names[stage]);
		close(fence);
		close(gate);
		served_close(&self->s);
		ASSERT_EQ(served_open(&self->s), 0);
		self->pool = pool_alloc(self->s.fd, LENGTH);
		self->model = served_prepare(&self->s, self->pool);
	}
}

/* The broker's death does not affect executions. */
TEST_F(depend, death_of_the_broker)
{
	int gate, fence = start_at(self, WAITING, &gate);

	close(self->s.broker);
	self->s.broker = -1;
	EXPECT_FALSE(file_readable(fence, 0));
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(gate);
	close(fence);
}

TEST_HARNESS_MAIN
