// SPDX-License-Identifier: MIT
/*
 * Commits with a fence: the command ends when the hardware's fence signals, even if the
 * client or the worker is dead.
 */
#include <drm/drm.h>
#include <drm/vgem_drm.h>
#include <sys/ioctl.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH 64

FIXTURE(commit) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	struct async async;
	struct execution e;
	union command cmd;
	struct exporter exporter;
	int hardware;		/* fd of the simulated hardware's pending fence */
};

FIXTURE_SETUP(commit)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_TRUE(exporter_open(&self->exporter, 0));
	ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_FENCE, 1), 0);
	self->hardware = buffer_fence(self->exporter.buffer);
	ASSERT_GE(self->hardware, 0);
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(commit)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
	close(self->hardware);
	exporter_close(&self->exporter);
}

/* Signals the fence of the simulated hardware, as if the hardware had ended its work. */
static int signal_hardware(FIXTURE_DATA(commit) *self)
{
	return ioctl(self->exporter.fd, EXPORTER_SIGNAL, 0) ? errno : 0;
}

static int commit_fenced(FIXTURE_DATA(commit) *self, int fence)
{
	return session_commit_fenced(self->s.session, self->cmd.head.cookie, fence);
}

/* Starts an execution and commits it with a fence; returns the submission's file, or -1. */
static int start_file(FIXTURE_DATA(commit) *self, int fence)
{
	int file = file_start(self->s.fd, self->model, self->pool, -1);

	if (file < 0)
		return -1;
	if (!session_fetch(self->s.session, 0, &self->cmd) && !commit_fenced(self, fence))
		return file;
	close(file);
	return -1;
}

/* Starts a thread that calls EXECUTE, and commits the execution with the hardware's fence. */
static int start_waited(FIXTURE_DATA(commit) *self, uint64_t deadline_ns)
{
	execution_init(&self->e, self->model, self->pool, self->pool);
	self->e.cmd.deadline_ns = deadline_ns;
	if (!async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd))
		return EAGAIN;
	return session_fetch(self->s.session, 0, &self->cmd) ?: commit_fenced(self, self->hardware);
}

TEST_F(commit, ends_an_execution_with_a_file)
{
	int file = start_file(self, self->hardware), fence;
	struct shown shown;

	ASSERT_GE(file, 0);
	usleep(20000);
	ASSERT_TRUE(shown_command(self->s.fd, &shown));
	EXPECT_STREQ(shown.state, "fenced");
	EXPECT_FALSE(file_readable(file, 0));
	/*
	 * CPUs can access the pool's memory, so the module has work after the hardware's fence, and
	 * SYNC_FILE returns no fence.
	 */
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EOPNOTSUPP);
	/* The worker cannot commit a command a second time. */
	EXPECT_EQ(commit_fenced(self, self->hardware), ENOENT);
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(file);
}

TEST_F(commit, ends_an_execution)
{
	ASSERT_EQ(start_waited(self, 0), 0);
	usleep(20000);
	EXPECT_EQ(self->e.cmd.out_status, POISON);
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(self->e.cmd.out_status, NNACCEL_STATUS_NONE);
}

