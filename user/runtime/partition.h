/* SPDX-License-Identifier: MIT */
/*
 * Partitions: a graph divided into steps, each of which one device executes as a
 * whole.
 */
#ifndef NN_RUNTIME_PARTITION_H
#define NN_RUNTIME_PARTITION_H

#include <pthread.h>

#include "runtime/device.h"

struct step {
	const ANeuralNetworksDevice *device;
	struct graph graph;
	const uint32_t *inputs;	/* the step's inputs, as operand indices in the whole graph */
	const uint32_t *outputs;
	/* the operations' indices in the whole graph; NULL for all operations */
	const uint32_t *operations;
	struct prepared *prepared;
	/*
	 * The step prepared for the CPU, protected by the partition's lock; NULL until the step's
	 * device fails.
	 */
	struct prepared *fallback;
	struct trace_step *trace;	/* the step's sums for the report (trace.h), or NULL */
};

/* The memory in which an execution stores an operand of the whole graph. */
enum place_kind {
	PLACE_INPUT,			/* the operand is in the buffer of an execution's input */
	PLACE_OUTPUT,
	PLACE_TEMPORARY,	/* the operand is in the execution's memory for temporaries */
};

struct place {
	enum place_kind kind;
	uint32_t index;			/* index of the argument */
	uint64_t offset;		/* offset in the execution's memory for temporaries */
};

struct partition {
	const struct graph *graph;	/* the whole graph, owned by the model */
	uint32_t num_steps;
	struct step *steps;
	struct place *places;		/* by operand */
	uint64_t temporaries_size;
	struct prepare_options options;
	pthread_mutex_t lock;
	/* The whole graph prepared for the CPU; NULL until the CPU must execute the whole graph. */
	struct prepared *fallback;
	struct arena arena;
};

struct cache_options;

/*
 * Divides a graph among devices by their performance and prepares each step. If `cache` is not NULL
 * and has an entry for the step, the step is prepared from the entry. Returns BAD_DATA if no device
 * can execute an operation, or the error of a device that failed. `partition` is valid, and must be
 * freed, only after success.
 */
int partition_create(const struct graph *graph, const ANeuralNetworksDevice *const *devices,
		     uint32_t num_devices, const struct prepare_options *options,
		     const struct cache_options *cache,
		     struct partition *partition, struct nn_error *err);
void partition_free(struct partition *partition);

/*
 * Returns the device of the first step whose device imports dma-bufs, or NULL. Memory that several
 * devices share is best allocated as dma-bufs, because some GPU drivers cannot import files.
 */
struct accel_handle *partition_sharer(const struct partition *partition);

/* Allocates the arrays of a request for a step; returns false if memory runs out. */
bool step_init_request(const struct step *step, struct arena *arena, struct request *request);

/*
 * Gets the prepared model with which the CPU executes a step, or the whole graph if `step` is NULL.
 * The first call for a step or the graph prepares the model.
 */
int partition_get_fallback(struct partition *partition, struct step *step,
			   struct prepared **prepared, struct nn_error *err);

#endif /* NN_RUNTIME_PARTITION_H */
