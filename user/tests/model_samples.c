/* SPDX-License-Identifier: MIT */
/*
 * Models on which several tests and the fuzzers' seeds are based.
 */
#include "model_samples.h"

enum {
	ADD = 0,
	MUL = 18,
	RESHAPE = 22,
	LESS = 58,
};

static const float one_two[] = { 1, 2 };

static uint32_t add_binary(struct model_builder *b, int32_t code, uint32_t x, uint32_t y,
			   uint32_t to)
{
	uint32_t activation = mb_int32(b, 0);

	mb_operation(b, code, MB_LIST(x, y, activation), MB_LIST(to));
	return to;
}

/* Builds a separate subgraph: out[dim] = a[dim] op b[dim] */
static void binary_subgraph(struct model_builder *b, int32_t code, uint32_t dim)
{
	uint32_t x, y, z;

	mb_subgraph(b);
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(dim));
	y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(dim));
	z = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(dim));
	add_binary(b, code, x, y, z);
}

void sample_everything(struct model_builder *b)
{
	static const float scales[] = { 0.5f, 0.25f, 2 };
	static const uint8_t extension_data[] = { 9, 8, 7 };
	uint32_t i;

	mb_init(b);
	b->model.num_pools = 1;
	b->pools[0].size = 64;
	b->model.num_extensions = 1;
	b->extensions[0] = (struct nn_extension_prefix){ "com.example.ext", 3 };
	b->model.relaxed = true;

	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));		/* 0 */
	mb_constant(b, NN_TENSOR_FLOAT32, one_two, sizeof(one_two), MB_DIMS(2));	/* 1 */
	mb_int32(b, 0);									/* 2 */
	mb_operand(b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2));			/* 3 */
	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));		/* 4 */
	i = mb_reference(b, NN_TENSOR_QUANT8_ASYMM, 0, 60, 4, MB_DIMS(4));		/* 5 */
	b->operands[0][i].scale = 0.5f;
	b->operands[0][i].zero_point = 3;
	mb_operand(b, NN_TENSOR_FLOAT32, NN_NO_VALUE, MB_DIMS(0));			/* 6 */
	i = mb_constant(b, NN_TENSOR_QUANT8_SYMM_PER_CHANNEL, "abcdef", 6, MB_DIMS(3, 2)); /* 7 */
	b->operands[0][i].extra = (struct nn_extra){
		.kind = NN_EXTRA_CHANNEL_QUANT,
		.count = 3,
		.scales = scales,
	};
	mb_operand(b, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));			/* 8 */
	mb_subgraph_operand(b, 1);							/* 9 */
	mb_subgraph_operand(b, 2);							/* 10 */
	i = mb_constant(b, SAMPLE_EXTENSION_OPERAND, "ext", 3, MB_NONE);		/* 11 */
	b->operands[0][i].extra = (struct nn_extra){
		.kind = NN_EXTRA_EXTENSION,
		.count = 3,
		.bytes = extension_data,
	};
	mb_operand(b, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_NONE);			/* 12 */
	mb_operand(b, NN_TENSOR_FLOAT16, NN_TEMPORARY, MB_NONE);			/* 13 */

	mb_operation(b, ADD, MB_LIST(0, 1, 2), MB_LIST(3));				/* 0 */
	mb_operation(b, NN_OP_IF, MB_LIST(8, 9, 10, 3, 0), MB_LIST(4));			/* 1 */
	mb_operation(b, SAMPLE_EXTENSION_OPERATION, MB_LIST(5, 6, 7, 11, 12, 12), MB_LIST(13));
	binary_subgraph(b, ADD, 2);
	binary_subgraph(b, MUL, 2);
}

void sample_add(struct model_builder *b)
{
	uint32_t x, y, z;

	mb_init(b);
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, 2));
	y = mb_constant(b, NN_TENSOR_FLOAT32, one_two, sizeof(one_two), MB_DIMS(2));
	z = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 2));
	add_binary(b, ADD, x, y, z);
}

void sample_if(struct model_builder *b)
{
	uint32_t condition, x, y, z, then_graph, else_graph;

	mb_init(b);
	condition = mb_operand(b, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	z = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	then_graph = mb_subgraph_operand(b, 1);
	else_graph = mb_subgraph_operand(b, 2);
	mb_operation(b, NN_OP_IF, MB_LIST(condition, then_graph, else_graph, x, y), MB_LIST(z));
	binary_subgraph(b, ADD, 2);
	binary_subgraph(b, MUL, 2);
}

/* Adds the loop's inputs i[1], sum[1] and limit[1]. */
static void add_state(struct model_builder *b, uint32_t state[3])
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		state[i] = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
}

void sample_while(struct model_builder *b)
{
	static const float one = 1;
	uint32_t v[3], r[2], condition, body, step;

	mb_init(b);
	condition = mb_subgraph_operand(b, 1);
	body = mb_subgraph_operand(b, 2);
	add_state(b, v);
	r[0] = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	r[1] = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(b, NN_OP_WHILE, MB_LIST(condition, body, v[0], v[1], v[2]),
		     MB_LIST(r[0], r[1]));

	mb_subgraph(b);
	add_state(b, v);
	r[0] = mb_operand(b, NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(b, LESS, MB_LIST(v[0], v[2]), MB_LIST(r[0]));

	mb_subgraph(b);
	add_state(b, v);
	r[0] = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	r[1] = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	step = mb_constant(b, NN_TENSOR_FLOAT32, &one, sizeof(one), MB_DIMS(1));
	add_binary(b, ADD, v[0], step, r[0]);
	add_binary(b, ADD, v[1], r[0], r[1]);
}

void sample_reshape(struct model_builder *b)
{
	uint32_t x, shape, y;

	mb_init(b);
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(6));
	shape = mb_operand(b, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, 0));
	mb_operation(b, RESHAPE, MB_LIST(x, shape), MB_LIST(y));
}
