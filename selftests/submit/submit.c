// SPDX-License-Identifier: MIT
/*
 * Tests of SUBMIT and WAIT: each kind of work, each error, files, dependencies and limits. At each
 * stage of a submission, signals arrive, other threads call WAIT, objects are destroyed, and
 * processes die.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporters.h"
#include "harness.h"
#include "signals.h"

FIXTURE(submit) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	struct execution execution;
	union command cmd;
};

FIXTURE_SETUP(submit)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, 2 * PAGE);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
	execution_init(&self->execution, self->model, self->pool, self->pool);
}

FIXTURE_TEARDOWN(submit)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Fetches the next command, skipping notices. */
static int fetch(FIXTURE_DATA(submit) *self)
{
	int error;

	do
		error = session_fetch(self->s.session, 0, &self->cmd);
	while (!error && !self->cmd.head.cookie);
	return error;
}

static int answer(FIXTURE_DATA(submit) *self)
{
	return session_answer(self->s.session, &self->cmd);
}

/* Fetches all notices, and returns whether the worker has no command to fetch. */
static bool worker_is_idle(FIXTURE_DATA(submit) *self)
{
	int error;

	do
		error = session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd);
	while (!error && !self->cmd.head.cookie);
	return error == EAGAIN;
}

/* Returns how many commands of the context count against max_commands. */
static long long commands(const FIXTURE_DATA(submit) *self)
{
	return summary_get(self->s.fd, "nnaccel-commands");
}

/* Returns the progress of a pending submission, or -1 if the submission has an answer. */
static int progress_of(FIXTURE_DATA(submit) *self, uint32_t id, void *work)
{
	struct nnaccel_wait wait = {
		.size = sizeof(wait), .flags = NNACCEL_WAIT_NONBLOCK, .id = id,
		.work = (uintptr_t)work, .out_progress = POISON,
	};

	if (xioctl(self->s.fd, NNACCEL_WAIT, &wait) || wait.out_state != NNACCEL_STATE_PENDING)
		return -1;
	return (int)wait.out_progress;
}

/*
 * The worker reports the progress of a preparation. After the client has destroyed the submission,
 * a report of progress fails with ECANCELED.
 */
TEST_F(submit, progress)
{
	const struct nnaccel_session_commit commit = {
		.size = sizeof(commit), .flags = NNACCEL_COMMIT_PROGRESS, .fence = 250,
	};
	struct nnaccel_session_commit wrong[] = { commit, commit, commit, commit, commit, commit };
	struct nnaccel_session_commit c = commit;
	struct nnaccel_prepare prepare;
	uint32_t id;

	prepare_init(&prepare, self->pool, 1);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &prepare, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(progress_of(self, id, &prepare), 0);
	c.cookie = self->cmd.head.cookie;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &c), 0);
	EXPECT_EQ(progress_of(self, id, &prepare), 250);
	c.fence = NNACCEL_PROGRESS_ALL;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &c), 0);
	EXPECT_EQ(progress_of(self, id, &prepare), NNACCEL_PROGRESS_ALL);
	wrong[0].fence = NNACCEL_PROGRESS_ALL + 1;
	wrong[1].fence = -1;
	wrong[2].status = NNACCEL_STATUS_GENERAL_FAILURE;
	wrong[3].flags |= NNACCEL_COMMIT_FENCE;
	wrong[4].payload_size = 1;
	wrong[5].message_size = 1;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		wrong[i].cookie = c.cookie;
		EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &wrong[i]), EINVAL)
			TH_LOG("%zu", i);
	}
	EXPECT_EQ(progress_of(self, id, &prepare), NNACCEL_PROGRESS_ALL);
	EXPECT_EQ(object_destroy(self->s.fd, id), 0);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &c), ECANCELED);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &c), ENOENT);
	/* The worker cannot report progress for a command other than PREPARE. */
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &self->execution.cmd, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	c.cookie = self->cmd.head.cookie;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &c), EINVAL);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &self->execution.cmd), 0);
}

/* ---- kinds ---- */

union work {
	uint32_t size;
	struct nnaccel_query query;
	struct nnaccel_supported supported;
	struct nnaccel_prepare prepare;
	struct nnaccel_prepare_cached cached;
	struct nnaccel_cache_save save;
	struct nnaccel_execute execute;
	struct nnaccel_buffer_alloc alloc;
	struct nnaccel_buffer_copy copy;
	struct nnaccel_burst_create burst;
};

/* Memory to which the structures of all kinds of work point. */
static struct {
	uint32_t answer;
	uint8_t supported[4];
	struct allocation allocation;
	struct execution execution;
	struct saved saved;
	char bytes[16];
	uint32_t converted;	/* a buffer in the worker's own layout */
} at;

static void init_query(FIXTURE_DATA(submit) *self, union work *work)
{
	query_init(&work->query, 7, &at.answer, sizeof(at.answer));
}

static bool has_query(const union work *work)
{
	return work->query.out_status == NNACCEL_STATUS_NONE && at.answer == 7 &&
	       work->query.data_size == sizeof(at.answer);
}

static void init_supported(FIXTURE_DATA(submit) *self, union work *work)
{
	supported_init(&work->supported, self->pool, 1, at.supported, 4);
}

static bool has_supported(const union work *work)
{
	return work->supported.out_status == NNACCEL_STATUS_NONE && at.supported[3] == 1;
}

static void init_prepare(FIXTURE_DATA(submit) *self, union work *work)
{
	prepare_init(&work->prepare, self->pool, 1);
}

static bool has_prepare(const union work *work)
{
	return work->prepare.out_status == NNACCEL_STATUS_NONE && work->prepare.out_model;
}

static void init_cached(FIXTURE_DATA(submit) *self, union work *work)
{
	prepare_cached_init(&work->cached, &at.saved, self->pool, 1, 0, 0);
}

static bool has_cached(const union work *work)
{
	return work->cached.out_status == NNACCEL_STATUS_NONE && work->cached.out_model;
}

static void init_save(FIXTURE_DATA(submit) *self, union work *work)
{
	cache_save_init(&work->save, &at.saved, self->model, self->pool, PAGE, 0, 0);
}

static bool has_save(const union work *work)
{
	return work->save.out_status == NNACCEL_STATUS_NONE && !at.saved.model_size;
}

static void init_execute(FIXTURE_DATA(submit) *self, union work *work)
{
	execution_init(&at.execution, self->model, self->pool, self->pool);
	work->execute = at.execution.cmd;
	work->execute.flags = NNACCEL_EXECUTE_MEASURE;
	work->execute.out_fenced_ns = POISON;
}

static bool has_execute(const union work *work)
{
	return work->execute.out_status == NNACCEL_STATUS_NONE &&
	       work->execute.out_num_shapes == 1 && at.execution.shape.dims[0] == 1 &&
	       work->execute.out_device_ns == MOCK_DEVICE_NS &&
	       work->execute.out_fenced_ns <= work->execute.out_driver_ns &&
	       work->execute.out_driver_ns != NNACCEL_TIME_NONE && !at.execution.message[0];
}

static void init_alloc(FIXTURE_DATA(submit) *self, union work *work)
{
	allocation_init(&at.allocation, self->model, 16);
	work->alloc = at.allocation.cmd;
}

static bool has_alloc(const union work *work)
{
	return work->alloc.out_status == NNACCEL_STATUS_NONE && work->alloc.out_buffer;
}

static void init_copy(FIXTURE_DATA(submit) *self, union work *work)
{
	memset(at.bytes, 0xa5, sizeof(at.bytes));
	work->copy = (struct nnaccel_buffer_copy){
		.size = sizeof(work->copy),
		.flags = NNACCEL_COPY_IN,
		.buffer = at.converted,
		.data = (uintptr_t)at.bytes,
		.length = sizeof(at.bytes),
		.out_status = POISON,
	};
}

static bool has_copy(const union work *work)
{
	return work->copy.out_status == NNACCEL_STATUS_NONE;
}

static void init_copy_out(FIXTURE_DATA(submit) *self, union work *work)
{
	init_copy(self, work);
	work->copy.flags = NNACCEL_COPY_OUT;
}

