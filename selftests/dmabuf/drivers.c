// SPDX-License-Identifier: MIT
/*
 * Import and export of dma-bufs with the kernel's own drivers: vgem (DRM PRIME), vivid (V4L2), the
 * system heap and udmabuf. The tests add fences of vgem, of sw_sync and of the tests' own exporter
 * to dma-bufs. If the kernel lacks a driver, the tests of this driver are skipped.
 */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "exporters.h"
#include "harness.h"

#define LENGTH (4 * PAGE)
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

FIXTURE(drivers) {
	struct summary before;
	struct served s;
	uint32_t own;
	uint32_t model;
	struct execution e;
	struct async async;
	union command cmd;
};

FIXTURE_SETUP(drivers)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->own = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare(&self->s, self->own);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(drivers)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

static bool execute(FIXTURE_DATA(drivers) *self, uint32_t input, uint32_t output)
{
	execution_init(&self->e, self->model, input, output);
	return async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd);
}

static int finish(FIXTURE_DATA(drivers) *self)
{
	int error = session_answer(self->s.session, &self->cmd);

	return async_wait(&self->async) ?: error;
}

/*
 * Starts an execution with @pool as input or output, and returns the worker's mapping of the pool.
 */
static uint8_t *map_as_worker(FIXTURE_DATA(drivers) *self, uint32_t pool, uint64_t length,
			      bool write)
{
	void *at;

	if (!execute(self, write ? self->own : pool, write ? pool : self->own) ||
	    session_fetch(self->s.session, 0, &self->cmd))
		return NULL;
	at = session_map(self->s.session, command_grants(&self->cmd)[write].grant, length,
			 write ? PROT_READ | PROT_WRITE : PROT_READ);
	return finish(self) ? NULL : at;
}

static bool command_waits(FIXTURE_DATA(drivers) *self)
{
	struct pollfd poller = { self->s.session, POLLIN, 0 };

	return poll(&poller, 1, 200) == 1;
}

/* ---- vgem ---- */

/* Checks that client and worker see the same bytes in the dma-buf @buffer. */
static void share(struct __test_metadata *_metadata, FIXTURE_DATA(drivers) *self, int buffer,
		  uint32_t *pool)
{
	uint8_t *mine = map_shared(buffer, LENGTH, PROT_READ | PROT_WRITE), *yours;

	ASSERT_NE(mine, NULL);
	ASSERT_EQ(pool_import(self->s.fd, buffer, PROT_RW, 0, LENGTH, pool), 0);
	mine[PAGE] = 17;
	yours = map_as_worker(self, *pool, LENGTH, true);
	ASSERT_NE(yours, NULL);
	EXPECT_EQ(yours[PAGE], 17);
	yours[2 * PAGE] = 18;
	EXPECT_EQ(mine[2 * PAGE], 18);
	munmap(yours, LENGTH);
	munmap(mine, LENGTH);
}

TEST_F(drivers, vgem_memory)
{
	int vgem = vgem_open(), buffer;
	uint32_t handle, pool;

	if (vgem < 0)
		SKIP(return, "this kernel has no vgem");
	buffer = vgem_buffer(vgem, LENGTH, &handle);
	ASSERT_GE(buffer, 0);
	share(_metadata, self, buffer, &pool);
	close(buffer);
	/* Close vgem's file, because the pool has its own reference to the dma-buf. */
	close(vgem);
	EXPECT_NE(map_as_worker(self, pool, LENGTH, false), NULL);
}

