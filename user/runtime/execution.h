/* SPDX-License-Identifier: MIT */
/* Executions: the arguments of a compilation, the state of a run, and the run's results. */
#ifndef NN_RUNTIME_EXECUTION_H
#define NN_RUNTIME_EXECUTION_H

#include <stdatomic.h>

#include "runtime/compilation.h"

enum execution_state {
	EXECUTION_CONFIGURING,
	EXECUTION_STARTED,
	EXECUTION_FINISHED,
};

enum execution_way {
	EXECUTION_ASYNC = 1,
	EXECUTION_SYNC,
	EXECUTION_BURST,
	EXECUTION_FENCED,
};

struct ANeuralNetworksExecution {
	ANeuralNetworksCompilation *compilation;
	uint32_t num_inputs;
	uint32_t num_outputs;
	struct request_arg *inputs;
	struct request_arg *outputs;
	bool *is_set;			/* inputs, then outputs */
	bool any_set;
	bool padded;			/* true: arguments may be longer than the operands */
	bool reusable;
	bool measure;
	uint64_t timeout_ns;		/* 0: none */
	uint64_t loop_timeout_ns;
	struct nn_attributes attributes;
	ANeuralNetworksMemory *temporaries;	/* memory of temporary operands, or NULL */

	/*
	 * The thread that sets `state` to EXECUTION_STARTED owns the fields after `state` until
	 * `state` has another value.
	 */
	_Atomic enum execution_state state;
	int result;
	/* shape of each output, valid if `result` is NO_ERROR or OUTPUT_INSUFFICIENT_SIZE */
	struct nn_output_shape *shapes;
	uint64_t on_device_us;
	uint64_t in_driver_us;
	uint64_t fenced_in_driver_us;	/* time from the dependencies' end to the execution's end */
	uint64_t deadline_ns;
	/*
	 * Event of the latest fenced run, to which the execution holds a reference; NULL if there
	 * was none.
	 */
	ANeuralNetworksEvent *event;
	enum execution_way way;		/* kind of the latest start of this execution */
	uint64_t started_ns;		/* start time; set only for traces and reports */
	uint64_t traced;		/* result of trace_async_begin() for a fenced execution */
};

/*
 * Returns OP_FAILED if an input is memory made from a memory description, and the memory has no
 * contents, or contents of another shape than the input.
 */
int execution_check_memories(const ANeuralNetworksExecution *execution, struct nn_error *err);

/*
 * Runs a started execution to its end, with a deadline (CLOCK_MONOTONIC, 0: no deadline), and
 * returns the execution's result. `burst` is a locked burst of the compilation, or NULL.
 */
int execution_run(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst,
		  uint64_t deadline_ns, struct nn_error *err);

/*
 * Submits a started execution to its device, which waits for the `wait_for` files: sync_files and
 * files of executions. The file *fence becomes readable at the execution's end; the caller must
 * then call execution_end_fenced(). If the device fails or does not support fenced executions, sets
 * *fence to -1 and does not begin the execution. If `at_once` is set, all `wait_for` files have
 * signalled, so that the contents of inputs are known.
 */
void execution_start_fenced(ANeuralNetworksExecution *execution, const int *wait_for,
			    uint32_t count, bool at_once, uint64_t duration_ns, int *fence);
int execution_end_fenced(ANeuralNetworksExecution *execution, int fence, struct nn_error *err);

/* Ends a started execution that did not run, with the given result. */
void execution_abandon(ANeuralNetworksExecution *execution, int result);

/* Returns an output operand of the model, with the dimensions that the execution's argument has. */
struct nn_operand execution_output(const ANeuralNetworksExecution *execution, uint32_t index);

#endif /* NN_RUNTIME_EXECUTION_H */
