/* SPDX-License-Identifier: MIT */
/*
 * Starts a worker: a process in namespaces of its own that executes the worker's program, with a
 * socket and a pipe to the broker.
 */
#ifndef NN_KIT_SPAWN_H
#define NN_KIT_SPAWN_H

#include <nnaccel/engine.h>

#include "kit/worker/worker.h"

/* Options for starting workers. */
struct spawner {
	const char *path;	/* path of the program; NULL for the installed nnaccel-worker */
	int program;			/* O_PATH descriptor of the program */
	uid_t uid;			/* user id that workers run as */
	gid_t gid;
	struct worker_options options;	/* options of workers; spawn.c sets `uid` and `gid` */
	bool allow_none;		/* allow ISOLATE_NONE if no stronger isolation works */
};

/* Plug-ins that a worker is to load. */
struct spawn_plugins {
	const char *folder;
	char **files;			/* names of the files, with NULL after the last */
	unsigned int count;
	bool probe;			/* start the worker only to test the last plug-in */
};

/* A started worker. */
struct spawned {
	pid_t pid;
	int pidfd;
	int control;			/* seqpacket socket */
	int log;			/* non-blocking pipe */
};

/*
 * Opens the program and finds the strongest isolation that the system supports; logs a line if it
 * is not ISOLATE_USERNS. Returns false, with a log line, if only ISOLATE_NONE works and the
 * administrator does not allow it.
 */
bool spawner_init(struct spawner *spawner);

/*
 * Starts a worker. `cgroup` is the descriptor of its cgroup's folder, or -1 for the broker's
 * cgroup. `plugins` are the plug-ins to load, or NULL. Returns false, with a log line, on failure.
 */
bool spawn_worker(const struct spawner *spawner, int cgroup, const struct spawn_plugins *plugins,
		  struct spawned *spawned);

/*
 * Creates a socket between ends[1], for what serves a client, and ends[0], for the broker and the
 * keeper. Returns false with errno set.
 */
bool spawn_control(int ends[2]);

/*
 * Raises this process's limit of open files, so that it can have `workers` workers. Logs a line if
 * that fails.
 */
void spawn_raise_files(unsigned int workers);

/*
 * Passes a session to a worker. The caller closes its own descriptor afterwards, so that only the
 * worker has the session.
 */
bool spawned_pass_session(const struct spawned *spawned, int session);

/*
 * Returns whether the worker has reported that it is ready. Returns false also if it has ended.
 * Does not wait.
 */
bool spawned_is_ready(const struct spawned *spawned);

void spawned_kill(const struct spawned *spawned);

#endif /* NN_KIT_SPAWN_H */
