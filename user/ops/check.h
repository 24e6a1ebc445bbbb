/* SPDX-License-Identifier: MIT */
/*
 * Functions that signature checks use: rules for the types and ranks of operands, and helpers for
 * other properties. Error messages name the operation, and the operand if a single operand is
 * wrong.
 */
#ifndef NN_OPS_CHECK_H
#define NN_OPS_CHECK_H

#include "ops/op.h"

/* Sets of fundamental types. */
#define NN_T(type) (1u << (type))
#define NN_FLOATS (NN_T(NN_TENSOR_FLOAT32) | NN_T(NN_TENSOR_FLOAT16))
#define NN_QUANT8 (NN_T(NN_TENSOR_QUANT8_ASYMM) | NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED))
#define NN_ANY_TENSOR (NN_FLOATS | NN_QUANT8 | NN_T(NN_TENSOR_INT32) | NN_T(NN_TENSOR_BOOL8) | \
		       NN_T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL) | NN_T(NN_TENSOR_QUANT16_SYMM) | \
		       NN_T(NN_TENSOR_QUANT16_ASYMM) | NN_T(NN_TENSOR_QUANT8_SYMM))

/*
 * Bits for types that depend on an input's type. A rule may combine the bits NN_SAME* and NN_*_OF
 * with sets of fundamental types.
 */
#define NN_SAME (1u << 31)		/* the type of input 0 */
#define NN_SAME_1 (1u << 30)		/* the type of input 1 */
#define NN_SAME_2 (1u << 29)		/* the type of input 2 */
/* the scalar type FLOAT16 if input 0 is a TENSOR_FLOAT16, else the scalar type FLOAT32 */
#define NN_SCALAR_OF (1u << 28)
/* the type of input 0 if input 0 is float, else TENSOR_QUANT16_ASYMM */
#define NN_BOX_OF (1u << 27)
/* the type of input 0 if input 0 is float, else TENSOR_QUANT16_SYMM */
#define NN_ANCHOR_OF (1u << 26)

/* Rules for scalar operands of one type. */
#define NN_SCALAR_INT { NN_T(NN_INT32), 0, 0 }
#define NN_SCALAR_BOOL { NN_T(NN_BOOL), 0, 0 }
#define NN_SCALAR_FLOAT { NN_SCALAR_OF, 0, 0 }

/* A rule for one operand. The operand's rank is checked only if the model declares the rank. */
struct nn_rule {
	uint32_t types;
	uint8_t min_rank;	/* 0: any */
	uint8_t max_rank;	/* 0: any */
};

#define NN_RULES(...) (const struct nn_rule[]){ __VA_ARGS__ }
#define NN_NUM_RULES(...) (sizeof(NN_RULES(__VA_ARGS__)) / sizeof(struct nn_rule))

/* The rules of an operation's inputs. The inputs with an index of `least` or more are optional. */
#define NN_INPUTS(least, ...) .inputs = NN_RULES(__VA_ARGS__), .least_inputs = least,	\
			      .num_inputs = NN_NUM_RULES(__VA_ARGS__)

/*
 * The rules of an operation's outputs. With NN_OUTPUTS() all outputs are mandatory; with
 * NN_OUTPUTS_FROM() only the first `least` outputs are mandatory.
 */
#define NN_OUTPUTS(...) NN_OUTPUTS_FROM(NN_NUM_RULES(__VA_ARGS__), __VA_ARGS__)
#define NN_OUTPUTS_FROM(least, ...) .outputs = NN_RULES(__VA_ARGS__), .least_outputs = least, \
				    .num_outputs = NN_NUM_RULES(__VA_ARGS__)

/* Checks an operation against the rules in the operation's table entry. */
enum nn_status nn_check_rules(const struct nn_check *c);

/* Checks an operation's number of inputs and outputs; a maximum of UINT32_MAX means no limit. */
enum nn_status nn_check_counts(const struct nn_check *c, uint32_t min_inputs, uint32_t max_inputs,
			       uint32_t min_outputs, uint32_t max_outputs);

/* The functions nn_check_input() and nn_check_output() check one input or output against a rule. */
enum nn_status nn_check_input(const struct nn_check *c, uint32_t index, struct nn_rule rule);
enum nn_status nn_check_output(const struct nn_check *c, uint32_t index, struct nn_rule rule);

/* The functions nn_check_in() and nn_check_out() return the operand of an input or output. */
const struct nn_operand *nn_check_in(const struct nn_check *c, uint32_t index);
const struct nn_operand *nn_check_out(const struct nn_check *c, uint32_t index);

/*
 * The functions nn_check_fail*() return NN_INVALID_ARGUMENT. The messages of nn_check_fail_input()
 * and nn_check_fail_output() name an input or output, such as "CONV_2D: input 1 (TENSOR_INT32):
 * <message>". The message of nn_check_fail() names only the operation.
 */
#define nn_check_fail_input(c, ...) nn_check_fail_operand(c, false, __VA_ARGS__)
#define nn_check_fail_output(c, ...) nn_check_fail_operand(c, true, __VA_ARGS__)
enum nn_status nn_check_fail_operand(const struct nn_check *c, bool is_output, uint32_t index,
				     const char *format, ...) __attribute__((format(printf, 4, 5)));
enum nn_status nn_check_fail(const struct nn_check *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns whether two operands have the same rank and dimensions; ignores unknown ranks and
 * dimensions.
 */
bool nn_check_shapes_agree(const struct nn_operand *a, const struct nn_operand *b);

/* Checks that two inputs have the same type. */
enum nn_status nn_check_same_type(const struct nn_check *c, uint32_t a, uint32_t b);

/* Checks that an output has the same quantisation as an input. */
enum nn_status nn_check_same_quant(const struct nn_check *c, uint32_t output, uint32_t input);

#endif /* NN_OPS_CHECK_H */
