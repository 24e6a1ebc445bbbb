/* SPDX-License-Identifier: MIT */
/*
 * Bursts of the client. One thread sleeps on all idle bursts. Each active burst has its own thread,
 * but no thread while the engine defers its execution.
 */
#ifndef NN_KIT_BURSTS_H
#define NN_KIT_BURSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/session/command.h"
#include "kit/session/grants.h"
#include "kit/session/models.h"
#include "kit/session/tasks.h"
#include "ring/regions.h"

/* Number of threads of a worker that watch its idle bursts. */
#define BURST_WATCHERS 1

struct burst;
struct scratch;

struct bursts {
	struct grants *grants;
	struct models *models;
	struct tasks *tasks;		/* threads that serve the bursts */
	void (*lost)(struct bursts *bursts);	/* ends the session after the device is lost */
	bool ended;			/* the threads must end; protected by the lock */
	uint64_t spin_ns;		/* longest spin of a wait */
	unsigned int max_spinning;	/* number of bursts that may spin at a time */
	atomic_uint serving;		/* number of bursts that a thread serves now */

	pthread_mutex_t lock;
	pthread_cond_t opened;	/* signalled at the first burst, after the doorbell is mapped */
	struct nn_region doorbell;		/* mapped at the first burst */
	struct burst *list;
	unsigned int count;
	struct scratch *scratches;	/* free scratch memory, the last used one first */
};

/*
 * Initialises the bursts. Must be called before the process enters its sandbox, because it asks the
 * system for the number of CPUs.
 */
bool bursts_init(struct bursts *bursts, struct grants *grants, struct models *models,
		 struct tasks *tasks);

/* Handles NNACCEL_DO_BURST: maps the rings and starts to wait for requests. */
enum nn_status bursts_open(struct bursts *bursts, const struct command *command,
			   struct nn_error *err);

/* Handles NNACCEL_DO_BURST_GONE: ends the burst now or, if it executes, after the execution. */
void bursts_close(struct bursts *bursts, uint32_t number);

/*
 * Handles NNACCEL_DO_SLOT_GONE: unmaps the slot's memory now or, if executions use it, after them.
 */
void bursts_forget_slot(struct bursts *bursts, uint32_t number, uint32_t slot);

/* Runs the BURST_WATCHERS threads until bursts_end(). */
void bursts_watch(struct bursts *bursts);

/* Makes the threads serve no further request. Must be called before tasks_end(). */
void bursts_end(struct bursts *bursts);

/*
 * Replaces the bursts' shared memory by private memory, for threads that still execute. Must be
 * called after bursts_end().
 */
void bursts_revoke(struct bursts *bursts);

/* Frees all bursts, once the threads have ended. */
void bursts_free(struct bursts *bursts);

#endif /* NN_KIT_BURSTS_H */
