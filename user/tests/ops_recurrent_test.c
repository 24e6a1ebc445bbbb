/* SPDX-License-Identifier: MIT */
/*
 * Tests recurrent, hashing and sampling operations: signatures, results, and refused inputs. The
 * results are compared with the operations' equations in double precision.
 */
#include <math.h>

#include "op_case.h"
#include "model/fingerprint.h"
#include "ops/lstm_cell.h"
#include "tests/heap_blocks.h"

#define LSTM_WEIGHTS "f2 f2 f2 f2 f2 f2 f2 f2 f1 f1 f1 f1 f1 f1 f1 f2 f1 "

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "RNN", "f2 f2 f2 f1 f2 I > f2 f2", true },
		{ "RNN", "h2 h2 h2 h1 h2 I > h2 h2", true },
		{ "RNN", "u2 u2 u2 u1 u2 I > u2 u2", false },
		{ "RNN", "f2 f2 f2 f1 f2 > f2 f2", false },
		{ "RNN", "f2 f2 f2 f2 f2 I > f2 f2", false },
		{ "RNN", "f2 f2 f2 f1 f2 I > f2", false },
		{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f3 f2 f2 f1 f2 I I > f3", true },
		{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f3 f2 f2 f1 f2 I I > f3 f2", true },
		{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f3 f2 f2 f1 f2 I I > f2", true },
		{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f3 f2 f2 f1 f2 I B > f3", false },
		{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f2 f2 f2 f1 f2 I I > f3", false },
		{ "BIDIRECTIONAL_SEQUENCE_RNN",
		  "f3 f2 f2 f1 f2 f2 f2 f1 f2 f3 f2 f2 I B B > f3 f3", true },
		{ "BIDIRECTIONAL_SEQUENCE_RNN",
		  "f3 f2 f2 f1 f2 f2 f2 f1 f2 f3 f2 f2 I B > f3 f3", false },
		{ "SVDF", "f2 f2 f2 f1 f2 I I > f2 f2", true },
		{ "SVDF", "f2 f2 f2 f1 f2 I F > f2 f2", false },
		{ "LSTM", "f2 " LSTM_WEIGHTS "f2 f2 I F F > f2 f2 f2 f2", true },
		{ "LSTM", "f2 " LSTM_WEIGHTS "f2 f2 I F F f1 f1 f1 f1 > f2 f2 f2 f2", true },
		{ "LSTM", "f2 " LSTM_WEIGHTS "f2 f2 I F F f1 f1 > f2 f2 f2 f2", false },
		{ "LSTM", "f2 " LSTM_WEIGHTS "f2 f2 I F I > f2 f2 f2 f2", false },
		{ "LSTM", "f2 " LSTM_WEIGHTS "f2 f2 I F F > f2 f2 f2", false },
		{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
		  "f3 " LSTM_WEIGHTS "f2 f2 I F F B f1 f1 f1 f1 > f3", true },
		{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
		  "f3 " LSTM_WEIGHTS "f2 f2 I F F B f1 f1 f1 f1 > f3 f2 f2", true },
		{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
		  "f3 " LSTM_WEIGHTS "f2 f2 I F F B f1 f1 f1 f1 > f3 f2", false },
		{ "BIDIRECTIONAL_SEQUENCE_LSTM",
		  "f3 " LSTM_WEIGHTS LSTM_WEIGHTS "f2 f2 f2 f2 f3 f2 f2 f2 f2 f2 f2 f2 f2 "
		  "I F F B B f1 f1 f1 f1 f1 f1 f1 f1 > f3 f3", true },
		{ "BIDIRECTIONAL_SEQUENCE_LSTM",
		  "f3 " LSTM_WEIGHTS LSTM_WEIGHTS "f2 f1 f2 f2 f3 f2 f2 f2 f2 f2 f2 f2 f2 "
		  "I F F B B f1 f1 f1 f1 f1 f1 f1 f1 > f2 f2", true },
		{ "BIDIRECTIONAL_SEQUENCE_LSTM",
		  "f3 " LSTM_WEIGHTS LSTM_WEIGHTS "f2 f2 f2 f2 f3 f2 f2 f2 f2 f2 f2 f2 f2 "
		  "I F F B B f1 f1 f1 f1 f1 f1 f1 f1 > f3 f3 f2", false },
		{ "QUANTIZED_16BIT_LSTM",
		  "u2 u2 u2 u2 u2 u2 u2 u2 u2 w1 w1 w1 w1 y2 u2 > y2 u2", true },
		{ "QUANTIZED_16BIT_LSTM",
		  "u2 u2 u2 u2 u2 u2 u2 u2 u2 w1 w1 w1 w1 u2 u2 > y2 u2", false },
		{ "LSH_PROJECTION", "f2 w1 f1 I > w1", true },
		{ "LSH_PROJECTION", "h2 u3 h1 I > w1", true },
		{ "LSH_PROJECTION", "f2 w1 h1 I > w1", false },
		{ "LSH_PROJECTION", "w2 w1 w1 I > w1", false },
		{ "RANDOM_MULTINOMIAL", "f2 I w1 > w2", true },
		{ "RANDOM_MULTINOMIAL", "f2 I w1 > f2", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		oc_assert_signature(&table[i]);
}

static uint32_t seed = 1;

static float any(void)
{
	seed = seed * 1664525 + 1013904223;
	return (float)(seed >> 8) / (float)(1 << 23) - 1;
}

/* Adds an input with random values: a matrix, or a vector if d1 is 0. */
static const float *random_input(struct op_case *c, uint32_t d0, uint32_t d1)
{
	uint32_t dims[2] = { d0, d1 }, count = d0 * (d1 ? d1 : 1);
	float values[256];

	assert_between(count, 0, 256);
	for (uint32_t i = 0; i < count; i++)
		values[i] = any();
	oc_input(c, NN_TENSOR_FLOAT32, d1 ? 2 : 1, dims, values);
	return c->tensors[c->num_inputs - 1].data;
}

static const float *random_sequence(struct op_case *c, uint32_t steps, uint32_t batch,
				    uint32_t size)
{
	uint32_t dims[3] = { steps, batch, size };
	float values[64];

	assert_between(steps * batch * size, 0, 64);
	for (uint32_t i = 0; i < steps * batch * size; i++)
		values[i] = any();
	oc_input(c, NN_TENSOR_FLOAT32, 3, dims, values);
	return c->tensors[c->num_inputs - 1].data;
}

static void omitted(struct op_case *c)
{
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1), NULL);
	c->tensors[c->num_inputs - 1].omitted = true;
}

static const float *input(const struct op_case *c, uint32_t index)
{
	return c->tensors[index].omitted ? NULL : c->tensors[index].data;
}

static double dot(const float *a, const float *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; a && i < n; i++)
		sum += (double)a[i] * (double)b[i];
	return sum;
}

static double sigmoid(double v)
{
	return 1 / (1 + exp(-v));
}

enum { B = 2, I = 3, U = 4, O = 5 };

/* Computes the expected values of gate `g` of an LSTM for batch `b`, by the NNAPI's definition. */
static void lstm_gate(const struct op_case *c, uint32_t g, uint32_t b, const double *cell,
		      double out[U])
{
	const float *x = input(c, 0) + b * I, *h = input(c, 18) + b * O;
	const float *peep = g == 2 ? NULL : input(c, 9 + (g == 3 ? 2 : g));
	const float *norm = c->num_inputs > 23 ? input(c, 23 + g) : NULL;
	double mean = 0, variance = 0;

	for (uint32_t u = 0; u < U; u++) {
		out[u] = dot(input(c, 1 + g) + u * I, x, I) + dot(input(c, 5 + g) + u * O, h, O);
		if (peep)
			out[u] += (double)peep[u] * cell[u];
		if (!norm)
			out[u] += (double)input(c, 12 + g)[u];
		mean += out[u] / U;
	}
	for (uint32_t u = 0; u < U; u++)
		variance += (out[u] - mean) * (out[u] - mean) / U;
	for (uint32_t u = 0; norm && u < U; u++)
		out[u] = (out[u] - mean) / sqrt(variance) * (double)norm[u] +
			 (double)input(c, 12 + g)[u];
}

/* Layer normalisation of rows with little variation must be exact near 0 and far from 0. */
static void test_normalized_rows(void **state)
{
	static const float gain[] = { 1, 1, 1, 1 }, bias[] = { 0, 0, 0, 5 };
	float rows[2][4] = { { 1000, 1000, 1000 + 0x1p-10f, 1000 + 0x1p-10f },
			     { 0.1f, 0.1f, 0.1f, 0.1f } };
	static const float expected[2][4] = { { -1, -1, 1, 6 }, { 0, 0, 0, 5 } };

	(void)state;
	nn_lstm_normalize(rows[0], gain, bias, 2, 4);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(fabsf(rows[i / 4][i % 4] - expected[i / 4][i % 4]) < 1e-6f);
}

static double clip(double v, double limit)
{
	return limit > 0 ? fmax(fmin(v, limit), -limit) : v;
}

static void lstm_reference(const struct op_case *c, bool cifg, double cell_clip,
			   double out_clip, double h_out[B][O], double c_out[B][U])
{
	for (uint32_t b = 0; b < B; b++) {
		double in[U], forget[U], cell[U], out[U], before[U], m[U];

		for (uint32_t u = 0; u < U; u++)
			before[u] = (double)input(c, 19)[b * U + u];
		if (!cifg)
			lstm_gate(c, 0, b, before, in);
		lstm_gate(c, 1, b, before, forget);
		lstm_gate(c, 2, b, before, cell);
		for (uint32_t u = 0; u < U; u++) {
			double f = sigmoid(forget[u]);

			c_out[b][u] = clip(f * before[u] + (cifg ? 1 - f : sigmoid(in[u])) *
					   tanh(cell[u]), cell_clip);
		}
		lstm_gate(c, 3, b, c_out[b], out);
		for (uint32_t u = 0; u < U; u++)
			m[u] = sigmoid(out[u]) * tanh(c_out[b][u]);
		for (uint32_t o = 0; o < O; o++) {
			h_out[b][o] = input(c, 17) ? (double)input(c, 17)[o] : 0;
			for (uint32_t u = 0; u < U; u++)
				h_out[b][o] += (double)input(c, 16)[o * U + u] * m[u];
			h_out[b][o] = clip(h_out[b][o], out_clip);
		}
	}
}

static void test_lstm(void **state)
{
	enum { CIFG = 1, PEEPHOLE = 2, NORM = 4, BIAS = 8, CLIP = 16, ALL = 32 };

	(void)state;
	for (int form = 0; form < ALL; form++) {
		double h[B][O], s[B][U];
		struct op_case c;

		oc_init(&c, "LSTM");
		random_input(&c, B, I);
		for (uint32_t i = 1; i < 20; i++) {
			bool is_gate = i == 1 || i == 5 || i == 9 || i == 12;

			if (((form & CIFG) && is_gate) ||
			    (!(form & PEEPHOLE) && i >= 9 && i < 12) ||
			    (!(form & BIAS) && i == 17))
				omitted(&c);
			else if (i < 9)
				random_input(&c, U, i < 5 ? I : O);
			else if (i < 16)
				random_input(&c, U, 0);
			else if (i < 18)
				random_input(&c, O, i == 16 ? U : 0);
			else
				random_input(&c, B, i == 18 ? O : U);
		}
		oc_int(&c, 4);
		oc_float(&c, form & CLIP ? 0.3f : 0);
		oc_float(&c, form & CLIP ? 0.2f : 0);
		for (uint32_t i = 0; form & NORM && i < 4; i++) {
			if (i == 0 && form & CIFG)
				omitted(&c);
			else
				random_input(&c, U, 0);
		}
		for (uint32_t i = 0; i < 4; i++)
			oc_output(&c, NN_TENSOR_FLOAT32);
		if (oc_run(&c))
			fail_msg("form %d fails: %s", form, c.err.message);
		lstm_reference(&c, form & CIFG, form & CLIP ? 0.3 : 0, form & CLIP ? 0.2 : 0, h, s);
		for (uint32_t i = 0; i < B * O; i++)
			assert_float_equal(((float *)oc_result(&c, 1)->data)[i], h[i / O][i % O],
					   1e-4);
		for (uint32_t i = 0; i < B * U; i++)
			assert_float_equal(((float *)oc_result(&c, 2)->data)[i], s[i / U][i % U],
					   1e-4);
		assert_memory_equal(oc_result(&c, 3)->data, oc_result(&c, 1)->data,
				    B * O * sizeof(float));
		oc_free(&c);
	}
}

/*
 * LSTM refuses an omitted optional input that the other inputs require, and a given optional input
 * that the other inputs forbid.
 */
static void test_lstm_presence(void **state)
{
	static const uint32_t wrong[] = { 1, 5, 9, 10, 11, 12, 16, 23, 24, 25, 26 };

	(void)state;
	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		struct op_case c;

		oc_init(&c, "LSTM");
		random_input(&c, B, I);
		for (uint32_t i = 1; i < 9; i++)
			random_input(&c, U, i < 5 ? I : O);
		for (uint32_t i = 9; i < 16; i++)
			random_input(&c, U, 0);
		random_input(&c, O, U);
		random_input(&c, O, 0);
		random_input(&c, B, O);
		random_input(&c, B, U);
		oc_int(&c, 4);
		oc_float(&c, 0);
		oc_float(&c, 0);
		for (uint32_t i = 0; i < 4; i++)
			random_input(&c, U, 0);
		for (uint32_t i = 0; i < 4; i++)
			oc_output(&c, NN_TENSOR_FLOAT32);
		c.tensors[wrong[k]].omitted = true;
		if (oc_run(&c) != NN_GENERAL_FAILURE || !strstr(c.err.message, "LSTM"))
			fail_msg("omitting input %u: \"%s\"", wrong[k], c.err.message);
		oc_free(&c);
	}
}

static void test_rnn(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "RNN");
	random_input(&c, B, I);
	random_input(&c, U, I);
	random_input(&c, U, U);
	random_input(&c, U, 0);
	random_input(&c, B, U);
	oc_int(&c, 4);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	for (uint32_t b = 0; b < B; b++) {
		for (uint32_t u = 0; u < U; u++) {
			double v = (double)input(&c, 3)[u] +
				   dot(input(&c, 1) + u * I, input(&c, 0) + b * I, I) +
				   dot(input(&c, 2) + u * U, input(&c, 4) + b * U, U);

			assert_float_equal(((float *)oc_result(&c, 1)->data)[b * U + u], tanh(v),
					   1e-5);
		}
	}
	oc_free(&c);
}

