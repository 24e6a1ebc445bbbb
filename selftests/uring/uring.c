// SPDX-License-Identifier: MIT
/*
 * Tests of executions by io_uring: results, rejections and cancellation. While commands are in
 * flight, rings end, and processes end, fork or call execve().
 */
#include <liburing.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH 64
#define DEPTH 32

/* Structures struct nnaccel_submit to which the latest submission queue entries of a ring point. */
static struct nnaccel_submit submits[2 * DEPTH];
static unsigned int num_submits;

/* Puts an execution into the submission queue of @ring. */
static struct io_uring_sqe *prepare_sqe(struct io_uring *ring, int fd, struct nnaccel_execute *cmd,
					uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	submit_by_ring(sqe, fd, &submits[num_submits++ % ARRAY_SIZE(submits)], cmd, tag);
	return sqe;
}

/* Submits one execution. */
static int submit(struct io_uring *ring, int fd, struct nnaccel_execute *cmd, uint64_t tag)
{
	prepare_sqe(ring, fd, cmd, tag);
	return io_uring_submit(ring);
}

/* Waits for the next completion queue entry and returns the entry's result. */
static int reap(struct io_uring *ring, uint64_t *tag)
{
	struct io_uring_cqe *cqe;
	int res;

	if (io_uring_wait_cqe(ring, &cqe))
		return -EPROTO;
	res = cqe->res;
	if (tag)
		*tag = cqe->user_data;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

static int cancel(int fd, uint64_t tag)
{
	struct nnaccel_cancel arg = { .size = sizeof(arg), .tag = tag };

	return xioctl(fd, NNACCEL_CANCEL, &arg);
}

FIXTURE(uring) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	struct io_uring ring;
	bool has_ring;
	struct execution e;
	union command cmd;
};

FIXTURE_SETUP(uring)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
	execution_init(&self->e, self->model, self->pool, self->pool);
	ASSERT_EQ(io_uring_queue_init(DEPTH, &self->ring, 0), 0);
	self->has_ring = true;
}

FIXTURE_TEARDOWN(uring)
{
	if (self->has_ring)
		io_uring_queue_exit(&self->ring);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

static int fetch(FIXTURE_DATA(uring) *self)
{
	return session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd);
}

TEST_F(uring, writes_the_results)
{
	uint64_t tag = 0, before = now_ns();

	self->e.cmd.deadline_ns = before + 3600 * 1000000000ULL;
	self->e.cmd.flags = NNACCEL_EXECUTE_MEASURE;
	self->e.cmd.attributes = (uintptr_t)"attributes";
	self->e.cmd.attributes_size = 9;
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 42), 1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(self->cmd.head.attributes_size, 9);
	EXPECT_EQ(memcmp(command_attributes(&self->cmd), "attribute", 9), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_EXECUTE);
	/* The worker gets exactly the client's deadline. */
	EXPECT_EQ(self->cmd.head.deadline_ns, self->e.cmd.deadline_ns);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
	EXPECT_EQ(self->e.cmd.out_status, POISON);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(reap(&self->ring, &tag), NNACCEL_STATUS_NONE);
	EXPECT_EQ(tag, 42);
	EXPECT_EQ(self->e.cmd.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(self->e.cmd.out_num_shapes, 1);
	EXPECT_EQ(self->e.cmd.out_device_ns, MOCK_DEVICE_NS);
	EXPECT_LT(self->e.cmd.out_driver_ns, now_ns() - before + 1);
	EXPECT_EQ(self->e.shape.flags, NNACCEL_SHAPE_SUFFICIENT);
	EXPECT_EQ(self->e.shape.dims[0], 1);
	EXPECT_EQ(self->e.message[0], '\0');
	EXPECT_EQ(cancel(self->s.fd, 42), ENOENT);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 1);
}

/*
 * An execution of a submission queue entry waits for its dependencies, and fails if a dependency
 * fails.
 */
