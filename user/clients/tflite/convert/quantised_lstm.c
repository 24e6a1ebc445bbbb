/* SPDX-License-Identifier: MIT */
/*
 * Translates TensorFlow Lite's basic LSTM kernel, which has one matrix for all gates, and integer
 * LSTM cells with 16 bits of state; convert/recurrent.c translates other LSTM cells.
 */
#include <string.h>

#include "clients/tflite/operations.h"

enum gate { IN, FORGET, CELL, OUT, GATES };

/* ---- The basic kernel ---- */

/*
 * Inputs and outputs of TensorFlow Lite's basic LSTM kernel; JOINED and SUMS are intermediate
 * tensors.
 */
enum { DATA, LAST, WEIGHTS, BIAS, STATE, BASIC_INPUTS };
enum { RESULT, NEW_STATE, JOINED, SUMS, BASIC_OUTPUTS };

/* The rows of each gate in the matrix of TensorFlow Lite's basic kernel. */
static const uint32_t rows_of[GATES] = { [IN] = 0, [CELL] = 1, [FORGET] = 2, [OUT] = 3 };

static bool same_shape(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
	return a->dims->size == b->dims->size &&
	       !memcmp(a->dims->data, b->dims->data, (size_t)a->dims->size * sizeof(int));
}

static bool is_basic(struct lowering *t)
{
	const struct tfl_tensor *x = tensor_in(t, DATA), *last = tensor_in(t, LAST),
				*w = tensor_in(t, WEIGHTS), *b = tensor_in(t, BIAS),
				*state = tensor_in(t, STATE);
	int units;

	if (REFUSED_IF(t, in_count(t) != BASIC_INPUTS || out_count(t) != BASIC_OUTPUTS || !last ||
		       !w || !b || !state || !tensor_out(t, NEW_STATE) || !tensor_out(t, JOINED) ||
		       x->dims->size != 2 || last->dims->size != 2 || w->dims->size != 2 ||
		       b->dims->size != 1,
		       "the basic kernel needs five inputs and four outputs"))
		return false;
	units = last->dims->data[1];
	if (w->dims->data[0] != 4 * units || b->dims->data[0] != 4 * units ||
	    w->dims->data[1] != x->dims->data[1] + units ||
	    !same_shape(last, tensor_out(t, RESULT)) || !same_shape(last, state)) {
		refuse(t, "the shapes of inputs, weights and states do not fit");
		return false;
	}
	return true;
}

/*
 * Copies the result and the new state back to the inputs LAST and STATE, as TensorFlow Lite does.
 */
static void keep_states(struct lowering *t, uint32_t result, uint32_t state)
{
	set(t, RESULT, result);
	set(t, NEW_STATE, state);
	state_as(t, LAST, RESULT);
	state_as(t, STATE, NEW_STATE);
}

/*
 * Concatenates the data and the last result, and also sets the node's output JOINED to the
 * concatenation.
 */
static uint32_t join(struct lowering *t)
{
	const struct shape shape = shape_of(tensor_out(t, JOINED));
	uint32_t x[3] = { in(t, DATA), in(t, LAST) };

	x[0] = concatenated(t, x, 2, &shape, 1, out_like(t, JOINED));
	set(t, JOINED, x[0]);
	return x[0];
}

static void basic_float(struct lowering *t)
{
	const struct shape shape = shape_of(tensor_out(t, SUMS));
	uint32_t sums = out_like(t, SUMS), gates[GATES], parts[GATES], state;

	sums = EMIT(t, NN(FULLY_CONNECTED), sums, join(t), in(t, WEIGHTS), in(t, BIAS),
		    scalar_int(t, NN(FUSED_NONE)));
	set(t, SUMS, sums);
	divided(t, sums, &shape, 1, GATES, parts);
	for (uint32_t i = 0; i < GATES; i++)
		gates[i] = unary(t, i == CELL ? NN(TANH) : NN(LOGISTIC), parts[rows_of[i]]);
	state = arithmetic(t, NN(ADD), arithmetic(t, NN(MUL), gates[IN], gates[CELL]),
			   arithmetic(t, NN(MUL), gates[FORGET], in(t, STATE)));
	keep_states(t, arithmetic(t, NN(MUL), gates[OUT], unary(t, NN(TANH), state)), state);
}

