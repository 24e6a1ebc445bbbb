/* SPDX-License-Identifier: MIT */
/*
 * Each operation has an entry in a table: its signature check, its shape rule and its reference
 * kernel. This file defines the structure of an entry and the arguments of its functions.
 */
#ifndef NN_OPS_OP_H
#define NN_OPS_OP_H

#include <nnaccel/engine_model.h>

/*
 * The operands for the check of an operation, in a finished subgraph or in a subgraph in
 * construction. An operand of lifetime NN_SUBGRAPH with location.offset k refers to subgraphs[k],
 * which is NULL if the subgraph is not known yet.
 */
struct nn_scope {
	const struct nn_operand *operands;
	uint32_t num_operands;
	const struct nn_subgraph *const *subgraphs;
	uint32_t num_subgraphs;
};

/* A signature check in progress. The header check.h has functions for signature checks. */
struct nn_check {
	const struct nn_op *op;
	const struct nn_scope *scope;
	const struct nn_operation *operation;
	struct nn_error *err;
};

/*
 * An operand while an operation runs. Kernels write only the data of outputs. Shape rules write
 * rank, dims, scale and zero_point of outputs, and the type if it differs from the type in the
 * model.
 */
struct nn_tensor {
	int32_t type;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];	/* 0: a dimension of size zero, not unknown */
	float scale;
	int32_t zero_point;
	const struct nn_extra *extra;	/* never NULL; its kind is mostly NN_EXTRA_NONE */
	/* size in bytes if the type has no fixed size (OEM scalar) */
	uint32_t length;
	/*
	 * Aligned to the element size, except in memory of other drivers. NULL: the tensor is
	 * omitted, or is an output in the shape rule.
	 */
	void *data;
	bool omitted;
	/*
	 * The type, scale and zero point of a model's output must equal the model's declaration.
	 * For temporaries, the shape rule sets type, scale and zero point.
	 */
	bool is_model_output;
};

/* Memory for nn_run_alloc(), which the owner reuses for each run. */
struct nn_run_memory {
	char *base;			/* memory, aligned to 64 bytes */
	size_t size;
	size_t used;			/* number of bytes that the current run has requested */
	size_t wanted;			/* maximum of `used` in all runs */
};

/*
 * One operation at run time. All scalars and the operation's `determining` inputs are in private
 * memory, so that they do not change between the shape rule and the kernel.
 */
struct nn_run {
	const struct nn_op *op;
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nn_tensor *inputs;
	struct nn_tensor *outputs;
	bool relaxed;
	/* padding around input 0 in addition to that of the operation's window: see window.h */
	const uint32_t *border;
	void *state;			/* result of op->compile, or NULL */
	/* attributes of the preparation for extensions, or NULL */
	const struct nn_attributes *plan_attributes;
	const struct nn_attributes *attributes;		/* attributes of the execution, or NULL */
	struct nn_run_memory *memory;	/* memory that nn_run_alloc() uses first, or NULL */
	void *scratch;			/* list of the blocks that nn_run_alloc() allocated */
	struct nn_error *err;
};

/* Whether an operation's inputs may have a dimension of size zero. */
enum nn_zero_sized {
	NN_ZERO_NONE,		/* the operation fails if a dimension is 0 */
	NN_ZERO_ALLOWED,	/* size zero is allowed where the shape rule accepts it */
};

struct nn_rule;

/* Sets of input indices, for up to 64 inputs. */
#define NN_IN(i) (UINT64_C(1) << (i))

static inline bool nn_has_input(uint64_t set, uint32_t index)
{
	return index < 64 && set & NN_IN(index);
}

struct nn_op {
	int32_t code;
	/* version of a registered operation's code; 0 for operations of the table */
	uint64_t version;
	const char *name;		/* NNAPI's name: "CONV_2D" */
	enum nn_zero_sized zero_sized;
	uint64_t omissible;		/* set of the inputs that may be omitted */
	uint64_t omissible_outputs;
	/* set of the tensor inputs whose values determine shapes or addresses */
	uint64_t determining;
	/*
	 * Float16 inputs are converted to float32 before the shape rule and the kernel run, so that
	 * both need no float16 code. Outputs are converted back.
	 */
	bool float16_as_float32;
	/*
	 * The operation runs in every execution, even if all inputs are constants, because its
	 * result depends on more than the inputs.
	 */
	bool every_time;

