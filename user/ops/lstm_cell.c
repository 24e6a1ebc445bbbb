/* SPDX-License-Identifier: MIT */
#include "ops/lstm_cell.h"

#include <math.h>
#include <string.h>

enum {
	RECURRENT = NN_LSTM_RECURRENT,
	PEEPHOLE = NN_LSTM_PEEPHOLE,
	BIAS = NN_LSTM_BIAS,
	PROJECTION = NN_LSTM_PROJECTION,
	PROJECTION_BIAS = NN_LSTM_PROJECTION_BIAS,
};

enum { SIGMOID = 6 };

static bool has(const struct nn_run *r, uint32_t index)
{
	return index < r->num_inputs && !r->inputs[index].omitted;
}

/*
 * Checks optional inputs that belong together: all inputs in `indices` must be present, or all must
 * be omitted.
 */
static enum nn_status all_or_none(const struct nn_run *r, const uint32_t *indices, uint32_t count,
				  const char *what, bool *present)
{
	*present = has(r, indices[0]);
	for (uint32_t i = 1; i < count; i++) {
		if (has(r, indices[i]) != *present)
			return nn_run_fail(r, "%s: input %u is %s, input %u is not", what,
					   indices[0], *present ? "there" : "omitted", indices[i]);
	}
	return NN_OK;
}

/* Finds which optional inputs a cell has, and checks that the set of optional inputs is valid. */
static enum nn_status presence(const struct nn_run *r, struct nn_lstm_cell *c)
{
	uint32_t w = c->weights, ln = c->layer_norm;
	uint32_t gate[] = { w, w + RECURRENT, w + BIAS };
	uint32_t peep[] = { w + PEEPHOLE + 1, w + PEEPHOLE + 2 };
	uint32_t norm[] = { ln + 1, ln + 2, ln + 3 };
	bool input_gate, peep_input = has(r, w + PEEPHOLE);
	enum nn_status status;

	status = all_or_none(r, gate, 3, "input gate", &input_gate);
	if (!status)
		status = all_or_none(r, peep, 2, "peephole", &c->peephole);
	if (!status && ln)
		status = all_or_none(r, norm, 3, "layer normalisation", &c->normalized);
	if (status)
		return status;
	c->cifg = !input_gate;
	c->projection = has(r, w + PROJECTION);
	if (peep_input != (c->peephole && !c->cifg))
		return nn_run_fail(r, "input %u, the input gate's peephole, must %s", w + PEEPHOLE,
				   peep_input ? "be omitted" : "be given");
	if (ln && has(r, ln) != (c->normalized && !c->cifg))
		return nn_run_fail(r, "input %u, the input gate's layer normalisation, must %s", ln,
				   has(r, ln) ? "be omitted" : "be given");
	if (has(r, w + PROJECTION_BIAS) && !c->projection)
		return nn_run_fail(r, "a projection bias without projection weights");
	return NN_OK;
}

enum nn_status nn_lstm_cell_shape(const struct nn_run *r, struct nn_lstm_cell *c, uint32_t batch,
				  uint32_t size)
{
	const struct nn_tensor *output = &r->inputs[c->weights + NN_LSTM_OUTPUT];
	const struct nn_tensor *recurrent = &r->inputs[c->weights + RECURRENT + NN_LSTM_OUTPUT];
	enum nn_status status = presence(r, c);

	if (status)
		return status;
	c->batch = batch;
	c->size = size;
	c->units = output->dims[0];
	c->outputs = recurrent->dims[1];
	if (!nn_recurrent_activation(c->activation))
		return nn_run_fail(r, "activation %d does not exist", c->activation);
	if (!(c->cell_clip >= 0) || !(c->projection_clip >= 0))
		return nn_run_fail(r, "clipping at %g and %g, must not be below 0",
				   (double)c->cell_clip, (double)c->projection_clip);
	if (r->inputs[c->state_h].dims[0] != batch || r->inputs[c->state_c].dims[0] != batch)
		return nn_run_fail(r, "inputs %u and %u are for %u and %u batches, must be for %u",
				   c->state_h, c->state_c, r->inputs[c->state_h].dims[0],
				   r->inputs[c->state_c].dims[0], batch);
	if (output->dims[1] != size)
		return nn_run_fail(r, "input %u has rows of %u, must have %u",
				   c->weights + NN_LSTM_OUTPUT, output->dims[1], size);
	if (!c->projection && c->outputs != c->units)
		return nn_run_fail(r, "%u units but %u outputs, without a projection", c->units,
				   c->outputs);
	return NN_OK;
}

/* For each batch b and unit u, computes values[b][u] += weight[u] * state[b][u]. */
static void add_peephole(const float *weight, const float *state, float *values, uint32_t batch,
			 uint32_t units)
{
	for (uint32_t b = 0; b < batch; b++, state += units, values += units) {
		for (uint32_t u = 0; u < units; u++)
			values[u] += weight[u] * state[u];
	}
}

void nn_lstm_normalize(float *values, const float *gain, const float *bias, uint32_t batch,
		       uint32_t units)
{
	for (uint32_t b = 0; b < batch; b++, values += units) {
		double mean = 0, variance = 0, factor;

		for (uint32_t u = 0; u < units; u++)
			mean += values[u];
		mean /= units;
		for (uint32_t u = 0; u < units; u++)
			variance += (values[u] - mean) * (values[u] - mean);
		variance /= units;
		factor = 1 / sqrt(variance == 0 ? 1e-8 : variance);
		for (uint32_t u = 0; u < units; u++)
			values[u] = (float)((values[u] - mean) * factor) * gain[u] + bias[u];
	}
}

static void clip(float *values, size_t count, float limit)
{
	for (size_t i = 0; limit > 0 && i < count; i++)
		values[i] = fminf(fmaxf(values[i], -limit), limit);
}

