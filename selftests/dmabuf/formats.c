// SPDX-License-Identifier: MIT
/*
 * Formatted pools: which images can be imported, how executions can use images, and which formats
 * the worker gets.
 */
#include <drm/drm_fourcc.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "burst.h"
#include "exporters.h"
#include "harness.h"

#define LENGTH (EXPORTER_NUM_PAGES * PAGE)
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)
#define WIDTH 10
#define HEIGHT 8
#define STRIDE 64
#define OFFSET 100

FIXTURE(formats) {
	struct summary before;
	struct served s;
	uint32_t own;
	uint32_t model;
	int buffer;
	struct nnaccel_pool_import good;
	struct execution e;
	struct async async;
	union command cmd;
};

FIXTURE_SETUP(formats)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->own = pool_alloc(self->s.fd, LENGTH);
	self->buffer = pool_export(self->s.fd, self->own);
	self->model = served_prepare(&self->s, self->own);
	self->good = (struct nnaccel_pool_import) {
		.size = sizeof(self->good),
		.fd = self->buffer,
		.prot = PROT_RW,
		.offset = OFFSET,
		.modifier = DRM_FORMAT_MOD_LINEAR,
		.fourcc = DRM_FORMAT_RGB888,
		.width = WIDTH,
		.height = HEIGHT,
		.stride = STRIDE,
	};
}

FIXTURE_TEARDOWN(formats)
{
	close(self->buffer);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

static uint32_t import(FIXTURE_DATA(formats) *self)
{
	struct nnaccel_pool_import import = self->good;

	return ioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import) ? 0 : import.out_id;
}

#define REFUSE_FORMAT(_field, _value, _error) \
	REFUSE(struct nnaccel_pool_import, _field, _value, _error)

TEST_F(formats, refusals)
{
	const struct refusal cases[] = {
		REFUSE_FORMAT(flags, 1, EINVAL),
		REFUSE_FORMAT(__reserved, 1, EINVAL),
		REFUSE_FORMAT(fd, -1, EBADF),
		REFUSE_FORMAT(fd, self->s.fd, EOPNOTSUPP),
		REFUSE_FORMAT(prot, 0, EINVAL),
		REFUSE_FORMAT(prot, NNACCEL_PROT_WRITE, EINVAL),
		REFUSE_FORMAT(prot, PROT_RW | 4, EINVAL),
		REFUSE_FORMAT(width, 0, EINVAL),
		REFUSE_FORMAT(width, 22, EINVAL),
		REFUSE_FORMAT(width, 0xffffffff, EINVAL),
		REFUSE_FORMAT(height, 0, EINVAL),
		REFUSE_FORMAT(height, LENGTH / STRIDE, EINVAL),
		REFUSE_FORMAT(height, 0xffffffff, EINVAL),
		REFUSE_FORMAT(stride, 0, EINVAL),
		REFUSE_FORMAT(stride, 3 * WIDTH - 1, EINVAL),
		REFUSE_FORMAT(stride, 0xffffffff, EINVAL),
		REFUSE_FORMAT(offset, LENGTH, EINVAL),
		REFUSE_FORMAT(offset, ~0ULL, EINVAL),
		REFUSE_FORMAT(offset, ~0ULL - STRIDE * HEIGHT, EINVAL),
		REFUSE_FORMAT(modifier, DRM_FORMAT_MOD_INVALID, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, 1, EOPNOTSUPP),
		REFUSE_FORMAT(fourcc, 0, EINVAL),
		REFUSE_FORMAT(length, 1, EINVAL),
		REFUSE_FORMAT(fourcc, DRM_FORMAT_NV12, EINVAL),
		REFUSE_FORMAT(fourcc, DRM_FORMAT_NV16, EOPNOTSUPP),
		REFUSE_FORMAT(fourcc, DRM_FORMAT_C8, EOPNOTSUPP),
		REFUSE_FORMAT(planes[0].fd, 1, EINVAL),
		REFUSE_FORMAT(planes[1].stride, 1, EINVAL),
		REFUSE_FORMAT(planes[2].offset, 1, EINVAL),
	};

	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_POOL_IMPORT, &self->good,
				 sizeof(self->good), cases, ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 1);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_POOL_IMPORT, &self->good,
				  sizeof(self->good), 0, true), 0);
}

