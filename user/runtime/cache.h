/* SPDX-License-Identifier: MIT */
/* Compilation caching: names of the files for a prepared step, and preparing from them. */
#ifndef NN_RUNTIME_CACHE_H
#define NN_RUNTIME_CACHE_H

#include "runtime/partition.h"

/* The caching that an application asked for. */
struct cache_options {
	const char *dir;		/* folder, which ends in '/'; NULL if `fds` has the files */
	const int *fds;			/* model files, then data files, for the only device */
	const uint8_t *token;		/* [ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] */
};

/*
 * Prepares a step from its cache entry; without a valid entry, prepares it and saves the entry. A
 * fault of the entry is only logged. If `cache` is NULL or the device has no cache files, the step
 * is only prepared. Open files belong to a whole model, so other steps are not cached in them.
 */
int cache_prepare(const struct cache_options *cache, const struct step *step,
		  const struct prepare_options *options, struct prepared **prepared,
		  struct nn_error *err);

#endif /* NN_RUNTIME_CACHE_H */
