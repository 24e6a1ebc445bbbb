/* SPDX-License-Identifier: MIT */
/*
 * A compiled plan: the main subgraph of a model whose shapes are all known. Operands have their
 * places in memory and kernels are chosen, so an execution only runs the kernels.
 */
#ifndef NN_PLAN_COMPILED_H
#define NN_PLAN_COMPILED_H

#include <stdatomic.h>

#include "plan/internal.h"
#include "plan/kernels/kernel.h"

/* Maximum number of concurrent executions with cached memory; further ones allocate their own. */
#define COMPILED_CONTEXTS 8

/* The kinds of memory in which an operand lies. */
enum place_kind {
	PLACE_NONE,			/* no memory: omitted, or no step accesses it */
	PLACE_CONSTANT,
	PLACE_INPUT,			/* memory of the caller */
	PLACE_OUTPUT,
	PLACE_ARENA,
};

struct place {
	enum place_kind kind;
	uint32_t index;			/* number of the input or output */
	const void *constant;
	uint32_t root;	/* operand in whose memory this operand lies; usually itself */
	size_t delta;			/* offset of this operand in the root's memory */
	uint32_t first;			/* first and last step that need an operand of the arena */
	uint32_t last;
	size_t offset;			/* in the arena */
};

struct compiled_step {
	const struct nn_op *op;
	const struct nn_operation *operation;
	uint32_t index;			/* number of the operation, for messages */
	/*
	 * Activation that was fused into the operation; 0: the operation keeps the model's
	 * activation.
	 */
	int32_t activation;
	uint32_t activation_input;	/* input of the operation that has the activation's code */
	uint32_t input;	/* operand that the step reads in place of its own input 0 */
	uint32_t output;	/* operand that the step writes in place of its own output 0 */
	bool is_gone;	/* not run: another step does its work, or its result is unused */
	bool is_identity;		/* the output has the same bits as the input */
	bool is_padded;			/* a PAD was folded into the step; its border: */
	uint32_t border[4];		/* left, right, top, bottom */
	_Atomic(uint32_t) threads;	/* number of threads for this step's kernel; 0 for all */
	void *state;			/* step.state: what op->compile made */
	struct nn_ready ready;	/* prepared kernel; without a kernel the reference runs */
};

struct tuning;
struct serial_place;

struct compiled {
	const struct nn_plan *plan;
	/* Subgraph that the plan computes; in a loaded serialised plan it has only arguments. */
	const struct nn_subgraph *main;
	uint32_t max_inputs;		/* of a step */
	uint32_t max_outputs;
	const struct nn_isa *isa;
	struct nn_tensor *tensors;	/* nn_tensor[num_operands]: type and shape */
	struct place *places;		/* place[num_operands]; NULL for a serialised plan */
	const struct serial_place *serial_places; /* places of operands that are no arguments */
	const char *data;		/* the data part of a serialised plan */
	uint32_t *borrowers;		/* operands that lie in the memory of arguments */
	uint32_t num_borrowers;
	struct compiled_step *steps;
	uint32_t num_steps;
	void **owned;			/* private copies of constants and folded values */
	uint32_t num_owned;
	const void *packed;
	size_t packed_size;
	/* The plan does not own the packed weights: they belong, for example, to plan->weights. */
	bool packed_is_mapped;
	uint64_t choice; /* hash of the steps' kernels and of the sizes of their packed weights */
	size_t owned_size;
	size_t arena_size;
	size_t scratch_size;		/* for one thread */
	size_t run_packed_size;		/* largest weights that a step packs in each execution */
	_Atomic(size_t) run_memory;	/* largest memory that a reference kernel needed so far */
	_Atomic(uint64_t) cached;	/* bytes of all contexts */
	uint32_t threads;
	struct tuning *tuning;		/* tuning of the plan; NULL if nothing is to be measured */
	_Atomic(struct context *) contexts[COMPILED_CONTEXTS]; /* contexts that no execution uses */
};

/* Weights that an earlier plan packed. */
struct packed_weights {
	const void *data;
	uint64_t size;
};

/*
 * Compiles a plan's main subgraph for one thread, or for at least as many as threads_start()
 * returns. Returns NULL if the model has control flow or shapes that are known only when it runs,
 * or if memory runs out. If `weights` is not NULL, no weights are packed, no operations are
 * computed, and no constants of pools are read. Then the function also returns NULL if `weights` is
 * too short, or if the choice of a kernel depends on values of a pool.
 */
struct compiled *compiled_create(const struct nn_plan *plan, const struct nn_isa *isa,
				 uint32_t threads, const struct packed_weights *weights);

/*
 * Returns the number of threads that plans of a preference use. Creates the threads if necessary.
 */
uint32_t compiled_threads(uint32_t preference);

void compiled_free(struct compiled *c);

/*
 * Folds PAD into the convolution or pooling that reads its result. Removes pairs of operations that
 * undo each other: DEQUANTIZE and QUANTIZE, or two TRANSPOSEs. For each operand `data` has the
 * values if it is constant, and `producers` has 1 + the step that writes it. `inputs` and `outputs`
 * are scratch for a run.
 */
void compiled_fold(struct compiled *c, void *const *data, const uint32_t *producers,
		   struct nn_tensor *inputs, struct nn_tensor *outputs);

/*
 * Lets operands share memory if a step would only copy one to the other, and drops such steps. The
 * caller must have set the kind and the constant of each place, and each operand as its own root.
 */
void compiled_alias(struct compiled *c, uint32_t operands);

/* Lays out the arena. Operands may share memory if no step needs both. */
bool compiled_layout(struct compiled *c);

/*
 * Allocates the memory of the first execution, and returns false if memory runs out.
 * compiled_release() frees the memory of all executions.
 */
bool compiled_reserve(struct compiled *c);
void compiled_release(struct compiled *c);

/* Returns the bytes of memory of executions, cached memory included. */
uint64_t compiled_cached(const struct compiled *c);

/* Returns the operand that a step reads as input `index`. */
static inline uint32_t compiled_input(const struct compiled_step *step, uint32_t index)
{
	return index ? step->operation->inputs[index] : step->input;
}

/* Fills the run of a step and its tensors. `data` has the memory of each operand. */
void compiled_run_init(const struct compiled *c, const struct compiled_step *step,
		       void *const *data, struct nn_tensor *inputs, struct nn_tensor *outputs,
		       struct nn_run *r);

/*
 * Executes if the arguments have the compiled shapes. Returns false if they do not, or if a shape
 * changes during the run; the outputs are then undefined.
 */
bool compiled_execute(struct compiled *c, struct nn_execution *e, enum nn_status *status,
		      struct nn_error *err);

void compiled_memory(const struct compiled *c, struct nn_plan_memory *memory);

#endif /* NN_PLAN_COMPILED_H */
