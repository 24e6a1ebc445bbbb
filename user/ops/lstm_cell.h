/* SPDX-License-Identifier: MIT */
/*
 * The float LSTM cell: its weights as positions among an operation's inputs,
 * its dimension rules and one step of it. Shared by every float LSTM operation.
 */
#ifndef NN_OPS_LSTM_CELL_H
#define NN_OPS_LSTM_CELL_H

#include "ops/check.h"
#include "ops/recurrent.h"

/* Gates in the order of the operations' inputs. */
enum nn_lstm_gate { NN_LSTM_INPUT, NN_LSTM_FORGET, NN_LSTM_CELL, NN_LSTM_OUTPUT, NN_LSTM_GATES };

/* Distances of other inputs from the first input weight. */
enum nn_lstm_input {
	NN_LSTM_RECURRENT = 4,
	NN_LSTM_PEEPHOLE = 8,		/* input, forget and output gate */
	NN_LSTM_BIAS = 11,
	NN_LSTM_PROJECTION = 15,
	NN_LSTM_PROJECTION_BIAS = 16,
};

/*
 * A cell. The positions: input, recurrent weights and biases of the four gates
 * from `weights` on (4 + 4, then 3 peepholes, 4 biases, projection and its
 * bias); 0 where an operation has no such inputs.
 */
struct nn_lstm_cell {
	uint32_t weights;
	uint32_t state_h, state_c;
	uint32_t layer_norm;		/* four, or 0 */
	uint32_t aux_weights;		/* four, or 0 */
	int32_t activation;
	float cell_clip, projection_clip;

	/* Filled by nn_lstm_cell_shape(). */
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized;
};

/*
 * Checks presence rules and dimensions of a cell that is fed batches of
 * `size`, and fills the rest of it.
 */
enum nn_status nn_lstm_cell_shape(const struct nn_run *r, struct nn_lstm_cell *c, uint32_t batch,
				  uint32_t size);

/*
 * Reads an LSTM or a UNIDIRECTIONAL_SEQUENCE_LSTM, checked as above; the former
 * is a sequence of one step.
 */
enum nn_status nn_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
			     struct nn_lstm_cell *c);

/*
 * Reads a BIDIRECTIONAL_SEQUENCE_LSTM, checked likewise. Without auxiliary weights an auxiliary
 * input is what the backward cell reads; its size is then the backward cell's.
 */
enum nn_status nn_bidirectional_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
					   struct nn_lstm_cell *forward,
					   struct nn_lstm_cell *backward);

/* Where that has its auxiliary input, and whether it has one output for both cells. */
enum { NN_BIDIRECTIONAL_LSTM_AUX = 39, NN_BIDIRECTIONAL_LSTM_MERGE = 51 };

/*
 * Each row of [batch, units] to mean 0 and variance 1, then times `gain` plus `bias`; in double,
 * since rows that hardly vary leave nothing of a float's digits.
 */
void nn_lstm_normalize(float *values, const float *gain, const float *bias, uint32_t batch,
		       uint32_t units);

/* Floats of scratch memory that a step needs. */
size_t nn_lstm_cell_scratch(const struct nn_lstm_cell *c);

/*
 * One step: from x [batch, size], aux (or NULL), h [batch, outputs] and
 * cell state s [batch, units] to next_h and next_s, which may not overlap h but
 * may be s.
 */
void nn_lstm_cell_step(const struct nn_run *r, const struct nn_lstm_cell *c, const float *x,
		       const float *aux, const float *h, const float *s, float *next_h,
		       float *next_s, float *scratch);

/*
 * Runs a cell along a time-major sequence, forwards or backwards, into columns
 * of an output sequence of rows `width` wide; last_h and last_s (outputs, or
 * NULL) take the last states.
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

#endif /* NN_OPS_LSTM_CELL_H */
