/* SPDX-License-Identifier: MIT */
/*
 * Properties of operands: size, completeness of the shape, location of a constant's value, and
 * compatibility of types and shapes.
 */
#include <string.h>

#include "model/operand.h"

bool nn_operand_size(const struct nn_operand *operand, uint32_t *size)
{
	const struct nn_type_info *info = nn_type_info_of(operand->type);
	uint32_t known = info ? info->element_size : 0;
	uint32_t i;

	*size = 0;
	if (operand->rank > NN_MAX_RANK)
		return false;
	/*
	 * The product of the known dimensions must not overflow, even if other dimensions are
	 * unknown.
	 */
	for (i = 0; i < operand->rank; i++)
		if (operand->dims[i] && __builtin_mul_overflow(known, operand->dims[i], &known))
			return false;
	if (nn_operand_is_specified(operand))
		*size = known;
	return true;
}

bool nn_operand_is_specified(const struct nn_operand *operand)
{
	const struct nn_type_info *info = nn_type_info_of(operand->type);
	uint32_t i;

	if (operand->rank > NN_MAX_RANK || (info && info->is_tensor && !operand->rank))
		return false;
	for (i = 0; i < operand->rank; i++)
		if (!operand->dims[i])
			return false;
	return true;
}

const void *nn_operand_value(const struct nn_model *model, const struct nn_operand *operand)
{
	const struct nn_location *at = &operand->location;
	const uint8_t *base;

	if (operand->lifetime == NN_CONSTANT_COPY)
		base = model->values;
	else if (operand->lifetime == NN_CONSTANT_REFERENCE)
		base = model->pools[at->pool].base;
	else
		return NULL;
	return base ? base + at->offset : NULL;
}

const void *nn_operand_value_of_count(const struct nn_model *model,
				      const struct nn_operand *operand, int32_t type,
				      uint32_t count, struct nn_error *err)
{
	const struct nn_type_info *info = nn_type_info_of(operand->type);
	const void *value = nn_operand_value(model, operand);
	uint32_t size, has = 0;

	if (value && info && info->element_size && nn_operand_size(operand, &size))
		has = size / info->element_size;
	if (value && operand->type == type && has == count)
		return value;
	nn_fail(err, NN_INVALID_ARGUMENT, "a %s of type %d with %u elements, where a constant of "
		"type %d with %u elements is wanted", value ? "constant" : "value", operand->type,
		has, type, count);
	return NULL;
}

static bool is_tensor(const struct nn_operand *operand)
{
	const struct nn_type_info *info = nn_type_info_of(operand->type);

	return info && info->is_tensor;
}

bool nn_operand_merge_dims(struct nn_operand *operand, uint32_t rank, const uint32_t *dims)
{
	uint32_t i;

	if (!rank)
		return true;
	if (!is_tensor(operand) || (operand->rank && operand->rank != rank))
		return false;
	for (i = 0; i < rank; i++)
		if (operand->rank && operand->dims[i] && dims[i] && operand->dims[i] != dims[i])
			return false;
	operand->rank = rank;
	for (i = 0; i < rank; i++)
		if (!operand->dims[i])
			operand->dims[i] = dims[i];
	return true;
}

static bool same_extra(const struct nn_extra *a, const struct nn_extra *b)
{
	if (a->kind != b->kind || a->count != b->count)
		return false;
	if (a->kind == NN_EXTRA_CHANNEL_QUANT)
		return a->channel_dim == b->channel_dim &&
		       !memcmp(a->scales, b->scales, a->count * sizeof(a->scales[0]));
	if (a->kind == NN_EXTRA_EXTENSION)
		return !memcmp(a->bytes, b->bytes, a->count);
	return true;
}

bool nn_operand_same_type(const struct nn_operand *a, const struct nn_operand *b)
{
	return a->type == b->type && a->scale == b->scale && a->zero_point == b->zero_point &&
	       same_extra(&a->extra, &b->extra);
}
