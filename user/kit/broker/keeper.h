/* SPDX-License-Identifier: MIT */
/*
 * The keeper of the compilation cache, as the broker sees it: a process of another program that
 * holds the index. The broker passes it a socket to each worker, with the worker's user. The keeper
 * reads what workers send and waits for disks, so that the broker need not. It ends with its
 * broker.
 */
#ifndef NN_KIT_KEEPER_H
#define NN_KIT_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/option.h"
#include "kit/api/log.h"
#include "kit/broker/spawn.h"

/* Arguments of the keeper; keeper_rows lists those that it gets. */
struct keeper_options {
	const char *folder;		/* folder of the index; NULL if there is no cache */
	const char *version;		/* version of the index; keeper_start() sets it */
	const char *identity;	/* identity of the engine's own store; NULL if it has none */
	struct {
		uint64_t bytes;		/* 0: no plans are stored */
		uint64_t bytes_per_user;
	} plans;			/* limits of the engine's own cache */
	enum log_level log_level;
	const char *program;		/* NULL for the installed nnaccel-keeper */
	const char *engine;		/* identity of the engine; NULL or "": no cache */
	const struct spawn_plugins *plugins;	/* plug-ins that workers load, or NULL */
};

#define KEEPER_WORDS 6
extern const struct option_row keeper_rows[KEEPER_WORDS + 1];

struct keeper {
	struct keeper_options options;
	pid_t pid;			/* 0: none */
	int pidfd;	/* pidfd of the keeper, or -1; readable when the keeper has ended */
	int socket;			/* -1: none */
	int own;			/* the broker's end of keeper_connect()'s socket, or -1 */
	int program;
	int claim;			/* the folder, locked; -1: not */
	bool is_taken;			/* another engine has locked it */
	char version[160];		/* version of the index */
	uint64_t started_ns;
};

/*
 * Starts the keeper once its folder exists and is writable. False: there is no keeper; a log line
 * says why unless no cache is wanted. If is_taken is set, the engine must not serve.
 */
bool keeper_start(struct keeper *keeper, const struct keeper_options *options);

/*
 * Passes a copy of the broker's end of a worker's socket to the keeper, with the user. Returns
 * false if the worker has no cache. nnacceld keeps its own end for the next keeper, so that the
 * worker does not notice a restart. A worker that the keeper drops is shut down in both. A caller
 * that will not pass the end again closes it, so that the worker sees the keeper's end.
 */
bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid);

/*
 * Returns a socket to the keeper, for the broker's own process, as the engine's user. It stays
 * connected if the keeper is started again. The caller closes it. Returns -1 if there is no keeper.
 */
int keeper_connect(struct keeper *keeper);

/*
 * Reaps a keeper that has ended, as its pidfd shows, and starts another, at most every 10 s.
 * Returns true if a new keeper runs; it knows no worker yet. Does not wait.
 */
bool keeper_revive(struct keeper *keeper);

/* Ends the keeper and waits, for a limited time, until its data is on disk. */
void keeper_stop(struct keeper *keeper);

#endif /* NN_KIT_KEEPER_H */
