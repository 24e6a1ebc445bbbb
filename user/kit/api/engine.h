/* SPDX-License-Identifier: MIT */
/*
 * Checks of struct nna_engine, which the author of an engine fills in.
 */
#ifndef NN_KIT_ENGINE_H
#define NN_KIT_ENGINE_H

#include <nnaccel/engine.h>

#include "base/sized.h"

/* Returns what is missing or wrong in an engine's structure, or NULL. */
const char *engine_fault(const struct nna_engine *engine);

/* Returns what the processes that serve clients may do: a set of enum nna_engine_permission. */
static inline uint32_t engine_permissions(const struct nna_engine *engine)
{
	return HAS_FIELD(engine, permissions) ? engine->permissions : 0;
}

/* Numbers of model files and data files that an engine's cache entries have. */
struct cache_files {
	uint32_t model, data;
};
struct cache_files engine_cache_files(const struct nna_engine *engine);

#endif /* NN_KIT_ENGINE_H */
