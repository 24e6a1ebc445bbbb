/* SPDX-License-Identifier: MIT */
/*
 * Recurrent operations in float32. In TensorFlow Lite the states of recurrent operations are
 * variable tensors. In the NNAPI model the states are inputs and outputs, and the outputs are
 * copied to the variable tensors after each execution. Inputs before those of the layer
 * normalisation have the same order in TensorFlow Lite and NNAPI.
 */
#include "clients/tflite/operations.h"

/* An operation in construction. */
struct cell {
	uint32_t in[64], out[8], ins, outs;
	uint32_t place[2];		/* index in `out` of each output of the node */
};

static void append(struct cell *c, uint32_t operand)
{
	c->in[c->ins++] = operand;
}

/*
 * Returns input i. Weights of int8 are dequantised once, during compilation, because NNAPI has no
 * cells with 8-bit weights and float32 activations.
 */
static uint32_t real_in(struct lowering *t, uint32_t i)
{
	const struct tfl_tensor *tensor = tensor_in(t, i);

	if (tensor->type == TFL_FLOAT32)
		return in(t, i);
	if (tensor->type != TFL_INT8 || !tensor_is_constant(tensor))
		refuse(t, "input %u is %s, must be float32 or constant int8", i,
		       tensor_type_name(tensor->type));
	tfl(t)->dequantises = true;
	return float_in(t, i);
}

/*
 * Adds inputs [from, to) of the node. For a missing input, adds an omitted operand of the rank in
 * `ranks`.
 */
static void inputs(struct lowering *t, struct cell *c, uint32_t from, uint32_t to,
		   const char *ranks)
{
	for (uint32_t i = from; i < to && !t->refused; i++) {
		const struct tfl_tensor *tensor = tensor_in(t, i);

		append(c, tensor ? real_in(t, i) :
		       omitted(t, in(t, 0), (uint32_t)(ranks[i - from] - '0')));
	}
}

/*
 * Adds an activation. Rejects the node unless the recurrent operations of both TensorFlow Lite and
 * NNAPI have the activation `code`.
 */
static void activation(struct lowering *t, struct cell *c, int code)
{
	if (code != TFL_ACT_NONE && code != TFL_ACT_RELU && code != TFL_ACT_RELU6 &&
	    code != TFL_ACT_TANH && code != TFL_ACT_SIGMOID)
		refuse(t, "activation %d is not supported", code);
	append(c, scalar_int(t, code));
}

static void clips(struct lowering *t, struct cell *c, float cell, float projection)
{
	append(c, scalar_float(t, NO_OPERAND, cell));
	append(c, scalar_float(t, NO_OPERAND, projection));
}

static void output(struct lowering *t, struct cell *c, uint32_t i)
{
	c->place[i] = c->outs;
	c->out[c->outs++] = out_like(t, i);
}

static void states(struct lowering *t, struct cell *c, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		c->out[c->outs++] = new_state(t, i);
}

/*
 * Emits a cell's operation. The operation's work is the work of one step times the number of steps.
 */
static void finish(struct lowering *t, struct cell *c, uint32_t outputs, uint64_t steps)
{
	emit_many(t, t->code, c->outs, c->out, c->ins, c->in);
	for (uint32_t i = 0; i < outputs; i++)
		set(t, i, c->out[c->place[i]]);
	for (uint32_t i = 1; i < in_count(t); i++)
		if (tensor_is_constant(tensor_in(t, i)))
			t->work += steps * tensor_count(tensor_in(t, i));
}

static uint64_t steps(struct lowering *t, bool time_major)
{
	const struct shape *shape = shape_in(t, 0);

	return shape->rank == 3 ? (uint64_t)shape->dims[time_major ? 0 : 1] : 1;
}

static const char lstm_ranks[] = "3" "2222" "2222" "111" "1111" "21" "22" "1111";

static void layer_norm(struct lowering *t, struct cell *c)
{
	if (in_count(t) > 20)
		return inputs(t, c, 20, 24, &lstm_ranks[20]);
	for (int i = 0; i < 4; i++)
		append(c, omitted(t, in(t, 0), 1));
}