/*
 * The auxiliary input of a bidirectional operation may have another size (A) than the input. Tests
 * cross-linked and parallel-linked auxiliary inputs of BIDIRECTIONAL_SEQUENCE_RNN with two
 * time-major steps.
 */
static void test_rnn_auxiliary_width(void **state)
{
	enum { A = 2, T = 2 };

	(void)state;
	for (int cross = 0; cross < 2; cross++) {
		const float *x, *aux;
		uint32_t columns = cross ? I : A;
		struct op_case c;

		oc_init(&c, "BIDIRECTIONAL_SEQUENCE_RNN");
		x = random_sequence(&c, T, B, I);
		for (int direction = 0; direction < 2; direction++) {
			random_input(&c, U, direction ? columns : I);
			random_input(&c, U, U);
			random_input(&c, U, 0);
			random_input(&c, B, U);
		}
		aux = random_sequence(&c, T, B, A);
		for (int direction = 0; direction < 2; direction++) {
			if (cross)
				random_input(&c, U, A);
			else
				omitted(&c);
		}
		oc_int(&c, 4);
		oc_bool(&c, true);
		oc_bool(&c, false);
		oc_output(&c, NN_TENSOR_FLOAT32);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		for (uint32_t b = 0; b < B; b++) {
			double h[U], next[U];

			for (uint32_t u = 0; u < U; u++)
				h[u] = (double)input(&c, 8)[b * U + u];
			for (uint32_t t = T; t-- > 0;) {
				const float *row = cross ? x + (t * B + b) * I : aux + (t * B + b) * A;

				for (uint32_t u = 0; u < U; u++) {
					next[u] = (double)input(&c, 7)[u] +
						  dot(input(&c, 5) + u * columns, row, columns);
					if (cross)
						next[u] += dot(input(&c, 11) + u * A,
							       aux + (t * B + b) * A, A);
					for (uint32_t k = 0; k < U; k++)
						next[u] += (double)input(&c, 6)[u * U + k] * h[k];
				}
				for (uint32_t u = 0; u < U; u++) {
					const float *out = oc_result(&c, 1)->data;

					h[u] = tanh(next[u]);
					assert_float_equal(out[(t * B + b) * U + u], h[u], 1e-5);
				}
			}
		}
		oc_free(&c);
	}
}

