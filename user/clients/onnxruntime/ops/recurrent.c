// SPDX-License-Identifier: MIT
/*
 * LSTM, GRU and RNN. The NNAPI has sequences of LSTM and RNN cells in forward direction. A GRU is
 * composed of other operations, step by step. The backward direction is computed forwards on a
 * reversed sequence.
 */
#include "ops.h"

#include <string.h>
#include <strings.h>

enum { MAX_STEPS = 256 };

struct recurrent {
	uint32_t steps, batch, inputs, units, directions;
	bool batch_first, backward;	/* backward: the node has only the backward direction */
	uint32_t gates;
	uint32_t x;
	uint32_t weights[2];		/* operands of the weights for input and state */
};

static bool ordinary(struct lowering *t, const struct recurrent *r)
{
	const int32_t *lengths = has_in(t, 4) ? data_of_count(t, 4, ONNX_INT32, r->batch) : NULL;

	for (uint32_t i = 0; lengths && i < r->batch; i++)
		if (lengths[i] != (int32_t)r->steps)
			refuse(t, "sequences of different lengths are not supported");
	if (attr(t, "clip"))
		refuse(t, "clip is not supported");
	if (attr_int(t, "input_forget", 0))
		refuse(t, "input_forget is not supported");
	return !REFUSED_IF(t, r->directions == 2 && r->batch_first, "two directions need layout 0");
}

/* Checks that optional inputs have the number of elements that the weights need. */
static bool are_of_shape(struct lowering *t, const struct recurrent *r)
{
	const int64_t states = (int64_t)r->directions * r->batch * r->units;
	const int64_t counts[] = {
		[3] = (int64_t)r->directions * 2 * r->gates * r->units,
		[5] = states,
		[6] = states,
		[7] = (int64_t)r->directions * 3 * r->units,
	};

	for (uint32_t i = 3; !t->refused && i < sizeof(counts) / sizeof(counts[0]); i++) {
		const int64_t count = i != 4 && has_in(t, i) ? shape_count(shape_in(t, i)) : counts[i];

		if (count == counts[i])
			continue;
		refuse(t, "input %u has %lld elements, must be %lld", i, (long long)count, (long long)counts[i]);
		if (counts[i] == states) {
			t->apart[0] = count / (states / r->batch);
			t->apart[1] = r->batch;
		}
	}
	return !t->refused;
}

/*
 * Returns the weights of a DynamicQuantizeLSTM as floats. Input `index` has 8-bit integers of the
 * shape [directions, columns, gates * units]. Input `index` * 2 + 6 has their scales, and the next
 * input has their zero points. There is one scale for each direction, or one for each direction,
 * gate and unit.
 */
static uint32_t dequantised_weights(struct lowering *t, const struct recurrent *r, uint32_t index,
				    uint32_t columns)
{
	const uint32_t rows = r->gates * r->units, at = index * 2 + 6;
	const struct operand of = { .type = NN(TENSOR_FLOAT32), .rank = 3,
				    .dims = { r->directions, rows, columns } };
	const int64_t channels = shape_count(shape_in(t, at)), per = channels / r->directions;
	const int64_t count = (int64_t)r->directions * rows * columns;
	const int type = type_in(t, index);
	const float *scales = data_of_count(t, at, ONNX_FLOAT, channels);
	const void *zeros = has_in(t, at + 1) ? data_of_count(t, at + 1, type, channels) : NULL;
	const void *data = data_of_count(t, index, type, count);

	if (REFUSED_IF(t, (per != 1 && per != rows) || channels % r->directions ||
		       (type != ONNX_UINT8 && type != ONNX_INT8),
		       "weights must have 8 bits, and a scale for each direction or each row"))
		return NO_OPERAND;
	if (t->b->is_trial)
		return constant_bytes(t, &of, builder_alloc(t->b, (size_t)count * sizeof(float)));
	data = transposed_copy(t->b, data, 1, r->directions, columns, rows);
	return data ? constant_bytes(t, &of, dequantised_floats(t, type, data, count, scales, zeros,
								channels, count / channels)) :
		      NO_OPERAND;
}

