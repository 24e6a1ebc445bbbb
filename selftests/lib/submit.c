// SPDX-License-Identifier: MIT
/*
 * Submissions, as clients use them.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "submit.h"

void submit_init(struct nnaccel_submit *submit, uint32_t kind, void *work)
{
	*submit = (struct nnaccel_submit){
		.size = sizeof(*submit),
		.kind = kind,
		.work = (uintptr_t)work,
		.out_state = POISON,
		.out_id = POISON,
		.out_fd = (int32_t)POISON,
	};
}

int submit_work(int fd, uint32_t kind, void *work, uint32_t *id)
{
	struct nnaccel_submit submit;
	int error;

	submit_init(&submit, kind, work);
	error = xioctl(fd, NNACCEL_SUBMIT, &submit);
	if (!error && (submit.out_state != NNACCEL_STATE_PENDING || submit.out_fd != -1))
		error = EPROTO;
	*id = submit.out_id;
	return error;
}

int submit_file(int fd, struct nnaccel_execute *execute, int dependency)
{
	struct nnaccel_submit submit;

	submit_init(&submit, NNACCEL_WORK_EXECUTE, execute);
	submit.flags = NNACCEL_SUBMIT_FILE | NNACCEL_SUBMIT_CLOEXEC;
	submit.dependencies = (uintptr_t)&dependency;
	submit.num_dependencies = dependency >= 0;
	return ioctl(fd, NNACCEL_SUBMIT, &submit) ? -1 : submit.out_fd;
}

void submit_by_ring(struct io_uring_sqe *sqe, int fd, struct nnaccel_submit *submit,
		    struct nnaccel_execute *execute, uint64_t tag)
{
	const struct nnaccel_uring_submit block = { .submit = (uintptr_t)submit, .tag = tag };

	submit_init(submit, NNACCEL_WORK_EXECUTE, execute);
	submit->flags = NNACCEL_SUBMIT_WAIT;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = NNACCEL_SUBMIT;
	sqe->user_data = tag;
	memcpy(sqe->cmd, &block, sizeof(block));
}

static int call(int fd, struct nnaccel_wait *wait, void *work)
{
	int error;

	wait->size = sizeof(*wait);
	wait->work = (uintptr_t)work;
	wait->out_state = POISON;
	wait->out_error = POISON;
	error = xioctl(fd, NNACCEL_WAIT, wait);
	/* A WAIT that fails must not change the fields of its structure. */
	if (error)
		return wait->out_state != POISON || wait->out_error != POISON ? EPROTO : error;
	return wait->out_state == NNACCEL_STATE_DONE || !wait->out_error ?
	       (int)wait->out_error : EPROTO;
}

int submission_wait(int fd, uint32_t id, void *work)
{
	struct nnaccel_wait wait = { .id = id };
	int error = call(fd, &wait, work);

	return !error && wait.out_state != NNACCEL_STATE_DONE ? EPROTO : error;
}

int submission_wait_file(int fd, int file, void *work)
{
	struct nnaccel_wait wait = { .fd = file };
	int error = call(fd, &wait, work);

	return !error && wait.out_state != NNACCEL_STATE_DONE ? EPROTO : error;
}

int submission_try(int fd, uint32_t id, void *work, bool *done)
{
	struct nnaccel_wait wait = { .flags = NNACCEL_WAIT_NONBLOCK, .id = id };
	int error = call(fd, &wait, work);

	*done = !error && wait.out_state == NNACCEL_STATE_DONE;
	return error;
}

bool file_readable(int fd, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, timeout_ms) == 1 && poller.revents == POLLIN;
}
