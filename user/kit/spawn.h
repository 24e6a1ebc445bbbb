/* SPDX-License-Identifier: MIT */
/*
 * Starting a worker: a process in namespaces of its own that executes the
 * worker's program, and the broker's ends of what connects the two.
 */
#ifndef NN_KIT_SPAWN_H
#define NN_KIT_SPAWN_H

#include <nnaccel/engine.h>

#include "kit/worker.h"

/* How workers are started. */
struct spawner {
	const char *path;		/* of the program; NULL: nnaccel-worker, where it is */
	int program;			/* the same, O_PATH */
	uid_t uid;			/* that workers run as */
	gid_t gid;
	struct worker_options options;	/* options.uid and .gid are spawn's to fill */
	bool allow_none;		/* ISOLATE_NONE is better than nothing */
};

/* Plug-ins that a worker is to load. */
struct spawn_plugins {
	const char *folder;
	char **files;			/* names in it, and a NULL */
	unsigned int count;
	bool probe;			/* only to see whether the last one is sound */
};

/* A started worker. */
struct spawned {
	pid_t pid;
	int pidfd;
	int control;			/* seqpacket socket */
	int log;			/* non-blocking pipe */
};

/*
 * Opens the program and finds out which isolation there is, with a log line
 * where it is not the full one. False, with a log line, where there is none that
 * the administrator allows.
 */
bool spawner_init(struct spawner *spawner);

/*
 * Starts a worker, in the cgroup of a folder's descriptor (-1: the broker's), with
 * plug-ins or (NULL) without. False, with a log line, on failure.
 */
bool spawn_worker(const struct spawner *spawner, int cgroup, const struct spawn_plugins *plugins,
		  struct spawned *spawned);

/* A socket between whoever serves a client, ends[1], and the broker or keeper. False: errno. */
bool spawn_control(int ends[2]);

/* Allows this process the files for so many workers; a log line where it may not have as many. */
void spawn_raise_files(unsigned int workers);

/* Gives the session away: it is the worker's alone once the caller closes it. */
bool spawned_pass_session(const struct spawned *spawned, int session);

/* Whether it says that it is ready; false too if it has ended. Does not wait. */
bool spawned_is_ready(const struct spawned *spawned);

void spawned_kill(const struct spawned *spawned);

#endif /* NN_KIT_SPAWN_H */
