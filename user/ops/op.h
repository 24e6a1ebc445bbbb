/* SPDX-License-Identifier: MIT */
/*
 * What an operation is: one entry of one table with its signature check, its
 * shape rule and its reference kernel, and what the three are given.
 */
#ifndef NN_OPS_OP_H
#define NN_OPS_OP_H

#include <nnaccel/model.h>

/*
 * The operands among which an operation is checked: a subgraph under
 * construction or a finished one. subgraphs[k] is what an operand of lifetime
 * NN_SUBGRAPH and location.offset k refers to (NULL: not known).
 */
struct nn_scope {
	const struct nn_operand *operands;
	uint32_t num_operands;
	const struct nn_subgraph *const *subgraphs;
	uint32_t num_subgraphs;
};

/* A signature check in progress; see check.h for what checks are made of. */
struct nn_check {
	const struct nn_op *op;
	const struct nn_scope *scope;
	const struct nn_operation *operation;
	struct nn_error *err;
};

/*
 * An operand while an operation runs. Kernels write outputs' data only; shape
 * rules write outputs' rank, dims, scale, zero_point and (where it differs from
 * the model's) type.
 */
struct nn_tensor {
	int32_t type;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];	/* 0 is a dimension of size zero here */
	float scale;
	int32_t zero_point;
	const struct nn_extra *extra;	/* never NULL; kind NN_EXTRA_NONE mostly */
	uint32_t length;		/* bytes, of a type without a fixed size (OEM scalar) */
	void *data;			/* NULL: omitted, or an output in the shape rule; */
					/* aligned to the element for all but foreign memory */
	bool omitted;
	bool is_model_output;		/* type, scale and zero point must equal the model's; a */
					/* temporary takes what the shape rule computes */
};

/* Memory for nn_run_alloc() that its owner keeps from run to run. */
struct nn_run_memory {
	char *base;			/* aligned to 64 */
	size_t size;
	size_t used;			/* asked for in the run in progress */
	size_t wanted;			/* the most that any run asked for */
};

/*
 * One operation at run time. Inputs whose values steer addresses (all scalars,
 * and those that `steering` of the operation names) lie in private memory that
 * does not change between the shape rule and the kernel.
 */
struct nn_run {
	const struct nn_op *op;
	uint32_t num_inputs;
	uint32_t num_outputs;
	const struct nn_tensor *inputs;
	struct nn_tensor *outputs;
	bool relaxed;
	const uint32_t *border;		/* of input 0's window besides its own: see window.h */
	void *state;			/* what op->compile made, or NULL */
	const struct nn_attributes *plan_attributes;	/* NULL, or what extensions are told */
	const struct nn_attributes *attributes;		/* likewise, of this execution */
	struct nn_run_memory *memory;	/* where nn_run_alloc() looks first, or NULL */
	void *scratch;			/* list of nn_run_alloc()'s blocks */
	struct nn_error *err;
};

/* Which inputs may have a dimension of size zero. */
enum nn_zero_sized {
	NN_ZERO_NONE,		/* none: the operation fails */
	NN_ZERO_ALLOWED,	/* any that the shape rule accepts */
};

struct nn_rule;

/* Sets of input positions, for up to 64 inputs. */
#define NN_IN(i) (UINT64_C(1) << (i))

struct nn_op {
	int32_t code;
	uint64_t version;		/* of one that is added: of the code behind it; else 0 */
	const char *name;		/* as the NNAPI spells it: "CONV_2D" */
	enum nn_zero_sized zero_sized;
	uint64_t omissible;		/* inputs that may be omitted */
	uint64_t omissible_outputs;
	uint64_t steering;		/* tensor inputs whose values steer addresses */
	/*
	 * float16 tensors and scalars are converted to float32 before the kernel
	 * (and the shape rule) and outputs back after it, so that neither sees
	 * float16.
	 */
	bool float16_as_float32;
	/* Runs in every execution, even on constants: what it computes may depend on more. */
	bool every_time;

	/*
	 * The operands, a rule each: NN_INPUTS() and NN_OUTPUTS() of check.h. Inputs from
	 * `least_inputs` on may be left out, and so may outputs.
	 */
	const struct nn_rule *inputs;
	const struct nn_rule *outputs;
	uint8_t least_inputs;
	uint8_t num_inputs;
	uint8_t least_outputs;
	uint8_t num_outputs;

	/*
	 * Checks what these rules leave open; NULL: nothing. It comes after them, and needs no
	 * values and no producers. NN_OK or NN_INVALID_ARGUMENT.
	 */
	enum nn_status (*check)(const struct nn_check *c);

	/*
	 * Output shapes (and scale, zero point) from the inputs and, where the
	 * shape depends on them, their values. On entry outputs hold the model's
	 * operand (dims 0 where unknown). NN_OK, NN_GENERAL_FAILURE or
	 * NN_OUT_OF_MEMORY.
	 */
	enum nn_status (*infer)(struct nn_run *r);

	/* The reference kernel. Must not write past what infer said. */
	enum nn_status (*execute)(struct nn_run *r);

	/* Tells apart operations with the same `execute`: a structure of their file. */
	const void *kernels;

