/* SPDX-License-Identifier: MIT */
/*
 * The keeper of the compilation cache, as the broker sees it: a process of another program that
 * holds the index. The broker gives it a socket to each worker, with the user that the
 * worker serves; it reads what workers send, so that the broker need not, and
 * waits for disks, so that the broker does not. It ends with its broker.
 */
#ifndef NN_KIT_KEEPER_H
#define NN_KIT_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/option.h"
#include "kit/log.h"
#include "kit/spawn.h"

/* The keeper gets those of keeper_rows as its arguments. */
struct keeper_options {
	const char *folder;		/* of the index; NULL: no cache */
	const char *version;		/* that the index is good for: keeper_start() fills it in */
	struct {
		uint64_t bytes;		/* 0: none are kept */
		uint64_t bytes_per_user;
	} plans;			/* of the engine's own cache */
	enum log_level log_level;
	const char *program;		/* NULL: nnaccel-keeper, where it is installed */
	const char *identity;		/* of what computes; NULL or "": it has none, and no cache */
	const struct spawn_plugins *plugins;	/* that workers may have; NULL: none */
};

#define KEEPER_WORDS 5
extern const struct option_row keeper_rows[KEEPER_WORDS + 1];

struct keeper {
	struct keeper_options options;
	pid_t pid;			/* 0: none */
	int pidfd;			/* -1: none; readable when it has ended */
	int socket;			/* -1: none */
	int program;
	char version[160];		/* of what it may keep */
	uint64_t started_ns;
};

/*
 * Starts the keeper, once the folder is there and can be written. False: there is
 * none, with a log line but where no cache is wanted.
 */
bool keeper_start(struct keeper *keeper, const struct keeper_options *options);

/*
 * Gives it a copy of the broker's end of a worker's socket, and the user. False: the
 * worker has no cache. nnacceld keeps its own end for a keeper that comes after this one,
 * which the worker need not notice; a worker that the keeper drops is shut down in both. A caller
 * that does not pass the end again closes it, so that the worker sees the end of the keeper.
 */
bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid);

/*
 * Reaps a keeper that has ended, as its pidfd tells, and starts another, though not more
 * often than every 10 s. True: there is one, which knows no worker yet. Does not wait.
 */
bool keeper_revive(struct keeper *keeper);

/* Ends it and waits until what it keeps is on the disk, but not for ever. */
void keeper_stop(struct keeper *keeper);

#endif /* NN_KIT_KEEPER_H */
