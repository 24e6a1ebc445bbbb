/* SPDX-License-Identifier: MIT */
/*
 * Makes a plan of a checked model, executes the plan, and saves it in files. The worker and the
 * runtime's CPU device share this header.
 */
#ifndef NN_PLAN_PLAN_H
#define NN_PLAN_PLAN_H

#include <nnaccel/execution.h>

struct nn_plan;

/*
 * Plans with the execution preference "low power" use only one thread; all other plans use all
 * threads of the process.
 */
#define NN_PREFER_LOW_POWER 0

struct nn_plan_options {
	/* execution preference: 0 low power, 1 fast single answer, 2 sustained speed */
	uint32_t preference;
	uint64_t deadline_ns;		/* time of CLOCK_MONOTONIC; 0: no deadline */
	/*
	 * Name of the instruction set of the kernels (see nn_plan_kernels_at()), or "none" to
	 * interpret the plan; for tests and comparisons. If `kernels` is NULL, the best instruction
	 * set of the CPU is used.
	 */
	const char *kernels;
	bool lazy;			/* compile the plan in its first execution */
	/*
	 * Limit in bytes for all cached plans of a model's sections; 0 means 256 MiB. If the limit
	 * is exceeded, cached plans that are not in use are freed, the least recently used plan
	 * first.
	 */
	uint64_t sections_bytes;
	/*
	 * Attributes for the operations of extensions, or NULL. Each operation receives the
	 * attributes when it is compiled and in each execution. The caller owns the attributes,
	 * which must outlive the plan.
	 */
	const struct nn_attributes *attributes;
};

/*
 * Makes a plan. `model` must have passed nn_model_check() and nn_ops_check_model(), with its pools
 * mapped; the caller owns the model and its pools, which must outlive the plan. Other processes may
 * write pools, so values that become addresses are copied out of pools before they are checked.
 *
 * Returns NN_MISSED_DEADLINE_PERSISTENT if the deadline has already passed, NN_INVALID_ARGUMENT if
 * the library cannot execute an operation of the model, or NN_OUT_OF_MEMORY.
 */
enum nn_status nn_plan_create(const struct nn_model *model, const struct nn_plan_options *options,
			      struct nn_plan **plan, struct nn_error *err);

/*
 * Runs a plan. Any number of threads may run one plan at the same time. Checks the arguments
 * against the model: their number, dimensions and lengths, and which arguments are omitted.
 *
 * Returns NN_OUTPUT_INSUFFICIENT_SIZE if the memory of an output is too small; `shapes` then has
 * the actual shapes of all outputs, and marks the outputs that are too small. Returns
 * NN_MISSED_DEADLINE_PERSISTENT if the deadline had passed before the call, and
 * NN_MISSED_DEADLINE_TRANSIENT if it passed during the call. The deadline is checked before every
 * operation and in loops. Returns NN_INVALID_ARGUMENT for wrong arguments, and NN_GENERAL_FAILURE
 * if an operation fails; the outputs are then undefined.
 */
enum nn_status nn_plan_execute(const struct nn_plan *plan, struct nn_execution *execution,
			       struct nn_error *err);

/* Returns whether this CPU can run the kernels of the instruction set `name`; true for "none". */
bool nn_plan_has_kernels(const char *name);

/*
 * Returns the name of an instruction set that this CPU can run; index 0 is the best instruction
 * set. Returns NULL if the CPU has no instruction set with this index.
 */
const char *nn_plan_kernels_at(uint32_t index);

/*
 * Bytes that a plan uses in addition to its model, and bytes that each concurrent execution uses.
 */
struct nn_plan_memory {
	uint64_t weights;		/* bytes of packed weights and computed constants */
	/* Bytes of arena and scratch memory; 0 if the size depends on the executions. */
	uint64_t execution;
};
void nn_plan_memory(const struct nn_plan *plan, struct nn_plan_memory *memory);

/*
 * A saved plan, which consists of a model part and a data part. The model part determines all
 * addresses and the control flow: it has operations, operands, shapes, quantisation, constants
 * whose values become addresses, the kernels, and the form of packed weights. The data part has the
 * packed weights, and the values of all other constants. If bytes of the data part change, only the
 * values of outputs can change.
 */
struct nn_plan_image {
	void *model;
	size_t model_size;
	size_t data_size;	/* multiple of NN_PLAN_DATA_ALIGN; 0 without a data part */
	struct nn_plan_pieces *pieces;	/* addresses of the data part's values */
};

/* The alignment of the data part's address and size: one page of a file. */
#define NN_PLAN_DATA_ALIGN 4096

