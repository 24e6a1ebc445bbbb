/* SPDX-License-Identifier: MIT */
/*
 * Executions while the engine has them, for functions of <nnaccel/engine.h>.
 */
#ifndef NN_KIT_RUNNING_H
#define NN_KIT_RUNNING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/session/buffers.h"
#include "kit/session/grants.h"

struct running {
	struct nna_engine_execution *execution;	/* the engine's handle */
	const struct grants *grants;
	uint64_t cookie;
	uint32_t num_fences;		/* fences that the engine waits for */
	struct mapping **pools;
	struct buffer **buffers;	/* buffer of each pool, or NULL */
	uint32_t num_pools;
	bool may_have_fence;
	int fence;			/* fence from the engine, or -1 */
	/* Protected by the lock of running.c: how the engine ended it. */
	bool has_ended;
	enum nn_status status;
	struct nn_error reason;
	pthread_cond_t ended;
};

/*
 * Begins an execution and sets its handle. NN_RESOURCE_EXHAUSTED_TRANSIENT: too many run in this
 * process.
 */
enum nn_status running_begin(struct running *running, struct nn_error *err);

/*
 * Ends an execution with what the engine's `execute` returned. Waits for nna_engine_end() if that
 * was NNA_ENGINE_DEFERRED. Returns the execution's status; err: its reason.
 */
enum nn_status running_end(struct running *running, enum nn_status result, struct nn_error *err);

#endif /* NN_KIT_RUNNING_H */
