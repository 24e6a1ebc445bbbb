/* SPDX-License-Identifier: MIT */
/*
 * Tests AHardwareBuffer: allocates and locks buffers, sends buffers to processes, and uses buffers
 * as memory on every device.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <nnaccel/hardware_buffer.h>

#include "tests/runtime_fixture.h"

#define CPU_RW (AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN)

static AHardwareBuffer_Desc description(uint32_t format, uint32_t width, uint32_t height)
{
	return (AHardwareBuffer_Desc){
		.width = width, .height = height, .layers = 1, .format = format, .usage = CPU_RW,
	};
}

static AHardwareBuffer *allocate(uint32_t format, uint32_t width, uint32_t height)
{
	const AHardwareBuffer_Desc desc = description(format, width, height);
	AHardwareBuffer *buffer = NULL;

	assert_int_equal(AHardwareBuffer_allocate(&desc, &buffer), 0);
	return buffer;
}

static uint8_t *lock(AHardwareBuffer *buffer)
{
	void *data = NULL;

	assert_int_equal(AHardwareBuffer_lock(buffer, CPU_RW, -1, NULL, &data), 0);
	return data;
}

static void unlock(AHardwareBuffer *buffer)
{
	int32_t fence = 0;

	assert_int_equal(AHardwareBuffer_unlock(buffer, &fence), 0);
	assert_int_equal(fence, -1);
}

static void test_allocate(void **state)
{
	const AHardwareBuffer_Desc good = description(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 7, 5);
	AHardwareBuffer_Desc wrong[7], desc;
	AHardwareBuffer *buffer;

	(void)state;
	for (int i = 0; i < 7; i++)
		wrong[i] = good;
	wrong[0].width = 0;
	wrong[1].height = 0;
	wrong[2].layers = 2;
	wrong[3].format = AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420;	/* YUV images need even sides */
	wrong[4].format = AHARDWAREBUFFER_FORMAT_BLOB;
	wrong[5].rfu1 = 1;
	wrong[6].usage |= AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT;
	for (int i = 0; i < 7; i++) {
		assert_int_equal(AHardwareBuffer_allocate(&wrong[i], &buffer), -EINVAL);
		assert_int_equal(AHardwareBuffer_isSupported(&wrong[i]), 0);
	}
	assert_int_equal(AHardwareBuffer_isSupported(&good), 1);
	assert_int_equal(AHardwareBuffer_allocate(&good, &buffer), 0);
	AHardwareBuffer_describe(buffer, &desc);
	assert_int_equal(desc.stride, 7);
	desc.stride = 0;
	assert_memory_equal(&desc, &good, sizeof(desc));
	AHardwareBuffer_acquire(buffer);
	AHardwareBuffer_release(buffer);
	/* Zeroed. */
	for (int i = 0; i < 7 * 5 * 4; i++)
		assert_int_equal(lock(buffer)[i], 0);
	AHardwareBuffer_release(buffer);
	AHardwareBuffer_release(NULL);
}

static void test_lock(void **state)
{
	AHardwareBuffer *buffer = allocate(AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, 8, 4);
	const ARect inside = { 1, 1, 8, 4 }, outside = { 0, 0, 9, 4 };
	AHardwareBuffer_Planes planes;
	int32_t pixel = 0, stride = 0;
	int fence[2];
	void *data;

	(void)state;
	assert_int_equal(AHardwareBuffer_unlock(buffer, NULL), -EINVAL);
	assert_int_equal(AHardwareBuffer_lock(buffer, 0, -1, NULL, &data), -EINVAL);
	assert_int_equal(AHardwareBuffer_lock(buffer, AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER, -1,
					      NULL, &data), -EINVAL);
	assert_int_equal(AHardwareBuffer_lock(buffer, CPU_RW, -1, &outside, &data), -EINVAL);
	assert_int_equal(AHardwareBuffer_lock(buffer, CPU_RW, -1, &inside, &data), 0);
	assert_ptr_equal(lock(buffer), data);
	unlock(buffer);
	unlock(buffer);
	assert_int_equal(AHardwareBuffer_unlock(buffer, NULL), -EINVAL);
	assert_int_equal(AHardwareBuffer_lockAndGetInfo(buffer, CPU_RW, -1, NULL, &data, &pixel,
							&stride), 0);
	unlock(buffer);
	assert_int_equal(pixel, 2);
	assert_int_equal(stride, 16);
	/*
	 * The fence may be any file that can be polled; AHardwareBuffer_lockPlanes() closes the
	 * fence.
	 */
	assert_int_equal(pipe(fence), 0);
	assert_int_equal(write(fence[1], "", 1), 1);
	assert_int_equal(AHardwareBuffer_lockPlanes(buffer, CPU_RW, fence[0], NULL, &planes), 0);
	unlock(buffer);
	assert_int_equal(fcntl(fence[0], F_GETFD), -1);
	assert_int_equal(planes.planeCount, 1);
	assert_int_equal(planes.planes[0].rowStride, 16);
	close(fence[1]);
	AHardwareBuffer_release(buffer);
}

