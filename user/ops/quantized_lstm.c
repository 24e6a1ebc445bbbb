/* SPDX-License-Identifier: MIT */
/*
 * QUANTIZED_LSTM: an integer LSTM cell with 8-bit weights and activations, 16-bit cell state, and
 * optional peepholes, layer normalisation and projection.
 */
#include <math.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/dot.h"
#include "ops/lstm_cell.h"
#include "ops/quantized_lstm.h"

/*
 * The inputs except layer_norm belong together like those of the float cell, and have the same
 * positions.
 */
static enum nn_status cell_shape(const struct nn_run *r, struct nn_qlstm *c)
{
	const struct nn_tensor *x = &r->inputs[NN_QLSTM_INPUT];
	struct nn_lstm_cell cell = {
		.weights = NN_QLSTM_WEIGHTS,
		.state_h = NN_QLSTM_STATE_H,
		.state_c = NN_QLSTM_STATE_C,
		.layer_norm = NN_QLSTM_LAYER_NORM,
	};
	enum nn_status status;

	status = nn_lstm_cell_shape(r, &cell, x->dims[0], x->dims[1]);
	*c = (struct nn_qlstm){
		.batch = cell.batch, .size = cell.size, .units = cell.units, .outputs = cell.outputs,
		.cifg = cell.cifg, .peephole = cell.peephole, .projection = cell.projection,
		.normalized = cell.normalized,
	};
	return status;
}

/* Encodes a factor as the reference computes it: as float. */
static bool encode(double factor, struct nn_multiplier *m)
{
	return nn_quant_encode((double)(float)factor, m);
}

/* Computes the multipliers of a gate, whose intermediate results have a scale of their own. */
static bool gate_multipliers(const struct nn_run *r, struct nn_qlstm *c, uint32_t g)
{
	const struct nn_tensor *in = r->inputs;
	const struct nn_tensor *peep = &in[nn_qlstm_peephole(g)];
	float scale = nn_run_float(r, NN_QLSTM_SCALES + g, 0);

	if (!(scale > 0) ||
	    !encode((double)(in[NN_QLSTM_WEIGHTS + g].scale * in[NN_QLSTM_INPUT].scale / scale),
		    &c->input[g]) ||
	    !encode((double)(in[NN_QLSTM_RECURRENT + g].scale * in[NN_QLSTM_STATE_H].scale / scale),
		    &c->recurrent[g]))
		return false;
	if (c->peephole && g != NN_QLSTM_CELL &&
	    !encode(ldexp((double)peep->scale, c->cell_shift) / (double)scale, &c->peep[g]))
		return false;
	return !c->normalized || encode((double)in[NN_QLSTM_LAYER_NORM + g].scale, &c->norm[g]);
}

/* Converts a real limit to units of `unit`, at most the type's `most`; 0 means no limit. */
static int32_t clip_limit(float limit, float unit, int32_t most)
{
	return limit > 0 ? (int32_t)fminf(limit / unit, (float)most) : 0;
}

/* Converts all scales to multipliers, and other real numbers to the types' units. */
static enum nn_status multipliers(const struct nn_run *r, struct nn_qlstm *c)
{
	double log = round(log2((double)r->inputs[NN_QLSTM_STATE_C].scale));
	float hidden_scale = nn_run_float(r, NN_QLSTM_HIDDEN_SCALE, 0);
	int32_t hidden_zero = nn_run_int(r, NN_QLSTM_HIDDEN_ZERO, 0);
	bool good;

