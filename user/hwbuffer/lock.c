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

/*
 * Notifies a dma-buf's exporter of an access; a memfd has no exporter and needs no cache
 * maintenance.
 */
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

/* Maps a file of a buffer; the caller holds the buffer's lock. */
static int map(AHardwareBuffer *b, struct hardware_file *file)
{
	int prot = PROT_READ | PROT_WRITE;
	void *at;

	if (file->map)
		return 0;
	at = mmap(NULL, file->size, prot, MAP_SHARED, file->fd, 0);
	/* Map for reading only, because a camera's buffer may be read-only. */
	if (at == MAP_FAILED && errno == EACCES) {
		at = mmap(NULL, file->size, PROT_READ, MAP_SHARED, file->fd, 0);
		b->is_read_only = true;
	}
	if (at == MAP_FAILED)
		return -errno;
	file->map = at;
	return 0;
}

/*
 * Notifies the exporters of the first `count` files. At the end of an access, notifies all
 * exporters, even after an error. Returns 0 or the error of the first exporter that failed.
 */
static int sync_files(const AHardwareBuffer *b, uint32_t count, uint64_t flags)
{
	int error = 0, one;

	for (uint32_t i = 0; i < count && (!error || flags & DMA_BUF_SYNC_END); i++) {
		one = sync_fd(b->files[i].fd, flags);
		if (one && !(flags & DMA_BUF_SYNC_END))
			sync_files(b, i, flags | DMA_BUF_SYNC_END);
		error = error ? error : one;
	}
	return error;
}

static int begin(AHardwareBuffer *b, uint64_t flags, void *data[NNA_HARDWARE_PLANES])
{
	int error = 0;

	pthread_mutex_lock(&b->lock);
	for (uint32_t i = 0; i < b->num_files && !error; i++)
		error = map(b, &b->files[i]);
	if (!error && flags & DMA_BUF_SYNC_WRITE && b->is_read_only)
		error = -EACCES;
	if (!error)
		error = sync_files(b, b->num_files, DMA_BUF_SYNC_START | flags);
	if (!error) {
		b->locks++;
		b->locked |= flags;
		for (uint32_t i = 0; i < b->layout.num_planes; i++)
			data[i] = b->files[b->file_of[i]].map + b->layout.planes[i].offset;
	}
	pthread_mutex_unlock(&b->lock);
	return error;
}

/*
 * Returns the flags of DMA_BUF_IOCTL_SYNC for a usage; 0 if the usage has no CPU access or has
 * other bits.
 */
static uint64_t sync_flags(uint64_t usage)
{
	const uint64_t cpu = AHARDWAREBUFFER_USAGE_CPU_READ_MASK |
			     AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK;

	if (usage & ~cpu)
		return 0;
	return (usage & AHARDWAREBUFFER_USAGE_CPU_READ_MASK ? DMA_BUF_SYNC_READ : 0) |
	       (usage & AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK ? DMA_BUF_SYNC_WRITE : 0);
}

int nna_hardware_buffer_lock(AHardwareBuffer *buffer, uint64_t usage,
			     void *data[NNA_HARDWARE_PLANES])
{
	uint64_t flags = sync_flags(usage);

	return buffer && data && flags ? begin(buffer, flags, data) : -EINVAL;
}

/*
 * Waits for `fence`, closes `fence` even on failure, and locks the buffer. `out` is the
 * application's output pointer, or NULL, which is an error.
 */
static int lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
		const void *out, void *data[NNA_HARDWARE_PLANES])
{
	const int error = fence >= 0 ? wait_for_fence(fence) : 0;

	if (!buffer || !out || !sync_flags(usage) || !rect_is_inside(buffer, rect))
		return -EINVAL;
	return error ? error : begin(buffer, sync_flags(usage), data);
}

int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
			 void **outVirtualAddress)
{
	void *data[NNA_HARDWARE_PLANES];
	const int error = lock(buffer, usage, fence, rect, outVirtualAddress, data);

	if (!error)
		*outVirtualAddress = data[0];
	return error;
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
		*outBytesPerStride = (int32_t)buffer->layout.planes[0].stride;
	return 0;
}

/*
 * Fills in the NDK's AHardwareBuffer_Planes for a locked image. If an image has two planes, the
 * second plane has Cb and Cr; NV21 has Cr first. In an image of three planes, each plane has one
 * component, and YVU420 has Cr first.
 */
static void tell_planes(const AHardwareBuffer *b, void *const data[NNA_HARDWARE_PLANES],
			AHardwareBuffer_Planes *out)
{
	const struct nna_hardware_layout *l = &b->layout;
	bool cr_first = layout_has_cr_first(l->fourcc);

	*out = (AHardwareBuffer_Planes){
		.planeCount = l->num_planes == 1 ? 1 : 3,
		.planes = { { data[0], l->pixel_bytes, l->planes[0].stride } },
	};
	for (uint32_t i = 1; i < out->planeCount; i++) {
		/* The position of colour component i in memory: 1 or 2. */
		uint32_t nth = cr_first ? 3 - i : i;
		uint32_t of = l->num_planes == 2 ? 1 : nth;
		uint8_t *first = data[of];

		if (l->num_planes == 2)
			first += (nth - 1) * l->pixel_bytes;
		out->planes[i] = (AHardwareBuffer_Plane){
			first, l->num_planes == 2 ? 2 * l->pixel_bytes : l->pixel_bytes,
			l->planes[of].stride,
		};
	}
}

int AHardwareBuffer_lockPlanes(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
			       const ARect *rect, AHardwareBuffer_Planes *outPlanes)
{
	void *data[NNA_HARDWARE_PLANES];
	const int error = lock(buffer, usage, fence, rect, outPlanes, data);

	if (!error)
		tell_planes(buffer, data, outPlanes);
	return error;
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
		error = sync_files(buffer, buffer->num_files, DMA_BUF_SYNC_END | flags);
	pthread_mutex_unlock(&buffer->lock);
	if (fence)
		*fence = -1;
	return error;
}