/*
 * Adds the inputs of an LSTM cell whose x has `size` elements. Omits all optional inputs except
 * those of the input gate.
 */
static void lstm_weights(struct op_case *c, uint32_t size)
{
	for (uint32_t i = 0; i < 8; i++)
		random_input(c, U, i < 4 ? size : U);
	for (uint32_t i = 0; i < 3; i++)
		omitted(c);
	for (uint32_t i = 0; i < 4; i++)
		random_input(c, U, 0);
	omitted(c);
	omitted(c);
}

static void copy_input(struct op_case *c, const struct op_case *from, uint32_t index)
{
	const struct nn_tensor *t = &from->tensors[index];

	oc_input(c, t->type, t->rank, t->dims, t->data);
	c->tensors[c->num_inputs - 1].omitted = t->omitted;
}

/*
 * With parallel linking, the backward cell of BIDIRECTIONAL_SEQUENCE_LSTM reads the auxiliary
 * input, whose size is A. With one time step, the backward cell's result equals the result of LSTM
 * with the auxiliary input.
 */
static void test_lstm_auxiliary_width(void **state)
{
	enum { A = 2 };
	struct op_case c, one;

	(void)state;
	oc_init(&c, "BIDIRECTIONAL_SEQUENCE_LSTM");
	random_sequence(&c, 1, B, I);
	lstm_weights(&c, I);
	lstm_weights(&c, A);
	for (uint32_t i = 0; i < 4; i++)
		random_input(&c, B, U);
	random_sequence(&c, 1, B, A);
	for (uint32_t i = 0; i < 8; i++)
		omitted(&c);
	oc_int(&c, 4);
	oc_float(&c, 0);
	oc_float(&c, 0);
	oc_bool(&c, false);
	oc_bool(&c, true);
	for (uint32_t i = 0; i < 8; i++)
		omitted(&c);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);

	oc_init(&one, "LSTM");
	oc_input(&one, NN_TENSOR_FLOAT32, OC_DIMS(B, A), c.tensors[39].data);
	for (uint32_t i = 18; i < 35; i++)
		copy_input(&one, &c, i);
	copy_input(&one, &c, 37);
	copy_input(&one, &c, 38);
	oc_int(&one, 4);
	oc_float(&one, 0);
	oc_float(&one, 0);
	for (uint32_t i = 0; i < 4; i++)
		oc_output(&one, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&one), NN_OK);
	assert_memory_equal(oc_result(&c, 1)->data, oc_result(&one, 3)->data,
			    B * U * sizeof(float));
	oc_free(&one);
	oc_free(&c);
}

