/* SPDX-License-Identifier: MIT */
/*
 * LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: the float LSTM cell, once or along a
 * sequence.
 */
#include <string.h>

#include "ops/check.h"
#include "ops/lstm_cell.h"

/* Positions of what follows the weights. */
enum { STATE_H = 18, STATE_C = 19, ACTIVATION = 20, CELL_CLIP = 21, PROJECTION_CLIP = 22 };

static struct nn_lstm_cell lstm_cell(const struct nn_run *r, uint32_t layer_norm)
{
	return (struct nn_lstm_cell){
		.weights = 1,
		.state_h = STATE_H,
		.state_c = STATE_C,
		.layer_norm = layer_norm < r->num_inputs ? layer_norm : 0,
		.activation = nn_run_int(r, ACTIVATION, 0),
		.cell_clip = nn_run_float(r, CELL_CLIP, 0),
		.projection_clip = nn_run_float(r, PROJECTION_CLIP, 0),
	};
}

enum nn_status nn_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
			     struct nn_lstm_cell *c)
{
	bool single = r->op->code == NN_OP_LSTM;
	const struct nn_tensor *x = &r->inputs[0];
	enum nn_status status;

	*c = lstm_cell(r, single ? 23 : 24);
	if (!single) {
		status = nn_sequence_shape(r, 0, nn_run_bool(r, 23, false), s);
		return status ? status : nn_lstm_cell_shape(r, c, s->batch, s->size);
	}
	if (x->rank != 2)
		return nn_run_fail(r, "input 0 has %u dimensions, must have 2", x->rank);
	*s = (struct nn_sequence){ .steps = 1, .batch = x->dims[0], .size = x->dims[1],
				   .time_major = true };
	return nn_lstm_cell_shape(r, c, s->batch, s->size);
}

static enum nn_status infer_lstm(struct nn_run *r)
{
	struct nn_sequence s;
	struct nn_lstm_cell c;
	enum nn_status status = nn_lstm_shape(r, &s, &c);

	if (status)
		return status;
	if (c.units > UINT32_MAX / NN_LSTM_GATES)
		return nn_run_fail(r, "%u units", c.units);
	nn_recurrent_output(r, 0, c.batch, c.units * (c.cifg ? 3 : 4), 0);
	nn_recurrent_output(r, 1, c.batch, c.outputs, 0);
	nn_recurrent_output(r, 2, c.batch, c.units, 0);
	nn_recurrent_output(r, 3, c.batch, c.outputs, 0);
	return NN_OK;
}

static enum nn_status execute_lstm(struct nn_run *r)
{
	struct nn_sequence s;
	struct nn_lstm_cell c;
	enum nn_status status = nn_lstm_shape(r, &s, &c);
	float *scratch;

	if (status)
		return status;
	scratch = nn_run_alloc(r, nn_lstm_cell_scratch(&c), sizeof(*scratch));
	if (!scratch)
		return NN_OUT_OF_MEMORY;
	/* What the scratch output holds is nobody's business; zero is as good as any. */
	memset(r->outputs[0].data, 0, nn_tensor_size(&r->outputs[0]));
	nn_lstm_cell_step(r, &c, r->inputs[0].data, NULL, r->inputs[STATE_H].data,
			  r->inputs[STATE_C].data, r->outputs[1].data, r->outputs[2].data, scratch);
	memcpy(r->outputs[3].data, r->outputs[1].data, nn_tensor_size(&r->outputs[1]));
	return NN_OK;
}

static enum nn_status infer_unidirectional_lstm(struct nn_run *r)
{
	struct nn_sequence s;
	struct nn_lstm_cell c;
	enum nn_status status = nn_lstm_shape(r, &s, &c);

	if (status)
		return status;
	nn_sequence_output(r, 0, &s, c.outputs);
	if (r->num_outputs > 1) {
		nn_recurrent_output(r, 1, s.batch, c.outputs, 0);
		nn_recurrent_output(r, 2, s.batch, c.units, 0);
	}
	return NN_OK;
}

