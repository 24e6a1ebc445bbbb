// SPDX-License-Identifier: MIT
/*
 * Tests pools that only devices access, because of the flag NNACCEL_IMPORT_DEVICE. An engine
 * accepts pools that only devices access if it sets the flag NNACCEL_ENGINE_DEVICE_POOLS. CPUs
 * cannot map a pool of NNACCEL_IMPORT_DEVICE, so the module never notifies the exporter of CPU
 * accesses.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH	(EXPORTER_NUM_PAGES * PAGE)
#define PROT_RW	(NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

FIXTURE(device_pool) {
	struct summary before;
	struct served s;
	struct exporter x;	/* without mmap() */
	struct exporter device;
	uint32_t own;
	uint32_t model;
	uint32_t pool;
	struct execution e;
	struct async async;
	union command cmd;
};

/* Imports a pool that only devices access. */
static int import(int fd, int buffer, uint32_t prot, uint32_t *id)
{
	struct nnaccel_pool_import arg = {
		.size = sizeof(arg),
		.flags = NNACCEL_IMPORT_DEVICE,
		.fd = buffer,
		.prot = prot,
		.length = LENGTH,
	};
	int error = xioctl(fd, NNACCEL_POOL_IMPORT, &arg);

	*id = arg.out_id;
	return error;
}

FIXTURE_SETUP(device_pool)
{
	struct served *s = &self->s;

	ASSERT_TRUE(idle_summary(&self->before));
	s->broker = open(ENGINE_NODE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(s->broker, 0);
	ASSERT_EQ(broker_register_with(s->broker, ENGINE_NAME, NNACCEL_ENGINE_DEVICE_POOLS, NULL),
		  0);
	s->fd = device_open();
	ASSERT_GE(s->fd, 0);
	ASSERT_EQ(broker_await_new(s->broker, &s->context), 0);
	ASSERT_EQ(broker_session(s->broker, s->context, &s->session), 0);
	ASSERT_EQ(session_attach(s->session), 0);
	ASSERT_TRUE(exporter_open(&self->x, EXPORTER_NO_MMAP));
	ASSERT_TRUE(exporter_open(&self->device, 0));
	self->own = pool_alloc(s->fd, LENGTH);
	self->model = served_prepare(s, self->own);
	ASSERT_EQ(import(s->fd, self->x.buffer, PROT_RW, &self->pool), 0);
}

FIXTURE_TEARDOWN(device_pool)
{
	exporter_close(&self->device);
	exporter_close(&self->x);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/*
 * Starts an execution that reads @input and writes @output, and fetches its command as the worker.
 */
static bool begin(FIXTURE_DATA(device_pool) *self, uint32_t input, uint32_t output)
{
	execution_init(&self->e, self->model, input, output);
	return async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd) &&
	       !session_fetch(self->s.session, 0, &self->cmd);
}

static int end(FIXTURE_DATA(device_pool) *self)
{
	return session_answer(self->s.session, &self->cmd) ?: async_wait(&self->async);
}

static int device_attach(int device, int buffer)
{
	struct exporter_import import = { .fd = buffer };

	return xioctl(device, EXPORTER_IMPORT, &import);
}

static uint32_t device_word(int device, uint32_t offset, const uint32_t *written)
{
	struct exporter_dma dma = { .offset = offset };

	if (written) {
		dma.value = *written;
		dma.write = 1;
	}
	return xioctl(device, EXPORTER_DMA, &dma) ? POISON : dma.value;
}

TEST_F(device_pool, imports)
{
	int file = file_new(LENGTH);
	uint32_t id;

	EXPECT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &id), EOPNOTSUPP);
	EXPECT_EQ(import(self->s.fd, file, PROT_RW, &id), EOPNOTSUPP);
	EXPECT_EQ(import(self->s.fd, self->x.fd, PROT_RW, &id), EOPNOTSUPP);
	EXPECT_EQ(import(self->s.fd, -1, PROT_RW, &id), EBADF);
	close(file);
}

