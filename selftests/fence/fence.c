// SPDX-License-Identifier: MIT
/*
 * Fenced executions: what they wait for, what their fence says, each input that
 * is refused, limits of time, and cancelling.
 */
#include <fcntl.h>
#include <linux/sync_file.h>
#include <sys/ioctl.h>

#include "harness.h"

#define LENGTH 64
#define MS 1000000ULL

FIXTURE(fence) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	struct fenced f;
	union command cmd;
	struct nnaccel_fence_info info;
};

FIXTURE_SETUP(fence)
{
	int broker = broker_open();

	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
	fenced_init(&self->f, self->model, self->pool, self->pool);
}

FIXTURE_TEARDOWN(fence)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Fetches without waiting: 0, EAGAIN where nothing is queued. */
static int fetch(FIXTURE_DATA(fence) *self)
{
	return session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd);
}

static int answer(FIXTURE_DATA(fence) *self, uint32_t status)
{
	return session_commit(self->s.session, self->cmd.head.cookie, status, NULL, 0, "reason");
}

static int start_after(FIXTURE_DATA(fence) *self, int fence)
{
	return fence_start(self->s.fd, self->model, self->pool, fence);
}

TEST_F(fence, signals_at_the_end)
{
	uint64_t before = now_ns();
	int fence;

	self->f.execution.cmd.flags = NNACCEL_EXECUTE_MEASURE;
	self->f.execution.cmd.loop_timeout_ns = 12345;
	self->f.execution.cmd.attributes = (uintptr_t)"attributes";
	self->f.execution.cmd.attributes_size = 9;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	fence = self->f.cmd.out_fd;
	ASSERT_GE(fence, 0);
	EXPECT_EQ(fcntl(fence, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fence_status(fence), 0);
	EXPECT_EQ(fence_info(self->s.fd, fence, &self->info), EBUSY);
	EXPECT_EQ(self->info.out_status, POISON);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_EXECUTE);
	EXPECT_EQ(self->cmd.head.loop_timeout_ns, 12345);
	EXPECT_EQ(self->cmd.head.attributes_size, 9);
	EXPECT_EQ(memcmp(command_attributes(&self->cmd), "attribute", 9), 0);
	/* The worker is told of the module's bound. */
	EXPECT_GT(self->cmd.head.deadline_ns, before);
	EXPECT_EQ(fence_status(fence), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(fence), 1);
	ASSERT_EQ(fence_info(self->s.fd, fence, &self->info), 0);
	EXPECT_EQ(self->info.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(self->info.out_error, 0);
	EXPECT_EQ(self->info.out_device_ns, MOCK_DEVICE_NS);
	EXPECT_GE(self->info.out_launched_ns, self->info.out_fenced_ns);
	EXPECT_LT(self->info.out_launched_ns, now_ns() - before + 1);
	/* What the client described is left alone. */
	EXPECT_EQ(self->f.execution.cmd.out_status, POISON);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	close(fence);
}

TEST_F(fence, unmeasured)
{
	int fence;

	self->f.cmd.flags = 0;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	fence = self->f.cmd.out_fd;
	EXPECT_EQ(fcntl(fence, F_GETFD), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(fence), 1);
	ASSERT_EQ(fence_info(self->s.fd, fence, &self->info), 0);
	EXPECT_EQ(self->info.out_device_ns, NNACCEL_TIME_NONE);
	EXPECT_EQ(self->info.out_launched_ns, NNACCEL_TIME_NONE);
	EXPECT_EQ(self->info.out_fenced_ns, NNACCEL_TIME_NONE);
	close(fence);
}

/* Tools that show fences see whose each is. */
TEST_F(fence, tells_its_name)
{
	int fence = start_after(self, -1);
	struct sync_fence_info one = {};
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&one };
	char timeline[32];

	ASSERT_EQ(ioctl(fence, SYNC_IOC_FILE_INFO, &info), 0);
	EXPECT_EQ(info.num_fences, 1);
	EXPECT_STREQ(one.driver_name, "nnaccel");
	snprintf(timeline, sizeof(timeline), "nnaccel-%lld",
		 summary_get(self->s.fd, "nnaccel-client-id"));
	EXPECT_STREQ(one.obj_name, timeline);
	close(fence);
}

