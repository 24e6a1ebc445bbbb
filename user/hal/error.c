/* SPDX-License-Identifier: MIT */
/*
 * Converts errors of the kernel and the engine to a status and one line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include <nnaccel/engine_model.h>

#include "error.h"

static const struct {
	int error;
	enum nn_status status;
	const char *message;
} errors[] = {
	/* The engine cannot be reached or has ended. */
	{ ENOTCONN, NN_DEVICE_UNAVAILABLE, "no engine is running (start nnacceld)" },
	{ ETIMEDOUT, NN_DEVICE_UNAVAILABLE, "the engine is running, but no worker came in time" },
	{ EUSERS, NN_DEVICE_UNAVAILABLE, "the engine serves too many clients of this user" },
	{ EAGAIN, NN_DEVICE_UNAVAILABLE,
	  "the engine gives this user no worker now (too many new workers lately, crashes, or a "
	  "failed start): see the engine's log and try again later" },
	{ EPIPE, NN_DEAD_OBJECT, "the engine's worker died, and its models with it" },
	{ ESTALE, NN_DEAD_OBJECT, "the worker that prepared the model is dead: prepare again" },
	{ ENOTRECOVERABLE, NN_DEAD_OBJECT,
	  "the device is lost: the engine's worker died, and a job that it started may still write "
	  "to memory" },
	{ ETIME, NN_MISSED_DEADLINE_TRANSIENT, "the deadline passed" },
	{ EINTR, NN_GENERAL_FAILURE, "interrupted by a signal" },
	{ ECANCELED, NN_GENERAL_FAILURE, "cancelled" },
	{ EIO, NN_GENERAL_FAILURE,
	  "a memory cannot be accessed: its driver refused or withdrew access, or its file was "
	  "truncated" },
	{ ENOBUFS, NN_GENERAL_FAILURE, "the engine's answer is longer than expected" },
	/* A resource ran out. */
	{ EDQUOT, NN_RESOURCE_EXHAUSTED_TRANSIENT,
	  "the limit of device memory of this client or this user is reached" },
	{ ENOSPC, NN_RESOURCE_EXHAUSTED_TRANSIENT,
	  "too many memories, buffers, models, bursts or slots of this client" },
	{ EXFULL, NN_RESOURCE_EXHAUSTED_TRANSIENT,
	  "too many commands of this client are in flight" },
	{ EFBIG, NN_RESOURCE_EXHAUSTED_PERSISTENT, "the memory is larger than the largest possible "
	  "pool" },
	{ ENOMEM, NN_RESOURCE_EXHAUSTED_TRANSIENT, "the kernel has no memory left" },
	{ EMFILE, NN_RESOURCE_EXHAUSTED_TRANSIENT, "this process has too many files open" },
	{ ENFILE, NN_RESOURCE_EXHAUSTED_TRANSIENT, "the system has too many files open" },
	/* The buffer has no contents, or an execution is still writing the contents. */
	{ ENODATA, NN_GENERAL_FAILURE, "nothing was written to the buffer" },
	{ EBUSY, NN_GENERAL_FAILURE, "the buffer is in use: a writer needs it alone, and readers "
	  "need it without a writer" },
	/* The caller made an invalid request. */
	{ EBADF, NN_INVALID_ARGUMENT, "the file descriptor is not open" },
	{ EINVAL, NN_INVALID_ARGUMENT, "the kernel refused the call: a value or range is invalid" },
	{ ENODEV, NN_INVALID_ARGUMENT, "this kind of file can't be mapped" },
	{ EOPNOTSUPP, NN_INVALID_ARGUMENT, "this kind of memory or file cannot do this" },
	{ EPERM, NN_INVALID_ARGUMENT, "the file's seals forbid the requested access, or the buffer "
	  "was not created for this use" },
	{ ENOENT, NN_INVALID_ARGUMENT, "no such memory, buffer or model on this device" },
	{ EFAULT, NN_INVALID_ARGUMENT, "a pointer is invalid" },
	{ EACCES, NN_INVALID_ARGUMENT, "the file or memory does not permit the access" },
	/* The kernel or engine has an incompatible version. */
	{ ENOTTY, NN_DEVICE_UNAVAILABLE, "the file is not an nnaccel device, or the module is too "
	  "old for this library" },
	{ E2BIG, NN_DEVICE_UNAVAILABLE, "the module is too old: upgrade it" },
};

enum nn_status nna_fail_errno(const struct nna_device *device, const char *call, int error,
			      struct nn_error *err)
{
	struct nnaccel_info info = { .size = sizeof(info) };
	const char *text = strerrordesc_np(error);
	size_t i;

	/*
	 * NNACCEL_INFO returns EACCES only in a process that did not open the device; other calls
	 * also return EACCES for other reasons.
	 */
	if (error == EACCES && nna_device_call(device, NNACCEL_INFO, &info) && errno == EACCES)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "%s: the device was opened by another "
			       "process: each must open its own", call);
	if (error == ETIMEDOUT && !nna_device_call(device, NNACCEL_INFO, &info))
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "%s: the engine is running, but no "
			       "worker came within %u ms: try again, or raise the module's "
			       "engine_wait_ms", call, info.engine_wait_ms);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return nn_fail(err, errors[i].status, "%s: %s", call, errors[i].message);
	return nn_fail(err, NN_GENERAL_FAILURE, "%s: %s", call, text ? text : "unknown error");
}

enum nn_status nna_fail_status(const char *call, uint32_t status, const char *message,
			       struct nn_error *err)
{
	if (status > NN_RESOURCE_EXHAUSTED_PERSISTENT)
		return nn_fail(err, NN_GENERAL_FAILURE, "%s: the engine returned the unknown "
			       "status %u", call, status);
	if (!*message)
		message = "the engine refused without a reason";
	return nn_fail(err, (enum nn_status)status, "%s: %s", call, message);
}

enum nn_status nna_call_verdict(const struct nna_device *device, const char *call, int error,
				bool was_past, uint32_t status, const char *message,
				struct nn_error *err)
{
	if (error == ETIME && was_past)
		return nn_fail(err, NN_MISSED_DEADLINE_PERSISTENT,
			       "%s: the deadline had passed before the call", call);
	if (error)
		return nna_fail_errno(device, call, error, err);
	return status ? nna_fail_status(call, status, message, err) : NN_OK;
}

const char *nna_status_name(enum nn_status status)
{
	return nn_status_name(status);
}
