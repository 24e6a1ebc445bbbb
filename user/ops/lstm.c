/* SPDX-License-Identifier: MIT */
/*
 * LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: run the float LSTM cell once, or for each step of a
 * sequence.
 */
#include <string.h>

#include "ops/check.h"
#include "ops/lstm_cell.h"

/* Indices of the operations' inputs that follow the weights. */
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

	*c = lstm_cell(r, single ? 23 : 24);
	*s = single ? (struct nn_sequence){ .steps = 1, .batch = x->dims[0], .size = x->dims[1],
					    .time_major = true } :
		      nn_sequence_of(r, 0, nn_run_bool(r, 23, false));
	return nn_lstm_cell_shape(r, c, s->batch, s->size);
}

/*
 * The shape rule of LSTM. The operation LSTM is treated as a sequence of one step. The four outputs
 * of LSTM are scratch memory, two states, and the result.
 */
static enum nn_status infer_lstm(struct nn_run *r)
{
	const bool single = r->op->code == NN_OP_LSTM;
	struct nn_sequence s;
	struct nn_lstm_cell c;
	enum nn_status status = nn_lstm_shape(r, &s, &c);

	if (status)
		return status;
	if (single && c.units > UINT32_MAX / NN_LSTM_GATES)
		return nn_run_fail(r, "%u units", c.units);
	if (single)
		nn_recurrent_output(r, 0, c.batch, c.units * (c.cifg ? 3 : 4), 0);
	else
		nn_sequence_output(r, 0, &s, c.outputs);
	if (r->num_outputs > 1) {
		nn_recurrent_output(r, 1, s.batch, c.outputs, 0);
		nn_recurrent_output(r, 2, s.batch, c.units, 0);
	}
	if (single)
		nn_recurrent_output(r, 3, c.batch, c.outputs, 0);
	return NN_OK;
}

static enum nn_status execute_lstm(struct nn_run *r)
{
	const bool single = r->op->code == NN_OP_LSTM;
	struct nn_sequence s;
	struct nn_lstm_cell c;
	enum nn_status status = nn_lstm_shape(r, &s, &c);
	const float *x;

	if (status)
		return status;
	x = nn_sequence_read(r, 0, &s);
	if (!x)
		return NN_OUT_OF_MEMORY;
	/*
	 * Clear the scratch output of LSTM, because no other code writes to this output; any values
	 * are valid.
	 */
	if (single)
		memset(r->outputs[0].data, 0, nn_tensor_size(&r->outputs[0]));
	return nn_lstm_sequence(r, &c, &s, x, NULL, false, r->outputs[single ? 3 : 0].data, 0,
				c.outputs, r->num_outputs > 1 ? r->outputs[1].data : NULL,
				r->num_outputs > 1 ? r->outputs[2].data : NULL);
}

/*
 * The rules of inputs 1 to 22 of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: weights, states, activation
 * and clips.
 */
#define CELL_RULES NN_LSTM_CELL_RULES(1), [STATE_H ... STATE_C] = { NN_SAME, 2, 2 },	\
		   [ACTIVATION] = NN_SCALAR_INT, [CELL_CLIP ... PROJECTION_CLIP] = NN_SCALAR_FLOAT

static enum nn_status check_lstm(const struct nn_check *c)
{
	const uint32_t count = c->operation->num_inputs;

	return count == 23 || count == 27 ? NN_OK :
	       nn_check_fail(c, "%u inputs, must be 23 or 27", count);
}

NN_OPERATION(LSTM,
	NN_INPUTS(23, { NN_FLOATS, 2, 2 }, CELL_RULES, [23 ... 26] = { NN_SAME, 1, 1 }),
	NN_OUTPUTS([0 ... 3] = { NN_SAME, 2, 2 }),
	.dims = "bs " NN_LSTM_CELL_DIMS("u", "s", "o") "bo bu - - - " NN_FOUR("u"),
	.omissible = NN_IN(1) | NN_IN(5) | NN_IN(9) | NN_IN(10) | NN_IN(11) | NN_IN(12) |
		    NN_IN(16) | NN_IN(17) | NN_IN(23) | NN_IN(24) | NN_IN(25) | NN_IN(26),
	.float16_as_float32 = true,
	.check = check_lstm, .infer = infer_lstm, .execute = execute_lstm);

static enum nn_status check_unidirectional_lstm(const struct nn_check *c)
{
	return c->operation->num_outputs != 2 ? NN_OK :
	       nn_check_fail(c, "2 outputs, must be 1 or 3");
}

NN_OPERATION(UNIDIRECTIONAL_SEQUENCE_LSTM,
	NN_INPUTS(28, { NN_FLOATS, 3, 3 }, CELL_RULES, [23] = NN_SCALAR_BOOL,
		  [24 ... 27] = { NN_SAME, 1, 1 }),
	NN_OUTPUTS_FROM(1, { NN_SAME, 3, 3 }, { NN_SAME, 2, 2 }, { NN_SAME, 2, 2 }),
	.dims = "xys " NN_LSTM_CELL_DIMS("u", "s", "o") "*o *u - - - - " NN_FOUR("u"),
	.omissible = NN_IN(1) | NN_IN(5) | NN_IN(9) | NN_IN(10) | NN_IN(11) | NN_IN(12) |
		    NN_IN(16) | NN_IN(17) | NN_IN(24) | NN_IN(25) | NN_IN(26) | NN_IN(27),
	.float16_as_float32 = true,
	.check = check_unidirectional_lstm, .infer = infer_lstm,
	.execute = execute_lstm);
