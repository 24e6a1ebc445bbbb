// SPDX-License-Identifier: MIT
/*
 * Accesses to dma-bufs of other drivers. The module notifies the exporter of the worker's accesses.
 * The module waits for fences of a dma-buf and adds none. If an exporter fails or is removed,
 * executions fail. The tests' own exporter counts the module's calls.
 */
#include <linux/dma-buf.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "exporters.h"
#include "fence.h"
#include "harness.h"
#include "process.h"

#define LENGTH (EXPORTER_NUM_PAGES * PAGE)
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

/* Indices into the exporter's counters. */
enum { BOTH, TO_DEVICE, FROM_DEVICE };

FIXTURE(access) {
	struct summary before;
	struct served s;
	struct exporter x;
	uint32_t own;
	uint32_t pool;
	uint32_t model;
	struct execution e;
	struct nnaccel_prepare prepare;
	struct async async;
	union command cmd;
};

FIXTURE_SETUP(access)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->own = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->own);
	ASSERT_NE(self->model, 0);
	ASSERT_TRUE(exporter_open(&self->x, 0));
	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &self->pool), 0);
}

FIXTURE_TEARDOWN(access)
{
	exporter_close(&self->x);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

#define EXPECT_COUNTS(_begun, _ended, _dir) do {				\
	struct exporter_counts counts = exporter_counts(&self->x);		\
										\
	EXPECT_EQ(counts.begun[_dir], _begun);					\
	EXPECT_EQ(counts.ended[_dir], _ended);					\
	EXPECT_EQ(counts.begun[BOTH] + counts.begun[TO_DEVICE] +		\
		  counts.begun[FROM_DEVICE], _begun);				\
	EXPECT_EQ(counts.fences, 0);						\
} while (0)

static bool execute(FIXTURE_DATA(access) *self, uint32_t input, uint32_t output)
{
	execution_init(&self->e, self->model, input, output);
	return async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd);
}

static int fetch(FIXTURE_DATA(access) *self)
{
	return session_fetch(self->s.session, 0, &self->cmd);
}

static int answer(FIXTURE_DATA(access) *self)
{
	return session_answer(self->s.session, &self->cmd);
}

/*
 * Returns whether the worker can fetch a command within 200 ms, which suffices unless the command
 * is blocked.
 */
static bool command_waits(FIXTURE_DATA(access) *self)
{
	struct pollfd poller = { self->s.session, POLLIN, 0 };

	return poll(&poller, 1, 200) == 1;
}

/* ---- accesses ---- */

TEST_F(access, is_around_an_input)
{
	ASSERT_TRUE(execute(self, self->pool, self->own));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_COUNTS(1, 0, FROM_DEVICE);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
}

TEST_F(access, is_around_an_output)
{
	ASSERT_TRUE(execute(self, self->own, self->pool));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_COUNTS(1, 0, BOTH);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_COUNTS(1, 1, BOTH);
}

TEST_F(access, is_around_a_preparation)
{
	uint32_t constants[] = { self->pool };

	prepare_init(&self->prepare, self->own, 1);
	self->prepare.pools = (uintptr_t)constants;
	self->prepare.num_pools = 1;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &self->prepare));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_COUNTS(1, 0, FROM_DEVICE);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
}

