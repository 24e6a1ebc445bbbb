/* SPDX-License-Identifier: MIT */
/* Adds operations on sequences of float32 or int8 to a model. */
#include <math.h>

#include "graph.h"

enum { TANH = 4 };

/* The scale of quantised outputs of LOGISTIC and SOFTMAX. */
#define PART_SCALE (1.0f / 256)
#define PART_ZERO (-128)

static const uint32_t *dims_of(const struct graph *g, uint32_t x)
{
	return g->b->operands[x].dims;
}

static uint32_t count_of(uint32_t rank, const uint32_t *dims)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	return count;
}

uint32_t graph_tensor(const struct graph *g, uint32_t rank, const uint32_t *dims, float scale)
{
	return g->type == NET_F32 ?
	       builder_operand(g->b, NN_TENSOR_FLOAT32, rank, dims, 0, 0) :
	       builder_operand(g->b, NN_TENSOR_QUANT8_ASYMM_SIGNED, rank, dims, scale, 0);
}

uint32_t graph_floats(const struct graph *g, uint32_t rank, const uint32_t *dims, float middle,
		      float reach)
{
	const uint32_t count = count_of(rank, dims);
	float *data = builder_alloc(g->b, count * sizeof(*data));

	fill_random(NET_F32, data, count);
	for (uint32_t i = 0; i < count; i++)
		data[i] = middle + reach * data[i];
	return builder_constant(g->b, NN_TENSOR_FLOAT32, rank, dims, 0, 0, data);
}

uint32_t graph_float(const struct graph *g, float value)
{
	float *data = builder_alloc(g->b, sizeof(*data));

	*data = value;
	return builder_constant(g->b, NN_FLOAT32, 0, NULL, 0, 0, data);
}

uint32_t graph_omitted(const struct graph *g)
{
	uint32_t operand = builder_operand(g->b, NN_TENSOR_FLOAT32, 0, NULL, 0, 0);

	g->b->operands[operand].lifetime = NN_NO_VALUE;
	return operand;
}

/*
 * Returns the range of random weights for which a sum of `depth` weighted numbers is about as large
 * as one of the numbers.
 */
static float reach_of(uint32_t depth)
{
	return sqrtf(3 / (float)depth);
}

static uint32_t weights(const struct graph *g, uint32_t units, uint32_t depth)
{
	const uint32_t dims[] = { units, depth };
	int8_t *data;

	if (g->type == NET_F32)
		return graph_floats(g, 2, dims, 0, reach_of(depth));
	data = builder_alloc(g->b, (size_t)units * depth);
	fill_random(NET_QC8, data, (size_t)units * depth);
	return builder_constant(g->b, NN_TENSOR_QUANT8_ASYMM_SIGNED, 2, dims,
				reach_of(depth) / 127, 0, data);
}

static uint32_t bias(const struct graph *g, uint32_t units, float scale)
{
	int32_t *data;

	if (g->type == NET_F32)
		return graph_floats(g, 1, &units, 0, 0.125f);
	data = builder_alloc(g->b, units * sizeof(*data));
	for (uint32_t i = 0; i < units; i++)
		data[i] = (int32_t)((i % 5 / 16.0f - 0.125f) / scale);
	return builder_constant(g->b, NN_TENSOR_INT32, 1, &units, scale, 0, data);
}

uint32_t graph_product(const struct graph *g, uint32_t x, uint32_t units, int32_t activation,
		       float scale)
{
	const uint32_t *dims = dims_of(g, x);
	uint32_t out = graph_tensor(g, 2, (uint32_t[]){ dims[0], units }, scale);
	uint32_t w = weights(g, units, dims[1]);
	float bias_scale = g->b->operands[x].scale * g->b->operands[w].scale;

	builder_operation(g->b, NN_OP_FULLY_CONNECTED, 4, (uint32_t[]){
			  x, w, bias(g, units, bias_scale), builder_int(g->b, activation) }, out);
	return out;
}

uint32_t graph_batch_product(const struct graph *g, uint32_t x, uint32_t y, bool transpose_y,
			     float scale)
{
	const uint32_t *a = dims_of(g, x), *b = dims_of(g, y);
	uint32_t out = graph_tensor(g, 3, (uint32_t[]){ a[0], a[1], b[transpose_y ? 1 : 2] },
				    scale);

	builder_operation(g->b, NN_OP_BATCH_MATMUL, 4, (uint32_t[]){ x, y,
			  builder_bool(g->b, false), builder_bool(g->b, transpose_y) }, out);
	return out;
}