TEST_F(drivers, vgem_fences)
{
	int vgem = vgem_open(), buffer;
	uint32_t handle, pool, fence;

	if (vgem < 0)
		SKIP(return, "this kernel has no vgem");
	buffer = vgem_buffer(vgem, LENGTH, &handle);
	ASSERT_EQ(pool_import(self->s.fd, buffer, PROT_RW, 0, LENGTH, &pool), 0);
	fence = vgem_fence(vgem, handle, VGEM_FENCE_WRITE);
	ASSERT_NE(fence, 0);
	ASSERT_TRUE(execute(self, pool, self->own));
	EXPECT_FALSE(command_waits(self));
	EXPECT_EQ(vgem_signal(vgem, fence), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	/*
	 * The module adds no fence to the dma-buf, so vgem can add a writer's fence while the
	 * execution runs.
	 */
	fence = vgem_fence(vgem, handle, VGEM_FENCE_WRITE);
	EXPECT_NE(fence, 0);
	EXPECT_EQ(vgem_signal(vgem, fence), 0);
	EXPECT_EQ(finish(self), 0);
	close(buffer);
	close(vgem);
}

/* vgem imports a pool and accesses it. */
TEST_F(drivers, vgem_imports)
{
	struct drm_prime_handle prime = { 0 };
	int vgem = vgem_open(), buffer;
	uint32_t fence;

	if (vgem < 0)
		SKIP(return, "this kernel has no vgem");
	prime.fd = buffer = pool_export(self->s.fd, self->own);
	ASSERT_EQ(ioctl(vgem, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), 0);
	fence = vgem_fence(vgem, prime.handle, VGEM_FENCE_WRITE);
	ASSERT_NE(fence, 0);
	ASSERT_TRUE(execute(self, self->own, self->own));
	EXPECT_FALSE(command_waits(self));
	EXPECT_EQ(vgem_signal(vgem, fence), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(finish(self), 0);
	close(buffer);
	close(vgem);
}

/* ---- vivid ---- */

#define TYPE V4L2_BUF_TYPE_VIDEO_CAPTURE
#define NUM_BUFFERS 2

static bool is_vivid(int fd)
{
	struct v4l2_capability caps;

	return !ioctl(fd, VIDIOC_QUERYCAP, &caps) && !strcmp((char *)caps.driver, "vivid") &&
	       caps.device_caps & V4L2_CAP_VIDEO_CAPTURE;
}

/* Opens vivid's camera with buffers of the kind `memory`; sets *length to a frame's bytes. */
static int open_vivid(uint32_t memory, uint64_t *length)
{
	struct v4l2_requestbuffers request = { .count = NUM_BUFFERS, .type = TYPE, .memory = memory };
	struct v4l2_format format = { .type = TYPE };
	int fd;

	if (!module_load("vivid", "n_devs=1 node_types=0x1"))
		return -1;
	fd = driver_open("/dev", "video", is_vivid);
	format.fmt.pix.width = 320;
	format.fmt.pix.height = 180;
	format.fmt.pix.pixelformat = V4L2_PIX_FMT_RGB24;
	if (fd < 0 || ioctl(fd, VIDIOC_S_FMT, &format) || ioctl(fd, VIDIOC_REQBUFS, &request))
		return -1;
	*length = format.fmt.pix.sizeimage;
	return fd;
}

static int vivid_queue(int camera, uint32_t memory, uint32_t index, int buffer)
{
	struct v4l2_buffer b = { .type = TYPE, .memory = memory, .index = index };

	if (memory == V4L2_MEMORY_DMABUF)
		b.m.fd = buffer;
	return xioctl(camera, VIDIOC_QBUF, &b);
}

/* Captures a frame into buffer 0; returns false if the camera delivers no frame. */
static bool vivid_capture(int camera, uint32_t memory)
{
	struct v4l2_buffer b = { .type = TYPE, .memory = memory };
	int type = TYPE;

	return !ioctl(camera, VIDIOC_STREAMON, &type) && !ioctl(camera, VIDIOC_DQBUF, &b) &&
	       b.index == 0 && !(b.flags & V4L2_BUF_FLAG_ERROR);
}

static bool has_content(const uint8_t *at, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++)
		if (at[i])
			return true;
	return false;
}

TEST_F(drivers, vivid_exports)
{
	struct v4l2_exportbuffer export = { .type = TYPE, .flags = O_RDWR | O_CLOEXEC };
	uint64_t length;
	int camera = open_vivid(V4L2_MEMORY_MMAP, &length);
	uint8_t *mine, *yours;
	uint32_t pool;

	if (camera < 0)
		SKIP(return, "this kernel has no vivid");
	ASSERT_EQ(ioctl(camera, VIDIOC_EXPBUF, &export), 0);
	ASSERT_EQ(pool_import(self->s.fd, export.fd, NNACCEL_PROT_READ, 0, length, &pool), 0);
	for (uint32_t i = 0; i < NUM_BUFFERS; i++)
		ASSERT_EQ(vivid_queue(camera, V4L2_MEMORY_MMAP, i, -1), 0);
	ASSERT_TRUE(vivid_capture(camera, V4L2_MEMORY_MMAP));
	mine = map_shared(export.fd, length, PROT_READ);
	yours = map_as_worker(self, pool, length, false);
	ASSERT_NE(yours, NULL);
	ASSERT_NE(mine, NULL);
	EXPECT_TRUE(has_content(yours, length));
	EXPECT_EQ(memcmp(mine, yours, length), 0);
	munmap(mine, length);
	munmap(yours, length);
	close(export.fd);
	/*
	 * After the camera is closed, a frame's memory is not freed until the last reference to the
	 * dma-buf is dropped.
	 */
	close(camera);
	yours = map_as_worker(self, pool, length, false);
	ASSERT_NE(yours, NULL);
	EXPECT_TRUE(has_content(yours, length));
}

TEST_F(drivers, vivid_imports)
{
	uint64_t length;
	int camera = open_vivid(V4L2_MEMORY_DMABUF, &length), buffers[NUM_BUFFERS];
	uint32_t pools[NUM_BUFFERS];
	uint8_t *at;

	if (camera < 0)
		SKIP(return, "this kernel has no vivid");
	for (uint32_t i = 0; i < NUM_BUFFERS; i++) {
		pools[i] = pool_alloc(self->s.fd, length);
		buffers[i] = pool_export(self->s.fd, pools[i]);
		ASSERT_GE(buffers[i], 0);
		ASSERT_EQ(vivid_queue(camera, V4L2_MEMORY_DMABUF, i, buffers[i]), 0);
	}
	at = map_as_worker(self, pools[0], length, false);
	ASSERT_NE(at, NULL);
	ASSERT_TRUE(vivid_capture(camera, V4L2_MEMORY_DMABUF));
	EXPECT_TRUE(has_content(at, length));
	munmap(at, length);
	close(camera);
	for (uint32_t i = 0; i < NUM_BUFFERS; i++)
		close(buffers[i]);
}

/* ---- heap, udmabuf, sw_sync ---- */

/* Adds a writer's fence to a dma-buf; the fence is pending until @x signals it. */
static bool put_fence(const struct exporter *x, int buffer)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	bool done;

	if (ioctl(x->fd, EXPORTER_FENCE, 1) ||
	    ioctl(x->buffer, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export))
		return false;
	import.fd = export.fd;
	done = !ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import);
	close(export.fd);
	return done;
}