static bool read_recurrent(struct lowering *t, struct recurrent *r, uint32_t gates, bool is_dynamic)
{
	const struct shape *x = shape_in(t, 0), *w = shape_in(t, 1), *back = shape_in(t, 2);
	const int rows = is_dynamic ? 2 : 1, columns = is_dynamic ? 1 : 2;
	const char *direction = attr_string(t, "direction", "forward");

	memset(r, 0, sizeof(*r));
	if (REFUSED_IF(t, x->rank != 3 || w->rank != 3 || back->rank != 3,
		       "input and weights must have 3 dimensions, input has %d", x->rank))
		return false;
	r->gates = gates;
	r->batch_first = attr_int(t, "layout", 0);
	r->steps = (uint32_t)x->dims[r->batch_first];
	r->batch = (uint32_t)x->dims[!r->batch_first];
	r->inputs = (uint32_t)x->dims[2];
	r->directions = !strcmp(direction, "bidirectional") ? 2 : 1;
	r->backward = !strcmp(direction, "reverse");
	r->units = (uint32_t)w->dims[rows] / gates;
	refuse_unless_same(t, r->inputs, w->dims[columns], "the input has %lld columns, the weights need %lld");
	if (REFUSED_IF(t, w->dims[0] != r->directions || w->dims[rows] != (int64_t)r->units * gates ||
		       back->dims[0] != r->directions || back->dims[rows] != w->dims[rows] ||
		       back->dims[columns] != r->units,
		       "the shapes of the weights do not fit"))
		return false;
	r->x = float_in(t, 0);
	t->work = (uint64_t)r->steps * r->batch * r->directions * gates * r->units *
		  (r->inputs + r->units);
	r->weights[0] = is_dynamic ? dequantised_weights(t, r, 1, r->inputs) : in(t, 1);
	r->weights[1] = is_dynamic ? dequantised_weights(t, r, 2, r->units) : in(t, 2);
	return are_of_shape(t, r) && ordinary(t, r);
}

/* Returns row `row` of an input whose rows have a number for each unit. */
static uint32_t row_of(struct lowering *t, const struct recurrent *r, uint32_t index,
		       uint32_t row)
{
	uint32_t x = rows_from(t, in(t, index), (uint64_t)row * r->units, 1, r->units);

	return view(t, x, 1, &r->units);
}

/*
 * Returns the weights of a gate in a direction: the weights for the input if `index` is 0, for the
 * state if `index` is 1.
 */
static uint32_t gate(struct lowering *t, const struct recurrent *r, uint32_t index,
		     uint32_t direction, uint32_t number)
{
	uint32_t columns = index ? r->units : r->inputs;

	return rows_from(t, r->weights[index],
			 ((uint64_t)direction * r->gates + number) * r->units * columns, r->units,
			 columns);
}

/*
 * Returns a gate's part of the biases [2 * gates * units]: the bias for the input if `half` is 0,
 * for the state if `half` is 1.
 */
static uint32_t half_bias(struct lowering *t, const struct recurrent *r, uint32_t direction,
			  uint32_t number, uint32_t half)
{
	if (!has_in(t, 3))
		return zeros(t, r->x, 1, &r->units);
	return row_of(t, r, 3, (direction * 2 + half) * r->gates + number);
}

/*
 * Returns the sum of a gate's biases for input and state; adds constant biases during translation.
 */