/* Each answer of the engine but success is an error of the fence, with its message. */
TEST_F(fence, carries_the_status)
{
	char message[NNACCEL_MAX_MESSAGE];

	for (uint32_t status = 1; status <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT;
	     status++) {
		bool late = status == NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT ||
			    status == NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT;
		struct nnaccel_fence_info info = { .size = sizeof(info) };
		int fence = start_after(self, -1);

		ASSERT_GE(fence, 0);
		ASSERT_EQ(fetch(self), 0);
		EXPECT_EQ(answer(self, status), 0);
		EXPECT_EQ(fence_await(fence), late ? -ETIME : -EIO);
		info.fd = fence;
		info.message = (uintptr_t)message;
		info.message_size = sizeof(message);
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_FENCE_INFO, &info), 0);
		EXPECT_EQ(info.out_status, status);
		EXPECT_EQ(info.out_error, 0);
		EXPECT_STREQ(message, "reason");
		close(fence);
	}
}

/* A chain of executions runs without its client: each appears when the one before is done. */
TEST_F(fence, chain)
{
	int fences[5] = { -1 };

	for (size_t i = 1; i < ARRAY_SIZE(fences); i++) {
		fences[i] = start_after(self, fences[i - 1]);
		ASSERT_GE(fences[i], 0);
	}
	await_commands(self->s.fd, ARRAY_SIZE(fences) - 1);
	for (size_t i = 1; i < ARRAY_SIZE(fences); i++) {
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(fetch(self), EAGAIN);
		for (size_t j = 1; j < ARRAY_SIZE(fences); j++) {
			EXPECT_EQ(fence_status(fences[j]), j < i);
		}
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	for (size_t i = 1; i < ARRAY_SIZE(fences); i++) {
		EXPECT_EQ(fence_await(fences[i]), 1);
		close(fences[i]);
	}
}

/* Nobody needs the fences of a chain but its end. */
TEST_F(fence, chain_without_its_links)
{
	int fence = start_after(self, -1), last = -1;

	for (int i = 0; i < 20; i++) {
		last = start_after(self, fence);
		ASSERT_GE(last, 0);
		close(fence);
		fence = last;
	}
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(last), 1);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 21);
	close(last);
}

TEST_F(fence, waits_for_all)
{
	int a = start_after(self, -1), b = start_after(self, -1), both = fence_merge(a, b), c;
	union command first;

	fenced_wait_for(&self->f, a);
	fenced_wait_for(&self->f, b);
	fenced_wait_for(&self->f, both);
	fenced_wait_for(&self->f, a);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	c = self->f.cmd.out_fd;
	ASSERT_EQ(fetch(self), 0);
	first = self->cmd;
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(b), 1);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(c), 1);
	/* Those that have signalled already are no reason to wait. */
	self->f.cmd.out_fd = -1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), 1);
	/* A merged file is not the execution's. */
	EXPECT_EQ(fence_info(self->s.fd, both, &self->info), EINVAL);
	close(self->f.cmd.out_fd);
	close(a);
	close(b);
	close(both);
	close(c);
}

TEST_F(fence, waits_for_as_many_as_may_be)
{
	static int32_t waits[NNACCEL_MAX_FENCES];
	int gate = start_after(self, -1);

	for (size_t i = 0; i < NNACCEL_MAX_FENCES; i++)
		waits[i] = gate;
	self->f.cmd.fences = (uintptr_t)waits;
	self->f.cmd.num_fences = NNACCEL_MAX_FENCES;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), 1);
	close(self->f.cmd.out_fd);
	close(gate);
}

/* What depends on a failure does not run, at any length, before or after it happened. */
TEST_F(fence, failure_spreads)
{
	int a = start_after(self, -1), b = start_after(self, a), c = start_after(self, b), d;

	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self, NNACCEL_STATUS_GENERAL_FAILURE), 0);
	EXPECT_EQ(fence_await(a), -EIO);
	EXPECT_EQ(fence_await(b), -EREMOTEIO);
	EXPECT_EQ(fence_await(c), -EREMOTEIO);
	d = start_after(self, c);
	EXPECT_EQ(fence_await(d), -EREMOTEIO);
	EXPECT_EQ(fetch(self), EAGAIN);
	ASSERT_EQ(fence_info(self->s.fd, d, &self->info), 0);
	EXPECT_EQ(self->info.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_EQ(self->info.out_error, EREMOTEIO);
	close(a);
	close(b);
	close(c);
	close(d);
}