TEST_F(commit, fence_that_has_signalled)
{
	int fence;

	EXPECT_EQ(signal_hardware(self), 0);
	fence = start_file(self, self->hardware);
	ASSERT_GE(fence, 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
}

TEST_F(commit, fence_of_vgem)
{
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	struct drm_vgem_fence_signal signal = {};
	int vgem = vgem_open(), buffer, hardware, fence;

	if (vgem < 0)
		SKIP(return, "this kernel has no vgem");
	buffer = vgem_buffer(vgem, PAGE, &attach.handle);
	ASSERT_EQ(ioctl(vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach), 0);
	hardware = buffer_fence(buffer);
	fence = start_file(self, hardware);
	ASSERT_GE(fence, 0);
	EXPECT_FALSE(file_readable(fence, 0));
	signal.fence = attach.out_fence;
	EXPECT_EQ(ioctl(vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
	close(hardware);
	close(buffer);
	close(vgem);
}

/*
 * If the hardware's fence fails before or after the commit, the module drops the worker's answer.
 * The worker's answer has many shapes. A fence that took too long is a missed deadline.
 */
TEST_F(commit, error_of_the_fence_takes_the_answer_back)
{
	enum { NUM = 8 };
	const struct {
		int error;
		uint32_t status;
	} errors[] = {
		{ EIO, NNACCEL_STATUS_GENERAL_FAILURE },
		{ ETIME, NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT },
		{ ETIMEDOUT, NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT },
	};
	struct nnaccel_shape shapes[NUM] = {}, told[NUM] = {};
	struct nnaccel_arg args[1 + NUM] = {};
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.flags = NNACCEL_COMMIT_FENCE,
		.payload = (uintptr_t)shapes,
		.payload_size = sizeof(shapes),
	};
	char message[48];

	shapes[0].rank = 1;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(errors); i++) {
		const int before = i % 2, error = errors[i / 2].error;

		if (i && !before) {
			close(self->hardware);
			ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_FENCE, 1), 0);
			self->hardware = buffer_fence(self->exporter.buffer);
			ASSERT_GE(self->hardware, 0);
		}
		commit.fence = self->hardware;
		execution_init(&self->e, self->model, self->pool, self->pool);
		self->e.cmd.args = (uintptr_t)args;
		self->e.cmd.num_outputs = NUM;
		self->e.cmd.shapes = (uintptr_t)told;
		ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		ASSERT_EQ(self->cmd.head.num_outputs, NUM);
		commit.cookie = self->cmd.head.cookie;
		ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
		if (!before)
			ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_SIGNAL_ERROR, error), 0);
		EXPECT_EQ(async_wait(&self->async), 0);
		EXPECT_EQ(self->e.cmd.out_status, errors[i / 2].status);
		EXPECT_EQ(self->e.cmd.out_num_shapes, 0);
		EXPECT_EQ(told[0].rank, 0);
		snprintf(message, sizeof(message), "the engine's fence has error %d", error);
		EXPECT_STREQ(self->e.message, message);
	}
}

/* The client is charged for an answer from the commit on, while the hardware's fence is pending. */
TEST_F(commit, large_answer_is_charged)
{
	enum { NUM = 1000 };
	static struct nnaccel_shape shapes[NUM];
	static struct nnaccel_arg args[1 + NUM];
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.flags = NNACCEL_COMMIT_FENCE,
		.payload = (uintptr_t)shapes,
		.payload_size = sizeof(shapes),
		.fence = self->hardware,
	};
	long long old;

	execution_init(&self->e, self->model, self->pool, self->pool);
	self->e.cmd.args = (uintptr_t)args;
	self->e.cmd.num_outputs = NUM;
	self->e.cmd.shapes = 0;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	commit.cookie = self->cmd.head.cookie;
	old = param_set("max_user_kernel_bytes", 1);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
	param_set("max_user_kernel_bytes", old);
	usleep(20000);
	EXPECT_EQ(self->e.cmd.out_status, POISON);
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(async_wait(&self->async), EDQUOT);
}