static uint32_t bias(struct lowering *t, const struct recurrent *r, uint32_t direction,
		     uint32_t number)
{
	const bool is_known = constant_count(t, 3) >= 0 && type_in(t, 3) == ONNX_FLOAT;
	const float *all = is_known ? data_of_count(t, 3, ONNX_FLOAT, (int64_t)r->directions * 2 *
						    r->gates * r->units) : NULL;
	float *sums;

	if (!is_known)
		return !has_in(t, 3) ? half_bias(t, r, direction, number, 0) :
		       arithmetic(t, NN(ADD), half_bias(t, r, direction, number, 0),
				  half_bias(t, r, direction, number, 1));
	sums = builder_alloc(t->b, r->units * sizeof(*sums));
	for (uint32_t i = 0; all && sums && i < r->units; i++)
		sums[i] = all[(direction * 2 * r->gates + number) * r->units + i] +
			  all[((direction * 2 + 1) * r->gates + number) * r->units + i];
	return constant(t, r->x, 1, &r->units, sums);
}

static uint32_t state(struct lowering *t, const struct recurrent *r, uint32_t index,
		      uint32_t direction)
{
	uint32_t dims[2] = { r->batch, r->units };

	if (!has_in(t, index))
		return zeros(t, r->x, 2, dims);
	return rows_from(t, in(t, index), (uint64_t)direction * r->batch * r->units, r->batch,
			 r->units);
}

/* Reverses the time axis. */
static uint32_t backwards(struct lowering *t, const struct recurrent *r, uint32_t x)
{
	return EMIT(t, NN(REVERSE), result_like(t, x), x,
		    vector_int(t, 1, (int32_t[]){ r->batch_first }));
}

/* Returns name `index` of the list "activations"; NULL if the list has fewer names. */
static const char *activation_at(struct lowering *t, size_t index)
{
	const struct attribute *given = attr(t, "activations");

	for (size_t at = 0; given && given->string && at < given->count;) {
		const char *name = given->string + at;

		if (!index--)
			return name;
		at += strlen(name) + 1;
	}
	return NULL;
}

/* If a node names activations, checks that each direction has the activations in `names`. */
static bool activations_are(struct lowering *t, const char *const *names, size_t count)
{
	const char *name;

	for (size_t i = 0; (name = activation_at(t, i)); i++)
		if (strcasecmp(name, names[i % count]))
			refuse(t, "activation %s is not supported", name);
	return !t->refused;
}

static uint32_t joined(struct lowering *t, uint32_t a, uint32_t b, uint32_t before, uint32_t size)
{
	const struct shape shape = { 3, { before, 2, size } };
	uint32_t x[3] = { a, b };

	return concatenated(t, x, 2, &shape, 1, a);
}

/*
 * Sets the outputs: all states, the last state, and for LSTM the last cell state, of each
 * direction.
 */
static void set_outputs(struct lowering *t, const struct recurrent *r, uint32_t out[2][3])
{
	uint32_t size = r->batch * r->units;
	struct shape all = { 4, { r->steps, r->directions, r->batch, r->units } };
	struct shape last = { 3, { r->directions, r->batch, r->units } };

	if (r->batch_first) {
		all = (struct shape){ 4, { r->batch, r->steps, 1, r->units } };
		last = (struct shape){ 3, { r->batch, 1, r->units } };
	}
	if (r->directions == 2) {
		out[0][0] = joined(t, out[0][0], out[1][0], r->steps, size);
		for (int i = 1; i < 3; i++)
			if (out[0][i] != NO_OPERAND)
				out[0][i] = joined(t, out[0][i], out[1][i], 1, size);
	}
	set_out(t, 0, out[0][0], &all);
	set_out(t, 1, out[0][1], &last);
	if (out[0][2] != NO_OPERAND)
		set_out(t, 2, out[0][2], &last);
}

static uint32_t sequence_dims(const struct recurrent *r, uint32_t last, uint32_t dims[3])
{
	dims[0] = r->batch_first ? r->batch : r->steps;
	dims[1] = r->batch_first ? r->steps : r->batch;
	dims[2] = last;
	return 3;
}

