/* SPDX-License-Identifier: MIT */
/*
 * The way in which a client asks when an execution's operations ran, and the form of the answer.
 *
 * The client gives the execution an attribute of TIMES_EXTENSION, and behind the model's outputs one more
 * output. The kit notes there when the engine began and ended, and the engine when operations ran.
 * An engine of an older kit refuses the attribute with NN_INVALID_ARGUMENT.
 */
#ifndef NN_MODEL_TIMES_H
#define NN_MODEL_TIMES_H

#include <string.h>

#include <nnaccel/execution.h>

#define TIMES_EXTENSION "nnaccel.times"

/* The output begins with it; struct nn_operation_time[count] follow. */
struct times_head {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t count;
	uint32_t reserved;
};

/* Whether the attributes ask for times. No other attribute can be given with it. */
static inline bool times_are_asked(const struct nn_attributes *attributes)
{
	return attributes && attributes->count == 1 &&
	       !strcmp(attributes->list[0].extension, TIMES_EXTENSION);
}

/* Notes an operation if there is room. */
static inline void times_add(struct nn_times *times, uint32_t index, int32_t type, uint64_t begin_ns,
			     uint64_t end_ns)
{
	if (times->count < times->room)
		times->list[times->count++] = (struct nn_operation_time){ index, type, begin_ns, end_ns };
}

#endif /* NN_MODEL_TIMES_H */