/*
 * Each step of a sequence has the results of LSTM, whose new states are the states of the next step.
 * The projection has no bias.
 */
static void test_lstm_sequence(void **state)
{
	enum { STEPS = 4 };
	struct op_case all, one;
	float h[B * O], s[B * U];

	(void)state;
	oc_init(&all, "UNIDIRECTIONAL_SEQUENCE_LSTM");
	random_sequence(&all, STEPS, B, I);
	for (uint32_t i = 1; i < 20; i++)
		if ((i >= 9 && i < 12) || i == 17)
			omitted(&all);
		else if (i < 16)
			random_input(&all, U, i < 5 ? I : i < 9 ? O : 0);
		else
			random_input(&all, i == 16 ? O : B, i == 18 ? O : U);
	oc_int(&all, 4);
	oc_float(&all, 0);
	oc_float(&all, 0);
	oc_bool(&all, true);
	for (uint32_t i = 0; i < 4; i++)
		omitted(&all);
	for (uint32_t i = 0; i < 3; i++)
		oc_output(&all, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&all), NN_OK);
	memcpy(h, all.tensors[18].data, sizeof(h));
	memcpy(s, all.tensors[19].data, sizeof(s));
	for (uint32_t step = 0; step < STEPS; step++) {
		oc_init(&one, "LSTM");
		oc_input(&one, NN_TENSOR_FLOAT32, OC_DIMS(B, I),
			 (float *)all.tensors[0].data + step * B * I);
		for (uint32_t i = 1; i < 18; i++)
			copy_input(&one, &all, i);
		oc_input(&one, NN_TENSOR_FLOAT32, OC_DIMS(B, O), h);
		oc_input(&one, NN_TENSOR_FLOAT32, OC_DIMS(B, U), s);
		for (uint32_t i = 20; i < 23; i++)
			copy_input(&one, &all, i);
		for (uint32_t i = 0; i < 4; i++)
			oc_output(&one, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&one), NN_OK);
		memcpy(h, oc_result(&one, 1)->data, sizeof(h));
		memcpy(s, oc_result(&one, 2)->data, sizeof(s));
		assert_memory_equal((float *)oc_result(&all, 0)->data + step * B * O, h, sizeof(h));
		oc_free(&one);
	}
	assert_memory_equal(oc_result(&all, 1)->data, h, sizeof(h));
	assert_memory_equal(oc_result(&all, 2)->data, s, sizeof(s));
	oc_free(&all);
}

