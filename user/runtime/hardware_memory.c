/* SPDX-License-Identifier: MIT */
/*
 * Memories made from an AHardwareBuffer.
 */
#define _GNU_SOURCE
#include "runtime/hardware_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/log.h"

void hardware_free(struct memory_hardware *hardware)
{
	if (!hardware)
		return;
	AHardwareBuffer_release(hardware->buffer);
	free(hardware);
}

/* What the buffer's file permits. */
static int protection(int fd)
{
	return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ;
}

static int create(AHardwareBuffer *buffer, ANeuralNetworksMemory **memory, struct nn_error *err)
{
	struct memory_hardware *hardware = calloc(1, sizeof(*hardware));
	int fd = nna_hardware_buffer_fd(buffer), copy, result;

	if (!hardware)
		return rt_out_of_memory(err);
	nna_hardware_buffer_layout(buffer, &hardware->layout);
	hardware->is_picture = hardware->layout.fourcc;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0) {
		free(hardware);
		return rt_fail(err, ANEURALNETWORKS_OUT_OF_MEMORY, "too many files are open");
	}
	result = memory_create(copy, protection(fd), hardware->layout.offset,
			       (size_t)hardware->layout.row_bytes * hardware->layout.height, memory,
			       err);
	if (result != ANEURALNETWORKS_NO_ERROR) {
		free(hardware);
		return result;
	}
	AHardwareBuffer_acquire(buffer);
	hardware->buffer = buffer;
	(*memory)->hardware = hardware;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb,
						    ANeuralNetworksMemory **memory)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(memory);
	*memory = NULL;
	RT_NOT_NULL(ahwb);
	return rt_end(create((AHardwareBuffer *)ahwb, memory, &err), &err);
}

enum nn_status hardware_import(const ANeuralNetworksMemory *memory, struct nna_device *device,
			       struct nna_memory **imported, struct nn_error *err)
{
	const struct nna_hardware_layout *layout = &memory->hardware->layout;
	const struct nna_format format = {
		.fourcc = layout->fourcc,
		.width = layout->row_bytes / layout->pixel_bytes,
		.height = layout->height,
		.stride = layout->stride,
		.offset = layout->offset,
	};

	return nna_memory_import_formatted(device, memory->fd, memory->prot, &format, imported, err);
}

/* Whether a picture's rows lie one after the other. */
static bool is_dense(const struct nna_hardware_layout *layout)
{
	return layout->stride == layout->row_bytes || layout->height == 1;
}

static void copy_rows(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride,
		      const struct nna_hardware_layout *layout)
{
	for (uint32_t y = 0; y < layout->height; y++)
		memcpy(to + y * to_stride, from + y * from_stride, layout->row_bytes);
}

int hardware_begin(const ANeuralNetworksMemory *memory, bool write, uint8_t **data,
		   struct nn_error *err)
{
	const struct memory_hardware *hardware = memory->hardware;
	const struct nna_hardware_layout *layout = &hardware->layout;
	uint64_t usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN |
			 (write ? AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN : 0);
	void *address;
	int error;

	error = AHardwareBuffer_lock(hardware->buffer, usage, -1, NULL, &address);
	if (error)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "a hardware buffer cannot be reached: %s", strerror(-error));
	*data = address;
	if (is_dense(layout))
		return ANEURALNETWORKS_NO_ERROR;
	*data = malloc(memory->size);
	if (!*data) {
		AHardwareBuffer_unlock(hardware->buffer, NULL);
		return rt_out_of_memory(err);
	}
	if (!write)
		copy_rows(*data, layout->row_bytes, address, layout->stride, layout);
	return ANEURALNETWORKS_NO_ERROR;
}

int hardware_end(const ANeuralNetworksMemory *memory, bool written, uint8_t *data,
		 struct nn_error *err)
{
	const struct memory_hardware *hardware = memory->hardware;
	const struct nna_hardware_layout *layout = &hardware->layout;
	uint64_t usage = AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
	int error = 0;
	void *address;

	if (!is_dense(layout)) {
		if (written)
			error = AHardwareBuffer_lock(hardware->buffer, usage, -1, NULL, &address);
		if (written && !error) {
			copy_rows(address, layout->stride, data, layout->row_bytes, layout);
			error = AHardwareBuffer_unlock(hardware->buffer, NULL);
		}
		free(data);
	}
	error = AHardwareBuffer_unlock(hardware->buffer, NULL) ?: error;
	if (error)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "a hardware buffer was not written: %s", strerror(-error));
	return ANEURALNETWORKS_NO_ERROR;
}