	if (!(log >= -15 && log <= -9) ||
	    !(fabs(log2((double)r->inputs[NN_QLSTM_STATE_C].scale) - log) < 1e-3))
		return nn_run_fail(r, "the cell state's scale %g is no power of two from 2^-15 to "
				   "2^-9", (double)r->inputs[NN_QLSTM_STATE_C].scale);
	if (hidden_zero < INT8_MIN || hidden_zero > INT8_MAX)
		return nn_run_fail(r, "input %u: the zero point %d is not of 8 bits",
				   NN_QLSTM_HIDDEN_ZERO, hidden_zero);
	c->cell_shift = (int32_t)log;
	c->input_zero = r->inputs[NN_QLSTM_INPUT].zero_point;
	c->state_zero = r->inputs[NN_QLSTM_STATE_H].zero_point;
	c->hidden_zero = hidden_zero;
	c->cell_limit = clip_limit(nn_run_float(r, NN_QLSTM_CELL_CLIP, 0),
				   r->inputs[NN_QLSTM_STATE_C].scale, INT16_MAX);
	c->projection_limit = clip_limit(nn_run_float(r, NN_QLSTM_PROJECTION_CLIP, 0),
					 r->inputs[NN_QLSTM_PROJECTION].scale, INT8_MAX);
	good = hidden_scale > 0 && encode(0x1p-30 / (double)hidden_scale, &c->hidden);
	for (uint32_t g = c->cifg ? NN_QLSTM_FORGET : NN_QLSTM_IN; good && g < NN_QLSTM_GATES; g++)
		good = gate_multipliers(r, c, g);
	if (good && c->projection)
		good = encode((double)(r->inputs[NN_QLSTM_PROJECTION].scale * hidden_scale /
				       r->inputs[NN_QLSTM_STATE_H].scale), &c->project);
	return good ? NN_OK : nn_run_fail(r, "scales that cannot be represented");
}

enum nn_status nn_qlstm_read(const struct nn_run *r, struct nn_qlstm *c)
{
	enum nn_status status = cell_shape(r, c);

	return status ? status : multipliers(r, c);
}

static enum nn_status infer_quantized_lstm(struct nn_run *r)
{
	struct nn_qlstm c;
	enum nn_status status = nn_qlstm_read(r, &c);

	if (status)
		return status;
	for (uint32_t i = 0; i < 3; i++) {
		nn_tensor_like(&r->outputs[i],
			       &r->inputs[i == 1 ? NN_QLSTM_STATE_C : NN_QLSTM_STATE_H]);
		nn_recurrent_output(r, i, c.batch, i == 1 ? c.units : c.outputs, 0);
	}
	return NN_OK;
}

