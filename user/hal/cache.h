/* SPDX-License-Identifier: MIT */
/*
 * Saving a prepared model to the compilation cache.
 */
#ifndef NN_HAL_CACHE_H
#define NN_HAL_CACHE_H

#include "hal.h"

/* Saves what was just prepared; says in err why not. */
enum nn_status nna_cache_save(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			      struct nn_error *err);

#endif /* NN_HAL_CACHE_H */
