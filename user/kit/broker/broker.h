/* SPDX-License-Identifier: MIT */
/* The broker: holds the engine node open and keeps sandboxed workers ready. */
#ifndef NN_KIT_BROKER_H
#define NN_KIT_BROKER_H

#include "kit/broker/options.h"

/*
 * Runs the broker until the process gets SIGTERM or SIGINT. Returns EXIT_SUCCESS, or EXIT_FAILURE
 * with a log line.
 */
int broker_run(struct engine_options *options);

#endif /* NN_KIT_BROKER_H */
