/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "ops/float16.h"
#include "vectors/graph.h"
#include "vectors/random.h"
#include "vectors/require.h"

struct random_graph g;

void begin(void)
{
	static const int32_t types[] = {
		NN_TENSOR_FLOAT32, NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED,
		NN_TENSOR_FLOAT32, NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED,
		NN_TENSOR_FLOAT16,
	};
	uint8_t *values = g.values;

	memset(&g, 0, sizeof(g));
	g.values = values;
	g.type = types[random_bits() % (sizeof(types) / sizeof(types[0]))];
	g.subgraph = (struct nn_subgraph){
		.operands = g.operands,
		.operations = g.operations,
		.num_inputs = 1,
		.inputs = &g.input,
		.outputs = g.outputs,
	};
	g.pool = (struct nn_pool){ g.values, VALUES_SIZE };
	g.model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = 1,
		.num_pools = 1,
		.subgraphs = &g.subgraph,
		.pools = &g.pool,
		.relaxed = g.type == NN_TENSOR_FLOAT32 && chance(4),
	};
}

bool is_float(void)
{
	return g.type == NN_TENSOR_FLOAT32 || g.type == NN_TENSOR_FLOAT16;
}

uint32_t add_operand(int32_t type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero)
{
	struct nn_operand *o = &g.operands[g.subgraph.num_operands];

	require(g.subgraph.num_operands < MAX_OPERANDS);
	*o = (struct nn_operand){ .type = type, .rank = rank, .scale = scale, .zero_point = zero };
	if (rank)
		memcpy(o->dims, dims, rank * sizeof(*dims));
	return g.subgraph.num_operands++;
}

void *set_value(uint32_t operand)
{
	struct nn_operand *o = &g.operands[operand];
	void *value;

	require(nn_operand_size(o, &o->location.length));
	o->lifetime = NN_CONSTANT_REFERENCE;
	g.used = chance(3) ? g.used + pick(0, 7) : (g.used + 7) / 8 * 8;
	require(g.used + o->location.length <= VALUES_SIZE);
	o->location.offset = g.used;
	value = g.values + g.used;
	g.used += o->location.length;
	return value;
}

uint32_t add_int(int32_t value)
{
	uint32_t index = add_operand(NN_INT32, 0, NULL, 0, 0);

	memcpy(set_value(index), &value, sizeof(value));
	return index;
}

uint32_t add_ints(uint32_t rank, const uint32_t *dims, const int32_t *values)
{
	uint32_t index = add_operand(NN_TENSOR_INT32, rank, dims, 0, 0);
	void *value = set_value(index);

	memcpy(value, values, g.operands[index].location.length);
	return index;
}

uint32_t add_float_scalar(float value)
{
	bool half = g.type == NN_TENSOR_FLOAT16;
	uint32_t index = add_operand(half ? NN_FLOAT16 : NN_FLOAT32, 0, NULL, 0, 0);
	uint16_t small = nn_float_to_fp16(value);

	memcpy(set_value(index), half ? (void *)&small : (void *)&value, half ? 2 : 4);
	return index;
}

void fill(int32_t type, void *to, uint32_t bytes, float range)
{
	for (uint32_t i = 0; i < bytes;) {
		float value = random_float(-range, range);
		uint16_t small = nn_float_to_fp16(value);
		uint8_t byte = (uint8_t)random_bits();

		if (type == NN_TENSOR_FLOAT32)
			memcpy((char *)to + i, &value, 4);
		else if (type == NN_TENSOR_FLOAT16)
			memcpy((char *)to + i, &small, 2);
		else
			memcpy((char *)to + i, &byte, 1);
		i += nn_type_info_of(type)->element_size;
	}
}

void fill_constant(uint32_t operand, float range)
{
	void *value = set_value(operand);

	fill(g.operands[operand].type, value, g.operands[operand].location.length, range);
}

int32_t random_zero(int32_t type)
{
	return (int32_t)pick(0, 255) - (type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
}

uint32_t add_result(uint32_t rank, const uint32_t *dims, float scale, int32_t zero)
{
	bool quantised = !is_float();

	return add_operand(g.type, rank, dims, quantised ? scale : 0, quantised ? zero : 0);
}

uint32_t random_result(uint32_t rank, const uint32_t *dims)
{
	return add_result(rank, dims, random_float(0.01f, 0.1f), random_zero(g.type));
}

uint32_t any_tensor(void)
{
	return g.tensors[chance(3) ? pick(0, g.num_tensors - 1) : g.num_tensors - 1];
}

uint32_t any_image(void)
{
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t t = any_tensor();

		if (g.operands[t].rank == 4)
			return t;
	}
	return g.input;
}

bool finish_many(int32_t code, uint32_t count, const uint32_t *inputs, uint32_t num_outputs,
		 const uint32_t *outputs)
{
	uint32_t *list = g.indices + g.num_indices;

	/*
	 * UINT32_MAX follows each list of operands, so that code which reads one index too many
	 * accesses memory outside of all arrays.
	 */
	require(g.num_indices + count + num_outputs + 2 <= MAX_INDICES);
	memcpy(list, inputs, count * sizeof(*inputs));
	list[count] = UINT32_MAX;
	memcpy(list + count + 1, outputs, num_outputs * sizeof(*outputs));
	list[count + 1 + num_outputs] = UINT32_MAX;
	g.num_indices += count + num_outputs + 2;
	for (uint32_t i = 0; i < count; i++)
		g.operands[inputs[i]].consumers++;
	g.operations[g.subgraph.num_operations++] = (struct nn_operation){
		.type = code,
		.num_inputs = count,
		.num_outputs = num_outputs,
		.inputs = list,
		.outputs = list + count + 1,
	};
	for (uint32_t i = 0; i < num_outputs; i++)
		g.tensors[g.num_tensors++] = outputs[i];
	return true;
}

bool finish(int32_t code, uint32_t count, const uint32_t *inputs, uint32_t output)
{
	return finish_many(code, count, inputs, 1, &output);
}

uint32_t add_bool(bool value)
{
	uint32_t index = add_operand(NN_BOOL, 0, NULL, 0, 0);

	*(uint8_t *)set_value(index) = value;
	return index;
}

uint32_t elements(const struct nn_operand *o)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < o->rank; i++)
		count *= o->dims[i];
	return count;
}
