/* SPDX-License-Identifier: MIT */
/* Compilation caching: prepares steps from cache files, and saves prepared steps to cache files. */
#ifndef NN_RUNTIME_CACHE_H
#define NN_RUNTIME_CACHE_H

#include "runtime/partition.h"

/* The cache that an application set for a compilation. */
struct cache_options {
	const char *dir;		/* folder with a final '/'; NULL if `fds` has the files */
	const int *fds;			/* model files, then data files, for a single device */
	const uint8_t *token;		/* [ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] */
};

/*
 * Prepares a step from its cache entry. Without a valid cache entry, prepares the step and saves a
 * new entry. An error in loading or saving the cache entry is only logged. If `cache` is NULL or
 * the device has no cache files, the step is prepared without a cache. If the application passed
 * open files, only a step with the whole model is cached, because the files are for the whole
 * model.
 */
int cache_prepare(const struct cache_options *cache, const struct step *step,
		  const struct prepare_options *options, struct prepared **prepared,
		  struct nn_error *err);

#endif /* NN_RUNTIME_CACHE_H */
