/* SPDX-License-Identifier: MIT */
/*
 * Plays NNACCEL_SUBMIT for tests that replace the kernel. Submitted work ends immediately.
 */
#ifndef NN_TESTS_PLAYED_SUBMIT_H
#define NN_TESTS_PLAYED_SUBMIT_H

#include <stdint.h>

#include <linux/nnaccel.h>

/* Returns the kind of work that is submitted, with *arg its structure. Returns other requests unchanged. */
static inline unsigned long played_request(unsigned long request, void **arg)
{
	struct nnaccel_submit *submit = *arg;

	if (request != NNACCEL_SUBMIT)
		return request;
	submit->out_state = NNACCEL_STATE_DONE;
	*arg = (void *)(uintptr_t)submit->work;
	return submit->kind;
}

#endif /* NN_TESTS_PLAYED_SUBMIT_H */
