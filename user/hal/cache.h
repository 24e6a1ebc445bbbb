/* SPDX-License-Identifier: MIT */
/* Saves a prepared model to the compilation cache. */
#ifndef NN_HAL_CACHE_H
#define NN_HAL_CACHE_H

#include "prepare.h"

/*
 * Copies a caller's cache entry. Returns NN_INVALID_ARGUMENT if the structure's size is not valid.
 */
enum nn_status nna_take_cache(struct nna_cache *ours, const struct nna_cache *cache,
			      struct nn_error *err);

/*
 * Saves a prepared model. If saving fails, `err` has the reason. If the model can be saved only
 * after its first execution, sets *put_off and returns success.
 */
enum nn_status nna_cache_save(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			      bool *put_off, struct nn_error *err);

#endif /* NN_HAL_CACHE_H */