static bool has_copy_out(const union work *work)
{
	/*
	 * The client gets zeros, because the worker has written nothing to the staging pool of the
	 * copy.
	 */
	return has_copy(work) && !at.bytes[0] && !at.bytes[sizeof(at.bytes) - 1];
}

static void init_burst(FIXTURE_DATA(submit) *self, union work *work)
{
	burst_init(&work->burst, self->model, 0);
}

static bool has_burst(const union work *work)
{
	return work->burst.out_status == NNACCEL_STATUS_NONE && work->burst.out_fd >= 0 &&
	       fcntl(work->burst.out_fd, F_GETFD) == FD_CLOEXEC && !close(work->burst.out_fd);
}

static const struct kind {
	const char *name;
	uint32_t work;
	uint32_t command;
	void (*init)(FIXTURE_DATA(submit) *self, union work *work);
	bool (*has)(const union work *work);
} kinds[] = {
	{ "query", NNACCEL_WORK_QUERY, NNACCEL_DO_QUERY, init_query, has_query },
	{ "supported", NNACCEL_WORK_SUPPORTED, NNACCEL_DO_SUPPORTED, init_supported, has_supported },
	{ "prepare", NNACCEL_WORK_PREPARE, NNACCEL_DO_PREPARE, init_prepare, has_prepare },
	{ "prepare_cached", NNACCEL_WORK_PREPARE_CACHED, NNACCEL_DO_PREPARE_CACHED, init_cached,
	  has_cached },
	{ "cache_save", NNACCEL_WORK_CACHE_SAVE, NNACCEL_DO_CACHE_SAVE, init_save, has_save },
	{ "execute", NNACCEL_WORK_EXECUTE, NNACCEL_DO_EXECUTE, init_execute, has_execute },
	{ "buffer_alloc", NNACCEL_WORK_BUFFER_ALLOC, NNACCEL_DO_BUFFER, init_alloc, has_alloc },
	{ "buffer_copy in", NNACCEL_WORK_BUFFER_COPY, NNACCEL_DO_COPY_IN, init_copy, has_copy },
	{ "buffer_copy out", NNACCEL_WORK_BUFFER_COPY, NNACCEL_DO_COPY_OUT, init_copy_out,
	  has_copy_out },
	{ "burst", NNACCEL_WORK_BURST, NNACCEL_DO_BURST, init_burst, has_burst },
};

#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Allocates a buffer whose layout only the worker can convert; returns the buffer's id. */
static uint32_t converted_buffer(FIXTURE_DATA(submit) *self)
{
	const uint32_t layout = NNACCEL_LAYOUT_ENGINE;
	union work work;
	uint32_t id;

	init_alloc(self, &work);
	if (submit_work(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &work, &id) || fetch(self) ||
	    session_commit(self->s.session, self->cmd.head.cookie, NNACCEL_STATUS_NONE, &layout,
			   sizeof(layout), NULL) ||
	    submission_wait(self->s.fd, id, &work))
		return 0;
	return work.alloc.out_buffer;
}

TEST_F(submit, each_kind)
{
	union work work, before;
	uint32_t id;
	bool done;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		const struct kind *kind = &kinds[i];

		kind->init(self, &work);
		before = work;
		ASSERT_EQ(submit_work(self->s.fd, kind->work, &work, &id), 0)
			TH_LOG("%s", kind->name);
		EXPECT_EQ(submission_try(self->s.fd, id, &work, &done), 0);
		EXPECT_FALSE(done);
		EXPECT_FALSE(file_readable(self->s.fd, 0));
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(self->cmd.head.kind, kind->command);
		EXPECT_EQ(memcmp(&work, &before, work.size), 0);
		ASSERT_EQ(answer(self), 0);
		EXPECT_TRUE(file_readable(self->s.fd, -1));
		EXPECT_EQ(commands(self), 1);
		EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0)
			TH_LOG("%s", kind->name);
		EXPECT_TRUE(kind->has(&work))
			TH_LOG("%s", kind->name);
		EXPECT_FALSE(file_readable(self->s.fd, 0));
		EXPECT_EQ(commands(self), 0);
		EXPECT_EQ(submission_wait(self->s.fd, id, &work), ENOENT);
		EXPECT_EQ(object_destroy(self->s.fd, id), ENOENT);
	}
}

/*
 * For each kind of work, a single SUBMIT with NNACCEL_SUBMIT_WAIT submits the work and returns the
 * answer.
 */
TEST_F(submit, each_kind_with_a_wait)
{
	struct nnaccel_submit submit;
	struct async async;
	union work work;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		kinds[i].init(self, &work);
		submit_init(&submit, kinds[i].work, &work);
		submit.flags = NNACCEL_SUBMIT_WAIT;
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_SUBMIT, &submit));
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(self->cmd.head.kind, kinds[i].command);
		ASSERT_EQ(answer(self), 0);
		EXPECT_EQ(async_wait(&async), 0)
			TH_LOG("%s", kinds[i].name);
		EXPECT_EQ(submit.out_state, NNACCEL_STATE_DONE);
		EXPECT_EQ(submit.out_id, 0);
		EXPECT_EQ(submit.out_fd, -1);
		EXPECT_TRUE(kinds[i].has(&work))
			TH_LOG("%s", kinds[i].name);
		EXPECT_FALSE(file_readable(self->s.fd, 0));
		EXPECT_EQ(commands(self), 0);
	}
}

/* If the engine reports a failure, WAIT succeeds and returns the failure as the answer. */
TEST_F(submit, statuses)
{
	union work work;
	uint32_t id;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		kinds[i].init(self, &work);
		ASSERT_EQ(submit_work(self->s.fd, kinds[i].work, &work, &id), 0);
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
					 NNACCEL_STATUS_GENERAL_FAILURE, NULL, 0, "no"), 0);
		EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0)
			TH_LOG("%s", kinds[i].name);
		EXPECT_FALSE(kinds[i].has(&work))
			TH_LOG("%s", kinds[i].name);
		if (kinds[i].work == NNACCEL_WORK_EXECUTE) {
			EXPECT_EQ(work.execute.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
			EXPECT_STREQ(at.execution.message, "no");
		}
		/*
		 * A failed copy into a buffer makes the buffer uninitialised, so repeat the copy
		 * successfully.
		 */
		if (kinds[i].command == NNACCEL_DO_COPY_IN) {
			kinds[i].init(self, &work);
			ASSERT_EQ(submit_work(self->s.fd, kinds[i].work, &work, &id), 0);
			ASSERT_EQ(fetch(self), 0);
			ASSERT_EQ(answer(self), 0);
			EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0);
		}
	}
}

/* If the kernel knows a buffer's layout, SUBMIT copies the buffer without the worker. */
TEST_F(submit, copy_by_the_kernel)
{
	struct nnaccel_submit submit;
	union work work;
	char got[16] = {};

	ASSERT_EQ(served_start(&self->s), 0);
	at.converted = buffer_alloc(self->s.fd, self->model, 16);
	ASSERT_NE(at.converted, 0);
	for (uint32_t flags = 0; flags <= NNACCEL_SUBMIT_WAIT; flags += NNACCEL_SUBMIT_WAIT) {
		init_copy(self, &work);
		submit_init(&submit, NNACCEL_WORK_BUFFER_COPY, &work);
		submit.flags = flags;
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
		EXPECT_EQ(submit.out_state, NNACCEL_STATE_DONE);
		EXPECT_EQ(submit.out_id, 0);
		EXPECT_EQ(work.copy.out_status, NNACCEL_STATUS_NONE);
		work.copy.flags = NNACCEL_COPY_OUT;
		work.copy.data = (uintptr_t)got;
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
		EXPECT_EQ(memcmp(got, at.bytes, sizeof(got)), 0);
	}
	EXPECT_EQ(commands(self), 0);
}

/* ---- refusals ---- */

TEST_F(submit, structures)
{
	struct nnaccel_submit submit;
	struct nnaccel_wait wait = { .size = sizeof(wait), .id = 0x7fffffff };
	union work work;

	ASSERT_EQ(served_start(&self->s), 0);
	init_query(self, &work);
	submit_init(&submit, NNACCEL_WORK_QUERY, &work);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_SUBMIT, &submit, sizeof(submit), 0, true), 0);
	init_query(self, &work);
	wait.work = (uintptr_t)&work;
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WAIT, &wait, sizeof(wait), ENOENT, false), 0);
	EXPECT_EQ(commands(self), 0);
}

