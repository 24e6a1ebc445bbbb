/* SPDX-License-Identifier: MIT */
/*
 * The broker: holds the engine node and keeps sandboxed workers ready. Each context gets a worker
 * of its own, or is served by threads of the engine's process.
 */
#ifndef NN_KIT_BROKER_H
#define NN_KIT_BROKER_H

#include "kit/broker/options.h"

/* Runs until SIGTERM or SIGINT. Returns EXIT_SUCCESS, or EXIT_FAILURE with a log line. */
int broker_run(struct engine_options *options);

#endif /* NN_KIT_BROKER_H */
