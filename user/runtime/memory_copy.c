/* SPDX-License-Identifier: MIT */
/*
 * Copying one memory to another: ordinary ones byte by byte, those made from
 * descriptions with their shapes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/log.h"
#include "runtime/memory_desc.h"
#include "runtime/operand.h"

/* The bytes that a memory holds, and (where it has any) their type and shape. */
struct contents {
	const ANeuralNetworksMemory *memory;
	bool is_typed;
	struct nn_operand operand;
	size_t size;
};

static int get_source(const ANeuralNetworksMemory *memory, struct contents *source,
		      struct nn_error *err)
{
	*source = (struct contents){ .memory = memory, .size = memory->size };
	if (!memory->domain)
		return ANEURALNETWORKS_NO_ERROR;
	source->is_typed = true;
	if (!memory_get_contents(memory, &source->operand))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "nothing was written to the source");
	source->size = operand_size(&source->operand);
	return ANEURALNETWORKS_NO_ERROR;
}

/* The shape that a destination made from a description takes from the source. */
static int get_destination(const ANeuralNetworksMemory *memory, const struct contents *source,
			   struct contents *destination, struct nn_error *err)
{
	*destination = (struct contents){ .memory = memory, .size = memory->size };
	if (!memory->domain)
		return ANEURALNETWORKS_NO_ERROR;
	destination->is_typed = true;
	destination->operand = memory->domain->operand;
	if (!source->is_typed)
		return ANEURALNETWORKS_NO_ERROR;
	if (!nn_operand_same_type(&destination->operand, &source->operand))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s is copied to %s, or the scales or zero points differ",
			       nn_type_name(source->operand.type),
			       nn_type_name(destination->operand.type));
	if (!nn_operand_merge_dims(&destination->operand, source->operand.rank,
				source->operand.dims))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "the destination was made with another shape than the source has");
	/* The shape may have been open until now. */
	if (memory_is_on_device(memory))
		destination->size = operand_size(&destination->operand);
	return ANEURALNETWORKS_NO_ERROR;
}

static int read_device(const struct contents *source, void *to, struct nn_error *err)
{
	return rt_fail_status(err, nna_buffer_read(source->memory->domain->buffer, to,
						   source->size, err));
}

static int write_device(const struct contents *destination, const void *from,
			struct nn_error *err)
{
	return rt_fail_status(err, nna_buffer_write(destination->memory->domain->buffer, from,
						    destination->size, destination->operand.rank,
						    destination->operand.dims, err));
}

/* From one device's memory to another's, or to other memory of it. */
static int copy_through_host(const struct contents *source, const struct contents *destination,
			     struct nn_error *err)
{
	void *bytes = malloc(source->size);
	int result;

	if (!bytes)
		return rt_out_of_memory(err);
	result = read_device(source, bytes, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = write_device(destination, bytes, err);
	free(bytes);
	return result;
}

static int copy_bytes(const struct contents *source, const struct contents *destination,
		      struct nn_error *err)
{
	bool from_device = memory_is_on_device(source->memory);
	bool to_device = memory_is_on_device(destination->memory);
	int result = ANEURALNETWORKS_NO_ERROR;
	uint8_t *from, *to;

	if (source->size != destination->size)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%zu bytes are copied to a memory of %zu", source->size,
			       destination->size);
	if (from_device && to_device)
		return copy_through_host(source, destination, err);
	if (!from_device)
		result = memory_map(source->memory, PROT_READ, &from, err);
	if (result == ANEURALNETWORKS_NO_ERROR && !to_device)
		result = memory_map(destination->memory, PROT_WRITE, &to, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (from_device)
		return read_device(source, to, err);
	if (to_device)
		return write_device(destination, from, err);
	memmove(to, from, source->size);
	return ANEURALNETWORKS_NO_ERROR;
}

static int copy(const ANeuralNetworksMemory *src, const ANeuralNetworksMemory *dst,
		struct nn_error *err)
{
	struct contents source, destination = { .memory = dst };
	int result;

	if (src == dst)
		return ANEURALNETWORKS_NO_ERROR;
	result = get_source(src, &source, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = get_destination(dst, &source, &destination, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = copy_bytes(&source, &destination, err);
	/* Whatever a copy failed of, the destination holds nothing from then on. */
	if (dst->domain)
		memory_note_written(dst, result == ANEURALNETWORKS_NO_ERROR,
				    destination.operand.rank, destination.operand.dims);
	return result;
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src, const ANeuralNetworksMemory *dst)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(src);
	RT_NOT_NULL(dst);
	return rt_end(copy(src, dst, &err), &err);
}
