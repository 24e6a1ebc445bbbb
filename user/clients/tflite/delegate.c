/* SPDX-License-Identifier: MIT */
#include "clients/tflite/delegate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nnaccel/tflite.h>

const char said_by[] = "";

#define MIN_WORK 4096		/* minimum work of a partition that is not the whole graph */

/*
 * Finds the devices that the options name. Returns false, with a sentence in `error`, if a device
 * is missing.
 */
static bool choose_devices(struct delegate *d, char error[OPTIONS_ERROR_SIZE])
{
	char known[OPTIONS_ERROR_SIZE / 2] = "";
	uint32_t count = 0;

	if (ANeuralNetworks_getDeviceCount(&count) != ANEURALNETWORKS_NO_ERROR || !count) {
		snprintf(error, OPTIONS_ERROR_SIZE, "NNAPI has no device");
		return false;
	}
	for (uint32_t i = 0; i < count && d->devices.count < MAX_DEVICES; i++) {
		ANeuralNetworksDevice *device;
		const char *name;

		if (ANeuralNetworks_getDevice(i, &device) != ANEURALNETWORKS_NO_ERROR ||
		    ANeuralNetworksDevice_getName(device, &name) != ANEURALNETWORKS_NO_ERROR)
			continue;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", name);
		if ((d->options.device && strcmp(d->options.device, name)) ||
		    (d->options.disallow_cpu && device_is_cpu(device)))
			continue;
		d->devices.list[d->devices.count++] = device;
	}
	d->all_devices = d->devices.count == count && !d->options.device;
	if (d->devices.count)
		return true;
	if (d->options.device)
		snprintf(error, OPTIONS_ERROR_SIZE, "no device \"%.80s\"%s: there is %s",
			 d->options.device,
			 d->options.disallow_cpu ? " that is not the CPU" : "", known);
	else
		snprintf(error, OPTIONS_ERROR_SIZE, "no device but the CPU: there is %s", known);
	return false;
}

/* ---- Buffers ---- */

int nnaccel_tflite_add_buffer(struct TfLiteDelegate *tflite, int fd, size_t size, size_t offset)
{
	struct delegate *d = tflite ? ((struct tfl_delegate *)tflite)->data : NULL;
	const size_t before = offset % (size_t)sysconf(_SC_PAGESIZE);	/* memory has whole pages */
	struct buffer buffer = { .fd = -1, .size = size, .page = offset - before, .before = before };
	int handle, result;

	if (!d || !size || size > SIZE_MAX - before)
		return -EINVAL;
	buffer.fd = dup(fd);
	if (buffer.fd < 0)
		return -errno;
	result = ANeuralNetworksMemory_createFromFd(before + size, PROT_READ | PROT_WRITE, fd,
						    buffer.page, &buffer.memory);
	if (result != ANEURALNETWORKS_NO_ERROR) {
		close(buffer.fd);
		return result == ANEURALNETWORKS_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
	}
	pthread_mutex_lock(&d->lock);
	for (handle = 0; handle < d->num_buffers; handle++)
		if (!d->buffers[handle].memory)
			break;
	if (handle == d->num_buffers) {
		struct buffer *more = realloc(d->buffers, ((size_t)handle + 1) * sizeof(*more));

		if (more) {
			d->buffers = more;
			d->num_buffers++;
		} else {
			handle = -ENOMEM;
		}
	}
	if (handle >= 0)
		d->buffers[handle] = buffer;
	pthread_mutex_unlock(&d->lock);
	if (handle < 0) {
		ANeuralNetworksMemory_free(buffer.memory);
		close(buffer.fd);
	}
	return handle;
}

static bool find_buffer(struct delegate *d, int handle, struct buffer *buffer)
{
	bool found;

	pthread_mutex_lock(&d->lock);
	found = handle >= 0 && handle < d->num_buffers && d->buffers[handle].memory;
	if (found)
		*buffer = d->buffers[handle];
	pthread_mutex_unlock(&d->lock);
	return found;
}