static int start_with_buffers(FIXTURE_DATA(fence) *self, uint64_t from, uint64_t to, int fence)
{
	struct buffer_execution e;

	buffer_execution_init(&e, self->model, from, to);
	e.base.cmd.shapes = 0;
	e.base.cmd.message = 0;
	e.base.cmd.message_size = 0;
	fenced_init(&self->f, self->model, self->pool, self->pool);
	self->f.cmd.execute = (uintptr_t)&e.base.cmd;
	if (fence >= 0)
		fenced_wait_for(&self->f, fence);
	return xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd) ? -1 : self->f.cmd.out_fd;
}

/* A buffer of the model's, which this process answers for; with something in it. */
static uint32_t serve_buffer(FIXTURE_DATA(fence) *self, const char *data, uint64_t length)
{
	struct allocation a;
	struct async async;

	allocation_init(&a, self->model, length);
	if (!async_start(&async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd) ||
	    session_fetch(self->s.session, 0, &self->cmd) ||
	    session_answer(self->s.session, &self->cmd) || async_wait(&async) ||
	    buffer_copy_in(self->s.fd, a.cmd.out_buffer, data, length))
		return 0;
	return a.cmd.out_buffer;
}

/* Priority orders those whose fences have signalled. */
TEST_F(fence, priorities)
{
	const uint32_t order[] = { NNACCEL_PRIORITY_LOW, NNACCEL_PRIORITY_HIGH,
				   NNACCEL_PRIORITY_MEDIUM };
	const char data[16] = "of a buffer";
	int gate = start_after(self, -1), fences[3];
	uint64_t buffers[3];

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		ASSERT_EQ(fetch(self), i ? EAGAIN : 0);
	union command first = self->cmd;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		self->model = served_prepare_as(&self->s, self->pool, order[i]);
		ASSERT_NE(self->model, 0);
		buffers[i] = serve_buffer(self, data, sizeof(data));
		ASSERT_NE(buffers[i], 0);
		fences[i] = start_with_buffers(self, buffers[i], 0, gate);
		ASSERT_GE(fences[i], 0);
	}
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	/* They are queued one by one. One that is queued has its buffer. */
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		while (buffer_copy_in(self->s.fd, buffers[i], data, sizeof(data)) != EBUSY)
			usleep(1000);
	for (uint32_t i = ARRAY_SIZE(order); i-- > 0;) {
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.priority, i);
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		EXPECT_EQ(fence_await(fences[i]), 1);
		close(fences[i]);
	}
	close(gate);
}

/* ---- buffers: their state is judged when an execution is queued ---- */

TEST_F(fence, chain_over_buffers)
{
	const char data[16] = "of a buffer";
	uint64_t buffers[2];
	int fence = -1, next;

	ASSERT_EQ(served_start(&self->s), 0);
	buffers[0] = buffer_alloc(self->s.fd, self->model, sizeof(data));
	buffers[1] = buffer_alloc(self->s.fd, self->model, sizeof(data));
	ASSERT_NE(buffers[1], 0);
	fence = start_with_buffers(self, buffers[0], buffers[1], -1);
	EXPECT_EQ(fence_await(fence), -ENODATA);
	EXPECT_EQ(fence_error(self->s.fd, fence), ENODATA);
	close(fence);
	ASSERT_EQ(buffer_copy_in(self->s.fd, buffers[0], data, sizeof(data)), 0);
	fence = start_with_buffers(self, buffers[0], buffers[1], -1);
	for (int i = 1; i < 10; i++) {
		next = start_with_buffers(self, buffers[i % 2], buffers[(i + 1) % 2], fence);
		ASSERT_GE(next, 0);
		close(fence);
		fence = next;
	}
	EXPECT_EQ(fence_await(fence), 1);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 10);
	close(fence);
}

/* ---- what is refused ---- */

