/* SPDX-License-Identifier: MIT */
/*
 * Executions while the engine has them, for functions of <nnaccel/engine.h>.
 */
#ifndef NN_KIT_RUNNING_H
#define NN_KIT_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/session/buffers.h"
#include "kit/session/grants.h"
#include "kit/session/tasks.h"

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
	struct tasks *tasks;		/* these run `end` once a deferred execution has ended */
	struct task end;
	/* Protected by the lock of running.c: how the engine ended it. */
	bool is_deferred, has_ended;
	enum nn_status status;
	struct nn_error reason;
};

/*
 * Begins an execution and sets its handle. NN_RESOURCE_EXHAUSTED_TRANSIENT: too many run in this
 * process.
 */
enum nn_status running_begin(struct running *running, struct nn_error *err);

/*
 * Ends an execution with what the engine's `execute` returned. Returns the execution's status; err:
 * its reason. NNA_ENGINE_DEFERRED: the engine has not ended it yet. It belongs to the task `end` from
 * then on, which calls this function again with the same result.
 */
enum nn_status running_end(struct running *running, enum nn_status result, struct nn_error *err);

#endif /* NN_KIT_RUNNING_H */
