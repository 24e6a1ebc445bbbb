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
	uint64_t staging; /* size in bytes of the staging buffer, which CPU and GPU can access */
	uint64_t unshared; /* size in bytes that temporaries would need without sharing memory */
	uint32_t dispatches;
	uint64_t copies;		/* number of arguments that the CPU has copied */
	uint32_t submissions;		/* current number of submissions in an execution */
};

/*
 * Prepares a model for a GPU. The model must outlive *prepared. A prepared model holds a reference
 * to the GPU.
 */
enum nn_status prepared_create(struct gpu *gpu, const struct nn_model *model,
			       struct prepared **prepared, struct nn_error *err);

/*
 * Runs the model on copies of all arguments. Only one execution of a prepared model runs at a time.
 * Submits no more commands after the deadline, or after the file `gone`, which may be -1, has
 * become readable.
 */
enum nn_status prepared_execute(struct prepared *prepared, struct nn_execution *execution, int gone,
				struct nn_error *err);

/* File descriptors for an execution; each file descriptor may be -1. */
struct prepared_files {
	int gone;			/* see prepared_execute() */
	/*
	 * A sync_file for which the GPU waits before the execution. The field `after` must be -1 if
	 * prepared_waits() returns false, and becomes -1 when the driver has taken the sync_file.
	 */
	int after;
	/*
	 * Result: -1 if the execution has ended, otherwise a sync_file that is signalled at the
	 * execution's end. The caller closes the sync_file.
	 */
	int end;
};

/*
 * Runs the model like prepared_execute(), but does not copy an argument whose entry in `places` has
 * a buffer.
 */
enum nn_status prepared_begin(struct prepared *prepared, struct nn_execution *execution,
			      const struct place *places, struct prepared_files *files,
			      struct nn_error *err);

/*
 * Returns whether the GPU can wait for a sync_file before the next execution. Returns false before
 * the first executions, because the CPU measures how long their submissions take.
 */
bool prepared_waits(const struct prepared *prepared);

/*
 * Returns whether the CPU checks the values of an argument. If the CPU checks an argument, the
 * argument's entry in `places` must have no buffer, so that the engine checks a copy.
 */
bool prepared_checks(const struct prepared *prepared, uint32_t argument);

/* Waits for the end of an execution for which prepared_begin() returned a sync_file. */
enum nn_status prepared_finish(struct prepared *prepared, struct nn_error *err);

/*
 * Returns the number of arguments that the CPU has copied for all models. Any thread may call
 * prepared_copies().
 */
uint64_t prepared_copies(void);

/* Gives to a prepared model the ownership of the model from which it was created. */
void prepared_own_model(struct prepared *prepared, struct nn_model *model);
const struct nn_model *prepared_model(const struct prepared *prepared);

struct gpu *prepared_gpu(const struct prepared *prepared);
void prepared_facts(struct prepared *prepared, struct prepared_facts *facts);

/* Frees a prepared model. No thread may execute the model during prepared_release(). */
void prepared_release(struct prepared *prepared);

#endif /* NN_VULKAN_PREPARED_H */
