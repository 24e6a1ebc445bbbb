/* SPDX-License-Identifier: MIT */
/*
 * What is checked of an engine that somebody else filled in.
 */
#ifndef NN_KIT_ENGINE_H
#define NN_KIT_ENGINE_H

#include <nnaccel/engine.h>

/* What an engine lacks, or NULL. */
const char *engine_fault(const struct nna_engine *engine);

#endif /* NN_KIT_ENGINE_H */
