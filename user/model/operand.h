/* SPDX-License-Identifier: MIT */
/* Reads constants whose required number of elements depends on other operands. */
#ifndef NN_MODEL_OPERAND_H
#define NN_MODEL_OPERAND_H

#include <nnaccel/engine_model.h>

/*
 * Returns the (possibly unaligned) value of a checked model's constant if the constant has the
 * given type and exactly `count` elements. If the constant is missing, or has another type or
 * count, returns NULL, and writes the actual and the required type and count to `err` (may be
 * NULL).
 */
const void *nn_operand_value_of_count(const struct nn_model *model,
				      const struct nn_operand *operand, int32_t type,
				      uint32_t count, struct nn_error *err);

static inline bool nn_operand_is_constant(const struct nn_operand *operand)
{
	return operand->lifetime == NN_CONSTANT_COPY || operand->lifetime == NN_CONSTANT_REFERENCE;
}

#endif /* NN_MODEL_OPERAND_H */
