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
	const uint32_t *inputs;		/* operands of the whole graph */
	const uint32_t *outputs;
	const uint32_t *operations;	/* operations of the whole graph; NULL for all of them */
	struct prepared *prepared;
	/*
	 * The step prepared for the CPU, or NULL until needed; protected by the partition's lock.
	 */
	struct prepared *fallback;
	struct trace_step *trace;	/* row of the report, or NULL */
};

/* The place of an operand of the whole graph during an execution. */
enum place_kind {
	PLACE_INPUT,			/* an input of the execution */
	PLACE_OUTPUT,
	PLACE_TEMPORARY,		/* the operand crosses from one step to another */
};

struct place {
	enum place_kind kind;
	uint32_t index;			/* of the argument */
	uint64_t offset;		/* offset in the execution's memory for temporaries */
};

struct partition {
	const struct graph *graph;	/* the whole graph, owned by another object */
	uint32_t num_steps;
	struct step *steps;
	struct place *places;		/* by operand */
	uint64_t temporaries_size;
	struct prepare_options options;
	pthread_mutex_t lock;
	/* The whole graph prepared for the CPU; NULL until needed. */
	struct prepared *fallback;
	struct arena arena;
};

struct cache_options;

/*
 * Divides a graph among devices by their performance and prepares each step. If `cache` is not NULL
 * and has an entry for the step, the step is prepared from the entry. Returns BAD_DATA if no device
 * executes an operation, or the error of a device. `partition` is valid, and must be freed, only
 * after success.
 */
int partition_create(const struct graph *graph, const ANeuralNetworksDevice *const *devices,
		     uint32_t num_devices, const struct prepare_options *options,
		     const struct cache_options *cache,
		     struct partition *partition, struct nn_error *err);
void partition_free(struct partition *partition);

/*
 * Returns the first device of the steps that imports dma-bufs, or NULL. Memory that several devices
 * use is best allocated from this device, because some GPU drivers cannot import files.
 */
struct accel_handle *partition_sharer(const struct partition *partition);

/* Allocates the arrays of a request for a step; returns false if memory runs out. */
bool step_init_request(const struct step *step, struct arena *arena, struct request *request);

/*
 * Gets a step prepared for the CPU, or the whole graph if `step` is NULL. The first call prepares
 * it.
 */
int partition_get_fallback(struct partition *partition, struct step *step,
			   struct prepared **prepared, struct nn_error *err);

#endif /* NN_RUNTIME_PARTITION_H */
