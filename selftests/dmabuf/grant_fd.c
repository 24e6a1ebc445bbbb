// SPDX-License-Identifier: MIT
/*
 * A test device and vgem import the dma-bufs that SESSION_GRANT_FD returns for grants. Until the
 * grant ends, a dma-buf of a grant gives access only to the granted memory, with the grant's
 * protection.
 */
#include <drm/drm.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH	(EXPORTER_NUM_PAGES * PAGE)
#define PROT_RW	(NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

enum { BOTH, TO_DEVICE, FROM_DEVICE };

FIXTURE(grant_fd) {
	struct summary before;
	struct served s;
	struct exporter x;
	uint32_t pool;
	volatile uint32_t *memory;	/* the client's mapping of the pool */
	uint32_t model;
	int burst;
	uint32_t number;
	uint32_t slot;
	uint32_t grant;
	int fd;
};

/* Binds the pool to a new slot, and returns the slot's grant, or 0. */
static uint32_t grant_of(FIXTURE_DATA(grant_fd) *self, uint32_t pool, uint32_t prot, uint32_t *slot)
{
	struct nnaccel_grant grant;

	if (slot_bind(self->burst, pool, prot, slot) ||
	    slot_resolve(self->s.session, self->number, *slot, &grant))
		return 0;
	return grant.grant;
}

FIXTURE_SETUP(grant_fd)
{
	int broker = broker_open(), buffer;

	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	ASSERT_TRUE(exporter_open(&self->x, 0));
	self->pool = pool_alloc(self->s.fd, LENGTH - 1);
	buffer = pool_export(self->s.fd, self->pool);
	self->memory = map_shared(buffer, LENGTH, PROT_READ | PROT_WRITE);
	ASSERT_NE(self->memory, NULL);
	close(buffer);
	for (uint32_t i = 0; i < LENGTH / 4; i++)
		self->memory[i] = i;
	self->model = served_prepare(&self->s, self->pool);
	self->burst = served_burst(&self->s, self->model, &self->number);
	ASSERT_GE(self->burst, 0);
	self->grant = grant_of(self, self->pool, PROT_RW, &self->slot);
	ASSERT_NE(self->grant, 0);
	ASSERT_EQ(session_grant_fd(self->s.session, self->grant, PROT_RW, &self->fd), 0);
}

FIXTURE_TEARDOWN(grant_fd)
{
	close(self->fd);
	close(self->burst);
	munmap((void *)self->memory, LENGTH);
	exporter_close(&self->x);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Imports a dma-buf into the test's device; returns 0 or an errno. */
static int import(FIXTURE_DATA(grant_fd) *self, int fd, uint32_t direction)
{
	struct exporter_import import = { .fd = fd, .direction = direction };

	return xioctl(self->x.fd, EXPORTER_IMPORT, &import);
}

static int remap(FIXTURE_DATA(grant_fd) *self)
{
	return xioctl(self->x.fd, EXPORTER_REMAP, NULL);
}

static int detach(FIXTURE_DATA(grant_fd) *self)
{
	return xioctl(self->x.fd, EXPORTER_DETACH, NULL);
}

/* Returns the word that the device reads at @offset, or POISON if the device cannot read. */
static uint32_t device_read(FIXTURE_DATA(grant_fd) *self, uint32_t offset)
{
	struct exporter_dma dma = { .offset = offset };

	return xioctl(self->x.fd, EXPORTER_DMA, &dma) ? POISON : dma.value;
}

static int device_write(FIXTURE_DATA(grant_fd) *self, uint32_t offset, uint32_t value)
{
	struct exporter_dma dma = { .offset = offset, .value = value, .write = 1 };

	return xioctl(self->x.fd, EXPORTER_DMA, &dma);
}

/* Tries to map the dma-buf; returns 0 or an errno. */
static int map_error(int fd, size_t length, int prot)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return errno;
	munmap(at, length);
	return 0;
}

static off_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : (off_t)st.st_ino;
}

