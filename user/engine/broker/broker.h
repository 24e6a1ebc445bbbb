/* SPDX-License-Identifier: MIT */
/*
 * The broker: holds the engine node, keeps sandboxed workers ready and gives
 * each context that wants an engine one of its own.
 */
#ifndef NN_ENGINE_BROKER_H
#define NN_ENGINE_BROKER_H

#include "engine/broker/cgroup.h"
#include "kit/options.h"

struct broker_options {
	struct engine_options common;		/* the extensions change as their folder does */
	unsigned int worker_rate;		/* new workers of a user a second, after a burst */
	struct cgroup_options cgroup;
};

/*
 * Runs until SIGTERM or SIGINT. Returns the exit code: EXIT_SUCCESS, or
 * EXIT_FAILURE with a log line.
 */
int broker_run(struct broker_options *options);

#endif /* NN_ENGINE_BROKER_H */