TEST_F(formats, ends)
{
	const struct {
		uint32_t fourcc, width, height, stride;
		uint64_t offset, length;
		int error;
	} cases[] = {
		{ DRM_FORMAT_R8, LENGTH, 1, LENGTH, 0, LENGTH, 0 },
		{ DRM_FORMAT_R8, LENGTH, 1, LENGTH, 1, 0, EINVAL },
		{ DRM_FORMAT_R8, LENGTH - 1, 1, LENGTH, 1, LENGTH - 1, 0 },
		/* The last row of an image needs no padding after its pixels. */
		{ DRM_FORMAT_R8, 1, 2, LENGTH - 1, 0, 2, 0 },
		{ DRM_FORMAT_R8, 1, 2, LENGTH, 0, 0, EINVAL },
		{ DRM_FORMAT_R8, 1, LENGTH, 1, 0, LENGTH, 0 },
		{ DRM_FORMAT_YUYV, 2, 3, 4, 0, 12, 0 },
		{ DRM_FORMAT_YUYV, 3, 3, 6, 0, 0, EINVAL },
		{ DRM_FORMAT_ABGR8888, 5, 3, 20, 0, 60, 0 },
		{ DRM_FORMAT_ABGR16161616F, 5, 3, 40, 0, 120, 0 },
		{ DRM_FORMAT_RGB565, 5, 3, 10, 0, 30, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nnaccel_pool_import import = self->good;

		import.fourcc = cases[i].fourcc;
		import.width = cases[i].width;
		import.height = cases[i].height;
		import.stride = cases[i].stride;
		import.offset = cases[i].offset;
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import),
			  cases[i].error)
			TH_LOG("case %zu", i);
		EXPECT_EQ(import.length, cases[i].length);
	}
}

/* Images with rows of 4 GiB or more are rejected. */
TEST_F(formats, widest_rows)
{
	struct nnaccel_pool_import import = self->good;

	import.fd = file_new(1ULL << 33);
	import.offset = 0;
	import.height = 1;
	import.stride = UINT32_MAX;
	import.fourcc = DRM_FORMAT_R8;
	import.width = UINT32_MAX;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import), 0);
	EXPECT_EQ(import.length, UINT32_MAX);
	import.length = 0;
	import.fourcc = DRM_FORMAT_R16;
	import.width = 1U << 31;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import), EINVAL);
	close(import.fd);
}

TEST_F(formats, are_used_whole)
{
	uint32_t pool = import(self);

	ASSERT_NE(pool, 0);
	execution_init(&self->e, self->model, pool, self->own);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), EINVAL);
	self->e.args[0].length = 0;
	self->e.args[0].offset = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), EINVAL);
	self->e.args[0].offset = 0;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(command_grants(&self->cmd)[0].prot, NNACCEL_PROT_READ | NNACCEL_PROT_FORMATTED);
	EXPECT_EQ(command_grants(&self->cmd)[0].length,
		  OFFSET + (HEIGHT - 1) * STRIDE + 3 * WIDTH);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

TEST_F(formats, hold_no_model)
{
	uint32_t pool = import(self), pools[] = { pool };
	struct nnaccel_supported supported;
	struct nnaccel_prepare prepare;
	uint8_t answer[1];

	ASSERT_NE(pool, 0);
	prepare_init(&prepare, pool, 1);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), EOPNOTSUPP);
	prepare_init(&prepare, self->own, 1);
	prepare.pools = (uintptr_t)pools;
	prepare.num_pools = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), EOPNOTSUPP);
	supported_init(&supported, pool, 1, answer, 1);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_SUPPORTED, &supported), EOPNOTSUPP);
}