	/*
	 * May be NULL: makes what is the same in every execution of one operation of
	 * a checked model, whose pools are mapped; release frees it. `attributes`
	 * are those of nn_run.plan_attributes.
	 */
	enum nn_status (*compile)(const struct nn_op *op, const struct nn_model *model,
				  const struct nn_subgraph *subgraph,
				  const struct nn_operation *operation,
				  const struct nn_attributes *attributes, void **state,
				  struct nn_error *err);
	void (*release)(const struct nn_op *op, void *state);
};

/* Defines the entry of an operation, whose other fields follow. */
#define NN_OPERATION(which, ...)				\
const struct nn_op nn_op_##which = {				\
	.code = NN_OP_##which,					\
	.name = #which,						\
	__VA_ARGS__						\
}

/*
 * Adds an operation that is not in the table: an extension's, under the prefix
 * that it has in this process, or NN_OP_OEM. It is to stay where it is for the
 * life of the process. NN_INVALID_ARGUMENT: the code is taken;
 * NN_RESOURCE_EXHAUSTED_PERSISTENT: there are too many. From any thread.
 */
enum nn_status nn_op_register(const struct nn_op *op, struct nn_error *err);

/* Stands for the operations that were added and their versions; 0: none. */
uint64_t nn_op_added_fingerprint(void);

/*
 * Operations whose output sizes depend on data (BOX_WITH_NMS_LIMIT,
 * GENERATE_PROPOSALS): infer computes the result into nn_run_alloc() memory,
 * sets the shapes, leaves the block in nn_run_set_result() and execute copies it.
 */
void nn_run_set_result(struct nn_run *r, void *block);
void *nn_run_result(const struct nn_run *r);

/*
 * Zeroed memory that lives until the operation ends, aligned to 64 bytes; NULL
 * when there is none or count * size overflows.
 */
void *nn_run_alloc(struct nn_run *r, size_t count, size_t size);

/* The same, with anything in it, which clients must not see. */
void *nn_run_room(struct nn_run *r, size_t count, size_t size);

/* Fails an operation at run time: "ADD: <message>". Returns NN_GENERAL_FAILURE. */
enum nn_status nn_run_fail(const struct nn_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The operation of a code, or NULL. The table is ordered by code; nn_op_at(i) for
 * i < nn_op_count(). Those that were added are found, but not counted.
 */
const struct nn_op *nn_op_find(int32_t code);
size_t nn_op_count(void);
const struct nn_op *nn_op_at(size_t index);

/* The highest NNAPI feature level, from 1, all of whose operations are in the table. */
uint32_t nn_op_feature_level(void);

/* Name for messages: "CONV_2D", or "operation 4711" in a static per-thread buffer. */
const char *nn_op_name(int32_t code);

/*
 * Checks one operation's signature. Its operand indices must be in range.
 * NN_INVALID_ARGUMENT with a message "CONV_2D: input 1 (TENSOR_INT32): ...".
 */
enum nn_status nn_op_check(const struct nn_scope *scope, const struct nn_operation *operation,
			   struct nn_error *err);

/*
 * Checks the signatures of all operations of all subgraphs of a model that
 * nn_model_check() accepted. Where `supported` is not NULL it is told, for each
 * operation of the main subgraph, whether we can execute it, and operations
 * that we do not know are no error.
 */
enum nn_status nn_ops_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err);

/*
 * The two halves of running an operation, with everything that holds for all
 * of them: omitted operands and zero sizes refused, outputs merged with what
 * the model declares, float16 converted.
 *
 * nn_op_infer() fills the outputs' shapes; the caller then sets their data
 * (at least the element size times the dimensions) and calls nn_op_execute().
 * nn_op_finish() frees the scratch memory, after success and failure alike.
 * A caller zeroes `scratch` first.
 */
enum nn_status nn_op_infer(struct nn_run *r);
enum nn_status nn_op_execute(struct nn_run *r);
void nn_op_finish(struct nn_run *r);

/* Whether the float32 that the shape rule and the kernel see was float16 (float16_as_float32). */
bool nn_run_is_widened(const struct nn_run *r);

/* Elements of a tensor; 1 for a scalar. Fits 32 bits (checked by nn_op_infer()). */
uint32_t nn_tensor_count(const struct nn_tensor *t);
/* Element `index` of a float32 or float16 tensor or scalar. */
float nn_tensor_float(const struct nn_tensor *t, uint32_t index);
/* Bytes of its data. */
uint32_t nn_tensor_size(const struct nn_tensor *t);
/* Product of dims[from] ... dims[to - 1]. */
uint32_t nn_tensor_product(const struct nn_tensor *t, uint32_t from, uint32_t to);

/*
 * The value of a scalar input: BOOL (as 0 or 1), INT32, FLOAT32 or FLOAT16.
 * `index` beyond the inputs, or an omitted one, gives `otherwise`.
 */
int32_t nn_run_int(const struct nn_run *r, uint32_t index, int32_t otherwise);
bool nn_run_bool(const struct nn_run *r, uint32_t index, bool otherwise);
float nn_run_float(const struct nn_run *r, uint32_t index, float otherwise);

#endif /* NN_OPS_OP_H */