/*
 * Makes the model part of a saved plan and sets the size of the data part. The function
 * nn_plan_image_data() writes every byte of the data part. The plan, the model and its pools must
 * outlive the image. Other threads may run the plan during the call.
 *
 * A plan that was loaded can be saved again. Returns NN_OUT_OF_MEMORY, or NN_GENERAL_FAILURE with
 * the reason why the plan cannot be saved, or cannot be saved yet.
 */
enum nn_status nn_plan_save(const struct nn_plan *plan, struct nn_plan_image *image,
			    struct nn_error *err);
void nn_plan_image_data(const struct nn_plan_image *image, void *data);

/* Frees an image that nn_plan_save() made; a zeroed image is allowed. */
void nn_plan_image_free(struct nn_plan_image *image);

/*
 * Makes a plan from the two parts of a saved plan. The model part must not change during the call
 * and may be freed after the call; the function checks the model part like a model from an
 * untrusted caller. The caller owns the data part, which must outlive the plan; other processes may
 * write the data part at any time. Before the first execution, only the stamp of the data part is
 * read, which shows whether the data part belongs to the model part. If data_size is 0, `data` may
 * be NULL.
 *
 * Returns NN_GENERAL_FAILURE with the reason if a part is damaged, if the parts do not belong
 * together, or if the parts come from another build or another CPU. Returns NN_INVALID_ARGUMENT for
 * a data part that is not aligned, and for options that nn_plan_create() rejects. Loading a plan
 * may also return NN_MISSED_DEADLINE_PERSISTENT and NN_OUT_OF_MEMORY.
 */
enum nn_status nn_plan_load(const void *model, size_t model_size, const void *data,
			    size_t data_size, const struct nn_plan_options *options,
			    struct nn_plan **plan, struct nn_error *err);

/*
 * Makes a plan like nn_plan_load(), but becomes the owner of the model part, which must be memory
 * from malloc(). If loading fails, nn_plan_adopt() frees the model part.
 */
enum nn_status nn_plan_adopt(void *model, size_t model_size, const void *data, size_t data_size,
			     const struct nn_plan_options *options, struct nn_plan **plan,
			     struct nn_error *err);

/*
 * Returns the model that a plan runs, or NULL; most loaded plans have no model, only the data of
 * their kernels. A loaded plan owns its model. If the original model has float16 operands, the
 * returned model may be another model with the same results.
 */
const struct nn_model *nn_plan_model(const struct nn_plan *plan);

/* Returns whether a plan has a model that uses operations or types of extensions. */
bool nn_plan_has_extensions(const struct nn_plan *plan);

/*
 * Returns a subgraph with the arguments of executions: the inputs, the outputs, and the operands of
 * all inputs and outputs. Members of the returned subgraph that do not describe arguments may be
 * empty.
 */
const struct nn_subgraph *nn_plan_main(const struct nn_plan *plan);

/*
 * Returns a hash of everything that a saved plan depends on, except for the model. The hash covers
 * formats, operations and kernels of this build, and the kernels that this CPU can run.
 */
uint64_t nn_plan_fingerprint(void);

/* The state of a plan. */
enum nn_plan_stage {
	/* the plan is lazy and was never executed, so it cannot be saved */
	NN_PLAN_PUT_OFF,
	NN_PLAN_READY,			/* the plan is compiled, or is always interpreted */
	NN_PLAN_TUNED,
};

/*
 * Returns the state of a plan. A plan begins to tune itself after NN_PLAN_HOT executions. The
 * tuning measures at most NN_PLAN_TUNING executions. First, tuning measures for each step whether
 * all threads or one thread is faster. At the end, tuning measures whether the chosen numbers of
 * threads make the whole plan faster. The plan keeps the chosen numbers of threads only if the
 * whole plan becomes faster. The plan is tuned again after NN_PLAN_AGAIN more executions. Tuning
 * does not change results; the chosen numbers of threads are saved with the plan. A plan of one
 * thread is never tuned.
 */
enum nn_plan_stage nn_plan_stage(const struct nn_plan *plan);

#define NN_PLAN_HOT 100
#define NN_PLAN_TUNING 48
#define NN_PLAN_AGAIN 2000

/*
 * Creates the threads that all plans of this process share: one thread for each CPU except the
 * caller's. Only a process that later may not create threads must call this function, because
 * otherwise the first plan that needs threads creates them.
 */
void nn_plan_start_threads(void);

/* Frees a plan that no thread runs; NULL is allowed. */
void nn_plan_free(struct nn_plan *plan);

#endif /* NN_PLAN_PLAN_H */
