/* SPDX-License-Identifier: MIT */
/*
 * Memory as arguments. Formatted memory is a tensor of the rows of all planes without what lies
 * between them. If something does, they are copied to or from memory of our own, else used where
 * they lie.
 */
#ifndef NN_KIT_ROWS_H
#define NN_KIT_ROWS_H

#include <nnaccel/execution.h>

#include "kit/grants.h"

/*
 * Gives an argument the rows of a mapping. *staged: what rows_end() frees, or
 * NULL; an input's rows are copied there.
 */
enum nn_status rows_begin(const struct mapping *mapping, bool is_output, struct nn_arg *arg,
			  void **staged, struct nn_error *err);

/* Ends it; `write`: an output was written, and its rows are copied back. */
void rows_end(const struct mapping *mapping, bool write, void *staged);

static inline bool mapping_is_formatted(const struct mapping *mapping)
{
	return mapping->prot & NNACCEL_PROT_FORMATTED;
}

/* An execution's arguments, outputs behind inputs. */
struct memory_args {
	const struct nnaccel_arg *from;
	struct mapping *const *pools;
	uint32_t num_inputs, count;
	struct nn_arg *args;		/* that these become */
	void **staged;			/* of each argument; see rows_begin() */
};

/*
 * Checks arguments against the pools that they lie in. Their numbers of pools have to be right.
 * memory_args_end() must follow, also after a failure. `done`: outputs were written.
 */
enum nn_status memory_args_begin(const struct memory_args *a, struct nn_error *err);
void memory_args_end(const struct memory_args *a, bool done);

#endif /* NN_KIT_ROWS_H */