static int32_t saturate32(int64_t v)
{
	return (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}

static int8_t saturate8(int64_t v)
{
	return (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
}

static int32_t scale(int64_t v, struct nn_multiplier m)
{
	return nn_mbqm(saturate32(v), m.value, m.shift);
}

/* Computes weights[u] . (x - zero), plus the bias if there is one. */
static int64_t dot(const int8_t *weights, const int8_t *x, int32_t zero, uint32_t size)
{
	const struct nn_dot_q8 dot = nn_dot_i8(weights, x, size);

	return nn_dot_q8_sum(&dot, 0, zero, size);
}

void nn_qlstm_normalize(const int16_t *gain, const int32_t *bias, struct nn_multiplier norm,
			uint32_t units, int16_t *row)
{
	int64_t sum = 0, squares = 0, n = units, variance;
	int32_t mean, factor, shift;

	for (uint32_t u = 0; u < units; u++) {
		sum += row[u];
		squares += (int32_t)row[u] * row[u];
	}
	mean = (int32_t)(sum * 1024 / n);
	variance = (squares * (0x100000 / n) - (int64_t)mean * mean) / 0x100000;
	if (variance < 1)
		variance = 1;
	nn_quant_inverse_sqrt(saturate32(variance), &factor, &shift);
	for (uint32_t u = 0; u < units; u++) {
		int32_t shifted = saturate32(1024 * (int64_t)row[u] - mean);
		int64_t t = (int64_t)nn_mbqm(shifted, factor, shift) * gain[u] + bias[u];
		int32_t rounded = saturate32((t + (t > 0 ? 512 : -512)) / 1024);

		row[u] = nn_saturate16(nn_mbqm(rounded, norm.value, norm.shift + 12));
	}
}

/* Computes a gate of one batch row before its activation. */
static void gate(const struct nn_run *r, const struct nn_qlstm *c, uint32_t g, const int8_t *x,
		 const int8_t *h, const int16_t *state, int16_t *values)
{
	const int8_t *w = r->inputs[NN_QLSTM_WEIGHTS + g].data;
	const int8_t *recurrent = r->inputs[NN_QLSTM_RECURRENT + g].data;
	const int32_t *bias = r->inputs[NN_QLSTM_BIAS + g].data;
	const int16_t *peep = NULL;

	if (c->peephole && g != NN_QLSTM_CELL)
		peep = r->inputs[nn_qlstm_peephole(g)].data;
	for (uint32_t u = 0; u < c->units; u++) {
		int64_t sum = dot(w + (size_t)u * c->size, x, c->input_zero, c->size);

		if (!c->normalized)
			sum += bias[u];
		values[u] = nn_saturate16(scale(sum, c->input[g]));
		sum = dot(recurrent + (size_t)u * c->outputs, h, c->state_zero, c->outputs);
		values[u] = nn_saturate16((int64_t)values[u] + scale(sum, c->recurrent[g]));
		if (peep)
			values[u] = nn_saturate16((int64_t)values[u] +
					       scale((int64_t)peep[u] * state[u], c->peep[g]));
	}
	if (c->normalized)
		nn_qlstm_normalize(r->inputs[NN_QLSTM_LAYER_NORM + g].data, bias, c->norm[g],
				   c->units, values);
}

static void logistic(int16_t *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = nn_quant_logistic16(values[i], 3);
}

/* Computes the output of one batch row from its hidden values. */
static void project(const struct nn_run *r, const struct nn_qlstm *c, const int8_t *hidden,
		    int8_t *out)
{
	const int8_t *w = r->inputs[NN_QLSTM_PROJECTION].data;
	const int32_t *bias = r->inputs[NN_QLSTM_PROJECTION_BIAS].data;

	for (uint32_t o = 0; o < c->outputs; o++, w += c->units) {
		int64_t sum = dot(w, hidden, -c->hidden_zero, c->units);

		if (bias)
			sum += bias[o];
		sum = saturate8((int64_t)scale(sum, c->project) + c->state_zero);
		out[o] = (int8_t)nn_qlstm_clip((int32_t)sum, c->projection_limit);
	}
}

/* Computes one batch row; `scratch` has room for a row of each gate and of hidden values. */
static void step(const struct nn_run *r, const struct nn_qlstm *c, const int8_t *x,
		 const int8_t *h, const int16_t *state, int16_t *next, int8_t *out,
		 int16_t *scratch)
{
	int16_t *in = scratch, *forget = in + c->units, *cell = forget + c->units;
	int16_t *outgate = cell + c->units;
	int8_t *hidden = (int8_t *)(outgate + c->units);

	gate(r, c, NN_QLSTM_FORGET, x, h, state, forget);
	logistic(forget, c->units);
	if (c->cifg) {
		for (uint32_t u = 0; u < c->units; u++)
			in[u] = (int16_t)(INT16_MAX - forget[u]);
	} else {
		gate(r, c, NN_QLSTM_IN, x, h, state, in);
		logistic(in, c->units);
	}
	gate(r, c, NN_QLSTM_CELL, x, h, state, cell);
	for (uint32_t u = 0; u < c->units; u++) {
		int32_t candidate = nn_quant_tanh16(cell[u], 3);
		int32_t kept = nn_rdp(forget[u] * state[u], 15);
		int32_t added = nn_rdp(in[u] * candidate, 30 + c->cell_shift);

		next[u] = (int16_t)nn_qlstm_clip(nn_saturate16((int64_t)kept + added),
						 c->cell_limit);
	}
	gate(r, c, NN_QLSTM_OUT, x, h, next, outgate);
	logistic(outgate, c->units);
	for (uint32_t u = 0; u < c->units; u++) {
		int32_t squashed = nn_quant_tanh16(next[u], (uint32_t)(15 + c->cell_shift));

		hidden[u] = saturate8((int64_t)scale((int64_t)outgate[u] * squashed, c->hidden) -
				      c->hidden_zero);
	}
	if (c->projection)
		project(r, c, hidden, out);
	else
		memcpy(out, hidden, c->outputs);
}

static enum nn_status execute_quantized_lstm(struct nn_run *r)
{
	const int8_t *x = r->inputs[NN_QLSTM_INPUT].data, *h = r->inputs[NN_QLSTM_STATE_H].data;
	const int16_t *state = r->inputs[NN_QLSTM_STATE_C].data;
	int16_t *next = r->outputs[1].data, *scratch;
	int8_t *out = r->outputs[0].data;
	struct nn_qlstm c;
	enum nn_status status = nn_qlstm_read(r, &c);

	if (status)
		return status;
	scratch = nn_run_alloc(r, (size_t)c.units * (NN_QLSTM_GATES + 1), sizeof(*scratch));
	if (!scratch)
		return NN_OUT_OF_MEMORY;
	for (uint32_t b = 0; b < c.batch; b++) {
		step(r, &c, x, h, state, next, out, scratch);
		x += c.size;
		h += c.outputs;
		out += c.outputs;
		state += c.units;
		next += c.units;
	}
	memcpy(r->outputs[2].data, r->outputs[0].data, nn_tensor_size(&r->outputs[0]));
	return NN_OK;
}

#define BYTES { NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED), 2, 2 }
#define WEIGHTS { NN_T(NN_TENSOR_QUANT8_SYMM), 2, 2 }
#define VECTOR { NN_T(NN_TENSOR_QUANT16_SYMM), 1, 1 }
#define STATE { NN_T(NN_TENSOR_QUANT16_SYMM), 2, 2 }
#define BIAS { NN_T(NN_TENSOR_INT32), 1, 1 }
#define REAL { NN_T(NN_FLOAT32), 0, 0 }

NN_OPERATION(QUANTIZED_LSTM,
	NN_INPUTS(NN_QLSTM_INPUTS, BYTES, [NN_QLSTM_WEIGHTS ... NN_QLSTM_PEEPHOLE - 1] = WEIGHTS,
		  [NN_QLSTM_PEEPHOLE ... NN_QLSTM_BIAS - 1] = VECTOR,
		  [NN_QLSTM_BIAS ... NN_QLSTM_PROJECTION - 1] = BIAS,
		  [NN_QLSTM_PROJECTION] = WEIGHTS, [NN_QLSTM_PROJECTION_BIAS] = BIAS,
		  [NN_QLSTM_STATE_H] = BYTES, [NN_QLSTM_STATE_C] = STATE,
		  [NN_QLSTM_LAYER_NORM ... NN_QLSTM_CELL_CLIP - 1] = VECTOR,
		  [NN_QLSTM_CELL_CLIP ... NN_QLSTM_HIDDEN_ZERO - 1] = REAL,
		  [NN_QLSTM_HIDDEN_ZERO] = NN_SCALAR_INT, [NN_QLSTM_HIDDEN_SCALE] = REAL),
	NN_OUTPUTS(BYTES, STATE, BYTES),
	.dims = "bs " NN_LSTM_CELL_DIMS("u", "s", "o") "bo bu " NN_FOUR("u"),
	.omissible = NN_IN(1) | NN_IN(5) | NN_IN(9) | NN_IN(10) | NN_IN(11) | NN_IN(12) |
		    NN_IN(16) | NN_IN(17) | NN_IN(20) | NN_IN(21) | NN_IN(22) | NN_IN(23),
	.infer = infer_quantized_lstm, .execute = execute_quantized_lstm);
