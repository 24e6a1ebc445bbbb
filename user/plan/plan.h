/* SPDX-License-Identifier: MIT */
/*
 * A plan: a checked model made ready to run, its execution, and its form in
 * files. Shared by the worker and the runtime's CPU device.
 */
#ifndef NN_PLAN_PLAN_H
#define NN_PLAN_PLAN_H

#include <nnaccel/execution.h>

struct nn_plan;

/* Preference for one thread; other preferences take all threads of the process. */
#define NN_PREFER_LOW_POWER 0

struct nn_plan_options {
	uint32_t preference;		/* 0 low power, 1 fast single answer, 2 sustained speed */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	/*
	 * For tests and comparisons: the kernels' inner loops by name (see nn_plan_kernels_at()),
	 * or "none" to interpret the plan. NULL takes the best that the CPU has.
	 */
	const char *kernels;
	bool lazy;			/* compile at the first execution */
	/*
	 * Limit in bytes of all cached plans of a model's sections (0: 256 MiB). If it is exceeded,
	 * the least recently used plans that are not in use are freed.
	 */
	uint64_t sections_bytes;
	/*
	 * Attributes for operations of extensions, passed when they are compiled and in each
	 * execution; or NULL. They stay the caller's and must outlive the plan.
	 */
	const struct nn_attributes *attributes;
};

/*
 * Makes a plan. `model` must have passed nn_model_check() and nn_ops_check_model(), with its pools
 * mapped; the model and its pools stay the caller's and must outlive the plan. Other processes may
 * write pools, so values that become addresses are copied before they are checked.
 *
 * NN_MISSED_DEADLINE_PERSISTENT when the deadline is past already, NN_INVALID_ARGUMENT for an
 * operation that no executor has, NN_OUT_OF_MEMORY.
 */
enum nn_status nn_plan_create(const struct nn_model *model, const struct nn_plan_options *options,
			      struct nn_plan **plan, struct nn_error *err);

/*
 * Runs a plan. Any number of threads may run one plan at a time. Checks the arguments against the
 * model: counts, dimensions, lengths, and which are omitted.
 *
 * Returns NN_OUTPUT_INSUFFICIENT_SIZE if an output was too small; `shapes` then has all true shapes
 * and which outputs were too small. Returns NN_MISSED_DEADLINE_PERSISTENT if the deadline was past
 * at the call, and NN_MISSED_DEADLINE_TRANSIENT if it passed later. It is checked before every
 * operation and in loops. Returns NN_INVALID_ARGUMENT for wrong arguments and NN_GENERAL_FAILURE if
 * an operation failed; outputs are then undefined.
 */
enum nn_status nn_plan_execute(const struct nn_plan *plan, struct nn_execution *execution,
			       struct nn_error *err);

/* Returns whether this CPU runs the kernels of that name; always true for "none". */
bool nn_plan_has_kernels(const char *name);

/*
 * Returns the names of the instruction sets that this CPU runs, the best first; NULL beyond the
 * last one.
 */
const char *nn_plan_kernels_at(uint32_t index);

/* Bytes that a plan keeps besides its model, and bytes that each concurrent execution takes. */
struct nn_plan_memory {
	uint64_t weights;		/* packed weights and computed constants, as of now */
	/* Arena and scratch memory now; 0 if it depends on the executions. */
	uint64_t execution;
};
void nn_plan_memory(const struct nn_plan *plan, struct nn_plan_memory *memory);

/*
 * A saved plan, in two parts. The model part has everything that determines addresses and control
 * flow: operations, operands, shapes, quantisation, constants whose values become addresses, which
 * kernels run and how their weights are packed. The data part has the values of the other constants
 * and the packed weights. Bytes changed there can change only the values of outputs.
 */
struct nn_plan_image {
	void *model;
	size_t model_size;
	size_t data_size;	/* size, a multiple of NN_PLAN_DATA_ALIGN; 0 without a data part */
	struct nn_plan_pieces *pieces;	/* pieces of the data part */
};

/* Alignment of the data part in memory, and granule of its size: pages of a file. */
#define NN_PLAN_DATA_ALIGN 4096

