/* SPDX-License-Identifier: MIT */
/*
 * Saving a prepared model to the compilation cache.
 */
#ifndef NN_HAL_CACHE_H
#define NN_HAL_CACHE_H

#include "prepare.h"

/* An entry of a caller as this library knows it. NN_INVALID_ARGUMENT: of no size that it can have. */
enum nn_status nna_take_cache(struct nna_cache *ours, const struct nna_cache *cache,
			      struct nn_error *err);

/*
 * Saves what was prepared; says in err why not. *put_off: there is nothing to be saved
 * before the first execution, which is no failure.
 */
enum nn_status nna_cache_save(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			      bool *put_off, struct nn_error *err);

#endif /* NN_HAL_CACHE_H */
