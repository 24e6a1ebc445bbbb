/* SPDX-License-Identifier: MIT */
/* Names of status codes, and the message with the reason of a failed call. */
#include <stdarg.h>
#include <stdio.h>

#include <nnaccel/engine_model.h>

static const char *const names[] = {
	[NN_OK] = "NONE",
	[NN_DEVICE_UNAVAILABLE] = "DEVICE_UNAVAILABLE",
	[NN_GENERAL_FAILURE] = "GENERAL_FAILURE",
	[NN_OUTPUT_INSUFFICIENT_SIZE] = "OUTPUT_INSUFFICIENT_SIZE",
	[NN_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
	[NN_MISSED_DEADLINE_TRANSIENT] = "MISSED_DEADLINE_TRANSIENT",
	[NN_MISSED_DEADLINE_PERSISTENT] = "MISSED_DEADLINE_PERSISTENT",
	[NN_RESOURCE_EXHAUSTED_TRANSIENT] = "RESOURCE_EXHAUSTED_TRANSIENT",
	[NN_RESOURCE_EXHAUSTED_PERSISTENT] = "RESOURCE_EXHAUSTED_PERSISTENT",
	[NN_DEAD_OBJECT] = "DEAD_OBJECT",
	[NN_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
};

const char *nn_status_name(enum nn_status status)
{
	if ((size_t)status >= sizeof(names) / sizeof(names[0]))
		return "unknown status";
	return names[status];
}

enum nn_status nn_fail(struct nn_error *err, enum nn_status status, const char *format, ...)
{
	va_list args;
	char *c;

	if (!err || err->message[0])
		return status;

	va_start(args, format);
	if (vsnprintf(err->message, sizeof(err->message), format, args) < 0)
		err->message[0] = '\0';
	va_end(args);

	/*
	 * Replace control characters, because names in a message may contain any byte, but the
	 * message must be one line.
	 */
	for (c = err->message; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return status;
}