/* Translates an LSTM. ONNX orders gates i, o, f, c, and the NNAPI i, f, c, o. */
static void lstm(struct lowering *t, const struct recurrent *r, uint32_t direction,
		 bool backward, uint32_t out[3])
{
	static const uint32_t order[] = { 0, 2, 3, 1 };
	uint32_t ins[28], dims[3], count = 0, state_dims[2] = { r->batch, r->units };

	ins[count++] = backward ? backwards(t, r, r->x) : r->x;
	for (int i = 0; i < 4; i++)
		ins[count++] = gate(t, r, 0, direction, order[i]);
	for (int i = 0; i < 4; i++)
		ins[count++] = gate(t, r, 1, direction, order[i]);
	/* Reorder peepholes i, o, f to i, f, o. */
	for (uint32_t i = 0; i < 3; i++)
		ins[count++] = has_in(t, 7) ? row_of(t, r, 7, direction * 3 + (i ? 3 - i : 0)) :
					      omitted(t, r->x, 1);
	for (int i = 0; i < 4; i++)
		ins[count++] = bias(t, r, direction, order[i]);
	/* An LSTM of ONNX has no projection. */
	ins[count++] = omitted(t, r->x, 2);
	ins[count++] = omitted(t, r->x, 1);
	ins[count++] = state(t, r, 5, direction);
	ins[count++] = state(t, r, 6, direction);
	ins[count++] = scalar_int(t, 4);
	ins[count++] = scalar_float(t, r->x, 0);
	ins[count++] = scalar_float(t, r->x, 0);
	ins[count++] = scalar_bool(t, !r->batch_first);
	for (int i = 0; i < 4; i++)
		ins[count++] = omitted(t, r->x, 1);
	sequence_dims(r, r->units, dims);
	out[0] = result(t, r->x, 3, dims);
	out[1] = result(t, r->x, 2, state_dims);
	out[2] = result(t, r->x, 2, state_dims);
	emit_many(t, NN(UNIDIRECTIONAL_SEQUENCE_LSTM), 3, out, count, ins);
	if (backward && !t->refused)
		out[0] = backwards(t, r, out[0]);
}

static void any_lstm(struct lowering *t, bool is_dynamic)
{
	uint32_t out[2][3];
	struct recurrent r;

	if (!read_recurrent(t, &r, 4, is_dynamic) ||
	    !activations_are(t, (const char *[]){ "Sigmoid", "Tanh", "Tanh" }, 3))
		return;
	for (uint32_t d = 0; d < r.directions; d++)
		lstm(t, &r, d, d || r.backward, out[d]);
	set_outputs(t, &r, out);
}

void lstm_op(struct lowering *t)
{
	any_lstm(t, false);
}

void dynamic_lstm_op(struct lowering *t)
{
	any_lstm(t, true);
}

/* Returns the NNAPI's code for the activation of a direction of an RNN; rejects other activations. */
static int32_t rnn_activation(struct lowering *t, uint32_t direction)
{
	static const struct {
		const char *name;
		int32_t code;
	} known[] = { { "Tanh", 4 }, { "Relu", 1 }, { "Sigmoid", 6 } };
	const char *name = activation_at(t, direction) ?: activation_at(t, 0) ?: known[0].name;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcasecmp(name, known[i].name))
			return known[i].code;
	refuse(t, "activation %s is not supported", name);
	return 0;
}

void rnn_op(struct lowering *t)
{
	uint32_t out[2][3], dims[3];
	struct recurrent r;

	if (!read_recurrent(t, &r, 1, false))
		return;
	sequence_dims(&r, r.units, dims);
	for (uint32_t d = 0; d < r.directions; d++) {
		bool backward = d || r.backward;
		uint32_t ins[] = {
			backward ? backwards(t, &r, r.x) : r.x,
			gate(t, &r, 0, d, 0),
			gate(t, &r, 1, d, 0),
			bias(t, &r, d, 0),
			state(t, &r, 5, d),
			scalar_int(t, rnn_activation(t, d)),
			scalar_int(t, !r.batch_first),
		};

		out[d][0] = result(t, r.x, 3, dims);
		out[d][1] = result(t, r.x, 2, (uint32_t[]){ r.batch, r.units });
		out[d][2] = NO_OPERAND;
		emit_many(t, NN(UNIDIRECTIONAL_SEQUENCE_RNN), 2, out[d], 7, ins);
		if (backward && !t->refused)
			out[d][0] = backwards(t, &r, out[d][0]);
	}
	set_outputs(t, &r, out);
}

