/* SPDX-License-Identifier: MIT */
/*
 * The request for the times at which an execution's operations ran, and the format of these times.
 *
 * To request times, the client passes an attribute of TIMES_EXTENSION, and one output more than the
 * model has. Into the additional output, libnnaccel-engine writes the begin and end of the
 * execution, and the engine writes the times at which operations ran. An engine with an older
 * libnnaccel-engine rejects the attribute of TIMES_EXTENSION with NN_INVALID_ARGUMENT.
 */
#ifndef NN_MODEL_TIMES_H
#define NN_MODEL_TIMES_H

#include <string.h>

#include <nnaccel/execution.h>

#define TIMES_EXTENSION "nnaccel.times"

/* The header of the output with the times; an array struct nn_operation_time[count] follows. */
struct times_head {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t count;
	uint32_t reserved;
};

/*
 * Returns whether the attributes request times: an attribute of TIMES_EXTENSION must be the only
 * attribute.
 */
static inline bool times_are_asked(const struct nn_attributes *attributes)
{
	return attributes && attributes->count == 1 &&
	       !strcmp(attributes->list[0].extension, TIMES_EXTENSION);
}

/* Adds the times of an operation to the list, unless the list is full. */
static inline void times_add(struct nn_times *times, uint32_t index, int32_t type, uint64_t begin_ns,
			     uint64_t end_ns)
{
	if (times->count < times->room)
		times->list[times->count++] = (struct nn_operation_time){ index, type, begin_ns, end_ns };
}

#endif /* NN_MODEL_TIMES_H */
