/* SPDX-License-Identifier: MIT */
/*
 * A model that is ready to run on a GPU: its memory there, and its commands, which are recorded
 * once.
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
	uint64_t temporaries;		/* bytes of all other values there */
	uint64_t staging;		/* bytes of memory that the CPU reaches as well */
	uint64_t unshared;		/* bytes of the values if none shared its place */
	uint32_t dispatches;
	uint64_t copies;		/* number of arguments that the CPU copied */
	uint32_t submissions;		/* submissions of an execution now */
};

/* Prepares a model, which must outlive the result. Holds a reference to the GPU. */
enum nn_status prepared_create(struct gpu *gpu, const struct nn_model *model,
			       struct prepared **prepared, struct nn_error *err);

/*
 * Runs the model, one execution at a time, with copies of all arguments. After the deadline passes
 * or `gone` (a file, or -1) becomes readable, no further submission follows.
 */
enum nn_status prepared_execute(struct prepared *prepared, struct nn_execution *execution, int gone,
				struct nn_error *err);

/* Files of an execution, or -1. */
struct prepared_files {
	int gone;			/* as of prepared_execute() */
	/* A sync_file that the GPU waits for; becomes -1 once the GPU has it. See prepared_waits(). */
	int after;
	/* Filled in: the GPU still computes, and this sync_file tells the end. The caller closes it. */
	int end;
};

/* Does the same with arguments in their places. */
enum nn_status prepared_begin(struct prepared *prepared, struct nn_execution *execution,
			      const struct place *places, struct prepared_files *files,
			      struct nn_error *err);

/* Returns whether the GPU can wait for a sync_file. The first executions are measured without. */
bool prepared_waits(const struct prepared *prepared);

/* Returns whether the CPU checks the values of an argument: then it must not have a place. */
bool prepared_checks(const struct prepared *prepared, uint32_t argument);

/* Waits for the end of an execution that has a sync_file. */
enum nn_status prepared_finish(struct prepared *prepared, struct nn_error *err);

/* Returns the number of arguments of all models that the CPU copied. Any thread may ask. */
uint64_t prepared_copies(void);

/* Gives a prepared model ownership of the model that it was created from. */
void prepared_own_model(struct prepared *prepared, struct nn_model *model);
const struct nn_model *prepared_model(const struct prepared *prepared);

struct gpu *prepared_gpu(const struct prepared *prepared);
void prepared_facts(struct prepared *prepared, struct prepared_facts *facts);

/* Frees a prepared model that no thread executes. */
void prepared_release(struct prepared *prepared);

#endif /* NN_VULKAN_PREPARED_H */
