/* SPDX-License-Identifier: MIT */
/*
 * A model that is prepared for a GPU: the model's memory on the GPU, and its commands, which are
 * recorded once.
 */
#ifndef NN_VULKAN_PREPARED_H
#define NN_VULKAN_PREPARED_H

#include <nnaccel/execution.h>

#include "vulkan/device.h"
#include "vulkan/graph.h"

struct place;
struct prepared;

/* Sizes and counts of a prepared model. */
struct prepared_facts {
	uint64_t weights;		/* size in bytes of constants on the GPU */
	uint64_t temporaries;		/* size in bytes of values that are not constants */
	uint64_t staging;		/* size in bytes of memory that CPU and GPU can access */
	uint64_t unshared;		/* size of temporaries if they did not share memory */
	uint32_t dispatches;
	uint64_t copies;		/* number of arguments that the CPU copied */
	uint32_t submissions;		/* current number of submissions in an execution */
};

/* Prepares a model, which must outlive *prepared. A prepared model holds a reference to the GPU. */
enum nn_status prepared_create(struct gpu *gpu, const struct nn_model *model,
			       struct prepared **prepared, struct nn_error *err);

/*
 * Runs the model on copies of all arguments. Only one execution of a prepared model runs at a time.
 * Submits no more commands after the deadline, or once `gone` (a file, or -1) is readable.
 */
enum nn_status prepared_execute(struct prepared *prepared, struct nn_execution *execution, int gone,
				struct nn_error *err);

/* File descriptors for an execution; each of them may be -1. */
struct prepared_files {
	int gone;			/* see prepared_execute() */
	/*
	 * A sync_file for which the GPU waits before it begins, if prepared_waits() allows. After
	 * the driver has taken the sync_file, `after` is -1.
	 */
	int after;
	/*
	 * Result: -1 if the execution has ended. If the GPU still computes, a sync_file that is
	 * signalled at the end, which the caller closes.
	 */
	int end;
};

/* Runs the model as prepared_execute() does, but without copies of arguments that have a place. */
enum nn_status prepared_begin(struct prepared *prepared, struct nn_execution *execution,
			      const struct place *places, struct prepared_files *files,
			      struct nn_error *err);

/*
 * Returns whether the GPU can wait for a sync_file before the next execution. Returns false before
 * the first executions, whose submissions the CPU measures.
 */
bool prepared_waits(const struct prepared *prepared);

/*
 * Returns whether the CPU checks the values of an argument. An argument that the CPU checks must
 * not have a place.
 */
bool prepared_checks(const struct prepared *prepared, uint32_t argument);

/* Waits for the end of an execution that has a sync_file. */
enum nn_status prepared_finish(struct prepared *prepared, struct nn_error *err);

/*
 * Returns the number of arguments that the CPU has copied for all models. Any thread may call
 * prepared_copies().
 */
uint64_t prepared_copies(void);

/* Gives a prepared model ownership of the model from which it was created. */
void prepared_own_model(struct prepared *prepared, struct nn_model *model);
const struct nn_model *prepared_model(const struct prepared *prepared);

struct gpu *prepared_gpu(const struct prepared *prepared);
void prepared_facts(struct prepared *prepared, struct prepared_facts *facts);

/* Frees a prepared model; no thread may execute the model at that time. */
void prepared_release(struct prepared *prepared);

#endif /* NN_VULKAN_PREPARED_H */