ANeuralNetworksMemory *delegate_memory(struct delegate *d, int handle, size_t *size, size_t *offset)
{
	struct buffer buffer;

	if (!find_buffer(d, handle, &buffer))
		return NULL;
	*size = buffer.size;
	*offset = buffer.before;
	return buffer.memory;
}

static int copy(struct tfl_context *context, struct delegate *d, int handle,
		struct tfl_tensor *tensor, bool from_buffer)
{
	struct buffer buffer;
	char *base;

	if (!find_buffer(d, handle, &buffer) || buffer.size < tensor->bytes || !tensor->contents) {
		context->report_error(context, "nnaccel: no buffer %d of %zu bytes", handle,
				      tensor->bytes);
		return TFL_DELEGATE_ERROR;
	}
	base = mmap(NULL, buffer.before + buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    buffer.fd, (off_t)buffer.page);
	if (base == MAP_FAILED) {
		context->report_error(context, "nnaccel: cannot map buffer %d: %s", handle,
				      strerror(errno));
		return TFL_DELEGATE_ERROR;
	}
	if (from_buffer)
		memcpy(tensor->contents, base + buffer.before, tensor->bytes);
	else
		memcpy(base + buffer.before, tensor->contents, tensor->bytes);
	munmap(base, buffer.before + buffer.size);
	return TFL_OK;
}

static int copy_from_buffer(struct tfl_context *context, struct tfl_delegate *base, int handle,
			    struct tfl_tensor *tensor)
{
	return copy(context, base->data, handle, tensor, true);
}

static int copy_to_buffer(struct tfl_context *context, struct tfl_delegate *base, int handle,
			  struct tfl_tensor *tensor)
{
	return copy(context, base->data, handle, tensor, false);
}

static void free_buffer(struct tfl_context *context, struct tfl_delegate *base, int *handle)
{
	struct delegate *d = base->data;
	struct buffer buffer;

	(void)context;
	if (find_buffer(d, *handle, &buffer)) {
		pthread_mutex_lock(&d->lock);
		d->buffers[*handle].memory = NULL;
		pthread_mutex_unlock(&d->lock);
		ANeuralNetworksMemory_free(buffer.memory);
		close(buffer.fd);
	}
	*handle = TFL_NO_BUFFER;
}

/* ---- Lifetime ---- */

static bool read_options(struct options *options, char **names, char **values, size_t count,
			 char error[OPTIONS_ERROR_SIZE])
{
	options_init(options);
	options->min_work = MIN_WORK;
	for (size_t i = 0; i < count; i++)
		if (!options_set(options, names && names[i] ? names[i] : "",
				 values && values[i] ? values[i] : "", error))
			return false;
	return true;
}

struct delegate *delegate_create(char **names, char **values, size_t count,
				 char error[OPTIONS_ERROR_SIZE])
{
	struct delegate *d = calloc(1, sizeof(*d));

	if (!d) {
		snprintf(error, OPTIONS_ERROR_SIZE, "no memory");
		return NULL;
	}
	pthread_mutex_init(&d->lock, NULL);
	if (!read_options(&d->options, names, values, count, error) ||
	    !choose_devices(d, error)) {
		delegate_destroy(d);
		return NULL;
	}
	d->base = (struct tfl_delegate){
		.data = d,
		.prepare = partition_graph,
		.copy_from_buffer = copy_from_buffer,
		.copy_to_buffer = copy_to_buffer,
		.free_buffer = free_buffer,
		.flags = TFL_FLAG_DYNAMIC_TENSORS,
	};
	return d;
}

void delegate_destroy(struct delegate *d)
{
	if (!d)
		return;
	for (int i = 0; i < d->num_buffers; i++)
		if (d->buffers[i].memory) {
			ANeuralNetworksMemory_free(d->buffers[i].memory);
			close(d->buffers[i].fd);
		}
	free(d->buffers);
	options_free(&d->options);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