/* Destroys the pool and everything that uses the pool, so that the pool's grant ends. */
static void end_grant(struct __test_metadata *_metadata, FIXTURE_DATA(grant_fd) *self)
{
	union command cmd;

	ASSERT_EQ(object_destroy(self->s.fd, self->pool), 0);
	ASSERT_EQ(slot_free(self->burst, self->slot), 0);
	ASSERT_EQ(object_destroy(self->s.fd, self->model), 0);
	close(self->burst);
	self->burst = -1;
	do {
		ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	} while (cmd.head.kind != NNACCEL_DO_FORGET_GRANT || cmd.head.grant != self->grant);
}

/* After its grant ended, a dma-buf allows no new mapping or access. */
static void expect_revoked(struct __test_metadata *_metadata, FIXTURE_DATA(grant_fd) *self)
{
	const struct exporter_import import = { .fd = self->fd };
	struct exporter other;

	EXPECT_EQ(map_error(self->fd, LENGTH, PROT_READ), ENODEV);
	EXPECT_EQ(buffer_sync(self->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ), ENODEV);
	ASSERT_TRUE(exporter_open(&other, 0));
	EXPECT_EQ(ioctl(other.fd, EXPORTER_IMPORT, &import), -1);
	EXPECT_EQ(errno, ENODEV);
	exporter_close(&other);
}

TEST_F(grant_fd, refusals)
{
	const struct nnaccel_session_grant_fd good = {
		.size = sizeof(good),
		.flags = NNACCEL_GRANT_FD_CLOEXEC,
		.grant = self->grant,
		.prot = PROT_RW,
	};
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_session_grant_fd, flags, 2, EINVAL),
		REFUSE(struct nnaccel_session_grant_fd, prot, 0, EINVAL),
		REFUSE(struct nnaccel_session_grant_fd, prot, NNACCEL_PROT_WRITE, EINVAL),
		REFUSE(struct nnaccel_session_grant_fd, prot, PROT_RW | NNACCEL_PROT_SYNC, EINVAL),
		REFUSE(struct nnaccel_session_grant_fd, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_session_grant_fd, grant, 0, ENOENT),
		REFUSE(struct nnaccel_session_grant_fd, grant, 4711, ENOENT),
	};

	EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_GRANT_FD, &good, sizeof(good),
				 cases, ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_no_fd(self->s.session, NNACCEL_SESSION_GRANT_FD, &good, sizeof(good)), 0);
	EXPECT_EQ(check_fd_0(self->s.session, NNACCEL_SESSION_GRANT_FD, &good, sizeof(good),
			     offsetof(struct nnaccel_session_grant_fd, out_fd)), 0);
	/* Each successful call of SESSION_GRANT_FD leaves an fd open, which is closed below. */
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_GRANT_FD, &good, sizeof(good),
				  0, true), 0);
	for (int fd = self->fd + 1; fd < 1000; fd++)
		if (inode(fd) == inode(self->fd))
			close(fd);
}

static int ask_as_stranger(int session)
{
	int fd;

	return session_grant_fd(session, 1, NNACCEL_PROT_READ, &fd) != EACCES;
}

TEST_F(grant_fd, is_the_attached_workers)
{
	EXPECT_EQ(in_child(ask_as_stranger, self->s.session), 0);
}

TEST_F(grant_fd, is_the_memory)
{
	struct nnaccel_session_grant_fd arg = {
		.size = sizeof(arg), .grant = self->grant, .prot = PROT_RW,
	};

	ASSERT_EQ(import(self, self->fd, BOTH), 0);
	EXPECT_EQ(device_read(self, 0), 0);
	EXPECT_EQ(device_read(self, LENGTH - 4), LENGTH / 4 - 1);
	EXPECT_EQ(device_read(self, LENGTH), POISON);
	EXPECT_EQ(device_write(self, PAGE, 4711), 0);
	EXPECT_EQ(map_error(self->fd, LENGTH, PROT_READ | PROT_WRITE), 0);
	EXPECT_EQ(buffer_sync(self->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW), 0);
	EXPECT_EQ(self->memory[PAGE / 4], 4711);
	EXPECT_EQ(buffer_sync(self->fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW), 0);
	/*
	 * All SESSION_GRANT_FD calls for a grant return the same dma-buf, so that drivers recognise
	 * a dma-buf that they have imported.
	 */
	ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_GRANT_FD, &arg), 0);
	EXPECT_EQ(arg.out_length, LENGTH);
	EXPECT_NE(arg.out_fd, self->fd);
	EXPECT_EQ(inode(arg.out_fd), inode(self->fd));
	EXPECT_EQ(summary_get(-1, "proxies"), 1);
	close(arg.out_fd);
}