TEST_F(uring, depends_on_others)
{
	for (uint32_t status = 0; status < 2; status++) {
		int file = submit_file(self->s.fd, &self->e.cmd, -1);
		struct execution e;
		struct nnaccel_submit s;

		ASSERT_GE(file, 0);
		execution_init(&e, self->model, self->pool, self->pool);
		submit_by_ring(io_uring_get_sqe(&self->ring), self->s.fd, &s, &e.cmd, 1);
		s.dependencies = (uintptr_t)&file;
		s.num_dependencies = 1;
		ASSERT_EQ(io_uring_submit(&self->ring), 1);
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
					 status * NNACCEL_STATUS_GENERAL_FAILURE, NULL, 0, NULL), 0);
		if (!status) {
			ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
			EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
		}
		EXPECT_EQ(reap(&self->ring, NULL), status ? -EREMOTEIO : 0);
		close(file);
	}
	EXPECT_EQ(fetch(self), EAGAIN);
}

/*
 * If the engine reports a failure, the result of the completion queue entry is an error, and the
 * execution's structure has the status.
 */
TEST_F(uring, tells_the_status)
{
	for (uint32_t status = 1; status <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT;
	     status++) {
		ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 0), 1);
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, status, NULL, 0,
					 "reason"), 0);
		EXPECT_EQ(reap(&self->ring, NULL),
			  status == NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT ||
			  status == NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT ? -ETIME : -EIO);
		EXPECT_EQ(self->e.cmd.out_status, status);
		EXPECT_STREQ(self->e.message, "reason");
	}
}

/*
 * Submits many executions at once to a ring with the flags @ring_flags; checks that each execution
 * completes once.
 */
static void batch(struct __test_metadata *_metadata, FIXTURE_DATA(uring) *self,
		  unsigned int ring_flags, unsigned int sqe_flags)
{
	struct execution e[DEPTH];
	uint64_t seen = 0, tag = 0;
	struct io_uring ring;

	ASSERT_EQ(io_uring_queue_init(DEPTH, &ring, ring_flags), 0);
	for (int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < DEPTH; i++) {
			execution_init(&e[i], self->model, self->pool, self->pool);
			prepare_sqe(&ring, self->s.fd, &e[i].cmd, i)->flags |= sqe_flags;
		}
		ASSERT_EQ(io_uring_submit(&ring), DEPTH);
		if (!self->s.serving) {
			ASSERT_EQ(served_start(&self->s), 0);
		}
		seen = 0;
		for (unsigned int i = 0; i < DEPTH; i++) {
			EXPECT_EQ(reap(&ring, &tag), 0);
			EXPECT_EQ(seen & (1ULL << tag), 0);
			seen |= 1ULL << tag;
			EXPECT_EQ(e[tag].cmd.out_num_shapes, 1);
		}
	}
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 3 * DEPTH);
	io_uring_queue_exit(&ring);
}

TEST_F(uring, batch)
{
	batch(_metadata, self, 0, 0);
}

TEST_F(uring, batch_of_large_entries)
{
	batch(_metadata, self, IORING_SETUP_SQE128 | IORING_SETUP_CQE32, 0);
}

TEST_F(uring, batch_in_worker_threads)
{
	batch(_metadata, self, 0, IOSQE_ASYNC);
}

TEST_F(uring, batch_with_a_polling_thread)
{
	batch(_metadata, self, IORING_SETUP_SQPOLL, 0);
}

TEST_F(uring, batch_of_one_issuer)
{
	batch(_metadata, self, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0);
}

/*
 * A linked entry starts if the previous entry succeeded, and is cancelled if the previous entry
 * failed.
 */
TEST_F(uring, linked)
{
	struct execution bad = self->e;
	uint64_t tag;

	prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, 1)->flags |= IOSQE_IO_LINK;
	prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, 2);
	ASSERT_EQ(io_uring_submit(&self->ring), 2);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(reap(&self->ring, &tag), 0);
	EXPECT_EQ(tag, 1);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(reap(&self->ring, &tag), 0);
	EXPECT_EQ(tag, 2);

	bad.cmd.model = 0;
	prepare_sqe(&self->ring, self->s.fd, &bad.cmd, 1)->flags |= IOSQE_IO_LINK;
	prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, 2);
	ASSERT_EQ(io_uring_submit(&self->ring), 2);
	EXPECT_EQ(reap(&self->ring, NULL), -ENOENT);
	EXPECT_EQ(reap(&self->ring, NULL), -ECANCELED);
	EXPECT_EQ(fetch(self), EAGAIN);
}

