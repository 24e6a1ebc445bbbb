/* SPDX-License-Identifier: MIT */
/*
 * The LSTM cell of all float LSTM operations: input indices, rules for dimensions, and the
 * computation of a sequence.
 */
#ifndef NN_OPS_LSTM_CELL_H
#define NN_OPS_LSTM_CELL_H

#include "ops/check.h"
#include "ops/recurrent.h"

/* The gates of an LSTM cell, in the order in which the operations' inputs list the gates. */
enum nn_lstm_gate { NN_LSTM_INPUT, NN_LSTM_FORGET, NN_LSTM_CELL, NN_LSTM_OUTPUT, NN_LSTM_GATES };

/*
 * Offsets of a cell's inputs from the index of the first input weights. The input weights
 * themselves have the offsets 0 to 3.
 */
enum nn_lstm_input {
	NN_LSTM_RECURRENT = 4,
	NN_LSTM_PEEPHOLE = 8,		/* peepholes of input, forget and output gate */
	NN_LSTM_BIAS = 11,
	NN_LSTM_PROJECTION = 15,
	NN_LSTM_PROJECTION_BIAS = 16,
};

/*
 * An LSTM cell. From index `weights` on, the operation's inputs are 4 input weights, 4 recurrent
 * weights, 3 peepholes, 4 biases, the projection and its bias of the cell. The index layer_norm is
 * 0 without layer normalisation, and aux_weights is 0 without auxiliary weights.
 */
struct nn_lstm_cell {
	uint32_t weights;
	uint32_t state_h, state_c;
	uint32_t layer_norm;		/* index of the first layer normalisation weights, or 0 */
	uint32_t aux_weights;		/* index of the first auxiliary weights, or 0 */
	int32_t activation;
	float cell_clip, projection_clip;

	/* The function nn_lstm_cell_shape() sets `batch` and all fields below. */
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized;
};

/*
 * Checks which inputs of a cell are present, and checks the inputs' dimensions. A step of the
 * sequence has `size` elements. Sets the field c->batch and all fields after it.
 */
enum nn_status nn_lstm_cell_shape(const struct nn_run *r, struct nn_lstm_cell *c, uint32_t batch,
				  uint32_t size);

/*
 * Reads and checks the inputs of UNIDIRECTIONAL_SEQUENCE_LSTM, or of LSTM, which is treated as a
 * sequence of one step.
 */
enum nn_status nn_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
			     struct nn_lstm_cell *c);

/*
 * Reads and checks the inputs of BIDIRECTIONAL_SEQUENCE_LSTM. If the operation has an auxiliary
 * input but no auxiliary weights, the backward cell reads the auxiliary input instead of input 0.
 */
enum nn_status nn_bidirectional_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
					   struct nn_lstm_cell *forward,
					   struct nn_lstm_cell *backward);

/*
 * Indices of two inputs of BIDIRECTIONAL_SEQUENCE_LSTM: the auxiliary input, and the flag that
 * merges the outputs of both cells.
 */
enum { NN_BIDIRECTIONAL_LSTM_AUX = 39, NN_BIDIRECTIONAL_LSTM_MERGE = 51 };

/*
 * Normalises each row of [batch, units] to mean 0 and variance 1, then multiplies by `gain` and
 * adds `bias`. Computes in double precision, because the variance of nearly constant rows would
 * lose all digits in float.
 */
void nn_lstm_normalize(float *values, const float *gain, const float *bias, uint32_t batch,
		       uint32_t units);

/*
 * Runs a cell along a time-major sequence, forwards or backwards. Writes the cell's columns, from
 * `column` on, of an output sequence whose rows have `width` elements. If not NULL, the buffers
 * `last_h` and `last_s` receive the states after the last step.
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

/*
 * The part of the string nn_op.dims for a cell's 17 inputs. The macro's arguments are the letters
 * of the axes of units, inputs and outputs.
 */
#define NN_FOUR(word) word " " word " " word " " word " "
#define NN_LSTM_CELL_DIMS(units, inputs, outputs)						\
	NN_FOUR(units inputs) NN_FOUR(units outputs) NN_FOUR(units) units " " units " "		\
	units " " outputs units " " outputs " "

#endif /* NN_OPS_LSTM_CELL_H */
