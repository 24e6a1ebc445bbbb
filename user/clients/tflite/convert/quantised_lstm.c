/* SPDX-License-Identifier: MIT */
/*
 * LSTM cells other than those of convert/recurrent.c: TensorFlow Lite's basic kernel, which has
 * one matrix for all gates, and integer cells with 16 bits of state.
 */
#include <stdlib.h>
#include <string.h>

#include "clients/tflite/operations.h"

enum gate { IN, FORGET, CELL, OUT, GATES };

static uint32_t no_activation(struct graph *g)
{
	return graph_i32(g, ANEURALNETWORKS_FUSED_NONE);
}

static uint32_t step(struct graph *g, const struct value *v, int32_t code, uint32_t a, uint32_t b)
{
	uint32_t to = graph_temporary(g, v);

	emit(g, code, to, a, b, no_activation(g));
	return to;
}

/* ---- The basic kernel ---- */

/* Inputs, and outputs: the result, the state, and what TensorFlow Lite uses in between. */
enum { DATA, LAST, WEIGHTS, BIAS, STATE, BASIC_INPUTS };
enum { RESULT, NEW_STATE, JOINED, SUMS, BASIC_OUTPUTS };

/* The rows of a gate in the matrix of TensorFlow Lite's basic kernel. */
static const uint32_t rows_of[GATES] = { [IN] = 0, [CELL] = 1, [FORGET] = 2, [OUT] = 3 };

static bool is_basic(struct graph *g)
{
	const struct tfl_tensor *x = graph_input(g, DATA), *last = graph_input(g, LAST),
				*w = graph_input(g, WEIGHTS), *b = graph_input(g, BIAS),
				*state = graph_input(g, STATE);
	int units;

	if (g->node->inputs->size != BASIC_INPUTS || g->node->outputs->size != BASIC_OUTPUTS ||
	    !last || !w || !b || !state || !graph_output(g, NEW_STATE) || !graph_output(g, JOINED) ||
	    x->dims->size != 2 || last->dims->size != 2 || w->dims->size != 2 ||
	    b->dims->size != 1) {
		graph_refuse(g, "not the five inputs and four outputs of the basic kernel");
		return false;
	}
	units = last->dims->data[1];
	if (w->dims->data[0] != 4 * units || b->dims->data[0] != 4 * units ||
	    w->dims->data[1] != x->dims->data[1] + units ||
	    !tensor_same_shape(last, graph_output(g, RESULT)) || !tensor_same_shape(last, state)) {
		graph_refuse(g, "shapes that do not fit together");
		return false;
	}
	return true;
}

/* The result and the new state, which TensorFlow Lite also copies to the inputs. */
static void keep_states(struct graph *g)
{
	graph_state_as(g, LAST, graph_out(g, RESULT));
	graph_state_as(g, STATE, graph_out(g, NEW_STATE));
}

static void join(struct graph *g)
{
	emit(g, ANEURALNETWORKS_CONCATENATION, graph_out(g, JOINED), graph_in(g, DATA),
	     graph_in(g, LAST), graph_i32(g, 1));
}

static void basic_float(struct graph *g)
{
	struct value v = graph_value_of(g, graph_input(g, LAST));
	uint32_t sums[GATES], gates[GATES], tanh;

	join(g);
	emit(g, ANEURALNETWORKS_FULLY_CONNECTED, graph_out(g, SUMS), graph_out(g, JOINED),
	     graph_in(g, WEIGHTS), graph_in(g, BIAS), no_activation(g));
	for (uint32_t i = 0; i < GATES; i++)
		sums[i] = graph_temporary(g, &v);
	graph_operation(g, ANEURALNETWORKS_SPLIT,
			(const uint32_t[]){ graph_out(g, SUMS), graph_i32(g, 1),
					    graph_i32(g, GATES) }, 3, sums, GATES);
	for (uint32_t i = 0; i < GATES; i++) {
		gates[i] = graph_temporary(g, &v);
		emit(g, i == CELL ? ANEURALNETWORKS_TANH : ANEURALNETWORKS_LOGISTIC, gates[i],
		     sums[rows_of[i]]);
	}
	emit(g, ANEURALNETWORKS_ADD, graph_out(g, NEW_STATE),
	     step(g, &v, ANEURALNETWORKS_MUL, gates[IN], gates[CELL]),
	     step(g, &v, ANEURALNETWORKS_MUL, gates[FORGET], graph_in(g, STATE)),
	     no_activation(g));
	tanh = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_TANH, tanh, graph_out(g, NEW_STATE));
	emit(g, ANEURALNETWORKS_MUL, graph_out(g, RESULT), gates[OUT], tanh, no_activation(g));
	keep_states(g);
}

