// SPDX-License-Identifier: MIT
/*
 * Buffers of memory domains, as clients use them.
 */
#include <errno.h>
#include <string.h>

#include "buffer.h"

void allocation_init(struct allocation *a, uint32_t model, uint64_t capacity)
{
	memset(a, 0, sizeof(*a));
	memset(a->message, 0xa5, sizeof(a->message));
	for (uint32_t i = 0; i < 2; i++)
		a->roles[i] = (struct nnaccel_role){ .model = model, .kind = i };
	a->cmd = (struct nnaccel_buffer_alloc){
		.size = sizeof(a->cmd),
		.capacity = capacity,
		.roles = (uintptr_t)a->roles,
		.num_roles = 2,
		.out_status = POISON,
		.out_buffer = POISON,
		.message = (uintptr_t)a->message,
		.message_size = sizeof(a->message),
	};
}

uint32_t buffer_alloc(int fd, uint32_t model, uint64_t capacity)
{
	struct allocation a;

	allocation_init(&a, model, capacity);
	errno = xioctl(fd, NNACCEL_WORK_BUFFER_ALLOC, &a.cmd);
	return errno ? 0 : a.cmd.out_buffer;
}

static int copy(int fd, uint32_t flags, uint32_t buffer, const void *data, uint64_t length)
{
	struct nnaccel_buffer_copy arg = {
		.size = sizeof(arg),
		.flags = flags,
		.buffer = buffer,
		.data = (uintptr_t)data,
		.length = length,
		.out_status = POISON,
	};
	int error = xioctl(fd, NNACCEL_WORK_BUFFER_COPY, &arg);

	return !error && arg.out_status ? EREMOTEIO : error;
}

int buffer_copy_in(int fd, uint32_t buffer, const void *data, uint64_t length)
{
	return copy(fd, NNACCEL_COPY_IN, buffer, data, length);
}

int buffer_copy_out(int fd, uint32_t buffer, void *data, uint64_t length)
{
	return copy(fd, NNACCEL_COPY_OUT, buffer, data, length);
}

void buffer_execution_init(struct buffer_execution *e, uint32_t model, uint32_t input,
			   uint32_t output)
{
	execution_init(&e->base, model, 0, 0);
	e->buffers[0] = input;
	e->buffers[1] = output;
	for (uint32_t i = 0; i < 2; i++)
		e->base.args[i] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_BUFFER, .pool = i };
	e->base.cmd.num_pools = 0;
	e->base.cmd.pools = 0;
	e->base.cmd.num_outputs = !!output;
	e->base.cmd.num_buffers = 1 + !!output;
	e->base.cmd.buffers = (uintptr_t)e->buffers;
}