/* Makes a tensor with the type and the shape of x, but with the given scale and zero point. */
static uint32_t tensor_like(const struct graph *g, uint32_t x, float scale, int32_t zero)
{
	const struct nn_operand *o = &g->b->operands[x];

	return o->type == NN_TENSOR_FLOAT32 ?
	       builder_operand(g->b, o->type, o->rank, o->dims, 0, 0) :
	       builder_operand(g->b, o->type, o->rank, o->dims, scale, zero);
}

uint32_t graph_binary(const struct graph *g, int32_t code, uint32_t x, uint32_t y, float scale)
{
	uint32_t out = tensor_like(g, x, scale, 0);

	builder_operation(g->b, code, 3, (uint32_t[]){ x, y, builder_int(g->b, GRAPH_NONE) }, out);
	return out;
}

static uint32_t logistic(const struct graph *g, uint32_t x)
{
	uint32_t out = tensor_like(g, x, PART_SCALE, PART_ZERO);

	builder_operation(g->b, NN_OP_LOGISTIC, 1, &x, out);
	return out;
}

uint32_t graph_gelu(const struct graph *g, uint32_t x)
{
	const float factor = 1.702f, step = g->b->operands[x].scale;
	const uint32_t one = 1;
	uint32_t constant;
	int8_t *byte;

	if (g->type == NET_F32) {
		constant = graph_floats(g, 1, &one, factor, 0);
	} else {
		byte = builder_alloc(g->b, 1);
		*byte = 127;
		constant = builder_constant(g->b, NN_TENSOR_QUANT8_ASYMM_SIGNED, 1, &one,
					    factor / 127, 0, byte);
	}
	return graph_binary(g, NN_OP_MUL, x,
			    logistic(g, graph_binary(g, NN_OP_MUL, x, constant, 2 * step)),
			    step);
}

uint32_t graph_softmax(const struct graph *g, uint32_t x, float beta)
{
	uint32_t out = tensor_like(g, x, PART_SCALE, PART_ZERO);

	builder_operation(g->b, NN_OP_SOFTMAX, 2, (uint32_t[]){ x, graph_float(g, beta) }, out);
	return out;
}

static uint32_t ints(const struct graph *g, uint32_t count, const uint32_t *values)
{
	int32_t *data = builder_alloc(g->b, count * sizeof(*data));

	for (uint32_t i = 0; i < count; i++)
		data[i] = (int32_t)values[i];
	return builder_constant(g->b, NN_TENSOR_INT32, 1, &count, 0, 0, data);
}

/* Makes a tensor with the bytes of x and a different shape. */
static uint32_t reshaped(const struct graph *g, uint32_t x, uint32_t rank, const uint32_t *dims)
{
	const struct nn_operand *o = &g->b->operands[x];

	return builder_operand(g->b, o->type, rank, dims, o->scale, o->zero_point);
}

uint32_t graph_reshape(const struct graph *g, uint32_t x, uint32_t rank, const uint32_t *dims)
{
	uint32_t out = reshaped(g, x, rank, dims);

	builder_operation(g->b, NN_OP_RESHAPE, 2, (uint32_t[]){ x, ints(g, rank, dims) }, out);
	return out;
}

uint32_t graph_swap(const struct graph *g, uint32_t x)
{
	const uint32_t *dims = dims_of(g, x);
	uint32_t out = reshaped(g, x, 3, (uint32_t[]){ dims[1], dims[0], dims[2] });

	builder_operation(g->b, NN_OP_TRANSPOSE, 2,
			  (uint32_t[]){ x, ints(g, 3, (uint32_t[]){ 1, 0, 2 }) }, out);
	return out;
}

uint32_t graph_to_floats(const struct graph *g, uint32_t x)
{
	const struct nn_operand *o = &g->b->operands[x];
	uint32_t out;

	if (g->type == NET_F32)
		return x;
	out = builder_operand(g->b, NN_TENSOR_FLOAT32, o->rank, o->dims, 0, 0);
	builder_operation(g->b, NN_OP_DEQUANTIZE, 1, &x, out);
	return out;
}

uint32_t graph_from_floats(const struct graph *g, uint32_t x, float scale)
{
	const struct nn_operand *o = &g->b->operands[x];
	uint32_t out;

	if (g->type == NET_F32)
		return x;
	out = graph_tensor(g, o->rank, o->dims, scale);
	builder_operation(g->b, NN_OP_QUANTIZE, 1, &x, out);
	return out;
}

