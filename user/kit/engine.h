/* SPDX-License-Identifier: MIT */
/*
 * Checks of an engine's structure, which the application has filled in.
 */
#ifndef NN_KIT_ENGINE_H
#define NN_KIT_ENGINE_H

#include <nnaccel/engine.h>

/* Returns what an engine lacks, or NULL. */
const char *engine_fault(const struct nna_engine *engine);

#endif /* NN_KIT_ENGINE_H */