/* Makes a matrix of columns [first, first + count) of a gate's rows. */
static uint32_t matrix_of(struct lowering *t, enum gate gate, uint32_t first, uint32_t count)
{
	const struct tfl_tensor *w = tensor_in(t, WEIGHTS);
	const uint32_t units = dim(w, 0) / GATES, columns = dim(w, 1);
	const char *from = data_of_count(t, w, TFL_UINT8, (uint64_t)GATES * units * columns);
	struct operand type = operand_type(t, w);
	char *data = from ? builder_alloc(t->b, (size_t)units * count) : NULL;

	type.dims[0] = units;
	type.dims[1] = count;
	for (uint32_t row = 0; data && row < units; row++)
		memcpy(data + (size_t)row * count,
		       from + (size_t)(rows_of[gate] * units + row) * columns + first, count);
	return constant_bytes(t, &type, data);
}

static uint32_t bias_of(struct lowering *t, enum gate gate)
{
	const struct tfl_tensor *b = tensor_in(t, BIAS);
	const uint32_t units = dim(b, 0) / GATES;
	const int32_t *from = data_of_count(t, b, TFL_INT32, (uint64_t)GATES * units);

	return bias_ints(t, units, b->params.scale,
			 from ? from + (size_t)rows_of[gate] * units : NULL);
}

/*
 * NNAPI's QUANTIZED_16BIT_LSTM computes the same values as TensorFlow Lite's basic kernel, but with
 * two matrices for each gate. NNAPI's reference implementation joins the recurrent weights and then
 * the input weights to one matrix, but joins the data and then the state to one vector. Therefore
 * NNAPI's recurrent weights multiply the data, and must be the first columns of the basic kernel's
 * matrix.
 */
static void basic_quantised(struct lowering *t)
{
	const uint32_t size = dim(tensor_in(t, DATA), 1), units = dim(tensor_in(t, LAST), 1);
	uint32_t ins[15], out[2];

	if (tensor_in(t, LAST)->type != TFL_UINT8 || tensor_in(t, STATE)->type != TFL_INT16 ||
	    tensor_out(t, NEW_STATE)->type != TFL_INT16)
		return refuse(t, "the states must be uint8 and int16");
	join(t);
	ins[0] = in(t, DATA);
	for (enum gate i = IN; i < GATES; i++) {
		ins[5 + i] = matrix_of(t, i, 0, units);
		ins[1 + i] = matrix_of(t, i, units, size);
		ins[9 + i] = bias_of(t, i);
	}
	ins[13] = in(t, STATE);
	ins[14] = in(t, LAST);
	out[0] = out_like(t, NEW_STATE);
	out[1] = out_like(t, RESULT);
	emit_many(t, NN(QUANTIZED_16BIT_LSTM), 2, out, 15, ins);
	keep_states(t, out[1], out[0]);
}

void basic_lstm(struct lowering *t)
{
	tfl(t)->take_int16 = true;
	if (!is_basic(t))
		return;
	if (tensor_in(t, DATA)->type == TFL_FLOAT32)
		basic_float(t);
	else if (tensor_in(t, DATA)->type == TFL_UINT8)
		basic_quantised(t);
	else
		refuse(t, "the basic kernel does not support %s",
		       tensor_type_name(tensor_in(t, DATA)->type));
	t->work += tensor_count(tensor_in(t, WEIGHTS));
}

/* ---- Integer cells ---- */

enum {
	PEEPHOLE = 9, BIASES = 12, PROJECTION = 16, PROJECTION_BIAS = 17, STATE_H = 18, STATE_C = 19,
	NORMS = 20, MOST_STEPS = 256,
};

/* Inputs of QUANTIZED_LSTM that all steps share: all inputs except the data and the states. */
struct cell {
	uint32_t in[32];
};

static const struct tfl_tensor *intermediate(const struct lowering *t, int i)
{
	const struct tfl_ints *list = tfl(t)->node->intermediates;

	if (!list || i >= list->size || list->data[i] < 0 ||
	    (size_t)list->data[i] >= tfl(t)->context->num_tensors)
		return NULL;
	return &tfl(t)->context->tensors[list->data[i]];
}

