/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZED_16BIT_LSTM: the older integer LSTM cell, with unsigned 8-bit weights and activations,
 * and a 16-bit cell state with four integer bits.
 */
#include <math.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/dot.h"
#include "ops/quantized_lstm.h"

/*
 * Checks that all weights have the same scale and zero point, and that all biases have the scale of
 * the accumulator (weights' scale / 128).
 */
static enum nn_status check_quantisation(const struct nn_run *r)
{
	const struct nn_tensor *w = &r->inputs[NN_Q16_LSTM_WEIGHTS];
	const struct nn_tensor *state = &r->inputs[NN_Q16_LSTM_STATE_C];

	for (uint32_t i = NN_Q16_LSTM_WEIGHTS; i < NN_Q16_LSTM_BIAS; i++) {
		const struct nn_tensor *t = &r->inputs[i];

		if (t->scale != w->scale || t->zero_point != w->zero_point)
			return nn_run_fail(r, "input %u has another scale or zero point than input "
					   "1", i);
	}
	for (uint32_t i = NN_Q16_LSTM_BIAS; i < NN_Q16_LSTM_STATE_C; i++) {
		if (fabsf(r->inputs[i].scale - w->scale / 128) > 1e-6f * w->scale ||
		    r->inputs[i].zero_point)
			return nn_run_fail(r, "input %u has scale %g, must have %g", i,
					   (double)r->inputs[i].scale, (double)w->scale / 128);
	}
	for (uint32_t i = NN_Q16_LSTM_INPUT; i <= NN_Q16_LSTM_STATE_H; i += NN_Q16_LSTM_STATE_H) {
		if (r->inputs[i].scale != 1.0f / 128 || r->inputs[i].zero_point != NN_Q16_LSTM_ZERO)
			return nn_run_fail(r, "input %u must have scale 1/128 and zero point 128",
					   i);
	}
	if (fabs(log2((double)state->scale) + 11) > 1e-3 || state->zero_point)
		return nn_run_fail(r, "input 13 has scale %g, must have 2^-11",
				   (double)state->scale);
	return NN_OK;
}

static enum nn_status infer_quantized_16bit_lstm(struct nn_run *r)
{
	nn_tensor_like(&r->outputs[0], &r->inputs[NN_Q16_LSTM_STATE_C]);
	nn_tensor_like(&r->outputs[1], &r->inputs[NN_Q16_LSTM_STATE_H]);
	return check_quantisation(r);
}

/*
 * Computes a gate of one unit before its activation function; the result has three integer bits.
 * NNAPI's reference and its tests multiply the row [recurrent weights, input weights] by the column
 * [input, state]. Despite their names, the recurrent weights multiply the input.
 */
static int16_t gate(const struct nn_run *r, uint32_t g, uint32_t unit, const uint8_t *x,
		    const uint8_t *h, const struct nn_multiplier *m)
{
	const struct nn_tensor *w = &r->inputs[NN_Q16_LSTM_WEIGHTS + g];
	const struct nn_tensor *u = &r->inputs[NN_Q16_LSTM_RECURRENT + g];
	uint32_t size = w->dims[1], units = u->dims[1];
	const uint8_t *input = (const uint8_t *)w->data + (size_t)unit * size;
	const uint8_t *recurrent = (const uint8_t *)u->data + (size_t)unit * units;
	int64_t sum = ((const int32_t *)r->inputs[NN_Q16_LSTM_BIAS + g].data)[unit];
	const uint32_t first = size < units ? size : units, second = size < units ? units : size;

	for (uint32_t i = 0, end; i < size + units; i = end) {
		const uint8_t *weights = i < units ? recurrent + i : input + i - units;
		const uint8_t *values = i < size ? x + i : h + i - size;
		struct nn_dot_q8 dot;

		end = i < first ? first : i < second ? second : size + units;
		dot = nn_dot_u8(weights, values, end - i);
		sum += nn_dot_q8_sum(&dot, w->zero_point, NN_Q16_LSTM_ZERO, end - i);
	}
	return nn_saturate16(nn_quant_scale((int32_t)(uint32_t)sum, m));
}

static enum nn_status execute_quantized_16bit_lstm(struct nn_run *r)
{
	const struct nn_tensor *in = &r->inputs[NN_Q16_LSTM_INPUT];
	uint32_t units = r->inputs[NN_Q16_LSTM_WEIGHTS].dims[0];
	const uint8_t *x = in->data, *h = r->inputs[NN_Q16_LSTM_STATE_H].data;
	const int16_t *state = r->inputs[NN_Q16_LSTM_STATE_C].data;
	int16_t *next = r->outputs[0].data;
	uint8_t *out = r->outputs[1].data;
	struct nn_multiplier m;

	if (!nn_quant_encode(4096 * (double)r->inputs[NN_Q16_LSTM_BIAS].scale, &m))
		return nn_run_fail(r, "the quotient of the scales cannot be represented");
	for (uint32_t b = 0; b < in->dims[0]; b++, x += in->dims[1], h += units) {
		for (uint32_t u = 0; u < units; u++) {
			int16_t i = nn_quant_logistic16(gate(r, NN_QLSTM_IN, u, x, h, &m), 3);
			int16_t f = nn_quant_logistic16(gate(r, NN_QLSTM_FORGET, u, x, h, &m), 3);
			int16_t c = nn_quant_tanh16(gate(r, NN_QLSTM_CELL, u, x, h, &m), 3);
			int16_t o = nn_quant_logistic16(gate(r, NN_QLSTM_OUT, u, x, h, &m), 3);
			/*
			 * The cell state has four integer bits, but the argument of its tanh has
			 * only three integer bits.
			 */
			int16_t added = (int16_t)nn_rdp(nn_srdhm16(i, c), 4);
			int16_t cell = nn_saturate16(added + nn_srdhm16(f, *state++));
			int16_t narrow = nn_saturate16(cell * 2);
			int16_t y = nn_srdhm16(o, nn_quant_tanh16(narrow, 3));
			int32_t y8 = nn_rdp(y, 8);

			*next++ = cell;
			*out++ = (uint8_t)((y8 > 127 ? 127 : y8) + NN_Q16_LSTM_ZERO);
		}
	}
	return NN_OK;
}

#define MATRIX { NN_T(NN_TENSOR_QUANT8_ASYMM), 2, 2 }
#define STATE { NN_T(NN_TENSOR_QUANT16_SYMM), 2, 2 }

NN_OPERATION(QUANTIZED_16BIT_LSTM,
	NN_INPUTS(NN_Q16_LSTM_INPUTS, [0 ... NN_Q16_LSTM_BIAS - 1] = MATRIX,
		  [NN_Q16_LSTM_BIAS ... NN_Q16_LSTM_STATE_C - 1] = { NN_T(NN_TENSOR_INT32), 1, 1 },
		  [NN_Q16_LSTM_STATE_C] = STATE, [NN_Q16_LSTM_STATE_H] = MATRIX),
	NN_OUTPUTS(STATE, MATRIX),
	.dims = "bs us us us us uu uu uu uu u u u u bu bu",
	.infer = infer_quantized_16bit_lstm, .execute = execute_quantized_16bit_lstm);
