/* SPDX-License-Identifier: MIT */
/* Converts errors of the kernel and the engine to a status and a message of one line. */
#ifndef NN_HAL_ERROR_H
#define NN_HAL_ERROR_H

#include "device.h"

/*
 * Clears the reason for the failure of an earlier call. Each exported function begins with
 * nna_error_clear(). The library must therefore not call an exported function with an err that has
 * a reason.
 */
static inline void nna_error_clear(struct nn_error *err)
{
	if (err)
		err->message[0] = '\0';
}

/*
 * Converts the errno `error` of an ioctl() on `device` to a status, and writes `call` and the
 * reason to err. ETIME means that the deadline passed during the call.
 */
enum nn_status nna_fail_errno(const struct nna_device *device, const char *call, int error,
			      struct nn_error *err);

/* Converts an engine's status, and copies the engine's message to err. */
enum nn_status nna_fail_status(const char *call, uint32_t status, const char *message,
			       struct nn_error *err);

/*
 * Converts the result of an ioctl() with a deadline. `error` is the errno of the ioctl(), or 0 if
 * the engine answered with `status`. `was_past` is the result of nna_is_past() before the ioctl().
 */
enum nn_status nna_call_verdict(const struct nna_device *device, const char *call, int error,
				bool was_past, uint32_t status, const char *message,
				struct nn_error *err);

#endif /* NN_HAL_ERROR_H */
