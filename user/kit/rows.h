/* SPDX-License-Identifier: MIT */
/*
 * Formatted memory as arguments: a tensor has the rows of all planes without
 * what lies between them. Where something does, they are copied to or from
 * memory of our own; where nothing does, they are used where they lie.
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

#endif /* NN_KIT_ROWS_H */
