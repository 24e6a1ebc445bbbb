/* SPDX-License-Identifier: MIT */
/*
 * Reads a constant whose number of elements depends on other operands.
 */
#ifndef NN_MODEL_OPERAND_H
#define NN_MODEL_OPERAND_H

#include <nnaccel/engine_model.h>

/*
 * Returns the value of a constant operand of a checked model that has this type and exactly `count`
 * elements; it may be unaligned. Returns NULL for any other operand, with what it is and what is
 * wanted in `err`, which may be NULL.
 */
const void *nn_operand_value_of_count(const struct nn_model *model,
				      const struct nn_operand *operand, int32_t type,
				      uint32_t count, struct nn_error *err);

static inline bool nn_operand_is_constant(const struct nn_operand *operand)
{
	return operand->lifetime == NN_CONSTANT_COPY || operand->lifetime == NN_CONSTANT_REFERENCE;
}

#endif /* NN_MODEL_OPERAND_H */
