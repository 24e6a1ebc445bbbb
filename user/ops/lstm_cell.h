/* SPDX-License-Identifier: MIT */
/*
 * The LSTM cell of all float LSTM operations: positions of weights, rules for dimensions, and the
 * computation of one step.
 */
#ifndef NN_OPS_LSTM_CELL_H
#define NN_OPS_LSTM_CELL_H

#include "ops/check.h"
#include "ops/recurrent.h"

/* Gates in the order of the operations' inputs. */
enum nn_lstm_gate { NN_LSTM_INPUT, NN_LSTM_FORGET, NN_LSTM_CELL, NN_LSTM_OUTPUT, NN_LSTM_GATES };

/* Offsets of the cell's other inputs from the position of the first input weight. */
enum nn_lstm_input {
	NN_LSTM_RECURRENT = 4,
	NN_LSTM_PEEPHOLE = 8,		/* input, forget and output gate */
	NN_LSTM_BIAS = 11,
	NN_LSTM_PROJECTION = 15,
	NN_LSTM_PROJECTION_BIAS = 16,
};

/*
 * A cell. The cell's inputs begin at position `weights`: 4 input weights, 4 recurrent weights, 3
 * peepholes, 4 biases, the projection and its bias. The other positions are 0 if an operation lacks
 * the inputs that they are for.
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

/*
 * Checks which inputs of a cell are present, and their dimensions for steps of `size` elements.
 * Sets the cell's other fields.
 */
enum nn_status nn_lstm_cell_shape(const struct nn_run *r, struct nn_lstm_cell *c, uint32_t batch,
				  uint32_t size);

/*
 * Reads and checks the inputs of LSTM, which is a sequence of one step, or of
 * UNIDIRECTIONAL_SEQUENCE_LSTM.
 */
enum nn_status nn_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
			     struct nn_lstm_cell *c);

/*
 * Reads and checks the inputs of BIDIRECTIONAL_SEQUENCE_LSTM. If there are no auxiliary weights,
 * the backward cell reads the auxiliary input in place of the input.
 */
enum nn_status nn_bidirectional_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
					   struct nn_lstm_cell *forward,
					   struct nn_lstm_cell *backward);

/* Positions of the auxiliary input, and of the flag that merges the outputs of both cells. */
enum { NN_BIDIRECTIONAL_LSTM_AUX = 39, NN_BIDIRECTIONAL_LSTM_MERGE = 51 };

/*
 * Normalises each row of [batch, units] to mean 0 and variance 1, then multiplies by `gain` and
 * adds `bias`. It computes in double precision, because in float the variance of nearly constant
 * rows would lose all its digits.
 */
void nn_lstm_normalize(float *values, const float *gain, const float *bias, uint32_t batch,
		       uint32_t units);

/*
 * Runs a cell along a time-major sequence, forwards or backwards. Writes some columns of an output
 * sequence with rows of `width` elements. last_h and last_s (outputs, or NULL) receive the last
 * states.
 */
enum nn_status nn_lstm_sequence(struct nn_run *r, const struct nn_lstm_cell *c,
				const struct nn_sequence *s, const float *x, const float *aux,
				bool backward, float *out, uint32_t column, uint32_t width,
				float *last_h, float *last_s);

/* The rules of a cell's 17 inputs from `first` on: weights, peepholes, biases and projection. */
#define NN_LSTM_CELL_RULES(first)								\
	[(first) ... (first) + NN_LSTM_PEEPHOLE - 1] = { NN_SAME, 2, 2 },			\
	[(first) + NN_LSTM_PEEPHOLE ... (first) + NN_LSTM_PROJECTION - 1] = { NN_SAME, 1, 1 },	\
	[(first) + NN_LSTM_PROJECTION] = { NN_SAME, 2, 2 },					\
	[(first) + NN_LSTM_PROJECTION_BIAS] = { NN_SAME, 1, 1 }

/* The dimensions of these 17 inputs, with letters for units, inputs and outputs. */
#define NN_FOUR(word) word " " word " " word " " word " "
#define NN_LSTM_CELL_DIMS(units, inputs, outputs)						\
	NN_FOUR(units inputs) NN_FOUR(units outputs) NN_FOUR(units) units " " units " "		\
	units " " outputs units " " outputs " "

#endif /* NN_OPS_LSTM_CELL_H */
