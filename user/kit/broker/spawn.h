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
	int program;			/* the same, O_PATH */
	uid_t uid;			/* user id that workers run as */
	gid_t gid;
	struct worker_options options;	/* spawn sets options.uid and .gid */
	bool allow_none;		/* allow ISOLATE_NONE if no stronger isolation works */
};

/* Plug-ins that a worker is to load. */
struct spawn_plugins {
	const char *folder;
	char **files;			/* names of the files, ended by a NULL */
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
 * Opens the program and finds the best isolation, with a log line if it is not the full one.
 * Returns false, with a log line, if the administrator allows none of those available.
 */
bool spawner_init(struct spawner *spawner);

/*
 * Starts a worker in the cgroup of a folder's descriptor (-1: the broker's), with plug-ins or
 * (NULL) without. Returns false, with a log line, on failure.
 */
bool spawn_worker(const struct spawner *spawner, int cgroup, const struct spawn_plugins *plugins,
		  struct spawned *spawned);

/*
 * Creates a socket between a client's server, ends[1], and the broker or keeper. Returns false with
 * errno set.
 */
bool spawn_control(int ends[2]);

/* Raises this process' limit of files for this many workers; logs a line if that fails. */
void spawn_raise_files(unsigned int workers);

/* Passes the session on: the worker is its only owner once the caller closes it. */
bool spawned_pass_session(const struct spawned *spawned, int session);

/*
 * Returns whether the worker has reported that it is ready; false too if it has ended. Does not
 * wait.
 */
bool spawned_is_ready(const struct spawned *spawned);

void spawned_kill(const struct spawned *spawned);

#endif /* NN_KIT_SPAWN_H */
