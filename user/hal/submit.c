/* SPDX-License-Identifier: MIT */
/*
 * Submits work to the engine through the kernel and gets its answer: one system call, unless a
 * signal comes.
 */
#include <errno.h>
#include <unistd.h>

#include "submit.h"

/* Pause between two reads of the progress. */
#define PAUSE_US 10000

int nna_submit(const struct nna_device *device, struct nnaccel_submit *submit)
{
	return nna_device_call(device, NNACCEL_SUBMIT, submit) ? errno : 0;
}

/* Waits for the answer of work that was pending when a signal came. */
static int await(const struct nna_device *device, uint32_t id, void *work)
{
	struct nnaccel_wait w = { .size = sizeof(w), .id = id, .work = (uintptr_t)work };
	struct nnaccel_destroy d = { .size = sizeof(d), .id = id };
	int error;

	do
		error = nna_device_call(device, NNACCEL_WAIT, &w) ? errno : 0;
	while (error == EINTR);
	if (!error)
		return (int)w.out_error;
	/* The submission still exists, and only this function knows its id. */
	nna_device_call(device, NNACCEL_DESTROY, &d);
	return error;
}

int nna_ask_slowly(const struct nna_device *device, enum nnaccel_work kind, void *work,
		   bool (*goes_on)(void *data, uint32_t progress), void *data)
{
	struct nnaccel_submit s = { .size = sizeof(s), .kind = kind, .work = (uintptr_t)work };
	struct nnaccel_wait w = { .size = sizeof(w), .flags = NNACCEL_WAIT_NONBLOCK,
				  .work = (uintptr_t)work };
	struct nnaccel_destroy d = { .size = sizeof(d) };
	int error = nna_submit(device, &s);

	if (error == EOPNOTSUPP)
		return nna_ask(device, kind, work);
	if (error)
		return error;
	d.id = w.id = s.out_id;
	for (;;) {
		if (nna_device_call(device, NNACCEL_WAIT, &w))
			error = errno;
		else if (w.out_state == NNACCEL_STATE_DONE)
			return (int)w.out_error;
		else if (!goes_on(data, w.out_progress))
			error = ECANCELED;
		if (error)
			break;
		usleep(PAUSE_US);
	}
	nna_device_call(device, NNACCEL_DESTROY, &d);
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
	return await(device, s.out_id, work);
}
