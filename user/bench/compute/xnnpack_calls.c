/* SPDX-License-Identifier: MIT */
/*
 * A network as calls of XNNPACK's operators.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#ifdef NN_BENCH_XNNPACK

#include "xnnpack_calls.h"
#include "xnnpack_peer.h"

#define MAX_CALLS 400
#define MAX_OPERATORS 200

/* Quantisation parameters that all operators accept. */
#define SCALE 0.05f
#define WEIGHTS_SCALE 0.01f
#define PART_SCALE (1.0f / 256)		/* output scale of softmax and sigmoid */

struct calls {
	xnn_operator_t operators[MAX_OPERATORS];
	void *weights[2 * MAX_OPERATORS];
	pthreadpool_t pool;
	void *in;
	void *other;
	void *out;
	uint32_t num_operators;
	uint32_t num_weights;
	uint32_t num_calls;
	uint8_t order[MAX_CALLS];
};

struct calls *calls_begin(size_t elements, uint32_t threads)
{
	struct calls *c = must_alloc(sizeof(*c));

	xnn_must(xnn_initialize(NULL), "initialize");
	c->pool = threads > 1 ? pthreadpool_create(threads) : NULL;
	c->in = must_alloc(elements * sizeof(float));
	c->other = must_alloc(elements * sizeof(float));
	c->out = must_alloc(elements * sizeof(float));
	fill_random(NET_F32, c->in, elements);
	fill_random(NET_F32, c->other, elements);
	return c;
}

void calls_call(struct calls *c, uint32_t operator)
{
	if (c->num_calls == MAX_CALLS)
		abort();
	c->order[c->num_calls++] = (uint8_t)operator;
}

static void *random_weights(struct calls *c, enum net_type type, size_t count)
{
	void *weights = must_alloc(count * (type == NET_F32 ? sizeof(float) : 1));

	fill_random(type, weights, count);
	c->weights[c->num_weights++] = weights;
	return weights;
}

/* A bias of zeros. */
static void *no_bias(struct calls *c, size_t count)
{
	return c->weights[c->num_weights++] = must_alloc(count * sizeof(int32_t));
}

static xnn_operator_t *next(struct calls *c)
{
	if (c->num_operators == MAX_OPERATORS)
		abort();
	return &c->operators[c->num_operators++];
}

#if NN_BENCH_XNNPACK >= 2024

static const struct xnn_quantization_params bytes = { 0, SCALE };
static const struct xnn_quantization_params parts = { -128, PART_SCALE };

static enum xnn_datatype datatype(enum net_type type)
{
	return type == NET_F32 ? xnn_datatype_fp32 : xnn_datatype_qint8;
}

uint32_t calls_product(struct calls *c, enum net_type type, size_t rows, size_t depth, size_t units)
{
	void *weights = random_weights(c, type, units * depth), *bias = no_bias(c, units);
	xnn_operator_t *o = next(c);

	if (type == NET_F32) {
		xnn_must(xnn_create_fully_connected_nc_f32(depth, units, depth, units, weights,
							   bias, -FLT_MAX, FLT_MAX, 0, NULL, NULL,
							   o), "product");
		xnn_must(xnn_reshape_fully_connected_nc_f32(*o, rows, c->pool), "reshape");
		xnn_must(xnn_setup_fully_connected_nc_f32(*o, c->in, c->out), "set up");
	} else {
		xnn_must(xnn_create_fully_connected_nc_qs8(depth, units, depth, units, 0, SCALE,
							   WEIGHTS_SCALE, weights, bias, 0, SCALE,
							   -128, 127, 0, NULL, NULL, o),
			 "product of bytes");
		xnn_must(xnn_reshape_fully_connected_nc_qs8(*o, rows, c->pool), "reshape");
		xnn_must(xnn_setup_fully_connected_nc_qs8(*o, c->in, c->out), "set up");
	}
	return c->num_operators - 1;
}

static uint32_t unary(struct calls *c, enum xnn_unary_operator operator, enum net_type from,
		      enum net_type to, const struct xnn_quantization_params *of_out, size_t count)
{
	xnn_operator_t *o = next(c);

