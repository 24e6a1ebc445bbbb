// SPDX-License-Identifier: MIT
/*
 * Tests executions whose worker waits for fences of hardware (NNACCEL_ATTACH_FENCES). If an
 * execution depends on another execution, the module, not the worker, waits for the other
 * execution's end.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH 64

/* Format of an image with a byte for each pixel: DRM_FORMAT_R8 of <drm/drm_fourcc.h>. */
#define FOURCC_R8 0x20203852

FIXTURE(given) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	union command cmd;
	struct exporter exporter;
	int hardware;		/* fd of the simulated hardware's pending fence */
};

FIXTURE_SETUP(given)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_TRUE(exporter_open(&self->exporter, 0));
	ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_FENCE, 1), 0);
	self->hardware = buffer_fence(self->exporter.buffer);
	ASSERT_GE(self->hardware, 0);
	ASSERT_EQ(served_open_as(&self->s, NNACCEL_ATTACH_DEVICES | NNACCEL_ATTACH_FENCES), 0);
	self->pool = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(given)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
	close(self->hardware);
	exporter_close(&self->exporter);
}

static int signal_hardware(FIXTURE_DATA(given) *self)
{
	return ioctl(self->exporter.fd, EXPORTER_SIGNAL, 0) ? errno : 0;
}

static int fetch(FIXTURE_DATA(given) *self, uint32_t flags)
{
	return session_fetch(self->s.session, flags, &self->cmd);
}

static int answer(FIXTURE_DATA(given) *self)
{
	return session_answer(self->s.session, &self->cmd);
}

/* Gets a sync_file of the fence @index of the fetched command. */
static int get_fence(FIXTURE_DATA(given) *self, uint32_t index, int *fence)
{
	return session_fence(self->s.session, self->cmd.head.cookie, index, fence);
}

/* Starts an execution that depends on the files @a and @b. */
static int start_after(FIXTURE_DATA(given) *self, int32_t a, int32_t b)
{
	const int32_t files[] = { a, b };
	struct nnaccel_submit submit;
	struct execution e;

	execution_init(&e, self->model, self->pool, self->pool);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &e.cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	submit.dependencies = (uintptr_t)files;
	submit.num_dependencies = ARRAY_SIZE(files);
	return xioctl(self->s.fd, NNACCEL_SUBMIT, &submit) ? -1 : submit.out_fd;
}

/*
 * An execution ends when the fence that its worker commits signals. A committed fence may wait for
 * the fences that the worker got.
 */
TEST_F(given, at_once)
{
	const int file = file_start(self->s.fd, self->model, self->pool, self->hardware);
	struct nnaccel_session_fence arg = { .size = sizeof(arg) };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_session_fence, flags, 2, EINVAL),
		REFUSE(struct nnaccel_session_fence, cookie, 0, ENOENT),
		REFUSE(struct nnaccel_session_fence, index, 1, ENOENT),
		REFUSE(struct nnaccel_session_fence, index, UINT32_MAX, ENOENT),
	};
	int fence;

	ASSERT_GE(file, 0);
	ASSERT_EQ(fetch(self, 0), 0);
	ASSERT_EQ(self->cmd.head.num_fences, 1);
	ASSERT_EQ(get_fence(self, 0, &fence), 0);
	EXPECT_EQ(fence_status(fence), 0);
	EXPECT_EQ(fcntl(fence, F_GETFD), FD_CLOEXEC);
	arg.cookie = self->cmd.head.cookie;
	EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_FENCE, &arg, sizeof(arg), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_FENCE, &arg, sizeof(arg), 0, true),
		  0);
	EXPECT_EQ(check_no_fd(self->s.session, NNACCEL_SESSION_FENCE, &arg, sizeof(arg)), 0);
	EXPECT_EQ(session_commit_fenced(self->s.session, arg.cookie, fence), 0);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FENCE, &arg), ENOENT);
	EXPECT_FALSE(file_readable(file, 0));
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(fence_status(fence), 1);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(fence);
	close(file);
}

/*
 * The worker gets a fence for each sync_file among an execution's dependencies, in any order, and
 * no fence for a submission.
 */
TEST_F(given, after_submissions)
{
	for (int end_first = 0; end_first < 2; end_first++) {
		const int end = file_start(self->s.fd, self->model, self->pool, -1);
		int file, fence;

		ASSERT_GE(end, 0);
		file = end_first ? start_after(self, end, self->hardware) :
				   start_after(self, self->hardware, end);
		ASSERT_GE(file, 0);
		ASSERT_EQ(fetch(self, 0), 0);
		EXPECT_EQ(self->cmd.head.num_fences, 0);
		union command gate = self->cmd;

		EXPECT_EQ(fetch(self, NNACCEL_FETCH_NONBLOCK), EAGAIN);
		EXPECT_EQ(session_answer(self->s.session, &gate), 0);
		ASSERT_EQ(fetch(self, 0), 0);
		ASSERT_EQ(self->cmd.head.num_fences, 1);
		ASSERT_EQ(get_fence(self, 0, &fence), 0);
		EXPECT_EQ(fence_status(fence), 0);
		EXPECT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, fence), 0);
		EXPECT_EQ(signal_hardware(self), 0);
		EXPECT_EQ(file_end(self->s.fd, file), 0);
		close(fence);
		close(file);
		close(end);
		close(self->hardware);
		ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_FENCE, 1), 0);
		self->hardware = buffer_fence(self->exporter.buffer);
	}
}

