/* SPDX-License-Identifier: MIT */
/*
 * The keeper of the compilation cache: a process of the broker's that holds the
 * index. The broker gives it a socket to each worker, with the user that the
 * worker serves; it reads what workers send, so that the broker need not, and
 * waits for disks, so that the broker does not. One whose broker died serves the
 * workers that are left.
 */
#ifndef NN_ENGINE_KEEPER_H
#define NN_ENGINE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/blob_store.h"
#include "engine/spawn.h"

struct keeper_options {
	const char *folder;		/* of the index; NULL: no cache */
	struct blob_limits plans;	/* of the engine's own cache */
	const struct spawn_plugins *plugins;	/* that workers may have; NULL: none */
};

struct keeper {
	const struct keeper_options *options;
	pid_t pid;			/* 0: none */
	int socket;			/* -1: none */
	uint64_t started_ns;
};

/*
 * Starts the keeper, once the folder is there and can be written. False: there is
 * none, with a log line but where no cache is wanted.
 */
bool keeper_start(struct keeper *keeper, const struct keeper_options *options);

/*
 * Gives it a copy of the broker's end of a worker's socket, and the user. False: the
 * worker has no cache. The broker keeps its own for a keeper that comes after this one,
 * which the worker need not notice; a worker that the keeper drops is shut down in both.
 */
bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid);

/*
 * Reaps a keeper that has ended, as its socket tells, and starts another, though not more
 * often than every 10 s. True: there is one, which knows no worker yet.
 */
bool keeper_revive(struct keeper *keeper);

/* Ends it and waits until what it keeps is on the disk. */
void keeper_stop(struct keeper *keeper);

#endif /* NN_ENGINE_KEEPER_H */
