/* SPDX-License-Identifier: MIT */
/*
 * What serves a client, as a process.
 */
#ifndef NN_KIT_PROCESS_H
#define NN_KIT_PROCESS_H

#include <nnaccel/engine.h>

#include "kit/worker.h"

/*
 * Runs a worker: sandboxes the process, loads plug-ins, says so, waits for the
 * session, serves it. The arguments are those of worker.h. Does not return.
 */
__attribute__((noreturn)) void worker_main(const struct nna_engine *engine, int argc, char **argv);

/* Serves a session in this process, which gets no sandbox. cache: as of server_init(). */
__attribute__((noreturn)) void worker_serve(const struct nna_engine *engine, int session, int cache);

#endif /* NN_KIT_PROCESS_H */