TEST_F(grant_fd, read_only)
{
	uint32_t other = 0, slot;
	int fd, error;
	void *at;

	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &other), 0);
	/*
	 * A dma-buf cannot be written if the grant is read-only, or if the fd was requested
	 * read-only.
	 */
	for (int i = 0; i < 2; i++) {
		uint32_t grant = i ? self->grant :
				     grant_of(self, other, NNACCEL_PROT_READ, &slot);

		ASSERT_NE(grant, 0);
		EXPECT_EQ(session_grant_fd(self->s.session, grant, PROT_RW, &fd), i ? 0 : EACCES);
		if (i)
			close(fd);
		ASSERT_EQ(session_grant_fd(self->s.session, grant, NNACCEL_PROT_READ, &fd), 0);
		EXPECT_EQ(import(self, fd, FROM_DEVICE), EACCES);
		EXPECT_EQ(import(self, fd, TO_DEVICE), 0);
		EXPECT_EQ(device_read(self, 4), i ? 1 : 0);
		EXPECT_EQ(device_write(self, 4, 4711), EACCES);
		EXPECT_EQ(detach(self), 0);
		EXPECT_EQ(map_error(fd, LENGTH, PROT_READ | PROT_WRITE), EACCES);
		error = map_error(fd, LENGTH, PROT_READ | PROT_EXEC);
		/*
		 * Since Linux 6.17 anonymous inodes are SB_I_NOEXEC, so PROT_EXEC fails with EPERM
		 * instead of EACCES.
		 */
		EXPECT_TRUE(error == EACCES || error == EPERM);
		at = mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, 0);
		ASSERT_NE(at, MAP_FAILED);
		EXPECT_EQ(((uint32_t *)at)[1], i ? 1 : 0);
		EXPECT_EQ(mprotect(at, LENGTH, PROT_READ | PROT_WRITE), -1);
		munmap(at, LENGTH);
		EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ), 0);
		EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ), 0);
		EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE), EACCES);
		EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW), EACCES);
		/*
		 * If the client may write a pool, a driver may map even a read-only grant for both
		 * DMA directions.
		 */
		EXPECT_EQ(import(self, fd, BOTH), 0);
		EXPECT_EQ(device_read(self, 4), i ? 1 : 0);
		EXPECT_EQ(detach(self), 0);
		close(fd);
	}
}

/*
 * No device can write a pool that the client itself may not write, even if another driver allocated
 * the memory.
 */
TEST_F(grant_fd, of_a_read_only_import)
{
	int own = pool_export(self->s.fd, self->pool), fd;
	const int buffers[] = { own, self->x.buffer };

	for (size_t i = 0; i < ARRAY_SIZE(buffers); i++) {
		uint32_t pool, slot;

		ASSERT_EQ(pool_import(self->s.fd, buffers[i], NNACCEL_PROT_READ, 0, LENGTH, &pool), 0);
		ASSERT_EQ(session_grant_fd(self->s.session,
					   grant_of(self, pool, NNACCEL_PROT_READ, &slot),
					   NNACCEL_PROT_READ, &fd), 0);
		EXPECT_EQ(import(self, fd, BOTH), EACCES);
		EXPECT_EQ(import(self, fd, FROM_DEVICE), EACCES);
		EXPECT_EQ(import(self, fd, TO_DEVICE), 0);
		EXPECT_EQ(device_write(self, 4, 4711), EACCES);
		EXPECT_EQ(detach(self), 0);
		close(fd);
	}
	close(own);
}