TEST_F(fence, refused_fields)
{
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_execute_fenced, flags, 2, EINVAL),
		REFUSE(struct nnaccel_execute_fenced, execute, 0, EFAULT),
		REFUSE(struct nnaccel_execute_fenced, num_fences, NNACCEL_MAX_FENCES + 1, EINVAL),
		REFUSE(struct nnaccel_execute_fenced, num_fences, UINT32_MAX, EINVAL),
	};
	const struct refusal info_cases[] = {
		REFUSE(struct nnaccel_fence_info, flags, 1, EINVAL),
		REFUSE(struct nnaccel_fence_info, fd, -1, EINVAL),
		REFUSE(struct nnaccel_fence_info, fd, self->s.fd, EINVAL),
		REFUSE(struct nnaccel_fence_info, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_fence_info, __reserved2, 1, EINVAL),
		REFUSE(struct nnaccel_fence_info, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
		REFUSE(struct nnaccel_fence_info, message_size, 1, EFAULT),
	};
	const struct refusal cancel_cases[] = {
		REFUSE(struct nnaccel_cancel, flags, 2, EINVAL),
		REFUSE(struct nnaccel_cancel, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_cancel, tag, 77, ENOENT),
	};
	struct nnaccel_cancel cancel = { .size = sizeof(cancel) };
	int fence;

	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd,
				 sizeof(self->f.cmd), cases, ARRAY_SIZE(cases)), 0);
	fence = start_after(self, -1);
	EXPECT_EQ(fence_await(fence), 1);
	ASSERT_EQ(fence_info(self->s.fd, fence, &self->info), 0);
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_FENCE_INFO, &self->info, sizeof(self->info),
				 info_cases, ARRAY_SIZE(info_cases)), 0);
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_CANCEL, &cancel, sizeof(cancel),
				 cancel_cases, ARRAY_SIZE(cancel_cases)), 0);
	close(fence);
}

TEST_F(fence, refused_executions)
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
		REFUSE(struct nnaccel_execute, shapes, 1, EINVAL),
		REFUSE(struct nnaccel_execute, message, 1, EINVAL),
		REFUSE(struct nnaccel_execute, message_size, 1, EINVAL),
		REFUSE(struct nnaccel_execute, num_buffers, NNACCEL_MAX_CMD_BUFFERS + 1, EINVAL),
		REFUSE(struct nnaccel_execute, attributes_size, 1, EFAULT),
		REFUSE(struct nnaccel_execute, attributes_size, NNACCEL_MAX_ATTRIBUTES + 1, EINVAL),
		REFUSE(struct nnaccel_execute, __reserved, 1, EINVAL),
	};
	const struct nnaccel_execute good = self->f.execution.cmd;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t *at = (uint8_t *)&self->f.execution.cmd + cases[i].offset;

		self->f.execution.cmd = good;
		memcpy(at, &cases[i].value, cases[i].size);
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), cases[i].error)
			TH_LOG("%s", cases[i].what);
		EXPECT_EQ(self->f.cmd.out_fd, -1);
	}
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

TEST_F(fence, structures)
{
	struct nnaccel_cancel cancel = { .size = sizeof(cancel) };
	int fence = start_after(self, -1);

	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(fence), 1);
	ASSERT_EQ(fence_info(self->s.fd, fence, &self->info), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_FENCE_INFO, &self->info,
				  sizeof(self->info), 0, true), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_CANCEL, &cancel, sizeof(cancel), ENOENT,
				  true), 0);
	close(fence);
	self->f.execution.cmd.model = 0;
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd,
				  sizeof(self->f.cmd), ENOENT, true), 0);
}