TEST_F(access, lasts_while_the_worker_goes_on)
{
	execution_init(&self->e, self->model, self->pool, self->own);
	self->e.cmd.deadline_ns = deadline_soon();
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(async_wait(&self->async), ETIME);
	EXPECT_COUNTS(1, 0, FROM_DEVICE);
	EXPECT_EQ(answer(self), 0);
	/* Wait until the command has ended, because no call of the client waits for it. */
	await_commands(self->s.fd, 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
}

/* Starts an execution with the pools @input and @output, and fetches its command. */
static int start_file(FIXTURE_DATA(access) *self, uint32_t input, uint32_t output,
		      union command *cmd)
{
	int file;

	execution_init(&self->e, self->model, input, output);
	file = submit_file(self->s.fd, &self->e.cmd, -1);
	return file < 0 || session_fetch(self->s.session, 0, cmd) ? -1 : file;
}

/*
 * If commands overlap, the CPU owns their memory until the last command ends. If devices got the
 * memory earlier, outputs would be lost.
 */
TEST_F(access, of_commands_that_overlap)
{
	static const struct {
		const char *name;
		bool first_writes, second_writes;
		uint32_t reads, writes;		/* expected accesses at the exporter */
	} cases[] = {
		{ "two readers", false, false, 1, 0 },
		{ "two writers", true, true, 0, 1 },
		{ "a writer behind a reader", false, true, 1, 1 },
		{ "a reader behind a writer", true, false, 0, 1 },
	};
	static union command first, second;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct exporter_counts before = exporter_counts(&self->x);
		struct exporter_counts now;
		int files[2];

		TH_LOG("%s", cases[i].name);
		files[0] = start_file(self, cases[i].first_writes ? self->own : self->pool,
				      cases[i].first_writes ? self->pool : self->own, &first);
		files[1] = start_file(self, cases[i].second_writes ? self->own : self->pool,
				      cases[i].second_writes ? self->pool : self->own, &second);
		ASSERT_GE(files[0], 0);
		ASSERT_GE(files[1], 0);
		now = exporter_counts(&self->x);
		EXPECT_EQ(now.begun[FROM_DEVICE], before.begun[FROM_DEVICE] + cases[i].reads);
		EXPECT_EQ(now.begun[BOTH], before.begun[BOTH] + cases[i].writes);
		EXPECT_EQ(session_answer(self->s.session, &first), 0);
		EXPECT_EQ(file_end(self->s.fd, files[0]), 0);
		now = exporter_counts(&self->x);
		EXPECT_EQ(now.ended[FROM_DEVICE], before.ended[FROM_DEVICE]);
		EXPECT_EQ(now.ended[BOTH], before.ended[BOTH]);
		EXPECT_EQ(session_answer(self->s.session, &second), 0);
		EXPECT_EQ(file_end(self->s.fd, files[1]), 0);
		now = exporter_counts(&self->x);
		EXPECT_EQ(now.ended[FROM_DEVICE], before.ended[FROM_DEVICE] + cases[i].reads);
		EXPECT_EQ(now.ended[BOTH], before.ended[BOTH] + cases[i].writes);
		close(files[0]);
		close(files[1]);
	}
}

/*
 * If the module allocated the memory and a device has mapped it, overlapping commands share one
 * access.
 */
TEST_F(access, of_commands_that_overlap_on_own_memory)
{
	const int buffer = pool_export(self->s.fd, self->own);
	static union command first, second;
	struct exporter_counts before;
	int files[2];

	if (ioctl(self->x.fd, EXPORTER_ATTACH, buffer)) {
		close(buffer);
		SKIP(return, "this kernel has no operations of DMA that can be counted");
	}
	before = exporter_counts(&self->x);
	files[0] = start_file(self, self->own, self->own, &first);
	files[1] = start_file(self, self->own, self->own, &second);
	ASSERT_GE(files[0], 0);
	ASSERT_GE(files[1], 0);
	/*
	 * While commands access the memory, the module does not sync the memory for user space's
	 * DMA_BUF_IOCTL_SYNC or for a new mapping of the device.
	 */
	EXPECT_EQ(buffer_sync(buffer, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW), 0);
	EXPECT_EQ(buffer_sync(buffer, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW), 0);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_REMAP), 0);
	EXPECT_EQ(exporter_counts(&self->x).to_cpu, before.to_cpu + 1);
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	EXPECT_EQ(file_end(self->s.fd, files[0]), 0);
	EXPECT_EQ(exporter_counts(&self->x).to_device, before.to_device);
	EXPECT_EQ(session_answer(self->s.session, &second), 0);
	EXPECT_EQ(file_end(self->s.fd, files[1]), 0);
	EXPECT_EQ(exporter_counts(&self->x).to_device, before.to_device + 1);
	/* After the last command's access, syncs by user space sync the memory again. */
	EXPECT_EQ(buffer_sync(buffer, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW), 0);
	EXPECT_EQ(exporter_counts(&self->x).to_cpu, before.to_cpu + 2);
	close(files[0]);
	close(files[1]);
	close(buffer);
}

/* Creates a burst and maps its status. A burst ends when its file is closed, even if mapped. */
static const struct nnaccel_burst_status *status_of_burst(struct served *s, uint32_t pool,
							   int *burst)
{
	*burst = served_burst(s, served_prepare(s, pool), NULL);
	return burst_map(*burst, NNACCEL_BURST_STATUS, PAGE, PROT_READ);
}

