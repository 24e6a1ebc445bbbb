/* SPDX-License-Identifier: MIT */
/*
 * A worker's sandbox: the privileges that the process drops before it reads a byte from a client.
 * Every step that fails ends the process with a log line.
 */
#ifndef NN_KIT_SANDBOX_H
#define NN_KIT_SANDBOX_H

#include <nnaccel/engine.h>

#include "kit/worker/worker.h"

/* The folder of a worker's plug-ins, the only files in its root. */
#define SANDBOX_PLUGINS "/extensions"

/*
 * Empties the root except for the folder of plug-ins, if any. Drops groups, ids and capabilities,
 * forbids new privileges and core dumps, and limits resources. Must run on the main thread before
 * others start.
 */
void sandbox_enter(const struct nna_engine *engine, const struct worker_options *options);

/* Forbids new processes and, unless the engine may make them, new threads. */
void sandbox_stop_processes(const struct nna_engine *engine, enum isolation isolation);

/*
 * Restrict system calls to the filter and the engine's own files. If plug-ins are to be loaded, the
 * first function comes before them and their constructors, and the second after.
 */
void sandbox_seal_for_plugins(const struct nna_engine *engine);
void sandbox_seal(const struct nna_engine *engine);

#endif /* NN_KIT_SANDBOX_H */
