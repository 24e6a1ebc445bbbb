/* SPDX-License-Identifier: MIT */
/* Reads constants whose number of elements depends on other operands. */
#ifndef NN_MODEL_OPERAND_H
#define NN_MODEL_OPERAND_H

#include <nnaccel/engine_model.h>

/*
 * Returns the value, which may be unaligned, of a constant of a checked model with this type and
 * exactly `count` elements. Returns NULL for any other operand; `err` (may be NULL) then says what
 * the operand is and what is required.
 */
const void *nn_operand_value_of_count(const struct nn_model *model,
				      const struct nn_operand *operand, int32_t type,
				      uint32_t count, struct nn_error *err);

static inline bool nn_operand_is_constant(const struct nn_operand *operand)
{
	return operand->lifetime == NN_CONSTANT_COPY || operand->lifetime == NN_CONSTANT_REFERENCE;
}

#endif /* NN_MODEL_OPERAND_H */
