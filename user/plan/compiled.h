/* SPDX-License-Identifier: MIT */
/*
 * A compiled plan: the main subgraph of a model whose shapes are all known. Each operand has a
 * place in memory, and each operation has a kernel, so an execution only runs the kernels.
 */
#ifndef NN_PLAN_COMPILED_H
#define NN_PLAN_COMPILED_H

#include <stdatomic.h>

#include "plan/internal.h"
#include "plan/kernels/kernel.h"

/*
 * Maximum number of concurrent executions with cached memory; any execution beyond this number
 * allocates its own memory.
 */
#define COMPILED_CONTEXTS 8

/* The kinds of memory in which an operand lies. */
enum place_kind {
	/* no memory: an omitted operand, or an operand without uses */
	PLACE_NONE,
	PLACE_CONSTANT,
	PLACE_INPUT,			/* memory of the caller */
	PLACE_OUTPUT,
	PLACE_ARENA,
};

struct place {
	enum place_kind kind;
	/* the operand's index among the model's inputs or outputs */
	uint32_t index;
	const void *constant;
	uint32_t root;	/* operand whose memory contains this operand; usually the operand itself */
	size_t delta;			/* offset of this operand in the memory of `root` */
	uint32_t first;			/* first step that needs this operand in the arena */
	uint32_t last;
	size_t offset;			/* offset in the arena */
};

struct compiled_step {
	const struct nn_op *op;
	const struct nn_operation *operation;
	uint32_t index;			/* number of the operation, for error messages */
	/*
	 * Code of an activation that compiling fused into the operation; 0 if the operation has the
	 * activation that the model gives it.
	 */
	int32_t activation;
	uint32_t activation_input;	/* position of the activation's code among the inputs */
	uint32_t input;	/* operand that replaces the operation's input 0 */
	uint32_t output;	/* operand that replaces the operation's output 0 */
	/* the step never runs: another step does its work, or no step uses its result */
	bool is_gone;
	bool is_identity;		/* true: the output has the same bits as input 0 */
	/* a PAD was folded into the step; `border` has the widths of the PAD's border */
	bool is_padded;
	uint32_t border[4];		/* widths of the border: left, right, top, bottom */
	_Atomic(uint32_t) threads;	/* threads that run this step's kernel; 0 for all threads */
	void *state;			/* copy of step.state, the state that op->compile made */
	/* 1 + number of an earlier step whose packed weights are also those of this step; 0: none */
	uint32_t packed_of;
	struct nn_ready ready;	/* prepared kernel; without a kernel, the reference code runs */
};

struct tuning;
struct serial_place;

struct compiled {
	const struct nn_plan *plan;
	/*
	 * Subgraph that the plan computes; the subgraph of a loaded serialised plan has only
	 * arguments.
	 */
	const struct nn_subgraph *main;
	uint32_t max_inputs;		/* largest number of inputs of a step */
	uint32_t max_outputs;
	const struct nn_isa *isa;
	struct nn_tensor *tensors;	/* nn_tensor[num_operands]: type and shape */
	struct place *places;		/* place[num_operands]; NULL for a serialised plan */
	const struct serial_place *serial_places; /* places of operands that are not arguments */
	const char *data;		/* the data part of a serialised plan */
	uint32_t *borrowers;		/* operands that lie in the memory of an input or output */
	uint32_t num_borrowers;
	struct compiled_step *steps;
	uint32_t num_steps;
	void **owned;			/* private copies of constants, and folded values */
	uint32_t num_owned;
	const void *packed;
	size_t packed_size;
	/* True if the packed weights belong to another object, for example to plan->weights. */
	bool packed_is_mapped;
	uint64_t choice; /* hash of the steps' kernels and of the sizes of their packed weights */
	size_t owned_size;
	size_t arena_size;
	size_t scratch_size;		/* for one thread */
	/* largest size of weights that are packed in every execution */
	size_t run_packed_size;
	_Atomic(size_t) run_memory;	/* largest memory that one reference kernel needed so far */
	_Atomic(uint64_t) cached;	/* bytes of the memory of all `contexts` */
	uint32_t threads;
	struct tuning *tuning;		/* tuning of the plan; NULL if the plan is not tuned */
	_Atomic(struct context *) contexts[COMPILED_CONTEXTS]; /* cached memory of executions */
};

/* Weights that were packed for an earlier plan. */
struct packed_weights {
	const void *data;
	uint64_t size;
};

/*
 * Compiles a plan's main subgraph. `threads` is 1, or at least the number that threads_start()
 * returns. Returns NULL if the model has control flow, if a shape is known only when the model
 * runs, or if memory runs out.
 *
 * If `weights` is not NULL, compiling packs no weights, computes no operations and reads no
 * constants of memory pools. Returns NULL if `weights` is too short for the plan, or if `weights`
 * is not NULL and the choice of a kernel depends on values of a memory pool.
 */
struct compiled *compiled_create(const struct nn_plan *plan, const struct nn_isa *isa,
				 uint32_t threads, const struct packed_weights *weights);

/*
 * Returns the number of threads for plans with the execution preference `preference`. Creates the
 * library's threads if necessary.
 */
uint32_t compiled_threads(uint32_t preference);

void compiled_free(struct compiled *c);

/*
 * Folds each PAD into the convolution or pooling that reads its result. Removes pairs of operations
 * that cancel out, such as DEQUANTIZE with QUANTIZE, or two TRANSPOSEs. If operand i is constant,
 * data[i] points to the operand's values. For each operand i, producers[i] is 1 plus the number of
 * the step that writes the operand. `inputs` and `outputs` are scratch memory for tensors of one
 * step.
 */
void compiled_fold(struct compiled *c, void *const *data, const uint32_t *producers,
		   struct nn_tensor *inputs, struct nn_tensor *outputs);

/*
 * If a step would only copy an operand to another operand, lets the two operands share memory, and
 * drops the step. The caller must have set the members `kind` and `constant` of each place, and
 * `root` to the operand itself.
 */
void compiled_alias(struct compiled *c, uint32_t operands);

/*
 * Chooses the offset of each operand in the arena. Two operands may overlap in the arena if no step
 * needs both operands.
 */
bool compiled_layout(struct compiled *c);

/* Allocates the memory of the first execution, and returns false if memory runs out. */
bool compiled_reserve(struct compiled *c);
void compiled_release(struct compiled *c);

/* Returns the bytes of memory that all executions have, cached memory included. */
uint64_t compiled_cached(const struct compiled *c);

/* Returns the operand that a step reads as input `index`. */
static inline uint32_t compiled_input(const struct compiled_step *step, uint32_t index)
{
	return index ? step->operation->inputs[index] : step->input;
}

/* Fills in `run` and its tensors for one step. `data` has the address of each operand's values. */
void compiled_run_init(const struct compiled *c, const struct compiled_step *step,
		       void *const *data, struct nn_tensor *inputs, struct nn_tensor *outputs,
		       struct nn_run *r);

/*
 * Executes the plan if the arguments have the compiled shapes. Returns false if an argument has a
 * shape that was not compiled, or if a shape changes during the execution; the outputs are then
 * undefined.
 */
bool compiled_execute(struct compiled *c, struct nn_execution *e, enum nn_status *status,
		      struct nn_error *err);

void compiled_memory(const struct compiled *c, struct nn_plan_memory *memory);

#endif /* NN_PLAN_COMPILED_H */
