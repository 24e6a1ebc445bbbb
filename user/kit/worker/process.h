/* SPDX-License-Identifier: MIT */
/*
 * The process that serves a client.
 */
#ifndef NN_KIT_PROCESS_H
#define NN_KIT_PROCESS_H

#include <nnaccel/engine.h>

#include "kit/worker/worker.h"

/*
 * Runs a worker: sandboxes the process, loads plug-ins, reports that it is ready, waits for the
 * session and serves it. The arguments are described in worker.h. Does not return.
 */
__attribute__((noreturn)) void worker_main(const struct nna_engine *engine, int argc, char **argv);

/*
 * Serves a session in this process, without a sandbox. `cache` is the socket to the keeper of the
 * compilation cache, or -1.
 */
__attribute__((noreturn)) void worker_serve(const struct nna_engine *engine, int session, int cache);

#endif /* NN_KIT_PROCESS_H */
