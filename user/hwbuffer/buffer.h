/* SPDX-License-Identifier: MIT */
/*
 * The object behind an AHardwareBuffer.
 */
#ifndef NN_HWBUFFER_BUFFER_H
#define NN_HWBUFFER_BUFFER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <nnaccel/hardware_buffer.h>

/* A file that contains one or more planes of a buffer. */
struct hardware_file {
	int fd;
	size_t size;			/* size of the file up to the end of the last row */
	char *map;			/* or NULL */
};

struct AHardwareBuffer {
	atomic_uint users;
	AHardwareBuffer_Desc desc;
	struct nna_hardware_layout layout;	/* the layout, with the fds of `files` */
	uint32_t num_files;
	struct hardware_file files[NNA_HARDWARE_PLANES];
	uint32_t file_of[NNA_HARDWARE_PLANES];	/* index in `files` for each plane */

	pthread_mutex_t lock;		/* protects the files' mappings and the next fields */
	bool is_read_only;		/* true: the mappings are read-only */
	uint64_t locked;	/* flags of DMA_BUF_IOCTL_SYNC for accesses in progress */
	unsigned int locks;
};

/* A format and its planes. */
struct hardware_format {
	uint32_t format;		/* AHARDWAREBUFFER_FORMAT_ */
	uint32_t fourcc;		/* DRM_FORMAT_; 0: BLOB */
	uint32_t num_planes;
	uint8_t pixel_bytes;		/* bytes of a pixel in the first plane */
	/* an image's width and height must be multiples of these numbers */
	uint8_t multiple_x, multiple_y;
	uint8_t chroma_bytes;		/* bytes of two adjacent pixels in planes 1 and 2 */
	bool cr_first;			/* Cr comes before Cb */
};

/* Return the format of an AHARDWAREBUFFER_FORMAT_ value or of a fourcc; NULL if unknown. */
const struct hardware_format *layout_find_format(uint32_t format);
const struct hardware_format *layout_find_fourcc(uint32_t fourcc);

static inline bool layout_has_cr_first(uint32_t fourcc)
{
	const struct hardware_format *format = layout_find_fourcc(fourcc);

	return format && format->cr_first;
}

/*
 * Computes the layout for a description whose planes are in one file. `stride` is in bytes;
 * `stride` 0 selects the default stride. Returns 0 or -EINVAL, and sets *end to the number of the
 * file's bytes up to the end of the last row.
 */
int layout_init(const AHardwareBuffer_Desc *desc, uint64_t offset, uint32_t stride,
		struct nna_hardware_layout *layout, uint64_t *end);

/* Computes the layout of an image. Returns 0, -EINVAL or -EOPNOTSUPP. */
int layout_init_image(const struct nna_hardware_image *image,
		      struct nna_hardware_layout *layout);

/*
 * Returns the number of bytes of a plane's file up to the end of the plane's last row; 0 if no file
 * can be so large.
 */
uint64_t layout_plane_end(const struct nna_hardware_plane *plane);

/*
 * Makes a buffer with one reference and duplicates of the layout's fds. Returns 0, -ENOMEM, -EBADF,
 * or -EINVAL if a plane ends beyond its file.
 */
int buffer_new(const AHardwareBuffer_Desc *desc, const struct nna_hardware_layout *layout,
	       AHardwareBuffer **buffer);

#endif /* NN_HWBUFFER_BUFFER_H */