/*
 * Returns the scale of an intermediate result, and its zero point, which must be 0 if `zero_point`
 * is NULL.
 */
static float intermediate_scale(struct lowering *t, int i, int32_t *zero_point)
{
	const struct tfl_tensor *tensor = intermediate(t, i);
	const struct tfl_affine *affine = tensor ? tensor->quantization.params : NULL;

	if (REFUSED_IF(t, !tensor || tensor->quantization.type != TFL_AFFINE_QUANTIZATION ||
		       !affine || !affine->scale || affine->scale->size < 1 ||
		       !(affine->scale->data[0] > 0), "intermediate result %d has no scale", i))
		return 0;
	if (zero_point)
		*zero_point = affine->zero_point && affine->zero_point->size ?
			      affine->zero_point->data[0] : 0;
	return affine->scale->data[0];
}

/* Returns constant symmetric weights of type `type`; an omitted operand if input i is missing. */
static uint32_t symmetric(struct lowering *t, uint32_t i, int type, int32_t operand, uint32_t rank)
{
	const struct tfl_tensor *w = tensor_in(t, i);
	struct operand as = { .type = operand, .rank = rank, .omitted = true,
			      .scale = operand == NN(TENSOR_INT32) ? 0 : 1 };

	if (t->refused || !w)
		return t->refused ? NO_OPERAND : builder_operand(t->b, &as);
	if (!tensor_is_constant(w) || w->type != type || (uint32_t)w->dims->size != rank)
		refuse(t, "input %u must be constant, and %s of %u dimensions", i,
		       tensor_type_name(type), rank);
	as = operand_type(t, w);
	if (as.scales || as.zero)
		refuse(t, "input %u must have one scale and zero point 0", i);
	as.type = operand;
	if (type == TFL_INT32)
		as.scale = 0;
	return in_as(t, i, &as);
}

static void read_cell(struct lowering *t, struct cell *c, float cell_clip, float projection_clip)
{
	int32_t zero = 0;

	for (uint32_t i = 1; i < PEEPHOLE; i++)
		c->in[i] = symmetric(t, i, TFL_INT8, NN(TENSOR_QUANT8_SYMM), 2);
	for (uint32_t i = PEEPHOLE; i < BIASES; i++)
		c->in[i] = symmetric(t, i, TFL_INT16, NN(TENSOR_QUANT16_SYMM), 1);
	for (uint32_t i = BIASES; i < PROJECTION; i++)
		c->in[i] = symmetric(t, i, TFL_INT32, NN(TENSOR_INT32), 1);
	c->in[PROJECTION] = symmetric(t, PROJECTION, TFL_INT8, NN(TENSOR_QUANT8_SYMM), 2);
	c->in[PROJECTION_BIAS] = symmetric(t, PROJECTION_BIAS, TFL_INT32, NN(TENSOR_INT32), 1);
	for (uint32_t i = NORMS; i < NORMS + GATES; i++)
		c->in[i] = symmetric(t, i, TFL_INT16, NN(TENSOR_QUANT16_SYMM), 1);
	c->in[24] = scalar_float(t, NO_OPERAND, cell_clip);
	c->in[25] = scalar_float(t, NO_OPERAND, projection_clip);
	/* Without layer normalisation, the gates' values have 3 integer bits. */
	for (int i = 0; i < GATES; i++)
		c->in[26 + i] = scalar_float(t, NO_OPERAND,
					     !tensor_in(t, NORMS + FORGET) ||
					     (i == IN && !tensor_in(t, NORMS)) ? 1 / 4096.f :
					     intermediate_scale(t, i, NULL));
	c->in[31] = scalar_float(t, NO_OPERAND, intermediate_scale(t, 4, &zero));
	/* TensorFlow Lite adds the zero point to a hidden value, NNAPI subtracts the zero point. */
	if (zero <= INT8_MIN)
		refuse(t, "the zero point of hidden values must be above -128, is %d", zero);
	c->in[30] = scalar_int(t, -zero);
}