/* ---- calls of DMA_BUF_IOCTL_SYNC ---- */

/*
 * Calls of DMA_BUF_IOCTL_SYNC: "w0 " begins an access for writing to file 0, and "W0 " ends the
 * access. An access for reading has the letter "r", and an access for reading and writing the
 * letter "b".
 */
static struct {
	bool is_on;
	char calls[64];
	int fails;			/* call that fails, counted from 1; 0: no call fails */
	int error;
	ino_t first;			/* inode of file 0 */
} sync_calls;

static int note_sync(int fd, uint64_t flags)
{
	size_t length = strlen(sync_calls.calls);
	struct stat st;

	assert_true(length + 4 < sizeof(sync_calls.calls));
	assert_int_equal(fstat(fd, &st), 0);
	sync_calls.calls[length] = " rwb"[flags & DMA_BUF_SYNC_RW];
	if (flags & DMA_BUF_SYNC_END)
		sync_calls.calls[length] += 'A' - 'a';
	sync_calls.calls[length + 1] = st.st_ino == sync_calls.first ? '0' : '1';
	sync_calls.calls[length + 2] = ' ';
	errno = sync_calls.error;
	return sync_calls.fails == (int)length / 3 + 1 ? -1 : 0;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (sync_calls.is_on && request == DMA_BUF_IOCTL_SYNC)
		return note_sync(fd, ((struct dma_buf_sync *)arg)->flags);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/*
 * Locking a buffer begins an access to each of its files, and the last unlock ends all accesses. A
 * lock that fails ends all accesses that the lock has begun.
 */
static void test_exporters(void **state)
{
	enum { READ = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, WRITE = AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY };
	static const struct {
		const char *name;
		uint64_t usages[2];	/* usage of each of two locks; 0: no lock */
		int fails, error;
		int results[2], unlocked;
		const char *calls;
	} cases[] = {
		{ "read", { READ }, 0, 0, { 0 }, 0, "r0 r1 R0 R1 " },
		{ "write", { WRITE }, 0, 0, { 0 }, 0, "w0 w1 W0 W1 " },
		{ "both", { READ | WRITE }, 0, 0, { 0 }, 0, "b0 b1 B0 B1 " },
		{ "one in another", { READ, WRITE }, 0, 0, { 0 }, 0, "r0 r1 w0 w1 B0 B1 " },
		{ "interrupted", { READ }, 1, EINTR, { 0 }, 0, "r0 r0 r1 R0 R1 " },
		{ "again", { READ }, 3, EAGAIN, { 0 }, 0, "r0 r1 R0 R0 R1 " },
		{ "no dma-buf", { READ }, 2, ENOTTY, { 0 }, 0, "r0 r1 R0 R1 " },
		{ "the first fails", { READ }, 1, EIO, { -EIO }, 0, "r0 " },
		{ "the second fails", { WRITE }, 2, EIO, { -EIO }, 0, "w0 w1 W0 " },
		{ "an end fails", { READ }, 3, EIO, { 0 }, -EIO, "r0 r1 R0 R1 " },
		{ "the last end fails", { READ }, 4, EIO, { 0 }, -EIO, "r0 r1 R0 R1 " },
	};
	const struct nna_hardware_image image = {
		.fourcc = 0x3231564e, .width = 4, .height = 2, .num_planes = 2, .usage = CPU_RW,
		.planes = { { .fd = memfd_create("y", MFD_CLOEXEC), .stride = 4 },
			    { .fd = memfd_create("uv", MFD_CLOEXEC), .stride = 4 } },
	};
	AHardwareBuffer *buffer;
	struct stat st;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ftruncate(image.planes[i].fd, 4096), 0);
	assert_int_equal(fstat(image.planes[0].fd, &st), 0);
	assert_int_equal(nna_hardware_buffer_from_planes(&image, &buffer), 0);
	sync_calls.first = st.st_ino;
	sync_calls.is_on = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int locks = 0, result = 0;
		void *data;

		memset(sync_calls.calls, 0, sizeof(sync_calls.calls));
		sync_calls.fails = cases[i].fails;
		sync_calls.error = cases[i].error;
		for (int k = 0; k < 2 && cases[i].usages[k]; k++) {
			assert_int_equal(AHardwareBuffer_lock(buffer, cases[i].usages[k], -1, NULL, &data),
					 cases[i].results[k]);
			locks += !cases[i].results[k];
		}
		while (locks--)
			result = AHardwareBuffer_unlock(buffer, NULL);
		assert_int_equal(result, cases[i].unlocked);
		if (strcmp(sync_calls.calls, cases[i].calls))
			fail_msg("%s: %s", cases[i].name, sync_calls.calls);
		assert_int_equal(AHardwareBuffer_unlock(buffer, NULL), -EINVAL);
	}
	sync_calls.is_on = false;
	AHardwareBuffer_release(buffer);
	close(image.planes[0].fd);
	close(image.planes[1].fd);
}

