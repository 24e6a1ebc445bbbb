/* SPDX-License-Identifier: MIT */
/*
 * The broker: holds the engine node, keeps sandboxed workers ready and gives each context that
 * wants an engine one of its own, or has threads of the engine serve it.
 */
#ifndef NN_KIT_BROKER_H
#define NN_KIT_BROKER_H

#include "kit/broker/options.h"

/* Runs until SIGTERM or SIGINT. Returns EXIT_SUCCESS, or EXIT_FAILURE with a log line. */
int broker_run(struct engine_options *options);

#endif /* NN_KIT_BROKER_H */
