/* SPDX-License-Identifier: MIT */
/*
 * The worker, as a function: tests are workers, too.
 */
#ifndef NN_ENGINE_WORKER_WORKER_H
#define NN_ENGINE_WORKER_WORKER_H

#include "kit/worker.h"

/*
 * Runs a worker: sandboxes the process, loads plug-ins, says so, waits for the
 * session, serves it. `args` are argv[1] on: the options' text, then, where there
 * are plug-ins, their folder and the names of their files. Does not return.
 */
__attribute__((noreturn)) void worker_main(char *const *args);

#endif /* NN_ENGINE_WORKER_WORKER_H */
