/* SPDX-License-Identifier: MIT */
/*
 * The broker's functions for the keeper of the compilation cache, a process of its own that holds
 * the index. For each worker, the broker passes the keeper a socket and the user id. The keeper
 * reads messages of workers and waits for disks, so that the broker does neither. It ends when the
 * broker ends.
 */
#ifndef NN_KIT_KEEPER_H
#define NN_KIT_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/option.h"
#include "kit/api/log.h"
#include "kit/broker/spawn.h"

/* Options for the keeper. The table keeper_rows has those that are passed to the process. */
struct keeper_options {
	const char *folder;		/* folder of the index; NULL if there is no cache */
	const char *version;		/* version of the index; keeper_start() sets it */
	const char *identity;	/* identity of the engine's own store; NULL if it has none */
	struct {
		uint64_t bytes;		/* limit of all plans; 0: no plans are stored */
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
	pid_t pid;			/* 0: none */
	int pidfd;	/* pidfd of the keeper, or -1; readable when the keeper has ended */
	int socket;			/* socket to the keeper, or -1 */
	int own;			/* the broker's end of keeper_connect()'s socket, or -1 */
	int program;
	int claim;			/* descriptor of the locked folder, or -1 */
	bool is_taken;			/* another engine has locked it */
	char version[160];		/* version of the index */
	uint64_t started_ns;
};

/*
 * Starts the keeper if its folder exists and is writable. Returns false if no keeper runs, with a
 * log line unless the options have no cache. If it sets is_taken, the engine must not serve.
 */
bool keeper_start(struct keeper *keeper, const struct keeper_options *options);

/*
 * Passes the keeper a copy of the broker's end of a worker's socket, and the user. Returns false if
 * the worker gets no cache. The broker keeps its end open and passes it to the next keeper, so that
 * the worker does not notice a restart. If the keeper drops a worker, it shuts the socket down for
 * both copies. A caller that will not pass the end again closes it; only then does the worker
 * notice the end of the keeper.
 */
bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid);

/*
 * Returns a socket by which the broker itself uses the cache, as the engine's user. It stays
 * connected if the keeper is started again. The caller closes the socket. Returns -1 if there is no
 * keeper.
 */
int keeper_connect(struct keeper *keeper);

/*
 * Reaps a keeper that has ended, which its pidfd shows, and starts a new one, at most every 10 s.
 * Returns true if a new keeper runs, which has no worker's socket yet. Does not wait.
 */
bool keeper_revive(struct keeper *keeper);

/* Ends the keeper and waits, for a limited time, until its data is on disk. */
void keeper_stop(struct keeper *keeper);

#endif /* NN_KIT_KEEPER_H */