TEST_F(submit, refused_fields)
{
	static const struct refusal cases[] = {
		REFUSE(struct nnaccel_submit, kind, 0, EINVAL),
		REFUSE(struct nnaccel_submit, kind, NNACCEL_WORK_BURST + 1, EINVAL),
		REFUSE(struct nnaccel_submit, flags, 1 << 3, EINVAL),
		REFUSE(struct nnaccel_submit, flags, NNACCEL_SUBMIT_CLOEXEC, EINVAL),
		REFUSE(struct nnaccel_submit, flags, NNACCEL_SUBMIT_WAIT | NNACCEL_SUBMIT_FILE, EINVAL),
		REFUSE(struct nnaccel_submit, flags, NNACCEL_SUBMIT_WAIT | NNACCEL_SUBMIT_CLOEXEC,
		       EINVAL),
		REFUSE(struct nnaccel_submit, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_submit, work, 0, EFAULT),
		REFUSE(struct nnaccel_submit, num_dependencies, 1, EFAULT),
		REFUSE(struct nnaccel_submit, num_dependencies, NNACCEL_MAX_DEPENDENCIES + 1, EINVAL),
	};
	static const struct refusal others[] = {
		REFUSE(struct nnaccel_submit, flags, NNACCEL_SUBMIT_FILE, EINVAL),
		REFUSE(struct nnaccel_submit, num_dependencies, 1, EINVAL),
		REFUSE(struct nnaccel_submit, duration_ns, 1, EINVAL),
	};
	static const struct refusal waits[] = {
		REFUSE(struct nnaccel_wait, flags, 1 << 1, EINVAL),
		REFUSE(struct nnaccel_wait, fd, 1, EINVAL),
		REFUSE(struct nnaccel_wait, id, 0x7fffffff, ENOENT),
		REFUSE(struct nnaccel_wait, work, 0, EFAULT),
	};
	struct nnaccel_wait wait = { .size = sizeof(wait) };
	struct nnaccel_submit submit;
	union work work;
	bool done;

	init_execute(self, &work);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work);
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_SUBMIT, &submit, sizeof(submit), cases,
				 sizeof(cases) / sizeof(cases[0])), 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		if (kinds[i].work == NNACCEL_WORK_EXECUTE)
			continue;
		submit.kind = kinds[i].work;
		EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_SUBMIT, &submit, sizeof(submit),
					 others, sizeof(others) / sizeof(others[0])), 0);
	}
	EXPECT_EQ(commands(self), 0);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &wait.id), 0);
	wait.work = (uintptr_t)&work;
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WAIT, &wait, sizeof(wait), waits,
				 sizeof(waits) / sizeof(waits[0])), 0);
	/*
	 * WAIT rejects the id of a pool, and SUBMIT rejects the id of a submission in place of a
	 * model's id.
	 */
	EXPECT_EQ(submission_try(self->s.fd, self->pool, &work, &done), ENOENT);
	work.execute.model = wait.id;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &wait.id), ENOENT);
}

/* SUBMIT and WAIT reject invalid structures of each kind of work. */
TEST_F(submit, refused_work)
{
	union {
		union work work;
		uint8_t bytes[256];
	} good, bad;
	uint32_t id;
	bool done;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		uint32_t *size = &bad.work.size, message = 0;

		memset(&good, 0, sizeof(good));
		kinds[i].init(self, &good.work);
		ASSERT_EQ(submit_work(self->s.fd, kinds[i].work, &good, &id), 0);
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
		bad = good;
		*size = 8;
		EXPECT_EQ(submit_work(self->s.fd, kinds[i].work, &bad, &id), EINVAL);
		bad = good;
		bad.bytes[good.work.size] = 1;
		*size = good.work.size + 1;
		EXPECT_EQ(submit_work(self->s.fd, kinds[i].work, &bad, &id), E2BIG);
#define MESSAGE(_kind, _member)								\
		case _kind:								\
			message = offsetof(union work, _member.message_size);		\
			break
		switch (kinds[i].work) {
		MESSAGE(NNACCEL_WORK_SUPPORTED, supported);
		MESSAGE(NNACCEL_WORK_PREPARE, prepare);
		MESSAGE(NNACCEL_WORK_PREPARE_CACHED, cached);
		MESSAGE(NNACCEL_WORK_CACHE_SAVE, save);
		MESSAGE(NNACCEL_WORK_EXECUTE, execute);
		MESSAGE(NNACCEL_WORK_BUFFER_ALLOC, alloc);
		MESSAGE(NNACCEL_WORK_BUFFER_COPY, copy);
		MESSAGE(NNACCEL_WORK_BURST, burst);
		}
#undef MESSAGE
		if (message) {
			const uint32_t much = NNACCEL_MAX_MESSAGE + 1;

			bad = good;
			memcpy(bad.bytes + message, &much, sizeof(much));
			EXPECT_EQ(submit_work(self->s.fd, kinds[i].work, &bad, &id), EINVAL);
		}
	}
	/*
	 * WAIT rejects the fields that SUBMIT rejects, and the answer remains available. The ids of
	 * the submissions ascend in the order of kinds[].
	 */
	EXPECT_EQ(commands(self), NUM_KINDS);
	for (uint32_t left = NUM_KINDS, next = 1; left; next++) {
		if (submission_try(self->s.fd, next, &(union work){ .size = 8 }, &done) != EINVAL)
			continue;
		memset(&bad, 0, sizeof(bad));
		bad.bytes[sizeof(bad.work)] = 1;
		bad.work.size = sizeof(bad.work) + 1;
		EXPECT_EQ(submission_try(self->s.fd, next, &bad, &done), E2BIG);
		EXPECT_EQ(object_destroy(self->s.fd, next), 0);
		left--;
	}
	EXPECT_EQ(commands(self), 0);
}

TEST_F(submit, refused_by_the_kind)
{
	struct nnaccel_submit submit;
	uint32_t id, unknown = 0x7fffffff;
	union work work;

	init_supported(self, &work);
	work.supported.wire_pool = unknown;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &work, &id), ENOENT);
	init_prepare(self, &work);
	work.prepare.priority = NNACCEL_PRIORITY_HIGH + 1;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work, &id), EINVAL);
	init_cached(self, &work);
	at.saved.data.length = 1;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &work, &id), EINVAL);
	init_save(self, &work);
	work.save.model = unknown;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &work, &id), ENOENT);
	init_execute(self, &work);
	at.execution.args[1].length = 3 * PAGE;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &id), EINVAL);
	init_alloc(self, &work);
	work.alloc.capacity = UINT64_MAX;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &work, &id), EFBIG);
	at.converted = unknown;
	init_copy(self, &work);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &work, &id), ENOENT);
	init_burst(self, &work);
	work.burst.capacity = NNACCEL_BURST_MAX_CAPACITY + 1;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_BURST, &work, &id), EINVAL);
	/* SUBMIT with the flag NNACCEL_SUBMIT_WAIT rejects an invalid field, too. */
	init_query(self, &work);
	work.query.data_size = NNACCEL_MAX_QUERY + 1;
	submit_init(&submit, NNACCEL_WORK_QUERY, &work);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), EINVAL);
	EXPECT_EQ(submit.out_state, POISON);
	EXPECT_EQ(commands(self), 0);
}

/*
 * If SUBMIT cannot write the answer to the client, SUBMIT destroys the result. If WAIT cannot write
 * the answer to the client, a later WAIT can fetch the answer.
 */