/*
 * Bursts are notified that a device is attached to a pool that the module allocated, also if the
 * context imports the pool after the device was attached.
 */
TEST_F(access, of_devices_is_told_to_bursts)
{
	struct served s = { .broker = self->s.broker, .fd = device_open(), .session = -1 };
	struct exporter_import import = { .fd = pool_export(self->s.fd, self->own) };
	const struct nnaccel_burst_status *first, *second;
	int bursts[2];

	ASSERT_EQ(broker_await_new(s.broker, &s.context), 0);
	ASSERT_EQ(broker_session(s.broker, s.context, &s.session), 0);
	ASSERT_EQ(session_attach(s.session), 0);
	first = status_of_burst(&self->s, self->own, &bursts[0]);
	second = status_of_burst(&s, pool_alloc(s.fd, LENGTH), &bursts[1]);
	ASSERT_NE(first, NULL);
	ASSERT_NE(second, NULL);
	EXPECT_EQ(first->devices, 0);
	if (xioctl(self->x.fd, EXPORTER_IMPORT, &import) == EOPNOTSUPP)
		SKIP(goto out, "the tested device does no DMA");
	EXPECT_EQ(first->devices, 1);
	EXPECT_EQ(second->devices, 0);
	EXPECT_EQ(pool_import(s.fd, import.fd, PROT_RW, 0, LENGTH, NULL), 0);
	EXPECT_EQ(second->devices, 1);
out:
	munmap((void *)first, PAGE);
	munmap((void *)second, PAGE);
	close(bursts[0]);
	close(bursts[1]);
	close(import.fd);
	s.broker = -1;
	served_close(&s);
}

/*
 * With NNACCEL_ATTACH_DEVICES only devices access the memory of executions, but the CPU reads the
 * models.
 */
