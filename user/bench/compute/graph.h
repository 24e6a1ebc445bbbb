/* SPDX-License-Identifier: MIT */
/* Adds operations on sequences of float32 or int8 to a model. */
#ifndef NN_BENCH_GRAPH_H
#define NN_BENCH_GRAPH_H

#include "builder.h"

/* Values of the NNAPI's fused activations. */
enum { GRAPH_NONE = 0, GRAPH_RELU = 1 };

/*
 * A model that is being built; tensors are float32 in a graph of the type NET_F32, and int8 with
 * zero point 0 in a graph of the type NET_QC8.
 */
struct graph {
	struct builder *b;
	enum net_type type;
};

/* Adds a tensor without a value; only an int8 graph uses `scale`. */
uint32_t graph_tensor(const struct graph *g, uint32_t rank, const uint32_t *dims, float scale);

/*
 * graph_floats() adds a constant tensor of random numbers in [middle - reach, middle + reach];
 * graph_float() adds a scalar.
 */
uint32_t graph_floats(const struct graph *g, uint32_t rank, const uint32_t *dims, float middle,
		      float reach);
uint32_t graph_float(const struct graph *g, float value);
uint32_t graph_omitted(const struct graph *g);

/*
 * Multiplies x of the shape [rows, depth] by random weights and adds a bias; the result has the
 * shape [rows, units]. The weights are scaled so that the results are about as large as the numbers
 * of x.
 */
uint32_t graph_product(const struct graph *g, uint32_t x, uint32_t units, int32_t activation,
		       float scale);

/*
 * Multiplies x of the shape [batches, rows, depth] by y of the shape [batches, columns, depth] or
 * [batches, depth, columns].
 */
uint32_t graph_batch_product(const struct graph *g, uint32_t x, uint32_t y, bool transpose_y,
			     float scale);

/* Adds an ADD, SUB or MUL whose result has the shape of x. */
uint32_t graph_binary(const struct graph *g, int32_t code, uint32_t x, uint32_t y, float scale);
/* Adds the operations of x * logistic(1.702 * x), which is nearly GELU. */
uint32_t graph_gelu(const struct graph *g, uint32_t x);
uint32_t graph_softmax(const struct graph *g, uint32_t x, float beta);
uint32_t graph_reshape(const struct graph *g, uint32_t x, uint32_t rank, const uint32_t *dims);

/* Adds a transpose that swaps the first two of x's three axes. */
uint32_t graph_swap(const struct graph *g, uint32_t x);

/*
 * graph_to_floats() converts from the graph's type to float32, graph_from_floats() from float32 to
 * the graph's type. In a float32 graph graph_to_floats() and graph_from_floats() return x itself.
 */
uint32_t graph_to_floats(const struct graph *g, uint32_t x);
uint32_t graph_from_floats(const struct graph *g, uint32_t x, float scale);

/*
 * Normalises each float32 row by the row's mean and standard deviation, then applies factors and
 * offsets.
 */
uint32_t graph_normalize(const struct graph *g, uint32_t x);

/*
 * Adds a float32 LSTM layer from [steps, 1, size] to [steps, 1, units]. The initial state of the
 * LSTM layer is a constant.
 */
uint32_t graph_lstm(const struct graph *g, uint32_t x, uint32_t units);

/*
 * Adds a float32 layer from [1, size] to [1, units], whose state is an input and an output of the
 * model.
 */
uint32_t graph_svdf(const struct graph *g, uint32_t x, uint32_t units, uint32_t memory);

#endif /* NN_BENCH_GRAPH_H */
