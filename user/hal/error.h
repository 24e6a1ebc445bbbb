/* SPDX-License-Identifier: MIT */
/*
 * How a call of the kernel that failed, or that the engine refused, becomes a status and a line.
 */
#ifndef NN_HAL_ERROR_H
#define NN_HAL_ERROR_H

#include "device.h"

/*
 * Empties the reason of an earlier call: what each exported function does first. One that is called
 * from inside does it as well, so nothing has failed before that.
 */
static inline void nna_error_clear(struct nn_error *err)
{
	if (err)
		err->message[0] = '\0';
}

/*
 * The status of an ioctl() on `device` that failed with `error` (an errno), with
 * `call` and the reason in err. ETIME counts as passed during the call.
 */
enum nn_status nna_fail_errno(const struct nna_device *device, const char *call, int error,
			      struct nn_error *err);

/* The status of an engine's verdict, with what it said. */
enum nn_status nna_fail_status(const char *call, uint32_t status, const char *message,
			       struct nn_error *err);

/*
 * The status of an ioctl() with a deadline: `error` is its errno, 0: the engine answered with
 * `status`; `was_past` what nna_is_past() said before the call.
 */
enum nn_status nna_call_verdict(const struct nna_device *device, const char *call, int error,
				bool was_past, uint32_t status, const char *message,
				struct nn_error *err);

#endif /* NN_HAL_ERROR_H */