TEST_F(submit, nowhere_to_write)
{
	long long models = summary_get(-1, "models"), submissions = summary_get(-1, "submissions");
	struct nnaccel_submit *submit;
	struct async async;
	union work *work;
	uint32_t id;

	submit = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(submit, MAP_FAILED);
	work = (void *)submit + PAGE;
	init_prepare(self, work);
	/* If a SUBMIT that does not wait has a read-only structure, the engine gets no command. */
	submit_init(submit, NNACCEL_WORK_PREPARE, work);
	ASSERT_EQ(mprotect(submit, PAGE, PROT_READ), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, submit), EFAULT);
	EXPECT_TRUE(worker_is_idle(self));
	EXPECT_EQ(summary_get(-1, "submissions"), submissions);
	/*
	 * If a SUBMIT that waits cannot write the answer, the module destroys the new model and
	 * notifies the worker.
	 */
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(mprotect(submit, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
		init_prepare(self, work);
		submit_init(submit, NNACCEL_WORK_PREPARE, work);
		submit->flags = NNACCEL_SUBMIT_WAIT;
		ASSERT_EQ(mprotect(i ? (void *)work : submit, PAGE, PROT_READ), 0);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_SUBMIT, submit));
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
		EXPECT_EQ(async_wait(&async), EFAULT);
		EXPECT_TRUE(summary_becomes(-1, "models", models));
		EXPECT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
	}
	ASSERT_EQ(mprotect(submit, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	init_prepare(self, work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	ASSERT_EQ(mprotect(work, PAGE, PROT_READ), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, work), EFAULT);
	EXPECT_TRUE(file_readable(self->s.fd, 0));
	ASSERT_EQ(mprotect(work, PAGE, PROT_READ | PROT_WRITE), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, work), 0);
	EXPECT_TRUE(has_prepare(work));
	EXPECT_EQ(object_destroy(self->s.fd, work->prepare.out_model), 0);
	munmap(submit, 2 * PAGE);
}

/*
 * If a query's answer does not fit into the client's memory, WAIT can be repeated with more memory.
 */
TEST_F(submit, answer_does_not_fit)
{
	struct nnaccel_submit submit;
	struct async async;
	union work work;
	uint32_t id;

	init_query(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_QUERY, &work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	work.query.data_size = 1;
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), ENOBUFS);
	init_query(self, &work);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0);
	EXPECT_TRUE(has_query(&work));
	/* A SUBMIT that waits drops an answer that does not fit into the client's memory. */
	work.query.data_size = 1;
	submit_init(&submit, NNACCEL_WORK_QUERY, &work);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_SUBMIT, &submit));
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&async), ENOBUFS);
	EXPECT_EQ(commands(self), 0);
}

/*
 * SUBMIT reserves the fd of a submission's file before the engine gets the command. If WAIT fails
 * because no fd is free, a later WAIT can fetch the answer.
 */
TEST_F(submit, no_number_for_a_file)
{
	struct nnaccel_submit submit;
	struct rlimit limit, none;
	union work work;
	uint32_t id;

	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	init_burst(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_BURST, &work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), EMFILE);
	submit_init(&submit, NNACCEL_WORK_BURST, &work);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), EMFILE);
	EXPECT_EQ(submit_file(self->s.fd, &self->execution.cmd, -1), -1);
	EXPECT_EQ(errno, EMFILE);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT_TRUE(worker_is_idle(self));
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0);
	EXPECT_TRUE(has_burst(&work));
}

/* ---- signals ---- */

/*
 * A signal ends the wait of SUBMIT, whether or not the worker has fetched the command, with and
 * without SA_RESTART.
 */
TEST_F(submit, interrupted)
{
	struct nnaccel_submit submit;
	struct async async;
	union work work;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS * 2; i++) {
		const struct kind *kind = &kinds[i / 2];
		bool fetched = i % 2;

		ASSERT_TRUE(handle(SIGUSR1, count_signal, fetched ? SA_RESTART : 0));
		kind->init(self, &work);
		submit_init(&submit, kind->work, &work);
		submit.flags = NNACCEL_SUBMIT_WAIT;
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_SUBMIT, &submit));
		await_commands(self->s.fd, 1);
		if (fetched)
			ASSERT_EQ(fetch(self), 0);
		ASSERT_TRUE(disturb(async.thread));
		EXPECT_EQ(async_wait(&async), 0)
			TH_LOG("%s", kind->name);
		EXPECT_EQ(submit.out_state, NNACCEL_STATE_PENDING);
		ASSERT_NE(submit.out_id, 0);
		EXPECT_EQ(submit.out_fd, -1);
		EXPECT_FALSE(file_readable(self->s.fd, 0));
		if (!fetched)
			ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
		EXPECT_TRUE(file_readable(self->s.fd, -1));
		EXPECT_EQ(commands(self), 1);
		EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work), 0);
		EXPECT_TRUE(kind->has(&work))
			TH_LOG("%s", kind->name);
		/* The interrupted SUBMIT has sent the command only once. */
		EXPECT_TRUE(worker_is_idle(self));
		EXPECT_EQ(commands(self), 0);
	}
}

/*
 * If a signal interrupts a SUBMIT that waits for memory to which it writes the answer, the ended
 * command counts against max_commands until WAIT has fetched the answer.
 */
TEST_F(submit, interrupted_answer)
{
	struct nnaccel_submit submit;
	struct exporter exporter;
	struct async async;
	union work work;
	uint32_t id;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	init_copy(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0);

	ASSERT_TRUE(exporter_open(&exporter, 0));
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_FENCE, 1), 0);
	init_copy_out(self, &work);
	work.copy.flags |= NNACCEL_COPY_POOL;
	work.copy.data = 0;
	ASSERT_EQ(pool_import(self->s.fd, exporter.buffer, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE,
			      0, PAGE, &work.copy.pool), 0);
	submit_init(&submit, NNACCEL_WORK_BUFFER_COPY, &work);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	ASSERT_TRUE(handle(SIGUSR1, count_signal, 0));
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_SUBMIT, &submit));
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(commands(self), 0);
	EXPECT_FALSE(file_readable(self->s.fd, 0));
	ASSERT_TRUE(disturb(async.thread));
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(submit.out_state, NNACCEL_STATE_PENDING);
	EXPECT_EQ(commands(self), 1);
	EXPECT_TRUE(file_readable(self->s.fd, 0));
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_SIGNAL, 0), 0);
	EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work), 0);
	EXPECT_TRUE(has_copy(&work));
	EXPECT_EQ(commands(self), 0);
	EXPECT_FALSE(file_readable(self->s.fd, 0));
	exporter_close(&exporter);
}

/* After signals have interrupted WAIT, the submission is unchanged. */
TEST_F(submit, interrupted_wait)
{
	struct nnaccel_wait wait = { .size = sizeof(wait) };
	struct async async;
	union work work;

	init_execute(self, &work);
	wait.work = (uintptr_t)&work;
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &wait.id), 0);
	ASSERT_TRUE(handle(SIGUSR1, count_signal, 0));
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WAIT, &wait));
		/* Repeat the signal, because the thread may not have entered WAIT yet. */
		while (pthread_tryjoin_np(async.thread, NULL)) {
			pthread_kill(async.thread, SIGUSR1);
			usleep(1000);
		}
		EXPECT_EQ(async.error, EINTR);
	}
	ASSERT_TRUE(handle(SIGUSR1, count_signal, SA_RESTART));
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WAIT, &wait));
	for (int i = 0; i < 20; i++)
		ASSERT_TRUE(disturb(async.thread));
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(wait.out_state, NNACCEL_STATE_DONE);
	EXPECT_TRUE(has_execute(&work));
	EXPECT_TRUE(worker_is_idle(self));
}

#define INTERRUPTED_RUNS how_often(300, 60)

struct interrupted {
	int fd;
	struct execution execution;
	int pending;
	int error;
	volatile bool over;
};

static void *execute_interrupted(void *data)
{
	struct interrupted *run = data;
	struct nnaccel_submit submit;

	for (int i = 0; i < INTERRUPTED_RUNS && !run->error; i++) {
		int error;

		submit_init(&submit, NNACCEL_WORK_EXECUTE, &run->execution.cmd);
		submit.flags = NNACCEL_SUBMIT_WAIT;
		run->execution.cmd.out_num_shapes = POISON;
		error = xioctl(run->fd, NNACCEL_SUBMIT, &submit);
		if (!error && submit.out_state == NNACCEL_STATE_PENDING) {
			run->pending++;
			do
				error = submission_wait(run->fd, submit.out_id,
							&run->execution.cmd);
			while (error == EINTR);
		}
		if (!error && run->execution.cmd.out_num_shapes != 1)
			error = EPROTO;
		run->error = error;
	}
	run->over = true;
	return NULL;
}