/*
 * Locking a part of a buffer fails unless the part lies within the buffer. Locking a part that is
 * the whole buffer succeeds.
 */
static void test_parts(void **state)
{
	static const struct {
		ARect rect;
		int result;
	} cases[] = {
		{ { 0, 0, 8, 4 }, 0 }, { { 8, 4, 8, 4 }, 0 }, { { 3, 2, 3, 2 }, 0 },
		{ { -1, 0, 8, 4 }, -EINVAL }, { { 0, -1, 8, 4 }, -EINVAL }, { { 4, 0, 3, 4 }, -EINVAL },
		{ { 0, 3, 8, 2 }, -EINVAL }, { { 0, 0, 9, 4 }, -EINVAL }, { { 0, 0, 8, 5 }, -EINVAL },
	};
	AHardwareBuffer *buffer = allocate(AHARDWAREBUFFER_FORMAT_R8_UNORM, 8, 4);
	AHardwareBuffer_Planes planes;
	void *data;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(AHardwareBuffer_lock(buffer, CPU_RW, -1, &cases[i].rect, &data),
				 cases[i].result);
		if (!cases[i].result)
			unlock(buffer);
		assert_int_equal(AHardwareBuffer_lockPlanes(buffer, CPU_RW, -1, &cases[i].rect, &planes),
				 cases[i].result);
		if (!cases[i].result)
			unlock(buffer);
	}
	AHardwareBuffer_release(buffer);
}

static int new_file(size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void test_from_fd(void **state)
{
	const struct {
		uint32_t width, height, pixels, stride;
		uint64_t offset;
		int error;
	} cases[] = {
		{ 10, 10, 0, 0, 0, 0 },
		{ 10, 10, 11, 0, 4, 0 },
		{ 10, 10, 0, 64, 0, 0 },
		{ 10, 10, 0, 29, 0, -EINVAL },
		{ 10, 10, 9, 0, 0, -EINVAL },
		{ 10, 101, 0, 41, 0, -EINVAL },
		{ 10, 10, 0, 0, 3797, -EINVAL },
		{ 10, 10, 0, 0, 3796, 0 },
		{ 10, 10, 0, 0, UINT64_MAX, -EINVAL },
		{ UINT32_MAX, 1, 0, 0, 0, -EINVAL },
		{ 1, UINT32_MAX, UINT32_MAX, 0, 0, -EINVAL },
	};
	int fd = new_file(4096);

	(void)state;
	assert_int_equal(lseek(fd, 1234, SEEK_SET), 1234);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AHardwareBuffer_Desc desc = description(AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM,
							cases[i].width, cases[i].height);
		struct nna_hardware_layout layout;
		AHardwareBuffer *buffer;

		desc.stride = cases[i].pixels;
		assert_int_equal(nna_hardware_buffer_from_fd(fd, &desc, cases[i].offset,
							     cases[i].stride, &buffer),
				 cases[i].error);
		if (cases[i].error)
			continue;
		nna_hardware_buffer_layout(buffer, &layout);
		assert_int_equal(layout.planes[0].row_bytes, 30);
		assert_int_equal(layout.planes[0].stride, cases[i].stride ? cases[i].stride :
				 cases[i].pixels ? 3 * cases[i].pixels : 30);
		assert_true(lock(buffer) != NULL);
		unlock(buffer);
		AHardwareBuffer_release(buffer);
	}
	/* The buffer functions do not change the application's offset in the file. */
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 1234);
	close(fd);
	AHardwareBuffer_Desc desc = description(AHARDWAREBUFFER_FORMAT_BLOB, 10, 1);
	AHardwareBuffer *buffer;

	assert_int_equal(nna_hardware_buffer_from_fd(-1, &desc, 0, 0, &buffer), -EBADF);
}