/* A fence that its client cannot be told of was never there. */
TEST_F(fence, unwritable_answer)
{
	EXPECT_EQ(check_read_only(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd,
				  sizeof(self->f.cmd)), 0);
	EXPECT_EQ(check_no_fd(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd,
			      sizeof(self->f.cmd)), 0);
	EXPECT_EQ(check_fd_0(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd, sizeof(self->f.cmd),
			     offsetof(struct nnaccel_execute_fenced, out_fd)), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

/* Only a sync_file can be waited for. */
TEST_F(fence, odd_files)
{
	struct odd_file files[MAX_ODD_FILES];
	size_t n = odd_files_open(files);

	ASSERT_GT(n, 0);
	files[n - 1] = (struct odd_file){ "context", self->s.fd };
	files[n - 2] = (struct odd_file){ "dma-buf", pool_export(self->s.fd, self->pool) };
	files[n - 3] = (struct odd_file){ "none", -1 };
	self->f.cmd.num_fences = 1;
	for (size_t i = 0; i < n; i++) {
		self->f.waits[0] = files[i].fd;
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), EINVAL)
			TH_LOG("%s", files[i].name);
		EXPECT_EQ(fence_info(self->s.fd, files[i].fd, &self->info), EINVAL)
			TH_LOG("%s", files[i].name);
		if (files[i].fd >= 0 && files[i].fd != self->s.fd)
			close(files[i].fd);
	}
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
}

/* A fence of another context can be waited for, and not asked about. */
TEST_F(fence, of_another_context)
{
	struct served other;
	uint32_t pool, model;
	int a, b;

	close(self->s.broker);
	self->s.broker = -1;
	ASSERT_EQ(served_open(&other), 0);
	pool = pool_alloc(other.fd, LENGTH);
	model = served_prepare(&other, pool);
	a = fence_start(other.fd, model, pool, -1);
	b = start_after(self, a);
	ASSERT_GE(b, 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	ASSERT_EQ(served_start(&other), 0);
	EXPECT_EQ(fence_await(a), 1);
	EXPECT_EQ(fence_info(self->s.fd, a, &self->info), EINVAL);
	EXPECT_EQ(fence_info(other.fd, a, &self->info), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(b), 1);
	/* Nor can its models and pools be named. */
	self->f.execution.cmd.model = 1000;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), ENOENT);
	close(a);
	close(b);
	served_close(&other);
}

TEST_F(fence, too_many)
{
	long long old = param_set("max_commands", 4);
	int fences[5];

	for (size_t i = 0; i < ARRAY_SIZE(fences); i++) {
		fences[i] = start_after(self, i ? fences[0] : -1);
		EXPECT_EQ(fences[i] < 0 ? errno : 0, i < 4 ? 0 : EXFULL);
	}
	param_set("max_commands", old);
	ASSERT_EQ(served_start(&self->s), 0);
	for (size_t i = 0; i < 4; i++) {
		EXPECT_EQ(fence_await(fences[i]), 1);
		close(fences[i]);
	}
}

TEST_F(fence, without_the_models_worker)
{
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(start_after(self, -1), -1);
	EXPECT_EQ(errno, ESTALE);
}

/* ---- limits of time ---- */

TEST_F(fence, deadline_while_waiting)
{
	int gate = start_after(self, -1);

	fenced_wait_for(&self->f, gate);
	self->f.execution.cmd.deadline_ns = now_ns() + 50 * MS;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), -ETIME);
	ASSERT_EQ(fence_info(self->s.fd, self->f.cmd.out_fd, &self->info), 0);
	EXPECT_EQ(self->info.out_status, NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT);
	EXPECT_EQ(self->info.out_error, ETIME);
	close(self->f.cmd.out_fd);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(gate), 1);
	close(gate);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 1);
}

TEST_F(fence, deadline_in_the_queue)
{
	self->f.execution.cmd.deadline_ns = now_ns() + 50 * MS;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), -ETIME);
	EXPECT_EQ(fetch(self), EAGAIN);
	close(self->f.cmd.out_fd);
	/* One that is past at once is not an error of the call. */
	self->f.execution.cmd.deadline_ns = 1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), -ETIME);
	EXPECT_EQ(fetch(self), EAGAIN);
	close(self->f.cmd.out_fd);
}