TEST_F(access, is_none_if_only_devices_access_memory)
{
	struct served s = { .broker = self->s.broker, .fd = device_open(), .session = -1 };
	uint32_t constants[1], pool, own = pool_alloc(s.fd, LENGTH), model;
	struct nnaccel_session_sync sync = { .size = sizeof(sync), .flags = NNACCEL_SYNC_READ };
	const int buffer = pool_export(s.fd, own);
	struct exporter_counts before;

	ASSERT_EQ(pool_import(s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &pool), 0);
	ASSERT_EQ(broker_await_new(s.broker, &s.context), 0);
	ASSERT_EQ(broker_session(s.broker, s.context, &s.session), 0);
	ASSERT_EQ(session_attach_as(s.session, NNACCEL_ATTACH_DEVICES), 0);
	model = served_prepare(&s, own);
	constants[0] = pool;
	prepare_init(&self->prepare, own, 1);
	self->prepare.pools = (uintptr_t)constants;
	self->prepare.num_pools = 1;
	ASSERT_TRUE(async_start(&self->async, s.fd, NNACCEL_WORK_PREPARE, &self->prepare));
	ASSERT_EQ(session_fetch(s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);

	ioctl(self->x.fd, EXPORTER_ATTACH, buffer);
	before = exporter_counts(&self->x);
	execution_init(&self->e, model, pool, own);
	ASSERT_TRUE(async_start(&self->async, s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(s.session, 0, &self->cmd), 0);
	sync.grant = command_grants(&self->cmd)[0].grant;
	EXPECT_EQ(xioctl(s.session, NNACCEL_SESSION_SYNC, &sync), 0);
	sync.flags |= NNACCEL_SYNC_END;
	EXPECT_EQ(xioctl(s.session, NNACCEL_SESSION_SYNC, &sync), 0);
	EXPECT_EQ(session_answer(s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
	EXPECT_EQ(exporter_counts(&self->x).to_cpu, before.to_cpu);
	EXPECT_EQ(exporter_counts(&self->x).to_device, before.to_device);
	/* The module waits for fences of the memory even with NNACCEL_ATTACH_DEVICES. */
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_TRUE(async_start(&self->async, s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	usleep(100000);
	EXPECT_EQ(session_fetch(s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(session_fetch(s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_answer(s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	close(buffer);
	s.broker = -1;
	served_close(&s);
}

TEST_F(access, ends_with_the_worker)
{
	ASSERT_TRUE(execute(self, self->pool, self->own));
	ASSERT_EQ(fetch(self), 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(async_wait(&self->async), EPIPE);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
	EXPECT_TRUE(execute(self, self->pool, self->own));
	EXPECT_EQ(async_wait(&self->async), ESTALE);
	await_commands(self->s.fd, 0);
	/* SUBMIT refuses a model of a dead worker before the module begins an access. */
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
}

TEST_F(access, refused_is_an_error)
{
	struct exporter other;
	uint32_t pool;

	ASSERT_TRUE(exporter_open(&other, EXPORTER_NO_BEGIN));
	ASSERT_EQ(pool_import(self->s.fd, other.buffer, PROT_RW, 0, LENGTH, &pool), 0);
	/*
	 * If the access to a second pool cannot begin, the module ends the access to the first
	 * pool.
	 */
	execution_init(&self->e, self->model, self->pool, pool);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), EIO);
	await_commands(self->s.fd, 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
	prepare_init(&self->prepare, pool, 1);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &self->prepare), EIO);
	EXPECT_FALSE(command_waits(self));

	ASSERT_EQ(ioctl(other.fd, EXPORTER_REFUSE, EXPORTER_NO_END), 0);
	ASSERT_TRUE(execute(self, pool, self->own));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), EIO);
	exporter_close(&other);
}

/* If an exporter refuses the access to constants, SUPPORTED continues without the constants. */
TEST_F(access, refused_denies_constants)
{
	struct nnaccel_supported supported;
	struct exporter_counts counts;
	struct exporter other;
	uint32_t constants[2] = { self->pool };
	uint8_t told[1] = { 0 };
	int fd;

	ASSERT_TRUE(exporter_open(&other, EXPORTER_NO_BEGIN));
	ASSERT_EQ(pool_import(self->s.fd, other.buffer, PROT_RW, 0, LENGTH, &constants[1]), 0);
	supported_init(&supported, self->own, 1, told, sizeof(told));
	supported.pools = (uintptr_t)constants;
	supported.num_pools = 2;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_SUPPORTED, &supported));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(command_grants(&self->cmd)[0].prot, NNACCEL_PROT_READ);
	EXPECT_EQ(command_grants(&self->cmd)[1].prot, NNACCEL_PROT_READ | NNACCEL_PROT_SYNC);
	EXPECT_EQ(command_grants(&self->cmd)[2].prot, NNACCEL_PROT_SYNC);
	EXPECT_EQ(session_map(self->s.session, command_grants(&self->cmd)[2].grant, LENGTH,
			      PROT_READ), NULL);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(session_grant_fd(self->s.session, command_grants(&self->cmd)[2].grant,
				   NNACCEL_PROT_READ, &fd), EACCES);
	EXPECT_COUNTS(1, 0, FROM_DEVICE);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(told[0], 1);
	/* The module does not end an access that could not begin. */
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
	counts = exporter_counts(&other);
	EXPECT_EQ(counts.ended[BOTH] + counts.ended[TO_DEVICE] + counts.ended[FROM_DEVICE], 0);
	/* If an exporter refuses the access to the serialised model, SUPPORTED fails. */
	supported.wire_pool = constants[1];
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_SUPPORTED, &supported), EIO);
	exporter_close(&other);
}

TEST_F(access, is_marked_in_grants)
{
	struct nnaccel_grant grant;
	uint32_t number, slot;
	int burst;

	ASSERT_TRUE(execute(self, self->pool, self->own));
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(command_grants(&self->cmd)[0].prot, NNACCEL_PROT_READ | NNACCEL_PROT_SYNC);
	EXPECT_EQ(command_grants(&self->cmd)[1].prot, PROT_RW);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);

	burst = served_burst(&self->s, self->model, &number);
	ASSERT_GE(burst, 0);
	ASSERT_EQ(slot_bind(burst, self->pool, PROT_RW, &slot), 0);
	ASSERT_EQ(slot_resolve(self->s.session, number, slot, &grant), 0);
	EXPECT_EQ(grant.prot, PROT_RW | NNACCEL_PROT_SYNC);
	ASSERT_EQ(slot_bind(burst, self->own, PROT_RW, &slot), 0);
	ASSERT_EQ(slot_resolve(self->s.session, number, slot, &grant), 0);
	EXPECT_EQ(grant.prot, PROT_RW);
	close(burst);
}

/* ---- fences ---- */

TEST_F(access, waits_for_writers)
{
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_TRUE(execute(self, self->pool, self->own));
	EXPECT_FALSE(command_waits(self));
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_COUNTS(1, 0, FROM_DEVICE);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

TEST_F(access, waits_for_readers_to_write)
{
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 0), 0);
	ASSERT_TRUE(execute(self, self->pool, self->own));
	ASSERT_EQ(fetch(self), 0);
	/*
	 * The worker's read adds no fence, so the memory has only the fence of the test's reader.
	 */
	EXPECT_EQ(exporter_counts(&self->x).fences, 1);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	ASSERT_TRUE(execute(self, self->own, self->pool));
	EXPECT_FALSE(command_waits(self));
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(exporter_counts(&self->x).fences, 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

/* Other drivers may add fences to memory that the module allocated. */
TEST_F(access, waits_for_fences_of_own_memory)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ };
	int buffer = pool_export(self->s.fd, self->own);

	ASSERT_GE(buffer, 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_EQ(ioctl(self->x.buffer, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export), 0);
	import.fd = export.fd;
	ASSERT_EQ(ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import), 0);
	close(export.fd);
	close(buffer);
	ASSERT_TRUE(execute(self, self->own, self->own));
	EXPECT_FALSE(command_waits(self));
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

/*
 * SUBMIT does not wait until the access to the memory begins. The access has ended when the
 * execution's file becomes readable.
 */
TEST_F(access, is_around_an_execution_with_a_file)
{
	int file;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	execution_init(&self->e, self->model, self->pool, self->own);
	file = submit_file(self->s.fd, &self->e.cmd, -1);
	ASSERT_GE(file, 0);
	EXPECT_FALSE(command_waits(self));
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_COUNTS(1, 0, FROM_DEVICE);
	EXPECT_FALSE(file_readable(file, 0));
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	EXPECT_COUNTS(1, 1, FROM_DEVICE);
	close(file);
}

TEST_F(access, waits_until_the_deadline)
{
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	execution_init(&self->e, self->model, self->pool, self->own);
	self->e.cmd.deadline_ns = now_ns() + 100000000;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), ETIME);
	EXPECT_FALSE(command_waits(self));
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 0);
}

