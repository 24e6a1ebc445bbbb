/* SPDX-License-Identifier: MIT */
/*
 * The cells of QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM: positions of their inputs and, of the
 * former, shapes and factors. Their operations and their fast kernel use these.
 */
#ifndef NN_OPS_QUANTIZED_LSTM_H
#define NN_OPS_QUANTIZED_LSTM_H

#include "ops/quant.h"

enum nn_qlstm_gate { NN_QLSTM_IN, NN_QLSTM_FORGET, NN_QLSTM_CELL, NN_QLSTM_OUT, NN_QLSTM_GATES };

/* Positions of the inputs of QUANTIZED_LSTM; for groups of gates, of the first. */
enum {
	NN_QLSTM_INPUT, NN_QLSTM_WEIGHTS, NN_QLSTM_RECURRENT = 5, NN_QLSTM_PEEPHOLE = 9,
	NN_QLSTM_BIAS = 12, NN_QLSTM_PROJECTION = 16, NN_QLSTM_PROJECTION_BIAS = 17,
	NN_QLSTM_STATE_H = 18, NN_QLSTM_STATE_C = 19, NN_QLSTM_LAYER_NORM = 20,
	NN_QLSTM_CELL_CLIP = 24, NN_QLSTM_PROJECTION_CLIP = 25, NN_QLSTM_SCALES = 26,
	NN_QLSTM_HIDDEN_ZERO = 30, NN_QLSTM_HIDDEN_SCALE = 31, NN_QLSTM_INPUTS = 32,
};

/* Positions of the inputs of QUANTIZED_16BIT_LSTM. */
enum {
	NN_Q16_LSTM_INPUT, NN_Q16_LSTM_WEIGHTS, NN_Q16_LSTM_RECURRENT = 5, NN_Q16_LSTM_BIAS = 9,
	NN_Q16_LSTM_STATE_C = 13, NN_Q16_LSTM_STATE_H = 14, NN_Q16_LSTM_INPUTS = 15,
};

/* Inputs and outputs of this cell: real = (q - 128) / 128. Its cell state: real = q / 2^11. */
#define NN_Q16_LSTM_ZERO 128

struct nn_qlstm {
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized;
	int32_t cell_shift;		/* the cell state's scale is 2^cell_shift */
	int32_t input_zero, state_zero, hidden_zero;
	int32_t cell_limit, projection_limit;	/* limits for clipping; 0 for no limit */
	struct nn_multiplier input[NN_QLSTM_GATES], recurrent[NN_QLSTM_GATES];
	struct nn_multiplier peep[NN_QLSTM_GATES], norm[NN_QLSTM_GATES];
	struct nn_multiplier hidden, project;
};

/* Reads a QUANTIZED_LSTM. */
enum nn_status nn_qlstm_read(const struct nn_run *r, struct nn_qlstm *c);

/* Returns the position of a gate's peephole weights, for gates that have some. */
static inline uint32_t nn_qlstm_peephole(uint32_t gate)
{
	return NN_QLSTM_PEEPHOLE + (gate == NN_QLSTM_OUT ? 2 : gate);
}

static inline int32_t nn_qlstm_clip(int32_t v, int32_t limit)
{
	if (limit > 0)
		v = v < -limit ? -limit : v > limit ? limit : v;
	return v;
}

/* Normalises a row of units in place. */
void nn_qlstm_normalize(const int16_t *gain, const int32_t *bias, struct nn_multiplier norm,
			uint32_t units, int16_t *row);

#endif /* NN_OPS_QUANTIZED_LSTM_H */
