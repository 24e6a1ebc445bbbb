// SPDX-License-Identifier: MIT
/* The table of supported operations, which `nnaccel-vulkan --list-operations` prints. */
#include <stddef.h>

#include "vulkan/lower.h"

#define FLOATS	NN_FLOATS
#define BYTES	NN_QUANT8
#define INT	NN_T(NN_TENSOR_INT32)
#define BOOL	NN_T(NN_TENSOR_BOOL8)

#define OP(name, types, lower, argument) { NN_OP_##name, types, lower_##lower, argument, 0 }

static const struct vulkan_op table[] = {
	OP(ADD, FLOATS | BYTES | INT, binary, STEP_ADD),
	OP(AVERAGE_POOL_2D, FLOATS | BYTES, pool, POOL_AVERAGE),
	OP(CONCATENATION, FLOATS | BYTES, concat, 0),
	OP(CONV_2D, FLOATS | BYTES, conv, 0),
	OP(DEPTHWISE_CONV_2D, FLOATS | BYTES, depthwise, 0),
	OP(DEPTH_TO_SPACE, FLOATS | BYTES, space, 0),
	OP(DEQUANTIZE, BYTES | NN_T(NN_TENSOR_QUANT8_SYMM), dequantize, 0),
	{ NN_OP_EMBEDDING_LOOKUP, FLOATS | BYTES | INT, lower_gather, 0, 1 },
	OP(FLOOR, FLOATS, unary, STEP_FLOOR),
	OP(FULLY_CONNECTED, FLOATS | BYTES, fully_connected, 0),
	OP(L2_NORMALIZATION, FLOATS, norm, NORM_L2),
	OP(L2_POOL_2D, FLOATS, pool, POOL_L2),
	OP(LOCAL_RESPONSE_NORMALIZATION, FLOATS, norm, NORM_RESPONSE),
	OP(LOGISTIC, FLOATS | BYTES, unary, STEP_LOGISTIC),
	OP(MAX_POOL_2D, FLOATS | BYTES, pool, POOL_MAX),
	OP(MUL, FLOATS | BYTES | INT, binary, STEP_MUL),
	OP(RELU, FLOATS | BYTES, unary, STEP_CLAMP),
	OP(RELU1, FLOATS | BYTES, unary, STEP_CLAMP),
	OP(RELU6, FLOATS | BYTES, unary, STEP_CLAMP),
	OP(RESHAPE, FLOATS | BYTES | INT, reshape, 0),
	OP(RESIZE_BILINEAR, FLOATS | BYTES, resize, 0),
	OP(SOFTMAX, FLOATS | BYTES, softmax, 0),
	OP(SPACE_TO_DEPTH, FLOATS | BYTES, space, 1),
	OP(TANH, FLOATS | BYTES, unary, STEP_TANH),
	OP(BATCH_TO_SPACE_ND, FLOATS | BYTES, batch_space, 0),
	OP(DIV, FLOATS, binary, STEP_DIV),
	OP(MEAN, FLOATS | BYTES, reduce, REDUCE_MEAN),
	OP(PAD, FLOATS | BYTES, pad, 0),
	OP(SPACE_TO_BATCH_ND, FLOATS | BYTES, batch_space, 1),
	OP(SQUEEZE, FLOATS | BYTES, reshape, 0),
	OP(STRIDED_SLICE, FLOATS | BYTES, strided_slice, 0),
	OP(SUB, FLOATS | BYTES | INT, binary, STEP_SUB),
	OP(TRANSPOSE, FLOATS | BYTES, transpose, 0),
	OP(ABS, FLOATS | INT, unary, STEP_ABS),
	OP(ARGMAX, FLOATS | BYTES | INT, arg, REDUCE_ARGMAX),
	OP(ARGMIN, FLOATS | BYTES | INT, arg, REDUCE_ARGMIN),
	OP(CAST, FLOATS | INT | NN_T(NN_TENSOR_QUANT8_ASYMM), cast, 0),
	OP(CHANNEL_SHUFFLE, FLOATS | BYTES, shuffle, 0),
	OP(EQUAL, FLOATS | BYTES | INT | BOOL, binary, STEP_EQUAL),
	OP(EXP, FLOATS, unary, STEP_EXP),
	OP(EXPAND_DIMS, FLOATS | BYTES | INT, reshape, 0),
	OP(GATHER, FLOATS | BYTES | INT, gather, 0),
	OP(GREATER, FLOATS | BYTES | INT | BOOL, binary, STEP_GREATER),
	OP(GREATER_EQUAL, FLOATS | BYTES | INT | BOOL, binary, STEP_GREATER_EQUAL),
	OP(GROUPED_CONV_2D, FLOATS | BYTES, conv, 0),
	OP(INSTANCE_NORMALIZATION, FLOATS, norm, NORM_INSTANCE),
	OP(LESS, FLOATS | BYTES | INT | BOOL, binary, STEP_LESS),
	OP(LESS_EQUAL, FLOATS | BYTES | INT | BOOL, binary, STEP_LESS_EQUAL),
	OP(LOG, FLOATS, unary, STEP_LOG),
	OP(LOG_SOFTMAX, FLOATS, softmax, 1),
	OP(MAXIMUM, FLOATS | BYTES | INT, binary, STEP_MAX),
	OP(MINIMUM, FLOATS | BYTES | INT, binary, STEP_MIN),
	OP(NEG, FLOATS | INT, unary, STEP_NEG),
	OP(NOT_EQUAL, FLOATS | BYTES | INT | BOOL, binary, STEP_NOT_EQUAL),
	OP(PAD_V2, FLOATS | BYTES, pad, 0),
	OP(POW, FLOATS, binary, STEP_POW),
	OP(PRELU, FLOATS | BYTES, binary, STEP_PRELU),
	OP(QUANTIZE, FLOATS, quantize, 0),
	OP(REDUCE_ALL, BOOL, reduce, REDUCE_MIN),
	OP(REDUCE_ANY, BOOL, reduce, REDUCE_MAX),
	OP(REDUCE_MAX, FLOATS | BYTES, reduce, REDUCE_MAX),
	OP(REDUCE_MIN, FLOATS | BYTES, reduce, REDUCE_MIN),
	OP(REDUCE_PROD, FLOATS, reduce, REDUCE_PROD),
	OP(REDUCE_SUM, FLOATS, reduce, REDUCE_SUM),
	OP(RSQRT, FLOATS | BYTES, unary, STEP_RSQRT),
	OP(SIN, FLOATS, unary, STEP_SIN),
	OP(SLICE, FLOATS | BYTES | INT, slice, 0),
	OP(SPLIT, FLOATS | BYTES | INT, split, 0),
	OP(SQRT, FLOATS, unary, STEP_SQRT),
	OP(TILE, FLOATS | BYTES | INT, tile, 0),
	OP(TRANSPOSE_CONV_2D, FLOATS | BYTES, transposed, 0),
	OP(RESIZE_NEAREST_NEIGHBOR, FLOATS | BYTES, resize, 1),
	OP(ELU, FLOATS, unary, STEP_ELU),
	OP(HARD_SWISH, FLOATS | BYTES, unary, STEP_HARD_SWISH),
	OP(BATCH_MATMUL, FLOATS | NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED), matmul, 0),
	{ NN_OP_PACK, FLOATS | BYTES | INT, lower_pack, 0, 1 },
	OP(REVERSE, FLOATS | BYTES | INT, reverse, 0),
	OP(DYNAMIC_FULLY_CONNECTED, FLOATS, fully_connected, 0),
	OP(DYNAMIC_BATCH_MATMUL, FLOATS, matmul, 0),
	OP(DYNAMIC_CONV_2D, FLOATS, conv, 0),
};

const struct vulkan_op *vulkan_op_at(uint32_t index)
{
	return index < sizeof(table) / sizeof(table[0]) ? &table[index] : NULL;
}

const struct vulkan_op *vulkan_op_find(int32_t code)
{
	for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].code == code)
			return &table[i];
	return NULL;
}
