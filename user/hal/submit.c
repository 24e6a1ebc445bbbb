/* SPDX-License-Identifier: MIT */
/*
 * Submission and answer take one system call, or more system calls if signals interrupt the first
 * call.
 */
#include <errno.h>

#include "submit.h"

int nna_submit(const struct nna_device *device, struct nnaccel_submit *submit)
{
	return nna_device_call(device, NNACCEL_SUBMIT, submit) ? errno : 0;
}

void nna_drop(const struct nna_device *device, uint32_t id)
{
	struct nnaccel_destroy d = { .size = sizeof(d), .id = id };

	if (id)
		nna_device_call(device, NNACCEL_DESTROY, &d);
}

int nna_fetch(const struct nna_device *device, uint32_t id, void *work, bool waits,
	      uint32_t *progress)
{
	struct nnaccel_wait w = {
		.size = sizeof(w), .flags = waits ? 0 : NNACCEL_WAIT_NONBLOCK, .id = id,
		.work = (uintptr_t)work,
	};
	int error;

	do
		error = nna_device_call(device, NNACCEL_WAIT, &w) ? errno : 0;
	while (error == EINTR);
	if (!error && w.out_state == NNACCEL_STATE_DONE)
		return (int)w.out_error;
	if (!error) {
		*progress = w.out_progress;
		return EINPROGRESS;
	}
	/* Destroy the submission, because after an error no caller uses it. */
	nna_drop(device, id);
	return error;
}

int nna_ask(const struct nna_device *device, enum nnaccel_work kind, void *work)
{
	struct nnaccel_submit s = {
		.size = sizeof(s),
		.flags = NNACCEL_SUBMIT_WAIT,
		.kind = kind,
		.work = (uintptr_t)work,
	};
	int error = nna_submit(device, &s);

	if (error || s.out_state == NNACCEL_STATE_DONE)
		return error;
	/* A signal interrupted the system call while the work was pending, so fetch the answer. */
	return nna_fetch(device, s.out_id, work, true, NULL);
}