/* ---- GRU: gates z, r, h ---- */

/*
 * Returns the rows of step `step` in `all`, which is the product of all steps' inputs with a gate's
 * weights.
 */
static uint32_t step_of(struct lowering *t, const struct recurrent *r, uint32_t all, uint32_t step)
{
	const struct shape shape = { 2, { r->steps * r->batch, r->units } };

	return taken(t, all, &shape, 0, step * r->batch, r->batch);
}

struct gru {
	uint32_t inputs[3];	/* all steps' inputs, multiplied by the weights, plus biases */
	uint32_t weights[3], biases[3];	/* of the state */
};

static uint32_t gru_step(struct lowering *t, const struct recurrent *r, const struct gru *g,
			 uint32_t step, uint32_t h)
{
	bool linear = attr_int(t, "linear_before_reset", 0);
	uint32_t gates[2], candidate, state;

	for (int i = 0; i < 2; i++) {
		state = product(t, h, g->weights[i], g->biases[i], r->batch, r->units);
		gates[i] = unary(t, NN(LOGISTIC), arithmetic(t, NN(ADD), state,
							     step_of(t, r, g->inputs[i], step)));
	}
	if (linear) {
		state = product(t, h, g->weights[2], g->biases[2], r->batch, r->units);
		state = arithmetic(t, NN(MUL), gates[1], state);
	} else {
		state = product(t, arithmetic(t, NN(MUL), gates[1], h), g->weights[2],
				g->biases[2], r->batch, r->units);
	}
	candidate = unary(t, NN(TANH), arithmetic(t, NN(ADD), state,
						  step_of(t, r, g->inputs[2], step)));
	/* (1 - z) c + z h = c + z (h - c) */
	return arithmetic(t, NN(ADD), candidate,
			  arithmetic(t, NN(MUL), gates[0],
				     arithmetic(t, NN(SUB), h, candidate)));
}

static void gru(struct lowering *t, const struct recurrent *r, uint32_t direction,
		bool backward, uint32_t out[3])
{
	uint32_t x = view(t, r->x, 2, (uint32_t[]){ r->steps * r->batch, r->inputs });
	uint32_t states[MAX_STEPS + 1], h = state(t, r, 5, direction), dims[2];
	struct gru g;

	for (uint32_t i = 0; i < 3; i++) {
		g.inputs[i] = product(t, x, gate(t, r, 0, direction, i),
				      half_bias(t, r, direction, i, 0), r->steps * r->batch,
				      r->units);
		g.weights[i] = gate(t, r, 1, direction, i);
		g.biases[i] = half_bias(t, r, direction, i, 1);
	}
	for (uint32_t i = 0; !t->refused && i < r->steps; i++) {
		uint32_t step = backward ? r->steps - 1 - i : i;

		h = gru_step(t, r, &g, step, h);
		states[step] = h;
	}
	dims[0] = r->steps * r->batch;
	dims[1] = r->units;
	states[r->steps] = scalar_int(t, 0);
	out[0] = emit(t, NN(CONCATENATION), result(t, r->x, 2, dims), r->steps + 1, states);
	out[1] = h;
	out[2] = NO_OPERAND;
}

void gru_op(struct lowering *t)
{
	uint32_t out[2][3];
	struct recurrent r;

	if (!read_recurrent(t, &r, 3, false) ||
	    !activations_are(t, (const char *[]){ "Sigmoid", "Tanh" }, 2))
		return;
	if (r.steps > MAX_STEPS || r.batch_first)
		refuse(t, r.batch_first ? "layout must be 0" : "more than 256 steps");
	for (uint32_t d = 0; !t->refused && d < r.directions; d++)
		gru(t, &r, d, d || r.backward, out[d]);
	if (!t->refused)
		set_outputs(t, &r, out);
}
