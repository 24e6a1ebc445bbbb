/* SPDX-License-Identifier: MIT */
/*
 * What is checked of an engine that somebody else filled in.
 */
#ifndef NN_KIT_ENGINE_H
#define NN_KIT_ENGINE_H

#include <nnaccel/engine.h>

#include "base/sized.h"

/* What an engine has that 0.2.0 had no place for; false or NULL: it is of a shorter version. */
#define ENGINE_HAS(engine, member) (HAS_FIELD(engine, member) && (engine)->member)

/* What an engine lacks, or NULL. */
const char *engine_fault(const struct nna_engine *engine);

#endif /* NN_KIT_ENGINE_H */
