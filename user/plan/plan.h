/* SPDX-License-Identifier: MIT */
/*
 * A plan: a checked model made ready to run, its execution, and its form in
 * files. Shared by the worker and the runtime's CPU device.
 */
#ifndef NN_PLAN_PLAN_H
#define NN_PLAN_PLAN_H

#include <nnaccel/execution.h>

struct nn_plan;

/* Preference: takes one thread; the others take as many as the process has. */
#define NN_PREFER_LOW_POWER 0

struct nn_plan_options {
	uint32_t preference;		/* 0 low power, 1 fast single answer, 2 sustained speed */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	/*
	 * For tests and comparisons: the inner loops of the kernels by name
	 * (nn_plan_kernels_at() tells their names), or "none" for a plan that is
	 * interpreted. NULL: the best that the CPU has.
	 */
	const char *kernels;
	bool lazy;			/* compile at the first execution, not before */
	/*
	 * Bytes that all plans of a model's sections may keep. The least recently used ones are
	 * dropped for it, but those in use stay. 0: 256 MiB.
	 */
	uint64_t sections_bytes;
	/*
	 * NULL, or what operations of extensions are told when they are compiled and in
	 * each execution: stays the caller's and outlives the plan.
	 */
	const struct nn_attributes *attributes;
};

/*
 * Makes a plan. `model` must have passed nn_model_check() and
 * nn_ops_check_model(), with its pools mapped; it and its pools stay the
 * caller's and must outlive the plan. Pools may be memory that others write:
 * values that steer addresses are copied before they are checked.
 *
 * NN_MISSED_DEADLINE_PERSISTENT when the deadline is past already, NN_INVALID_ARGUMENT for an
 * operation that no executor has, NN_OUT_OF_MEMORY.
 */
enum nn_status nn_plan_create(const struct nn_model *model, const struct nn_plan_options *options,
			      struct nn_plan **plan, struct nn_error *err);

/*
 * Runs a plan. Any number of threads may run one plan at a time. Checks the
 * arguments against the model: counts, dimensions, lengths,
 * omitted ones.
 *
 * NN_OUTPUT_INSUFFICIENT_SIZE: some output was too small; shapes tell all true
 * shapes, and which. NN_MISSED_DEADLINE_TRANSIENT (PERSISTENT when it was past
 * at the call): checked before every operation and in loops.
 * NN_INVALID_ARGUMENT for wrong arguments, NN_GENERAL_FAILURE for an operation
 * that failed; outputs are then undefined.
 */
enum nn_status nn_plan_execute(const struct nn_plan *plan, struct nn_execution *execution,
			       struct nn_error *err);

/* Whether this CPU runs the kernels of that name; "none" always. */
bool nn_plan_has_kernels(const char *name);

/* The names of those that this CPU runs, the best first; NULL: beyond the last one. */
const char *nn_plan_kernels_at(uint32_t index);

/* Bytes that a plan keeps besides its model, and that each execution at a time takes. */
struct nn_plan_memory {
	uint64_t weights;		/* packed weights and computed constants, as of now */
	uint64_t execution;		/* arena and scratch memory, as of now; 0: depends on what runs */
};
void nn_plan_memory(const struct nn_plan *plan, struct nn_plan_memory *memory);

/*
 * A plan on paper, in two parts. The model part is all that steers an execution: operations,
 * operands, shapes, quantisation, the constants whose values steer addresses, which kernels run and
 * how their weights are packed. The data part is the values of the other constants and the packed
 * weights: any bytes written there change the values of outputs and nothing else.
 */
struct nn_plan_image {
	void *model;
	size_t model_size;
	size_t data_size;		/* a multiple of NN_PLAN_DATA_ALIGN; 0: no data part */
	struct nn_plan_pieces *pieces;	/* what the data part is made of */
};

/* Alignment of the data part in memory, and granule of its size: pages of a file. */
#define NN_PLAN_DATA_ALIGN 4096

/*
 * Makes a plan's model part and tells the size of its data part, which
 * nn_plan_image_data() writes: all of its bytes. The image is valid as long as the
 * plan, the model and its pools are. Any number of threads may run the plan meanwhile.
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
 * after it; it is checked like a model of an unknown caller. The data part stays the caller's and
 * outlives the plan; others may write it at any time. Only its first bytes are read before an
 * execution; they tell whether it belongs to the model part. A size of 0 needs no data part.
 *
 * NN_GENERAL_FAILURE with the reason for parts that are damaged, do not belong together or come
 * from another build or another CPU. NN_INVALID_ARGUMENT for a data part that is not aligned, and
 * for options as in nn_plan_create(). Else NN_MISSED_DEADLINE_PERSISTENT or NN_OUT_OF_MEMORY.
 */
enum nn_status nn_plan_load(const void *model, size_t model_size, const void *data,
			    size_t data_size, const struct nn_plan_options *options,
			    struct nn_plan **plan, struct nn_error *err);

/*
 * The same, of a model part in memory from malloc(), which is the plan's from then on,
 * and freed where it fails.
 */
enum nn_status nn_plan_adopt(void *model, size_t model_size, const void *data, size_t data_size,
			     const struct nn_plan_options *options, struct nn_plan **plan,
			     struct nn_error *err);

/*
 * The model that a plan runs: of a loaded one it belongs to the plan, and of one
 * with float16 operands it may be another that computes the same. NULL: most loaded ones
 * have none, but only what their kernels need.
 */
const struct nn_model *nn_plan_model(const struct nn_plan *plan);

/* Whether there is a model and it has extensions. */
bool nn_plan_has_extensions(const struct nn_plan *plan);

/*
 * The arguments of executions: inputs, outputs, and the operands that these name. The model's main
 * subgraph may hold nothing else.
 */
const struct nn_subgraph *nn_plan_main(const struct nn_plan *plan);

/*
 * One number for all that saved plans depend on besides their models: this build's formats,
 * operations and kernels, and which kernels this CPU runs.
 */
uint64_t nn_plan_fingerprint(void);

/* The state of a plan. */
enum nn_plan_stage {
	NN_PLAN_PUT_OFF,		/* lazy, and not executed yet: cannot be saved */
	NN_PLAN_READY,			/* compiled, or interpreted for good */
	NN_PLAN_TUNED,
};

/*
 * A plan tunes itself when it is hot. At most NN_PLAN_TUNING of the executions that follow
 * NN_PLAN_HOT measure for every step whether all threads or the caller's alone are faster, then
 * whether the plan as a whole is. Only then does it run so from then on. Its results stay the same;
 * the measurements are saved with it. A plan of one thread has nothing to be tuned.
 */
enum nn_plan_stage nn_plan_stage(const struct nn_plan *plan);

#define NN_PLAN_HOT 100
#define NN_PLAN_TUNING 48

/*
 * Makes the threads that all plans of this process share, one a CPU besides the
 * caller's. A process that may make none later calls it before; else the first
 * plan that wants them makes them.
 */
void nn_plan_start_threads(void);

/* Frees a plan that no thread runs; NULL is fine. */
void nn_plan_free(struct nn_plan *plan);

#endif /* NN_PLAN_PLAN_H */