void lstm_op(struct lowering *t)
{
	const struct tfl_lstm *p = params(t);
	const struct tfl_tensor *x = tensor_in(t, 0), *cell = tensor_in(t, 19);
	struct cell c = { .ins = 0 };

	if (p->kernel_type)
		return basic_lstm(t);
	if (x->type == TFL_INT8)
		return integer_lstm(t, p->cell_clip, p->proj_clip);
	if (in_count(t) < 20 || !cell || cell->dims->size != 2 || x->dims->size != 2)
		return refuse(t, "%u inputs or a rank does not fit", in_count(t));
	inputs(t, &c, 0, 20, lstm_ranks);
	activation(t, &c, p->activation);
	clips(t, &c, p->cell_clip, p->proj_clip);
	layer_norm(t, &c);
	/* NNAPI has an output for scratch memory of the gates. */
	c.out[c.outs++] = result(t, in(t, 0), 2, (uint32_t[]){
		dim(cell, 0), dim(cell, 1) * (tensor_in(t, 1) ? 4 : 3) });
	states(t, &c, 18, 20);
	output(t, &c, 0);
	finish(t, &c, 1, 1);
}

void sequence_lstm_op(struct lowering *t)
{
	const struct tfl_sequence_lstm *p = params(t);
	struct cell c = { .ins = 0 };

	if (tensor_in(t, 0)->type == TFL_INT8)
		return integer_sequence_lstm(t, p->cell_clip, p->proj_clip, p->time_major);
	inputs(t, &c, 0, 20, lstm_ranks);
	activation(t, &c, p->activation);
	clips(t, &c, p->cell_clip, p->proj_clip);
	append(&c, scalar_bool(t, p->time_major));
	layer_norm(t, &c);
	output(t, &c, 0);
	states(t, &c, 18, 20);
	finish(t, &c, 1, steps(t, p->time_major));
}

void bidirectional_lstm_op(struct lowering *t)
{
	static const char ranks[] = "3" "2222" "2222" "111" "1111" "21"
				    "2222" "2222" "111" "1111" "21" "2222" "3" "2222" "2222";
	const struct tfl_bidirectional_lstm *p = params(t);
	const uint32_t outputs = p->merge_outputs ? 1 : 2;
	struct cell c = { .ins = 0 };

	inputs(t, &c, 0, 48, ranks);
	activation(t, &c, p->activation);
	clips(t, &c, p->cell_clip, p->proj_clip);
	append(&c, scalar_bool(t, p->merge_outputs));
	append(&c, scalar_bool(t, p->time_major));
	for (int i = 0; i < 8; i++)
		append(&c, omitted(t, in(t, 0), 1));
	for (uint32_t i = 0; i < outputs; i++)
		output(t, &c, i);
	states(t, &c, 35, 39);
	finish(t, &c, outputs, steps(t, p->time_major));
}

/* Translates RNN, and SVDF, which in addition has a rank. */
void rnn_op(struct lowering *t)
{
	const struct tfl_activated *rnn = params(t);
	const struct tfl_svdf *svdf = params(t);
	struct cell c = { .ins = 0 };

	inputs(t, &c, 0, 5, "22212");
	if (t->code == NN(SVDF))
		append(&c, scalar_int(t, svdf->rank));
	activation(t, &c, t->code == NN(SVDF) ? svdf->activation : rnn->activation);
	states(t, &c, 4, 5);
	output(t, &c, 0);
	finish(t, &c, 1, 1);
}

void sequence_rnn_op(struct lowering *t)
{
	const struct tfl_sequence_rnn *p = params(t);
	struct cell c = { .ins = 0 };

	inputs(t, &c, 0, 5, "32212");
	activation(t, &c, p->activation);
	append(&c, scalar_int(t, p->time_major));
	output(t, &c, 0);
	states(t, &c, 4, 5);
	finish(t, &c, 1, steps(t, p->time_major));
}

void bidirectional_rnn_op(struct lowering *t)
{
	const struct tfl_bidirectional_rnn *p = params(t);
	const uint32_t outputs = p->merge_outputs ? 1 : 2;
	struct cell c = { .ins = 0 };

	inputs(t, &c, 0, 12, "322122212322");
	activation(t, &c, p->activation);
	append(&c, scalar_bool(t, p->time_major));
	append(&c, scalar_bool(t, p->merge_outputs));
	for (uint32_t i = 0; i < outputs; i++)
		output(t, &c, i);
	states(t, &c, 4, 5);
	states(t, &c, 8, 9);
	finish(t, &c, outputs, steps(t, p->time_major));
}