	/*
	 * The rules of the operands, made by NN_INPUTS() and NN_OUTPUTS() of check.h. Inputs from
	 * `least_inputs` on and outputs from `least_outputs` on are optional.
	 */
	const struct nn_rule *inputs;
	const struct nn_rule *outputs;
	/*
	 * The dimensions of inputs, which are checked when the operation runs; or NULL. The string
	 * has a word for each input, and a character for each axis. A digit is the required size of
	 * the axis, and "*" accepts any size. All axes with the same letter must have the same
	 * size. The word "-" accepts an input of any dimensions.
	 */
	const char *dims;
	uint8_t least_inputs;
	uint8_t num_inputs;
	uint8_t least_outputs;
	uint8_t num_outputs;
	/* Any number of additional inputs or outputs may follow; the last rule applies to them. */
	bool more_inputs;
	bool more_outputs;

	/*
	 * Checks an operation's requirements that `inputs` and `outputs` do not cover; may be NULL.
	 * The function check() runs after the check of the rules, and needs neither operands'
	 * values nor the operations that write operands. Returns NN_OK or NN_INVALID_ARGUMENT.
	 */
	enum nn_status (*check)(const struct nn_check *c);

	/*
	 * Infers output shapes, scale and zero point from the inputs and, if needed, their values.
	 * Before the call, the outputs have the shapes that the model declares, with 0 for unknown
	 * dimensions. Returns NN_OK, NN_GENERAL_FAILURE or NN_OUT_OF_MEMORY.
	 */
	enum nn_status (*infer)(struct nn_run *r);

	/* The reference kernel, which must not write beyond the inferred size of an output. */
	enum nn_status (*execute)(struct nn_run *r);

	/*
	 * Distinguishes operations that share the function `execute`: points to a structure of the
	 * operation's file.
	 */
	const void *kernels;

	/*
	 * Computes in advance the data that is the same in every execution of an operation; may be
	 * NULL. The model has been checked, and its pools are mapped. The function release() frees
	 * the result. Executions receive `attributes` in nn_run.plan_attributes.
	 */
	enum nn_status (*compile)(const struct nn_op *op, const struct nn_model *model,
				  const struct nn_subgraph *subgraph,
				  const struct nn_operation *operation,
				  const struct nn_attributes *attributes, void **state,
				  struct nn_error *err);
	void (*release)(const struct nn_op *op, void *state);
};

/*
 * Defines the table entry of an operation. The macro's last arguments are initialisers of the
 * entry's fields.
 */
#define NN_OPERATION(which, ...)				\
const struct nn_op nn_op_##which = {				\
	.code = NN_OP_##which,					\
	.name = #which,						\
	__VA_ARGS__						\
}

/*
 * Registers NN_OP_OEM or an operation of an extension, whose code has the extension's prefix in
 * this process. Any thread may call nn_op_register(). `op` must stay valid for the life of the
 * process. Returns NN_INVALID_ARGUMENT if another operation has this code, and
 * NN_RESOURCE_EXHAUSTED_PERSISTENT if too many operations are registered.
 */
enum nn_status nn_op_register(const struct nn_op *op, struct nn_error *err);

/*
 * Returns a fingerprint of the registered operations and their versions; 0 if no operation is
 * registered.
 */
uint64_t nn_op_added_fingerprint(void);

/*
 * Functions for operations whose output sizes depend on data (BOX_WITH_NMS_LIMIT,
 * GENERATE_PROPOSALS). The operation's infer() computes the result in a block of nn_run_alloc(),
 * sets the outputs' shapes, and stores the block by nn_run_set_result(). The operation's execute()
 * copies the result.
 */
void nn_run_set_result(struct nn_run *r, void *block);
void *nn_run_result(const struct nn_run *r);