static enum nn_status execute_unidirectional_lstm(struct nn_run *r)
{
	struct nn_sequence s;
	struct nn_lstm_cell c;
	enum nn_status status = nn_lstm_shape(r, &s, &c);
	const float *x;

	if (status)
		return status;
	x = nn_sequence_read(r, 0, &s);
	if (!x)
		return NN_OUT_OF_MEMORY;
	return nn_lstm_sequence(r, &c, &s, x, NULL, false, r->outputs[0].data, 0, c.outputs,
				r->num_outputs > 1 ? r->outputs[1].data : NULL,
				r->num_outputs > 1 ? r->outputs[2].data : NULL);
}

/* Inputs 0 to 22: the sequence or vector, weights, states, activation and clips. */
static enum nn_status check_common(const struct nn_check *c, uint8_t input_rank)
{
	enum nn_status status = nn_check_input(c, 0, (struct nn_rule){ NN_FLOATS, input_rank,
								       input_rank });

	if (!status)
		status = nn_lstm_cell_check(c, 1);
	for (uint32_t i = STATE_H; !status && i <= STATE_C; i++)
		status = nn_check_input(c, i, (struct nn_rule){ NN_SAME, 2, 2 });
	if (!status)
		status = nn_check_input(c, ACTIVATION, (struct nn_rule)NN_SCALAR_INT);
	for (uint32_t i = CELL_CLIP; !status && i <= PROJECTION_CLIP; i++)
		status = nn_check_input(c, i, (struct nn_rule)NN_SCALAR_FLOAT);
	return status;
}

static enum nn_status check_lstm(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 23, 27, 4, 4);

	if (!status && c->operation->num_inputs != 23 && c->operation->num_inputs != 27)
		status = nn_check_fail(c, "%u inputs, must be 23 or 27", c->operation->num_inputs);
	if (!status)
		status = check_common(c, 2);
	for (uint32_t i = 23; !status && i < c->operation->num_inputs; i++)
		status = nn_check_input(c, i, (struct nn_rule){ NN_SAME, 1, 1 });
	for (uint32_t i = 0; !status && i < 4; i++)
		status = nn_check_output(c, i, (struct nn_rule){ NN_SAME, 2, 2 });
	return status;
}

NN_OPERATION(LSTM,
	.omissible = NN_IN(1) | NN_IN(5) | NN_IN(9) | NN_IN(10) | NN_IN(11) | NN_IN(12) |
		    NN_IN(16) | NN_IN(17) | NN_IN(23) | NN_IN(24) | NN_IN(25) | NN_IN(26),
	.float16_as_float32 = true,
	.check = check_lstm, .infer = infer_lstm, .execute = execute_lstm);

static enum nn_status check_unidirectional_lstm(const struct nn_check *c)
{
	enum nn_status status = nn_check_counts(c, 28, 28, 1, 3);

	if (!status && c->operation->num_outputs == 2)
		status = nn_check_fail(c, "2 outputs, must be 1 or 3");
	if (!status)
		status = check_common(c, 3);
	if (!status)
		status = nn_check_input(c, 23, (struct nn_rule)NN_SCALAR_BOOL);
	for (uint32_t i = 24; !status && i < 28; i++)
		status = nn_check_input(c, i, (struct nn_rule){ NN_SAME, 1, 1 });
	for (uint32_t i = 0; !status && i < c->operation->num_outputs; i++)
		status = nn_check_output(c, i, (struct nn_rule){ NN_SAME, i ? 2 : 3, i ? 2 : 3 });
	return status;
}

NN_OPERATION(UNIDIRECTIONAL_SEQUENCE_LSTM,
	.omissible = NN_IN(1) | NN_IN(5) | NN_IN(9) | NN_IN(10) | NN_IN(11) | NN_IN(12) |
		    NN_IN(16) | NN_IN(17) | NN_IN(24) | NN_IN(25) | NN_IN(26) | NN_IN(27),
	.float16_as_float32 = true,
	.check = check_unidirectional_lstm, .infer = infer_unidirectional_lstm,
	.execute = execute_unidirectional_lstm);
