/* SPDX-License-Identifier: MIT */
/*
 * The table of operand types: their names, sizes and kinds.
 */
#include "extension.h"

static const struct nn_type_info types[NN_TYPE_COUNT] = {
	[NN_FLOAT32] = { "FLOAT32", 4, false },
	[NN_INT32] = { "INT32", 4, false },
	[NN_UINT32] = { "UINT32", 4, false },
	[NN_TENSOR_FLOAT32] = { "TENSOR_FLOAT32", 4, true },
	[NN_TENSOR_INT32] = { "TENSOR_INT32", 4, true },
	[NN_TENSOR_QUANT8_ASYMM] = { "TENSOR_QUANT8_ASYMM", 1, true },
	[NN_BOOL] = { "BOOL", 1, false },
	[NN_TENSOR_QUANT16_SYMM] = { "TENSOR_QUANT16_SYMM", 2, true },
	[NN_TENSOR_FLOAT16] = { "TENSOR_FLOAT16", 2, true },
	[NN_TENSOR_BOOL8] = { "TENSOR_BOOL8", 1, true },
	[NN_FLOAT16] = { "FLOAT16", 2, false },
	[NN_TENSOR_QUANT8_SYMM_PER_CHANNEL] = { "TENSOR_QUANT8_SYMM_PER_CHANNEL", 1, true },
	[NN_TENSOR_QUANT16_ASYMM] = { "TENSOR_QUANT16_ASYMM", 2, true },
	[NN_TENSOR_QUANT8_SYMM] = { "TENSOR_QUANT8_SYMM", 1, true },
	[NN_TENSOR_QUANT8_ASYMM_SIGNED] = { "TENSOR_QUANT8_ASYMM_SIGNED", 1, true },
	[NN_SUBGRAPH_TYPE] = { "SUBGRAPH", 0, false },
};

static const struct nn_type_info oem_scalar = { "OEM", 0, false };
static const struct nn_type_info oem_byte = { "TENSOR_OEM_BYTE", 1, true };

const struct nn_type_info *nn_type_info_of(int32_t type)
{
	if (type >= 0 && type < NN_TYPE_COUNT)
		return &types[type];
	if (type == NN_OEM_SCALAR)
		return &oem_scalar;
	if (type == NN_TENSOR_OEM_BYTE)
		return &oem_byte;
	return (uint32_t)type > 0xffff ? nn_extension_type_info(type) : NULL;
}

const char *nn_type_name(int32_t type)
{
	const struct nn_type_info *info = nn_type_info_of(type);

	return info ? info->name : "unknown type";
}