/*
 * An execution fails if one of its fences fails before the worker fetches the execution or after
 * the worker answers.
 */
TEST_F(given, failure)
{
	int file, other;

	file = file_start(self->s.fd, self->model, self->pool, self->hardware);
	other = file_start(self->s.fd, self->model, self->pool, self->hardware);
	ASSERT_EQ(fetch(self, 0), 0);
	ASSERT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, self->hardware), 0);
	ASSERT_EQ(fetch(self, 0), 0);
	ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_SIGNAL_ERROR, EIO), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, file), EREMOTEIO);
	EXPECT_EQ(file_end(self->s.fd, other), EREMOTEIO);
	close(file);
	close(other);
	file = file_start(self->s.fd, self->model, self->pool, self->hardware);
	EXPECT_EQ(file_end(self->s.fd, file), EREMOTEIO);
	EXPECT_EQ(fetch(self, NNACCEL_FETCH_NONBLOCK), EAGAIN);
	close(file);
}

/*
 * The worker gets the fences of the execution's memory. If a fence of the memory fails, the
 * execution still succeeds.
 */
TEST_F(given, fences_of_memory)
{
	const int buffer = pool_export(self->s.fd, self->pool);
	int file, fence;

	ASSERT_TRUE(exporter_lend_fence(&self->exporter, buffer));
	file = file_start(self->s.fd, self->model, self->pool, self->hardware);
	ASSERT_GE(file, 0);
	ASSERT_EQ(fetch(self, 0), 0);
	/*
	 * The worker gets the memory's fence twice, because both the input and the output are in
	 * this memory.
	 */
	ASSERT_GT(self->cmd.head.num_fences, 1);
	for (uint32_t i = 0; i < self->cmd.head.num_fences; i++) {
		ASSERT_EQ(get_fence(self, i, &fence), 0);
		EXPECT_EQ(fence_status(fence), 0);
		close(fence);
	}
	EXPECT_EQ(signal_hardware(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(file);

	ASSERT_TRUE(exporter_lend_fence(&self->exporter, buffer));
	file = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(fetch(self, 0), 0);
	ASSERT_GT(self->cmd.head.num_fences, 0);
	EXPECT_EQ(ioctl(self->exporter.fd, EXPORTER_SIGNAL_ERROR, EIO), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(file);
	close(buffer);
}

/*
 * If the worker waits for the fences, the module does not know when the fences signalled, and
 * reports no time since the signals.
 */
TEST_F(given, measured)
{
	struct nnaccel_execute told = { .size = sizeof(told) };
	struct execution e;
	int file;

	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.flags = NNACCEL_EXECUTE_MEASURE;
	for (int i = 0; i < 2; i++) {
		file = submit_file(self->s.fd, &e.cmd, i ? self->hardware : -1);
		ASSERT_GE(file, 0);
		ASSERT_EQ(fetch(self, 0), 0);
		EXPECT_EQ(signal_hardware(self), 0);
		EXPECT_EQ(answer(self), 0);
		ASSERT_EQ(submission_wait_file(self->s.fd, file, &told), 0);
		EXPECT_NE(told.out_driver_ns, NNACCEL_TIME_NONE);
		EXPECT_EQ(told.out_fenced_ns == NNACCEL_TIME_NONE, i);
		close(file);
	}
}

/*
 * The module itself waits for the fences of an execution with a maximum duration, with buffers or
 * with images.
 */
TEST_F(given, not_with_a_duration_or_buffers_or_images)
{
	struct nnaccel_pool_import import = {
		.size = sizeof(import),
		.fd = pool_export(self->s.fd, self->pool),
		.prot = NNACCEL_PROT_READ,
		.fourcc = FOURCC_R8,
		.width = 16,
		.height = 1,
		.stride = 16,
	};
	struct buffer_execution buffers;
	struct nnaccel_submit submit;
	struct execution e, image;
	struct nnaccel_execute *executes[] = { &e.cmd, &buffers.base.cmd, &image.cmd };
	uint32_t buffer;

	ASSERT_EQ(served_start(&self->s), 0);
	buffer = buffer_alloc(self->s.fd, self->model, LENGTH);
	ASSERT_NE(buffer, 0);
	ASSERT_EQ(buffer_copy_in(self->s.fd, buffer, "data", 4), 0);
	execution_init(&e, self->model, self->pool, self->pool);
	buffer_execution_init(&buffers, self->model, buffer, 0);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import), 0);
	close(import.fd);
	execution_init(&image, self->model, import.out_id, self->pool);
	image.args[0].length = 0;
	for (size_t i = 0; i < ARRAY_SIZE(executes); i++) {
		submit_init(&submit, NNACCEL_WORK_EXECUTE, executes[i]);
		submit.flags = NNACCEL_SUBMIT_FILE;
		submit.dependencies = (uintptr_t)&self->hardware;
		submit.num_dependencies = 1;
		submit.duration_ns = i ? 0 : 3600000000000;
		ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
		usleep(20000);
		EXPECT_FALSE(file_readable(submit.out_fd, 0));
		EXPECT_EQ(signal_hardware(self), 0);
		EXPECT_EQ(file_end(self->s.fd, submit.out_fd), 0);
		close(submit.out_fd);
		close(self->hardware);
		ASSERT_EQ(ioctl(self->exporter.fd, EXPORTER_FENCE, 1), 0);
		self->hardware = buffer_fence(self->exporter.buffer);
	}
}

TEST_HARNESS_MAIN
