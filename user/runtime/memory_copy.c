/* SPDX-License-Identifier: MIT */
/*
 * Copies one memory to another memory. The destination also gets the source's shape if the
 * destination was made from a memory description.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/hardware_memory.h"
#include "runtime/log.h"
#include "runtime/memory_desc.h"
#include "runtime/operand.h"

/* Contents of a memory: the size, and the type and shape if the type and shape are known. */
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

/* Sets the shape of a destination made from a memory description to the shape of the source. */
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
	/*
	 * The destination's size may have been unknown until nn_operand_merge_dims() completed its
	 * shape.
	 */
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

/*
 * Copies between two memories of devices through this process, even if both memories belong to the
 * same device.
 */
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

/*
 * Lets a device copy between its own memory and memory outside of the device. Sets *reached to
 * false if the device cannot access the memory outside of the device.
 */
static int copy_on_device(const struct contents *source, const struct contents *destination,
			  bool *reached, struct nn_error *err)
{
	bool out = memory_is_on_device(source->memory);
	const ANeuralNetworksMemory *other = (out ? destination : source)->memory;
	const struct memory_domain *domain = (out ? source : destination)->memory->domain;
	struct nna_memory *memory;
	int result;

	result = memory_import(other, out ? PROT_WRITE : PROT_READ, domain->device, &memory, err);
	*reached = result == ANEURALNETWORKS_NO_ERROR;
	if (!*reached)
		return result;
	return rt_fail_status(err, out ? nna_buffer_copy_to(domain->buffer, memory, err) :
			      nna_buffer_copy_from(domain->buffer, memory,
						   destination->operand.rank,
						   destination->operand.dims, err));
}

/* Copies between two memories; at most one of the two may be a device's own memory. */
static int copy_here(const struct contents *source, const struct contents *destination,
		     struct nn_error *err)
{
	bool from_device = memory_is_on_device(source->memory);
	bool to_device = memory_is_on_device(destination->memory);
	struct nn_error late = { "" };
	int result = ANEURALNETWORKS_NO_ERROR, ended = ANEURALNETWORKS_NO_ERROR;
	uint8_t *from = NULL, *to = NULL;

	if (!from_device)
		result = memory_begin(source->memory, PROT_READ, &from, err);
	if (result == ANEURALNETWORKS_NO_ERROR && !to_device) {
		result = memory_begin(destination->memory, PROT_WRITE, &to, err);
		if (result != ANEURALNETWORKS_NO_ERROR && !from_device)
			memory_end(source->memory, PROT_READ, false, from, &late);
	}
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (from_device)
		result = read_device(source, to, err);
	else if (to_device)
		result = write_device(destination, from, err);
	else
		memmove(to, from, source->size);
	if (!to_device)
		ended = memory_end(destination->memory, PROT_WRITE,
				   result == ANEURALNETWORKS_NO_ERROR, to, &late);
	if (!from_device)
		memory_end(source->memory, PROT_READ, false, from, &late);
	if (result == ANEURALNETWORKS_NO_ERROR && ended != ANEURALNETWORKS_NO_ERROR) {
		*err = late;
		return ended;
	}
	return result;
}

static int copy_bytes(const struct contents *source, const struct contents *destination,
		      struct nn_error *err)
{
	bool from_device = memory_is_on_device(source->memory);
	bool to_device = memory_is_on_device(destination->memory);
	bool reached = false;
	int result;

	if (memory_is_image(source->memory) || memory_is_image(destination->memory))
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "the bytes of an image cannot be copied to or from a memory");
	if (source->size != destination->size)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "cannot copy %zu bytes to a memory of %zu", source->size,
			       destination->size);
	if (from_device && to_device)
		return copy_through_host(source, destination, err);
	if (from_device || to_device) {
		result = copy_on_device(source, destination, &reached, err);
		if (reached || result != ANEURALNETWORKS_UNMAPPABLE)
			return result;
	}
	return copy_here(source, destination, err);
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
	/* After a failed copy the destination has no contents. */
	if (dst->domain)
		memory_note_written(dst, result == ANEURALNETWORKS_NO_ERROR,
				    destination.operand.rank, destination.operand.dims);
	return result;
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src, const ANeuralNetworksMemory *dst)
{
	RT_NOT_NULL(src, dst);
	return RT_CALL(copy(src, dst, &err));
}
