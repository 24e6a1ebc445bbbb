/* SPDX-License-Identifier: MIT */
/*
 * Executions in progress: from the call of the engine's `execute` to the end of the execution.
 * Functions of <nnaccel/engine.h> find an execution by the execution's handle.
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
	uint32_t num_fences;		/* number of fences that the engine waits for */
	struct mapping **pools;
	struct buffer **buffers;	/* buffers[i]: the buffer in the memory pools[i], or NULL */
	uint32_t num_pools;
	bool may_have_fence;
	int fence;			/* fence that the engine returned, or -1 */
	struct tasks *tasks;	/* threads that run `end` once a deferred execution has ended */
	struct task end;
	/*
	 * State of an execution that nna_engine_end() ends. The lock of running.c protects the
	 * fields from is_deferred on.
	 */
	bool is_deferred, has_ended;
	enum nn_status status;
	struct nn_error reason;
};

/*
 * Begins an execution and sets the execution's handle. Returns NN_RESOURCE_EXHAUSTED_TRANSIENT if
 * too many executions run in this process.
 */
enum nn_status running_begin(struct running *running, struct nn_error *err);

/*
 * Ends an execution; `result` is what the engine's `execute` returned. Returns the execution's
 * status, and writes the reason of a failure to *err. Returns NNA_ENGINE_DEFERRED if the engine has
 * not ended the execution yet. For a deferred execution, the task `end` later calls running_end()
 * again with the same `result`.
 */
enum nn_status running_end(struct running *running, enum nn_status result, struct nn_error *err);

#endif /* NN_KIT_RUNNING_H */