/* Client process: waits for a fence until it is killed. */
static void wait_for_fence(struct actor *actor, void *data)
{
	const struct exporter *x = data;
	struct execution e;
	struct async async;
	struct served s;
	uint32_t pool;

	if (served_open(&s) || pool_import(s.fd, x->buffer, PROT_RW, 0, LENGTH, &pool))
		return;
	execution_init(&e, served_prepare(&s, pool_alloc(s.fd, LENGTH)), pool, pool);
	if (ioctl(x->fd, EXPORTER_FENCE, 1) ||
	    !async_start(&async, s.fd, NNACCEL_WORK_EXECUTE, &e.cmd))
		return;
	usleep(100000);
	actor_reached(actor);
}

TEST_F(access, waits_killably)
{
	struct exporter_counts counts;
	struct actor actor;

	served_close(&self->s);
	ASSERT_TRUE(actor_start(&actor, wait_for_fence, &self->x));
	ASSERT_TRUE(actor_await(&actor));
	actor_kill(&actor);
	counts = exporter_counts(&self->x);
	EXPECT_EQ(counts.fences, 1);
	EXPECT_EQ(counts.begun[BOTH], 0);
}

/* ---- asynchronous executions ---- */

TEST_F(access, is_over_at_the_end)
{
	int fence = file_start(self->s.fd, self->model, self->pool, -1);

	ASSERT_GE(fence, 0);
	ASSERT_EQ(fetch(self), 0);
	/* The execution's input and output are the same dma-buf. */
	EXPECT_EQ(exporter_counts(&self->x).begun[BOTH], 1);
	EXPECT_EQ(exporter_counts(&self->x).ended[BOTH], 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	EXPECT_EQ(exporter_counts(&self->x).ended[BOTH], 1);
	close(fence);
}

TEST_F(access, of_an_execution_with_a_file_waits)
{
	int fence, other;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	fence = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(fence, 0);
	other = file_start(self->s.fd, self->model, self->own, -1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, other), 0);
	EXPECT_FALSE(command_waits(self));
	EXPECT_EQ(exporter_counts(&self->x).begun[BOTH], 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
	close(other);
}

/* Number of waiting executions, which is larger than the module's number of threads. */
#define MANY 600

TEST_F(access, of_executions_with_files_waits_without_a_thread)
{
	static int files[MANY];
	long long max = param_set("max_commands", MANY + 2);
	struct exporter other;
	int begun, waiting = 0;
	uint32_t pool;

	ASSERT_TRUE(exporter_open(&other, 0));
	ASSERT_EQ(pool_import(self->s.fd, other.buffer, PROT_RW, 0, LENGTH, &pool), 0);
	begun = file_start(self->s.fd, self->model, pool, -1);
	ASSERT_GE(begun, 0);
	ASSERT_EQ(fetch(self), 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	for (int i = 0; i < MANY; i++) {
		files[i] = file_start(self->s.fd, self->model, self->pool, -1);
		waiting += files[i] >= 0;
	}
	EXPECT_EQ(waiting, MANY);
	/*
	 * Executions that wait for a fence do not block other executions: a fetched execution can
	 * end, and a new execution can run.
	 */
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, begun), 0);
	close(begun);
	begun = file_start(self->s.fd, self->model, pool, -1);
	ASSERT_GE(begun, 0);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, begun), 0);
	close(begun);
	EXPECT_EQ(exporter_counts(&self->x).begun[BOTH], 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), MANY);
	/* All waiting executions can be cancelled while their fences are pending. */
	for (int i = 0; i < MANY; i++) {
		EXPECT_EQ(file_cancel(self->s.fd, files[i]), 0);
		close(files[i]);
	}
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-commands", 0));
	EXPECT_EQ(exporter_counts(&self->x).fences, 1);
	param_set("max_commands", max);
	exporter_close(&other);
}

