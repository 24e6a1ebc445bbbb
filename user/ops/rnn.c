/* SPDX-License-Identifier: MIT */
/*
 * RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN: the basic
 * recurrent cell h' = act(W x + R h + b), once or along a sequence.
 */
#include <string.h>

#include "ops/check.h"
#include "ops/recurrent.h"

/*
 * Indices of a cell's inputs. The index of the auxiliary weights is 0 if the cell has no auxiliary
 * weights.
 */
struct cell {
	uint32_t weights, recurrent, bias, state, aux_weights;
	int32_t activation;

	/* The fields below are set by cell_shape(). */
	uint32_t batch, size, units;
	uint32_t aux_size;		/* row size of the auxiliary input */
};

/* Indices of the inputs of BIDIRECTIONAL_SEQUENCE_RNN that follow the inputs of both cells. */
enum { AUX = 9, FW_AUX_WEIGHTS, BW_AUX_WEIGHTS, ACTIVATION, TIME_MAJOR, MERGE };

/*
 * Checks the dimensions of a cell's weights and state for inputs of `size` and auxiliary inputs of
 * `aux_size` elements.
 */
static enum nn_status cell_shape(const struct nn_run *r, struct cell *c, uint32_t batch,
				 uint32_t size, uint32_t aux_size)
{
	c->batch = batch;
	c->size = size;
	c->aux_size = aux_size;
	c->units = r->inputs[c->bias].dims[0];
	if (r->inputs[c->weights].dims[1] != size || r->inputs[c->state].dims[0] != batch)
		return nn_run_fail(r, "inputs %u and %u are for %u numbers and %u batches, must be "
				   "for %u and %u", c->weights, c->state,
				   r->inputs[c->weights].dims[1], r->inputs[c->state].dims[0], size,
				   batch);
	if (!nn_recurrent_activation(c->activation))
		return nn_run_fail(r, "activation %d does not exist", c->activation);
	return NN_OK;
}

/*
 * Computes the next state of a batch, `next`, from the inputs `x` and `aux` (or NULL) and the
 * current `state`.
 */
static void cell_step(const struct nn_run *r, const struct cell *c, const float *x,
		      const float *aux, const float *state, float *next)
{
	const float *bias = r->inputs[c->bias].data;

	for (size_t b = 0; b < c->batch; b++)
		memcpy(next + b * c->units, bias, c->units * sizeof(*bias));
	nn_recurrent_multiply(r->inputs[c->weights].data, x, next, c->batch, c->units, c->size);
	nn_recurrent_multiply(r->inputs[c->recurrent].data, state, next, c->batch, c->units,
			      c->units);
	if (aux)
		nn_recurrent_multiply(r->inputs[c->aux_weights].data, aux, next, c->batch, c->units,
				      c->aux_size);
	nn_recurrent_activate(c->activation, next, (size_t)c->batch * c->units);
}

/*
 * Reads the arguments of RNN or UNIDIRECTIONAL_SEQUENCE_RNN; an RNN is treated as a sequence of one
 * step.
 */
static enum nn_status read_one(const struct nn_run *r, struct nn_sequence *s, struct cell *c)
{
	const struct nn_tensor *x = &r->inputs[0];
	int32_t time_major = nn_run_int(r, 6, 0);

	*c = (struct cell){ .weights = 1, .recurrent = 2, .bias = 3, .state = 4,
			    .activation = nn_run_int(r, 5, 0) };
	if (time_major != 0 && time_major != 1)
		return nn_run_fail(r, "timeMajor is %d, must be 0 or 1", time_major);
	*s = r->op->code == NN_OP_RNN ?
	     (struct nn_sequence){ .steps = 1, .batch = x->dims[0], .size = x->dims[1],
				   .time_major = true } : nn_sequence_of(r, 0, time_major);
	return cell_shape(r, c, s->batch, s->size, 0);
}