/*
 * While signals interrupt calls at random times, the engine gets each execution once, and the
 * client gets each answer.
 */
TEST_F(submit, stress_by_signals)
{
	struct interrupted run = { .fd = self->s.fd };
	pthread_t thread;

	ASSERT_EQ(served_start(&self->s), 0);
	for (int flags = 0; flags < 2; flags++) {
		ASSERT_TRUE(handle(SIGUSR1, count_signal, flags ? SA_RESTART : 0));
		run.over = false;
		execution_init(&run.execution, self->model, self->pool, self->pool);
		ASSERT_EQ(pthread_create(&thread, NULL, execute_interrupted, &run), 0);
		while (!run.over) {
			pthread_kill(thread, SIGUSR1);
			usleep(20);
		}
		pthread_join(thread, NULL);
		EXPECT_EQ(run.error, 0);
		EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"),
			  INTERRUPTED_RUNS * (flags + 1));
		EXPECT_EQ(commands(self), 0);
	}
	TH_LOG("%d of %d waits were interrupted", run.pending, 2 * INTERRUPTED_RUNS);
}

/* ---- concurrent calls ---- */

TEST_F(submit, second_wait)
{
	struct nnaccel_wait wait = { .size = sizeof(wait) };
	struct async async;
	union work work, other;
	bool done;

	init_execute(self, &work);
	other = work;
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &wait.id), 0);
	wait.work = (uintptr_t)&work;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WAIT, &wait));
	while (!submission_try(self->s.fd, wait.id, &other, &done))
		usleep(1000);
	EXPECT_EQ(submission_try(self->s.fd, wait.id, &other, &done), EALREADY);
	EXPECT_EQ(submission_wait(self->s.fd, wait.id, &other), EALREADY);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(submission_wait(self->s.fd, wait.id, &other), ENOENT);
}

/*
 * DESTROY of a submission ends a call that waits in WAIT, whether or not the worker has fetched the
 * command.
 */
TEST_F(submit, destroyed)
{
	struct async async;
	union work work;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS * 2; i++) {
		struct nnaccel_wait wait = { .size = sizeof(wait), .work = (uintptr_t)&work };
		const struct kind *kind = &kinds[i / 2];
		bool fetched = i % 2, done;

		kind->init(self, &work);
		ASSERT_EQ(submit_work(self->s.fd, kind->work, &work, &wait.id), 0);
		if (fetched)
			ASSERT_EQ(fetch(self), 0);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WAIT, &wait));
		while (submission_try(self->s.fd, wait.id, &work, &done) != EALREADY)
			usleep(1000);
		EXPECT_EQ(object_destroy(self->s.fd, wait.id), 0);
		EXPECT_EQ(async_wait(&async), 0)
			TH_LOG("%s", kind->name);
		EXPECT_EQ(wait.out_state, NNACCEL_STATE_DONE);
		EXPECT_EQ(wait.out_error, ECANCELED);
		EXPECT_EQ(submission_wait(self->s.fd, wait.id, &work), ENOENT);
		EXPECT_FALSE(file_readable(self->s.fd, 0));
		if (!fetched) {
			EXPECT_EQ(commands(self), 0);
			EXPECT_TRUE(worker_is_idle(self));
			continue;
		}
		/*
		 * The command of a destroyed submission counts against max_commands until the
		 * worker answers.
		 */
		EXPECT_EQ(commands(self), 1);
		EXPECT_EQ(answer(self), 0);
		EXPECT_EQ(commands(self), 0);
	}
}

/* Destroying an answered submission whose answer was not fetched also destroys the new objects. */
TEST_F(submit, destroyed_when_answered)
{
	union work work;
	uint32_t id;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		kinds[i].init(self, &work);
		ASSERT_EQ(submit_work(self->s.fd, kinds[i].work, &work, &id), 0);
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
		EXPECT_EQ(object_destroy(self->s.fd, id), 0);
		EXPECT_FALSE(file_readable(self->s.fd, 0));
		EXPECT_EQ(commands(self), 0);
	}
}

/*
 * CANCEL does not find submissions, because only executions that were submitted by io_uring have a
 * tag.
 */
TEST_F(submit, has_no_tag)
{
	struct nnaccel_cancel cancel = { .size = sizeof(cancel), .flags = NNACCEL_CANCEL_ANY };
	union work work;
	uint32_t id;

	init_execute(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &id), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_CANCEL, &cancel), ENOENT);
	cancel.flags = 0;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_CANCEL, &cancel), ENOENT);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0);
}

/* ---- deadlines ---- */

TEST_F(submit, deadline_while_queued)
{
	union work work;
	uint32_t id;

	init_execute(self, &work);
	work.execute.deadline_ns = now_ns() + 50000000;
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &id), 0);
	EXPECT_TRUE(file_readable(self->s.fd, -1));
	EXPECT_GE(now_ns(), work.execute.deadline_ns);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), ETIME);
	EXPECT_EQ(work.execute.out_status, POISON);
	EXPECT_TRUE(worker_is_idle(self));
	/* If a deadline has passed before SUBMIT, SUBMIT succeeds and WAIT fails with ETIME. */
	work.execute.deadline_ns = 1;
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &id), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), ETIME);
	EXPECT_TRUE(worker_is_idle(self));
}

TEST_F(submit, deadline_with_the_worker)
{
	union work work;
	uint32_t id;

	for (int i = 0; i < 2; i++) {
		init_prepare(self, &work);
		work.prepare.deadline_ns = deadline_soon();
		if (i) {
			init_execute(self, &work);
			work.execute.deadline_ns = deadline_soon();
		}
		ASSERT_EQ(submit_work(self->s.fd, i ? NNACCEL_WORK_EXECUTE : NNACCEL_WORK_PREPARE,
				      &work, &id), 0);
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(submission_wait(self->s.fd, id, &work), ETIME);
		EXPECT_EQ(commands(self), 1);
		/*
		 * The worker answers after the deadline. The module does not kill the late worker,
		 * because the client's process is also the worker.
		 */
		EXPECT_EQ(answer(self), 0);
		EXPECT_EQ(commands(self), 0);
	}
}

TEST_F(submit, duration)
{
	struct nnaccel_submit submit;
	union work work;
	int first;

	first = submit_file(self->s.fd, &self->execution.cmd, -1);
	ASSERT_GE(first, 0);
	init_execute(self, &work);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work);
	submit.duration_ns = 50000000;
	submit.dependencies = (uintptr_t)&first;
	submit.num_dependencies = 1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	/*
	 * The time limit duration_ns of an execution starts when the execution's dependency ends.
	 */
	ASSERT_EQ(fetch(self), 0);
	usleep(200000);
	EXPECT_FALSE(file_readable(self->s.fd, 0));
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work), ETIME);
	close(first);
}

/* ---- files and dependencies ---- */

TEST_F(submit, file_tells_the_end)
{
	struct execution *e = &self->execution;
	int file;

	file = submit_file(self->s.fd, &e->cmd, -1);
	ASSERT_GE(file, 0);
	EXPECT_EQ(fcntl(file, F_GETFD), FD_CLOEXEC);
	EXPECT_FALSE(file_readable(file, 0));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_FALSE(file_readable(file, 0));
	ASSERT_EQ(answer(self), 0);
	EXPECT_TRUE(file_readable(file, -1));
	/* poll() on the context's file reports only answers of submissions without a file. */
	EXPECT_FALSE(file_readable(self->s.fd, 0));
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), 0);
	EXPECT_EQ(e->cmd.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(e->shape.dims[0], 1);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), ENOENT);
	EXPECT_TRUE(file_readable(file, 0));
	close(file);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), EBADF);
	EXPECT_EQ(submission_wait_file(self->s.fd, self->s.session, &e->cmd), EINVAL);
}

/*
 * When all fds of a submission's file are closed, the answer is dropped: at once, or at the
 * execution's end.
 */
