/* SPDX-License-Identifier: MIT */
/* Copies callers' structures whose first field is the structure's size. */
#include "sized.h"

#include <string.h>

static enum nn_status check_size(size_t given, size_t least, const char *what, struct nn_error *err)
{
	if (given >= least && given <= NNA_MAX_STRUCT)
		return NN_OK;
	return nn_fail(err, NN_INVALID_ARGUMENT, "%s: the structure's size is %zu, but must be %zu "
		       "to %d: set it to sizeof the structure", what, given, least, NNA_MAX_STRUCT);
}

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
	if (check_size(given, least, what, err))
		return NN_INVALID_ARGUMENT;
	for (size_t i = size; i < given; i++)
		if (bytes[i])
			return nn_fail(err, NN_INVALID_ARGUMENT, "%s: byte %zu is not 0, but this "
				       "library knows no field there: set it to 0 or upgrade the "
				       "library", what, i);
	memset(ours, 0, size);
	memcpy(ours, callers, given < size ? given : size);
	memcpy(ours, &written, sizeof(written));
	return NN_OK;
}

enum nn_status nna_give_struct(void *callers, uint32_t *callers_size, const void *ours, size_t size,
			       size_t least, const char *what, struct nn_error *err)
{
	size_t given = *callers_size;

	if (check_size(given, least, what, err))
		return NN_INVALID_ARGUMENT;
	memset(callers, 0, given);
	memcpy(callers, ours, given < size ? given : size);
	*callers_size = (uint32_t)(given < size ? given : size);
	return NN_OK;
}
