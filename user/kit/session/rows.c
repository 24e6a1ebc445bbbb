// SPDX-License-Identifier: MIT
/* Sets the memory of an execution's arguments; see rows.h. */
#include <stdlib.h>
#include <string.h>

#include "base/planes.h"
#include "kit/session/rows.h"

static char *plane_base(const struct mapping *mapping, uint32_t i)
{
	const struct mapping *of = mapping->others[i] ? mapping->others[i] : mapping;

	return (char *)of->base + mapping->format.planes[i].offset;
}

/*
 * Describes an image's planes. The field `fd` of two planes is equal only if both planes are in one
 * file.
 */
static void get_planes(const struct mapping *mapping, struct nna_hardware_plane *planes,
		       void **bases)
{
	for (uint32_t i = 0; i < mapping->format.num_planes; i++) {
		const struct nnaccel_format_plane *plane = &mapping->format.planes[i];

		bases[i] = plane_base(mapping, i);
		planes[i] = (struct nna_hardware_plane){
			.fd = mapping->others[i] ? (int)i : 0,
			.stride = plane->stride,
			.offset = plane->offset,
			.row_bytes = plane->row_bytes,
			.rows = plane->rows,
		};
	}
}

enum nn_status rows_begin(const struct mapping *mapping, bool is_output, struct nn_arg *arg,
			  void **staged, struct nn_error *err)
{
	struct nna_hardware_plane planes[NNACCEL_MAX_PLANES];
	void *bases[NNACCEL_MAX_PLANES];
	bool is_dense;

	*staged = NULL;
	get_planes(mapping, planes, bases);
	arg->data = bases[0];
	arg->length = planes_measure(planes, mapping->format.num_planes, &is_dense);
	if (is_dense)
		return NN_OK;
	*staged = malloc(arg->length);
	if (!*staged)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for the rows of an image");
	if (!is_output)
		planes_copy(planes, mapping->format.num_planes, bases, *staged, false);
	arg->data = *staged;
	return NN_OK;
}

void rows_end(const struct mapping *mapping, bool write, void *staged)
{
	struct nna_hardware_plane planes[NNACCEL_MAX_PLANES];
	void *bases[NNACCEL_MAX_PLANES];

	if (write && staged) {
		get_planes(mapping, planes, bases);
		planes_copy(planes, mapping->format.num_planes, bases, staged, true);
	}
	free(staged);
}

static enum nn_status place_arg(const struct memory_args *a, uint32_t index, struct nn_error *err)
{
	const struct nnaccel_arg *from = &a->from[index];
	const bool is_output = index >= a->num_inputs;
	struct nn_arg *arg = &a->args[index];
	const struct mapping *m;

	*arg = (struct nn_arg){ .omitted = from->flags & NNACCEL_ARG_NO_VALUE };
	a->staged[index] = NULL;
	if (arg->omitted)
		return NN_OK;
	m = a->pools[from->pool];
	if (mapping_is_formatted(m) && (from->offset || from->length))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "argument %u is a part of an image, must be whole", index);
	if (from->offset > m->length || from->length > m->length - from->offset)
		return nn_fail(err, NN_INVALID_ARGUMENT, "argument %u lies outside its pool",
			       index);
	if (is_output && !(m->prot & NNACCEL_PROT_WRITE))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "argument %u, an output, lies in a pool that is not writable", index);
	arg->rank = from->rank;
	memcpy(arg->dims, from->dims, sizeof(arg->dims));
	if (mapping_is_formatted(m))
		return rows_begin(m, is_output, arg, &a->staged[index], err);
	arg->data = (char *)m->base + from->offset;
	arg->length = from->length;
	return NN_OK;
}

enum nn_status memory_args_begin(const struct memory_args *a, struct nn_error *err)
{
	enum nn_status status = NN_OK;
	uint32_t i;

	for (i = 0; i < a->count && !status; i++)
		status = place_arg(a, i, err);
	/*
	 * After a failure, clear `staged` of the remaining arguments, so that memory_args_end()
	 * does not free garbage.
	 */
	for (; i < a->count; i++)
		a->staged[i] = NULL;
	return status;
}

void memory_args_end(const struct memory_args *a, bool done)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->staged[i])
			rows_end(a->pools[a->from[i].pool], done && i >= a->num_inputs,
				 a->staged[i]);
}