/* Columns [first, first + count) of a gate's rows of the matrix, as a matrix of its own. */
static uint32_t matrix_of(struct graph *g, enum gate gate, uint32_t first, uint32_t count)
{
	const struct tfl_tensor *w = graph_input(g, WEIGHTS);
	uint32_t units = (uint32_t)w->dims->data[0] / GATES, columns = (uint32_t)w->dims->data[1];
	const char *from = data_of_count(g, w, TFL_UINT8, (uint64_t)GATES * units * columns);
	struct value v = value_shaped(graph_value_of(g, w), 2, (const uint32_t[]){ units, count });
	char *data = g->refused ? NULL : malloc((size_t)units * count);
	uint32_t operand;

	if (g->refused) {
		free(data);
		return GRAPH_NONE;
	}
	if (!data) {
		graph_refuse(g, "no memory");
		return GRAPH_NONE;
	}
	from += (size_t)rows_of[gate] * units * columns + first;
	for (uint32_t row = 0; row < units; row++)
		memcpy(data + (size_t)row * count, from + (size_t)row * columns, count);
	operand = graph_constant(g, &v, data, (uint64_t)units * count);
	free(data);
	return operand;
}

static uint32_t bias_of(struct graph *g, enum gate gate)
{
	const struct tfl_tensor *b = graph_input(g, BIAS);
	uint32_t units = (uint32_t)b->dims->data[0] / GATES;
	const struct value v = { .type = ANEURALNETWORKS_TENSOR_INT32, .rank = 1,
				 .dims = { units }, .scale = b->params.scale };

	const int32_t *from = data_of_count(g, b, TFL_INT32, (uint64_t)GATES * units);

	return from ? graph_constant(g, &v, from + (size_t)rows_of[gate] * units,
				     units * sizeof(int32_t)) : GRAPH_NONE;
}

/*
 * NNAPI's QUANTIZED_16BIT_LSTM is this kernel, with two matrices for each gate. The reference
 * joins them with the recurrent weights first, but the data before the state: so the first
 * columns, that meet the data here, are the recurrent weights there.
 */
static void basic_quantised(struct graph *g)
{
	uint32_t size = (uint32_t)graph_input(g, DATA)->dims->data[1], in[15], outputs[2];
	uint32_t units = (uint32_t)graph_input(g, LAST)->dims->data[1];

	if (graph_input(g, LAST)->type != TFL_UINT8 || graph_input(g, STATE)->type != TFL_INT16 ||
	    graph_output(g, NEW_STATE)->type != TFL_INT16)
		return graph_refuse(g, "states that are not uint8 and int16");
	join(g);
	in[0] = graph_in(g, DATA);
	for (enum gate i = IN; i < GATES; i++) {
		in[5 + i] = matrix_of(g, i, 0, units);
		in[1 + i] = matrix_of(g, i, units, size);
		in[9 + i] = bias_of(g, i);
	}
	in[13] = graph_in(g, STATE);
	in[14] = graph_in(g, LAST);
	outputs[0] = graph_out(g, NEW_STATE);
	outputs[1] = graph_out(g, RESULT);
	graph_operation(g, ANEURALNETWORKS_QUANTIZED_16BIT_LSTM, in, 15, outputs, 2);
	keep_states(g);
}

void convert_basic_lstm(struct graph *g)
{
	g->take_int16 = true;
	if (!is_basic(g))
		return;
	if (graph_input(g, DATA)->type == TFL_FLOAT32)
		basic_float(g);
	else if (graph_input(g, DATA)->type == TFL_UINT8)
		basic_quantised(g);
	else
		graph_refuse(g, "the basic kernel of %s",
			     tensor_type_name(graph_input(g, DATA)->type));
	if (!g->refused)
		g->work += tensor_count(graph_input(g, WEIGHTS));
}

/* ---- Integer cells ---- */

enum {
	PEEPHOLE = 9, BIASES = 12, PROJECTION = 16, PROJECTION_BIAS = 17, STATE_H = 18, STATE_C = 19,
	NORMS = 20, MOST_STEPS = 256,
};

