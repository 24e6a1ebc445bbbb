/* SPDX-License-Identifier: MIT */
/*
 * Gives an execution's arguments their memory. Formatted memory is a tensor of the rows of all
 * planes, without the padding between rows. If there is padding, the rows are copied from or to
 * private memory; otherwise they are used in place.
 */
#ifndef NN_KIT_ROWS_H
#define NN_KIT_ROWS_H

#include <nnaccel/execution.h>

#include "kit/session/grants.h"

/*
 * Gives an argument the rows of a mapping. Sets *staged to NULL, or to private memory for the rows,
 * which rows_end() frees.
 */
enum nn_status rows_begin(const struct mapping *mapping, bool is_output, struct nn_arg *arg,
			  void **staged, struct nn_error *err);

/*
 * Ends the use that rows_begin() began. Copies the rows back if `write` says that an output was
 * written.
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
	void **staged;			/* staged rows of each argument; see rows_begin() */
};

/*
 * Checks arguments against their pools, whose numbers must be valid, and sets a->args.
 * memory_args_end() must follow, also after a failure; `done` says that outputs were written.
 */
enum nn_status memory_args_begin(const struct memory_args *a, struct nn_error *err);
void memory_args_end(const struct memory_args *a, bool done);

#endif /* NN_KIT_ROWS_H */
