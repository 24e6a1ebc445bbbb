/* SPDX-License-Identifier: MIT */
/*
 * Makes small models whose operations the engine on Vulkan fuses into one dispatch.
 */
#ifndef NN_TESTS_VULKAN_SAMPLES_H
#define NN_TESTS_VULKAN_SAMPLES_H

#include "ops/op.h"
#include "tests/model_builder.h"

static struct model_builder b;

static const uint32_t shape[] = { 1, 4, 4, 8 };

static uint32_t tensor(int32_t type, enum nn_lifetime lifetime)
{
	const uint32_t index = mb_operand(&b, type, lifetime, 4, shape);
	struct nn_operand *o = &b.operands[0][index];

	if (type == NN_TENSOR_QUANT8_ASYMM)
		o->scale = 0.5f;
	return index;
}

/* The last operation of make_chain()'s model. */
static int32_t last_code = NN_OP_MUL;

/*
 * Makes a model of three operations that become one dispatch: x + y, RELU6, and an operation on a
 * constant and the result of RELU6.
 */
static void make_chain(void)
{
	static const float factors[8] = { 0.5f, 1, 2, 3, 0.25f, 4, 5, 6 };
	uint32_t x, y, sum, clamped, out, c;

	mb_init(&b);
	x = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(8));
	sum = tensor(NN_TENSOR_FLOAT32, NN_TEMPORARY);
	clamped = tensor(NN_TENSOR_FLOAT32, NN_TEMPORARY);
	out = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT);
	c = mb_constant(&b, NN_TENSOR_FLOAT32, factors, sizeof(factors), MB_DIMS(8));
	mb_operation(&b, NN_OP_ADD, MB_LIST(y, x, mb_int32(&b, 0)), MB_LIST(sum));
	mb_operation(&b, NN_OP_RELU6, MB_LIST(sum), MB_LIST(clamped));
	mb_operation(&b, last_code, last_code == NN_OP_POW ? 2 : 3,
		     (uint32_t[]){ c, clamped, mb_int32(&b, 0) }, MB_LIST(out));
}

/* Makes a model of a product followed by two activations. */
static void make_product(void)
{
	static const float weights[2 * 8] = { 1, 2, 3, 4, 5, 6, 7, 8,
					      -1, -2, -3, -4, -5, -6, -7, -8 };
	static const float bias[2] = { 1, -1 };
	uint32_t x, w, c, product, clamped, out;

	mb_init(&b);
	x = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	w = mb_constant(&b, NN_TENSOR_FLOAT32, weights, sizeof(weights), MB_DIMS(2, 8));
	c = mb_constant(&b, NN_TENSOR_FLOAT32, bias, sizeof(bias), MB_DIMS(2));
	product = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(16, 2));
	clamped = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(16, 2));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(16, 2));
	mb_operation(&b, NN_OP_FULLY_CONNECTED, MB_LIST(x, w, c, mb_int32(&b, 0)),
		     MB_LIST(product));
	mb_operation(&b, NN_OP_RELU1, MB_LIST(product), MB_LIST(clamped));
	mb_operation(&b, NN_OP_RELU, MB_LIST(clamped), MB_LIST(out));
}

#endif /* NN_TESTS_VULKAN_SAMPLES_H */