/* Fetches the queued command and answers it. */
static int answer(FIXTURE_DATA(uring) *self, uint32_t status)
{
	int error = session_fetch(self->s.session, 0, &self->cmd);

	return error ? error : session_commit(self->s.session, self->cmd.head.cookie, status, NULL,
					      0, "reason");
}

/*
 * If the engine reports the failure of an execution, the submission queue entries linked after the
 * execution are cancelled.
 */
TEST_F(uring, a_failed_status_stops_what_is_linked)
{
	uint64_t tag;

	prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, 1)->flags |= IOSQE_IO_LINK;
	prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, 2)->flags |= IOSQE_IO_LINK;
	io_uring_prep_nop(io_uring_get_sqe(&self->ring));
	ASSERT_EQ(io_uring_submit(&self->ring), 3);
	ASSERT_EQ(answer(self, NNACCEL_STATUS_GENERAL_FAILURE), 0);
	EXPECT_EQ(reap(&self->ring, &tag), -EIO);
	EXPECT_EQ(tag, 1);
	EXPECT_EQ(self->e.cmd.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_EQ(reap(&self->ring, &tag), -ECANCELED);
	EXPECT_EQ(tag, 2);
	EXPECT_EQ(reap(&self->ring, NULL), -ECANCELED);
	EXPECT_EQ(fetch(self), EAGAIN);
}

/* With IOSQE_CQE_SKIP_SUCCESS only failed executions get completion queue entries. */
TEST_F(uring, a_failed_status_is_shown_where_success_is_skipped)
{
	const uint32_t statuses[] = {
		NNACCEL_STATUS_NONE,
		NNACCEL_STATUS_GENERAL_FAILURE,
		NNACCEL_STATUS_NONE,
		NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT,
	};
	uint64_t tag;

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, i)->flags |=
			IOSQE_CQE_SKIP_SUCCESS;
		ASSERT_EQ(io_uring_submit(&self->ring), 1);
		ASSERT_EQ(answer(self, statuses[i]), 0);
	}
	EXPECT_EQ(reap(&self->ring, &tag), -EIO);
	EXPECT_EQ(tag, 1);
	EXPECT_EQ(reap(&self->ring, &tag), -ETIME);
	EXPECT_EQ(tag, 3);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
}

/* ---- rejections ---- */

TEST_F(uring, refused_fields)
{
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_execute, size, 8, EINVAL),
		REFUSE(struct nnaccel_execute, size, 1 << 20, E2BIG),
		REFUSE(struct nnaccel_execute, flags, 2, EINVAL),
		REFUSE(struct nnaccel_execute, model, 0, ENOENT),
		REFUSE(struct nnaccel_execute, model, self->pool, ENOENT),
		REFUSE(struct nnaccel_execute, num_pools, NNACCEL_MAX_CMD_POOLS + 1, EINVAL),
		REFUSE(struct nnaccel_execute, num_pools, 1, EINVAL),
		REFUSE(struct nnaccel_execute, pools, 0, EFAULT),
		REFUSE(struct nnaccel_execute, args, 0, EFAULT),
		REFUSE(struct nnaccel_execute, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
		REFUSE(struct nnaccel_execute, num_buffers, NNACCEL_MAX_CMD_BUFFERS + 1, EINVAL),
	};
	const struct refusal submit_cases[] = {
		REFUSE(struct nnaccel_submit, size, 8, EINVAL),
		REFUSE(struct nnaccel_submit, size, 1 << 20, E2BIG),
		REFUSE(struct nnaccel_submit, kind, 0, EINVAL),
		REFUSE(struct nnaccel_submit, kind, NNACCEL_WORK_QUERY, EOPNOTSUPP),
		REFUSE(struct nnaccel_submit, flags, 0, EINVAL),
		REFUSE(struct nnaccel_submit, flags, NNACCEL_SUBMIT_FILE, EINVAL),
		REFUSE(struct nnaccel_submit, num_dependencies, 1, EFAULT),
		REFUSE(struct nnaccel_submit, num_dependencies, NNACCEL_MAX_DEPENDENCIES + 1, EINVAL),
	};
	const struct nnaccel_execute good = self->e.cmd;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		self->e.cmd = good;
		memcpy((uint8_t *)&self->e.cmd + cases[i].offset, &cases[i].value, cases[i].size);
		ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 0), 1);
		EXPECT_EQ(reap(&self->ring, NULL), -cases[i].error) TH_LOG("%s", cases[i].what);
		EXPECT_EQ(self->e.cmd.out_status, POISON);
	}
	ASSERT_EQ(submit(&self->ring, self->s.fd, NULL, 0), 1);
	EXPECT_EQ(reap(&self->ring, NULL), -EFAULT);
	self->e.cmd = good;
	for (size_t i = 0; i < ARRAY_SIZE(submit_cases); i++) {
		struct nnaccel_submit s;

		submit_by_ring(io_uring_get_sqe(&self->ring), self->s.fd, &s, &self->e.cmd, 0);
		memcpy((uint8_t *)&s + submit_cases[i].offset, &submit_cases[i].value,
		       submit_cases[i].size);
		ASSERT_EQ(io_uring_submit(&self->ring), 1);
		EXPECT_EQ(reap(&self->ring, NULL), -submit_cases[i].error)
			TH_LOG("%s", submit_cases[i].what);
		EXPECT_EQ(s.out_state, POISON);
	}
	EXPECT_EQ(self->e.cmd.out_status, POISON);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

