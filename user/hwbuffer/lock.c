/* SPDX-License-Identifier: MIT */
/*
 * AHardwareBuffer: accesses of the CPU.
 */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "hwbuffer/buffer.h"

/* Tells the exporter; a memfd has none, and no caches to mind. */
static int sync_fd(int fd, uint64_t flags)
{
	struct dma_buf_sync sync = { flags };

	while (ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync)) {
		if (errno == ENOTTY)
			return 0;
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

static int wait_for_fence(int fence)
{
	struct pollfd poller = { .fd = fence, .events = POLLIN };
	int n;

	do {
		n = poll(&poller, 1, -1);
	} while (n < 0 && errno == EINTR);
	close(fence);
	return n < 0 ? -errno : 0;
}

static bool rect_is_inside(const AHardwareBuffer *b, const ARect *rect)
{
	return !rect || (rect->left >= 0 && rect->top >= 0 && rect->left <= rect->right &&
			 rect->top <= rect->bottom && (uint32_t)rect->right <= b->desc.width &&
			 (uint32_t)rect->bottom <= b->desc.height);
}

/* Under the lock. */
static int map(AHardwareBuffer *b)
{
	size_t size = layout_end(&b->layout);
	int prot = PROT_READ | PROT_WRITE;
	void *at;

	if (b->map)
		return 0;
	at = mmap(NULL, size, prot, MAP_SHARED, b->fd, 0);
	/* A camera's may be for reading only. */
	if (at == MAP_FAILED && errno == EACCES) {
		at = mmap(NULL, size, PROT_READ, MAP_SHARED, b->fd, 0);
		b->is_read_only = true;
	}
	if (at == MAP_FAILED)
		return -errno;
	b->map = at;
	return 0;
}

static int begin(AHardwareBuffer *b, uint64_t flags, void **address)
{
	int error;

	pthread_mutex_lock(&b->lock);
	error = map(b);
	if (!error && flags & DMA_BUF_SYNC_WRITE && b->is_read_only)
		error = -EACCES;
	if (!error)
		error = sync_fd(b->fd, DMA_BUF_SYNC_START | flags);
	if (!error) {
		b->locks++;
		b->locked |= flags;
		*address = b->map + b->layout.offset;
	}
	pthread_mutex_unlock(&b->lock);
	return error;
}

int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
			 void **outVirtualAddress)
{
	const uint64_t cpu = AHARDWAREBUFFER_USAGE_CPU_READ_MASK |
			     AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK;
	uint64_t flags = 0;
	int error = 0;

	if (fence >= 0)
		error = wait_for_fence(fence);
	if (!buffer || !outVirtualAddress || !usage || usage & ~cpu || !rect_is_inside(buffer, rect))
		return -EINVAL;
	if (usage & AHARDWAREBUFFER_USAGE_CPU_READ_MASK)
		flags |= DMA_BUF_SYNC_READ;
	if (usage & AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK)
		flags |= DMA_BUF_SYNC_WRITE;
	return error ? error : begin(buffer, flags, outVirtualAddress);
}

int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
				   const ARect *rect, void **outVirtualAddress,
				   int32_t *outBytesPerPixel, int32_t *outBytesPerStride)
{
	int error = AHardwareBuffer_lock(buffer, usage, fence, rect, outVirtualAddress);

	if (error)
		return error;
	if (outBytesPerPixel)
		*outBytesPerPixel = (int32_t)buffer->layout.pixel_bytes;
	if (outBytesPerStride)
		*outBytesPerStride = (int32_t)buffer->layout.stride;
	return 0;
}

int AHardwareBuffer_lockPlanes(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
			       const ARect *rect, AHardwareBuffer_Planes *outPlanes)
{
	void *address;
	int error;

	if (!outPlanes) {
		if (fence >= 0)
			close(fence);
		return -EINVAL;
	}
	error = AHardwareBuffer_lock(buffer, usage, fence, rect, &address);
	if (error)
		return error;
	*outPlanes = (AHardwareBuffer_Planes){
		.planeCount = 1,
		.planes = { { address, buffer->layout.pixel_bytes, buffer->layout.stride } },
	};
	return 0;
}

int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence)
{
	uint64_t flags = 0;
	int error = 0;

	if (!buffer)
		return -EINVAL;
	pthread_mutex_lock(&buffer->lock);
	if (!buffer->locks) {
		error = -EINVAL;
	} else if (--buffer->locks == 0) {
		flags = buffer->locked;
		buffer->locked = 0;
	}
	if (flags)
		error = sync_fd(buffer->fd, DMA_BUF_SYNC_END | flags);
	pthread_mutex_unlock(&buffer->lock);
	if (fence)
		*fence = -1;
	return error;
}
