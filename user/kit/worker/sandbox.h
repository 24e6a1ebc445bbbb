/* SPDX-License-Identifier: MIT */
/*
 * A worker's sandbox: drops the privileges of a process before the process reads a byte from a
 * client. If a step of the sandbox's set-up fails, the process ends with a log line.
 */
#ifndef NN_KIT_SANDBOX_H
#define NN_KIT_SANDBOX_H

#include <nnaccel/engine.h>

#include "kit/worker/worker.h"

/* The path of the folder of plug-ins, the only entry in a worker's root directory. */
#define SANDBOX_PLUGINS "/extensions"

/*
 * Replaces the root directory by a directory that contains only the folder of plug-ins, if any.
 * Drops groups, ids and capabilities, forbids new privileges and core dumps, and limits resources.
 * The main thread must call sandbox_enter() before other threads start.
 */
void sandbox_enter(const struct nna_engine *engine, const struct worker_options *options);

/*
 * Forbids new processes, and also new threads unless the engine has the permission to create
 * threads.
 */
void sandbox_stop_processes(const struct nna_engine *engine, enum isolation isolation);

/*
 * The functions sandbox_seal*() load a filter that restricts system calls. With plug-ins, the
 * caller calls sandbox_seal_for_plugins() before the constructors of plug-ins run, and
 * sandbox_seal() after the constructors have run.
 */
void sandbox_seal_for_plugins(const struct nna_engine *engine);
void sandbox_seal(const struct nna_engine *engine);

#endif /* NN_KIT_SANDBOX_H */
