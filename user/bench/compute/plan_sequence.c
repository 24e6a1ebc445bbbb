/* SPDX-License-Identifier: MIT */
/*
 * A recurrent and an attention network as plans of ours.
 */
#include <math.h>

#include "builder.h"
#include "sequence.h"

enum {
	ADD = 0, FULLY_CONNECTED = 9, MUL = 18, RESHAPE = 22, SOFTMAX = 25, TRANSPOSE = 37,
	UNIDIRECTIONAL_SEQUENCE_LSTM = 92, BATCH_MATMUL = 102,
};
enum { NONE = 0, RELU = 1, TANH = 4 };

#define F32 NN_TENSOR_FLOAT32

static uint32_t random_tensor(struct builder *b, uint32_t rank, const uint32_t *dims)
{
	uint32_t count = 1;
	float *data;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	data = must_alloc(count * sizeof(*data));
	fill_random(NET_F32, data, count);
	for (uint32_t i = 0; i < count; i++)
		data[i] /= sqrtf((float)dims[rank - 1]);
	return builder_constant(b, F32, rank, dims, 0, 0, data);
}

static uint32_t tensor(struct builder *b, uint32_t rank, const uint32_t *dims)
{
	return builder_operand(b, F32, rank, dims, 0, 0);
}

static uint32_t float_scalar(struct builder *b, float value)
{
	float *data = must_alloc(sizeof(*data));

	*data = value;
	return builder_constant(b, NN_FLOAT32, 0, NULL, 0, 0, data);
}

static uint32_t omitted(struct builder *b)
{
	uint32_t operand = builder_operand(b, F32, 0, NULL, 0, 0);

	b->operands[operand].lifetime = NN_NO_VALUE;
	return operand;
}

static uint32_t lstm_layer(struct builder *b, uint32_t x)
{
	const uint32_t matrix[] = { LSTM_UNITS, LSTM_UNITS }, state[] = { 1, LSTM_UNITS };
	uint32_t in[28], out = tensor(b, 3, (uint32_t[]){ LSTM_STEPS, 1, LSTM_UNITS });

	in[0] = x;
	for (uint32_t i = 1; i <= 8; i++)
		in[i] = random_tensor(b, 2, matrix);
	for (uint32_t i = 9; i <= 11; i++)
		in[i] = omitted(b);
	for (uint32_t i = 12; i <= 15; i++)
		in[i] = random_tensor(b, 1, matrix);
	in[16] = omitted(b);
	in[17] = omitted(b);
	in[18] = random_tensor(b, 2, state);
	in[19] = random_tensor(b, 2, state);
	in[20] = builder_int(b, TANH);
	in[21] = float_scalar(b, 0);
	in[22] = float_scalar(b, 0);
	in[23] = builder_bool(b, 1);
	for (uint32_t i = 24; i < 28; i++)
		in[i] = omitted(b);
	builder_operation(b, UNIDIRECTIONAL_SEQUENCE_LSTM, 28, in, out);
	return out;
}

struct subject subject_lstm(void)
{
	struct builder *b = builder_create();
	uint32_t at = tensor(b, 3, (uint32_t[]){ LSTM_STEPS, 1, LSTM_UNITS });

	builder_input(b, at);
	for (uint32_t i = 0; i < LSTM_LAYERS; i++)
		at = lstm_layer(b, at);
	builder_output(b, at);
	return builder_subject(b, 1);
}

static uint32_t product(struct builder *b, uint32_t x, uint32_t depth, uint32_t units,
			int32_t activation)
{
	uint32_t out = tensor(b, 2, (uint32_t[]){ BLOCK_TOKENS, units });

	builder_operation(b, FULLY_CONNECTED, 4, (uint32_t[]){ x,
			  random_tensor(b, 2, (uint32_t[]){ units, depth }),
			  random_tensor(b, 1, &units), builder_int(b, activation) }, out);
	return out;
}

static uint32_t ints(struct builder *b, uint32_t count, const int32_t *values)
{
	int32_t *data = must_alloc(count * sizeof(*data));

	for (uint32_t i = 0; i < count; i++)
		data[i] = values[i];
	return builder_constant(b, NN_TENSOR_INT32, 1, &count, 0, 0, data);
}

