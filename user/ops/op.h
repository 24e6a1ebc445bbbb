/* SPDX-License-Identifier: MIT */
/*
 * Each operation has an entry in a table: its signature check, its shape rule and its reference
 * kernel. The header op.h defines the structure of an operation's table entry and the arguments of
 * the entry's functions.
 */
#ifndef NN_OPS_OP_H
#define NN_OPS_OP_H

#include <nnaccel/engine_model.h>

/*
 * The operands against which an operation is checked: the operands of a finished subgraph or of a
 * subgraph in construction. An operand of lifetime NN_SUBGRAPH with location.offset k refers to
 * subgraphs[k]. If a subgraph is not known yet, its element of `subgraphs` is NULL.
 */
struct nn_scope {
	const struct nn_operand *operands;
	uint32_t num_operands;
	const struct nn_subgraph *const *subgraphs;
	uint32_t num_subgraphs;
};

/*
 * The arguments of an operation's signature check. The header check.h has functions for signature
 * checks.
 */
struct nn_check {
	const struct nn_op *op;
	const struct nn_scope *scope;
	const struct nn_operation *operation;
	struct nn_error *err;
};

/*
 * An operand of an operation at run time. Kernels write the data of outputs, but no other fields of
 * outputs. Shape rules write rank, dims, scale and zero_point of outputs, and the type if it
 * differs from the type in the model.
 */
struct nn_tensor {
	int32_t type;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK]; /* 0 means a dimension of size zero, not an unknown dimension */
	float scale;
	int32_t zero_point;
	const struct nn_extra *extra;	/* never NULL; the kind is mostly NN_EXTRA_NONE */
	/* size of the data in bytes, only for types without a fixed size (OEM scalars) */
	uint32_t length;
	/*
	 * The data is aligned to the element size, except in memory of other drivers. The pointer
	 * is NULL for an omitted tensor, and for an output during the shape rule.
	 */
	void *data;
	bool omitted;
	/*
	 * The type, scale and zero point of a model's output must equal the model's declaration.
	 * The shape rule sets the type, scale and zero point of a temporary.
	 */
	bool is_model_output;
};

/* Memory from which nn_run_alloc() allocates, and which its owner reuses for each run. */
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
	/*
	 * padding around input 0 in addition to the padding of the operation's window: see window.h
	 */
	const uint32_t *border;
	void *state;			/* result of op->compile, or NULL */
	/* attributes of the preparation for extensions, or NULL */
	const struct nn_attributes *plan_attributes;
	const struct nn_attributes *attributes;		/* attributes of the execution, or NULL */
	struct nn_run_memory *memory;	/* memory that nn_run_alloc() uses first, or NULL */
	void *scratch;			/* list of the blocks that nn_run_alloc() allocated */
	struct nn_error *err;
};

/* Says whether an operation's inputs may have a dimension of size zero. */
enum nn_zero_sized {
	NN_ZERO_NONE,		/* the operation fails if a dimension is 0 */
	NN_ZERO_ALLOWED,	/* a dimension of 0 is allowed if the shape rule accepts it */
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
	/* version of the program code of a registered operation; 0 for operations of the table */
	uint64_t version;
	const char *name;		/* NNAPI's name: "CONV_2D" */
	enum nn_zero_sized zero_sized;
	uint64_t omissible;		/* set of the inputs that may be omitted */
	uint64_t omissible_outputs;
	/* set of the tensor inputs whose values determine shapes or addresses */
	uint64_t determining;
	/*
	 * True: float16 inputs are converted to float32 before the shape rule and the kernel, which
	 * then need no code for float16. The outputs are converted from float32 back to float16.
	 */
	bool float16_as_float32;
	/*
	 * True: the operation runs in every execution, even if all its inputs are constants,
	 * because its result does not depend only on the inputs.
	 */
	bool every_time;

	/*
	 * The rules that an operation's inputs and outputs must obey. The macros NN_INPUTS() and
	 * NN_OUTPUTS() of check.h set the rules. Inputs with an index of `least_inputs` or more,
	 * and outputs with an index of `least_outputs` or more, are optional.
	 */
	const struct nn_rule *inputs;
	const struct nn_rule *outputs;
	/*
	 * A string that describes the dimensions of inputs, or NULL. The dimensions are checked
	 * when the operation runs. The string has a word for each input, and a character for each
	 * axis. A digit in the string is the required size of the axis, and "*" accepts any size.
	 * All axes with the same letter in the string must have the same size. The word "-" accepts
	 * an input of any dimensions.
	 */
	const char *dims;
	uint8_t least_inputs;
	uint8_t num_inputs;
	uint8_t least_outputs;
	uint8_t num_outputs;
	/*
	 * True: any number of inputs (or outputs) may follow the listed inputs (outputs), and obey
	 * the last rule.
	 */
	bool more_inputs;
	bool more_outputs;