/* The engine's device can map a pool of NNACCEL_IMPORT_DEVICE, but CPUs cannot. */
TEST_F(device_pool, executes)
{
	struct nnaccel_session_sync sync = { .size = sizeof(sync), .flags = NNACCEL_SYNC_READ };
	const uint32_t said = 4711;
	const struct nnaccel_grant *grant = command_grants(&self->cmd);
	int fd;

	ASSERT_TRUE(begin(self, self->own, self->pool));
	EXPECT_EQ(grant[0].prot, NNACCEL_PROT_READ);
	EXPECT_EQ(grant[1].prot & ~NNACCEL_PROT_READ, NNACCEL_PROT_WRITE | NNACCEL_PROT_DEVICE);
	EXPECT_EQ(session_map(self->s.session, grant[1].grant, LENGTH, PROT_READ), NULL);
	EXPECT_EQ(errno, EOPNOTSUPP);
	sync.grant = grant[1].grant;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_SYNC, &sync), EOPNOTSUPP);
	ASSERT_EQ(session_grant_fd(self->s.session, grant[1].grant, PROT_RW, &fd), 0);
	EXPECT_EQ(mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ), EOPNOTSUPP);
	ASSERT_EQ(device_attach(self->device.fd, fd), 0);
	EXPECT_EQ(device_word(self->device.fd, 16, &said), said);
	EXPECT_EQ(end(self), 0);
	EXPECT_EQ(ioctl(self->device.fd, EXPORTER_DETACH), 0);
	close(fd);
	/* The exporter's own device reads what the engine's device has written. */
	ASSERT_EQ(device_attach(self->device.fd, self->x.buffer), 0);
	EXPECT_EQ(device_word(self->device.fd, 16, NULL), said);
	EXPECT_EQ(object_destroy(self->s.fd, self->pool), 0);
}

/*
 * With NNACCEL_IMPORT_DEVICE the module refuses to map even mappable memory, and does not call the
 * exporter.
 */
TEST_F(device_pool, the_exporter_is_told_nothing)
{
	uint32_t id;

	ASSERT_EQ(import(self->s.fd, self->device.buffer, PROT_RW, &id), 0);
	ASSERT_EQ(ioctl(self->device.fd, EXPORTER_REFUSE, EXPORTER_NO_BEGIN | EXPORTER_NO_END), 0);
	ASSERT_TRUE(begin(self, id, self->own));
	EXPECT_EQ(session_map(self->s.session, command_grants(&self->cmd)[0].grant, LENGTH,
			      PROT_READ), NULL);
	EXPECT_EQ(end(self), 0);
	EXPECT_EQ(exporter_counts(&self->device).calls, 0);
}

/* Calls other than EXECUTE need pools that the CPU can access. */
TEST_F(device_pool, nothing_else)
{
	const uint32_t others[] = { self->pool };
	struct nnaccel_prepare prepare;
	struct nnaccel_cache_save save;
	struct saved saved;
	uint8_t answer[4];
	struct nnaccel_supported supported;

	prepare_init(&prepare, self->pool, 16);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), EOPNOTSUPP);
	prepare_init(&prepare, self->own, 16);
	prepare.pools = (uintptr_t)others;
	prepare.num_pools = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), EOPNOTSUPP);
	supported_init(&supported, self->pool, 16, answer, sizeof(answer));
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_SUPPORTED, &supported), EOPNOTSUPP);
	cache_save_init(&save, &saved, self->model, self->pool, PAGE, 0, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save), EOPNOTSUPP);
	EXPECT_EQ(pool_export(self->s.fd, self->pool), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(device_pool, copies)
{
	struct nnaccel_buffer_copy copy = {
		.size = sizeof(copy),
		.flags = NNACCEL_COPY_POOL | NNACCEL_COPY_IN,
		.pool = self->pool,
		.length = 16,
	};

	ASSERT_EQ(served_start(&self->s), 0);
	copy.buffer = buffer_alloc(self->s.fd, self->model, PAGE);
	ASSERT_NE(copy.buffer, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy), EOPNOTSUPP);
	copy.pool = self->own;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy), 0);
}

TEST_F(device_pool, slots)
{
	struct nnaccel_grant grant;
	uint32_t number, slot;
	int burst = served_burst(&self->s, self->model, &number);

	ASSERT_GE(burst, 0);
	ASSERT_EQ(slot_bind(burst, self->pool, NNACCEL_PROT_READ, &slot), 0);
	ASSERT_EQ(slot_resolve(self->s.session, number, slot, &grant), 0);
	EXPECT_EQ(grant.prot, NNACCEL_PROT_READ | NNACCEL_PROT_DEVICE);
	close(burst);
}

