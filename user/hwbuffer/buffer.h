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

/* A file that planes lie in. */
struct hardware_file {
	int fd;
	size_t size;			/* to the end of the last row in it */
	char *map;			/* or NULL */
};

struct AHardwareBuffer {
	atomic_uint users;
	AHardwareBuffer_Desc desc;
	struct nna_hardware_layout layout;	/* its fds are those of files */
	uint32_t num_files;
	struct hardware_file files[NNA_HARDWARE_PLANES];
	uint32_t file_of[NNA_HARDWARE_PLANES];	/* of each plane */

	pthread_mutex_t lock;		/* protects files' maps and what follows */
	bool is_read_only;		/* the mappings */
	uint64_t locked;		/* flags of DMA_BUF_IOCTL_SYNC that are begun */
	unsigned int locks;
};

/* The planes of a format. */
struct hardware_format {
	uint32_t format;		/* AHARDWAREBUFFER_FORMAT_ */
	uint32_t fourcc;		/* DRM_FORMAT_; 0: BLOB */
	uint32_t num_planes;
	uint8_t pixel_bytes;		/* of the first plane */
	uint8_t multiple_x, multiple_y;	/* width and height are multiples of these */
	uint8_t chroma_bytes;		/* of two pixels beside each other, in each other plane */
	bool cr_first;			/* of the two colours */
};

/* The format that allocate gives to AHARDWAREBUFFER_FORMAT_, or that of a fourcc; or NULL. */
const struct hardware_format *layout_find_format(uint32_t format);
const struct hardware_format *layout_find_fourcc(uint32_t fourcc);

static inline bool layout_has_cr_first(uint32_t fourcc)
{
	const struct hardware_format *format = layout_find_fourcc(fourcc);

	return format && format->cr_first;
}

/*
 * Finds the layout of a description, in one file. `stride` is bytes, or 0. 0 or -EINVAL; *end:
 * bytes of the file up to the end of the last row.
 */
int layout_init(const AHardwareBuffer_Desc *desc, uint64_t offset, uint32_t stride,
		struct nna_hardware_layout *layout, uint64_t *end);

/* Finds the layout of an image: 0, -EINVAL, -EOPNOTSUPP. */
int layout_init_image(const struct nna_hardware_image *image,
		      struct nna_hardware_layout *layout);

/* Bytes of a plane's file up to the end of its last row; 0: more than a file can have. */
uint64_t layout_plane_end(const struct nna_hardware_plane *plane);

/*
 * A buffer with one reference, and with fds of its own for those of the layout. 0, -ENOMEM, -EBADF,
 * -EINVAL: a plane ends beyond its file.
 */
int buffer_new(const AHardwareBuffer_Desc *desc, const struct nna_hardware_layout *layout,
	       AHardwareBuffer **buffer);

#endif /* NN_HWBUFFER_BUFFER_H */