TEST_F(formats, are_pools_of_their_own)
{
	uint32_t pool = import(self), again = import(self);

	ASSERT_NE(pool, 0);
	EXPECT_NE(pool, again);
	EXPECT_NE(pool, self->own);
	EXPECT_EQ(pool_export(self->s.fd, pool), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	EXPECT_EQ(object_destroy(self->s.fd, pool), ENOENT);
}

TEST_F(formats, are_told)
{
	struct nnaccel_session_slot slot = { .size = sizeof(slot) };
	struct nnaccel_format in_slot;
	uint32_t pool = import(self);
	int burst = served_burst(&self->s, self->model, &slot.burst);

	ASSERT_GE(burst, 0);
	ASSERT_EQ(slot_bind(burst, pool, PROT_RW, &slot.slot), 0);
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_SLOT, &slot, sizeof(slot), 0,
				  true), 0);
	ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_SLOT, &slot), 0);
	EXPECT_EQ(slot.out_grant.prot, PROT_RW | NNACCEL_PROT_FORMATTED);
	EXPECT_EQ(slot.out_format.fourcc, DRM_FORMAT_RGB888);
	EXPECT_EQ(slot.out_format.width, WIDTH);
	EXPECT_EQ(slot.out_format.height, HEIGHT);
	EXPECT_EQ(slot.out_format.num_planes, 1);
	EXPECT_EQ(slot.out_format.planes[0].grant.grant, slot.out_grant.grant);
	EXPECT_EQ(slot.out_format.planes[0].stride, STRIDE);
	EXPECT_EQ(slot.out_format.planes[0].row_bytes, 3 * WIDTH);
	EXPECT_EQ(slot.out_format.planes[0].offset, OFFSET);
	in_slot = slot.out_format;

	/* SESSION_SLOT reports no format for a pool without a format. */
	ASSERT_EQ(slot_bind(burst, self->own, PROT_RW, &slot.slot), 0);
	ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_SLOT, &slot), 0);
	EXPECT_EQ(slot.out_grant.prot, PROT_RW);
	for (size_t i = 0; i < sizeof(slot.out_format); i++)
		EXPECT_EQ(((unsigned char *)&slot.out_format)[i], 0);

	/* A command has its formats after the attributes, aligned to 8 bytes. */
	execution_init(&self->e, self->model, self->own, pool);
	self->e.args[1].length = 0;
	self->e.args[1].offset = 0;
	self->e.cmd.attributes = (uintptr_t)"odd";
	self->e.cmd.attributes_size = 3;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.num_formats, 1);
	EXPECT_EQ((char *)(command_formats(&self->cmd) + 1) - (char *)&self->cmd,
		  self->cmd.head.size);
	EXPECT_EQ(memcmp(command_formats(&self->cmd), &in_slot, sizeof(in_slot)), 0);
	EXPECT_EQ(memcmp(command_attributes(&self->cmd), "odd", 3), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	close(burst);
}

/* ---- planes ---- */

TEST_F(formats, modifiers_are_linear)
{
	const struct refusal cases[] = {
		REFUSE_FORMAT(modifier, I915_FORMAT_MOD_X_TILED, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, I915_FORMAT_MOD_4_TILED, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, DRM_FORMAT_MOD_ARM_16X16_BLOCK_U_INTERLEAVED, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, DRM_FORMAT_MOD_BROADCOM_VC4_T_TILED, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, DRM_FORMAT_MOD_QCOM_COMPRESSED, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, DRM_FORMAT_MOD_SAMSUNG_64_32_TILE, EOPNOTSUPP),
		REFUSE_FORMAT(modifier, DRM_FORMAT_MOD_INVALID, EOPNOTSUPP),
	};

	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_POOL_IMPORT, &self->good,
				 sizeof(self->good), cases, ARRAY_SIZE(cases)), 0);
}

/* Tests the shortest valid strides of each format, and strides that are one byte shorter. */
TEST_F(formats, planes)
{
	const struct {
		uint32_t fourcc, num_planes, strides[3];
		uint64_t length;
	} cases[] = {
		{ DRM_FORMAT_NV12, 2, { 10, 10 }, 120 },
		{ DRM_FORMAT_NV21, 2, { 10, 10 }, 120 },
		{ DRM_FORMAT_YUV420, 3, { 10, 5, 5 }, 120 },
		{ DRM_FORMAT_YVU420, 3, { 10, 5, 5 }, 120 },
		{ DRM_FORMAT_P010, 2, { 20, 20 }, 240 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint32_t shorter = 0; shorter <= cases[i].num_planes; shorter++) {
			struct nnaccel_pool_import import = self->good;

			import.fourcc = cases[i].fourcc;
			import.stride = cases[i].strides[0] - (shorter == 1);
			for (uint32_t k = 1; k < cases[i].num_planes; k++) {
				import.planes[k - 1].fd = k == 1 ? -1 : self->buffer;
				import.planes[k - 1].stride = cases[i].strides[k] -
							      (shorter == k + 1);
				import.planes[k - 1].offset = PAGE * k + 1;
			}
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import),
				  shorter ? EINVAL : 0)
				TH_LOG("case %zu, %u", i, shorter);
			if (!shorter) {
				EXPECT_EQ(import.length, cases[i].length);
				/* The pool reaches to the end of the last plane. */
				EXPECT_EQ(summary_get(self->s.fd, "nnaccel-memory-import"),
					  cases[i].num_planes * PAGE / 1024);
				EXPECT_EQ(object_destroy(self->s.fd, import.out_id), 0);
				EXPECT_EQ(summary_get(self->s.fd, "nnaccel-memory-import"), 0);
			}
		}
	}
	/* The context has one pool, because all planes of the image are in one file. */
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 1);
}