/* A grant of a part of a dma-buf gives access only to this part. */
TEST_F(grant_fd, part)
{
	int buffer = pool_export(self->s.fd, self->pool), fd;
	uint32_t part, slot, grant;

	ASSERT_EQ(pool_import(self->s.fd, buffer, PROT_RW, PAGE, 2 * PAGE, &part), 0);
	close(buffer);
	grant = grant_of(self, part, PROT_RW, &slot);
	ASSERT_NE(grant, 0);
	ASSERT_EQ(session_grant_fd(self->s.session, grant, PROT_RW, &fd), 0);
	ASSERT_EQ(import(self, fd, BOTH), 0);
	EXPECT_EQ(device_read(self, 0), PAGE / 4);
	EXPECT_EQ(device_read(self, 2 * PAGE - 4), 3 * PAGE / 4 - 1);
	EXPECT_EQ(device_read(self, 2 * PAGE), POISON);
	EXPECT_EQ(map_error(fd, 2 * PAGE, PROT_READ), 0);
	EXPECT_NE(map_error(fd, 3 * PAGE, PROT_READ), 0);
	close(fd);
}

/*
 * For another driver's memory, SESSION_GRANT_FD succeeds only if the grant covers the whole
 * dma-buf. For memory of a regular file, SESSION_GRANT_FD fails.
 */
TEST_F(grant_fd, other_memory)
{
	uint32_t whole, part, filed, slot;
	int file = file_new(PAGE), fd;
	uint32_t *memory = map_shared(self->x.buffer, LENGTH, PROT_READ | PROT_WRITE);
	struct exporter device;

	ASSERT_NE(memory, NULL);
	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, 0, LENGTH, &whole), 0);
	ASSERT_EQ(pool_import(self->s.fd, self->x.buffer, PROT_RW, PAGE, PAGE, &part), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, PAGE, &filed), 0);
	close(file);
	EXPECT_EQ(session_grant_fd(self->s.session, grant_of(self, part, PROT_RW, &slot), PROT_RW,
				   &fd), EOPNOTSUPP);
	EXPECT_EQ(session_grant_fd(self->s.session, grant_of(self, filed, PROT_RW, &slot), PROT_RW,
				   &fd), EOPNOTSUPP);
	ASSERT_EQ(session_grant_fd(self->s.session, grant_of(self, whole, PROT_RW, &slot), PROT_RW,
				   &fd), 0);
	ASSERT_TRUE(exporter_open(&device, 0));
	memory[3] = 4711;
	EXPECT_EQ(import(self, fd, BOTH), 0);
	EXPECT_EQ(device_read(self, 12), 4711);
	EXPECT_EQ(device_write(self, 16, 4712), 0);
	/* A CPU access through the dma-buf of a grant notifies the exporter of the memory. */
	EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ), 0);
	EXPECT_EQ(exporter_counts(&self->x).begun[FROM_DEVICE], 1);
	EXPECT_EQ(buffer_sync(fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ), 0);
	EXPECT_EQ(exporter_counts(&self->x).ended[FROM_DEVICE], 1);
	EXPECT_EQ(detach(self), 0);
	EXPECT_EQ(memory[4], 4712);
	exporter_close(&device);
	munmap(memory, LENGTH);
	close(fd);
}

/* The client is charged for the kernel memory of a grant's dma-buf. */
TEST_F(grant_fd, is_charged)
{
	long long old;
	int fd;

	/* The context's own memory already exceeds a limit of 1 byte. */
	old = param_set("max_user_kernel_bytes", 1);
	EXPECT_EQ(session_grant_fd(self->s.session, self->grant, NNACCEL_PROT_READ, &fd), EDQUOT);
	EXPECT_EQ(summary_get(-1, "proxies"), 1);
	param_set("max_user_kernel_bytes", old);
	EXPECT_EQ(session_grant_fd(self->s.session, self->grant, NNACCEL_PROT_READ, &fd), 0);
	EXPECT_EQ(summary_get(-1, "proxies"), 2);
	close(fd);
}