TEST_F(submit, file_is_closed)
{
	struct nnaccel_submit submit;
	union work work;
	bool done;
	int copy;

	init_execute(self, &work);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work);
	submit.flags = NNACCEL_SUBMIT_FILE;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	EXPECT_EQ(submit.out_state, NNACCEL_STATE_PENDING);
	EXPECT_EQ(fcntl(submit.out_fd, F_GETFD), 0);
	close(submit.out_fd);
	ASSERT_EQ(fetch(self), 0);
	/*
	 * After a submission's file is closed, WAIT accepts the submission's id until the execution
	 * ends.
	 */
	EXPECT_EQ(submission_try(self->s.fd, submit.out_id, &work, &done), 0);
	EXPECT_FALSE(done);
	EXPECT_EQ(commands(self), 1);
	ASSERT_EQ(answer(self), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work), ENOENT);
	EXPECT_EQ(object_destroy(self->s.fd, submit.out_id), ENOENT);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 1);

	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	copy = dup(submit.out_fd);
	close(submit.out_fd);
	EXPECT_TRUE(file_readable(copy, -1));
	EXPECT_EQ(commands(self), 1);
	close(copy);
	EXPECT_EQ(commands(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work), ENOENT);
}

/* A call of WAIT gets the answer even if the submission's file is closed during the call. */
TEST_F(submit, file_is_closed_in_a_wait)
{
	struct nnaccel_wait wait = { .size = sizeof(wait) };
	struct nnaccel_submit submit;
	struct async async;
	union work work, other;
	bool done;

	init_execute(self, &work);
	other = work;
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work);
	submit.flags = NNACCEL_SUBMIT_FILE;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	wait.fd = submit.out_fd;
	wait.work = (uintptr_t)&work;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WAIT, &wait));
	while (submission_try(self->s.fd, submit.out_id, &other, &done) != EALREADY)
		usleep(1000);
	close(submit.out_fd);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(wait.out_error, 0);
	EXPECT_TRUE(has_execute(&work));
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

TEST_F(submit, file_number)
{
	struct nnaccel_submit submit;

	ASSERT_EQ(served_start(&self->s), 0);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &self->execution.cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	EXPECT_EQ(check_no_fd(self->s.fd, NNACCEL_SUBMIT, &submit, sizeof(submit)), 0);
	EXPECT_EQ(check_read_only(self->s.fd, NNACCEL_SUBMIT, &submit, sizeof(submit)), 0);
	EXPECT_EQ(check_fd_0(self->s.fd, NNACCEL_SUBMIT, &submit, sizeof(submit),
			     offsetof(struct nnaccel_submit, out_fd)), 0);
}

/*
 * Opens a second context, whose worker is this process, and prepares a model in the second context
 * for the execution @e.
 */
static bool open_second(struct served *other, FIXTURE_DATA(submit) *self, struct execution *e)
{
	uint32_t pool, model;

	*other = (struct served){ .broker = -1, .session = -1 };
	other->fd = device_open();
	if (other->fd < 0 || broker_await_new(self->s.broker, &other->context) ||
	    broker_session(self->s.broker, other->context, &other->session) ||
	    session_attach(other->session))
		return false;
	pool = pool_alloc(other->fd, PAGE);
	model = served_prepare(other, pool);
	execution_init(e, model, pool, pool);
	return model;
}

/*
 * Eight executions of two contexts, each of which depends on the previous execution, run in order.
 */
TEST_F(submit, chain_over_contexts)
{
	struct execution e[2] = { self->execution };
	struct served other;
	int files[8];

	ASSERT_TRUE(open_second(&other, self, &e[1]));
	for (int i = 0; i < 8; i++) {
		files[i] = submit_file(i % 2 ? other.fd : self->s.fd, &e[i % 2].cmd,
				       i ? files[i - 1] : -1);
		ASSERT_GE(files[i], 0);
	}
	for (int i = 0; i < 8; i++) {
		int session = i % 2 ? other.session : self->s.session;
		int idle = i % 2 ? self->s.session : other.session;

		ASSERT_EQ(session_fetch(session, 0, &self->cmd), 0);
		EXPECT_EQ(session_fetch(idle, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
		EXPECT_FALSE(file_readable(files[i], 0));
		ASSERT_EQ(session_commit(session, self->cmd.head.cookie, NNACCEL_STATUS_NONE, NULL,
					 0, NULL), 0);
		EXPECT_TRUE(file_readable(files[i], -1));
	}
	/* WAIT works only in the context of the submission. */
	EXPECT_EQ(submission_wait_file(other.fd, files[0], &e[1].cmd), ENOENT);
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(submission_wait_file(i % 2 ? other.fd : self->s.fd, files[i],
					       &e[i % 2].cmd), 0);
		close(files[i]);
	}
	served_close(&other);
}

/*
 * A chain of dependent executions may be as long as max_commands allows. Freeing a long chain does
 * not recurse.
 */
TEST_F(submit, longest_chain)
{
	const long long max = how_often(256, 32), old = param_set("max_commands", max);
	struct execution *e = &self->execution;
	int next, file = -1;

	for (long long i = 0; i < max; i++) {
		next = submit_file(self->s.fd, &e->cmd, file);
		ASSERT_GE(next, 0);
		if (file >= 0)
			close(file);
		file = next;
	}
	EXPECT_EQ(submit_file(self->s.fd, &e->cmd, file), -1);
	EXPECT_EQ(errno, EXFULL);
	for (long long i = 0; i < max / 2; i++) {
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
	}
	/* An ended execution whose file is closed does not count against max_commands. */
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", max - max / 2));
	/*
	 * If one execution of a chain fails, all later executions of the chain end with an error.
	 */
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_GENERAL_FAILURE, NULL, 0, NULL), 0);
	EXPECT_TRUE(file_readable(file, -1));
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), EREMOTEIO);
	EXPECT_TRUE(worker_is_idle(self));
	close(file);
	param_set("max_commands", old);
}

/* If a dependency ended before SUBMIT, the new execution runs only if the dependency succeeded. */
TEST_F(submit, dependency_has_ended)
{
	struct execution *e = &self->execution;
	int good, bad, file;

	good = submit_file(self->s.fd, &e->cmd, -1);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	bad = submit_file(self->s.fd, &e->cmd, -1);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_INVALID_ARGUMENT, NULL, 0, NULL), 0);
	file = submit_file(self->s.fd, &e->cmd, good);
	ASSERT_GE(file, 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), 0);
	close(file);
	/*
	 * An execution fails if its dependency failed, even if the dependency's answer was fetched
	 * before SUBMIT.
	 */
	EXPECT_EQ(submission_wait_file(self->s.fd, bad, &e->cmd), 0);
	file = submit_file(self->s.fd, &e->cmd, bad);
	ASSERT_GE(file, 0);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), EREMOTEIO);
	EXPECT_TRUE(worker_is_idle(self));
	close(file);
	close(good);
	close(bad);
}

/*
 * Destroying a submission signals the submission's file, and ends dependent executions with an
 * error.
 */
TEST_F(submit, dependency_is_destroyed)
{
	struct nnaccel_submit submit;
	struct execution *e = &self->execution;
	int file;

	submit_init(&submit, NNACCEL_WORK_EXECUTE, &e->cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	file = submit_file(self->s.fd, &e->cmd, submit.out_fd);
	ASSERT_GE(file, 0);
	EXPECT_EQ(object_destroy(self->s.fd, submit.out_id), 0);
	EXPECT_TRUE(file_readable(submit.out_fd, -1));
	EXPECT_EQ(submission_wait_file(self->s.fd, submit.out_fd, &e->cmd), ENOENT);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), EREMOTEIO);
	EXPECT_TRUE(worker_is_idle(self));
	close(submit.out_fd);
	close(file);
}

/*
 * If the context of a dependency is closed, the dependent execution of another context ends with an
 * error.
 */
TEST_F(submit, dependency_is_closed)
{
	struct execution *e = &self->execution, second;
	struct served other;
	int file, last;

	ASSERT_TRUE(open_second(&other, self, &second));
	file = submit_file(other.fd, &second.cmd, -1);
	ASSERT_GE(file, 0);
	last = submit_file(self->s.fd, &e->cmd, file);
	ASSERT_GE(last, 0);
	served_close(&other);
	EXPECT_TRUE(file_readable(file, -1));
	EXPECT_EQ(submission_wait_file(self->s.fd, last, &e->cmd), EREMOTEIO);
	close(file);
	close(last);
}

