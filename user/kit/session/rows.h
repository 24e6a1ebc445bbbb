/* SPDX-License-Identifier: MIT */
/*
 * Sets the memory of an execution's arguments. An argument in formatted memory (an image) consists
 * of the rows of all planes, without the padding between rows. If the image has padding, the rows
 * are copied from or to private memory; an image without padding is used without a copy.
 */
#ifndef NN_KIT_ROWS_H
#define NN_KIT_ROWS_H

#include <nnaccel/execution.h>

#include "kit/session/grants.h"

/*
 * Sets an argument's memory to the rows of an image in a mapping. Sets *staged to private memory
 * with a copy of the rows, which rows_end() frees, or to NULL if no copy is needed.
 */
enum nn_status rows_begin(const struct mapping *mapping, bool is_output, struct nn_arg *arg,
			  void **staged, struct nn_error *err);

/*
 * Ends the use of a mapping that rows_begin() began. If `write` is set, which is allowed only for
 * an output, copies the rows from `staged` to the mapping.
 */
void rows_end(const struct mapping *mapping, bool write, void *staged);

static inline bool mapping_is_formatted(const struct mapping *mapping)
{
	return mapping->prot & NNACCEL_PROT_FORMATTED;
}

/* An execution's arguments: all inputs, then all outputs. */
struct memory_args {
	const struct nnaccel_arg *from;
	struct mapping *const *pools;
	uint32_t num_inputs, count;
	struct nn_arg *args;		/* the resulting arguments */
	/* private memory of each argument's rows; see rows_begin() */
	void **staged;
};

/*
 * Checks that arguments lie in their pools, and sets a->args. The caller must have checked the
 * arguments' pool numbers. The caller must call memory_args_end() even after a failure; its
 * parameter `done` says whether the outputs were written.
 */
enum nn_status memory_args_begin(const struct memory_args *a, struct nn_error *err);
void memory_args_end(const struct memory_args *a, bool done);

#endif /* NN_KIT_ROWS_H */