TEST_F(formats, planes_have_even_sizes_and_files)
{
	struct nnaccel_pool_import nv12 = self->good;

	nv12.fourcc = DRM_FORMAT_NV12;
	nv12.planes[0] = (struct nnaccel_plane) { .fd = -1, .stride = STRIDE, .offset = 4096 };
	const struct refusal cases[] = {
		REFUSE_FORMAT(width, WIDTH + 1, EINVAL),
		REFUSE_FORMAT(height, HEIGHT + 1, EINVAL),
		REFUSE_FORMAT(planes[0].fd, 4711, EBADF),
		REFUSE_FORMAT(planes[0].fd, -2, EBADF),
		REFUSE_FORMAT(planes[0].fd, self->s.fd, EOPNOTSUPP),
		REFUSE_FORMAT(planes[0].stride, 0, EINVAL),
		REFUSE_FORMAT(planes[0].offset, LENGTH, EINVAL),
		REFUSE_FORMAT(planes[0].offset, ~0ULL, EINVAL),
		REFUSE_FORMAT(planes[1].stride, STRIDE, EINVAL),
	};

	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_POOL_IMPORT, &nv12, sizeof(nv12),
				 cases, ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_POOL_IMPORT, &nv12, sizeof(nv12),
				  0, true), 0);
}

/* Imports an image whose second plane is in another driver's dma-buf. */
static uint32_t import_two(FIXTURE_DATA(formats) *self, const struct exporter *x)
{
	struct nnaccel_pool_import import = self->good;

	import.fourcc = DRM_FORMAT_NV12;
	import.planes[0] = (struct nnaccel_plane) { .fd = x->buffer, .stride = 16, .offset = 7 };
	return ioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import) ? 0 : import.out_id;
}

TEST_F(formats, planes_in_files_are_accessed)
{
	struct exporter_counts counts;
	struct exporter x;
	uint32_t pool;

	ASSERT_TRUE(exporter_open(&x, 0));
	pool = import_two(self, &x);
	ASSERT_NE(pool, 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 3);
	execution_init(&self->e, self->model, pool, self->own);
	self->e.args[0].length = 0;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	/*
	 * A command lists the grants of the caller's pools first, and then the grant of the second
	 * plane's pool.
	 */
	EXPECT_EQ(self->cmd.head.num_grants, 3);
	EXPECT_EQ(command_grants(&self->cmd)[2].prot, NNACCEL_PROT_READ | NNACCEL_PROT_SYNC);
	EXPECT_EQ(command_grants(&self->cmd)[2].length, 7 + 3 * 16 + WIDTH);
	EXPECT_EQ(command_formats(&self->cmd)->planes[1].grant.grant,
		  command_grants(&self->cmd)[2].grant);
	counts = exporter_counts(&x);
	EXPECT_EQ(counts.begun[2], 1);
	EXPECT_EQ(counts.ended[2], 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(exporter_counts(&x).ended[2], 1);

	/*
	 * If an image is an output, the pools of the image and of its second plane are writable. An
	 * execution's argument cannot refer to the pool of a second plane.
	 */
	execution_init(&self->e, self->model, self->own, pool);
	self->e.args[1].length = 0;
	self->e.args[1].offset = 0;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(command_grants(&self->cmd)[2].prot, PROT_RW | NNACCEL_PROT_SYNC);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	self->e.args[1].pool = 2;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), EINVAL);

	/* If the exporter of any plane refuses an access, the execution fails. */
	ASSERT_EQ(ioctl(x.fd, EXPORTER_REFUSE, EXPORTER_NO_BEGIN), 0);
	self->e.args[1].pool = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &self->e.cmd), EIO);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	/* Wait until kernel threads have no more references to the failed command. */
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-pools", 1));
	exporter_close(&x);
}