static uint32_t reshape(struct builder *b, uint32_t x, uint32_t rank, const int32_t *shape)
{
	uint32_t dims[4], out;

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = (uint32_t)shape[i];
	out = tensor(b, rank, dims);
	builder_operation(b, RESHAPE, 2, (uint32_t[]){ x, ints(b, rank, shape) }, out);
	return out;
}

/* Swaps the first two of three dimensions. */
static uint32_t swap(struct builder *b, uint32_t x, const uint32_t *dims)
{
	uint32_t out = tensor(b, 3, (uint32_t[]){ dims[1], dims[0], dims[2] });

	builder_operation(b, TRANSPOSE, 2, (uint32_t[]){ x, ints(b, 3, (int32_t[]){ 1, 0, 2 }) },
			  out);
	return out;
}

#define HEAD_SIZE (BLOCK_SIZE / BLOCK_HEADS)

static uint32_t heads(struct builder *b, uint32_t x)
{
	const uint32_t dims[] = { BLOCK_TOKENS, BLOCK_HEADS, HEAD_SIZE };
	uint32_t y = product(b, x, BLOCK_SIZE, BLOCK_SIZE, NONE);

	return swap(b, reshape(b, y, 3, (int32_t[]){ BLOCK_TOKENS, BLOCK_HEADS, HEAD_SIZE }), dims);
}

static uint32_t batch_matmul(struct builder *b, uint32_t x, uint32_t y, uint8_t transpose_y,
			     uint32_t columns)
{
	uint32_t out = tensor(b, 3, (uint32_t[]){ BLOCK_HEADS, BLOCK_TOKENS, columns });

	builder_operation(b, BATCH_MATMUL, 4, (uint32_t[]){ x, y, builder_bool(b, 0),
			  builder_bool(b, transpose_y) }, out);
	return out;
}

static uint32_t attention(struct builder *b, uint32_t x)
{
	uint32_t q = heads(b, x), k = heads(b, x), v = heads(b, x), at, weights;

	at = batch_matmul(b, q, k, 1, BLOCK_TOKENS);
	at = reshape(b, at, 2, (int32_t[]){ BLOCK_HEADS * BLOCK_TOKENS, BLOCK_TOKENS });
	weights = tensor(b, 2, (uint32_t[]){ BLOCK_HEADS * BLOCK_TOKENS, BLOCK_TOKENS });
	builder_operation(b, SOFTMAX, 2, (uint32_t[]){ at,
			  float_scalar(b, 1 / sqrtf(HEAD_SIZE)) }, weights);
	at = reshape(b, weights, 3, (int32_t[]){ BLOCK_HEADS, BLOCK_TOKENS, BLOCK_TOKENS });
	at = batch_matmul(b, at, v, 0, HEAD_SIZE);
	at = swap(b, at, (uint32_t[]){ BLOCK_HEADS, BLOCK_TOKENS, HEAD_SIZE });
	at = reshape(b, at, 2, (int32_t[]){ BLOCK_TOKENS, BLOCK_SIZE });
	return product(b, at, BLOCK_SIZE, BLOCK_SIZE, NONE);
}

static uint32_t add(struct builder *b, uint32_t x, uint32_t y)
{
	uint32_t out = tensor(b, 2, (uint32_t[]){ BLOCK_TOKENS, BLOCK_SIZE });

	builder_operation(b, ADD, 3, (uint32_t[]){ x, y, builder_int(b, NONE) }, out);
	return out;
}

struct subject subject_transformer(void)
{
	struct builder *b = builder_create();
	uint32_t x = tensor(b, 2, (uint32_t[]){ BLOCK_TOKENS, BLOCK_SIZE }), y;

	builder_input(b, x);
	x = add(b, x, attention(b, x));
	y = product(b, x, BLOCK_SIZE, BLOCK_HIDDEN, RELU);
	y = add(b, x, product(b, y, BLOCK_HIDDEN, BLOCK_SIZE, NONE));
	builder_output(b, y);
	return builder_subject(b, 1);
}