	xnn_must(xnn_create_unary_elementwise_nc(operator, datatype(from), datatype(to), NULL,
						 &bytes, of_out, 0, o), "unary");
	xnn_must(xnn_reshape_unary_elementwise_nc(*o, 1, count, count, count, c->pool), "reshape");
	xnn_must(xnn_setup_unary_elementwise_nc(*o, c->in, c->out), "set up");
	return c->num_operators - 1;
}

uint32_t calls_sigmoid(struct calls *c, enum net_type type, size_t count)
{
	return unary(c, xnn_unary_sigmoid, type, type, &parts, count);
}

uint32_t calls_convert(struct calls *c, enum net_type to, size_t count)
{
	return unary(c, xnn_unary_convert, to == NET_F32 ? NET_QC8 : NET_F32, to, &bytes, count);
}

uint32_t calls_softmax(struct calls *c, enum net_type type, size_t rows, size_t columns)
{
	xnn_operator_t *o = next(c);

	if (type == NET_F32) {
		xnn_must(xnn_create_softmax_nc_f32(0, o), "softmax");
		xnn_must(xnn_reshape_softmax_nc_f32(*o, columns, columns, columns, rows, c->pool),
			 "reshape");
		xnn_must(xnn_setup_softmax_nc_f32(*o, c->in, c->out), "set up");
	} else {
		xnn_must(xnn_create_softmax_nc_qu8(SCALE, 0, PART_SCALE, 0, o), "softmax");
		xnn_must(xnn_reshape_softmax_nc_qu8(*o, columns, columns, columns, rows, c->pool),
			 "reshape");
		xnn_must(xnn_setup_softmax_nc_qu8(*o, c->in, c->out), "set up");
	}
	return c->num_operators - 1;
}

uint32_t calls_binary(struct calls *c, enum net_type type, enum calls_binary operation, size_t rows,
		      size_t columns, size_t other_rows, size_t other_columns)
{
	const size_t dims[] = { rows, columns }, other[] = { other_rows, other_columns };
	xnn_operator_t *o = next(c);

	xnn_must(xnn_create_binary_elementwise_nd(operation == CALLS_ADD ? xnn_binary_add :
						  xnn_binary_multiply, datatype(type), &bytes,
						  &bytes, &bytes, 0, o), "binary");
	xnn_must(xnn_reshape_binary_elementwise_nd(*o, 2, dims, 2, other, c->pool), "reshape");
	xnn_must(xnn_setup_binary_elementwise_nd(*o, c->in, c->other, c->out), "set up");
	return c->num_operators - 1;
}

#else

uint32_t calls_product(struct calls *c, enum net_type type, size_t rows, size_t depth, size_t units)
{
	void *weights = random_weights(c, type, units * depth), *bias = no_bias(c, units);
	xnn_operator_t *o = next(c);

	if (type == NET_F32) {
		xnn_must(xnn_create_fully_connected_nc_f32(depth, units, depth, units, weights,
							   bias, -FLT_MAX, FLT_MAX, 0, o),
			 "product");
		xnn_must(xnn_setup_fully_connected_nc_f32(*o, rows, c->in, c->out, c->pool),
			 "set up");
	} else {
		xnn_must(xnn_create_fully_connected_nc_qs8(depth, units, depth, units, 0, SCALE,
							   WEIGHTS_SCALE, weights, bias, 0, SCALE,
							   -128, 127, 0, o), "product of bytes");
		xnn_must(xnn_setup_fully_connected_nc_qs8(*o, rows, c->in, c->out, c->pool),
			 "set up");
	}
	return c->num_operators - 1;
}

uint32_t calls_sigmoid(struct calls *c, enum net_type type, size_t count)
{
	xnn_operator_t *o = next(c);

	if (type == NET_F32) {
		xnn_must(xnn_create_sigmoid_nc_f32(count, count, count, 0, o), "sigmoid");
		xnn_must(xnn_setup_sigmoid_nc_f32(*o, 1, c->in, c->out, c->pool), "set up");
	} else {
		xnn_must(xnn_create_sigmoid_nc_qs8(count, count, count, 0, SCALE, -128, PART_SCALE,
						   -128, 127, 0, o), "sigmoid of bytes");
		xnn_must(xnn_setup_sigmoid_nc_qs8(*o, 1, c->in, c->out, c->pool), "set up");
	}
	return c->num_operators - 1;
}

