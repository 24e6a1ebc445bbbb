/* SPDX-License-Identifier: MIT */
/*
 * Checks of an engine's structure, which the application has filled in.
 */
#ifndef NN_KIT_ENGINE_H
#define NN_KIT_ENGINE_H

#include <nnaccel/engine.h>

#include "base/sized.h"

/* Returns what an engine lacks, or NULL. */
const char *engine_fault(const struct nna_engine *engine);

/* Returns what clients' processes may do: enum nna_engine_permission. */
static inline uint32_t engine_permissions(const struct nna_engine *engine)
{
	return HAS_FIELD(engine, permissions) ? engine->permissions : 0;
}

/* The numbers of cache files of each kind that an engine has. */
struct cache_files {
	uint32_t model, data;
};
struct cache_files engine_cache_files(const struct nna_engine *engine);

#endif /* NN_KIT_ENGINE_H */
