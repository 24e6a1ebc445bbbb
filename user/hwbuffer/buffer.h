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

/* A file that contains planes. */
struct hardware_file {
	int fd;
	size_t size;			/* size up to the end of the last row */
	char *map;			/* or NULL */
};

struct AHardwareBuffer {
	atomic_uint users;
	AHardwareBuffer_Desc desc;
	struct nna_hardware_layout layout;	/* the layout; its fds are those of `files` */
	uint32_t num_files;
	struct hardware_file files[NNA_HARDWARE_PLANES];
	uint32_t file_of[NNA_HARDWARE_PLANES];	/* of each plane */

	pthread_mutex_t lock;		/* protects the files' mappings and the fields below */
	bool is_read_only;		/* the mappings */
	uint64_t locked;	/* flags of DMA_BUF_IOCTL_SYNC of accesses that have begun */
	unsigned int locks;
};

/* The planes of a format. */
struct hardware_format {
	uint32_t format;		/* AHARDWAREBUFFER_FORMAT_ */
	uint32_t fourcc;		/* DRM_FORMAT_; 0: BLOB */
	uint32_t num_planes;
	uint8_t pixel_bytes;		/* bytes of a pixel in the first plane */
	uint8_t multiple_x, multiple_y;	/* width and height are multiples of these */
	uint8_t chroma_bytes;		/* bytes of two adjacent pixels in each other plane */
	bool cr_first;			/* Cr comes before Cb */
};

/* Return the format for an AHARDWAREBUFFER_FORMAT_, or for a fourcc; NULL if it is unknown. */
const struct hardware_format *layout_find_format(uint32_t format);
const struct hardware_format *layout_find_fourcc(uint32_t fourcc);

static inline bool layout_has_cr_first(uint32_t fourcc)
{
	const struct hardware_format *format = layout_find_fourcc(fourcc);

	return format && format->cr_first;
}

/*
 * Finds the layout of a description, in one file. `stride` is in bytes, or 0. Returns 0 or -EINVAL,
 * and sets *end to the bytes of the file up to the end of the last row.
 */
int layout_init(const AHardwareBuffer_Desc *desc, uint64_t offset, uint32_t stride,
		struct nna_hardware_layout *layout, uint64_t *end);

/* Finds the layout of an image. Returns 0, -EINVAL or -EOPNOTSUPP. */
int layout_init_image(const struct nna_hardware_image *image,
		      struct nna_hardware_layout *layout);

/*
 * Returns the bytes of a plane's file up to the end of its last row; 0 if that is more than a file
 * can have.
 */
uint64_t layout_plane_end(const struct nna_hardware_plane *plane);

/*
 * Makes a buffer with one reference; it duplicates the layout's fds. Returns 0, -ENOMEM, -EBADF, or
 * -EINVAL if a plane ends beyond its file.
 */
int buffer_new(const AHardwareBuffer_Desc *desc, const struct nna_hardware_layout *layout,
	       AHardwareBuffer **buffer);

#endif /* NN_HWBUFFER_BUFFER_H */