static void test_sockets(void **state)
{
	AHardwareBuffer *buffer = allocate(AHARDWAREBUFFER_FORMAT_R8_UNORM, 9, 3), *again;
	AHardwareBuffer_Desc a, b;
	uint64_t id_a, id_b;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(AHardwareBuffer_sendHandleToUnixSocket(buffer, ends[0]), 0);
	assert_int_equal(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &again), 0);
	AHardwareBuffer_describe(buffer, &a);
	AHardwareBuffer_describe(again, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	lock(buffer)[5] = 42;
	unlock(buffer);
	assert_int_equal(lock(again)[5], 42);
	unlock(again);
	assert_int_equal(AHardwareBuffer_getId(buffer, &id_a), 0);
	assert_int_equal(AHardwareBuffer_getId(again, &id_b), 0);
	assert_true(id_a == id_b);
	AHardwareBuffer_release(again);
	/*
	 * Receiving a buffer fails if the received data are not a buffer, or if the sender has
	 * closed the socket.
	 */
	assert_int_equal(write(ends[0], "no buffer", 9), 9);
	shutdown(ends[0], SHUT_WR);
	assert_int_equal(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &again), -EINVAL);
	assert_int_equal(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &again), -EINVAL);
	close(ends[0]);
	close(ends[1]);
	AHardwareBuffer_release(buffer);
}

/*
 * A received buffer's memory must be sealed. If the sender could truncate the memory, an access
 * would kill the receiving process.
 */
static void test_unsealed_memory_is_not_received(void **state)
{
	AHardwareBuffer_Desc desc = { .width = 64, .height = 64, .layers = 1,
				      .format = AHARDWAREBUFFER_FORMAT_R8_UNORM,
				      .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN };
	static const int seals[] = { 0, F_SEAL_GROW, F_SEAL_SHRINK };
	AHardwareBuffer *buffer, *again;
	int ends[2], file;

	(void)state;
	for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
		file = memfd_create("buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(file, 64 * 64), 0);
		assert_int_equal(fcntl(file, F_ADD_SEALS, seals[i]), 0);
		assert_int_equal(nna_hardware_buffer_from_fd(file, &desc, 0, 0, &buffer), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_int_equal(AHardwareBuffer_sendHandleToUnixSocket(buffer, ends[0]), 0);
		assert_int_equal(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &again),
				 seals[i] == F_SEAL_SHRINK ? 0 : -EINVAL);
		if (seals[i] == F_SEAL_SHRINK)
			AHardwareBuffer_release(again);
		AHardwareBuffer_release(buffer);
		close(ends[0]);
		close(ends[1]);
		close(file);
	}
	/* A file on a disk cannot be sealed against truncation. */
	file = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (file < 0)
		skip();
	assert_int_equal(ftruncate(file, 64 * 64), 0);
	assert_int_equal(nna_hardware_buffer_from_fd(file, &desc, 0, 0, &buffer), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(AHardwareBuffer_sendHandleToUnixSocket(buffer, ends[0]), 0);
	assert_int_equal(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &again), -EINVAL);
	AHardwareBuffer_release(buffer);
	close(ends[0]);
	close(ends[1]);
	close(file);
}

/* ---- buffers as memory of models ---- */

#define WIDTH	6
#define HEIGHT	4
#define PIXEL	4
#define BYTES	(WIDTH * HEIGHT * PIXEL)

/* Makes a model that copies bytes: a RELU of shape [1, height, row_bytes / PIXEL, PIXEL]. */
static ANeuralNetworksModel *identity_of(uint32_t height, uint32_t row_bytes)
{
	const uint32_t dims[] = { 1, height, row_bytes / PIXEL, PIXEL }, in[] = { 0 }, out[] = { 1 };
	const ANeuralNetworksOperandType type = {
		ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 4, dims, 1.0f, 0,
	};
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_ok(ANeuralNetworksModel_addOperand(model, &type));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, in, 1, out));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, out));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static ANeuralNetworksCompilation *compile_on(const ANeuralNetworksDevice *device,
					      ANeuralNetworksModel *model)
{
	ANeuralNetworksCompilation *compilation;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	return compilation;
}

static ANeuralNetworksModel *identity(void)
{
	return identity_of(HEIGHT, WIDTH * PIXEL);
}

