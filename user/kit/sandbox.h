/* SPDX-License-Identifier: MIT */
/*
 * A worker's sandbox: what the process gives up before it reads a byte that a
 * client wrote. Every step that fails ends the process with a log line.
 */
#ifndef NN_KIT_SANDBOX_H
#define NN_KIT_SANDBOX_H

#include <nnaccel/engine.h>

#include "kit/worker.h"

/* Where a worker finds its plug-ins, the only files there are. */
#define SANDBOX_PLUGINS "/extensions"

/*
 * Empties the root except for the folder of plug-ins, if there is one, leaves groups, ids
 * and capabilities, forbids new privileges and dumps, bounds resources. For the
 * main thread, before there are others.
 */
void sandbox_enter(const struct worker_options *options);

/* Once all threads run: no more of them. */
void sandbox_stop_processes(void);

/*
 * Then: system calls by the filter only, which allows what the engine does with its files. Where
 * plug-ins are to be loaded, the first comes before them and their constructors, and the second
 * after.
 */
void sandbox_seal_for_plugins(const struct nna_engine *engine);
void sandbox_seal(const struct nna_engine *engine);

#endif /* NN_KIT_SANDBOX_H */
