// SPDX-License-Identifier: MIT
/*
 * Bursts of the tests: calls and mappings of client and worker.
 */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>

#include "burst.h"
#include "device.h"

void burst_init(struct nnaccel_burst_create *create, uint32_t model, uint32_t capacity)
{
	*create = (struct nnaccel_burst_create){
		.size = sizeof(*create),
		.flags = NNACCEL_BURST_CLOEXEC,
		.model = model,
		.capacity = capacity,
		.out_fd = -1,
		.out_status = POISON,
	};
}

int burst_create(int fd, uint32_t model, uint32_t capacity, int *burst)
{
	struct nnaccel_burst_create create;
	int error;

	burst_init(&create, model, capacity);
	error = xioctl(fd, NNACCEL_WORK_BURST, &create);
	*burst = create.out_fd;
	return error;
}

/* Makes a client's call, and answers the call's command as the worker. @cmd: out: the command. */
static int call(struct served *s, unsigned long request, void *arg, union command *cmd)
{
	struct async async;
	int error;

	if (!async_start(&async, s->fd, request, arg))
		return EAGAIN;
	do
		error = session_fetch(s->session, 0, cmd);
	while (!error && !cmd->head.cookie);
	if (!error)
		error = session_answer(s->session, cmd);
	return async_wait(&async) ?: error;
}

uint32_t served_prepare_as(struct served *s, uint32_t pool, uint32_t priority)
{
	struct nnaccel_prepare prepare;
	union command cmd;

	prepare_init(&prepare, pool, 1);
	prepare.priority = priority;
	return call(s, NNACCEL_WORK_PREPARE, &prepare, &cmd) ? 0 : prepare.out_model;
}

uint32_t served_prepare_for(struct served *s, uint32_t pool, uint32_t preference)
{
	struct nnaccel_prepare prepare;
	union command cmd;

	prepare_init(&prepare, pool, 1);
	prepare.preference = preference;
	return call(s, NNACCEL_WORK_PREPARE, &prepare, &cmd) ? 0 : prepare.out_model;
}

uint32_t served_prepare(struct served *s, uint32_t pool)
{
	return served_prepare_as(s, pool, NNACCEL_PRIORITY_MEDIUM);
}

int served_burst(struct served *s, uint32_t model, uint32_t *number)
{
	return served_burst_with(s, model, 0, number);
}

int served_burst_with(struct served *s, uint32_t model, uint32_t flags, uint32_t *number)
{
	struct nnaccel_burst_create create;
	union command cmd;

	burst_init(&create, model, 0);
	create.flags |= flags;
	if (call(s, NNACCEL_WORK_BURST, &create, &cmd))
		return -1;
	if (number)
		*number = cmd.head.burst;
	return create.out_fd;
}

int slot_bind(int burst, uint32_t pool, uint32_t prot, uint32_t *slot)
{
	struct nnaccel_burst_slot bind = {
		.size = sizeof(bind),
		.pool = pool,
		.prot = prot,
		.slot = POISON,
	};
	int error = xioctl(burst, NNACCEL_BURST_SLOT, &bind);

	if (slot)
		*slot = bind.slot;
	return error;
}

int slot_free(int burst, uint32_t slot)
{
	struct nnaccel_burst_slot arg = { .size = sizeof(arg), .slot = slot };

	return xioctl(burst, NNACCEL_BURST_SLOT, &arg);
}

int slot_resolve(int session, uint32_t burst, uint32_t slot, struct nnaccel_grant *grant)
{
	struct nnaccel_session_slot arg = { .size = sizeof(arg), .burst = burst, .slot = slot };
	int error = xioctl(session, NNACCEL_SESSION_SLOT, &arg);

	*grant = arg.out_grant;
	return error;
}

static void *map(int fd, uint64_t offset, uint64_t length, int prot)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

void *burst_map(int burst, uint64_t region, uint64_t length, int prot)
{
	return map(burst, region, length, prot);
}

void *session_burst_map(int session, uint32_t burst, uint64_t region, uint64_t length, int prot)
{
	return map(session, NNACCEL_BURST_MAP | (uint64_t)burst << NNACCEL_BURST_SHIFT | region,
		   length, prot);
}

bool burst_is_dead(int burst, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = burst };

	return poll(&poll_fd, 1, timeout_ms) == 1 && poll_fd.revents == POLLHUP;
}