/* Compiles the model for each device, calls act() with each compilation, and frees the model. */
static void on_all_devices_with(ANeuralNetworksModel *model,
				void (*act)(ANeuralNetworksCompilation *compilation))
{
	ANeuralNetworksDevice *device;
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	for (uint32_t i = 0; i < count; i++) {
		ANeuralNetworksCompilation *compilation;
		const char *name;

		assert_ok(ANeuralNetworks_getDevice(i, &device));
		assert_ok(ANeuralNetworksDevice_getName(device, &name));
		print_message("on %s\n", name);
		compilation = compile_on(device, model);
		act(compilation);
		ANeuralNetworksCompilation_free(compilation);
	}
	ANeuralNetworksModel_free(model);
}

static void on_all_devices(void (*act)(ANeuralNetworksCompilation *compilation))
{
	on_all_devices_with(identity(), act);
}

static AHardwareBuffer *image(int fd, uint64_t offset, uint32_t stride)
{
	const AHardwareBuffer_Desc desc = description(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, WIDTH,
						      HEIGHT);
	AHardwareBuffer *buffer;

	assert_int_equal(nna_hardware_buffer_from_fd(fd, &desc, offset, stride, &buffer), 0);
	return buffer;
}

/* Makes a memory of the buffer, and releases the caller's reference to the buffer. */
static ANeuralNetworksMemory *memory_of(AHardwareBuffer *buffer)
{
	ANeuralNetworksMemory *memory = NULL;

	assert_ok(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory));
	AHardwareBuffer_release(buffer);
	return memory;
}

static void run_images(ANeuralNetworksCompilation *compilation, uint32_t stride)
{
	enum { FROM = 8, TO = 2000, SIZE = 4096 };
	int fd = new_file(SIZE);
	uint8_t *data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ANeuralNetworksMemory *from = memory_of(image(fd, FROM, stride));
	ANeuralNetworksMemory *to = memory_of(image(fd, TO, stride));
	ANeuralNetworksExecution *execution;

	assert_ptr_not_equal(data, MAP_FAILED);
	memset(data, 0xee, SIZE);
	for (uint32_t i = 0; i < BYTES; i++)
		data[FROM + i / (WIDTH * PIXEL) * stride + i % (WIDTH * PIXEL)] = (uint8_t)(i + 1);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, from, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, to, 0, 0));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	for (uint32_t i = 0; i < HEIGHT * stride; i++) {
		uint32_t x = i % stride, y = i / stride;

		assert_int_equal(data[TO + i], x < WIDTH * PIXEL ?
				 (uint8_t)(y * WIDTH * PIXEL + x + 1) : 0xee);
	}
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(from);
	ANeuralNetworksMemory_free(to);
	munmap(data, SIZE);
	close(fd);
}

static void use_images(ANeuralNetworksCompilation *compilation)
{
	run_images(compilation, WIDTH * PIXEL);
	run_images(compilation, 64);
}

static void test_images(void **state)
{
	(void)state;
	on_all_devices(use_images);
}

/* ---- planes ---- */

#define P_WIDTH		8
#define P_HEIGHT	4
#define P_FILE		8192
#define P_GAP		0xee
#define FOURCC(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/*
 * The image formats that Documentation/memory.rst lists. The array `planes` has, for each plane,
 * the number of rows and the number of bytes of a row.
 */
static const struct plane_case {
	const char *name;
	uint32_t fourcc, format, num_planes;
	struct { uint32_t rows, row_bytes; } planes[NNA_HARDWARE_PLANES];
	uint32_t size;
	/*
	 * Expected planes of Y, Cb and Cr from AHardwareBuffer_lockPlanes(), with the number of
	 * bytes before the first sample and the distance of two samples.
	 */
	struct { uint32_t plane, offset, step; } samples[3];
} plane_cases[] = {
	{ "NV12", FOURCC('N', 'V', '1', '2'), AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 2,
	  { { 4, 8 }, { 2, 8 } }, 48, { { 0, 0, 1 }, { 1, 0, 2 }, { 1, 1, 2 } } },
	{ "NV21", FOURCC('N', 'V', '2', '1'), AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 2,
	  { { 4, 8 }, { 2, 8 } }, 48, { { 0, 0, 1 }, { 1, 1, 2 }, { 1, 0, 2 } } },
	{ "YUV420", FOURCC('Y', 'U', '1', '2'), AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 3,
	  { { 4, 8 }, { 2, 4 }, { 2, 4 } }, 48, { { 0, 0, 1 }, { 1, 0, 1 }, { 2, 0, 1 } } },
	{ "YVU420", FOURCC('Y', 'V', '1', '2'), AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 3,
	  { { 4, 8 }, { 2, 4 }, { 2, 4 } }, 48, { { 0, 0, 1 }, { 2, 0, 1 }, { 1, 0, 1 } } },
	{ "P010", FOURCC('P', '0', '1', '0'), AHARDWAREBUFFER_FORMAT_YCbCr_P010, 2,
	  { { 4, 16 }, { 2, 16 } }, 96, { { 0, 0, 2 }, { 1, 0, 4 }, { 1, 2, 4 } } },
	{ "YUYV", FOURCC('Y', 'U', 'Y', 'V'), NNA_HARDWARE_FORMAT_YUYV, 1,
	  { { 4, 16 } }, 64, { { 0, 0, 2 } } },
};

