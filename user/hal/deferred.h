/* SPDX-License-Identifier: MIT */
/*
 * Deferred saves: cache entries that are saved after the engine has compiled or tuned a model.
 */
#ifndef NN_HAL_DEFERRED_H
#define NN_HAL_DEFERRED_H

#include "prepare.h"

/*
 * Duplicates an entry's handles for a model. `put_off` says that nothing was saved, because the
 * engine compiles at the first execution. If memory runs out, nothing is saved later.
 */
void nna_deferred_begin(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			bool put_off);

/*
 * Records that an execution has succeeded, or waits for a fence; any number of threads may call it.
 */
void nna_deferred_executed(struct nna_prepared_model *prepared);

/* Waits for a save in progress, and closes the handles. */
void nna_deferred_end(struct nna_prepared_model *prepared);

#endif /* NN_HAL_DEFERRED_H */