/* Tests an SVDF with one unit, rank 2 and memory 2; the expected results were computed by hand. */
static void test_svdf(void **state)
{
	static const float x[] = { 2 }, feature[] = { 1, 3 }, time[] = { 10, 1, 100, 5 };
	static const float bias[] = { 0.5f }, before[] = { 7, 8, 9, 4 };
	/* The sum is 7 * 10 + 2 * 1 + 9 * 100 + 6 * 5 + 0.5, with the new features 2 and 6. */
	static const float after[] = { 2, 0, 6, 0 }, sum = 1002.5f;
	struct op_case c;

	(void)state;
	oc_init(&c, "SVDF");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1), x);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 1), feature);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 2), time);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), bias);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), before);
	oc_int(&c, 2);
	oc_int(&c, 0);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, after, sizeof(after));
	assert_memory_equal(oc_result(&c, 1)->data, &sum, sizeof(sum));
	oc_free(&c);
}

/* The published FarmHash computed the expected hashes for the bytes 7 * i + 1. */
static void test_fingerprint(void **state)
{
	static const struct {
		size_t size;
		uint64_t value;
	} table[] = {
		{ 0, UINT64_C(0x9ae16a3b2f90404f) },
		{ 1, UINT64_C(0x47a24c13b17e583e) },
		{ 3, UINT64_C(0x26b4da356b8b9558) },
		{ 4, UINT64_C(0xefc83e8c71df5af5) },
		{ 7, UINT64_C(0x1fafa9edd289ae25) },
		{ 8, UINT64_C(0xd442a22feec8439a) },
		{ 16, UINT64_C(0x0db0c6c6cfc9cc97) },
		{ 17, UINT64_C(0x33fce0bef0c317a9) },
		{ 32, UINT64_C(0x3ff780b33fa8801a) },
		{ 33, UINT64_C(0x9a5b1c0ff4a38467) },
		{ 64, UINT64_C(0x111fa8723e25adca) },
		{ 65, UINT64_C(0x0366ab6067b570b1) },
		{ 128, UINT64_C(0xce22f72c75b92bbf) },
		{ 200, UINT64_C(0x723d395582226c57) },
	};
	uint8_t bytes[256];

	(void)state;
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(nn_fingerprint64(bytes, table[i].size), table[i].value);
}