/* A submission queue entry is valid only with cmd_op NNACCEL_SUBMIT and the file of a context. */
TEST_F(uring, refused_numbers)
{
	const int others[] = { self->s.broker, self->s.session };

	for (unsigned int nr = 0; nr < 256; nr++) {
		if (nr == NNACCEL_CMD_SUBMIT)
			continue;
		prepare_sqe(&self->ring, self->s.fd, &self->e.cmd, 0)->cmd_op =
			_IO(NNACCEL_TYPE, nr);
		ASSERT_EQ(io_uring_submit(&self->ring), 1);
		EXPECT_EQ(reap(&self->ring, NULL), -ENOTTY);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		ASSERT_EQ(submit(&self->ring, others[i], &self->e.cmd, 0), 1);
		EXPECT_EQ(reap(&self->ring, NULL), -EOPNOTSUPP);
	}
	EXPECT_EQ(fetch(self), EAGAIN);
}

TEST_F(uring, refused_by_a_ring_that_polls)
{
	struct io_uring ring;

	ASSERT_EQ(io_uring_queue_init(4, &ring, IORING_SETUP_IOPOLL), 0);
	ASSERT_EQ(submit(&ring, self->s.fd, &self->e.cmd, 0), 1);
	EXPECT_EQ(reap(&ring, NULL), -EOPNOTSUPP);
	io_uring_queue_exit(&ring);
}

TEST_F(uring, too_many)
{
	long long old = param_set("max_commands", 2);

	for (uint64_t i = 0; i < 3; i++)
		ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, i), 1);
	EXPECT_EQ(reap(&self->ring, NULL), -EXFULL);
	param_set("max_commands", old);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(reap(&self->ring, NULL), 0);
	EXPECT_EQ(reap(&self->ring, NULL), 0);
}

/*
 * If the memory for an execution's result is unmapped, the execution's completion queue entry has
 * the error EFAULT.
 */
TEST_F(uring, results_have_nowhere_to_go)
{
	struct nnaccel_execute *cmd = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE((void *)cmd, MAP_FAILED);
	*cmd = self->e.cmd;
	ASSERT_EQ(submit(&self->ring, self->s.fd, cmd, 0), 1);
	munmap(cmd, PAGE);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(reap(&self->ring, NULL), -EFAULT);
}

/* ---- ends ---- */

