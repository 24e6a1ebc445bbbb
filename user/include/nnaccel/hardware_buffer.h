/* SPDX-License-Identifier: MIT */
/* AHardwareBuffer on Linux: makes buffers from dma-bufs, and returns the dma-bufs of buffers. */
#ifndef NNACCEL_HARDWARE_BUFFER_H
#define NNACCEL_HARDWARE_BUFFER_H

#include <android/hardware_buffer.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Maximum number of an image's planes. */
#define NNA_HARDWARE_PLANES	4

/*
 * The value for YUYV in AHardwareBuffer_Desc's `format`. The NDK has no name for this value, which
 * is Android's HAL_PIXEL_FORMAT_YCBCR_422_I.
 */
#define NNA_HARDWARE_FORMAT_YUYV	0x14

/* A plane of an image. */
struct nna_hardware_plane {
	int fd;			/* a dma-buf or a memfd; several planes may share one fd */
	uint32_t stride;	/* distance from one row to the next in bytes */
	uint64_t offset;	/* byte offset of the first row in the file */
	uint32_t row_bytes;	/* size of a row's pixels in bytes */
	uint32_t rows;
};

/* The layout of a buffer's bytes. */
struct nna_hardware_layout {
	uint32_t fourcc;	/* DRM_FORMAT_; 0: BLOB */
	uint32_t width;		/* pixels; BLOB: bytes */
	uint32_t height;
	uint32_t pixel_bytes;	/* size of a pixel in the first plane in bytes; 1 for BLOB */
	uint32_t num_planes;
	uint64_t size;		/* size of all planes' pixels in bytes: the size of the tensor */
	struct nna_hardware_plane planes[NNA_HARDWARE_PLANES];
};

/*
 * Makes a buffer from a dma-buf (from a camera, a display or a dma-buf heap) or a memfd. `desc`
 * describes the file's contents from `offset` on. `stride` is the distance between rows of the
 * first plane in bytes. If `stride` is 0, rows are desc->stride pixels apart; if `stride` and
 * desc->stride are 0, rows have no gaps. The second and later planes follow the first plane without
 * a gap, with strides that depend on the first plane's stride. The caller still owns `fd`. Returns
 * 0, -EBADF, -ENOMEM, or -EINVAL for a description that is wrong or exceeds the file.
 */
int nna_hardware_buffer_from_fd(int fd, const AHardwareBuffer_Desc *desc, uint64_t offset,
				uint32_t stride, AHardwareBuffer **buffer);

/*
 * An image of a camera, a decoder or a display, in the terms of V4L2 and DRM. An image has the
 * planes that DRM defines for the fourcc, in DRM's order. The caller sets fd, stride and offset of
 * each plane; row_bytes and rows are ignored. Allowed formats are those of AHardwareBuffer with one
 * plane, YUYV, NV12, NV21, YUV420, YVU420 and P010. The width must be even for YUYV; width and
 * height must be even for NV12, NV21, YUV420, YVU420 and P010.
 */
struct nna_hardware_image {
	uint32_t fourcc;	/* DRM_FORMAT_ */
	uint32_t width;		/* pixels */
	uint32_t height;
	uint32_t num_planes;	/* number of planes of the fourcc */
	uint64_t modifier;	/* DRM_FORMAT_MOD_LINEAR: 0 */
	uint64_t usage;		/* AHARDWAREBUFFER_USAGE_ */
	struct nna_hardware_plane planes[NNA_HARDWARE_PLANES];
};

/*
 * Makes a buffer from an image. The caller still owns the planes' fds. Returns 0, -EBADF or
 * -ENOMEM. Returns -EOPNOTSUPP for an unknown fourcc or a modifier that is not linear. Returns
 * -EINVAL for a width or height that must be even but is odd, or for a stride shorter than a row.
 * Returns -EINVAL for a wrong number of planes, or a plane that exceeds its file.
 */
int nna_hardware_buffer_from_planes(const struct nna_hardware_image *image,
				    AHardwareBuffer **buffer);

/* Returns the file of the first plane, which the buffer owns. */
int nna_hardware_buffer_fd(const AHardwareBuffer *buffer);

/* Returns the layout of a buffer; the buffer owns the fds in the layout. */
void nna_hardware_buffer_layout(const AHardwareBuffer *buffer, struct nna_hardware_layout *layout);

/*
 * Begins an access of the CPU, like AHardwareBuffer_lock() without a fence. Sets data[i] to the
 * first row of plane i of the layout. The caller must end the access by AHardwareBuffer_unlock().
 */
int nna_hardware_buffer_lock(AHardwareBuffer *buffer, uint64_t usage,
			     void *data[NNA_HARDWARE_PLANES]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_HARDWARE_BUFFER_H */
