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

struct AHardwareBuffer {
	atomic_uint users;
	AHardwareBuffer_Desc desc;
	struct nna_hardware_layout layout;
	int fd;

	pthread_mutex_t lock;
	char *map;			/* of the file, to the end of the last row; or NULL */
	bool is_read_only;		/* the mapping */
	uint64_t locked;		/* flags of DMA_BUF_IOCTL_SYNC that are begun */
	unsigned int locks;
};

/*
 * Finds the layout of a description. `stride` is bytes, or 0. 0 or -EINVAL; *end: bytes of the
 * file up to the end of the last row.
 */
int layout_init(const AHardwareBuffer_Desc *desc, uint64_t offset, uint32_t stride,
		struct nna_hardware_layout *layout, uint64_t *end);

/* A buffer with one reference that owns the fd, also where it fails: -ENOMEM. */
int buffer_new(int fd, const AHardwareBuffer_Desc *desc,
	       const struct nna_hardware_layout *layout, AHardwareBuffer **buffer);

/* Bytes of the mapping. */
size_t layout_end(const struct nna_hardware_layout *layout);

#endif /* NN_HWBUFFER_BUFFER_H */