TEST_F(submit, dependency_on_a_fence)
{
	struct nnaccel_submit submit;
	struct exporter exporter;
	union work work;
	int both[2];

	ASSERT_TRUE(exporter_open(&exporter, 0));
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_FENCE, 1), 0);
	both[0] = submit_file(self->s.fd, &self->execution.cmd, -1);
	both[1] = buffer_fence(exporter.buffer);
	ASSERT_GE(both[1], 0);
	init_execute(self, &work);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work);
	submit.dependencies = (uintptr_t)both;
	submit.num_dependencies = 2;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	/*
	 * The fd of a dependency can be closed after SUBMIT, because only SUBMIT looks up the fd.
	 */
	close(both[1]);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_TRUE(file_readable(both[0], -1));
	EXPECT_TRUE(worker_is_idle(self));
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_SIGNAL, 0), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work), 0);
	EXPECT_TRUE(has_execute(&work));
	close(both[0]);
	exporter_close(&exporter);
}

TEST_F(submit, dependency_on_a_fence_that_fails)
{
	int timeline = timeline_open(), fence, file;

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	fence = timeline_fence(timeline, 5);
	file = submit_file(self->s.fd, &self->execution.cmd, fence);
	ASSERT_GE(file, 0);
	close(timeline);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &self->execution.cmd), EREMOTEIO);
	EXPECT_TRUE(worker_is_idle(self));
	close(fence);
	close(file);
}

/* SUBMIT waits neither for fences of another driver's memory nor for the memory's exporter. */
TEST_F(submit, foreign_memory)
{
	struct exporter_counts counts;
	struct exporter exporter;
	union work work[2];
	uint32_t pool, ids[2];
	int file;

	ASSERT_TRUE(exporter_open(&exporter, 0));
	ASSERT_EQ(pool_import(self->s.fd, exporter.buffer, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE,
			      0, PAGE, &pool), 0);
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_FENCE, 1), 0);
	execution_init(&self->execution, self->model, pool, pool);
	file = submit_file(self->s.fd, &self->execution.cmd, -1);
	ASSERT_GE(file, 0);
	prepare_init(&work[0].prepare, pool, 1);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work[0], &ids[0]), 0);
	supported_init(&work[1].supported, pool, 1, at.supported, 4);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &work[1], &ids[1]), 0);
	EXPECT_TRUE(worker_is_idle(self));
	/* DESTROY cancels a submission that waits for the fences of imported memory. */
	EXPECT_EQ(object_destroy(self->s.fd, ids[0]), 0);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work[0], &ids[0]), 0);
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_SIGNAL, 0), 0);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
	}
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &self->execution.cmd), 0);
	EXPECT_EQ(submission_wait(self->s.fd, ids[0], &work[0]), 0);
	EXPECT_TRUE(has_prepare(&work[0]));
	EXPECT_EQ(submission_wait(self->s.fd, ids[1], &work[1]), 0);
	EXPECT_TRUE(has_supported(&work[1]));
	counts = exporter_counts(&exporter);
	/*
	 * The exporter counts at least the writing access of the execution. Overlapping commands
	 * share one access, so there may be fewer accesses than commands.
	 */
	EXPECT_GE(counts.begun[0], 1);
	EXPECT_EQ(memcmp(counts.begun, counts.ended, sizeof(counts.begun)), 0);
	close(file);
	exporter_close(&exporter);
}

TEST_F(submit, odd_dependencies)
{
	struct odd_file odd[MAX_ODD_FILES];
	size_t n = odd_files_open(odd);

	for (size_t i = 0; i < n; i++) {
		EXPECT_EQ(submit_file(self->s.fd, &self->execution.cmd, odd[i].fd), -1)
			TH_LOG("%s", odd[i].name);
		EXPECT_EQ(errno, EINVAL);
		close(odd[i].fd);
	}
	EXPECT_EQ(submit_file(self->s.fd, &self->execution.cmd, self->s.fd), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(submit_file(self->s.fd, &self->execution.cmd, 1000), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(commands(self), 0);
}

/* ---- other processes ---- */

static int child_context, child_file;
static struct execution child_execution;

/*
 * A forked child inherits the files of the context and of the submission, but may only call poll()
 * for these files.
 */
static int use_inherited(int fd)
{
	struct nnaccel_submit submit;

	if (submission_wait_file(child_context, child_file, &child_execution.cmd) != EACCES)
		return 1;
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &child_execution.cmd);
	if (xioctl(child_context, NNACCEL_SUBMIT, &submit) != EACCES)
		return 2;
	if (file_readable(child_file, 0))
		return 3;
	return 0;
}

static int await_inherited(int fd)
{
	return !file_readable(child_file, -1);
}

/*
 * In another process with its own context, WAIT rejects a submission's file that the process
 * received.
 */
static int use_passed(int file)
{
	int fd = device_open(), error;

	error = submission_wait_file(fd, file, &child_execution.cmd);
	close(fd);
	return error == ENOENT && file_readable(file, -1) ? 0 : 1;
}

TEST_F(submit, other_processes)
{
	struct stranger stranger;

	child_execution = self->execution;
	ASSERT_TRUE(stranger_start(&stranger, use_passed));
	child_context = self->s.fd;
	child_file = submit_file(self->s.fd, &self->execution.cmd, -1);
	ASSERT_GE(child_file, 0);
	EXPECT_EQ(in_child(use_inherited, 0), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(in_child(await_inherited, 0), 0);
	EXPECT_EQ(stranger_pass(&stranger, child_file), 0);
	EXPECT_EQ(submission_wait_file(self->s.fd, child_file, &self->execution.cmd), 0);
	close(child_file);
}

/* ---- deaths ---- */

/* The worker dies while its context has waiting, queued, fetched and answered commands. */
TEST_F(submit, death_of_the_worker)
{
	struct execution *e = &self->execution;
	union work work[4];
	struct nnaccel_submit submit;
	uint32_t ids[4];
	int file;

	for (int i = 0; i < 3; i++) {
		init_execute(self, &work[i]);
		ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work[i], &ids[i]), 0);
	}
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	ASSERT_EQ(fetch(self), 0);
	file = submit_file(self->s.fd, &e->cmd, -1);
	init_execute(self, &work[3]);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work[3]);
	submit.dependencies = (uintptr_t)&file;
	submit.num_dependencies = 1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_TRUE(file_readable(file, -1));
	EXPECT_EQ(submission_wait(self->s.fd, ids[0], &work[0]), 0);
	EXPECT_TRUE(has_execute(&work[0]));
	EXPECT_EQ(submission_wait(self->s.fd, ids[1], &work[1]), EPIPE);
	EXPECT_EQ(submission_wait(self->s.fd, ids[2], &work[2]), EPIPE);
	EXPECT_EQ(submission_wait_file(self->s.fd, file, &e->cmd), EPIPE);
	EXPECT_EQ(submission_wait(self->s.fd, submit.out_id, &work[3]), EPIPE);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work[0], &ids[0]), ESTALE);
	EXPECT_EQ(commands(self), 0);
	close(file);
}

/* If a context has no worker, SUBMIT returns at once, and the submission waits for a worker. */
TEST_F(submit, waits_for_a_worker)
{
	union work work[3];
	uint32_t ids[3];
	uint64_t context;
	bool done;
	int fd;

	close(self->s.session);
	self->s.session = -1;
	fd = self->s.fd;
	for (int i = 0; i < 3; i++) {
		init_query(self, &work[i]);
		ASSERT_EQ(submit_work(fd, NNACCEL_WORK_QUERY, &work[i], &ids[i]), 0);
	}
	/*
	 * If the broker refuses to start a worker, all submissions that wait for the worker end
	 * with an error.
	 */
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	EXPECT_EQ(submission_try(fd, ids[0], &work[0], &done), 0);
	EXPECT_FALSE(done);
	ASSERT_EQ(broker_refuse(self->s.broker, context, EUSERS), 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(submission_wait(fd, ids[i], &work[i]), EUSERS);
	/*
	 * If the worker dies before ATTACH, a submission that waits for the worker ends with EPIPE.
	 */
	ASSERT_EQ(submit_work(fd, NNACCEL_WORK_QUERY, &work[0], &ids[0]), 0);
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &self->s.session), 0);
	close(self->s.session);
	EXPECT_EQ(submission_wait(fd, ids[0], &work[0]), EPIPE);
	/* When a new worker attaches, the worker gets all submissions that wait. */
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(submit_work(fd, NNACCEL_WORK_QUERY, &work[i], &ids[i]), 0);
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &self->s.session), 0);
	ASSERT_EQ(session_attach(self->s.session), 0);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(submission_wait(fd, ids[i], &work[i]), 0);
		EXPECT_TRUE(has_query(&work[i]));
	}
}