static void share_with_fence(struct __test_metadata *_metadata, FIXTURE_DATA(drivers) *self,
			     int buffer)
{
	struct exporter x;
	uint32_t pool;

	share(_metadata, self, buffer, &pool);
	ASSERT_TRUE(exporter_open(&x, 0));
	ASSERT_TRUE(put_fence(&x, buffer));
	ASSERT_TRUE(execute(self, pool, self->own));
	EXPECT_FALSE(command_waits(self));
	ASSERT_EQ(ioctl(x.fd, EXPORTER_SIGNAL), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(finish(self), 0);
	exporter_close(&x);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	close(buffer);
}

TEST_F(drivers, system_heap)
{
	int buffer = heap_buffer(LENGTH);

	if (buffer < 0)
		SKIP(return, "this kernel has no system heap");
	share_with_fence(_metadata, self, buffer);
}

TEST_F(drivers, udmabuf)
{
	int file = file_new(LENGTH), buffer = udmabuf_buffer(file, LENGTH);

	if (buffer < 0)
		SKIP(return, "this kernel has no udmabuf");
	share_with_fence(_metadata, self, buffer);
	close(file);
}

struct sw_sync_fence {
	__u32 value;
	char name[32];
	__s32 fence;
};

#define SW_SYNC_CREATE_FENCE	_IOWR('W', 0, struct sw_sync_fence)
#define SW_SYNC_INC		_IOW('W', 1, __u32)

TEST_F(drivers, sw_sync)
{
	int timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);
	struct sw_sync_fence fence = { .value = 1, .name = "nnaccel-test" };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	uint32_t one = 1;
	int buffer;

	if (timeline < 0)
		SKIP(return, "this kernel has no sw_sync");
	buffer = pool_export(self->s.fd, self->own);
	ASSERT_EQ(ioctl(timeline, SW_SYNC_CREATE_FENCE, &fence), 0);
	import.fd = fence.fence;
	ASSERT_EQ(ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import), 0);
	close(fence.fence);
	ASSERT_TRUE(execute(self, self->own, self->own));
	EXPECT_FALSE(command_waits(self));
	ASSERT_EQ(ioctl(timeline, SW_SYNC_INC, &one), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(finish(self), 0);
	close(timeline);
	close(buffer);
}

TEST_HARNESS_MAIN
