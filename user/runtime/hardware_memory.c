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

#include "base/planes.h"
#include "runtime/log.h"

void hardware_free(struct memory_hardware *hardware)
{
	if (!hardware)
		return;
	AHardwareBuffer_release(hardware->buffer);
	free(hardware);
}

/* Returns the PROT_ flags of the accesses that the hardware buffer's files permit. */
static int protection(const struct nna_hardware_layout *layout)
{
	for (uint32_t i = 0; i < layout->num_planes; i++)
		if ((fcntl(layout->planes[i].fd, F_GETFL) & O_ACCMODE) != O_RDWR)
			return PROT_READ;
	return PROT_READ | PROT_WRITE;
}

static int create(AHardwareBuffer *buffer, ANeuralNetworksMemory **memory, struct nn_error *err)
{
	struct memory_hardware *hardware = calloc(1, sizeof(*hardware));
	int fd = nna_hardware_buffer_fd(buffer), copy, result;

	if (!hardware)
		return rt_out_of_memory(err);
	nna_hardware_buffer_layout(buffer, &hardware->layout);
	hardware->is_image = hardware->layout.fourcc;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0) {
		free(hardware);
		return rt_fail(err, ANEURALNETWORKS_OUT_OF_MEMORY, "too many files are open");
	}
	result = memory_create(copy, protection(&hardware->layout),
			       hardware->layout.planes[0].offset, hardware->layout.size, memory, err);
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
	RT_NOT_NULL(memory);
	*memory = NULL;
	RT_NOT_NULL(ahwb);
	return RT_CALL(create((AHardwareBuffer *)ahwb, memory, &err));
}

enum nn_status hardware_import(const ANeuralNetworksMemory *memory, struct nna_device *device,
			       struct nna_memory **imported, struct nn_error *err)
{
	const struct nna_hardware_layout *layout = &memory->hardware->layout;
	struct nna_format format = {
		.size = sizeof(format),
		.fourcc = layout->fourcc,
		.width = layout->width,
		.height = layout->height,
		.stride = layout->planes[0].stride,
		.offset = layout->planes[0].offset,
	};

	for (uint32_t i = 1; i < layout->num_planes; i++)
		format.planes[i - 1] = (struct nna_plane){
			.fd = layout->planes[i].fd,
			.stride = layout->planes[i].stride,
			.offset = layout->planes[i].offset,
		};
	return nna_memory_import_formatted(device, layout->planes[0].fd, memory->prot, &format,
					   imported, err);
}

/* Returns whether the planes of an image, and the pixels in each plane, have no gaps. */
static bool is_dense(const struct nna_hardware_layout *layout)
{
	bool dense;

	planes_measure(layout->planes, layout->num_planes, &dense);
	return dense;
}

int hardware_begin(const ANeuralNetworksMemory *memory, bool write, uint8_t **data,
		   struct nn_error *err)
{
	const struct memory_hardware *hardware = memory->hardware;
	const struct nna_hardware_layout *layout = &hardware->layout;
	uint64_t usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN |
			 (write ? AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN : 0);
	void *planes[NNA_HARDWARE_PLANES];
	int error;

	error = nna_hardware_buffer_lock(hardware->buffer, usage, planes);
	if (error)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "a hardware buffer cannot be mapped: %s", strerror(-error));
	*data = planes[0];
	if (is_dense(layout))
		return ANEURALNETWORKS_NO_ERROR;
	*data = malloc(memory->size);
	if (!*data) {
		AHardwareBuffer_unlock(hardware->buffer, NULL);
		return rt_out_of_memory(err);
	}
	if (!write)
		planes_copy(layout->planes, layout->num_planes, planes, *data, false);
	return ANEURALNETWORKS_NO_ERROR;
}

int hardware_end(const ANeuralNetworksMemory *memory, bool written, uint8_t *data,
		 struct nn_error *err)
{
	const struct memory_hardware *hardware = memory->hardware;
	const struct nna_hardware_layout *layout = &hardware->layout;
	uint64_t usage = AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
	void *planes[NNA_HARDWARE_PLANES];
	int error = 0;

	if (!is_dense(layout)) {
		if (written)
			error = nna_hardware_buffer_lock(hardware->buffer, usage, planes);
		if (written && !error) {
			planes_copy(layout->planes, layout->num_planes, planes, data, true);
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
