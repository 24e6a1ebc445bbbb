/* SPDX-License-Identifier: MIT */
/* Serves a client's bursts. */
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

/* Number of threads that watch a worker's idle bursts. */
#define BURST_WATCHERS 1

struct burst;
struct scratch;

struct bursts {
	struct grants *grants;
	struct models *models;
	struct tasks *tasks;		/* threads that serve the bursts */
	/* function called after the device was lost; the function ends the session */
	void (*lost)(struct bursts *bursts);
	bool ended;	/* true: the threads that serve bursts must end; protected by `lock` */
	uint64_t spin_ns;		/* maximum time for which a waiting thread spins */
	unsigned int max_spinning;	/* number of bursts that may spin at a time */
	atomic_uint serving;		/* number of bursts that threads serve now */

	pthread_mutex_t lock;
	/* condition that is signalled when the first burst has mapped the doorbell */
	pthread_cond_t opened;
	struct nn_region doorbell;		/* doorbell page, mapped by the first burst */
	struct burst *list;
	unsigned int count;
	/* list of free scratch memory, the most recently used first */
	struct scratch *scratches;
};

/*
 * Initialises *bursts. The process must call bursts_init() before it enters its sandbox, because
 * bursts_init() asks the system for the number of CPUs.
 */
bool bursts_init(struct bursts *bursts, struct grants *grants, struct models *models,
		 struct tasks *tasks);

/* Handles NNACCEL_DO_BURST: maps the rings and starts to wait for requests. */
enum nn_status bursts_open(struct bursts *bursts, const struct command *command,
			   struct nn_error *err);

/*
 * Handles NNACCEL_DO_BURST_GONE: ends the burst now or, if the burst executes a request, after the
 * execution.
 */
void bursts_close(struct bursts *bursts, uint32_t number);

/*
 * Handles NNACCEL_DO_SLOT_GONE: unmaps the slot's memory now or, if executions use the memory,
 * after the executions.
 */
void bursts_forget_slot(struct bursts *bursts, uint32_t number, uint32_t slot);

/* Waits for requests of idle bursts, on the calling thread, until bursts_end(). */
void bursts_watch(struct bursts *bursts);

/* Makes all threads stop serving requests. The caller must call bursts_end() before tasks_end(). */
void bursts_end(struct bursts *bursts);

/*
 * Replaces the bursts' shared memory by private memory, which threads that still execute a request
 * can access safely. The caller must call bursts_revoke() after bursts_end().
 */
void bursts_revoke(struct bursts *bursts);

/* Frees all bursts. All threads must have ended before the call of bursts_free(). */
void bursts_free(struct bursts *bursts);

#endif /* NN_KIT_BURSTS_H */