/*
 * A submission's wait for a worker ends at the deadline, after engine_wait_ms, or if there is no
 * broker.
 */
TEST_F(submit, no_worker_comes)
{
	long long wait = param_set("engine_wait_ms", 100), absent = param_set("engine_absent_ms", 50);
	union work work;
	uint32_t id;

	close(self->s.session);
	self->s.session = -1;
	init_query(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_QUERY, &work, &id), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), ETIMEDOUT);
	param_set("engine_wait_ms", 60000);
	init_prepare(self, &work);
	work.prepare.deadline_ns = now_ns() + 50000000;
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work, &id), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), ETIME);
	EXPECT_GE(now_ns(), work.prepare.deadline_ns);
	/* The broker's death ends a submission that waits for a worker. */
	init_query(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_QUERY, &work, &id), 0);
	close(self->s.broker);
	self->s.broker = -1;
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), ENOTCONN);
	/* DESTROY ends a submission's wait for a worker. */
	param_set("engine_absent_ms", 60000);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_QUERY, &work, &id), 0);
	EXPECT_EQ(object_destroy(self->s.fd, id), 0);
	EXPECT_EQ(commands(self), 0);
	param_set("engine_wait_ms", wait);
	param_set("engine_absent_ms", absent);
}

/* A context can be closed while it has submissions in every state. */
TEST_F(submit, closed)
{
	union work work;
	uint32_t id;
	int file, last;

	at.converted = converted_buffer(self);
	ASSERT_NE(at.converted, 0);
	for (size_t i = 0; i < NUM_KINDS; i++) {
		kinds[i].init(self, &work);
		if (submit_work(self->s.fd, kinds[i].work, &work, &id))
			continue;
		/*
		 * The worker answers every second command, and leaves the remaining commands in
		 * flight.
		 */
		ASSERT_EQ(fetch(self), 0);
		if (i % 2)
			ASSERT_EQ(answer(self), 0);
	}
	for (size_t i = 0; i < NUM_KINDS; i++) {
		kinds[i].init(self, &work);
		submit_work(self->s.fd, kinds[i].work, &work, &id);
	}
	file = submit_file(self->s.fd, &self->execution.cmd, -1);
	last = submit_file(self->s.fd, &self->execution.cmd, file);
	ASSERT_GE(last, 0);
	close(self->s.fd);
	self->s.fd = -1;
	EXPECT_TRUE(file_readable(file, -1));
	EXPECT_TRUE(file_readable(last, -1));
	close(file);
	close(last);
}

static void die_with_work(struct actor *self, void *data)
{
	int fd = device_open(), state = *(int *)data, file = -1;
	uint32_t pool = pool_alloc(fd, PAGE), id;
	struct nnaccel_submit submit;
	struct nnaccel_prepare prepare;
	struct execution e;

	prepare_init(&prepare, pool, 1);
	submit_init(&submit, NNACCEL_WORK_PREPARE, &prepare);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	if (xioctl(fd, NNACCEL_SUBMIT, &submit) || submit.out_state != NNACCEL_STATE_DONE)
		_exit(1);
	execution_init(&e, prepare.out_model, pool, pool);
	if (state == 0)
		file = submit_file(fd, &e.cmd, submit_file(fd, &e.cmd, -1));
	else if (submit_work(fd, NNACCEL_WORK_EXECUTE, &e.cmd, &id))
		_exit(2);
	actor_reached(self);
	if (state == 3) {
		submission_wait(fd, id, &e.cmd);
	} else if (state == 4) {
		submit_init(&submit, NNACCEL_WORK_EXECUTE, &e.cmd);
		submit.flags = NNACCEL_SUBMIT_WAIT;
		xioctl(fd, NNACCEL_SUBMIT, &submit);
	}
	actor_reached(self);
	close(file);
}

/* A client is killed during a call, or while its submission is waiting, fetched or answered. */
TEST(death_of_the_client)
{
	struct nnaccel_engine_next next;
	struct summary before;
	static union command cmd;
	struct actor client;
	int broker, session;

	broker = broker_open();
	ASSERT_GE(broker, 0);
	ASSERT_TRUE(summary_read(&before));
	for (int state = 0; state < 5; state++) {
		ASSERT_TRUE(actor_start(&client, die_with_work, &state));
		ASSERT_EQ(broker_next(broker, 0, &next), 0);
		ASSERT_EQ(broker_session(broker, next.out_context, &session), 0);
		ASSERT_EQ(session_attach(session), 0);
		ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
		ASSERT_EQ(session_answer(session, &cmd), 0);
		ASSERT_TRUE(actor_await(&client));
		if (state >= 1)
			ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
		if (state == 2)
			ASSERT_EQ(session_answer(session, &cmd), 0);
		if (state >= 3)
			actor_go(&client);
		usleep(20000);
		actor_kill(&client);
		while (!session_fetch(session, 0, &cmd))
			;
		close(session);
		EXPECT_EQ(broker_next(broker, 0, &next), 0);
		EXPECT_EQ(next.out_event, NNACCEL_ENGINE_GONE);
	}
	EXPECT_TRUE(summary_settles(&before));
	close(broker);
}

/* ---- limits ---- */

/* An answered command counts against max_commands until the client fetches the answer. */
TEST_F(submit, too_many)
{
	long long old = param_set("max_commands", 2);
	struct nnaccel_submit submit;
	union work work;
	uint32_t ids[3];

	init_execute(self, &work);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &ids[i]), 0);
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
	}
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &ids[2]), EXFULL);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &work);
	submit.flags = NNACCEL_SUBMIT_WAIT;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), EXFULL);
	EXPECT_EQ(submission_wait(self->s.fd, ids[0], &work), 0);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_EXECUTE, &work, &ids[2]), 0);
	EXPECT_EQ(object_destroy(self->s.fd, ids[1]), 0);
	EXPECT_EQ(object_destroy(self->s.fd, ids[2]), 0);
	EXPECT_EQ(commands(self), 0);
	param_set("max_commands", old);
}

/*
 * The client is charged for an answer until the client fetches the answer. Each answer of this test
 * has 1 MiB, one byte for each operation.
 */
TEST_F(submit, large_answers_are_charged)
{
	const uint32_t n = NNACCEL_MAX_OPERATIONS;
	uint8_t *operations = malloc(n);
	long long old;
	union work work;
	uint32_t id;

	ASSERT_NE(operations, NULL);
	supported_init(&work.supported, self->pool, 1, operations, n);
	old = param_set("max_user_kernel_bytes", n / 2);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), EDQUOT);
	param_set("max_user_kernel_bytes", n + n / 2);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &work, &id), 0);
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(answer(self), 0);
		EXPECT_EQ(submission_wait(self->s.fd, id, &work), 0);
	}
	/* A second unfetched answer exceeds max_user_kernel_bytes. */
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &work, &id), 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(answer(self), 0);
	EXPECT_EQ(submission_wait(self->s.fd, id, &work), EDQUOT);
	param_set("max_user_kernel_bytes", old);
	free(operations);
}

/* A submitted PREPARE counts against max_models before the client fetches the answer. */
TEST_F(submit, too_many_models)
{
	long long old = param_set("max_models", 2);
	union work work;
	uint32_t ids[2];

	init_prepare(self, &work);
	ASSERT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work, &ids[0]), 0);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work, &ids[1]), ENOSPC);
	EXPECT_EQ(object_destroy(self->s.fd, ids[0]), 0);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_PREPARE, &work, &ids[1]), 0);
	param_set("max_models", old);
}

TEST_HARNESS_MAIN