/* The planes of an image are adjacent, have gaps between them, or lie in separate files. */
enum places { DENSE, GAPS, FILES, LAST_PLACES };

struct planar {
	int fds[NNA_HARDWARE_PLANES];
	uint8_t *data[NNA_HARDWARE_PLANES];	/* address at which each plane's file is mapped */
	AHardwareBuffer *buffer;
	struct nna_hardware_image image;
};

/* Makes a planar image whose files are filled with P_GAP. */
static void planar_open(struct planar *p, const struct plane_case *c, enum places places)
{
	uint64_t at = 0;

	p->image = (struct nna_hardware_image){
		.fourcc = c->fourcc, .width = P_WIDTH, .height = P_HEIGHT,
		.num_planes = c->num_planes, .usage = CPU_RW,
	};
	for (uint32_t i = 0; i < c->num_planes; i++) {
		struct nna_hardware_plane *plane = &p->image.planes[i];

		if (i && places != FILES) {
			p->fds[i] = fcntl(p->fds[0], F_DUPFD_CLOEXEC, 0);
			p->data[i] = p->data[0];
		} else {
			/* Memory that is sent through a socket must be sealed against shrinking. */
			p->fds[i] = memfd_create("plane", MFD_CLOEXEC | MFD_ALLOW_SEALING);
			assert_int_equal(ftruncate(p->fds[i], P_FILE), 0);
			assert_int_equal(fcntl(p->fds[i], F_ADD_SEALS, F_SEAL_SHRINK), 0);
			p->data[i] = mmap(NULL, P_FILE, PROT_READ | PROT_WRITE, MAP_SHARED,
					  p->fds[i], 0);
			assert_ptr_not_equal(p->data[i], MAP_FAILED);
			memset(p->data[i], P_GAP, P_FILE);
		}
		plane->fd = p->fds[i];
		plane->stride = c->planes[i].row_bytes + (places == DENSE ? 0 : 5 + i);
		plane->offset = places == FILES ? 100 * i + 3 : at;
		at += (uint64_t)plane->stride * c->planes[i].rows + (places == DENSE ? 0 : 4096);
		if (places == GAPS)
			at = at % P_FILE;
	}
	assert_int_equal(nna_hardware_buffer_from_planes(&p->image, &p->buffer), 0);
}

static void planar_close(struct planar *p, enum places places)
{
	for (uint32_t i = 0; i < p->image.num_planes; i++) {
		if (!i || places == FILES)
			munmap(p->data[i], P_FILE);
		close(p->fds[i]);
	}
}

static uint8_t *planar_row(const struct planar *p, uint32_t plane, uint32_t row)
{
	return p->data[plane] + p->image.planes[plane].offset +
	       row * p->image.planes[plane].stride;
}

/*
 * If `set` is true, writes increasing numbers, from `from` on, to the planes' bytes in the order of
 * the tensor. If `set` is false, checks that the planes' bytes are increasing numbers from `from`
 * on.
 */
static void planar_bytes(const struct planar *p, const struct plane_case *c, uint8_t from, bool set)
{
	for (uint32_t i = 0; i < c->num_planes; i++)
		for (uint32_t y = 0; y < c->planes[i].rows; y++)
			for (uint32_t x = 0; x < c->planes[i].row_bytes; x++, from++) {
				if (set)
					planar_row(p, i, y)[x] = from;
				else
					assert_int_equal(planar_row(p, i, y)[x], from);
			}
}

/* Counts the bytes of the planes' files that still have the value P_GAP. */
static size_t planar_gaps(const struct planar *p, enum places places)
{
	size_t count = 0;

	for (uint32_t i = 0; i < (places == FILES ? p->image.num_planes : 1); i++)
		for (size_t k = 0; k < P_FILE; k++)
			count += p->data[i][k] == P_GAP;
	return count;
}

static const struct plane_case *plane_case;

