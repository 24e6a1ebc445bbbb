/* SPDX-License-Identifier: MIT */
/*
 * Compilation caching: which files hold what was prepared of a step, and
 * preparing from them.
 */
#ifndef NN_RUNTIME_CACHE_H
#define NN_RUNTIME_CACHE_H

#include "runtime/partition.h"

/* The caching that an application asked for. */
struct cache_options {
	const char *dir;		/* ends in '/'; NULL: the files are `fds` */
	const int *fds;			/* model files, then data files, as the only device has */
	const uint8_t *token;		/* [ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] */
};

/*
 * Prepares a step from its cache entry, or else by itself, saving what was
 * prepared. Nothing that is wrong with the entry is an error: it is one line of
 * the log. `cache` NULL, or a device that has no cache files: plainly prepares. Files
 * that are open are of a whole model: other steps are not cached in them.
 */
int cache_prepare(const struct cache_options *cache, const struct step *step,
		  const struct prepare_options *options, struct prepared **prepared,
		  struct nn_error *err);

#endif /* NN_RUNTIME_CACHE_H */