/*
 * Computes a gate without its activation function. If the cell has peepholes, the products of
 * `state` and the gate's peephole weights are added, except for NN_LSTM_CELL.
 */
static void gate(const struct nn_run *r, const struct nn_lstm_cell *c, uint32_t g, const float *x,
		 const float *aux, const float *h, const float *state, float *values)
{
	uint32_t peephole = g == NN_LSTM_OUTPUT ? 2 : g, w = c->weights;
	const float *bias = r->inputs[w + BIAS + g].data;

	for (size_t b = 0; b < c->batch; b++) {
		if (c->normalized)
			memset(values + b * c->units, 0, c->units * sizeof(*values));
		else
			memcpy(values + b * c->units, bias, c->units * sizeof(*values));
	}
	nn_recurrent_multiply(r->inputs[w + g].data, x, values, c->batch, c->units, c->size);
	if (aux)
		nn_recurrent_multiply(r->inputs[c->aux_weights + g].data, aux, values, c->batch,
				      c->units, c->size);
	nn_recurrent_multiply(r->inputs[w + RECURRENT + g].data, h, values, c->batch, c->units,
			      c->outputs);
	if (c->peephole && g != NN_LSTM_CELL)
		add_peephole(r->inputs[w + PEEPHOLE + peephole].data, state, values, c->batch,
			     c->units);
	if (c->normalized)
		nn_lstm_normalize(values, r->inputs[c->layer_norm + g].data, bias, c->batch,
				  c->units);
}

/*
 * Computes the output of a step by the projection, or copies `m` if the cell has no projection. The
 * input `m` [batch, units] is the activation of the cell state multiplied by the output gate.
 */
static void project(const struct nn_run *r, const struct nn_lstm_cell *c, const float *m,
		    float *next_h)
{
	const float *bias = nn_recurrent_input(r, c->weights + PROJECTION_BIAS);
	size_t count = (size_t)c->batch * c->outputs;

	if (!c->projection) {
		memcpy(next_h, m, count * sizeof(*m));
		return;
	}
	memset(next_h, 0, count * sizeof(*next_h));
	for (size_t i = 0; bias && i < count; i++)
		next_h[i] = bias[i % c->outputs];
	nn_recurrent_multiply(r->inputs[c->weights + PROJECTION].data, m, next_h, c->batch,
			      c->outputs, c->units);
	clip(next_h, count, c->projection_clip);
}

/*
 * Computes one step of an LSTM cell. Reads x [batch, size], aux (or NULL), the output state h
 * [batch, outputs] and the cell state s [batch, units]. Writes the new output state next_h, which
 * must not overlap h, and the new cell state next_s, which may be s. The buffer `scratch` is large
 * enough for all gates.
 */
static void step(const struct nn_run *r, const struct nn_lstm_cell *c, const float *x,
		 const float *aux, const float *h, const float *s, float *next_h, float *next_s,
		 float *scratch)
{
	size_t count = (size_t)c->batch * c->units;
	float *in = scratch, *forget = in + count, *cell = forget + count, *out = cell + count;

	gate(r, c, NN_LSTM_FORGET, x, aux, h, s, forget);
	nn_recurrent_activate(SIGMOID, forget, count);
	if (c->cifg) {
		for (size_t i = 0; i < count; i++)
			in[i] = 1 - forget[i];
	} else {
		gate(r, c, NN_LSTM_INPUT, x, aux, h, s, in);
		nn_recurrent_activate(SIGMOID, in, count);
	}
	gate(r, c, NN_LSTM_CELL, x, aux, h, s, cell);
	nn_recurrent_activate(c->activation, cell, count);
	for (size_t i = 0; i < count; i++)
		next_s[i] = forget[i] * s[i] + in[i] * cell[i];
	clip(next_s, count, c->cell_clip);

	gate(r, c, NN_LSTM_OUTPUT, x, aux, h, next_s, out);
	nn_recurrent_activate(SIGMOID, out, count);
	memcpy(cell, next_s, count * sizeof(*cell));
	nn_recurrent_activate(c->activation, cell, count);
	for (size_t i = 0; i < count; i++)
		out[i] *= cell[i];
	project(r, c, out, next_h);
}

enum nn_status nn_lstm_sequence(struct nn_run *r, const struct nn_lstm_cell *c,
				const struct nn_sequence *s, const float *x, const float *aux,
				bool backward, float *out, uint32_t column, uint32_t width,
				float *last_h, float *last_s)
{
	size_t next_x = (size_t)s->batch * s->size, count = (size_t)s->batch * c->outputs;
	size_t state_count = (size_t)s->batch * c->units;
	float *hidden = nn_run_alloc(r, 2 * count, sizeof(*hidden));
	float *state = nn_run_alloc(r, state_count, sizeof(*state));
	float *scratch = nn_run_alloc(r, NN_LSTM_GATES * state_count, sizeof(*scratch));
	const float *h = r->inputs[c->state_h].data;

	if (!hidden || !state || !scratch)
		return NN_OUT_OF_MEMORY;
	memcpy(state, r->inputs[c->state_c].data, state_count * sizeof(*state));
	for (uint32_t i = 0; i < s->steps; i++) {
		uint32_t t = backward ? s->steps - 1 - i : i;
		float *next = hidden + (i & 1) * count;

		step(r, c, x + t * next_x, aux ? aux + t * next_x : NULL, h, state, next, state,
		     scratch);
		nn_sequence_write(out, s, t, next, c->outputs, column, width);
		h = next;
	}
	if (last_h)
		memcpy(last_h, h, count * sizeof(*h));
	if (last_s)
		memcpy(last_s, state, state_count * sizeof(*state));
	return NN_OK;
}
