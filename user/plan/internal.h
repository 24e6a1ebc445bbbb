/* SPDX-License-Identifier: MIT */
/*
 * The state of a plan, and the state of one of its executions. Only files of user/plan include this
 * header.
 */
#ifndef NN_PLAN_INTERNAL_H
#define NN_PLAN_INTERNAL_H

#include "plan/plan.h"
#include "plan/run/value.h"

/* Value of nn_plan_options.kernels that requests an interpreted plan without kernels. */
#define NO_KERNELS "none"

/* An operation, prepared for interpreting. */
struct step {
	const struct nn_op *op;
	const struct nn_operation *operation;
	const uint32_t *releases;	/* tensors that no later step needs */
	uint32_t num_releases;
	void *state;			/* state that op->compile made, or NULL */
	struct section *section;	/* the section that begins with this step, or NULL */
};

/* A subgraph, prepared for interpreting. */
struct graph {
	const struct nn_subgraph *subgraph;
	struct step *steps;		/* step[num_operations] */
	/* value[num_operands] before an execution: declarations and constants */
	struct value *initial;
	uint32_t *outputs;	/* outputs[i]: 1 + the index of operand i among the outputs, or 0 */
	uint32_t *releases;		/* the lists step.releases of all steps */
	uint32_t max_inputs;		/* largest number of inputs of an operation */
	uint32_t max_outputs;
};

struct compiled;
struct lazy;
struct restored;

struct nn_plan {
	/* NULL for a restored plan, which has neither model nor graphs */
	const struct nn_model *model;
	struct nn_model *owned;		/* the model, if the plan owns it; otherwise NULL */
	/* Models that the plan made and to which the model `owned` refers. */
	struct nn_model *bases[2];
	const struct nn_attributes *attributes;	/* attributes from the caller, or NULL */
	uint64_t deadline_ns;		/* deadline of compiling the plan; 0 for no deadline */
	struct graph *graphs;		/* graph[model->num_subgraphs] */
	struct compiled *compiled;	/* NULL: every execution is interpreted */
	struct lazy *lazy;	/* for a lazy plan: the compiled plan that replaces the lazy plan */
	/* the loaded serialised plan from which this plan was restored, or NULL */
	struct restored *restored;
	struct sections *sections;	/* sections of the plan; NULL if it has no sections */
	struct weights *weights;	/* packed weights shared with other plans, or NULL */
	struct heaps *heaps;		/* heaps for interpreted executions */
};

/* The state of one execution, shared by the frames of all subgraphs that the execution runs. */
struct run {
	const struct nn_plan *plan;
	uint64_t number;		/* number of the execution, if the plan has sections */
	uint64_t deadline_ns;		/* UINT64_MAX: none */
	uint64_t loop_timeout_ns;
	const struct nn_attributes *attributes;
	struct nn_times *times;	/* receives times of the main subgraph's operations, or NULL */
	struct heap *heap;		/* heap from which the execution allocates all its memory */
	struct nn_error *err;
};

/* The state of one subgraph while it is interpreted. */
struct frame {
	struct run *run;
	const struct graph *graph;
	uint32_t index;			/* index of the subgraph */
	/* output arguments of the caller, if `graph` is the main subgraph */
	const struct nn_arg *args;
	struct value *values;		/* value[num_operands] */
	struct nn_tensor *inputs;	/* nn_tensor[max_inputs]: inputs of the running step */
	struct nn_tensor *outputs;	/* nn_tensor[max_outputs] */
	void **staged;			/* void *[max_inputs]: private copies of inputs */
};


/* Checks the options; returns NN_OK, NN_INVALID_ARGUMENT or NN_MISSED_DEADLINE_PERSISTENT. */
enum nn_status plan_check_options(const struct nn_plan_options *options, struct nn_error *err);

/* Creates a plan like nn_plan_create(), but the plan is interpreted, not compiled. */
enum nn_status plan_create(const struct nn_model *model, const struct nn_plan_options *options,
			   struct nn_plan **plan, struct nn_error *err);

