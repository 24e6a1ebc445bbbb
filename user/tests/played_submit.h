/* SPDX-License-Identifier: MIT */
/* Imitates NNACCEL_SUBMIT for tests that replace the kernel; submitted work ends immediately. */
#ifndef NN_TESTS_PLAYED_SUBMIT_H
#define NN_TESTS_PLAYED_SUBMIT_H

#include <stdint.h>

#include <linux/nnaccel.h>

/*
 * If an ioctl request is a SUBMIT, returns the kind of the submitted work and sets *arg to the
 * structure of the work. Returns a request that is not a SUBMIT unchanged.
 */
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