	/*
	 * Checks an operation's requirements that `inputs` and `outputs` do not cover; may be NULL.
	 * The function check() runs after the check of `inputs` and `outputs`. The function check()
	 * reads neither the values of operands nor other operations. The function check() returns
	 * NN_OK or NN_INVALID_ARGUMENT.
	 */
	enum nn_status (*check)(const struct nn_check *c);

	/*
	 * Infers the shape, scale and zero point of each output from the inputs and, if needed,
	 * from the inputs' values. Before the call of infer(), the outputs have the shapes that the
	 * model declares, with 0 for unknown dimensions. The function infer() returns NN_OK,
	 * NN_GENERAL_FAILURE or NN_OUT_OF_MEMORY.
	 */
	enum nn_status (*infer)(struct nn_run *r);

	/* The reference kernel, which must not write beyond the inferred size of an output. */
	enum nn_status (*execute)(struct nn_run *r);

	/*
	 * Points to a structure that the operation's file defines, for example to distinguish
	 * operations that share the function `execute`.
	 */
	const void *kernels;

	/*
	 * Computes in advance the data that is the same in every execution of an operation; may be
	 * NULL. When compile() is called, the model has been checked, and its pools are mapped. The
	 * function release() frees the result *state. In executions, nn_run.plan_attributes is the
	 * parameter `attributes` of compile().
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
 * this process. Any thread may call nn_op_register(). The structure *op must stay valid for the
 * life of the process. Returns NN_INVALID_ARGUMENT if another operation has the same code, and
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
 * copies the result to the outputs.
 */
void nn_run_set_result(struct nn_run *r, void *block);
void *nn_run_result(const struct nn_run *r);

/*
 * Allocates zeroed memory, aligned to 64 bytes. The memory is freed when the operation ends.
 * Returns NULL if memory runs out or if count * size overflows.
 */
void *nn_run_alloc(struct nn_run *r, size_t count, size_t size);

/*
 * Allocates memory like nn_run_alloc(), but without zeroing; the caller must not copy uninitialised
 * contents to clients.
 */
void *nn_run_room(struct nn_run *r, size_t count, size_t size);

/*
 * Sets the error of an operation that fails at run time, with a message such as "ADD: <message>".
 * Returns NN_GENERAL_FAILURE.
 */
enum nn_status nn_run_fail(const struct nn_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The function nn_op_find() returns the operation of a code, or NULL. Besides the operations of the
 * table, nn_op_find() finds registered operations, which nn_op_count() does not count. For i <
 * nn_op_count(), nn_op_at(i) returns entry i of the table, which is ordered by code.
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
 * Checks one operation's signature. The caller must have checked that the operation's operand
 * indices are in range. On failure, returns NN_INVALID_ARGUMENT with a message such as "CONV_2D:
 * input 1 (TENSOR_INT32): ...".
 */
enum nn_status nn_op_check(const struct nn_scope *scope, const struct nn_operation *operation,
			   struct nn_error *err);

/*
 * Checks the signatures of all operations in all subgraphs of a model. The model must have passed
 * nn_model_check(). If `supported` is not NULL, unknown operations are no error, and supported[i]
 * is set to whether operation i of the main subgraph can be executed. On failure, returns
 * NN_INVALID_ARGUMENT or NN_OUT_OF_MEMORY.
 */
enum nn_status nn_ops_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err);

/*
 * The functions nn_op_infer() and nn_op_execute() run an operation in two steps. For all
 * operations, nn_op_infer() and nn_op_execute() reject omitted operands and zero sizes, check
 * outputs against the model's declarations, and convert float16.
 *
 * nn_op_infer() sets the outputs' shapes. After nn_op_infer(), the caller sets the outputs' data
 * (at least the element size times the dimensions) and calls nn_op_execute(). The caller must call
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
 * Returns the number of a tensor's elements; 1 for a scalar. The number of elements fits in 32
 * bits, because nn_op_infer() has checked the number.
 */
uint32_t nn_tensor_count(const struct nn_tensor *t);
/* Returns element `index` of a float32 or float16 tensor or scalar. */
float nn_tensor_float(const struct nn_tensor *t, uint32_t index);
/* Returns the size of a tensor's data in bytes. */
uint32_t nn_tensor_size(const struct nn_tensor *t);
/* Returns the product of dims[from] ... dims[to - 1]. */
uint32_t nn_tensor_product(const struct nn_tensor *t, uint32_t from, uint32_t to);

/*
 * The functions nn_run_int(), nn_run_bool() and nn_run_float() return the value of a scalar input
 * of type BOOL (as 0 or 1), INT32, FLOAT32 or FLOAT16. If input `index` does not exist or is
 * omitted, nn_run_int(), nn_run_bool() and nn_run_float() return `otherwise`.
 */
int32_t nn_run_int(const struct nn_run *r, uint32_t index, int32_t otherwise);
bool nn_run_bool(const struct nn_run *r, uint32_t index, bool otherwise);
float nn_run_float(const struct nn_run *r, uint32_t index, float otherwise);

#endif /* NN_OPS_OP_H */
