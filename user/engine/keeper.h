/* SPDX-License-Identifier: MIT */
/*
 * The keeper of the compilation cache: a process of the broker's that holds the
 * index. The broker gives it a socket to each worker, with the user that the
 * worker serves; it reads what workers send, so that the broker need not, and
 * waits for disks, so that the broker does not.
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
 * Gives it the broker's end of a worker's socket, which stays the caller's to
 * close, and the user. One that has died is started again, though not more often
 * than every 10 s. False: the worker has no cache.
 */
bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid);

/* Ends it and waits until what it keeps is on the disk. */
void keeper_stop(struct keeper *keeper);

#endif /* NN_ENGINE_KEEPER_H */
