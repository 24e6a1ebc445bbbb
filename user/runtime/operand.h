/* SPDX-License-Identifier: MIT */
/*
 * The NDK's rules for operand types.
 */
#ifndef NN_RUNTIME_OPERAND_H
#define NN_RUNTIME_OPERAND_H

#include <android/NeuralNetworks.h>
#include <nnaccel/engine_model.h>

/*
 * Checks an operand type, independently of operations, and makes a temporary operand of the type
 * without extra parameters. Returns BAD_DATA if the type is invalid.
 */
int operand_from_type(const ANeuralNetworksOperandType *type, struct nn_operand *operand,
		      struct nn_error *err);

bool operand_is_extension(int32_t type);
bool operand_is_tensor(const struct nn_operand *operand);

/*
 * Returns whether an operation must write the operand, because the operand is neither an input nor
 * a constant.
 */
bool operand_is_written(const struct nn_operand *operand);

/* Returns the size in bytes of a checked operand; 0 if the size is unknown. */
uint32_t operand_size(const struct nn_operand *operand);

/* Returns whether the rank or a dimension of a tensor is unknown. */
bool operand_is_dynamic(const struct nn_operand *operand);

#endif /* NN_RUNTIME_OPERAND_H */
