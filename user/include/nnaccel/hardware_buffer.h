/* SPDX-License-Identifier: MIT */
/*
 * What Linux has besides of AHardwareBuffer: from and to the dma-buf that it is.
 */
#ifndef NNACCEL_HARDWARE_BUFFER_H
#define NNACCEL_HARDWARE_BUFFER_H

#include <android/hardware_buffer.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* How a buffer's bytes lie. */
struct nna_hardware_layout {
	uint32_t fourcc;	/* DRM_FORMAT_; 0: BLOB */
	uint32_t pixel_bytes;	/* BLOB: 1 */
	uint32_t row_bytes;	/* of a row's pixels */
	uint32_t stride;	/* bytes from one row to the next */
	uint32_t height;
	uint64_t offset;	/* bytes into the file to the first row */
};

/*
 * A buffer of a dma-buf (of a camera, a display, a heap), or of a memfd: `desc` says what is in
 * it, from `offset` on; `stride` is bytes from one row to the next, 0: what desc->stride says in
 * pixels, or without that no more than a row. The fd stays the caller's. 0, -EBADF, -ENOMEM,
 * -EINVAL: a description of no such buffer, or of more than the file has.
 */
int nna_hardware_buffer_from_fd(int fd, const AHardwareBuffer_Desc *desc, uint64_t offset,
				uint32_t stride, AHardwareBuffer **buffer);

/* Its file, which stays the buffer's. */
int nna_hardware_buffer_fd(const AHardwareBuffer *buffer);

void nna_hardware_buffer_layout(const AHardwareBuffer *buffer, struct nna_hardware_layout *layout);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_HARDWARE_BUFFER_H */
