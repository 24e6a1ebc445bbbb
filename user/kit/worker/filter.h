/* SPDX-License-Identifier: MIT */
/* The system calls that a worker may make. A system call outside the filter ends the process. */
#ifndef NN_KIT_FILTER_H
#define NN_KIT_FILTER_H

#include <stdbool.h>

#include <nnaccel/engine.h>

/*
 * Loads the filter into every thread of the process. The filter allows the calls that the engine
 * declares for its files. The engine's files must already be open.
 */
bool filter_load(const struct nna_engine *engine);

/*
 * Loads a filter for a process that will load shared objects: the process may open files for
 * reading and execute their code. After loading the shared objects, the process must call
 * filter_load().
 */
bool filter_load_for_plugins(const struct nna_engine *engine);

#endif /* NN_KIT_FILTER_H */
