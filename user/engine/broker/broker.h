/* SPDX-License-Identifier: MIT */
/*
 * The broker: holds the engine node, keeps sandboxed workers ready and gives
 * each context that wants an engine one of its own.
 */
#ifndef NN_ENGINE_BROKER_H
#define NN_ENGINE_BROKER_H

#include "engine/broker/cgroup.h"
#include "kit/extensions.h"
#include "kit/keeper.h"
#include "kit/spawn.h"

struct broker_options {
	const char *device;
	const char *name;			/* that the engine registers under */
	unsigned int idle;			/* workers to keep ready, at least 1 */
	unsigned int max_workers;
	unsigned int max_workers_per_user;
	unsigned int worker_rate;		/* new workers of a user a second, after a burst */
	struct cgroup_options cgroup;
	struct spawner spawner;
	struct keeper_options keeper;
	struct extensions extensions;		/* changes as its folder does */
};

/*
 * Runs until SIGTERM or SIGINT. Returns the exit code: EXIT_SUCCESS, or
 * EXIT_FAILURE with a log line.
 */
int broker_run(struct broker_options *options);

#endif /* NN_ENGINE_BROKER_H */