/* What all steps share: inputs of QUANTIZED_LSTM without data and states. */
struct cell {
	uint32_t in[32];
	struct value h, c;
};

static const struct tfl_tensor *intermediate(const struct graph *g, int i)
{
	const struct tfl_ints *list = g->node->intermediates;

	if (!list || i >= list->size || list->data[i] < 0 ||
	    (size_t)list->data[i] >= g->context->num_tensors)
		return NULL;
	return &g->context->tensors[list->data[i]];
}

/* The scale of an intermediate result; NULL zero_point: it must be 0. */
static float intermediate_scale(struct graph *g, int i, int32_t *zero_point)
{
	const struct tfl_tensor *t = intermediate(g, i);
	const struct tfl_affine *affine = t ? t->quantization.params : NULL;

	if (!t || t->quantization.type != TFL_AFFINE_QUANTIZATION || !affine || !affine->scale ||
	    affine->scale->size < 1 || !(affine->scale->data[0] > 0)) {
		graph_refuse(g, "intermediate result %d has no scale", i);
		return 0;
	}
	if (zero_point)
		*zero_point = affine->zero_point && affine->zero_point->size ?
			      affine->zero_point->data[0] : 0;
	return affine->scale->data[0];
}

/* Constant weights of `type`, symmetric; absent ones are omitted. */
static uint32_t symmetric(struct graph *g, int i, int type, int32_t operand_type, uint32_t rank)
{
	struct value v = { .type = operand_type, .rank = rank,
			   .scale = operand_type == ANEURALNETWORKS_TENSOR_INT32 ? 0 : 1 };
	const struct tfl_tensor *t = graph_input(g, i);

	if (g->refused || !t)
		return graph_omitted(g, &v);
	if (!tensor_is_constant(t) || t->type != type || (uint32_t)t->dims->size != rank) {
		graph_refuse(g, "input %d is not constant, or is %s of %d dimensions", i,
			     tensor_type_name(t->type), t->dims->size);
		return GRAPH_NONE;
	}
	v = graph_value_of(g, t);
	if (v.scales || v.zero_point)
		graph_refuse(g, "input %d has a zero point, or scales per channel", i);
	v.type = operand_type;
	if (type == TFL_INT32)
		v.scale = 0;
	return graph_view(g, graph_input_index(g, i), &v);
}

static void read_cell(struct graph *g, struct cell *c, float cell_clip, float projection_clip)
{
	int32_t zero = 0;

	for (int i = 1; i < PEEPHOLE; i++)
		c->in[i] = symmetric(g, i, TFL_INT8, ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 2);
	for (int i = PEEPHOLE; i < BIASES; i++)
		c->in[i] = symmetric(g, i, TFL_INT16, ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 1);
	for (int i = BIASES; i < PROJECTION; i++)
		c->in[i] = symmetric(g, i, TFL_INT32, ANEURALNETWORKS_TENSOR_INT32, 1);
	c->in[PROJECTION] = symmetric(g, PROJECTION, TFL_INT8,
				      ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 2);
	c->in[PROJECTION_BIAS] = symmetric(g, PROJECTION_BIAS, TFL_INT32,
					   ANEURALNETWORKS_TENSOR_INT32, 1);
	for (int i = NORMS; i < NORMS + GATES; i++)
		c->in[i] = symmetric(g, i, TFL_INT16, ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 1);
	c->in[24] = graph_f32(g, cell_clip);
	c->in[25] = graph_f32(g, projection_clip);
	/* Without normalisation the gates have 3 bits before the point. */
	for (int i = 0; i < GATES; i++)
		c->in[26 + i] = graph_f32(g, !graph_input(g, NORMS + FORGET) ? 1 / 4096.f :
					  i == IN && !graph_input(g, NORMS) ? 1 / 4096.f :
					  intermediate_scale(g, i, NULL));
	c->in[31] = graph_f32(g, intermediate_scale(g, 4, &zero));
	/* TensorFlow Lite adds the zero point to a hidden value, NNAPI subtracts it. */
	if (zero <= INT8_MIN)
		graph_refuse(g, "a zero point of %d of hidden values", zero);
	c->in[30] = graph_i32(g, -zero);
	c->h = graph_value_of(g, graph_input(g, STATE_H));
	c->c = graph_value_of(g, graph_input(g, STATE_C));
}

