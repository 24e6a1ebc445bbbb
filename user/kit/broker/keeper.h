/* SPDX-License-Identifier: MIT */
/*
 * The broker's functions for the keeper, a separate process that holds the index of the compilation
 * cache. For each worker, the broker passes the keeper a socket and the user id. The keeper, not
 * the broker, reads the messages of workers and waits for disks. The keeper ends when the broker
 * ends.
 */
#ifndef NN_KIT_KEEPER_H
#define NN_KIT_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/option.h"
#include "kit/api/log.h"
#include "kit/broker/spawn.h"

/*
 * Options for the keeper. The table keeper_rows has the options that the broker passes to the
 * keeper's process.
 */
struct keeper_options {
	const char *folder;		/* folder of the index; NULL if there is no cache */
	const char *version;		/* version of the index; keeper_start() sets it */
	const char *identity;	/* identity of the engine's own store; NULL if there is no store */
	struct {
		uint64_t bytes;		/* limit of all plans in bytes; 0: no plans are stored */
		uint64_t bytes_per_user;
	} plans;			/* limits of the engine's own cache */
	enum log_level log_level;
	const char *program;	/* program of the keeper; NULL: the installed nnaccel-keeper */
	const char *engine;		/* identity of the engine; NULL or "": no cache */
	const struct spawn_plugins *plugins;	/* plug-ins that workers load, or NULL */
};

#define KEEPER_WORDS 6
extern const struct option_row keeper_rows[KEEPER_WORDS + 1];

struct keeper {
	struct keeper_options options;
	pid_t pid;			/* process id of the keeper; 0 if no keeper runs */
	int pidfd;	/* pidfd of the keeper, readable when the keeper has ended, or -1 */
	int socket;			/* socket to the keeper, or -1 */
	int own;			/* the broker's end of keeper_connect()'s socket, or -1 */
	int program;
	int claim;			/* descriptor of the cache's locked folder, or -1 */
	bool is_taken;			/* true: another engine has locked the cache's folder */
	char version[160];		/* version of the cache's index, see keeper.c */
	uint64_t started_ns;
};

/*
 * Starts the keeper if the cache's folder exists and is writable. Returns false if the keeper does
 * not run, with a log line unless the options have no cache. If keeper_start() sets is_taken, the
 * engine must not serve clients.
 */
bool keeper_start(struct keeper *keeper, const struct keeper_options *options);

/*
 * Passes the keeper the user id and a duplicate of `worker`, the broker's end of a worker's socket.
 * Returns false if the worker gets no cache. The broker keeps `worker` open and passes `worker` to
 * the next keeper, so that the worker stays connected. A keeper that rejects a worker shuts down
 * the worker's socket, including the broker's duplicate. A caller that will never pass `worker`
 * again must close `worker`, so that the worker notices the keeper's end.
 */
bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid);

/*
 * Returns a socket by which the broker itself uses the cache, as the engine's user. The socket
 * stays connected if the keeper is restarted. The caller closes the socket. Returns -1 if the
 * keeper does not run.
 */
int keeper_connect(struct keeper *keeper);

/*
 * If the keeper has ended, reaps the keeper and starts a new keeper, at most every 10 s. Returns
 * true if a new keeper runs; the caller must then pass the workers' sockets to the new keeper. The
 * function keeper_revive() does not block.
 */
bool keeper_revive(struct keeper *keeper);

/* Ends the keeper and waits, for a limited time, until the keeper has written its data to disk. */
void keeper_stop(struct keeper *keeper);

#endif /* NN_KIT_KEEPER_H */
