/* SPDX-License-Identifier: MIT */
/*
 * Each operation has an entry in a table: its signature check, its shape rule and its reference
 * kernel. This file defines the entry and the arguments of these three functions.
 */
#ifndef NN_OPS_OP_H
#define NN_OPS_OP_H

#include <nnaccel/engine_model.h>

/*
 * The operands that the check of an operation uses: those of a finished subgraph or of one in
 * construction. An operand of lifetime NN_SUBGRAPH with location.offset k refers to subgraphs[k],
 * which is NULL if it is not known yet.
 */
struct nn_scope {
	const struct nn_operand *operands;
	uint32_t num_operands;
	const struct nn_subgraph *const *subgraphs;
	uint32_t num_subgraphs;
};

/* A signature check in progress. check.h has functions for such checks. */
struct nn_check {
	const struct nn_op *op;
	const struct nn_scope *scope;
	const struct nn_operation *operation;
	struct nn_error *err;
};

/*
 * An operand while an operation runs. Kernels write only the data of outputs. Shape rules write
 * rank, dims, scale and zero_point of outputs, and the type if it differs from the model's.
 */
struct nn_tensor {
	int32_t type;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];	/* 0 is a dimension of size zero here */
	float scale;
	int32_t zero_point;
	const struct nn_extra *extra;	/* never NULL; mostly of kind NN_EXTRA_NONE */
	uint32_t length;		/* bytes, if the type has no fixed size (OEM scalar) */
	void *data;			/* NULL: omitted, or an output in the shape rule; */
					/* aligned to the element, except in foreign memory */
	bool omitted;
	/*
	 * Type, scale and zero point must equal the model's. For temporaries, the shape rule sets
	 * these three.
	 */
	bool is_model_output;
};

/* Memory for nn_run_alloc(), which its owner reuses in later runs. */
struct nn_run_memory {
	char *base;			/* aligned to 64 */
	size_t size;
	size_t used;			/* bytes that the current run has requested */
	size_t wanted;			/* maximum that any run requested */
};

/*
 * One operation at run time. Inputs whose values determine addresses (all scalars, and the
 * operation's `determining` inputs) are in private memory, which does not change between the shape
 * rule and the kernel.
 */
struct nn_run {
	const struct nn_op *op;
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nn_tensor *inputs;
	struct nn_tensor *outputs;
	bool relaxed;
	/* padding around input 0 in addition to the window's own: see window.h */
	const uint32_t *border;
	void *state;			/* result of op->compile, or NULL */
	const struct nn_attributes *plan_attributes;	/* NULL, or attributes for extensions */
	const struct nn_attributes *attributes;		/* attributes of this execution */
	struct nn_run_memory *memory;	/* memory that nn_run_alloc() uses first, or NULL */
	void *scratch;			/* list of nn_run_alloc()'s blocks */
	struct nn_error *err;
};

/* Inputs that may have a dimension of size zero. */
enum nn_zero_sized {
	NN_ZERO_NONE,		/* the operation fails for a dimension of 0 */
	NN_ZERO_ALLOWED,	/* allowed wherever the shape rule accepts it */
};

struct nn_rule;

/* Sets of input positions, for up to 64 inputs. */
#define NN_IN(i) (UINT64_C(1) << (i))

static inline bool nn_has_input(uint64_t set, uint32_t index)
{
	return index < 64 && set & NN_IN(index);
}

struct nn_op {
	int32_t code;
	/* version of the code of a registered operation; 0 for others */
	uint64_t version;
	const char *name;		/* NNAPI's name: "CONV_2D" */
	enum nn_zero_sized zero_sized;
	uint64_t omissible;		/* inputs that may be omitted */
	uint64_t omissible_outputs;
	uint64_t determining;		/* tensor inputs whose values determine shapes or addresses */
	/*
	 * Float16 inputs are converted to float32 before the shape rule and the kernel, so that
	 * these do not see float16. Outputs are converted back.
	 */
	bool float16_as_float32;
	/*
	 * Runs in every execution, even if all inputs are constants, because the result may depend
	 * on more than the inputs.
	 */
	bool every_time;

	/*
	 * The rules of the operands, made by NN_INPUTS() and NN_OUTPUTS() of check.h. Inputs from
	 * `least_inputs` on and outputs from `least_outputs` on are optional.
	 */
	const struct nn_rule *inputs;
	const struct nn_rule *outputs;
	/*
	 * The dimensions of inputs, which are checked when the operation runs; or NULL. Each input
	 * has a word, and each axis a character. A digit is the axis's size, and "*" accepts any
	 * size. All axes with the same letter have the same size. The word "-" accepts any input.
	 */
	const char *dims;
	uint8_t least_inputs;
	uint8_t num_inputs;
	uint8_t least_outputs;
	uint8_t num_outputs;
	/* Any number of further inputs or outputs may follow, and the last rule holds for them. */
	bool more_inputs;
	bool more_outputs;

	/*
	 * Checks what the rules above do not cover; may be NULL. It runs after the rules were
	 * checked, and needs neither values of operands nor the operations that write them. Returns
	 * NN_OK or NN_INVALID_ARGUMENT.
	 */
	enum nn_status (*check)(const struct nn_check *c);

	/*
	 * Infers output shapes, scale and zero point from the inputs and, if needed, their values.
	 * At the call, outputs are as the model declares them, with 0 for unknown dimensions.
	 * Returns NN_OK, NN_GENERAL_FAILURE or NN_OUT_OF_MEMORY.
	 */
	enum nn_status (*infer)(struct nn_run *r);

	/* The reference kernel. It must not write past the inferred size. */
	enum nn_status (*execute)(struct nn_run *r);

