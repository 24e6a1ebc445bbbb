/* SPDX-License-Identifier: MIT */
/*
 * Saving a prepared model to the compilation cache.
 */
#ifndef NN_HAL_CACHE_H
#define NN_HAL_CACHE_H

#include "prepare.h"

/* Copies a caller's cache entry. Returns NN_INVALID_ARGUMENT if its size is not valid. */
enum nn_status nna_take_cache(struct nna_cache *ours, const struct nna_cache *cache,
			      struct nn_error *err);

/*
 * Saves a prepared model; `err` says why it failed. Sets *put_off if there is nothing to save
 * before the first execution, which is no failure.
 */
enum nn_status nna_cache_save(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			      bool *put_off, struct nn_error *err);

#endif /* NN_HAL_CACHE_H */