static bool is_integer_cell(struct graph *g, float projection_clip)
{
	const struct tfl_tensor *h = graph_input(g, STATE_H), *c = graph_input(g, STATE_C);

	if (g->node->inputs->size < 20 || !h || !c || h->type != TFL_INT8 || c->type != TFL_INT16)
		graph_refuse(g, "states that are not int8 and int16");
	else if (!g->node->intermediates || g->node->intermediates->size != 5)
		graph_refuse(g, "8 bits between the gates (8x8_8), which NNAPI has not");
	else if (!same_type(g, 0, 0))
		return false;
	else if (projection_clip > 0)
		graph_refuse(g, "a clipped projection");
	else if (graph_input(g, PEEPHOLE + FORGET) && graph_input(g, PROJECTION))
		graph_refuse(g, "peepholes with a projection, which the interfaces compute differently");
	else if (!tensor_same_quant(h, graph_output(g, 0)))
		graph_refuse(g, "an output of another scale than the state");
	return !g->refused;
}

/* One step from the states h and c; the outputs are the new states and the result. */
static void run_cell(struct graph *g, const struct cell *c, uint32_t x, const uint32_t state[2],
		     const uint32_t outputs[3])
{
	uint32_t in[32];

	memcpy(in, c->in, sizeof(in));
	in[0] = x;
	in[STATE_H] = state[0];
	in[STATE_C] = state[1];
	graph_operation(g, ANEURALNETWORKS_QUANTIZED_LSTM, in, 32, outputs, 3);
	for (int i = 1; i < 20; i++)
		if (graph_input(g, i) && tensor_is_constant(graph_input(g, i)))
			g->work += tensor_count(graph_input(g, i));
}

void convert_integer_lstm(struct graph *g, float cell_clip, float projection_clip)
{
	struct cell c;

	g->take_int16 = true;
	if (!is_integer_cell(g, projection_clip))
		return;
	read_cell(g, &c, cell_clip, projection_clip);
	run_cell(g, &c, graph_in(g, 0),
		 (const uint32_t[]){ graph_in(g, STATE_H), graph_in(g, STATE_C) },
		 (const uint32_t[]){ graph_state(g, STATE_H), graph_state(g, STATE_C),
				     graph_out(g, 0) });
}

/* NNAPI has no sequence in integers: one cell for each step, which is cut out and put together. */
void convert_integer_sequence_lstm(struct graph *g, float cell_clip, float projection_clip,
				   bool time_major)
{
	const struct tfl_tensor *x = graph_input(g, 0);
	uint32_t parts[MOST_STEPS], results[MOST_STEPS + 1], state[2], steps;
	struct value part, pixel;
	struct cell c;

	g->take_int16 = true;
	if (!is_integer_cell(g, projection_clip))
		return;
	if (x->dims->size != 3 || x->dims->data[!time_major] > MOST_STEPS)
		return graph_refuse(g, "not 3 dimensions, or more than %d steps", MOST_STEPS);
	steps = (uint32_t)x->dims->data[!time_major];
	read_cell(g, &c, cell_clip, projection_clip);
	part = graph_value_of(g, x);
	part.dims[!time_major] = 1;
	pixel = value_shaped(part, 2, (const uint32_t[]){ part.dims[time_major], part.dims[2] });
	for (uint32_t i = 0; i < steps; i++)
		parts[i] = graph_temporary(g, &part);
	graph_operation(g, ANEURALNETWORKS_SPLIT,
			(const uint32_t[]){ graph_in(g, 0), graph_i32(g, !time_major),
					    graph_i32(g, (int32_t)steps) }, 3, parts, steps);
	state[0] = graph_in(g, STATE_H);
	state[1] = graph_in(g, STATE_C);
	results[0] = graph_i32(g, !time_major);
	for (uint32_t i = 0; i < steps && !g->refused; i++) {
		bool last = i + 1 == steps;
		const uint32_t outputs[3] = {
			last ? graph_state(g, STATE_H) : graph_temporary(g, &c.h),
			last ? graph_state(g, STATE_C) : graph_temporary(g, &c.c),
			graph_temporary(g, &c.h),
		};

		run_cell(g, &c, graph_reshaped(g, parts[i], 2, pixel.dims), state, outputs);
		state[0] = outputs[0];
		state[1] = outputs[1];
		results[1 + i] = outputs[2];
	}
	graph_operation(g, ANEURALNETWORKS_PACK, results, steps + 1,
			(const uint32_t[]){ graph_out(g, 0) }, 1);
}