	/* Distinguishes operations that share an `execute`: points to a structure of their file. */
	const void *kernels;

	/*
	 * Computes in advance what is the same in every execution of an operation; may be NULL. The
	 * model has been checked, and its pools are mapped. release() frees the result.
	 * `attributes` are those that executions find in nn_run.plan_attributes.
	 */
	enum nn_status (*compile)(const struct nn_op *op, const struct nn_model *model,
				  const struct nn_subgraph *subgraph,
				  const struct nn_operation *operation,
				  const struct nn_attributes *attributes, void **state,
				  struct nn_error *err);
	void (*release)(const struct nn_op *op, void *state);
};

/* Defines the entry of an operation. Further arguments set the entry's other fields. */
#define NN_OPERATION(which, ...)				\
const struct nn_op nn_op_##which = {				\
	.code = NN_OP_##which,					\
	.name = #which,						\
	__VA_ARGS__						\
}

/*
 * Registers an operation that is not in the table: NN_OP_OEM, or an extension's under its prefix in
 * this process. Any thread may call it. `op` must stay valid for the life of the process. Returns
 * NN_INVALID_ARGUMENT if the code is taken, and NN_RESOURCE_EXHAUSTED_PERSISTENT if too many
 * operations are registered.
 */
enum nn_status nn_op_register(const struct nn_op *op, struct nn_error *err);

/*
 * Returns a fingerprint of the registered operations and their versions; 0 if none is registered.
 */
uint64_t nn_op_added_fingerprint(void);

/*
 * For operations whose output sizes depend on data (BOX_WITH_NMS_LIMIT, GENERATE_PROPOSALS). Their
 * infer() computes the result into a block of nn_run_alloc(), sets the shapes, and stores the block
 * by nn_run_set_result(). execute() copies the result.
 */
void nn_run_set_result(struct nn_run *r, void *block);
void *nn_run_result(const struct nn_run *r);

/*
 * Allocates zeroed memory, aligned to 64 bytes, which is freed when the operation ends. Returns
 * NULL if memory runs out or if count * size overflows.
 */
void *nn_run_alloc(struct nn_run *r, size_t count, size_t size);

/* Does the same as nn_run_alloc(), without zeroing: clients must not see the contents. */
void *nn_run_room(struct nn_run *r, size_t count, size_t size);

/* Fails an operation at run time: "ADD: <message>". Returns NN_GENERAL_FAILURE. */
enum nn_status nn_run_fail(const struct nn_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * nn_op_find() returns the operation of a code, or NULL. It also finds registered operations, which
 * nn_op_count() does not count. For i < nn_op_count(), nn_op_at(i) returns the entries of the table
 * in the order of their codes.
 */
const struct nn_op *nn_op_find(int32_t code);
size_t nn_op_count(void);
const struct nn_op *nn_op_at(size_t index);

/* Returns the highest NNAPI feature level (1 or more) whose operations are all in the table. */
uint32_t nn_op_feature_level(void);

/* Returns a name for messages: "CONV_2D", or "operation 4711" in a thread-local buffer. */
const char *nn_op_name(int32_t code);

/*
 * Checks one operation's signature. The operation's operand indices must be in range. Fails with
 * NN_INVALID_ARGUMENT and a message "CONV_2D: input 1 (TENSOR_INT32): ...".
 */
enum nn_status nn_op_check(const struct nn_scope *scope, const struct nn_operation *operation,
			   struct nn_error *err);

/*
 * Checks the signatures of all operations of all subgraphs of a model that nn_model_check()
 * accepted. If `supported` is not NULL, it receives for each operation of the main subgraph whether
 * that operation can be executed. In this case, unknown operations are no error.
 */
enum nn_status nn_ops_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err);

/*
 * Run an operation in two steps, and do the work that all operations have in common. These
 * functions reject omitted operands and zero sizes, merge outputs with the model's declarations,
 * and convert float16.
 *
 * nn_op_infer() sets the outputs' shapes. The caller then sets the outputs' data (at least the
 * element size times the dimensions) and calls nn_op_execute(). nn_op_finish() frees the scratch
 * memory, after success and failure alike. The caller sets `scratch` to NULL before nn_op_infer().
 */
enum nn_status nn_op_infer(struct nn_run *r);
enum nn_status nn_op_execute(struct nn_run *r);
void nn_op_finish(struct nn_run *r);

/* Returns whether the shape rule and the kernel see float16 as float32 (float16_as_float32). */
bool nn_run_is_widened(const struct nn_run *r);

/*
 * Returns the number of elements; 1 for a scalar. nn_op_infer() has checked that it fits 32 bits.
 */
uint32_t nn_tensor_count(const struct nn_tensor *t);
/* Returns element `index` of a float32 or float16 tensor or scalar. */
float nn_tensor_float(const struct nn_tensor *t, uint32_t index);
/* Returns the size of a tensor's data in bytes. */
uint32_t nn_tensor_size(const struct nn_tensor *t);
/* Returns the product of dims[from] ... dims[to - 1]. */
uint32_t nn_tensor_product(const struct nn_tensor *t, uint32_t from, uint32_t to);

/*
 * Return the value of a scalar input: BOOL (as 0 or 1), INT32, FLOAT32 or FLOAT16. Return
 * `otherwise` if there is no input `index`, or if it is omitted.
 */
int32_t nn_run_int(const struct nn_run *r, uint32_t index, int32_t otherwise);
bool nn_run_bool(const struct nn_run *r, uint32_t index, bool otherwise);
float nn_run_float(const struct nn_run *r, uint32_t index, float otherwise);

#endif /* NN_OPS_OP_H */
