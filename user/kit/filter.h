/* SPDX-License-Identifier: MIT */
/*
 * The system calls that a worker may make. Any other ends the process.
 */
#ifndef NN_KIT_FILTER_H
#define NN_KIT_FILTER_H

#include <stdbool.h>

#include <nnaccel/engine.h>

/*
 * Loads the filter into every thread of the process. It allows of the engine's files, which are
 * open, what the engine says.
 */
bool filter_load(const struct nna_engine *engine);

/*
 * The same for a process that is yet to load shared objects: it may open files for
 * reading, execute what they hold, and call filter_load() afterwards.
 */
bool filter_load_for_plugins(const struct nna_engine *engine);

#endif /* NN_KIT_FILTER_H */