/* Without NNACCEL_ENGINE_DEVICE_POOLS an engine never gets a pool of NNACCEL_IMPORT_DEVICE. */
TEST_F(device_pool, another_engine)
{
	int burst = served_burst(&self->s, self->model, NULL);
	uint32_t id;

	ASSERT_GE(burst, 0);
	close(self->s.broker);
	self->s.broker = broker_open();
	ASSERT_GE(self->s.broker, 0);
	EXPECT_EQ(import(self->s.fd, self->x.buffer, PROT_RW, &id), EOPNOTSUPP);
	EXPECT_EQ(slot_bind(burst, self->pool, NNACCEL_PROT_READ, NULL), EOPNOTSUPP);
	execution_init(&self->e, self->model, self->pool, self->own);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), EOPNOTSUPP);
	close(burst);
}

/*
 * SYNC_FILE returns the engine's fence if only devices access the memory and no work follows the
 * fence.
 */
TEST_F(device_pool, sync_file)
{
	struct nnaccel_sync_file arg = { .size = sizeof(arg) };
	int hardware, file, fence, again;
	struct pollfd polled;

	ASSERT_EQ(ioctl(self->device.fd, EXPORTER_FENCE, 1), 0);
	hardware = buffer_fence(self->device.buffer);
	ASSERT_GE(hardware, 0);
	file = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(file, 0);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EAGAIN);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EAGAIN);
	EXPECT_EQ(poll(&(struct pollfd){ .fd = file, .events = POLLPRI | POLLIN }, 1, 0), 0);
	ASSERT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, hardware), 0);
	polled = (struct pollfd){ .fd = file, .events = POLLPRI | POLLIN };
	EXPECT_EQ(poll(&polled, 1, -1), 1);
	EXPECT_EQ(polled.revents, POLLPRI);
	ASSERT_EQ(execution_fence(self->s.fd, file, &fence), 0);
	EXPECT_EQ(fcntl(fence, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fence_status(fence), 0);
	EXPECT_FALSE(file_readable(file, 0));

	arg.fd = file;
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_SYNC_FILE, &arg, sizeof(arg), 0, true), 0);
	EXPECT_EQ(check_no_fd(self->s.fd, NNACCEL_SYNC_FILE, &arg, sizeof(arg)), 0);
	arg.flags = 2;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_SYNC_FILE, &arg), EINVAL);

	ASSERT_EQ(ioctl(self->device.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(fence_status(fence), 1);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	/* SYNC_FILE succeeds even after the execution has ended. */
	ASSERT_EQ(execution_fence(self->s.fd, file, &again), 0);
	EXPECT_EQ(fence_status(again), 1);
	close(again);
	close(fence);
	close(file);
	close(hardware);
}

/* SYNC_FILE returns no fence while the execution waits for the end of a dependency. */
TEST_F(device_pool, sync_file_of_a_dependent)
{
	int hardware, first, file, fence;

	ASSERT_EQ(ioctl(self->device.fd, EXPORTER_FENCE, 1), 0);
	hardware = buffer_fence(self->device.buffer);
	ASSERT_GE(hardware, 0);
	first = file_start(self->s.fd, self->model, self->pool, hardware);
	file = file_start(self->s.fd, self->model, self->pool, first);
	ASSERT_GE(file, 0);
	EXPECT_EQ(execution_fence(self->s.fd, first, &fence), EBUSY);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EBUSY);
	ASSERT_EQ(ioctl(self->device.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(execution_fence(self->s.fd, first, &fence), EAGAIN);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EBUSY);
	/*
	 * Until its own commit an execution has no fence, even if an execution on which it depends
	 * ended with a fence.
	 */
	ASSERT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, hardware), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EAGAIN);
	ASSERT_EQ(session_commit_fenced(self->s.session, self->cmd.head.cookie, hardware), 0);
	ASSERT_EQ(execution_fence(self->s.fd, file, &fence), 0);
	close(fence);
	EXPECT_EQ(file_end(self->s.fd, first), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(first);
	close(file);
	close(hardware);
}

TEST_F(device_pool, no_sync_file)
{
	int file, fence;

	/* The worker committed the execution without a fence, so SYNC_FILE fails with ENODATA. */
	file = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_TRUE(file_readable(file, -1));
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), ENODATA);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), ENODATA);
	close(file);
	/* The execution has a pool that CPUs can access, so SYNC_FILE returns no fence. */
	file = file_start(self->s.fd, self->model, self->own, -1);
	EXPECT_EQ(execution_fence(self->s.fd, file, &fence), EOPNOTSUPP);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(file);
	EXPECT_EQ(execution_fence(self->s.fd, self->s.session, &fence), EINVAL);
	EXPECT_EQ(execution_fence(self->s.fd, -1, &fence), EBADF);
}

TEST_HARNESS_MAIN
