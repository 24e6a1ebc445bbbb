// SPDX-License-Identifier: MIT
/*
 * Stores buffers of memory domains in a GPU's own memory. A domain has the layout of clients'
 * memory. The contents need not be cleared at first, because the kernel refuses to read a buffer
 * that was not written.
 */
#include <stdlib.h>
#include <string.h>

#include "vulkan/domain.h"

struct domain {
	struct gpu *gpu;
	struct gpu_buffer memory;
	uint64_t id;
};

enum nn_status domain_create(struct gpu *gpu, uint64_t size, struct domain **domain,
			     struct nn_error *err)
{
	struct domain *d = calloc(1, sizeof(*d));
	enum nn_status status;

	if (!d)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = gpu_buffer_create(gpu, size, false, &d->memory, err);
	if (status) {
		free(d);
		return status;
	}
	d->gpu = gpu_hold(gpu);
	d->id = place_id();
	*domain = d;
	return NN_OK;
}

void domain_release(struct domain *d)
{
	/* After a missed deadline, the GPU may still execute the model. */
	gpu_wait(d->gpu);
	gpu_buffer_destroy(d->gpu, &d->memory);
	gpu_release(d->gpu);
	free(d);
}

static enum nn_status check_length(const struct domain *d, uint64_t length, struct nn_error *err)
{
	if (length <= d->memory.size)
		return NN_OK;
	return nn_fail(err, NN_GENERAL_FAILURE, "the buffer has %llu bytes, not %llu",
		       (unsigned long long)d->memory.size, (unsigned long long)length);
}

/* Copies from the CPU memory `from` to a domain, or from a domain to `to`; one pointer is NULL. */
static enum nn_status copy(struct domain *d, const void *from, void *to, uint64_t length,
			   struct nn_error *err)
{
	struct gpu_buffer staging;
	enum nn_status status = check_length(d, length, err);
	VkResult result = VK_SUCCESS;

	if (!status)
		status = gpu_buffer_create(d->gpu, length, true, &staging, err);
	if (status)
		return status;
	if (from) {
		memcpy(staging.base, from, length);
		result = gpu_buffer_flush(d->gpu, &staging);
	}
	if (!result)
		result = commands_copy(d->gpu, from ? staging.buffer : d->memory.buffer,
				       from ? d->memory.buffer : staging.buffer, length);
	if (!result && to)
		result = gpu_buffer_invalidate(d->gpu, &staging);
	if (!result && to)
		memcpy(to, staging.base, length);
	gpu_buffer_destroy(d->gpu, &staging);
	return gpu_fail(d->gpu, result, "cannot copy the buffer", err);
}

enum nn_status domain_write(struct domain *d, const void *from, uint64_t length,
			    struct nn_error *err)
{
	return copy(d, from, NULL, length, err);
}

enum nn_status domain_read(struct domain *d, void *to, uint64_t length, struct nn_error *err)
{
	return copy(d, NULL, to, length, err);
}

enum nn_status domain_place(const struct domain *d, const struct gpu *gpu, uint64_t length,
			    struct place *place, struct nn_error *err)
{
	if (d->gpu != gpu)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE,
			       "the GPU was lost, and the contents of the buffer with it");
	*place = (struct place){ .buffer = d->memory.buffer, .id = d->id, .is_own = 1 };
	return check_length(d, length, err);
}