static void run_planes(ANeuralNetworksCompilation *compilation, enum places from_places,
		       enum places to_places, bool in_burst)
{
	struct planar from, to;
	ANeuralNetworksMemory *in, *out;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst;
	size_t gaps;

	planar_open(&from, plane_case, from_places);
	planar_open(&to, plane_case, to_places);
	planar_bytes(&from, plane_case, 1, true);
	gaps = planar_gaps(&to, to_places);
	in = memory_of(from.buffer);
	out = memory_of(to.buffer);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, in, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, out, 0, 0));
	assert_ok(ANeuralNetworksBurst_create(compilation, &burst));
	if (in_burst)
		assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
	else
		assert_ok(ANeuralNetworksExecution_compute(execution));
	ANeuralNetworksBurst_free(burst);
	planar_bytes(&to, plane_case, 1, false);
	assert_int_equal(planar_gaps(&to, to_places), gaps - plane_case->size);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(in);
	ANeuralNetworksMemory_free(out);
	planar_close(&from, from_places);
	planar_close(&to, to_places);
}

static void use_planes(ANeuralNetworksCompilation *compilation)
{
	for (int i = DENSE; i < LAST_PLACES; i++)
		for (int k = 0; k < 2; k++)
			run_planes(compilation, i, (i + 1) % LAST_PLACES, k);
}

static void test_planes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plane_cases); i++) {
		plane_case = &plane_cases[i];
		print_message("%s\n", plane_case->name);
		on_all_devices_with(identity_of(plane_case->size / 8, 8), use_planes);
	}
}

static void test_lock_planes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plane_cases); i++) {
		const struct plane_case *c = &plane_cases[i];
		uint32_t num = c->num_planes == 1 ? 1 : 3;
		AHardwareBuffer_Planes planes;
		AHardwareBuffer *again;
		AHardwareBuffer_Desc desc;
		struct planar p;
		int ends[2];

		planar_open(&p, c, FILES);
		planar_bytes(&p, c, 1, true);
		AHardwareBuffer_describe(p.buffer, &desc);
		assert_int_equal(desc.format, c->format);
		/* Send the buffer, which has a file for each plane, through a socket. */
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_int_equal(AHardwareBuffer_sendHandleToUnixSocket(p.buffer, ends[0]), 0);
		assert_int_equal(AHardwareBuffer_recvHandleFromUnixSocket(ends[1], &again), 0);
		close(ends[0]);
		close(ends[1]);
		assert_int_equal(AHardwareBuffer_lockPlanes(again, CPU_RW, -1, NULL, &planes), 0);
		assert_int_equal(planes.planeCount, num);
		for (uint32_t k = 0; k < num; k++) {
			uint32_t plane = c->samples[k].plane;

			assert_int_equal(*(uint8_t *)planes.planes[k].data,
					 planar_row(&p, plane, 0)[c->samples[k].offset]);
			assert_int_equal(planes.planes[k].pixelStride, c->samples[k].step);
			assert_int_equal(planes.planes[k].rowStride,
					 p.image.planes[plane].stride);
		}
		unlock(again);
		AHardwareBuffer_release(again);
		AHardwareBuffer_release(p.buffer);
		planar_close(&p, FILES);
	}
}

/*
 * For the flexible YUV format, AHardwareBuffer_allocate() makes an NV12 image with two adjacent
 * planes. The image's file has no room for more planes.
 */
static void test_allocate_planes(void **state)
{
	AHardwareBuffer *buffer = allocate(AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 6, 4);
	struct nna_hardware_layout l;
	struct stat st;

	(void)state;
	nna_hardware_buffer_layout(buffer, &l);
	assert_int_equal(l.fourcc, FOURCC('N', 'V', '1', '2'));
	assert_int_equal(l.num_planes, 2);
	assert_int_equal(l.size, 36);
	assert_int_equal(l.planes[1].offset, 24);
	assert_int_equal(l.planes[1].stride, 6);
	assert_int_equal(fstat(l.planes[0].fd, &st), 0);
	assert_in_range(st.st_size, 36, sysconf(_SC_PAGESIZE));
	AHardwareBuffer_release(buffer);
}

