/* SPDX-License-Identifier: MIT */
/*
 * The cells of QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM: indices of inputs and, for QUANTIZED_LSTM,
 * shapes and factors. The reference kernels of QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM, and the
 * fast kernel of QUANTIZED_LSTM, include this header.
 */
#ifndef NN_OPS_QUANTIZED_LSTM_H
#define NN_OPS_QUANTIZED_LSTM_H

#include "ops/quant.h"

enum nn_qlstm_gate { NN_QLSTM_IN, NN_QLSTM_FORGET, NN_QLSTM_CELL, NN_QLSTM_OUT, NN_QLSTM_GATES };

/*
 * Indices of the inputs of QUANTIZED_LSTM. For inputs that exist once for each gate, the enumerator
 * is the index of the first gate's input.
 */
enum {
	NN_QLSTM_INPUT, NN_QLSTM_WEIGHTS, NN_QLSTM_RECURRENT = 5, NN_QLSTM_PEEPHOLE = 9,
	NN_QLSTM_BIAS = 12, NN_QLSTM_PROJECTION = 16, NN_QLSTM_PROJECTION_BIAS = 17,
	NN_QLSTM_STATE_H = 18, NN_QLSTM_STATE_C = 19, NN_QLSTM_LAYER_NORM = 20,
	NN_QLSTM_CELL_CLIP = 24, NN_QLSTM_PROJECTION_CLIP = 25, NN_QLSTM_SCALES = 26,
	NN_QLSTM_HIDDEN_ZERO = 30, NN_QLSTM_HIDDEN_SCALE = 31, NN_QLSTM_INPUTS = 32,
};

/* Indices of the inputs of QUANTIZED_16BIT_LSTM. */
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
	/* clipping limits of the cell state and the projection; 0: no limit */
	int32_t cell_limit, projection_limit;
	struct nn_multiplier input[NN_QLSTM_GATES], recurrent[NN_QLSTM_GATES];
	struct nn_multiplier peep[NN_QLSTM_GATES], norm[NN_QLSTM_GATES];
	struct nn_multiplier hidden, project;
};

/* Reads and checks the arguments of a QUANTIZED_LSTM. */
enum nn_status nn_qlstm_read(const struct nn_run *r, struct nn_qlstm *c);

/* Returns the index of the input with a gate's peephole weights; the gate must have peepholes. */
static inline uint32_t nn_qlstm_peephole(uint32_t gate)
{
	return NN_QLSTM_PEEPHOLE + (gate == NN_QLSTM_OUT ? 2 : gate);
}

/*
 * Computes sums[i], the dot product of int8 row i with the 16-bit values `x`, modulo 2^32. The
 * caller pads the `depth` values of `x` with zeros to a multiple of NN_Q16_PADDING.
 */
#define NN_Q16_PADDING 32

struct nn_dots_q16 {
	size_t rows;
	size_t depth;			/* length of a row, and distance between adjacent rows */
	const uint8_t *weights;
	const int16_t *x;
	bool add;	/* true: the dot products are added to the previous values of `sums` */
	int32_t *sums;
};

/*
 * Sets values[i] to sums[i] + bias[i], saturated to 32 bits, multiplied by a factor like in
 * nn_mbqm(), and saturated to 16 bits. If `add` is set, the product is added to the old values[i],
 * and the sum is saturated.
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

/* Sets out[i] to nn_quant_logistic16() or nn_quant_tanh16() of in[i]; `out` may equal `in`. */
struct nn_squash_q16 {
	bool is_tanh;
	uint32_t integer_bits;		/* integer bits of the arguments, at most 6 */
	size_t count;
	const int16_t *in;
	int16_t *out;
};

/* The loops that compute a cell, implemented for several instruction sets with the same results. */
struct nn_qlstm_loops {
	void (*dots)(const struct nn_dots_q16 *d);
	void (*scale)(const struct nn_scale_q16 *s);
	void (*squash)(const struct nn_squash_q16 *s);
};

/* Runs `count` tasks, by up to `threads` threads. */
typedef void nn_qlstm_each(void (*fn)(void *arg, uint32_t task, uint32_t thread), void *arg,
			   uint32_t count, uint32_t threads);

/* One run of a cell, with the inputs and outputs of the operation QUANTIZED_LSTM. */
struct nn_qlstm_run {
	const struct nn_qlstm *cell;
	const struct nn_qlstm_loops *loops;
	nn_qlstm_each *each;
	uint32_t threads;
	const void *const *inputs;
	void *const *outputs;
	/* memory of nn_qlstm_scratch() bytes, aligned to 64 bytes */
	void *scratch;
};

size_t nn_qlstm_scratch(const struct nn_qlstm *c);
void nn_qlstm_run(const struct nn_qlstm_run *r);

#endif /* NN_OPS_QUANTIZED_LSTM_H */