/*
 * The maximum duration starts when the execution's dependencies end, so the duration includes the
 * wait for a fence of the memory.
 */
TEST_F(access, of_an_execution_with_a_file_that_comes_too_late)
{
	struct nnaccel_submit submit;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	execution_init(&self->e, self->model, self->pool, self->pool);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &self->e.cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	submit.duration_ns = 50000000;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_SUBMIT, &submit), 0);
	EXPECT_EQ(file_end(self->s.fd, submit.out_fd), ETIME);
	EXPECT_EQ(exporter_counts(&self->x).fences, 1);
	EXPECT_EQ(exporter_counts(&self->x).begun[BOTH], 0);
	close(submit.out_fd);
}

TEST_F(access, of_an_execution_with_a_file_that_is_cancelled)
{
	int fence;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	fence = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(fence, 0);
	EXPECT_EQ(file_cancel(self->s.fd, fence), 0);
	EXPECT_TRUE(file_readable(fence, 0));
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_FALSE(command_waits(self));
	close(fence);
}

TEST_F(access, of_an_execution_with_a_file_that_is_refused)
{
	int fence;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_REFUSE, EXPORTER_NO_BEGIN), 0);
	fence = file_start(self->s.fd, self->model, self->pool, -1);
	EXPECT_EQ(file_end(self->s.fd, fence), EIO);
	close(fence);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_REFUSE, EXPORTER_NO_END), 0);
	fence = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(fetch(self), 0);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), EIO);
	close(fence);
}

/* ---- SESSION_SYNC ---- */

FIXTURE(sync) {
	struct exporter x;
	struct served s;
	uint32_t pool;
	struct nnaccel_session_sync good;
	uint32_t own_grant;
	uint32_t file_grant;
	uint32_t read_grant;
};

FIXTURE_SETUP(sync)
{
	uint32_t slot, number, pools[4], prot[] = { PROT_RW, PROT_RW, PROT_RW, NNACCEL_PROT_READ };
	uint32_t *grants[] = { &self->good.grant, &self->own_grant, &self->file_grant,
			       &self->read_grant };
	struct nnaccel_grant grant;
	int burst, file = file_new(PAGE);

	ASSERT_EQ(served_open(&self->s), 0);
	ASSERT_TRUE(exporter_open(&self->x, 0));
	pools[1] = pool_alloc(self->s.fd, PAGE);
	burst = served_burst(&self->s, served_prepare(&self->s, pools[1]), &number);
	ASSERT_GE(burst, 0);
	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &pools[0]), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, PAGE, &pools[2]), 0);
	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, PAGE, PAGE, &pools[3]), 0);
	close(file);
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(slot_bind(burst, pools[i], prot[i], &slot), 0);
		ASSERT_EQ(slot_resolve(self->s.session, number, slot, &grant), 0);
		*grants[i] = grant.grant;
	}
	self->pool = pools[0];
	self->good.size = sizeof(self->good);
	self->good.flags = NNACCEL_SYNC_READ;
	/* The slot holds a reference to the pool, so the pool's grant stays valid. */
	dup2(burst, 900);
	close(burst);
}

