/* SPDX-License-Identifier: MIT */
/*
 * Operations on sequences of floats, or of signed bytes, as parts of a model.
 */
#ifndef NN_BENCH_GRAPH_H
#define NN_BENCH_GRAPH_H

#include "builder.h"

/* Values of the NNAPI's fused activations. */
enum { GRAPH_NONE = 0, GRAPH_RELU = 1 };

/* A part of a model: NET_F32 is of floats, NET_QC8 of signed bytes whose zero point is 0. */
struct graph {
	struct builder *b;
	enum net_type type;
};

/* A tensor without a value; `scale` is what a byte's step means. */
uint32_t graph_tensor(const struct graph *g, uint32_t rank, const uint32_t *dims, float scale);

/* Adds constants: numbers around `middle`, at most `reach` away, and scalars. */
uint32_t graph_floats(const struct graph *g, uint32_t rank, const uint32_t *dims, float middle,
		      float reach);
uint32_t graph_float(const struct graph *g, float value);
uint32_t graph_omitted(const struct graph *g);

/*
 * Adds a product of [rows, depth] and random weights, with a bias: [rows, units]. The weights are
 * so large that numbers keep their magnitude.
 */
uint32_t graph_product(const struct graph *g, uint32_t x, uint32_t units, int32_t activation,
		       float scale);

/* Multiplies [batches, rows, depth] by [batches, columns, depth] or [batches, depth, columns]. */
uint32_t graph_batch_product(const struct graph *g, uint32_t x, uint32_t y, bool transpose_y,
			     float scale);

/* ADD, SUB or MUL, with the shape of x. */
uint32_t graph_binary(const struct graph *g, int32_t code, uint32_t x, uint32_t y, float scale);
/* x * logistic(1.702 * x), which is nearly GELU. */
uint32_t graph_gelu(const struct graph *g, uint32_t x);
uint32_t graph_softmax(const struct graph *g, uint32_t x, float beta);
uint32_t graph_reshape(const struct graph *g, uint32_t x, uint32_t rank, const uint32_t *dims);

/* Swaps the first two of three axes. */
uint32_t graph_swap(const struct graph *g, uint32_t x);

/* Convert from the graph's type to floats, and back. Return x itself in a graph of floats. */
uint32_t graph_to_floats(const struct graph *g, uint32_t x);
uint32_t graph_from_floats(const struct graph *g, uint32_t x, float scale);

/* Normalises each row of floats by mean and deviation, then applies factors and offsets. */
uint32_t graph_normalize(const struct graph *g, uint32_t x);

/*
 * A layer of a recurrent network of floats, [steps, 1, units] of [steps, 1, size]. Its state at
 * first is a constant.
 */
uint32_t graph_lstm(const struct graph *g, uint32_t x, uint32_t units);

/*
 * A layer of floats, [1, units] of [1, size], with a memory of its last outputs: an input and an
 * output of the model.
 */
uint32_t graph_svdf(const struct graph *g, uint32_t x, uint32_t units, uint32_t memory);

#endif /* NN_BENCH_GRAPH_H */