/* The dma-buf of a grant cannot be imported as a pool. */
TEST_F(grant_fd, is_no_pool)
{
	EXPECT_EQ(pool_import(self->s.fd, self->fd, NNACCEL_PROT_READ, 0, LENGTH, NULL),
		  EOPNOTSUPP);
}

TEST_F(grant_fd, ends_with_the_grant)
{
	ASSERT_EQ(import(self, self->fd, BOTH), 0);
	end_grant(_metadata, self);
	EXPECT_EQ(session_grant_fd(self->s.session, self->grant, PROT_RW, &(int){ -1 }), ENOENT);
	expect_revoked(_metadata, self);
	/*
	 * After a grant's end the memory is not reused, and a device's mapping stays valid, until
	 * the device unmaps the memory.
	 */
	EXPECT_EQ(device_read(self, 4), 1);
	EXPECT_EQ(remap(self), ENODEV);
	EXPECT_EQ(detach(self), 0);
}

TEST_F(grant_fd, ends_with_the_session)
{
	ASSERT_EQ(import(self, self->fd, BOTH), 0);
	close(self->s.session);
	self->s.session = -1;
	expect_revoked(_metadata, self);
	EXPECT_EQ(device_read(self, 4), 1);
	EXPECT_EQ(remap(self), ENODEV);
}

TEST_F(grant_fd, ends_with_the_client)
{
	long long bytes;
	int fd;

	ASSERT_EQ(import(self, self->fd, BOTH), 0);
	close(self->s.fd);
	self->s.fd = -1;
	EXPECT_EQ(session_grant_fd(self->s.session, self->grant, PROT_RW, &fd), ESHUTDOWN);
	expect_revoked(_metadata, self);
	close(self->burst);
	self->burst = -1;
	munmap((void *)self->memory, LENGTH);
	/* The user is charged for memory as long as a device can write the memory. */
	EXPECT_EQ(device_read(self, 4), 1);
	EXPECT_EQ(device_write(self, 8, 4711), 0);
	bytes = summary_get(-1, "pool-bytes");
	EXPECT_GE(bytes, (long long)LENGTH);
	EXPECT_EQ(detach(self), 0);
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(summary_becomes(-1, "pool-bytes", bytes - (long long)LENGTH));
}

/* At a grant's end dynamic importers are notified to drop their mappings. */
TEST_F(grant_fd, tells_dynamic_importers)
{
	struct exporter_import import = { .fd = self->fd, .dynamic = 1 };

	ASSERT_EQ(xioctl(self->x.fd, EXPORTER_IMPORT, &import), 0);
	EXPECT_EQ(exporter_counts(&self->x).told, 0);
	end_grant(_metadata, self);
	while (!exporter_counts(&self->x).told)
		poll(NULL, 0, 10);
	EXPECT_EQ(exporter_counts(&self->x).told, 1);
	EXPECT_EQ(detach(self), 0);
}

/* Returns whether a job that writes the dma-buf would have to wait for fences. */
static bool has_fences(int buffer)
{
	int fence = buffer_fence(buffer);
	bool has = fence < 0 || !fence_status(fence);

	close(fence);
	return has;
}

/*
 * The engine's driver does not wait for fences that are added after a command's submission, because
 * the fences may wait for the command. Until the engine commits the command, other users of the
 * memory do not wait for the driver's job.
 */