static void test_wrong_planes(void **state)
{
	const uint64_t intel_x_tiled = UINT64_C(1) << 56 | 1, invalid = (UINT64_C(1) << 56) - 1;
	struct nna_hardware_image good = {
		.fourcc = FOURCC('N', 'V', '1', '2'), .width = 8, .height = 4, .num_planes = 2,
	};
	struct nna_hardware_image wrong[12];
	static const int errors[12] = {
		-EOPNOTSUPP, -EOPNOTSUPP, -EOPNOTSUPP, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL,
		-EINVAL, -EINVAL, -EBADF, -EINVAL,
	};
	AHardwareBuffer *buffer;
	int fd = new_file(48);

	(void)state;
	good.planes[0] = (struct nna_hardware_plane){ .fd = fd, .stride = 8 };
	good.planes[1] = (struct nna_hardware_plane){ .fd = fd, .stride = 8, .offset = 32 };
	for (int i = 0; i < 12; i++)
		wrong[i] = good;
	wrong[0].modifier = intel_x_tiled;
	wrong[1].modifier = invalid;
	wrong[2].fourcc = FOURCC('N', 'V', '1', '6');
	wrong[3].width = 7;
	wrong[4].height = 3;
	wrong[5].num_planes = 1;
	wrong[6].num_planes = 3;
	wrong[7].planes[0].stride = 7;
	wrong[8].planes[1].offset = 33;
	wrong[9].planes[1].offset = UINT64_MAX;
	wrong[10].planes[1].fd = -1;
	wrong[11].usage = AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT;
	for (int i = 0; i < 12; i++)
		assert_int_equal(nna_hardware_buffer_from_planes(&wrong[i], &buffer), errors[i]);
	assert_int_equal(nna_hardware_buffer_from_planes(&good, &buffer), 0);
	AHardwareBuffer_release(buffer);
	close(fd);
}

/* ---- buffers of AHardwareBuffer_allocate() ---- */

static void use_allocated(ANeuralNetworksCompilation *compilation)
{
	AHardwareBuffer *in = allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, WIDTH, HEIGHT);
	AHardwareBuffer *out = allocate(AHARDWAREBUFFER_FORMAT_BLOB, BYTES + 100, 1);
	ANeuralNetworksMemory *from, *to;
	ANeuralNetworksExecution *execution;
	uint8_t *data = lock(in);

	for (uint32_t i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i + 7);
	unlock(in);
	AHardwareBuffer_acquire(out);
	from = memory_of(in);
	to = memory_of(out);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, from, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, to, 64, BYTES));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	data = lock(out);
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(data[64 + i], (uint8_t)(i + 7));
	assert_int_equal(data[63], 0);
	unlock(out);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(from);
	ANeuralNetworksMemory_free(to);
	AHardwareBuffer_release(out);
}

static void test_allocated(void **state)
{
	(void)state;
	on_all_devices(use_allocated);
}

static void test_refusals(void **state)
{
	static const uint32_t dims[] = { 1, HEIGHT, WIDTH, PIXEL };
	const ANeuralNetworksOperandType type = {
		ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 4, dims, 1.0f, 0,
	};
	ANeuralNetworksMemory *good, *small, *blob, *none;
	ANeuralNetworksModel *model = identity(), *constants;
	ANeuralNetworksCompilation *compilation = compile_on(cpu_device(), model);
	ANeuralNetworksExecution *execution;

	(void)state;
	good = memory_of(allocate(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, WIDTH, HEIGHT));
	small = memory_of(allocate(AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, WIDTH, HEIGHT));
	blob = memory_of(allocate(AHARDWAREBUFFER_FORMAT_BLOB, BYTES, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemory_createFromAHardwareBuffer(NULL, &none));
	assert_null(none);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, good,
									    0, BYTES));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, small,
									    0, 0));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, blob,
									    0, 0));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, blob,
									    1, BYTES));
	ANeuralNetworksExecution_free(execution);
	assert_ok(ANeuralNetworksModel_create(&constants));
	assert_ok(ANeuralNetworksModel_addOperand(constants, &type));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(constants, 0, good, 0,
									       BYTES));
	assert_ok(ANeuralNetworksModel_setOperandValueFromMemory(constants, 0, blob, 0, BYTES));
	assert_result(UNMAPPABLE, ANeuralNetworksMemory_copy(good, blob));
	assert_result(UNMAPPABLE, ANeuralNetworksMemory_copy(blob, small));
	assert_result(UNMAPPABLE, ANeuralNetworksMemory_copy(small, blob));
	ANeuralNetworksModel_free(constants);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksMemory_free(good);
	ANeuralNetworksMemory_free(small);
	ANeuralNetworksMemory_free(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocate),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_exporters),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_from_fd),
		cmocka_unit_test(test_unsealed_memory_is_not_received),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_lock_planes),
		cmocka_unit_test(test_allocate_planes),
		cmocka_unit_test(test_wrong_planes),
		cmocka_unit_test(test_allocated),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("hardware buffers", tests, NULL, NULL);
}
