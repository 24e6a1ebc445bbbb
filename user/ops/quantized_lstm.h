/* SPDX-License-Identifier: MIT */
/*
 * The cells of QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM: positions of inputs and, for
 * QUANTIZED_LSTM, shapes and factors. Both operations and their fast kernel use this file.
 */
#ifndef NN_OPS_QUANTIZED_LSTM_H
#define NN_OPS_QUANTIZED_LSTM_H

#include "ops/quant.h"

enum nn_qlstm_gate { NN_QLSTM_IN, NN_QLSTM_FORGET, NN_QLSTM_CELL, NN_QLSTM_OUT, NN_QLSTM_GATES };

/* Positions of the inputs of QUANTIZED_LSTM; for a group of gates, that of the first gate. */
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

/*
 * Encoding of inputs and outputs of QUANTIZED_16BIT_LSTM: real = (q - 128) / 128. Encoding of the
 * cell state of QUANTIZED_16BIT_LSTM: real = q / 2^11.
 */
#define NN_Q16_LSTM_ZERO 128

struct nn_qlstm {
	uint32_t batch, size, units, outputs;
	bool cifg, peephole, projection, normalized, has_projection_bias;
	int32_t cell_shift;		/* the cell state's scale is 2^cell_shift */
	int32_t input_zero, state_zero, hidden_zero;
	int32_t cell_limit, projection_limit;	/* limits for clipping; 0 for no limit */
	struct nn_multiplier input[NN_QLSTM_GATES], recurrent[NN_QLSTM_GATES];
	struct nn_multiplier peep[NN_QLSTM_GATES], norm[NN_QLSTM_GATES];
	struct nn_multiplier hidden, project;
};

/* Reads a QUANTIZED_LSTM. */
enum nn_status nn_qlstm_read(const struct nn_run *r, struct nn_qlstm *c);

/* Returns the position of a gate's peephole weights; the gate must be one that has peepholes. */
static inline uint32_t nn_qlstm_peephole(uint32_t gate)
{
	return NN_QLSTM_PEEPHOLE + (gate == NN_QLSTM_OUT ? 2 : gate);
}

/*
 * Computes sums[i], the dot product of int8 row i with the 16-bit values `x`; sums wrap. Zeros
 * follow the `depth` values of `x` up to a multiple of NN_Q16_PADDING.
 */
#define NN_Q16_PADDING 32

struct nn_dots_q16 {
	size_t rows;
	size_t depth;			/* length of a row, and distance to the next one */
	const uint8_t *weights;
	const int16_t *x;
	bool add;			/* add to the numbers in sums */
	int32_t *sums;
};

/*
 * Sets values[i] to sums[i] + bias[i], saturated to 32 bits, multiplied by a factor as nn_mbqm()
 * does, and saturated to 16 bits. With `add`, the product is added to the old values[i], and the
 * sum is saturated.
 */
struct nn_scale_q16 {
	size_t count;
	const int32_t *sums;
	const int32_t *bias;		/* NULL: none */
	int32_t multiplier;
	int32_t shift;
	bool add;
	int16_t *values;
};

/* out[i] = nn_quant_logistic16() or nn_quant_tanh16() of in[i]; out may be in. */
struct nn_squash_q16 {
	bool is_tanh;
	uint32_t integer_bits;		/* at most 6 */
	size_t count;
	const int16_t *in;
	int16_t *out;
};

/*
 * The loops that compute a cell. Implementations for different instruction sets compute the same
 * results.
 */
struct nn_qlstm_loops {
	void (*dots)(const struct nn_dots_q16 *d);
	void (*scale)(const struct nn_scale_q16 *s);
	void (*squash)(const struct nn_squash_q16 *s);
};

/* Runs `count` tasks, by up to `threads` threads. */
typedef void nn_qlstm_each(void (*fn)(void *arg, uint32_t task, uint32_t thread), void *arg,
			   uint32_t count, uint32_t threads);

/* A run of a cell; inputs and outputs are those of QUANTIZED_LSTM. */
struct nn_qlstm_run {
	const struct nn_qlstm *cell;
	const struct nn_qlstm_loops *loops;
	nn_qlstm_each *each;
	uint32_t threads;
	const void *const *inputs;
	void *const *outputs;
	void *scratch;			/* nn_qlstm_scratch() bytes, aligned to 64 */
};

size_t nn_qlstm_scratch(const struct nn_qlstm *c);
void nn_qlstm_run(const struct nn_qlstm_run *r);

#endif /* NN_OPS_QUANTIZED_LSTM_H */