TEST_F(uring, cancel)
{
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 2), 1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(cancel(self->s.fd, 3), ENOENT);
	/* If a queued execution is cancelled, the worker never gets the execution. */
	EXPECT_EQ(cancel(self->s.fd, 2), 0);
	EXPECT_EQ(reap(&self->ring, NULL), -ECANCELED);
	EXPECT_EQ(cancel(self->s.fd, 2), ENOENT);
	/*
	 * If the worker has fetched an execution, a cancellation ends only the execution's io_uring
	 * request. The cancelled command has references to its pools until the worker answers.
	 */
	EXPECT_EQ(cancel(self->s.fd, 1), 0);
	EXPECT_EQ(reap(&self->ring, NULL), -ECANCELED);
	EXPECT_EQ(object_destroy(self->s.fd, self->pool), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 1);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 0);
	EXPECT_EQ(self->e.cmd.out_status, POISON);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
}

/*
 * After the worker has committed a fence of hardware, a cancellation or a deadline ends the
 * io_uring request. The command of the cancelled request ends when the hardware's fence signals.
 */
TEST_F(uring, hardware_has_it)
{
	struct exporter exporter;
	int hardware;

	ASSERT_TRUE(exporter_open(&exporter, 0));
	for (int deadline = 0; deadline < 2; deadline++) {
		ASSERT_EQ(ioctl(exporter.fd, EXPORTER_FENCE, 1), 0);
		hardware = buffer_fence(exporter.buffer);
		self->e.cmd.deadline_ns = deadline ? deadline_soon() : 0;
		ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
		ASSERT_EQ(fetch(self), 0);
		ASSERT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, hardware), 0);
		if (!deadline)
			EXPECT_EQ(cancel(self->s.fd, 1), 0);
		EXPECT_EQ(reap(&self->ring, NULL), deadline ? -ETIME : -ECANCELED);
		EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 1));
		EXPECT_EQ(ioctl(exporter.fd, EXPORTER_SIGNAL, 0), 0);
		EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
		close(hardware);
	}
	/*
	 * Without a deadline or a cancellation, the io_uring request ends when the hardware's fence
	 * signals.
	 */
	self->e.cmd.deadline_ns = 0;
	ASSERT_EQ(ioctl(exporter.fd, EXPORTER_FENCE, 1), 0);
	hardware = buffer_fence(exporter.buffer);
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, hardware), 0);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
	EXPECT_EQ(ioctl(exporter.fd, EXPORTER_SIGNAL, 0), 0);
	EXPECT_EQ(reap(&self->ring, NULL), 0);
	EXPECT_EQ(self->e.cmd.out_status, NNACCEL_STATUS_NONE);
	close(hardware);
	exporter_close(&exporter);
}

struct canceller {
	int fd;
	_Atomic bool stop;
};

static void *cancel_always(void *data)
{
	struct nnaccel_cancel arg = { .size = sizeof(arg), .flags = NNACCEL_CANCEL_ANY };
	struct canceller *c = data;

	while (!c->stop)
		xioctl(c->fd, NNACCEL_CANCEL, &arg);
	return NULL;
}

/*
 * One thread submits executions while a second thread cancels executions; each execution ends once.
 */
TEST_F(uring, cancel_while_it_is_submitted)
{
	struct canceller c = { .fd = self->s.fd };
	unsigned int cancelled = 0;
	struct execution e[DEPTH];
	pthread_t thread;
	uint64_t tag;

	ASSERT_EQ(served_start(&self->s), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, cancel_always, &c), 0);
	/* Repeat until the second thread has cancelled at least one execution. */
	for (int round = 0; round < 30 || (!cancelled && round < 1000); round++) {
		uint64_t seen = 0;

		for (unsigned int i = 0; i < DEPTH; i++) {
			execution_init(&e[i], self->model, self->pool, self->pool);
			prepare_sqe(&self->ring, self->s.fd, &e[i].cmd, i)->flags |= IOSQE_ASYNC;
		}
		ASSERT_EQ(io_uring_submit(&self->ring), DEPTH);
		for (unsigned int i = 0; i < DEPTH; i++) {
			int res = reap(&self->ring, &tag);

			EXPECT_TRUE(res == 0 || res == -ECANCELED) TH_LOG("%d", res);
			cancelled += res == -ECANCELED;
			EXPECT_EQ(seen & (1ULL << tag), 0);
			seen |= 1ULL << tag;
		}
	}
	c.stop = true;
	pthread_join(thread, NULL);
	EXPECT_GT(cancelled, 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

TEST_F(uring, death_of_the_worker)
{
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 2), 1);
	ASSERT_EQ(fetch(self), 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(reap(&self->ring, NULL), -EPIPE);
	EXPECT_EQ(reap(&self->ring, NULL), -EPIPE);
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 3), 1);
	EXPECT_EQ(reap(&self->ring, NULL), -ESTALE);
}