FIXTURE_TEARDOWN(sync)
{
	close(900);
	exporter_close(&self->x);
	served_close(&self->s);
}

static int sync_grant(FIXTURE_DATA(sync) *self, uint32_t grant, uint32_t flags)
{
	struct nnaccel_session_sync sync = self->good;

	sync.grant = grant;
	sync.flags = flags;
	return xioctl(self->s.session, NNACCEL_SESSION_SYNC, &sync);
}

TEST_F(sync, refusals)
{
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_session_sync, flags, 0, EINVAL),
		REFUSE(struct nnaccel_session_sync, flags, NNACCEL_SYNC_END, EINVAL),
		REFUSE(struct nnaccel_session_sync, flags, 8 | NNACCEL_SYNC_READ, EINVAL),
		REFUSE(struct nnaccel_session_sync, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_session_sync, grant, 0, ENOENT),
		REFUSE(struct nnaccel_session_sync, grant, 4711, ENOENT),
		REFUSE(struct nnaccel_session_sync, grant, self->file_grant, EOPNOTSUPP),
	};

	EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_SYNC, &self->good,
				 sizeof(self->good), cases, ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_SYNC, &self->good,
				  sizeof(self->good), 0, false), 0);
	EXPECT_EQ(sync_grant(self, self->read_grant, NNACCEL_SYNC_WRITE), EACCES);
	EXPECT_EQ(sync_grant(self, self->read_grant, NNACCEL_SYNC_READ), 0);
	EXPECT_EQ(sync_grant(self, self->own_grant, NNACCEL_SYNC_READ), 0);
}

static int sync_as_stranger(int session)
{
	struct nnaccel_session_sync sync = {
		.size = sizeof(sync), .flags = NNACCEL_SYNC_READ, .grant = 1,
	};

	return xioctl(session, NNACCEL_SESSION_SYNC, &sync) != EACCES;
}

TEST_F(sync, is_the_attached_workers)
{
	EXPECT_EQ(in_child(sync_as_stranger, self->s.session), 0);
}

TEST_F(sync, tells_the_exporter)
{
	const struct {
		uint32_t flags;
		int direction;
	} cases[] = {
		{ NNACCEL_SYNC_READ, FROM_DEVICE },
		{ NNACCEL_SYNC_WRITE, TO_DEVICE },
		{ NNACCEL_SYNC_READ | NNACCEL_SYNC_WRITE, BOTH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(sync_grant(self, self->good.grant, cases[i].flags), 0);
		EXPECT_EQ(exporter_counts(&self->x).begun[cases[i].direction], 1);
		EXPECT_EQ(exporter_counts(&self->x).ended[cases[i].direction], 0);
		EXPECT_EQ(sync_grant(self, self->good.grant, cases[i].flags | NNACCEL_SYNC_END),
			  0);
		EXPECT_EQ(exporter_counts(&self->x).ended[cases[i].direction], 1);
	}
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_REFUSE, EXPORTER_NO_BEGIN | EXPORTER_NO_END), 0);
	EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_READ), EIO);
	EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_READ | NNACCEL_SYNC_END), EIO);
}

TEST_F(sync, waits_for_fences)
{
	struct async async;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_TRUE(async_start(&async, self->s.session, NNACCEL_SESSION_SYNC, &self->good));
	usleep(100000);
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 1);
}

/*
 * The module makes one call of an exporter at a time, because a call may revert the effect of
 * another call.
 */
TEST_F(sync, is_not_beside_a_command)
{
	uint32_t model = served_prepare(&self->s, pool_alloc(self->s.fd, PAGE));
	struct async async;
	union command cmd;
	int file;

	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_REFUSE, EXPORTER_BEGIN_BLOCKS), 0);
	ASSERT_TRUE(async_start(&async, self->s.session, NNACCEL_SESSION_SYNC, &self->good));
	while (!exporter_counts(&self->x).blocked)
		usleep(1000);
	file = file_start(self->s.fd, model, self->pool, -1);
	usleep(100000);
	EXPECT_EQ(exporter_counts(&self->x).blocked, 1);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_REFUSE, 0), 0);
	EXPECT_EQ(async_wait(&async), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(file);
}