TEST_F(grant_fd, has_fences_of_its_own)
{
	int buffer = pool_export(self->s.fd, self->pool), hardware, file, next;
	struct exporter other;
	union command cmd;

	ASSERT_TRUE(exporter_open(&other, 0));
	file = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	ASSERT_TRUE(exporter_lend_fence(&other, buffer));
	EXPECT_TRUE(has_fences(buffer));
	EXPECT_FALSE(has_fences(self->fd));
	EXPECT_EQ(ioctl(other.fd, EXPORTER_SIGNAL), 0);

	ASSERT_TRUE(exporter_lend_fence(&self->x, self->fd));
	EXPECT_FALSE(has_fences(buffer));
	hardware = buffer_fence(self->fd);
	ASSERT_EQ(session_commit_fenced(self->s.session, cmd.head.cookie, hardware), 0);
	EXPECT_TRUE(has_fences(buffer));
	next = file_start(self->s.fd, self->model, self->pool, -1);
	usleep(100000);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), EAGAIN);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	EXPECT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, next), 0);
	exporter_close(&other);
	close(hardware);
	close(buffer);
	close(file);
	close(next);
}

/* Starts an execution whose worker dies. */
static bool die(FIXTURE_DATA(grant_fd) *self, struct execution *e, struct async *async)
{
	union command cmd;

	execution_init(e, self->model, self->pool, self->pool);
	if (!async_start(async, self->s.fd, NNACCEL_WORK_EXECUTE, &e->cmd) ||
	    session_fetch(self->s.session, 0, &cmd))
		return false;
	close(self->s.session);
	self->s.session = -1;
	return true;
}

/* Kills the worker while a job of the engine's driver still uses the memory. */
static bool die_with_a_job(FIXTURE_DATA(grant_fd) *self, struct execution *e, struct async *async)
{
	return exporter_lend_fence(&self->x, self->fd) && die(self, e, async);
}

TEST_F(grant_fd, the_end_waits_for_devices)
{
	struct execution e;
	struct async async;
	struct shown shown;

	ASSERT_TRUE(die_with_a_job(self, &e, &async));
	usleep(100000);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	ASSERT_TRUE(shown_command(self->s.fd, &shown));
	EXPECT_STREQ(shown.state, "lost");
	expect_revoked(_metadata, self);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(async_wait(&async), EPIPE);
	/*
	 * A pool has no reference to the dma-bufs of grants, so the last close() frees the dead
	 * worker's dma-buf.
	 */
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(summary_becomes(-1, "proxies", 0));
}

/*
 * A driver that is still attached may begin a job after the worker's death, and the execution ends
 * only after the job.
 */
TEST_F(grant_fd, the_end_waits_for_later_jobs)
{
	struct execution e;
	struct async async;

	ASSERT_EQ(import(self, self->fd, BOTH), 0);
	ASSERT_TRUE(die(self, &e, &async));
	usleep(100000);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	ASSERT_TRUE(exporter_lend_fence(&self->x, self->fd));
	EXPECT_EQ(detach(self), 0);
	usleep(100000);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(async_wait(&async), EPIPE);
}

/*
 * Closes all files of the client and waits for some time, so that the test detects memory that
 * is freed too early.
 */
static void close_client(FIXTURE_DATA(grant_fd) *self)
{
	close(self->fd);
	close(self->burst);
	munmap((void *)self->memory, LENGTH);
	close(self->s.fd);
	self->fd = self->burst = self->s.fd = -1;
	usleep(100000);
}

/*
 * If a device never ends its job, the client gets an error after fence_bound_ms, but the memory is
 * not freed.
 */
TEST_F(grant_fd, a_device_is_lost)
{
	const long long bound = param_set("fence_bound_ms", 20);
	struct execution e;
	struct async async;

	ASSERT_TRUE(die_with_a_job(self, &e, &async));
	EXPECT_EQ(async_wait(&async), ENOTRECOVERABLE);
	param_set("fence_bound_ms", bound);
	close_client(self);
	EXPECT_EQ(summary_get(-1, "commands"), 1);
	EXPECT_GE(summary_get(-1, "pool-bytes"), (long long)LENGTH);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_TRUE(summary_becomes(-1, "commands", 0));
}

/* Kills the worker while a job may still write the memory of a slot. */
static bool lose_the_burst(FIXTURE_DATA(grant_fd) *self)
{
	if (!exporter_lend_fence(&self->x, self->fd))
		return false;
	close(self->s.session);
	self->s.session = -1;
	return true;
}

