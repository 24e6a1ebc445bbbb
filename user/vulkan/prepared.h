/* SPDX-License-Identifier: MIT */
/*
 * A model that is ready to run on a GPU: its memory on the GPU, and its commands, which are
 * recorded once.
 */
#ifndef NN_VULKAN_PREPARED_H
#define NN_VULKAN_PREPARED_H

#include <nnaccel/execution.h>

#include "vulkan/device.h"
#include "vulkan/graph.h"

struct place;
struct prepared;

/* Figures of a prepared model. */
struct prepared_facts {
	uint64_t weights;		/* bytes of constants on the GPU */
	uint64_t temporaries;		/* bytes of all other values on the GPU */
	uint64_t staging;		/* bytes of memory that CPU and GPU can access */
	uint64_t unshared;		/* bytes of temporaries if none shared memory */
	uint32_t dispatches;
	uint64_t copies;		/* number of arguments that the CPU copied */
	uint32_t submissions;		/* current number of submissions of an execution */
};

/* Prepares a model, which must outlive the result. The result holds a reference to the GPU. */
enum nn_status prepared_create(struct gpu *gpu, const struct nn_model *model,
			       struct prepared **prepared, struct nn_error *err);

/*
 * Runs the model on copies of all arguments. Only one execution runs at a time. Submits nothing
 * more after the deadline has passed, or once `gone` (a file, or -1) is readable.
 */
enum nn_status prepared_execute(struct prepared *prepared, struct nn_execution *execution, int gone,
				struct nn_error *err);

/* Files of an execution, or -1. */
struct prepared_files {
	int gone;			/* see prepared_execute() */
	/*
	 * A sync_file that the GPU waits for before it begins; becomes -1 once the driver has taken
	 * it. See prepared_waits().
	 */
	int after;
	/*
	 * Result: -1; or, if the GPU still computes, a sync_file that is signalled at the end,
	 * which the caller closes.
	 */
	int end;
};

/* Does the same, but arguments that have a place are not copied. */
enum nn_status prepared_begin(struct prepared *prepared, struct nn_execution *execution,
			      const struct place *places, struct prepared_files *files,
			      struct nn_error *err);

/*
 * Returns whether the GPU can wait for a sync_file now. It does not in the first executions, whose
 * submissions are measured.
 */
bool prepared_waits(const struct prepared *prepared);

/*
 * Returns whether the CPU checks the values of an argument. In this case the argument must not have
 * a place.
 */
bool prepared_checks(const struct prepared *prepared, uint32_t argument);

/* Waits for the end of an execution that has a sync_file. */
enum nn_status prepared_finish(struct prepared *prepared, struct nn_error *err);

/*
 * Returns the number of arguments that the CPU has copied, of all models. Any thread may call it.
 */
uint64_t prepared_copies(void);

/* Gives a prepared model ownership of the model that it was created from. */
void prepared_own_model(struct prepared *prepared, struct nn_model *model);
const struct nn_model *prepared_model(const struct prepared *prepared);

struct gpu *prepared_gpu(const struct prepared *prepared);
void prepared_facts(struct prepared *prepared, struct prepared_facts *facts);

/* Frees a prepared model, which no thread may be executing. */
void prepared_release(struct prepared *prepared);

#endif /* NN_VULKAN_PREPARED_H */
