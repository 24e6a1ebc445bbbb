/* SPDX-License-Identifier: MIT */
/*
 * An execution: its arguments, their memory, and the shapes of its outputs. The structures follow
 * Request of the NN HAL 1.3, but contain pointers to mapped memory.
 */
#ifndef NNACCEL_EXECUTION_H
#define NNACCEL_EXECUTION_H

#include <nnaccel/model.h>

/* One input or output of an execution. */
struct nn_arg {
	void *data;			/* other processes may write the data at any time */
	uint64_t length;		/* bytes at data */
	uint32_t rank;			/* 0: the argument has the model's dimensions */
	uint32_t dims[NN_MAX_RANK];
	bool omitted;
};

/* Shape of an output after an execution. */
struct nn_output_shape {
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];
	bool sufficient;
};

/* The time when an operation ran, by CLOCK_MONOTONIC. */
struct nn_operation_time {
	uint32_t index;	/* operation's index in the main subgraph; may have NN_OTHER_MODEL added */
	/* The operation's OperationCode; NN_OPERATIONS for several operations from `index` on. */
	int32_t type;
	uint64_t begin_ns;
	uint64_t end_ns;
};

/*
 * The engine adds this number to an operation's index if the operation is in an equivalent model
 * that the engine made from the client's model.
 */
#define NN_OTHER_MODEL 0x80000000u
#define NN_OPERATIONS (-1)

/* The times of a model's operations. */
struct nn_times {
	struct nn_operation_time *list;	/* other processes may write the list at any time */
	uint32_t room;
	uint32_t count;
};

struct nn_execution {
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nn_arg *inputs;
	const struct nn_arg *outputs;
	struct nn_output_shape *shapes;	/* nn_output_shape[num_outputs], or NULL; */
	bool shapes_known;		/* out: true if `shapes` are valid */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	uint64_t loop_timeout_ns;	/* time limit of a loop: 0 means 2 s, at most 15 s */
	const struct nn_attributes *attributes;	/* attributes for extensions, or NULL */
	/*
	 * The list in which an engine records the times of operations, in the order of execution;
	 * or NULL.
	 */
	struct nn_times *times;
	bool measure;			/* true if the caller requests device_ns */
	uint64_t device_ns;	/* out: execution's time on the device; 0 if not reported */
};

#endif /* NNACCEL_EXECUTION_H */