/* The duration begins with the last signal, and the earlier limit holds. */
TEST_F(fence, duration)
{
	int gate = start_after(self, -1);
	uint64_t before, limit = 3600000 * MS;
	long long old = param_set("fence_bound_ms", 7200000);

	fenced_wait_for(&self->f, gate);
	self->f.cmd.duration_ns = limit;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	usleep(20000);
	before = now_ns();
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_GE(self->cmd.head.deadline_ns, before + limit);
	EXPECT_LE(self->cmd.head.deadline_ns, now_ns() + limit);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), 1);
	close(self->f.cmd.out_fd);

	self->f.execution.cmd.deadline_ns = now_ns() + limit / 2;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.deadline_ns, self->f.execution.cmd.deadline_ns);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	close(self->f.cmd.out_fd);

	self->f.cmd.duration_ns = 1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), -ETIME);
	close(self->f.cmd.out_fd);
	self->f.cmd.duration_ns = UINT64_MAX;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), 1);
	close(self->f.cmd.out_fd);
	close(gate);
	EXPECT_EQ(param_set("fence_bound_ms", old), 7200000);
}

/* Without any limit of the client's the module's bound holds, wherever the execution is. */
TEST_F(fence, bound)
{
	long long bound = param_set("fence_bound_ms", (long long)scaled(1000));
	long long grace = param_set("kill_grace_ms", 10);
	int in_flight = start_after(self, -1), waiting, queued;

	ASSERT_EQ(fetch(self), 0);
	waiting = start_after(self, in_flight);
	queued = start_after(self, -1);
	EXPECT_EQ(fence_await(waiting) == -ETIME || fence_status(waiting) == -EREMOTEIO, true);
	EXPECT_EQ(fence_await(queued), -ETIME);
	/* This process serves itself: it is not killed, and its answer counts no more. */
	EXPECT_EQ(fence_await(in_flight), -ETIME);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_status(in_flight), -ETIME);
	EXPECT_EQ(fetch(self), EAGAIN);
	param_set("fence_bound_ms", bound);
	param_set("kill_grace_ms", grace);
	close(in_flight);
	close(waiting);
	close(queued);
}

/* ---- fences of another driver ---- */

TEST_F(fence, foreign)
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
	EXPECT_EQ(fence_await(first), 1);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(fence_info(self->s.fd, a, &self->info), EINVAL);
	/* Its end signals what is left with an error. */
	close(timeline);
	EXPECT_LT(fence_await(b), 0);
	EXPECT_EQ(fence_await(second), -EREMOTEIO);
	EXPECT_EQ(fetch(self), EAGAIN);
	close(a);
	close(b);
	close(first);
	close(second);
}

/* One that never signals does not hold us beyond the bound, and nothing of us remains on it. */
TEST_F(fence, foreign_that_never_signals)
{
	long long old = param_set("fence_bound_ms", 50);
	int timeline = timeline_open(), never, fence;

	if (timeline < 0) {
		param_set("fence_bound_ms", old);
		SKIP(return, "this kernel has no sw_sync");
	}
	never = timeline_fence(timeline, 1);
	fence = start_after(self, never);
	EXPECT_EQ(fence_await(fence), -ETIME);
	close(fence);
	param_set("fence_bound_ms", old);
	fence = start_after(self, never);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 1));
	served_close(&self->s);
	EXPECT_EQ(fence_await(fence), -ECANCELED);
	close(fence);
	EXPECT_TRUE(summary_settles(&self->before));
	close(never);
	close(timeline);
	self->s = (struct served){ .broker = -1, .fd = -1, .session = -1 };
}

TEST_F(fence, many_foreign)
{
	int timeline = timeline_open(), fence;
	int32_t *waits = calloc(NNACCEL_MAX_FENCES, sizeof(*waits));

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	ASSERT_NE(waits, NULL);
	fence = timeline_fence(timeline, 1);
	for (int i = 0; i < NNACCEL_MAX_FENCES; i++)
		waits[i] = fence;
	self->f.cmd.fences = (uintptr_t)waits;
	self->f.cmd.num_fences = NNACCEL_MAX_FENCES;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(timeline_advance(timeline), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(self->f.cmd.out_fd), 1);
	close(self->f.cmd.out_fd);
	close(fence);
	close(timeline);
	free(waits);
}

/* ---- cancelling ---- */

static int cancel(int fd, uint32_t flags, uint64_t tag, uint32_t *cancelled)
{
	struct nnaccel_cancel arg = { .size = sizeof(arg), .flags = flags, .tag = tag };
	int error = xioctl(fd, NNACCEL_CANCEL, &arg);

	*cancelled = arg.out_cancelled;
	return error;
}

