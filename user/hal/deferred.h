/* SPDX-License-Identifier: MIT */
/*
 * Deferred saves: cache entries that are saved after the engine has compiled or tuned a model.
 */
#ifndef NN_HAL_DEFERRED_H
#define NN_HAL_DEFERRED_H

#include "prepare.h"

/*
 * Duplicates a cache entry's handles, to save the model later. `put_off` says that nothing was
 * saved yet, because the engine compiles at the first execution. If memory runs out, the model is
 * not saved later.
 */
void nna_deferred_begin(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			bool put_off);

/*
 * Records that an execution has succeeded, or was submitted and waits for a fence. Any number of
 * threads may call nna_deferred_executed() at the same time.
 */
void nna_deferred_executed(struct nna_prepared_model *prepared);

/* Waits for a save that is in progress, and closes the duplicated handles. */
void nna_deferred_end(struct nna_prepared_model *prepared);

#endif /* NN_HAL_DEFERRED_H */