static bool is_integer_cell(struct lowering *t, float projection_clip)
{
	const struct tfl_tensor *h = tensor_in(t, STATE_H), *c = tensor_in(t, STATE_C);

	if (in_count(t) < 20 || !h || !c || h->type != TFL_INT8 || c->type != TFL_INT16)
		refuse(t, "the states must be int8 and int16");
	else if (!tfl(t)->node->intermediates || tfl(t)->node->intermediates->size != 5)
		refuse(t, "NNAPI has no LSTM with 8-bit intermediate results (8x8_8)");
	else if (projection_clip > 0)
		refuse(t, "a clipped projection is not supported");
	else if (tensor_in(t, PEEPHOLE + FORGET) && tensor_in(t, PROJECTION))
		refuse(t, "NNAPI computes peepholes with a projection differently");
	else if (!tensor_same_quant(h, tensor_out(t, 0)))
		refuse(t, "the output must have the scale of the state");
	return !t->refused;
}

/* Emits one step of a cell from the states h and c; `outputs` are the new states and the result. */
static void run_cell(struct lowering *t, const struct cell *c, uint32_t x, const uint32_t state[2],
		     const uint32_t outputs[3])
{
	uint32_t ins[32];

	memcpy(ins, c->in, sizeof(ins));
	ins[0] = x;
	ins[STATE_H] = state[0];
	ins[STATE_C] = state[1];
	emit_many(t, NN(QUANTIZED_LSTM), 3, outputs, 32, ins);
	for (uint32_t i = 1; i < 20; i++)
		if (tensor_is_constant(tensor_in(t, i)))
			t->work += tensor_count(tensor_in(t, i));
}

void integer_lstm(struct lowering *t, float cell_clip, float projection_clip)
{
	uint32_t outputs[3];
	struct cell c;

	tfl(t)->take_int16 = true;
	if (!is_integer_cell(t, projection_clip))
		return;
	read_cell(t, &c, cell_clip, projection_clip);
	outputs[0] = new_state(t, STATE_H);
	outputs[1] = new_state(t, STATE_C);
	outputs[2] = out_like(t, 0);
	run_cell(t, &c, in(t, 0), (uint32_t[]){ in(t, STATE_H), in(t, STATE_C) }, outputs);
	set(t, 0, outputs[2]);
}

/*
 * Translates a sequence to one cell per step, with slices and a concatenation, because NNAPI has no
 * integer LSTM sequence.
 */
void integer_sequence_lstm(struct lowering *t, float cell_clip, float projection_clip,
			   bool time_major)
{
	const struct shape *shape = shape_in(t, 0), out = shape_of(tensor_out(t, 0));
	uint32_t parts[MOST_STEPS], results[MOST_STEPS + 1], state[2], steps, pixel[2];
	struct cell c;

	tfl(t)->take_int16 = true;
	if (!is_integer_cell(t, projection_clip))
		return;
	if (shape->rank != 3 || shape->dims[!time_major] > MOST_STEPS)
		return refuse(t, "the input must have 3 dimensions, at most %d steps", MOST_STEPS);
	steps = (uint32_t)shape->dims[!time_major];
	pixel[0] = (uint32_t)shape->dims[time_major];
	pixel[1] = (uint32_t)shape->dims[2];
	read_cell(t, &c, cell_clip, projection_clip);
	divided(t, in(t, 0), shape, !time_major, steps, parts);
	state[0] = in(t, STATE_H);
	state[1] = in(t, STATE_C);
	for (uint32_t i = 0; i < steps && !t->refused; i++) {
		bool last = i + 1 == steps;
		const uint32_t outputs[3] = {
			last ? new_state(t, STATE_H) : result_like(t, state[0]),
			last ? new_state(t, STATE_C) : result_like(t, state[1]),
			result_like(t, state[0]),
		};

		run_cell(t, &c, view(t, parts[i], 2, pixel), state, outputs);
		state[0] = outputs[0];
		state[1] = outputs[1];
		results[i] = outputs[2];
	}
	if (!t->refused)
		set(t, 0, concatenated(t, results, steps, &out, !time_major, results[0]));
}
