/* SPDX-License-Identifier: MIT */
/* A part of a graph, compiled for inputs of certain shapes. */
#ifndef NN_ORT_COMPILED_H
#define NN_ORT_COMPILED_H

#include <pthread.h>

#include "clients/device.h"
#include "graph.h"
#include "options.h"

/*
 * An input or output of the NNAPI model, and the corresponding input or output of an ONNX Runtime
 * call.
 */
struct port {
	uint32_t index;			/* index of the run's input or output */
	int type;			/* enum onnx_type */
	struct shape shape;
	int64_t count;
	size_t size;			/* size of the model's operand in bytes */
	void *data;			/* data of a constant output, in the output's type */
};

struct compiled {
	const struct options *options;
	/* shapes and values of inputs for which the model is compiled: see compiled_new() */
	struct shape *shapes;
	ANeuralNetworksModel *model;	/* compiled model; NULL for a graph without operations */
	ANeuralNetworksCompilation *compilation;
	struct port *in, *out;
	uint32_t in_count, out_count;
	pthread_mutex_t lock;		/* protects the bursts */
	ANeuralNetworksBurst **bursts;	/* bursts that no run is using */
	uint32_t burst_count, burst_room;
	uint32_t users;	/* number of runs that use the model; protected by the program's lock */
	bool stands_in;	/* true: the model runs on the CPU, which replaces failed devices */
	bool dropped;	/* true: removed from the list; the last user frees the model */
	bool refused;	/* true: no model can be compiled for the shapes */
	char *reason;	/* why the shapes are refused; set and freed by the program */
	/* how long ONNX Runtime's CPU has computed these shapes; protected by the program's lock */
	uint64_t runtime_ns;
	bool waits;	/* true: `refused` is set until the CPU has taken as long as a compilation */
	struct compiled *next;
};

/*
 * Translates a graph for inputs of certain shapes and compiles it. `shapes` has the shape of each
 * input, followed by a second shape for each input. If the model is compiled for an input's values,
 * the dimensions of the input's second shape are these values; otherwise the second shape has rank
 * -1. `in` and `out` are the graph's values that are the inputs and outputs of a run. On failure
 * writes a message and sets *result to the devices' ResultCode, or to NO_ERROR if the devices did not
 * cause the failure. If each call with these arguments will fail, returns a struct with `refused` set,
 * otherwise NULL.
 */
struct compiled *compiled_new(const struct graph *graph, const struct options *options,
			      const struct devices *devices, const struct shape *shapes,
			      uint32_t in_count, const uint32_t *in, uint32_t out_count,
			      const uint32_t *out, int *result, char *message, size_t size);
/* Returns a struct without a model, with `refused` set; NULL if memory runs out. */
struct compiled *compiled_without_model(const struct options *options, const struct shape *shapes,
					uint32_t in_count);
void compiled_drop(struct compiled *compiled);

/* Runs the model, with a burst if possible. Returns a ResultCode. */
int compiled_compute(struct compiled *compiled, ANeuralNetworksExecution *execution);

#endif