uint32_t calls_convert(struct calls *c, enum net_type to, size_t count)
{
	xnn_operator_t *o = next(c);

	if (to == NET_F32) {
		xnn_must(xnn_create_convert_nc_qs8_f32(count, count, count, SCALE, 0, 0, o),
			 "convert");
		xnn_must(xnn_setup_convert_nc_qs8_f32(*o, 1, c->in, c->out, c->pool), "set up");
	} else {
		xnn_must(xnn_create_convert_nc_f32_qs8(count, count, count, SCALE, 0, -128, 127, 0,
						       o), "convert");
		xnn_must(xnn_setup_convert_nc_f32_qs8(*o, 1, c->in, c->out, c->pool), "set up");
	}
	return c->num_operators - 1;
}

uint32_t calls_softmax(struct calls *c, enum net_type type, size_t rows, size_t columns)
{
	xnn_operator_t *o = next(c);

	if (type == NET_F32) {
		xnn_must(xnn_create_softmax_nc_f32(columns, columns, columns, 0, o), "softmax");
		xnn_must(xnn_setup_softmax_nc_f32(*o, rows, c->in, c->out, c->pool), "set up");
	} else {
		xnn_must(xnn_create_softmax_nc_qu8(columns, columns, columns, SCALE, 0, PART_SCALE,
						   0, o), "softmax of bytes");
		xnn_must(xnn_setup_softmax_nc_qu8(*o, rows, c->in, c->out, c->pool), "set up");
	}
	return c->num_operators - 1;
}

static void binary_f32(struct calls *c, enum calls_binary operation, const size_t *dims,
		       const size_t *other, xnn_operator_t *o)
{
	if (operation == CALLS_ADD) {
		xnn_must(xnn_create_add_nd_f32(-FLT_MAX, FLT_MAX, 0, o), "add");
		xnn_must(xnn_setup_add_nd_f32(*o, 2, dims, 2, other, c->in, c->other, c->out,
					      c->pool), "set up");
	} else {
		xnn_must(xnn_create_multiply_nd_f32(-FLT_MAX, FLT_MAX, 0, o), "multiply");
		xnn_must(xnn_setup_multiply_nd_f32(*o, 2, dims, 2, other, c->in, c->other, c->out,
						   c->pool), "set up");
	}
}

static void binary_qs8(struct calls *c, enum calls_binary operation, const size_t *dims,
		       const size_t *other, xnn_operator_t *o)
{
	if (operation == CALLS_ADD) {
		xnn_must(xnn_create_add_nd_qs8(0, SCALE, 0, SCALE, 0, SCALE, -128, 127, 0, o),
			 "add of bytes");
		xnn_must(xnn_setup_add_nd_qs8(*o, 2, dims, 2, other, c->in, c->other, c->out,
					      c->pool), "set up");
	} else {
		xnn_must(xnn_create_multiply_nd_qs8(0, SCALE, 0, SCALE, 0, SCALE, -128, 127, 0, o),
			 "multiply of bytes");
		xnn_must(xnn_setup_multiply_nd_qs8(*o, 2, dims, 2, other, c->in, c->other, c->out,
						   c->pool), "set up");
	}
}

uint32_t calls_binary(struct calls *c, enum net_type type, enum calls_binary operation, size_t rows,
		      size_t columns, size_t other_rows, size_t other_columns)
{
	const size_t dims[] = { rows, columns }, other[] = { other_rows, other_columns };

	if (type == NET_F32)
		binary_f32(c, operation, dims, other, next(c));
	else
		binary_qs8(c, operation, dims, other, next(c));
	return c->num_operators - 1;
}

#endif

static void run(void *state)
{
	struct calls *c = state;

	for (uint32_t i = 0; i < c->num_calls; i++)
		xnn_must(xnn_run_operator(c->operators[c->order[i]], c->pool), "run");
}

static void free_calls(void *state)
{
	struct calls *c = state;

	for (uint32_t i = 0; i < c->num_operators; i++)
		xnn_delete_operator(c->operators[i]);
	for (uint32_t i = 0; i < c->num_weights; i++)
		free(c->weights[i]);
	pthreadpool_destroy(c->pool);
	free(c->in);
	free(c->other);
	free(c->out);
	free(c);
}

struct subject calls_end(struct calls *c)
{
	return (struct subject){ c, run, free_calls };
}

#endif