/*
 * The parameter fence_bound_ms does not limit executions by io_uring; only the client's deadline
 * limits the duration.
 */
TEST_F(uring, has_no_bound_but_its_deadline)
{
	long long bound = param_set("fence_bound_ms", 20);
	long long grace = param_set("deadline_grace_ms", 10);
	long long kill_grace = param_set("kill_grace_ms", 20);

	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(self->cmd.head.deadline_ns, 0);
	usleep(300000);
	EXPECT_EQ(io_uring_cq_ready(&self->ring), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(reap(&self->ring, NULL), 0);

	self->e.cmd.deadline_ns = 1;
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 2), 1);
	EXPECT_EQ(reap(&self->ring, NULL), -ETIME);
	EXPECT_EQ(fetch(self), EAGAIN);
	/*
	 * The deadline passes first while a command is queued, then while the worker has a second
	 * command. The module does not kill the worker, because the client's process is also the
	 * worker.
	 */
	self->e.cmd.deadline_ns = now_ns() + 50000000;
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 3), 1);
	EXPECT_EQ(reap(&self->ring, NULL), -ETIME);
	EXPECT_EQ(fetch(self), EAGAIN);
	self->e.cmd.deadline_ns = deadline_soon();
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 4), 1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(reap(&self->ring, NULL), -ETIME);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(self->e.cmd.out_status, NNACCEL_STATUS_NONE);
	param_set("fence_bound_ms", bound);
	param_set("deadline_grace_ms", grace);
	param_set("kill_grace_ms", kill_grace);
}

TEST_F(uring, end_of_the_ring)
{
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 2), 1);
	ASSERT_EQ(fetch(self), 0);
	io_uring_queue_exit(&self->ring);
	self->has_ring = false;
	/*
	 * Before Linux 6.7 the end of a ring cannot cancel the ring's executions, which end when
	 * the worker answers.
	 */
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	while (!fetch(self))
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	await_commands(self->s.fd, 0);
	EXPECT_EQ(fetch(self), EAGAIN);
}

/*
 * A forked child inherits the ring and the context, but an execution by the child fails. The exit
 * of a forked child cancels no executions of the parent.
 */
TEST_F(uring, fork)
{
	pid_t child;

	ASSERT_EQ(submit(&self->ring, self->s.fd, &self->e.cmd, 1), 1);
	ASSERT_EQ(fetch(self), 0);
	child = fork();
	if (child == 0) {
		struct io_uring ring;
		int wrong = io_uring_queue_init(4, &ring, 0);

		wrong = wrong || submit(&ring, self->s.fd, &self->e.cmd, 2) != 1 ||
			reap(&ring, NULL) != -EACCES;
		wrong = wrong || submit(&self->ring, self->s.fd, &self->e.cmd, 3) != 1;
		_exit(wrong);
	}
	int status = -1;

	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(reap(&self->ring, NULL), -EACCES);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 1));
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(reap(&self->ring, NULL), 0);
}

/* ---- processes that end ---- */

enum ending { EXITS, IS_KILLED, EXECUTES };

static const char *const ending_names[] = { "exits", "is killed", "executes" };

struct client {
	enum ending ending;
	bool has_deadline;
};

/* Client process: submits two executions, notifies the test, and then exits or calls execve(). */
static void be_client(struct actor *self, void *data)
{
	const struct client *client = data;
	struct nnaccel_prepare prepare;
	struct io_uring ring;
	struct execution e;
	int fd = device_open();
	uint32_t pool = pool_alloc(fd, LENGTH);

	prepare_init(&prepare, pool, 1);
	if (fd < 0 || xioctl(fd, NNACCEL_WORK_PREPARE, &prepare) || io_uring_queue_init(4, &ring, 0))
		_exit(1);
	execution_init(&e, prepare.out_model, pool, pool);
	e.cmd.deadline_ns = client->has_deadline ? deadline_soon() : 0;
	if (submit(&ring, fd, &e.cmd, 1) != 1 || submit(&ring, fd, &e.cmd, 2) != 1)
		_exit(1);
	actor_reached(self);
	/*
	 * Before Linux 6.7 the module checks every 200 ms whether clients have ended. The client
	 * process ends only after the module's first check.
	 */
	usleep(300000);
	if (client->ending == EXECUTES)
		execl("/bin/true", "true", NULL);
	_exit(client->ending == EXECUTES);
}