/*
 * The exporter is notified of the end of a worker's writes, even if the writes end while a command
 * reads the memory. The writes begin before or during the command.
 */
TEST_F(sync, writes_beside_a_command_that_reads)
{
	uint32_t own = pool_alloc(self->s.fd, PAGE), model = served_prepare(&self->s, own);
	struct execution e;
	union command cmd;

	for (uint32_t i = 0; i < 2; i++) {
		int file;

		if (!i)
			EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_WRITE), 0);
		execution_init(&e, model, self->pool, own);
		file = submit_file(self->s.fd, &e.cmd, -1);
		ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
		if (i)
			EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_WRITE), 0);
		EXPECT_EQ(exporter_counts(&self->x).begun[TO_DEVICE], i + 1);
		EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_WRITE | NNACCEL_SYNC_END),
			  0);
		EXPECT_EQ(exporter_counts(&self->x).ended[BOTH], i);
		EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
		EXPECT_EQ(file_end(self->s.fd, file), 0);
		EXPECT_EQ(exporter_counts(&self->x).ended[BOTH], i + 1);
		EXPECT_EQ(exporter_counts(&self->x).ended[FROM_DEVICE], i + 1);
		close(file);
	}
}

static void ignore(int signal)
{
}

/* A signal interrupts SESSION_SYNC before the access begins. */
TEST_F(sync, is_interruptible)
{
	const struct sigaction action = { .sa_handler = ignore };
	struct async async;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	ASSERT_TRUE(async_start(&async, self->s.session, NNACCEL_SESSION_SYNC, &self->good));
	while (pthread_tryjoin_np(async.thread, NULL)) {
		pthread_kill(async.thread, SIGUSR1);
		usleep(1000);
	}
	EXPECT_EQ(async.error, EINTR);
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 0);
}

/* If a signal interrupts the exporter, a thread of the module ends the access. */
TEST_F(sync, is_ended_by_a_thread)
{
	const struct exporter_failures failures = { .error = EINTR, .ends = 3 };

	EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_READ), 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FAIL, &failures), 0);
	EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_READ | NNACCEL_SYNC_END), 0);
	EXPECT_EQ(exporter_counts(&self->x).ended[FROM_DEVICE], 1);
}

TEST_F(sync, a_grant_that_is_gone)
{
	union command cmd;

	close(900);
	EXPECT_EQ(object_destroy(self->s.fd, self->pool), 0);
	EXPECT_EQ(sync_grant(self, self->good.grant, NNACCEL_SYNC_READ), ENOENT);
	while (!session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd))
		;
}

/* ---- exporters that fail or go away ---- */

TEST_F(access, no_mmap_no_import)
{
	struct exporter other;

	ASSERT_TRUE(exporter_open(&other, EXPORTER_NO_MMAP));
	EXPECT_EQ(pool_import(self->s.fd, other.buffer, NNACCEL_PROT_READ, 0, LENGTH, NULL),
		  EOPNOTSUPP);
	exporter_close(&other);
}

TEST_F(access, the_exporter_goes_away)
{
	char *mapped;

	ASSERT_TRUE(execute(self, self->pool, self->own));
	ASSERT_EQ(fetch(self), 0);
	mapped = session_map(self->s.session, command_grants(&self->cmd)[0].grant, LENGTH,
			     PROT_READ);
	ASSERT_NE(mapped, NULL);
	EXPECT_EQ(mapped[0], 0);
	close(self->x.fd);
	self->x.fd = -1;
	/*
	 * After the exporter's removal the worker's access raises SIGBUS, and a new mapping and the
	 * next execution fail.
	 */
	EXPECT_TRUE(bus_error(mapped));
	EXPECT_EQ(session_map(self->s.session, command_grants(&self->cmd)[0].grant, LENGTH,
			      PROT_READ), NULL);
	EXPECT_EQ(errno, ENODEV);
	EXPECT_EQ(answer(self), 0);
	EXPECT_EQ(async_wait(&self->async), EIO);
	ASSERT_TRUE(execute(self, self->pool, self->own));
	EXPECT_EQ(async_wait(&self->async), EIO);
	EXPECT_EQ(object_destroy(self->s.fd, self->pool), 0);
	munmap(mapped, LENGTH);
}

TEST_HARNESS_MAIN
