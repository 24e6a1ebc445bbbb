/* SPDX-License-Identifier: MIT */
/*
 * Result codes: names, mapping from status codes, and lines of the log for calls that fail.
 */
#include "runtime/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/first.h"
#include "runtime/trace.h"

static const char *const result_names[] = {
	[ANEURALNETWORKS_NO_ERROR] = "NO_ERROR",
	[ANEURALNETWORKS_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
	[ANEURALNETWORKS_INCOMPLETE] = "INCOMPLETE",
	[ANEURALNETWORKS_UNEXPECTED_NULL] = "UNEXPECTED_NULL",
	[ANEURALNETWORKS_BAD_DATA] = "BAD_DATA",
	[ANEURALNETWORKS_OP_FAILED] = "OP_FAILED",
	[ANEURALNETWORKS_BAD_STATE] = "BAD_STATE",
	[ANEURALNETWORKS_UNMAPPABLE] = "UNMAPPABLE",
	[ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE] = "OUTPUT_INSUFFICIENT_SIZE",
	[ANEURALNETWORKS_UNAVAILABLE_DEVICE] = "UNAVAILABLE_DEVICE",
	[ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT] = "MISSED_DEADLINE_TRANSIENT",
	[ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT] = "MISSED_DEADLINE_PERSISTENT",
	[ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT] = "RESOURCE_EXHAUSTED_TRANSIENT",
	[ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT] = "RESOURCE_EXHAUSTED_PERSISTENT",
	[ANEURALNETWORKS_DEAD_OBJECT] = "DEAD_OBJECT",
};

static const int results[] = {
	[NN_OK] = ANEURALNETWORKS_NO_ERROR,
	[NN_DEVICE_UNAVAILABLE] = ANEURALNETWORKS_UNAVAILABLE_DEVICE,
	[NN_GENERAL_FAILURE] = ANEURALNETWORKS_OP_FAILED,
	[NN_OUTPUT_INSUFFICIENT_SIZE] = ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
	[NN_INVALID_ARGUMENT] = ANEURALNETWORKS_BAD_DATA,
	[NN_MISSED_DEADLINE_TRANSIENT] = ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
	[NN_MISSED_DEADLINE_PERSISTENT] = ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT,
	[NN_RESOURCE_EXHAUSTED_TRANSIENT] = ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT,
	[NN_RESOURCE_EXHAUSTED_PERSISTENT] = ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT,
	[NN_DEAD_OBJECT] = ANEURALNETWORKS_DEAD_OBJECT,
	[NN_OUT_OF_MEMORY] = ANEURALNETWORKS_OUT_OF_MEMORY,
};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void rt_fall_back(enum fall_back why, int result, const char *format, ...)
{
	static atomic_uint said[NUM_FALL_BACKS];	/* by result */
	char message[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	nna_log(first_time(&said[why], result) ? NNA_LOG_NOTE : NNA_LOG_WARN, "%s", message);
	if (trace_is_on())
		trace_instant("fallback", message);
}

const char *rt_result_name(int result)
{
	if (result < 0 || (size_t)result >= ARRAY_SIZE(result_names))
		return "unknown result";
	return result_names[result];
}

int rt_result(enum nn_status status)
{
	if ((size_t)status >= ARRAY_SIZE(results))
		return ANEURALNETWORKS_OP_FAILED;
	return results[status];
}

int rt_fail(struct nn_error *err, int result, const char *format, ...)
{
	char message[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	nn_fail(err, NN_GENERAL_FAILURE, "%s", message);
	return result;
}

int rt_out_of_memory(struct nn_error *err)
{
	return rt_fail(err, ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
}

int rt_fail_status(struct nn_error *err, enum nn_status status)
{
	if (status != NN_OK)
		nn_fail(err, status, "%s", nn_status_name(status));
	return rt_result(status);
}

int rt_end_call(const char *function, int result, const struct nn_error *err)
{
	if (result != ANEURALNETWORKS_NO_ERROR)
		nna_log(NNA_LOG_ERROR, "%s: %s: %s", function, rt_result_name(result),
		       err->message);
	return result;
}

int rt_not_null_call(const char *function, const char *names, const void *const *pointers,
		     uint32_t count)
{
	uint32_t i = 0;

	while (i < count && pointers[i])
		i++;
	if (i == count)
		return ANEURALNETWORKS_NO_ERROR;
	for (; i; i--)
		names = strchr(names, ',') + 2;
	return rt_refuse_call(function, ANEURALNETWORKS_UNEXPECTED_NULL, "%.*s is NULL",
			      (int)strcspn(names, ","), names);
}

int rt_refuse_call(const char *function, int result, const char *format, ...)
{
	struct nn_error err;
	va_list args;

	va_start(args, format);
	vsnprintf(err.message, sizeof(err.message), format, args);
	va_end(args);
	return rt_end_call(function, result, &err);
}