/*
 * RANDOM_MULTINOMIAL draws classes as often as the softmax of the logits says; equal seeds give
 * equal samples.
 */
static void test_random_multinomial(void **state)
{
	enum { CLASSES = 4, SAMPLES = 20000 };
	static const float logits[CLASSES] = { 0, 1, -INFINITY, 2 };
	static const int32_t seeds[] = { 5, 6 };
	int32_t *first = NULL;
	struct op_case c;

	(void)state;
	for (int round = 0; round < 2; round++) {
		uint32_t counts[CLASSES] = { 0 };
		double total = 1 + exp(1) + exp(2);
		const int32_t *out;

		oc_init(&c, "RANDOM_MULTINOMIAL");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, CLASSES), logits);
		oc_int(&c, SAMPLES);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(2), seeds);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_OK);
		out = oc_result(&c, 0)->data;
		for (uint32_t i = 0; i < SAMPLES; i++) {
			assert_between(out[i], 0, CLASSES - 1);
			counts[out[i]]++;
		}
		assert_int_equal(counts[2], 0);
		assert_float_equal((double)counts[0] / SAMPLES, 1 / total, 0.02);
		assert_float_equal((double)counts[3] / SAMPLES, exp(2) / total, 0.02);
		if (!first) {
			first = malloc(SAMPLES * sizeof(*first));
			assert_non_null(first);
			memcpy(first, out, SAMPLES * sizeof(*first));
		} else {
			assert_memory_equal(first, out, SAMPLES * sizeof(*first));
		}
		oc_free(&c);
	}
	free(first);
}

