/* SPDX-License-Identifier: MIT */
/*
 * A worker's sandbox: what the process gives up before it reads a byte that a
 * client wrote. Every step that fails ends the process with a log line.
 */
#ifndef NN_ENGINE_SANDBOX_H
#define NN_ENGINE_SANDBOX_H

#include "engine/worker.h"

/*
 * Empties the root, leaves groups, ids and capabilities, forbids new privileges
 * and dumps, bounds resources. For the main thread, before there are others.
 */
void sandbox_enter(const struct worker_options *options);

/* Once all threads run: no more processes, and system calls by the filter only. */
void sandbox_seal(void);

#endif /* NN_ENGINE_SANDBOX_H */
