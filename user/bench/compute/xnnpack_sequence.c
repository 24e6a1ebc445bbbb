/* SPDX-License-Identifier: MIT */
/*
 * Sequence networks as calls of XNNPACK's operators. XNNPACK has no recurrent layers, so an LSTM
 * cell of this file consists only of products and sigmoids, and an SVDF layer only of products.
 * XNNPACK of 2022 has neither a product of two tensors nor the mean of a row, so attention
 * multiplies by constants, and a mean is a product with a column. The networks of this file have no
 * transposes. XNNPACK seems a little faster than with complete networks, because this file omits
 * and replaces operations.
 */
#include "sequence.h"
#include "subject.h"

#ifdef NN_BENCH_XNNPACK

#include "xnnpack_calls.h"

static void lstm(struct calls *c, uint32_t steps, uint32_t size, uint32_t units)
{
	uint32_t inputs = calls_product(c, NET_F32, steps, size, 4 * units);
	uint32_t state = calls_product(c, NET_F32, 1, units, 4 * units);
	uint32_t gates = calls_sigmoid(c, NET_F32, 4 * units);
	uint32_t cell = calls_sigmoid(c, NET_F32, units);

	calls_call(c, inputs);
	for (uint32_t step = 0; step < steps; step++) {
		calls_call(c, state);
		calls_call(c, gates);
		calls_call(c, cell);
	}
}

struct subject subject_lstm_xnnpack(void)
{
	struct calls *c = calls_begin((size_t)LSTM_STEPS * 4 * LSTM_UNITS, 1);

	for (uint32_t i = 0; i < LSTM_LAYERS; i++)
		lstm(c, LSTM_STEPS, LSTM_UNITS, LSTM_UNITS);
	return calls_end(c);
}

static void product(struct calls *c, enum net_type type, size_t rows, size_t depth, size_t units)
{
	calls_call(c, calls_product(c, type, rows, depth, units));
}

static void attention(struct calls *c, enum net_type type, const struct block *s)
{
	const size_t head = s->size / s->heads, rows = (size_t)s->heads * s->tokens;

	for (uint32_t i = 0; i < 3; i++)
		product(c, type, s->tokens, s->size, s->size);
	product(c, type, rows, head, s->tokens);
	calls_call(c, calls_softmax(c, type, rows, s->tokens));
	product(c, type, rows, s->tokens, head);
	product(c, type, s->tokens, s->size, s->size);
}

static size_t elements_of(const struct block *s)
{
	size_t scores = (size_t)s->heads * s->tokens * s->tokens;
	size_t hidden = (size_t)s->tokens * s->hidden;

	return scores > hidden ? scores : hidden;
}

struct subject subject_transformer_xnnpack(void)
{
	const struct block s = TRANSFORMER_BLOCK;
	struct calls *c = calls_begin(elements_of(&s), 1);

	attention(c, NET_F32, &s);
	product(c, NET_F32, s.tokens, s.size, s.hidden);
	product(c, NET_F32, s.tokens, s.hidden, s.size);
	return calls_end(c);
}

static void binary(struct calls *c, enum net_type type, enum calls_binary operation, size_t rows,
		   size_t columns, size_t other_rows, size_t other_columns)
{
	calls_call(c, calls_binary(c, type, operation, rows, columns, other_rows, other_columns));
}

static void gelu(struct calls *c, enum net_type type, size_t rows, size_t columns)
{
	binary(c, type, CALLS_MUL, rows, columns, 1, 1);
	calls_call(c, calls_sigmoid(c, type, rows * columns));
	binary(c, type, CALLS_MUL, rows, columns, rows, columns);
}

static void convert(struct calls *c, enum net_type to, enum net_type type, size_t count)
{
	if (type != NET_F32)
		calls_call(c, calls_convert(c, to, count));
}

static void add_and_normalize(struct calls *c, enum net_type type, size_t rows, size_t columns)
{
	binary(c, type, CALLS_ADD, rows, columns, rows, columns);
	convert(c, NET_F32, type, rows * columns);
	product(c, NET_F32, rows, columns, 1);
	binary(c, NET_F32, CALLS_ADD, rows, columns, rows, 1);
	binary(c, NET_F32, CALLS_MUL, rows, columns, rows, columns);
	product(c, NET_F32, rows, columns, 1);
	binary(c, NET_F32, CALLS_MUL, rows, columns, rows, 1);
	binary(c, NET_F32, CALLS_MUL, rows, columns, 1, columns);
	binary(c, NET_F32, CALLS_ADD, rows, columns, 1, columns);
	convert(c, NET_QC8, type, rows * columns);
}

static struct subject make_encoder(enum net_type type, uint32_t threads)
{
	const struct block s = ENCODER_BLOCK;
	struct calls *c = calls_begin(elements_of(&s), threads);

	for (int i = 0; i < ENCODER_LAYERS; i++) {
		attention(c, type, &s);
		add_and_normalize(c, type, s.tokens, s.size);
		product(c, type, s.tokens, s.size, s.hidden);
		gelu(c, type, s.tokens, s.hidden);
		product(c, type, s.tokens, s.hidden, s.size);
		add_and_normalize(c, type, s.tokens, s.size);
	}
	return calls_end(c);
}

static struct subject make_kws_svdf(enum net_type type, uint32_t threads)
{
	struct calls *c = calls_begin((size_t)SVDF_UNITS * SVDF_MEMORY, threads);

	for (int i = 0; i < SVDF_LAYERS; i++) {
		convert(c, NET_F32, type, i ? SVDF_NARROW : KWS_FEATURES);
		product(c, NET_F32, 1, i ? SVDF_NARROW : KWS_FEATURES, SVDF_UNITS);
		binary(c, NET_F32, CALLS_MUL, SVDF_UNITS, SVDF_MEMORY, SVDF_UNITS, SVDF_MEMORY);
		product(c, NET_F32, SVDF_UNITS, SVDF_MEMORY, 1);
		convert(c, NET_QC8, type, SVDF_UNITS);
		product(c, type, 1, SVDF_UNITS, i + 1 < SVDF_LAYERS ? SVDF_NARROW : KWS_WORDS);
	}
	calls_call(c, calls_softmax(c, type, 1, KWS_WORDS));
	return calls_end(c);
}

static struct subject make_kws_lstm(enum net_type type, uint32_t threads)
{
	struct calls *c = calls_begin((size_t)KWS_FRAMES * 4 * KWS_UNITS, threads);

	product(c, type, KWS_FRAMES, KWS_FEATURES, KWS_UNITS);
	convert(c, NET_F32, type, (size_t)KWS_FRAMES * KWS_UNITS);
	for (int i = 0; i < KWS_LAYERS; i++)
		lstm(c, KWS_FRAMES, KWS_UNITS, KWS_UNITS);
	convert(c, NET_QC8, type, (size_t)KWS_FRAMES * KWS_UNITS);
	product(c, type, KWS_FRAMES, KWS_UNITS, KWS_WORDS);
	calls_call(c, calls_softmax(c, type, KWS_FRAMES, KWS_WORDS));
	return calls_end(c);
}

struct subject subject_sequence_xnnpack(sequence_fn *of, enum net_type type, uint32_t threads)
{
	return of == sequence_encoder ? make_encoder(type, threads) :
	       of == sequence_kws_svdf ? make_kws_svdf(type, threads) :
					     make_kws_lstm(type, threads);
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

struct subject subject_sequence_xnnpack(sequence_fn *of, enum net_type type, uint32_t threads)
{
	(void)of;
	(void)type;
	(void)threads;
	return (struct subject){ NULL, NULL, NULL };
}

#endif
