/* SPDX-License-Identifier: MIT */
/*
 * The float LSTM cell of all float LSTM operations: the positions of its weights, its dimension
 * rules and one step of it.
 */
#ifndef NN_OPS_LSTM_CELL_H
#define NN_OPS_LSTM_CELL_H

#include "ops/check.h"
#include "ops/recurrent.h"

/* Gates in the order of the operations' inputs. */
enum nn_lstm_gate { NN_LSTM_INPUT, NN_LSTM_FORGET, NN_LSTM_CELL, NN_LSTM_OUTPUT, NN_LSTM_GATES };

/* Offsets of other inputs from the first input weight. */
enum nn_lstm_input {
	NN_LSTM_RECURRENT = 4,
	NN_LSTM_PEEPHOLE = 8,		/* input, forget and output gate */
	NN_LSTM_BIAS = 11,
	NN_LSTM_PROJECTION = 15,
	NN_LSTM_PROJECTION_BIAS = 16,
};

/*
 * A cell. The inputs of the four gates begin at `weights`: 4 input weights, 4 recurrent weights, 3
 * peepholes, 4 biases, projection and its bias. Other positions are 0 if an operation lacks these
 * inputs.
 */
struct nn_lstm_cell {
	uint32_t weights;
	uint32_t state_h, state_c;
	uint32_t layer_norm;		/* first position of four inputs, or 0 */
	uint32_t aux_weights;		/* first position of four inputs, or 0 */
	int32_t activation;
	float cell_clip, projection_clip;

	/* Set by nn_lstm_cell_shape(). */
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized;
};

/* Checks presence and dimensions of a cell with inputs of `size`, and sets its other fields. */
enum nn_status nn_lstm_cell_shape(const struct nn_run *r, struct nn_lstm_cell *c, uint32_t batch,
				  uint32_t size);

/* Reads and checks an LSTM or a UNIDIRECTIONAL_SEQUENCE_LSTM; an LSTM is a sequence of one step. */
enum nn_status nn_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
			     struct nn_lstm_cell *c);

/*
 * Reads and checks a BIDIRECTIONAL_SEQUENCE_LSTM. Without auxiliary weights, the backward cell
 * reads the auxiliary input instead of the input, and has its size.
 */
enum nn_status nn_bidirectional_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
					   struct nn_lstm_cell *forward,
					   struct nn_lstm_cell *backward);

/* Positions of its auxiliary input, and of the flag for one output of both cells. */
enum { NN_BIDIRECTIONAL_LSTM_AUX = 39, NN_BIDIRECTIONAL_LSTM_MERGE = 51 };

/*
 * Normalises each row of [batch, units] to mean 0 and variance 1, then multiplies by `gain` and
 * adds `bias`. It computes in double, because rows that hardly vary lose all digits of a float.
 */
void nn_lstm_normalize(float *values, const float *gain, const float *bias, uint32_t batch,
		       uint32_t units);

/*
 * Runs a cell along a time-major sequence, forwards or backwards. It writes columns of an output
 * sequence with rows of `width`; last_h and last_s (outputs, or NULL) get the last states.
 */
enum nn_status nn_lstm_sequence(struct nn_run *r, const struct nn_lstm_cell *c,
				const struct nn_sequence *s, const float *x, const float *aux,
				bool backward, float *out, uint32_t column, uint32_t width,
				float *last_h, float *last_s);

/* The rules of a cell's weights, peepholes, biases and projection: 17 inputs from `first` on. */
#define NN_LSTM_CELL_RULES(first)								\
	[(first) ... (first) + NN_LSTM_PEEPHOLE - 1] = { NN_SAME, 2, 2 },			\
	[(first) + NN_LSTM_PEEPHOLE ... (first) + NN_LSTM_PROJECTION - 1] = { NN_SAME, 1, 1 },	\
	[(first) + NN_LSTM_PROJECTION] = { NN_SAME, 2, 2 },					\
	[(first) + NN_LSTM_PROJECTION_BIAS] = { NN_SAME, 1, 1 }

/* The dimensions of the same inputs, by letters for units, inputs and outputs. */
#define NN_FOUR(word) word " " word " " word " " word " "
#define NN_LSTM_CELL_DIMS(units, inputs, outputs)						\
	NN_FOUR(units inputs) NN_FOUR(units outputs) NN_FOUR(units) units " " units " "		\
	units " " outputs units " " outputs " "

#endif /* NN_OPS_LSTM_CELL_H */