/*
 * Runs a cell along a sequence, forwards or backwards, and writes the results to the cell's columns
 * of an output. The output `state` (or NULL) receives the last hidden state.
 */
static enum nn_status run_sequence(struct nn_run *r, const struct cell *c,
				   const struct nn_sequence *s, const float *x, const float *aux,
				   bool backward, float *out, uint32_t column, uint32_t width,
				   float *state)
{
	size_t step = (size_t)s->batch * c->size, aux_step = (size_t)s->batch * c->aux_size;
	size_t count = (size_t)s->batch * c->units;
	float *hidden = nn_run_alloc(r, 2 * count, sizeof(*hidden));
	const float *now = r->inputs[c->state].data;

	if (!hidden)
		return NN_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < s->steps; i++) {
		uint32_t t = backward ? s->steps - 1 - i : i;
		float *next = hidden + (i & 1) * count;

		cell_step(r, c, x + t * step, aux ? aux + t * aux_step : NULL, now, next);
		nn_sequence_write(out, s, t, next, c->units, column, width);
		now = next;
	}
	if (state)
		memcpy(state, now, count * sizeof(*state));
	return NN_OK;
}

/*
 * The shape rule of RNN, which is treated as a sequence of one step. Both outputs of RNN are the
 * new state.
 */
static enum nn_status infer_rnn(struct nn_run *r)
{
	struct cell c;
	struct nn_sequence s;
	enum nn_status status = read_one(r, &s, &c);

	if (status)
		return status;
	if (r->op->code == NN_OP_RNN)
		nn_recurrent_output(r, 0, s.batch, c.units, 0);
	else
		nn_sequence_output(r, 0, &s, c.units);
	if (r->num_outputs > 1)
		nn_recurrent_output(r, 1, s.batch, c.units, 0);
	return NN_OK;
}

static enum nn_status execute_rnn(struct nn_run *r)
{
	struct cell c;
	struct nn_sequence s;
	const float *x;
	enum nn_status status = read_one(r, &s, &c);

	if (status)
		return status;
	x = nn_sequence_read(r, 0, &s);
	if (!x)
		return NN_OUT_OF_MEMORY;
	return run_sequence(r, &c, &s, x, NULL, false, r->outputs[0].data, 0, c.units,
			    r->num_outputs > 1 ? r->outputs[1].data : NULL);
}

/*
 * Reads the forward cell, the backward cell, the sequence and the auxiliary sequence. If there are
 * auxiliary weights, both cells also read the auxiliary input. If there is an auxiliary input but
 * no auxiliary weights, the backward cell reads only the auxiliary input.
 */
static enum nn_status read_both(const struct nn_run *r, struct cell *fw, struct cell *bw,
				struct nn_sequence *s, struct nn_sequence *aux_s)
{
	const struct nn_tensor *aux = &r->inputs[AUX];
	bool weights = !r->inputs[FW_AUX_WEIGHTS].omitted;
	int32_t activation = nn_run_int(r, ACTIVATION, 0);
	bool time_major = nn_run_bool(r, TIME_MAJOR, false);
	enum nn_status status;

	*s = nn_sequence_of(r, 0, time_major);
	*aux_s = nn_sequence_of(r, AUX, time_major);
	if (weights == r->inputs[BW_AUX_WEIGHTS].omitted)
		return nn_run_fail(r, "auxiliary weights of one direction only");
	if (weights && aux->omitted)
		return nn_run_fail(r, "auxiliary weights without an auxiliary input");
	*fw = (struct cell){
		.weights = 1, .recurrent = 2, .bias = 3, .state = 4,
		.aux_weights = weights ? FW_AUX_WEIGHTS : 0,
		.activation = activation,
	};
	*bw = (struct cell){
		.weights = 5, .recurrent = 6, .bias = 7, .state = 8,
		.aux_weights = weights ? BW_AUX_WEIGHTS : 0,
		.activation = activation,
	};
	status = cell_shape(r, fw, s->batch, s->size, aux_s->size);
	if (!status)
		status = cell_shape(r, bw, s->batch, weights ? s->size : aux_s->size, aux_s->size);
	return status;
}

