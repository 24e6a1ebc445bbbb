/* SPDX-License-Identifier: MIT */
/*
 * Sequence networks as models.
 */
#include <math.h>

#include "graph.h"
#include "sequence.h"

/*
 * Scales of int8 tensors: STEP for numbers of about 1, SUM_STEP for sums of such numbers, and
 * SCORE_STEP for products of such numbers.
 */
#define STEP (1.0f / 32)
#define SUM_STEP (1.0f / 16)
#define SCORE_STEP (1.0f / 4)
#define MIXED_STEP (1.0f / 128)	/* scale of weighted means */

/*
 * Multiplies x by weights, and splits the product of shape [tokens, size] into [heads, tokens, size
 * / heads].
 */
static uint32_t heads(const struct graph *g, uint32_t x, const struct block *s)
{
	const uint32_t dims[] = { s->tokens, s->heads, s->size / s->heads };

	return graph_swap(g, graph_reshape(g, graph_product(g, x, s->size, GRAPH_NONE, STEP), 3,
					   dims));
}

static uint32_t attention(const struct graph *g, uint32_t x, const struct block *s)
{
	const uint32_t rows[] = { s->heads * s->tokens, s->tokens };
	const uint32_t scores[] = { s->heads, s->tokens, s->tokens };
	const uint32_t flat[] = { s->tokens, s->size };
	uint32_t q = heads(g, x, s), k = heads(g, x, s), v = heads(g, x, s), at;

	at = graph_reshape(g, graph_batch_product(g, q, k, true, SCORE_STEP), 2, rows);
	at = graph_softmax(g, at, 1 / sqrtf((float)(s->size / s->heads)));
	at = graph_batch_product(g, graph_reshape(g, at, 3, scores), v, false, MIXED_STEP);
	at = graph_reshape(g, graph_swap(g, at), 2, flat);
	return graph_product(g, at, s->size, GRAPH_NONE, STEP);
}

static uint32_t add(const struct graph *g, uint32_t x, uint32_t y)
{
	return graph_binary(g, NN_OP_ADD, x, y, SUM_STEP);
}

/* Normalises x in float32, and converts the result to the graph's type. */
static uint32_t normalize(const struct graph *g, uint32_t x)
{
	return graph_from_floats(g, graph_normalize(g, graph_to_floats(g, x)), STEP);
}

static uint32_t encoder_layer(const struct graph *g, uint32_t x, const struct block *s)
{
	uint32_t y;

	x = normalize(g, add(g, x, attention(g, x, s)));
	y = graph_gelu(g, graph_product(g, x, s->hidden, GRAPH_NONE, STEP));
	return normalize(g, add(g, x, graph_product(g, y, s->size, GRAPH_NONE, STEP)));
}

static uint32_t begin(struct graph *g, uint32_t rank, const uint32_t *dims)
{
	uint32_t x;

	g->b = builder_create();
	x = graph_tensor(g, rank, dims, STEP);
	builder_input(g->b, x);
	return x;
}

struct builder *sequence_encoder(enum net_type type, bool small)
{
	const struct block s = small ? (struct block){ 7, 24, 3, 40 } : ENCODER_BLOCK;
	struct graph g = { .type = type };
	uint32_t x = begin(&g, 2, (uint32_t[]){ s.tokens, s.size });

	for (int i = 0; i < (small ? 2 : ENCODER_LAYERS); i++)
		x = encoder_layer(&g, x, &s);
	builder_output(g.b, x);
	return g.b;
}

/*
 * In an int8 network only the products between SVDF layers are int8, because the NNAPI supports
 * SVDF only for float types.
 */
struct builder *sequence_kws_svdf(enum net_type type, bool small)
{
	const uint32_t units = small ? 19 : SVDF_UNITS, narrow = small ? 11 : SVDF_NARROW;
	struct graph g = { .type = type };
	uint32_t x = begin(&g, 2, (uint32_t[]){ 1, KWS_FEATURES });

	for (int i = 0; i < SVDF_LAYERS; i++) {
		x = graph_svdf(&g, graph_to_floats(&g, x), units, SVDF_MEMORY);
		x = graph_from_floats(&g, x, STEP);
		x = graph_product(&g, x, i + 1 < SVDF_LAYERS ? narrow : KWS_WORDS, GRAPH_NONE,
				  STEP);
	}
	builder_output(g.b, graph_softmax(&g, x, 1));
	return g.b;
}

/*
 * In an int8 network the LSTM layers are float32, and the products before and after the LSTM layers
 * are int8.
 */
struct builder *sequence_kws_lstm(enum net_type type, bool small)
{
	const uint32_t frames = small ? 5 : KWS_FRAMES, units = small ? 19 : KWS_UNITS;
	struct graph g = { .type = type };
	uint32_t x = begin(&g, 2, (uint32_t[]){ frames, KWS_FEATURES });
	const struct graph floats = { g.b, NET_F32 };

	x = graph_to_floats(&g, graph_product(&g, x, units, GRAPH_RELU, STEP));
	x = graph_reshape(&floats, x, 3, (uint32_t[]){ frames, 1, units });
	for (int i = 0; i < KWS_LAYERS; i++)
		x = graph_lstm(&floats, x, units);
	x = graph_reshape(&floats, x, 2, (uint32_t[]){ frames, units });
	x = graph_from_floats(&g, x, MIXED_STEP);
	builder_output(g.b, graph_softmax(&g, graph_product(&g, x, KWS_WORDS, GRAPH_NONE,
							    STEP), 1));
	return g.b;
}

struct subject subject_sequence(sequence_fn *make, enum net_type type, uint32_t threads)
{
	return builder_subject(make(type, false), threads);
}

struct subject subject_lstm(void)
{
	struct graph g = { .type = NET_F32 };
	uint32_t x = begin(&g, 3, (uint32_t[]){ LSTM_STEPS, 1, LSTM_UNITS });

	for (uint32_t i = 0; i < LSTM_LAYERS; i++)
		x = graph_lstm(&g, x, LSTM_UNITS);
	builder_output(g.b, x);
	return builder_subject(g.b, 1);
}

struct subject subject_transformer(void)
{
	const struct block s = TRANSFORMER_BLOCK;
	struct graph g = { .type = NET_F32 };
	uint32_t x = begin(&g, 2, (uint32_t[]){ s.tokens, s.size }), y;

	x = add(&g, x, attention(&g, x, &s));
	y = graph_product(&g, x, s.hidden, GRAPH_RELU, 0);
	builder_output(g.b, add(&g, x, graph_product(&g, y, s.size, GRAPH_NONE, 0)));
	return builder_subject(g.b, 1);
}
