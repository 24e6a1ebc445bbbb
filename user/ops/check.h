/* SPDX-License-Identifier: MIT */
/*
 * What signature checks are made of: one rule an operand (types, ranks), and
 * helpers for what rules cannot say. All name the operand that is wrong.
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

/* Instead of a set of types: relations to the type of input 0. */
#define NN_SAME (1u << 30)		/* the same type */
#define NN_SCALAR_OF (1u << 31)		/* scalar FLOAT16 for TENSOR_FLOAT16, else FLOAT32 */

/* A scalar operand of one type. */
#define NN_SCALAR_INT { NN_T(NN_INT32), 0, 0 }
#define NN_SCALAR_BOOL { NN_T(NN_BOOL), 0, 0 }
#define NN_SCALAR_FLOAT { NN_SCALAR_OF, 0, 0 }

/* A rule for one operand. Ranks count only where the operand's rank is known. */
struct nn_rule {
	uint32_t types;		/* a set, NN_SAME or NN_SCALAR_OF */
	uint8_t min_rank;	/* 0: any */
	uint8_t max_rank;	/* 0: any */
};

/*
 * Checks an operation against rules: `required` to `num_inputs` inputs and as
 * many outputs as there are rules.
 */
enum nn_status nn_check_rules(const struct nn_check *c, const struct nn_rule *inputs,
			      uint32_t required, uint32_t num_inputs,
			      const struct nn_rule *outputs, uint32_t num_outputs);

/* The same for arrays whose sizes are known: all inputs from `required` on are optional. */
#define NN_CHECK_RULES(c, inputs, required, outputs)					\
	nn_check_rules(c, inputs, required, sizeof(inputs) / sizeof((inputs)[0]),	\
		       outputs, sizeof(outputs) / sizeof((outputs)[0]))

/* Number of inputs and outputs; a maximum of UINT32_MAX is none. */
enum nn_status nn_check_counts(const struct nn_check *c, uint32_t min_inputs, uint32_t max_inputs,
			       uint32_t min_outputs, uint32_t max_outputs);

/* One input or output against a rule. */
enum nn_status nn_check_input(const struct nn_check *c, uint32_t index, struct nn_rule rule);
enum nn_status nn_check_output(const struct nn_check *c, uint32_t index, struct nn_rule rule);

/* The operand of an input or output. */
const struct nn_operand *nn_check_in(const struct nn_check *c, uint32_t index);
const struct nn_operand *nn_check_out(const struct nn_check *c, uint32_t index);

/*
 * Fails for an input or output: "CONV_2D: input 1 (TENSOR_INT32): <message>".
 * Return NN_INVALID_ARGUMENT. nn_check_fail() is for the operation as a whole.
 */
enum nn_status nn_check_fail_input(const struct nn_check *c, uint32_t index, const char *format,
				   ...) __attribute__((format(printf, 3, 4)));
enum nn_status nn_check_fail_output(const struct nn_check *c, uint32_t index, const char *format,
				    ...) __attribute__((format(printf, 3, 4)));
enum nn_status nn_check_fail(const struct nn_check *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether two operands are of the same rank and dimensions, as far as both are known. */
bool nn_check_shapes_agree(const struct nn_operand *a, const struct nn_operand *b);

/* Two inputs of the same type. */
enum nn_status nn_check_same_type(const struct nn_check *c, uint32_t a, uint32_t b);

/* An output quantised as an input. */
enum nn_status nn_check_same_quant(const struct nn_check *c, uint32_t output, uint32_t input);

#endif /* NN_OPS_CHECK_H */