/*
 * Creates a plan by compiling the whole model, without sections. If `weights` is not NULL, the plan
 * shares its packed weights with other plans through `weights`. Returns NULL if the model cannot be
 * compiled or memory runs out.
 */
struct nn_plan *plan_compile(const struct nn_model *model, const struct nn_plan_options *options,
			     struct weights *weights);

/*
 * Returns whether an operation derives an address, a size or a branch from the values of input
 * `index`.
 */
bool plan_determines(const struct nn_op *op, uint32_t index, int32_t type);

/* Returns the length of an argument, limited to the 32 bits of nn_tensor.length. */
static inline uint32_t value_length(const struct nn_arg *arg)
{
	return arg->length < UINT32_MAX ? (uint32_t)arg->length : UINT32_MAX;
}

/*
 * Checks the arguments of an execution against the main subgraph of a model. Makes a value of each
 * input; the value does not own its memory.
 */
enum nn_status plan_check_args(const struct nn_subgraph *s, const struct nn_execution *e,
			       struct value *inputs, struct nn_error *err);

/*
 * Reports the shapes of the outputs to the caller of an execution. Returns
 * NN_OUTPUT_INSUFFICIENT_SIZE if the caller's memory for an output was too small.
 */
enum nn_status plan_tell_shapes(struct nn_execution *e, const struct value *results,
				struct nn_error *err);

/*
 * Runs a subgraph. `inputs` are only read, and still belong to the caller. `results` are written
 * only if the subgraph succeeds. A result owns its memory unless the memory belongs to `args`.
 */
enum nn_status run_subgraph(struct run *run, uint32_t index, const struct value *inputs,
			    const struct nn_arg *args, struct value *results);

/*
 * Moves `result`, the value of a finished output, to the operand that an operation writes; `result`
 * must own its memory. If the operand is an output of the model, also copies the value to the
 * caller's memory. Fails if the shape of `result` differs from the operand's declaration.
 */
enum nn_status store_result(struct frame *f, const struct step *step, uint32_t output,
			    struct value *result);

/*
 * Sets the memory of an output of known shape: the caller's memory if a kernel can write there
 * directly, otherwise allocated memory. Returns false if memory runs out.
 */
bool frame_place_output(struct frame *f, uint32_t operand, struct value *v);

/*
 * Sets the value of an operand to `v`. If the operand is an output of the model, also copies the
 * value to the caller's memory, unless a kernel wrote the value there directly.
 */
void frame_set_output(struct frame *f, uint32_t operand, const struct value *v);

/* Formats an error message like "subgraph 0, operation 3 (ADD): <message>"; returns `status`. */
enum nn_status fail_step(const struct frame *f, const struct step *step, enum nn_status status,
			 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Run a step of control flow, IF or WHILE, which runs subgraphs. */
enum nn_status run_if(struct frame *f, const struct step *step);
enum nn_status run_while(struct frame *f, const struct step *step);

/*
 * Executes a plan after compiled_execute() rejected the arguments. Reports errors of the arguments,
 * or runs the plan on aligned copies of the arguments.
 */
enum nn_status staged_execute(const struct nn_plan *plan, struct nn_execution *e,
			      struct nn_error *err);

/* A lazy plan is only a checked model, which is compiled at its first execution. */

/*
 * Makes an interpreted plan lazy, so that its first execution compiles it. Returns false if memory
 * runs out.
 */
bool lazy_create(struct nn_plan *plan, const struct nn_plan_options *options);
void lazy_free(struct lazy *lazy);

/*
 * Returns `plan` itself if the plan is not lazy, otherwise the compiled plan that replaces the lazy
 * plan. The first call for a lazy plan compiles the plan.
 */
const struct nn_plan *lazy_get(const struct nn_plan *plan);

/*
 * Returns the same plan as lazy_get(), but compiles nothing: if `plan` is lazy and was never
 * executed, returns `plan` itself.
 */
const struct nn_plan *lazy_plan(const struct nn_plan *plan);

#endif /* NN_PLAN_INTERNAL_H */