/*
 * After the worker's death, a burst dies as soon as no device uses the memory of the burst's slots.
 */
TEST_F(grant_fd, the_death_of_a_burst_waits_for_devices)
{
	ASSERT_TRUE(lose_the_burst(self));
	EXPECT_FALSE(burst_is_dead(self->burst, 100));
	EXPECT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, NULL), EPIPE);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_TRUE(burst_is_dead(self->burst, -1));
}

TEST_F(grant_fd, the_death_of_a_burst_does_not_wait_for_ever)
{
	const long long bound = param_set("fence_bound_ms", 20);

	ASSERT_TRUE(lose_the_burst(self));
	EXPECT_TRUE(burst_is_dead(self->burst, -1));
	param_set("fence_bound_ms", bound);
	close_client(self);
	EXPECT_EQ(summary_get(-1, "bursts"), 1);
	EXPECT_GE(summary_get(-1, "pool-bytes"), (long long)LENGTH);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_TRUE(summary_becomes(-1, "bursts", 0));
}

/*
 * A command overwrites neither the outputs of an overlapping command nor data that the device wrote
 * before the command.
 */
TEST_F(grant_fd, of_commands_that_overlap)
{
	union command first, second;
	int files[2];

	ASSERT_EQ(import(self, self->fd, BOTH), 0);
	EXPECT_EQ(device_write(self, 0, 4711), 0);
	files[0] = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(session_fetch(self->s.session, 0, &first), 0);
	EXPECT_EQ(self->memory[0], 4711);
	self->memory[1] = 4712;
	files[1] = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(session_fetch(self->s.session, 0, &second), 0);
	EXPECT_EQ(self->memory[1], 4712);
	EXPECT_EQ(session_answer(self->s.session, &first), 0);
	EXPECT_EQ(file_end(self->s.fd, files[0]), 0);
	self->memory[2] = 4713;
	EXPECT_EQ(session_answer(self->s.session, &second), 0);
	EXPECT_EQ(file_end(self->s.fd, files[1]), 0);
	for (uint32_t i = 0; i < 3; i++)
		EXPECT_EQ(device_read(self, 4 * i), 4711 + i);
	close(files[0]);
	close(files[1]);
}

/*
 * A copy by the kernel is a CPU access, which syncs the buffer's memory for the CPU and then for
 * devices. If hardware still uses the buffer after the end of a command, a copy waits for the
 * hardware.
 */
TEST_F(grant_fd, of_a_buffer_that_the_kernel_copies)
{
	struct exporter_counts before, after;
	struct nnaccel_buffer_copy copy = {
		.size = sizeof(copy), .flags = NNACCEL_COPY_IN, .data = (uintptr_t)self->memory,
		.length = PAGE,
	};
	struct buffer_execution e;
	int fd, hardware, attached;
	struct allocation a;
	struct async async;
	union command cmd;
	long long bound;

	allocation_init(&a, self->model, PAGE);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	ASSERT_EQ(session_grant_fd(self->s.session, command_grants(&cmd)[0].grant, PROT_RW, &fd), 0);
	ASSERT_EQ(session_answer(self->s.session, &cmd), 0);
	ASSERT_EQ(async_wait(&async), 0);
	copy.buffer = a.cmd.out_buffer;

	attached = !xioctl(self->x.fd, EXPORTER_ATTACH, (void *)(uintptr_t)fd);
	before = exporter_counts(&self->x);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy), 0);
	after = exporter_counts(&self->x);
	/* On a kernel without DMA, the test's device cannot be attached and counts no syncs. */
	EXPECT_EQ(after.to_cpu, before.to_cpu + attached);
	EXPECT_EQ(after.to_device, before.to_device + attached);

	bound = param_set("fence_bound_ms", 1);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	hardware = buffer_fence(self->x.buffer);
	buffer_execution_init(&e, self->model, copy.buffer, 0);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	ASSERT_EQ(session_commit_fenced(self->s.session, cmd.head.cookie, hardware), 0);
	EXPECT_EQ(async_wait(&async), ETIME);
	param_set("fence_bound_ms", bound);
	copy.out_status = POISON;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy));
	usleep(100000);
	EXPECT_EQ(copy.out_status, POISON);
	EXPECT_EQ(ioctl(self->x.fd, EXPORTER_SIGNAL), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(copy.out_status, NNACCEL_STATUS_NONE);
	close(hardware);
	close(fd);
}

