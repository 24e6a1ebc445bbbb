/* SPDX-License-Identifier: MIT */
/*
 * Bursts of the client: one thread sleeps on those that are idle, an active one
 * gets a thread of its own.
 */
#ifndef NN_KIT_BURSTS_H
#define NN_KIT_BURSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/command.h"
#include "kit/grants.h"
#include "kit/models.h"

/* Threads that a worker has for bursts: one that watches, the others serve. */
#define BURST_WATCHERS 1
#define BURST_SERVERS 8

struct burst;
struct idler;
struct scratch;

/* Mapped memory of the session. */
struct region {
	void *base;			/* NULL: not mapped */
	size_t length;
};

struct bursts {
	struct grants *grants;
	struct models *models;
	bool ended;			/* under the lock: threads are to end */
	uint64_t spin_ns;		/* longest spin of a wait */
	unsigned int max_spinning;	/* bursts that may spin at a time */
	atomic_uint serving;		/* bursts that have a thread */
	atomic_uint idle;		/* threads that have none */

	pthread_mutex_t lock;
	pthread_cond_t opened;		/* the first burst; there is a doorbell */
	struct region doorbell;		/* not mapped until the first burst */
	struct burst *list;
	unsigned int count;
	struct burst *queue;		/* those that want a thread, the first first */
	struct burst **queue_end;
	struct idler *idlers;		/* threads that have no burst, the last one first */
	struct scratch *scratches;	/* that no thread uses, the last used first */
};

/* Before the sandbox: it asks how many CPUs there are. */
bool bursts_init(struct bursts *bursts, struct grants *grants, struct models *models);

/* NNACCEL_DO_BURST: maps the rings and waits for requests from now on. */
enum nn_status bursts_open(struct bursts *bursts, const struct command *command,
			   struct nn_error *err);

/* NNACCEL_DO_BURST_GONE: the burst goes now, or after what it executes. */
void bursts_close(struct bursts *bursts, uint32_t number);

/* NNACCEL_DO_SLOT_GONE: its memory is unmapped now, or after what executes on it. */
void bursts_forget_slot(struct bursts *bursts, uint32_t number, uint32_t slot);

/* What the BURST_WATCHERS and BURST_SERVERS threads do, until bursts_end(). */
void bursts_watch(struct bursts *bursts);
void bursts_serve(struct bursts *bursts);

/* Has the threads end, each after what it executes. */
void bursts_end(struct bursts *bursts);

/* After bursts_end(): takes what a session gave out of threads that still execute. */
void bursts_revoke(struct bursts *bursts);

/* Frees all, once the threads have ended. */
void bursts_free(struct bursts *bursts);

#endif /* NN_KIT_BURSTS_H */
