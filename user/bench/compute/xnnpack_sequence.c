/* SPDX-License-Identifier: MIT */
/*
 * A recurrent and an attention network as calls of XNNPACK's operators. It has
 * neither a cell of an LSTM nor a product of two tensors: a cell is here its
 * products and sigmoids alone, and attention multiplies with constants of the
 * same size. Both favour the peer a little.
 */
#include <float.h>
#include <stdlib.h>

#include "sequence.h"
#include "subject.h"

#ifdef NN_BENCH_XNNPACK

#include "xnnpack_peer.h"

#define MAX_CALLS 200
#define MAX_OPERATORS 16
#define BUFFER_FLOATS ((size_t)BLOCK_TOKENS * BLOCK_HIDDEN)

/* Operators, and the order in which they are called. */
struct calls {
	xnn_operator_t operators[MAX_OPERATORS];
	float *weights[2 * MAX_OPERATORS];
	float *in;
	float *out;
	uint32_t num_operators;
	uint32_t num_weights;
	uint32_t num_calls;
	uint8_t order[MAX_CALLS];
};

static struct calls *begin(void)
{
	struct calls *c = must_alloc(sizeof(*c));

	xnn_must(xnn_initialize(NULL), "initialize");
	c->in = must_alloc(BUFFER_FLOATS * sizeof(float));
	c->out = must_alloc(BUFFER_FLOATS * sizeof(float));
	fill_random(NET_F32, c->in, BUFFER_FLOATS);
	return c;
}

static void call(struct calls *c, uint32_t operator)
{
	c->order[c->num_calls++] = (uint8_t)operator;
}

static float *random_weights(struct calls *c, size_t count)
{
	float *weights = must_alloc(count * sizeof(*weights));

	fill_random(NET_F32, weights, count);
	c->weights[c->num_weights++] = weights;
	return weights;
}

#if NN_BENCH_XNNPACK >= 2024

static void make_product(struct calls *c, size_t rows, size_t depth, size_t units, float low,
			 xnn_operator_t *o)
{
	xnn_must(xnn_create_fully_connected_nc_f32(depth, units, depth, units,
						   random_weights(c, units * depth),
						   random_weights(c, units), low, FLT_MAX, 0, NULL,
						   NULL, o), "product");
	xnn_must(xnn_reshape_fully_connected_nc_f32(*o, rows, NULL), "reshape");
	xnn_must(xnn_setup_fully_connected_nc_f32(*o, c->in, c->out), "set up");
}

static void make_sigmoid(struct calls *c, size_t channels, xnn_operator_t *o)
{
	xnn_must(xnn_create_unary_elementwise_nc(xnn_unary_sigmoid, xnn_datatype_fp32,
						 xnn_datatype_fp32, NULL, NULL, NULL, 0, o),
		 "sigmoid");
	xnn_must(xnn_reshape_unary_elementwise_nc(*o, 1, channels, channels, channels, NULL),
		 "reshape");
	xnn_must(xnn_setup_unary_elementwise_nc(*o, c->in, c->out), "set up");
}

static void make_softmax(struct calls *c, size_t rows, size_t channels, xnn_operator_t *o)
{
	xnn_must(xnn_create_softmax_nc_f32(0, o), "softmax");
	xnn_must(xnn_reshape_softmax_nc_f32(*o, channels, channels, channels, rows, NULL),
		 "reshape");
	xnn_must(xnn_setup_softmax_nc_f32(*o, c->in, c->out), "set up");
}

#else

static void make_product(struct calls *c, size_t rows, size_t depth, size_t units, float low,
			 xnn_operator_t *o)
{
	xnn_must(xnn_create_fully_connected_nc_f32(depth, units, depth, units,
						   random_weights(c, units * depth),
						   random_weights(c, units), low, FLT_MAX, 0, o),
		 "product");
	xnn_must(xnn_setup_fully_connected_nc_f32(*o, rows, c->in, c->out, NULL), "set up");
}