/* A commit that the module rejects adds no fence to the memory. */
TEST_F(grant_fd, a_refused_commit_adds_no_fence)
{
	int buffer = pool_export(self->s.fd, self->pool), hardware, file;
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.flags = NNACCEL_COMMIT_FENCE,
		.payload = (uintptr_t)&commit,
		.payload_size = 1,
	};
	union command cmd;

	file = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	ASSERT_EQ(ioctl(self->x.fd, EXPORTER_FENCE, 1), 0);
	commit.fence = hardware = buffer_fence(self->x.buffer);
	commit.cookie = cmd.head.cookie;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), EINVAL);
	EXPECT_FALSE(has_fences(buffer));
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, file), 0);
	close(hardware);
	close(buffer);
	close(file);
}

/*
 * vgem imports the dma-buf of a grant. Older DRM maps an imported dma-buf at once, for both DMA
 * directions. Newer DRM maps a dma-buf when a driver first uses the addresses, but vgem never uses
 * the addresses.
 */
TEST_F(grant_fd, prime)
{
	struct drm_prime_handle prime = { .fd = self->fd }, again = { .fd = self->fd };
	struct drm_gem_close gem = {};
	int vgem = vgem_open(), fd;

	if (vgem < 0)
		SKIP(return, "this kernel has no vgem");
	ASSERT_EQ(xioctl(vgem, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), 0);
	ASSERT_EQ(xioctl(vgem, DRM_IOCTL_PRIME_FD_TO_HANDLE, &again), 0);
	EXPECT_EQ(again.handle, prime.handle);
	ASSERT_EQ(session_grant_fd(self->s.session, self->grant, NNACCEL_PROT_READ, &fd), 0);
	again.fd = fd;
	EXPECT_EQ(xioctl(vgem, DRM_IOCTL_PRIME_FD_TO_HANDLE, &again), 0);
	close(fd);
	gem.handle = again.handle;
	EXPECT_EQ(xioctl(vgem, DRM_IOCTL_GEM_CLOSE, &gem), 0);
	end_grant(_metadata, self);
	EXPECT_EQ(self->memory[1], 1);
	gem.handle = prime.handle;
	EXPECT_EQ(xioctl(vgem, DRM_IOCTL_GEM_CLOSE, &gem), 0);
	prime.fd = self->fd;
	EXPECT_EQ(xioctl(vgem, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), ENODEV);
	close(vgem);
}

/*
 * Requests the dma-buf of a grant repeatedly while the client closes its context; only ESHUTDOWN
 * and ENOENT are allowed errors.
 */
static void *ask_again(void *data)
{
	FIXTURE_DATA(grant_fd) *self = data;
	intptr_t wrong = 0;
	int error = 0;

	while (error != ESHUTDOWN && error != ENOENT && !wrong) {
		int fd = -1;

		error = session_grant_fd(self->s.session, self->grant, PROT_RW, &fd);
		wrong = error && error != ESHUTDOWN && error != ENOENT;
		if (!error)
			close(fd);
	}
	return (void *)wrong;
}

TEST_F(grant_fd, races_with_the_end)
{
	pthread_t threads[4];
	void *wrong;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ASSERT_EQ(pthread_create(&threads[i], NULL, ask_again, self), 0);
	poll(NULL, 0, 50);
	close(self->s.fd);
	self->s.fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		ASSERT_EQ(pthread_join(threads[i], &wrong), 0);
		EXPECT_EQ(wrong, NULL);
	}
	expect_revoked(_metadata, self);
}

TEST_HARNESS_MAIN