/*
 * Makes a plan's model part and returns the size of its data part, which nn_plan_image_data()
 * writes completely. The image is valid as long as the plan, the model and its pools are. Any
 * number of threads may run the plan meanwhile.
 *
 * A plan that was loaded can be saved again. NN_OUT_OF_MEMORY; NN_GENERAL_FAILURE
 * for a plan that cannot be saved, or not yet, with the reason.
 */
enum nn_status nn_plan_save(const struct nn_plan *plan, struct nn_plan_image *image,
			    struct nn_error *err);
void nn_plan_image_data(const struct nn_plan_image *image, void *data);

/* Frees what nn_plan_save() made; a zeroed image is fine. */
void nn_plan_image_free(struct nn_plan_image *image);

/*
 * Makes a plan of its two parts. The model part must not change during the call and may be freed
 * after it; it is checked like a model of an untrusted caller. The data part stays the caller's and
 * must outlive the plan; other processes may write it at any time. Only its first bytes, which say
 * whether it belongs to the model part, are read before an execution. A size of 0 needs no data
 * part.
 *
 * Returns NN_GENERAL_FAILURE with the reason if parts are damaged, do not belong together, or come
 * from another build or another CPU. Returns NN_INVALID_ARGUMENT for a data part that is not
 * aligned, and for options as in nn_plan_create(). Other errors are NN_MISSED_DEADLINE_PERSISTENT
 * and NN_OUT_OF_MEMORY.
 */
enum nn_status nn_plan_load(const void *model, size_t model_size, const void *data,
			    size_t data_size, const struct nn_plan_options *options,
			    struct nn_plan **plan, struct nn_error *err);

/*
 * Does the same with a model part in memory from malloc(). The plan owns it from then on; on
 * failure it is freed.
 */
enum nn_status nn_plan_adopt(void *model, size_t model_size, const void *data, size_t data_size,
			     const struct nn_plan_options *options, struct nn_plan **plan,
			     struct nn_error *err);

/*
 * Returns the model that a plan runs, or NULL: most loaded plans have only what their kernels need.
 * The model of a loaded plan belongs to the plan. With float16 operands it may be another model
 * that computes the same.
 */
const struct nn_model *nn_plan_model(const struct nn_plan *plan);

/* Returns whether a plan has a model with operations or types of extensions. */
bool nn_plan_has_extensions(const struct nn_plan *plan);

/*
 * Returns the arguments of executions: inputs, outputs, and their operands. Other fields of the
 * main subgraph may be empty.
 */
const struct nn_subgraph *nn_plan_main(const struct nn_plan *plan);

/*
 * Returns one number for everything that saved plans depend on besides their models: this build's
 * formats, operations and kernels, and which kernels this CPU runs.
 */
uint64_t nn_plan_fingerprint(void);

/* The state of a plan. */
enum nn_plan_stage {
	/* The plan is lazy and was not executed yet, so it cannot be saved. */
	NN_PLAN_PUT_OFF,
	NN_PLAN_READY,			/* compiled, or interpreted for good */
	NN_PLAN_TUNED,
};

/*
 * A plan tunes itself when it is hot. At most NN_PLAN_TUNING of the executions that follow
 * NN_PLAN_HOT measure for every step whether all threads or the caller's alone are faster, then
 * whether the plan as a whole is. The plan keeps the change only if it became faster as a whole.
 * After NN_PLAN_AGAIN more executions it does the same again. Its results stay the same; the
 * measurements are saved with it. A plan of one thread is never tuned.
 */
enum nn_plan_stage nn_plan_stage(const struct nn_plan *plan);

#define NN_PLAN_HOT 100
#define NN_PLAN_TUNING 48
#define NN_PLAN_AGAIN 2000

/*
 * Makes the threads that all plans of this process share, one a CPU besides the caller's. A process
 * that may not create threads later calls this before. Otherwise the first plan that needs threads
 * creates them.
 */
void nn_plan_start_threads(void);

/* Frees a plan that no thread runs; NULL is fine. */
void nn_plan_free(struct nn_plan *plan);

#endif /* NN_PLAN_PLAN_H */
