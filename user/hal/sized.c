/* SPDX-License-Identifier: MIT */
/*
 * Structures of callers that begin with their size.
 */
#include "sized.h"

#include <string.h>

enum nn_status nna_take_struct(void *ours, size_t size, size_t least, const void *callers,
			       const char *what, struct nn_error *err)
{
	const uint8_t *bytes = callers;
	const uint32_t written = (uint32_t)size;
	uint32_t given;

	memcpy(&given, callers, sizeof(given));
	if (given == size) {
		memcpy(ours, callers, size);
		return NN_OK;
	}
	if (given < least)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s: its size is %u, at least %zu is "
			       "needed", what, given, least);
	for (size_t i = size; i < given; i++)
		if (bytes[i])
			return nn_fail(err, NN_INVALID_ARGUMENT, "%s: this library does not know "
				       "what is in byte %zu", what, i);
	memset(ours, 0, size);
	memcpy(ours, callers, given < size ? given : size);
	memcpy(ours, &written, sizeof(written));
	return NN_OK;
}

enum nn_status nna_give_struct(void *callers, uint32_t *callers_size, const void *ours, size_t size,
			       size_t least, const char *what, struct nn_error *err)
{
	size_t given = *callers_size;

	if (given < least)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s: its size is %zu, at least %zu is "
			       "needed", what, given, least);
	memset(callers, 0, given);
	memcpy(callers, ours, given < size ? given : size);
	*callers_size = (uint32_t)(given < size ? given : size);
	return NN_OK;
}
