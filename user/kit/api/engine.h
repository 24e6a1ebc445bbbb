/* SPDX-License-Identifier: MIT */
/* Checks struct nna_engine, which the author of an engine fills in. */
#ifndef NN_KIT_ENGINE_H
#define NN_KIT_ENGINE_H

#include <nnaccel/engine.h>

#include "base/sized.h"

/*
 * Returns a text that says what is missing or wrong in *engine, or NULL if *engine is complete and
 * valid.
 */
const char *engine_fault(const struct nna_engine *engine);

/*
 * Returns the permissions of the processes that serve clients: a set of enum nna_engine_permission.
 */
static inline uint32_t engine_permissions(const struct nna_engine *engine)
{
	return HAS_FIELD(engine, permissions) ? engine->permissions : 0;
}

/* The numbers of model files and of data files in a cache entry of an engine. */
struct cache_files {
	uint32_t model, data;
};
struct cache_files engine_cache_files(const struct nna_engine *engine);

#endif /* NN_KIT_ENGINE_H */
