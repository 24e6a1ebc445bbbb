/* SPDX-License-Identifier: MIT */
/*
 * Serves clients at a socket, without the module: see base/direct.h.
 */
#ifndef NN_KIT_DIRECT_H
#define NN_KIT_DIRECT_H

#include "kit/broker/options.h"

/*
 * Runs until SIGTERM or SIGINT. Each client is served by a process or by threads, as the options
 * say. No process is sandboxed. Returns EXIT_SUCCESS, or EXIT_FAILURE with a log line.
 */
int direct_run(const struct engine_options *options);

#endif /* NN_KIT_DIRECT_H */
