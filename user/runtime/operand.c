/* SPDX-License-Identifier: MIT */
/*
 * The NDK's rules for operand types: dimensions, sizes, scales and zero points.
 */
#include "runtime/operand.h"

#include <string.h>

#include "runtime/extension.h"
#include "runtime/log.h"

/* Zero points of the types that have a scale; other types have neither a scale nor a zero point. */
static const struct {
	bool quantised;
	int32_t min_zero_point;
	int32_t max_zero_point;
} quant_rules[NN_TYPE_COUNT] = {
	[NN_TENSOR_QUANT8_ASYMM] = { true, 0, 255 },
	[NN_TENSOR_QUANT8_ASYMM_SIGNED] = { true, -128, 127 },
	[NN_TENSOR_QUANT8_SYMM] = { true, 0, 0 },
	[NN_TENSOR_QUANT16_SYMM] = { true, 0, 0 },
	[NN_TENSOR_QUANT16_ASYMM] = { true, 0, 65535 },
};

/*
 * Returns true for types whose scale this file does not check. Operations check the scale of a bias
 * (TENSOR_INT32); the scale of OEM types is not checked at all.
 */
static bool any_quant(int32_t type)
{
	return type == NN_TENSOR_INT32 || type == NN_OEM_SCALAR || type == NN_TENSOR_OEM_BYTE;
}

static int check_quant(const ANeuralNetworksOperandType *type, struct nn_error *err)
{
	const char *name = nn_type_name(type->type);
	int32_t min, max;

	if (any_quant(type->type))
		return ANEURALNETWORKS_NO_ERROR;
	if (operand_is_extension(type->type) || !quant_rules[type->type].quantised) {
		if (type->scale != 0 || type->zeroPoint)
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "%s has no scale or zero point, but %g and %d are given",
				       name, (double)type->scale, type->zeroPoint);
		return ANEURALNETWORKS_NO_ERROR;
	}
	/* `!(scale > 0)` also rejects NaN, unlike `scale <= 0`. */
	if (!(type->scale > 0))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s needs a scale above 0, not %g",
			       name, (double)type->scale);
	min = quant_rules[type->type].min_zero_point;
	max = quant_rules[type->type].max_zero_point;
	if (type->zeroPoint < min || type->zeroPoint > max)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s needs a zero point from %d to %d, not %d", name, min, max,
			       type->zeroPoint);
	return ANEURALNETWORKS_NO_ERROR;
}

static int check_shape(const ANeuralNetworksOperandType *type, struct nn_error *err)
{
	const char *name = nn_type_name(type->type);

	if (!type->dimensionCount != !type->dimensions)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s has %u dimensions and %s pointer to them", name,
			       type->dimensionCount, type->dimensions ? "a" : "no");
	if (!nn_type_info_of(type->type)->is_tensor && type->dimensionCount)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "scalar %s cannot have %u dimensions", name, type->dimensionCount);
	if (type->dimensionCount > NN_MAX_RANK)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s of rank %u, more than %d are not supported", name,
			       type->dimensionCount, NN_MAX_RANK);
	return ANEURALNETWORKS_NO_ERROR;
}

int operand_from_type(const ANeuralNetworksOperandType *type, struct nn_operand *operand,
		      struct nn_error *err)
{
	uint32_t size;
	int result;

	if (operand_is_extension(type->type))
		result = extension_check_type(type->type, err);
	else if (!nn_type_info_of(type->type))
		result = rt_fail(err, ANEURALNETWORKS_BAD_DATA, "type %d does not exist",
				 type->type);
	else
		result = ANEURALNETWORKS_NO_ERROR;
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_shape(type, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_quant(type, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;

	memset(operand, 0, sizeof(*operand));
	operand->type = type->type;
	operand->lifetime = NN_TEMPORARY;
	operand->rank = type->dimensionCount;
	if (type->dimensionCount)
		memcpy(operand->dims, type->dimensions,
		       type->dimensionCount * sizeof(operand->dims[0]));
	operand->scale = type->scale;
	operand->zero_point = type->zeroPoint;
	if (!nn_operand_size(operand, &size))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s exceeds 4 GiB",
			       nn_type_name(type->type));
	return ANEURALNETWORKS_NO_ERROR;
}

bool operand_is_extension(int32_t type)
{
	return (uint32_t)type > 0xffff;
}

bool operand_is_tensor(const struct nn_operand *operand)
{
	const struct nn_type_info *info = nn_type_info_of(operand->type);

	return info && info->is_tensor;
}

bool operand_is_written(const struct nn_operand *operand)
{
	return operand->lifetime == NN_TEMPORARY || operand->lifetime == NN_SUBGRAPH_OUTPUT;
}

uint32_t operand_size(const struct nn_operand *operand)
{
	uint32_t size;

	nn_operand_size(operand, &size);
	return size;
}

bool operand_is_dynamic(const struct nn_operand *operand)
{
	return !nn_operand_is_specified(operand);
}