static void make_sigmoid(struct calls *c, size_t channels, xnn_operator_t *o)
{
	xnn_must(xnn_create_sigmoid_nc_f32(channels, channels, channels, 0, o), "sigmoid");
	xnn_must(xnn_setup_sigmoid_nc_f32(*o, 1, c->in, c->out, NULL), "set up");
}

static void make_softmax(struct calls *c, size_t rows, size_t channels, xnn_operator_t *o)
{
	xnn_must(xnn_create_softmax_nc_f32(channels, channels, channels, 0, o), "softmax");
	xnn_must(xnn_setup_softmax_nc_f32(*o, rows, c->in, c->out, NULL), "set up");
}

#endif

static uint32_t product(struct calls *c, size_t rows, size_t depth, size_t units, float low)
{
	make_product(c, rows, depth, units, low, &c->operators[c->num_operators]);
	return c->num_operators++;
}

static uint32_t sigmoid(struct calls *c, size_t channels)
{
	make_sigmoid(c, channels, &c->operators[c->num_operators]);
	return c->num_operators++;
}

static uint32_t softmax(struct calls *c, size_t rows, size_t channels)
{
	make_softmax(c, rows, channels, &c->operators[c->num_operators]);
	return c->num_operators++;
}

static void run(void *state)
{
	struct calls *c = state;

	for (uint32_t i = 0; i < c->num_calls; i++)
		xnn_must(xnn_run_operator(c->operators[c->order[i]], NULL), "run");
}

static void free_calls(void *state)
{
	struct calls *c = state;

	for (uint32_t i = 0; i < c->num_operators; i++)
		xnn_delete_operator(c->operators[i]);
	for (uint32_t i = 0; i < c->num_weights; i++)
		free(c->weights[i]);
	free(c->in);
	free(c->out);
	free(c);
}

struct subject subject_lstm_xnnpack(void)
{
	struct calls *c = begin();

	for (uint32_t i = 0; i < LSTM_LAYERS; i++) {
		uint32_t inputs = product(c, LSTM_STEPS, LSTM_UNITS, 4 * LSTM_UNITS, -FLT_MAX);
		uint32_t state = product(c, 1, LSTM_UNITS, 4 * LSTM_UNITS, -FLT_MAX);
		uint32_t gates = sigmoid(c, 4 * LSTM_UNITS), cell = sigmoid(c, LSTM_UNITS);

		call(c, inputs);
		for (uint32_t step = 0; step < LSTM_STEPS; step++) {
			call(c, state);
			call(c, gates);
			call(c, cell);
		}
	}
	return (struct subject){ c, run, free_calls };
}

struct subject subject_transformer_xnnpack(void)
{
	const size_t head = BLOCK_SIZE / BLOCK_HEADS, rows = BLOCK_HEADS * BLOCK_TOKENS;
	struct calls *c = begin();

	for (uint32_t i = 0; i < 3; i++)
		call(c, product(c, BLOCK_TOKENS, BLOCK_SIZE, BLOCK_SIZE, -FLT_MAX));
	call(c, product(c, rows, head, BLOCK_TOKENS, -FLT_MAX));
	call(c, softmax(c, rows, BLOCK_TOKENS));
	call(c, product(c, rows, BLOCK_TOKENS, head, -FLT_MAX));
	call(c, product(c, BLOCK_TOKENS, BLOCK_SIZE, BLOCK_SIZE, -FLT_MAX));
	call(c, product(c, BLOCK_TOKENS, BLOCK_SIZE, BLOCK_HIDDEN, 0));
	call(c, product(c, BLOCK_TOKENS, BLOCK_HIDDEN, BLOCK_SIZE, -FLT_MAX));
	return (struct subject){ c, run, free_calls };
}

#else

struct subject subject_lstm_xnnpack(void)
{
	return (struct subject){ NULL, NULL, NULL };
}

struct subject subject_transformer_xnnpack(void)
{
	return (struct subject){ NULL, NULL, NULL };
}

#endif