/* Computes Philox4x32-10 as in the paper of Salmon et al. (SC 2011). */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t k[2] = { key[0], key[1] };

	memcpy(out, counter, 4 * sizeof(*out));
	for (int round = 0; round < 10; round++, k[0] += 0x9E3779B9, k[1] += 0xBB67AE85) {
		uint64_t first = UINT64_C(0xD2511F53) * out[0];
		uint64_t second = UINT64_C(0xCD9E8D57) * out[2];
		uint32_t next[4] = { (uint32_t)(second >> 32) ^ out[1] ^ k[0], (uint32_t)second,
				     (uint32_t)(first >> 32) ^ out[3] ^ k[1], (uint32_t)first };

		memcpy(out, next, sizeof(next));
	}
}

/*
 * Tests the published test vectors of the random generator. If 4096 classes have equal logits, each
 * sample is the first 12 bits of a random number.
 */
static void test_random_sequence(void **state)
{
	enum { CLASSES = 4096, ROWS = 2, SAMPLES = 3 };
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} vectors[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};
	static const int32_t seeds[][2] = { { 7, 11 }, { 0, 3 }, { 3, 0 }, { -1, INT32_MIN } };
	uint32_t out[4];

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		philox(vectors[i].counter, vectors[i].key, out);
		assert_memory_equal(out, vectors[i].out, sizeof(out));
	}
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		const int32_t *got;
		struct op_case c;

		oc_init(&c, "RANDOM_MULTINOMIAL");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(ROWS, CLASSES), NULL);
		oc_int(&c, SAMPLES);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(2), seeds[i]);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_OK);
		got = oc_result(&c, 0)->data;
		for (uint32_t k = 0; k < ROWS * SAMPLES; k++) {
			philox((uint32_t[]){ k, 0, (uint32_t)seeds[i][1], 0 },
			       (uint32_t[]){ (uint32_t)seeds[i][0], 0 }, out);
			assert_int_equal(got[k], out[0] >> 20);
		}
		oc_free(&c);
	}
}

/*
 * RANDOM_MULTINOMIAL refuses invalid numbers of samples and invalid seeds, and never draws a class
 * whose logit is not finite.
 */
static void test_random_refused(void **state)
{
	static const struct {
		int32_t samples;
		uint32_t seeds;
		const char *message;
	} table[] = {
		{ 0, 2, "0 samples" }, { -1, 2, "-1 samples" }, { 1, 1, "is 1, must be 2" },
		{ 1, 3, "is 3, must be 2" }, { 1, 2, NULL },
	};
	static const float logits[] = { NAN, INFINITY, -1000, -INFINITY };
	static const int32_t seeds[] = { 1, 2, 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, "RANDOM_MULTINOMIAL");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), logits);
		oc_int(&c, table[i].samples);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(table[i].seeds), seeds);
		oc_output(&c, NN_TENSOR_INT32);
		if (table[i].message) {
			assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
			assert_non_null(strstr(c.err.message, table[i].message));
		} else {
			assert_int_equal(oc_run(&c), NN_OK);
			assert_int_equal(*(const int32_t *)oc_result(&c, 0)->data, 2);
		}
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_normalized_rows),
		heap_unit_test(test_signatures),
		heap_unit_test(test_lstm),
		heap_unit_test(test_lstm_presence),
		heap_unit_test(test_rnn),
		heap_unit_test(test_rnn_auxiliary_width),
		heap_unit_test(test_lstm_auxiliary_width),
		heap_unit_test(test_lstm_sequence),
		heap_unit_test(test_svdf),
		heap_unit_test(test_fingerprint),
		heap_unit_test(test_random_multinomial),
		heap_unit_test(test_random_sequence),
		heap_unit_test(test_random_refused),
	};

	return cmocka_run_group_tests_name("ops_recurrent", tests, NULL, NULL);
}
