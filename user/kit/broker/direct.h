/* SPDX-License-Identifier: MIT */
/* Serves clients at a Unix socket, without the kernel module: see base/direct.h. */
#ifndef NN_KIT_DIRECT_H
#define NN_KIT_DIRECT_H

#include "kit/broker/options.h"

/*
 * Serves clients until SIGTERM or SIGINT. The options determine whether a process or threads serve
 * each client. No process is sandboxed. Returns EXIT_SUCCESS, or EXIT_FAILURE with a log line.
 */
int direct_run(const struct engine_options *options);

#endif /* NN_KIT_DIRECT_H */
