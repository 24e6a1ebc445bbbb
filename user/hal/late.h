/* SPDX-License-Identifier: MIT */
/*
 * Late work: entries of the compilation cache that are saved when the engine has
 * compiled, or tuned, a model after it was prepared.
 */
#ifndef NN_HAL_LATE_H
#define NN_HAL_LATE_H

#include "prepare.h"

/*
 * Keeps duplicates of an entry's handles with a model. put_off: nothing was saved,
 * for the engine compiles at the first execution. Without memory there is no late work.
 */
void nna_late_begin(struct nna_prepared_model *prepared, const struct nna_cache *cache,
		    bool put_off);

/* An execution has succeeded, or begun behind a fence; any number of threads. */
void nna_late_executed(struct nna_prepared_model *prepared);

/* Waits for what is being saved, and gives up the handles. */
void nna_late_end(struct nna_prepared_model *prepared);

#endif /* NN_HAL_LATE_H */