/*
 * Allocates zeroed memory, aligned to 64 bytes, which is freed when the operation ends. Returns
 * NULL if memory runs out or if count * size overflows.
 */
void *nn_run_alloc(struct nn_run *r, size_t count, size_t size);

/*
 * Allocates memory like nn_run_alloc(), but without zeroing; the caller must not copy uninitialised
 * contents to clients.
 */
void *nn_run_room(struct nn_run *r, size_t count, size_t size);

/*
 * Reports the failure of an operation at run time by a message such as "ADD: <message>". Returns
 * NN_GENERAL_FAILURE.
 */
enum nn_status nn_run_fail(const struct nn_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * nn_op_find() returns the operation of a code, or NULL. The function nn_op_find() also finds
 * registered operations, which nn_op_count() does not count. For i < nn_op_count(), nn_op_at(i)
 * returns entry i of the table, which is ordered by code.
 */
const struct nn_op *nn_op_find(int32_t code);
size_t nn_op_count(void);
const struct nn_op *nn_op_at(size_t index);

/* Returns the highest NNAPI feature level (1 or more) whose operations are all in the table. */
uint32_t nn_op_feature_level(void);

/*
 * Returns an operation's name for messages, such as "CONV_2D". For an unknown code, returns a text
 * such as "operation 4711" in a thread-local buffer.
 */
const char *nn_op_name(int32_t code);

/*
 * Checks one operation's signature. The operation's operand indices must be in range. Fails with
 * NN_INVALID_ARGUMENT and a message such as "CONV_2D: input 1 (TENSOR_INT32): ...".
 */
enum nn_status nn_op_check(const struct nn_scope *scope, const struct nn_operation *operation,
			   struct nn_error *err);

/*
 * Checks the signatures of all operations of all subgraphs of a model that nn_model_check()
 * accepted. If `supported` is not NULL, sets supported[i] to whether operation i of the main
 * subgraph can be executed, and ignores unknown operations.
 */
enum nn_status nn_ops_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err);

/*
 * Run an operation in two steps. The functions do the work that all operations share: reject
 * omitted operands and zero sizes, check outputs against the model's declarations, and convert
 * float16.
 *
 * nn_op_infer() sets the outputs' shapes. The caller then sets the outputs' data (at least the
 * element size times the dimensions) and calls nn_op_execute(). The caller must call
 * nn_op_finish(), which frees the scratch memory, after success and after failure. The caller sets
 * `scratch` to NULL before nn_op_infer().
 */
enum nn_status nn_op_infer(struct nn_run *r);
enum nn_status nn_op_execute(struct nn_run *r);
void nn_op_finish(struct nn_run *r);

/*
 * Returns whether the shape rule and the kernel of the operation receive float32 copies of float16
 * tensors (float16_as_float32).
 */
bool nn_run_is_widened(const struct nn_run *r);

/*
 * Returns the number of a tensor's elements; 1 for a scalar. The number fits in 32 bits, as
 * nn_op_infer() has checked.
 */
uint32_t nn_tensor_count(const struct nn_tensor *t);
/* Returns element `index` of a float32 or float16 tensor or scalar. */
float nn_tensor_float(const struct nn_tensor *t, uint32_t index);
/* Returns the size of a tensor's data in bytes. */
uint32_t nn_tensor_size(const struct nn_tensor *t);
/* Returns the product of dims[from] ... dims[to - 1]. */
uint32_t nn_tensor_product(const struct nn_tensor *t, uint32_t from, uint32_t to);

/*
 * Return the value of a scalar input, which is a BOOL (as 0 or 1), INT32, FLOAT32 or FLOAT16.
 * Return `otherwise` if input `index` does not exist or is omitted.
 */
int32_t nn_run_int(const struct nn_run *r, uint32_t index, int32_t otherwise);
bool nn_run_bool(const struct nn_run *r, uint32_t index, bool otherwise);
float nn_run_float(const struct nn_run *r, uint32_t index, float otherwise);

#endif /* NN_OPS_OP_H */
