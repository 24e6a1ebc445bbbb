/* SPDX-License-Identifier: MIT */
/*
 * Bursts of the client: one thread sleeps on all idle bursts, and each active burst has its own
 * thread, except while the engine defers its execution.
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

/* Threads that a worker has to watch bursts. */
#define BURST_WATCHERS 1

struct burst;
struct scratch;

struct bursts {
	struct grants *grants;
	struct models *models;
	struct tasks *tasks;		/* these serve the bursts */
	void (*lost)(struct bursts *bursts);	/* ends the session: the device is lost */
	bool ended;			/* under the lock: threads are to end */
	uint64_t spin_ns;		/* longest spin of a wait */
	unsigned int max_spinning;	/* bursts that may spin at a time */
	atomic_uint serving;		/* bursts that have a thread */

	pthread_mutex_t lock;
	pthread_cond_t opened;		/* signalled for the first burst; the doorbell is mapped */
	struct nn_region doorbell;		/* mapped at the first burst */
	struct burst *list;
	unsigned int count;
	struct scratch *scratches;	/* free scratch memory, the last used first */
};

/* Initialises the bursts. To be called before the sandbox, because it reads the number of CPUs. */
bool bursts_init(struct bursts *bursts, struct grants *grants, struct models *models,
		 struct tasks *tasks);

/* Handles NNACCEL_DO_BURST: maps the rings and starts to wait for requests. */
enum nn_status bursts_open(struct bursts *bursts, const struct command *command,
			   struct nn_error *err);

/* Handles NNACCEL_DO_BURST_GONE: the burst ends now, or after its current execution. */
void bursts_close(struct bursts *bursts, uint32_t number);

/* Handles NNACCEL_DO_SLOT_GONE: the memory is unmapped now, or after executions that use it. */
void bursts_forget_slot(struct bursts *bursts, uint32_t number, uint32_t slot);

/* Runs the BURST_WATCHERS threads until bursts_end(). */
void bursts_watch(struct bursts *bursts);

/* Serves no further request. To be called before tasks_end(). */
void bursts_end(struct bursts *bursts);

/* Takes the session's memory from threads that still execute. To be called after bursts_end(). */
void bursts_revoke(struct bursts *bursts);

/* Frees all bursts, once the threads have ended. */
void bursts_free(struct bursts *bursts);

#endif /* NN_KIT_BURSTS_H */