TEST_F(fence, cancel)
{
	int in_flight, queued, waiting;
	uint32_t n;

	self->f.cmd.tag = 1;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	in_flight = self->f.cmd.out_fd;
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(cancel(self->s.fd, 0, 2, &n), ENOENT);
	EXPECT_EQ(cancel(self->s.fd, 0, 1, &n), EALREADY);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	queued = self->f.cmd.out_fd;
	fenced_wait_for(&self->f, in_flight);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE_FENCED, &self->f.cmd), 0);
	waiting = self->f.cmd.out_fd;
	EXPECT_EQ(cancel(self->s.fd, 0, 1, &n), 0);
	EXPECT_EQ(n, 2);
	EXPECT_EQ(fence_await(queued), -ECANCELED);
	EXPECT_EQ(fence_await(waiting), -ECANCELED);
	EXPECT_EQ(fence_error(self->s.fd, waiting), ECANCELED);
	EXPECT_EQ(fence_status(in_flight), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(fence_await(in_flight), 1);
	EXPECT_EQ(fetch(self), EAGAIN);
	EXPECT_EQ(cancel(self->s.fd, NNACCEL_CANCEL_ANY, 0, &n), ENOENT);
	close(in_flight);
	close(queued);
	close(waiting);
}

/* ---- deaths ---- */

enum stage { WAITING, QUEUED, FETCHED, NUM_STAGES };

static const char *const stage_names[] = { "waiting", "queued", "fetched" };

/* Starts an execution that comes to a stage; @gate: out: what it waits for. */
static int start_at(FIXTURE_DATA(fence) *self, enum stage stage, int *gate)
{
	*gate = -1;
	if (stage == WAITING) {
		*gate = start_after(self, -1);
		if (fetch(self))
			return -1;
	}
	return start_after(self, *gate);
}

TEST_F(fence, death_of_the_worker)
{
	for (enum stage stage = 0; stage < NUM_STAGES; stage++) {
		int gate, fence = start_at(self, stage, &gate);

		ASSERT_GE(fence, 0);
		if (stage == FETCHED) {
			ASSERT_EQ(fetch(self), 0);
		}
		EXPECT_EQ(fence_status(fence), 0);
		close(self->s.session);
		EXPECT_EQ(fence_await(fence), -EPIPE) TH_LOG("%s", stage_names[stage]);
		EXPECT_EQ(fence_error(self->s.fd, fence), EPIPE);
		close(fence);
		close(gate);
		self->s.session = -1;
		served_close(&self->s);
		ASSERT_EQ(served_open(&self->s), 0);
		self->pool = pool_alloc(self->s.fd, LENGTH);
		self->model = served_prepare(&self->s, self->pool);
	}
}

TEST_F(fence, close_of_the_context)
{
	for (enum stage stage = 0; stage < NUM_STAGES; stage++) {
		int gate, fence = start_at(self, stage, &gate);

		ASSERT_GE(fence, 0);
		if (stage == FETCHED) {
			ASSERT_EQ(fetch(self), 0);
		}
		close(self->s.fd);
		self->s.fd = -1;
		if (stage == FETCHED) {
			/* The worker may write until it answers, and does so. */
			EXPECT_EQ(fence_status(fence), 0);
			EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
			EXPECT_EQ(fence_await(fence), 1);
		} else {
			EXPECT_EQ(fence_await(fence), -ECANCELED) TH_LOG("%s", stage_names[stage]);
		}
		close(fence);
		close(gate);
		served_close(&self->s);
		ASSERT_EQ(served_open(&self->s), 0);
		self->pool = pool_alloc(self->s.fd, LENGTH);
		self->model = served_prepare(&self->s, self->pool);
	}
}

/* The broker's end is no concern of executions. */
TEST_F(fence, death_of_the_broker)
{
	int gate, fence = start_at(self, WAITING, &gate);

	close(self->s.broker);
	self->s.broker = -1;
	EXPECT_EQ(fence_status(fence), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(served_start(&self->s), 0);
	EXPECT_EQ(fence_await(fence), 1);
	close(gate);
	close(fence);
}

TEST_HARNESS_MAIN
