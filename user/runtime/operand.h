/* SPDX-License-Identifier: MIT */
/*
 * The NDK's rules for operand types, and for the shapes that several uses of
 * one operand have to agree on.
 */
#ifndef NN_RUNTIME_OPERAND_H
#define NN_RUNTIME_OPERAND_H

#include <android/NeuralNetworks.h>
#include <nnaccel/model.h>

/*
 * Checks a type by itself (BAD_DATA) and makes an operand of it: a temporary
 * without extra parameters.
 */
int operand_from_type(const ANeuralNetworksOperandType *type, struct nn_operand *operand,
		      struct nn_error *err);

bool operand_is_extension(int32_t type);
bool operand_is_tensor(const struct nn_operand *operand);

/* An operand that an operation has to write: neither given nor constant. */
bool operand_is_written(const struct nn_operand *operand);

/* nn_operand_size() of an operand that was checked: 0 when unknown. */
uint32_t operand_size(const struct nn_operand *operand);

/* A tensor whose rank or any dimension is not known. */
bool operand_is_dynamic(const struct nn_operand *operand);

/*
 * Fills what `operand` does not know of its shape from `rank` dimensions, 0 being
 * unknown there too (rank 0: all). False, and nothing filled, when they disagree.
 */
bool operand_merge_dims(struct nn_operand *operand, uint32_t rank, const uint32_t *dims);

/* Type, scale, zero point and extra parameters are the same. */
bool operand_same_type(const struct nn_operand *a, const struct nn_operand *b);

#endif /* NN_RUNTIME_OPERAND_H */
