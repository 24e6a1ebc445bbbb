// SPDX-License-Identifier: MIT
/*
 * Formatted memory as arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "kit/rows.h"

static char *plane_base(const struct mapping *mapping, uint32_t i)
{
	const struct mapping *of = mapping->others[i] ? mapping->others[i] : mapping;

	return (char *)of->base + mapping->format.planes[i].offset;
}

/* Bytes of all planes' pixels, and whether they lie one after the other. */
static uint64_t measure(const struct mapping *mapping, bool *is_dense)
{
	uint64_t length = 0;

	*is_dense = true;
	for (uint32_t i = 0; i < mapping->format.num_planes; i++) {
		const struct nnaccel_format_plane *plane = &mapping->format.planes[i];

		if ((plane->stride != plane->row_bytes && plane->rows > 1) || mapping->others[i] ||
		    plane->offset != mapping->format.planes[0].offset + length)
			*is_dense = false;
		length += (uint64_t)plane->row_bytes * plane->rows;
	}
	return length;
}

/* Copies pixels between planes and the bytes that they are as a tensor. */
static void copy_planes(const struct mapping *mapping, char *data, bool to_planes)
{
	for (uint32_t i = 0; i < mapping->format.num_planes; i++) {
		const struct nnaccel_format_plane *plane = &mapping->format.planes[i];
		char *row = plane_base(mapping, i);

		for (uint32_t y = 0; y < plane->rows; y++) {
			memcpy(to_planes ? row : data, to_planes ? data : row, plane->row_bytes);
			row += plane->stride;
			data += plane->row_bytes;
		}
	}
}

enum nn_status rows_begin(const struct mapping *mapping, bool is_output, struct nn_arg *arg,
			  void **staged, struct nn_error *err)
{
	bool is_dense;

	*staged = NULL;
	arg->data = plane_base(mapping, 0);
	arg->length = measure(mapping, &is_dense);
	if (is_dense)
		return NN_OK;
	*staged = malloc(arg->length);
	if (!*staged)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the rows of a picture");
	if (!is_output)
		copy_planes(mapping, *staged, false);
	arg->data = *staged;
	return NN_OK;
}

void rows_end(const struct mapping *mapping, bool write, void *staged)
{
	if (write && staged)
		copy_planes(mapping, staged, true);
	free(staged);
}