static enum nn_status infer_bidirectional_rnn(struct nn_run *r)
{
	struct nn_sequence s, aux_s;
	struct cell fw = { 0 }, bw = { 0 };
	enum nn_status status = read_both(r, &fw, &bw, &s, &aux_s);
	const uint32_t units[] = { fw.units, bw.units };

	return status ? status : nn_bidirectional_outputs(r, nn_run_bool(r, MERGE, false), &s, units,
							  2, units);
}

static enum nn_status execute_bidirectional_rnn(struct nn_run *r)
{
	bool merge = nn_run_bool(r, MERGE, false);
	bool linked = !r->inputs[AUX].omitted;
	uint32_t sequences = merge ? 1 : 2, width;
	bool states = r->num_outputs > sequences;
	const float *x, *aux = NULL;
	struct nn_sequence s, aux_s;
	struct cell fw, bw;
	enum nn_status status = read_both(r, &fw, &bw, &s, &aux_s);

	if (status)
		return status;
	x = nn_sequence_read(r, 0, &s);
	if (linked)
		aux = nn_sequence_read(r, AUX, &aux_s);
	if (!x || (linked && !aux))
		return NN_OUT_OF_MEMORY;
	width = merge ? fw.units + bw.units : fw.units;
	status = run_sequence(r, &fw, &s, x, fw.aux_weights ? aux : NULL, false,
			      r->outputs[0].data, 0, width,
			      states ? r->outputs[sequences].data : NULL);
	if (status)
		return status;
	return run_sequence(r, &bw, &s, aux && !bw.aux_weights ? aux : x,
			    bw.aux_weights ? aux : NULL, true, r->outputs[merge ? 0 : 1].data,
			    merge ? fw.units : 0, merge ? width : bw.units,
			    states ? r->outputs[sequences + 1].data : NULL);
}

NN_OPERATION(RNN,
	NN_INPUTS(6, { NN_FLOATS, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 1, 1 },
		  { NN_SAME, 2, 2 }, NN_SCALAR_INT),
	NN_OUTPUTS({ NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }),
	.dims = "bs us uu u bu",
	.float16_as_float32 = true,
	.infer = infer_rnn, .execute = execute_rnn);

NN_OPERATION(UNIDIRECTIONAL_SEQUENCE_RNN,
	NN_INPUTS(7, { NN_FLOATS, 3, 3 }, { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 1, 1 },
		  { NN_SAME, 2, 2 }, NN_SCALAR_INT, NN_SCALAR_INT),
	NN_OUTPUTS_FROM(1, { NN_SAME, 2, 3 }, { NN_SAME, 2, 3 }),
	.dims = "xys us uu u *u",
	.float16_as_float32 = true,
	.infer = infer_rnn, .execute = execute_rnn);

NN_OPERATION(BIDIRECTIONAL_SEQUENCE_RNN,
	NN_INPUTS(15, { NN_FLOATS, 3, 3 },
		  { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 1, 1 }, { NN_SAME, 2, 2 },
		  { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }, { NN_SAME, 1, 1 }, { NN_SAME, 2, 2 },
		  { NN_SAME, 3, 3 }, { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 },
		  NN_SCALAR_INT, NN_SCALAR_BOOL, NN_SCALAR_BOOL),
	NN_OUTPUTS_FROM(1, { NN_SAME, 2, 3 }, { NN_SAME, 2, 3 }, { NN_SAME, 2, 3 }, { NN_SAME, 2, 3 }),
	.dims = "xys us uu u *u vt vv v *v xya ua va",
	.omissible = NN_IN(9) | NN_IN(10) | NN_IN(11), .float16_as_float32 = true,
	.infer = infer_bidirectional_rnn, .execute = execute_bidirectional_rnn);