TEST_F(formats, planes_in_files_are_told)
{
	struct nnaccel_session_slot slot = { .size = sizeof(slot) };
	const struct nnaccel_format *format = &slot.out_format;
	struct exporter x;
	uint32_t pool;
	char *map;
	int burst;

	ASSERT_TRUE(exporter_open(&x, 0));
	pool = import_two(self, &x);
	burst = served_burst(&self->s, self->model, &slot.burst);
	ASSERT_NE(pool, 0);
	ASSERT_GE(burst, 0);
	ASSERT_EQ(slot_bind(burst, pool, PROT_RW, &slot.slot), 0);
	ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_SLOT, &slot), 0);
	EXPECT_EQ(format->num_planes, 2);
	EXPECT_EQ(format->planes[0].grant.grant, slot.out_grant.grant);
	EXPECT_EQ(format->planes[0].offset, OFFSET);
	EXPECT_EQ(format->planes[0].rows, HEIGHT);
	EXPECT_EQ(format->planes[0].row_bytes, WIDTH);
	EXPECT_EQ(format->planes[1].offset, 7);
	EXPECT_EQ(format->planes[1].stride, 16);
	EXPECT_EQ(format->planes[1].rows, HEIGHT / 2);
	EXPECT_EQ(format->planes[1].row_bytes, WIDTH);
	EXPECT_EQ(format->planes[2].rows, 0);
	EXPECT_NE(format->planes[1].grant.grant, slot.out_grant.grant);
	EXPECT_EQ(format->planes[1].grant.prot, PROT_RW | NNACCEL_PROT_SYNC);
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->s.session,
		   (off_t)format->planes[1].grant.grant << NNACCEL_GRANT_SHIFT);
	ASSERT_NE(map, MAP_FAILED);
	map[7] = 42;
	munmap(map, PAGE);
	/* The worker is notified when the grants of an image's two files end. */
	close(burst);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_BURST_GONE);
	EXPECT_EQ(object_destroy(self->s.fd, pool), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	EXPECT_EQ(self->cmd.head.grant, slot.out_grant.grant);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	EXPECT_EQ(self->cmd.head.grant, format->planes[1].grant.grant);
	exporter_close(&x);
}

/* Returns whether a device can be attached to a dma-buf, which requires a kernel with DMA. */
static bool device_attaches(void)
{
	struct exporter x, device;
	struct exporter_import attach = {};
	bool attached;

	if (!exporter_open(&x, 0) || !exporter_open(&device, 0))
		return false;
	attach.fd = x.buffer;
	attached = !xioctl(device.fd, EXPORTER_IMPORT, &attach);
	exporter_close(&device);
	exporter_close(&x);
	return attached;
}

/*
 * Imports an image whose second plane is in another context's memory, and attaches a device to this
 * memory before or after the import. Returns `devices` of the burst's status page, or -1.
 */
static int tell_of_device(FIXTURE_DATA(formats) *self, bool before)
{
	const struct nnaccel_burst_status *status;
	struct exporter x, plane = {};
	struct exporter_import attach = {};
	int other, burst, devices = -1;

	if (!exporter_open(&x, 0))
		return -1;
	other = open(DEVICE, O_RDWR | O_CLOEXEC);
	plane.buffer = pool_export(other, pool_alloc(other, LENGTH));
	attach.fd = plane.buffer;
	burst = served_burst(&self->s, self->model, NULL);
	status = burst_map(burst, NNACCEL_BURST_STATUS, PAGE, PROT_READ);
	if (status && !status->devices && (!before || !xioctl(x.fd, EXPORTER_IMPORT, &attach)) &&
	    import_two(self, &plane) && (before || !xioctl(x.fd, EXPORTER_IMPORT, &attach)))
		devices = status->devices;
	close(burst);
	close(plane.buffer);
	close(other);
	exporter_close(&x);
	return devices;
}

TEST_F(formats, devices_of_planes_are_told)
{
	if (!device_attaches())
		SKIP(return, "the tested device does no DMA");
	EXPECT_EQ(tell_of_device(self, false), 1);
}

TEST_F(formats, devices_that_planes_had_are_told)
{
	if (!device_attaches())
		SKIP(return, "the tested device does no DMA");
	EXPECT_EQ(tell_of_device(self, true), 1);
}

TEST_HARNESS_MAIN
