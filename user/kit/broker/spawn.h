/* SPDX-License-Identifier: MIT */
/*
 * Starts a worker, a process that executes the worker's program in separate namespaces. A socket
 * and a pipe connect the worker to the broker.
 */
#ifndef NN_KIT_SPAWN_H
#define NN_KIT_SPAWN_H

#include <nnaccel/engine.h>

#include "kit/worker/worker.h"

/* Maximum number of names in spawner.environment. */
#define ENVIRONMENT_MAX 16

struct spawner {
	/* path of the worker's program; NULL: the installed nnaccel-worker */
	const char *path;
	int program;			/* O_PATH descriptor of the worker's program */
	uid_t uid;			/* user id that workers run as */
	gid_t gid;
	struct worker_options options;	/* options of workers; spawn.c sets `uid` and `gid` */
	bool allow_none;	/* true: allow ISOLATE_NONE if no stronger isolation works */
	/* names of the environment variables that workers get, with NULL at the end; or NULL */
	const char *const *environment;
};

struct spawn_plugins {
	const char *folder;
	char **files;			/* names of the plug-ins' files, with NULL at the end */
	unsigned int count;
	bool probe;	/* true: the worker only tests the last plug-in of the list, then ends */
};

struct spawned {
	pid_t pid;
	int pidfd;
	int control;			/* seqpacket socket */
	int log;			/* non-blocking pipe */
};

/*
 * Opens the worker's program and finds the strongest isolation that the system supports. Logs a
 * line if the strongest isolation is weaker than ISOLATE_USERNS. Returns false, with a log line, if
 * only ISOLATE_NONE works but `allow_none` is not set.
 */
bool spawner_init(struct spawner *spawner);

/*
 * Starts a worker. `cgroup` is the descriptor of the directory of the worker's cgroup, or -1 for
 * the broker's cgroup. `plugins` are the plug-ins to load, or NULL. Returns false, with a log line,
 * on failure.
 */
bool spawn_worker(const struct spawner *spawner, int cgroup, const struct spawn_plugins *plugins,
		  struct spawned *spawned);

/*
 * Creates a socket pair: ends[0] is for the broker and the keeper, ends[1] for the process or
 * threads that serve a client. Returns false with errno set.
 */
bool spawn_control(int ends[2]);

/*
 * Raises this process's limit of open files, so that the process can have `workers` workers. Logs a
 * line if the limit cannot be raised.
 */
void spawn_raise_files(unsigned int workers);

/*
 * Passes a session to a worker. The caller must close its own descriptor of the session, so that
 * only the worker has the session open.
 */
bool spawned_pass_session(const struct spawned *spawned, int session);

/*
 * Returns whether the worker has reported that it is ready. If the worker has ended, returns false.
 * The function spawned_is_ready() does not block.
 */
bool spawned_is_ready(const struct spawned *spawned);

void spawned_kill(const struct spawned *spawned);

#endif /* NN_KIT_SPAWN_H */