/* Adds the computation of the mean of each row; the result is a column. */
static uint32_t mean_of_rows(const struct graph *g, uint32_t x)
{
	uint32_t out = builder_operand(g->b, NN_TENSOR_FLOAT32, 2,
				       (uint32_t[]){ dims_of(g, x)[0], 1 }, 0, 0);

	builder_operation(g->b, NN_OP_MEAN, 3, (uint32_t[]){ x, ints(g, 1, (uint32_t[]){ 1 }),
			  builder_int(g->b, 1) }, out);
	return out;
}

uint32_t graph_normalize(const struct graph *g, uint32_t x)
{
	const uint32_t one = 1, size = dims_of(g, x)[1];
	uint32_t scale = graph_floats(g, 1, &size, 1, 0.25f);
	uint32_t offset = graph_floats(g, 1, &size, 0, 0.25f);
	uint32_t little = graph_floats(g, 1, &one, 1e-6f, 0), variance, factor;

	x = graph_binary(g, NN_OP_SUB, x, mean_of_rows(g, x), 0);
	variance = mean_of_rows(g, graph_binary(g, NN_OP_MUL, x, x, 0));
	variance = graph_binary(g, NN_OP_ADD, variance, little, 0);
	factor = tensor_like(g, variance, 0, 0);
	builder_operation(g->b, NN_OP_RSQRT, 1, &variance, factor);
	x = graph_binary(g, NN_OP_MUL, x, factor, 0);
	return graph_binary(g, NN_OP_ADD, graph_binary(g, NN_OP_MUL, x, scale, 0), offset, 0);
}

uint32_t graph_lstm(const struct graph *g, uint32_t x, uint32_t units)
{
	const uint32_t *dims = dims_of(g, x), state[] = { 1, units };
	const uint32_t of_input[] = { units, dims[2] }, of_state[] = { units, units };
	uint32_t in[28], out;

	in[0] = x;
	out = builder_operand(g->b, NN_TENSOR_FLOAT32, 3, (uint32_t[]){ dims[0], 1, units }, 0, 0);
	for (uint32_t i = 1; i <= 4; i++)
		in[i] = graph_floats(g, 2, of_input, 0, reach_of(of_input[1]));
	for (uint32_t i = 5; i <= 8; i++)
		in[i] = graph_floats(g, 2, of_state, 0, reach_of(units));
	for (uint32_t i = 9; i < 18; i++)
		in[i] = i >= 12 && i <= 15 ? graph_floats(g, 1, &units, 0, 0.125f) :
					     graph_omitted(g);
	in[18] = graph_floats(g, 2, state, 0, 0.125f);
	in[19] = graph_floats(g, 2, state, 0, 0.125f);
	in[20] = builder_int(g->b, TANH);
	in[21] = graph_float(g, 0);
	in[22] = graph_float(g, 0);
	in[23] = builder_bool(g->b, true);
	for (uint32_t i = 24; i < 28; i++)
		in[i] = graph_omitted(g);
	builder_operation(g->b, NN_OP_UNIDIRECTIONAL_SEQUENCE_LSTM, 28, in, out);
	return out;
}

uint32_t graph_svdf(const struct graph *g, uint32_t x, uint32_t units, uint32_t memory)
{
	const uint32_t size = dims_of(g, x)[1], state_dims[] = { 1, units * memory };
	const uint32_t time[] = { units, memory }, feature[] = { units, size };
	uint32_t state = builder_operand(g->b, NN_TENSOR_FLOAT32, 2, state_dims, 0, 0);
	uint32_t next = builder_operand(g->b, NN_TENSOR_FLOAT32, 2, state_dims, 0, 0);
	uint32_t out = builder_operand(g->b, NN_TENSOR_FLOAT32, 2, (uint32_t[]){ 1, units }, 0, 0);

	builder_input(g->b, state);
	builder_output(g->b, next);
	builder_operation_of(g->b, NN_OP_SVDF, 7, (uint32_t[]){
			     x, graph_floats(g, 2, feature, 0, reach_of(size)),
			     graph_floats(g, 2, time, 0, reach_of(memory)),
			     graph_floats(g, 1, &units, 0, 0.125f), state,
			     builder_int(g->b, 1), builder_int(g->b, GRAPH_RELU) },
			     2, (uint32_t[]){ next, out });
	return out;
}
