/* SPDX-License-Identifier: MIT */
/* A part of a graph, compiled for inputs of certain shapes. */
#ifndef NN_ORT_COMPILED_H
#define NN_ORT_COMPILED_H

#include <pthread.h>

#include "clients/device.h"
#include "graph.h"
#include "options.h"

/* An input or output of the model, and where it comes from or goes. */
struct port {
	uint32_t index;			/* of the run's inputs or outputs */
	int type;			/* enum onnx_type */
	struct shape shape;
	int64_t count;
	size_t size;			/* bytes in the model */
	void *data;			/* of an output that is constant, of the output's type */
};

struct compiled {
	const struct options *options;
	struct shape *shapes;		/* of all inputs of runs: what it is for */
	ANeuralNetworksModel *model;	/* NULL: nothing is computed */
	ANeuralNetworksCompilation *compilation;
	struct port *in, *out;
	uint32_t in_count, out_count;
	pthread_mutex_t lock;		/* of the bursts */
	ANeuralNetworksBurst **bursts;	/* that nobody uses; their number is at most the runs' */
	uint32_t burst_count, burst_room;
	uint32_t users;			/* runs; under the program's lock */
	bool stands_in;			/* for the CPU, in the place of devices that failed */
	bool dropped;			/* nobody finds it any more: its last user frees it */
	struct compiled *next;
};

/*
 * Translates a graph for inputs of these shapes and compiles it. `in` and `out` are the values of
 * the run's inputs and outputs. NULL: with a message. `result` is then the ResultCode of the devices, who took the
 * operations before, or NO_ERROR: it is not their failure.
 */
struct compiled *compiled_new(const struct graph *graph, const struct options *options,
			      const struct devices *devices, const struct shape *shapes,
			      uint32_t in_count, const uint32_t *in, uint32_t out_count,
			      const uint32_t *out, int *result, char *message, size_t size);
void compiled_drop(struct compiled *compiled);

/* Runs it with a burst, if there are any; a ResultCode. */
int compiled_compute(struct compiled *compiled, ANeuralNetworksExecution *execution);

#endif
