// SPDX-License-Identifier: MIT
/*
 * Formatted memory as arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/rows.h"

enum nn_status rows_begin(const struct mapping *mapping, bool is_output, struct nn_arg *arg,
			  void **staged, struct nn_error *err)
{
	const struct nnaccel_format *f = &mapping->format;
	char *first = (char *)mapping->base + f->offset, *to;

	*staged = NULL;
	arg->data = first;
	arg->length = (uint64_t)f->row_bytes * f->height;
	if (f->stride == f->row_bytes || f->height == 1)
		return NN_OK;
	to = malloc(arg->length);
	if (!to)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the rows of a picture");
	for (uint32_t y = 0; y < f->height && !is_output; y++)
		memcpy(to + (uint64_t)y * f->row_bytes, first + (uint64_t)y * f->stride,
		       f->row_bytes);
	*staged = to;
	arg->data = to;
	return NN_OK;
}

void rows_end(const struct mapping *mapping, bool write, void *staged)
{
	const struct nnaccel_format *f = &mapping->format;
	char *first = (char *)mapping->base + f->offset;

	for (uint32_t y = 0; y < f->height && write && staged; y++)
		memcpy(first + (uint64_t)y * f->stride,
		       (char *)staged + (uint64_t)y * f->row_bytes, f->row_bytes);
	free(staged);
}