TEST_F(commit, error_of_sw_sync)
{
	int timeline = timeline_open(), hardware, fence;

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	hardware = timeline_fence(timeline, 1);
	fence = start_file(self, hardware);
	ASSERT_GE(fence, 0);
	EXPECT_EQ(timeline_advance(timeline), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
	close(hardware);
	hardware = timeline_fence(timeline, 2);
	fence = start_file(self, hardware);
	ASSERT_GE(fence, 0);
	close(timeline);
	/* If the hardware's fence has an error, the execution fails. */
	EXPECT_EQ(file_end(self->s.fd, fence), EPROTO);
	close(fence);
	close(hardware);
}

/*
 * The hardware continues after the worker's death, so the command ends when the hardware's fence
 * signals.
 */
TEST_F(commit, worker_dies)
{
	int fence = start_file(self, self->hardware);

	ASSERT_GE(fence, 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(file_start(self->s.fd, self->model, self->pool, -1), -1);
	EXPECT_EQ(errno, ESTALE);
	EXPECT_FALSE(file_readable(fence, 0));
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
}

TEST_F(commit, worker_and_client_die)
{
	int fence = start_file(self, self->hardware);

	ASSERT_GE(fence, 0);
	served_close(&self->s);
	self->s = (struct served){ .broker = -1, .fd = -1, .session = -1 };
	/*
	 * After the client's end the module has references to the memory until the hardware's fence
	 * signals.
	 */
	EXPECT_TRUE(file_readable(fence, -1));
	EXPECT_EQ(signal_hardware(self), 0);
	close(fence);
}

TEST_F(commit, worker_of_a_waiting_client_dies)
{
	ASSERT_EQ(start_waited(self, 0), 0);
	close(self->s.session);
	self->s.session = -1;
	usleep(20000);
	EXPECT_EQ(self->e.cmd.out_status, POISON);
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(self->e.cmd.out_status, NNACCEL_STATUS_NONE);
}

TEST_F(commit, bound)
{
	long long bound = param_set("fence_bound_ms", (long long)scaled(1000));
	int fence = start_file(self, self->hardware);

	EXPECT_GE(fence, 0);
	EXPECT_EQ(file_end(self->s.fd, fence), ETIME);
	close(fence);
	/*
	 * Allocate a new pool, because no command with the old pool can begin while the hardware
	 * may write to the old pool.
	 */
	self->pool = pool_alloc(self->s.fd, LENGTH);
	EXPECT_EQ(start_waited(self, 0), 0);
	EXPECT_EQ(async_wait(&self->async), ETIME);
	param_set("fence_bound_ms", bound);
	/* The worker survived the fence's timeout, and a late signal of the fence has no effect. */
	EXPECT_EQ(signal_hardware(self), 0);
	ASSERT_EQ(start_waited(self, 0), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

/*
 * The caller gets ETIME at the deadline, but the command ends only when the hardware's fence
 * signals.
 */
TEST_F(commit, deadline)
{
	ASSERT_EQ(start_waited(self, deadline_soon()), 0);
	EXPECT_EQ(async_wait(&self->async), ETIME);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 1));
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

/*
 * After a cancel the submission's file reports the end at once, but the command ends only when the
 * hardware's fence signals.
 */
TEST_F(commit, is_cancelled)
{
	int fence = start_file(self, self->hardware);

	ASSERT_GE(fence, 0);
	EXPECT_EQ(file_cancel(self->s.fd, fence), 0);
	EXPECT_TRUE(file_readable(fence, 0));
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	close(fence);
}

TEST_F(commit, refusals)
{
	struct nnaccel_session_commit good = {
		.size = sizeof(good),
		.flags = NNACCEL_COMMIT_FENCE,
		.fence = self->hardware,
	}, bad;
	struct nnaccel_query query = { .size = sizeof(query) };
	int buffer = pool_export(self->s.fd, self->pool), fences;

	execution_init(&self->e, self->model, self->pool, self->pool);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	good.cookie = self->cmd.head.cookie;
	bad = good;
	bad.status = NNACCEL_STATUS_GENERAL_FAILURE;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	bad = good;
	bad.flags = 0;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	bad = good;
	bad.fence = self->exporter.buffer;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	bad.fence = -1;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	bad = good;
	bad.flags |= NNACCEL_FETCH_NONBLOCK;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	bad = good;
	bad.size = offsetof(struct nnaccel_session_commit, out_size);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	bad = good;
	bad.payload = (uintptr_t)&query;
	bad.payload_size = 1;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &bad), EINVAL);
	/* A rejected commit adds no fence to the memory of the command. */
	fences = buffer_fence(buffer);
	EXPECT_EQ(fence_status(fences), 1);
	close(fences);
	close(buffer);
	/*
	 * After commits with wrong arguments were rejected, the worker can still commit the
	 * command.
	 */
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &good), 0);
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	/* Only executions may end with a fence. */
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_QUERY, &query));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(commit_fenced(self, self->hardware), EINVAL);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_INVALID_ARGUMENT, NULL, 0, NULL), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

/* A commit with a fence can fetch the next command. */
TEST_F(commit, fetches)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.flags = NNACCEL_COMMIT_FENCE | NNACCEL_FETCH_NONBLOCK,
		.fence = self->hardware,
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
	};
	int first, second;

	first = file_start(self->s.fd, self->model, self->pool, -1);
	second = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(second, 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	commit.cookie = self->cmd.head.cookie;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
	EXPECT_EQ(commit.cookie, 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, second), 0);
	EXPECT_FALSE(file_readable(first, 0));
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(file_end(self->s.fd, first), 0);
	close(first);
	close(second);
}

TEST_HARNESS_MAIN