struct worker {
	int session;
	bool fetches;
};

/* Worker process: prepares a model, fetches an execution if requested, and then does nothing. */
static void be_worker(struct actor *self, void *data)
{
	const struct worker *worker = data;
	union command cmd;

	if (session_attach(worker->session) || session_fetch(worker->session, 0, &cmd) ||
	    session_answer(worker->session, &cmd))
		_exit(1);
	if (worker->fetches && session_fetch(worker->session, 0, &cmd))
		_exit(1);
	actor_reached(self);
}

/*
 * Ends a client whose worker does not answer, and then kills the worker. With @has_deadline the
 * module must kill the worker. Returns the description of an error, or NULL.
 */
static const char *end_client(int broker, enum ending ending, bool fetched, bool has_deadline)
{
	struct client data = { .ending = ending, .has_deadline = has_deadline };
	struct worker worker = { .fetches = fetched };
	struct nnaccel_engine_next next;
	struct actor client, server;
	int status = -1;

	if (!actor_start(&client, be_client, &data) || broker_next(broker, 0, &next) ||
	    broker_session(broker, next.out_context, &worker.session) ||
	    !actor_start(&server, be_worker, &worker))
		return "it did not start";
	close(worker.session);
	if (!actor_await(&client) || !actor_await(&server))
		return "it did not submit";
	if (ending == IS_KILLED)
		kill(client.pid, SIGKILL);
	else
		actor_go(&client);
	if (waitpid(client.pid, &status, 0) != client.pid)
		return "it does not end";
	close(client.said);
	close(client.go);
	if (status != (ending == IS_KILLED ? SIGKILL : 0))
		return "it failed";
	/* A context ends when its client ends, even if the context's worker does not answer. */
	if (broker_next(broker, 0, &next) || next.out_event != NNACCEL_ENGINE_GONE)
		return "the broker is not told";
	if (!has_deadline) {
		actor_kill(&server);
		return NULL;
	}
	if (waitpid(server.pid, &status, 0) != server.pid || status != SIGKILL)
		return "its worker is not killed";
	close(server.said);
	close(server.go);
	return NULL;
}

/* A client process can end even if its worker never answers an execution without a deadline. */
TEST(ends_of_processes)
{
	struct summary before;
	int broker = broker_open();

	ASSERT_GE(broker, 0);
	ASSERT_TRUE(summary_read(&before));
	for (enum ending ending = EXITS; ending <= EXECUTES; ending++) {
		for (int fetched = 0; fetched < 2; fetched++) {
			const char *wrong = end_client(broker, ending, fetched, false);

			EXPECT_EQ(wrong, NULL)
				TH_LOG("one that %s, %s: %s", ending_names[ending],
				       fetched ? "fetched" : "queued", wrong);
			EXPECT_TRUE(summary_settles(&before));
		}
	}
	close(broker);
}

/* The module kills a worker that does not answer in time, even if the worker's client has ended. */
TEST(overdue_workers_of_processes_that_ended)
{
	long long grace = param_set("kill_grace_ms", 50);
	struct summary before;
	int broker = broker_open();

	ASSERT_GE(broker, 0);
	ASSERT_TRUE(summary_read(&before));
	for (enum ending ending = EXITS; ending <= EXECUTES; ending++) {
		EXPECT_EQ(end_client(broker, ending, true, true), NULL)
			TH_LOG("a process that %s", ending_names[ending]);
	}
	EXPECT_TRUE(summary_settles(&before));
	param_set("kill_grace_ms", grace);
	close(broker);
}

TEST_HARNESS_MAIN
