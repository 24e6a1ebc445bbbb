/* SPDX-License-Identifier: MIT */
/*
 * Operations on two tensors, with broadcasting.
 */
#include <math.h>
#include <string.h>

#include "clients/tflite/operations.h"

/* Refuses operands of different types. */
static bool pair(struct graph *g)
{
	const struct tfl_tensor *a = graph_input(g, 0), *b = graph_input(g, 1);

	if (!a || !b)
		graph_refuse(g, "an input is missing");
	else if (a->type != b->type)
		graph_refuse(g, "%s with %s", tensor_type_name(a->type), tensor_type_name(b->type));
	return !g->refused;
}

static uint32_t no_activation(struct graph *g)
{
	return graph_i32(g, ANEURALNETWORKS_FUSED_NONE);
}

/* code(a, b, activation), computed as float32 where `real` and the tensors are quantised. */
static void binary(struct graph *g, int32_t code, int activation, bool real)
{
	const struct tfl_tensor *a = graph_input(g, 0);
	uint32_t out;

	if (a->type == TFL_INT32 && activation != TFL_ACT_NONE)
		return graph_refuse(g, "int32 with a fused activation");
	if (!real || !tensor_is_quant8(a)) {
		emit(g, code, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1),
		     graph_activation(g, activation));
		return;
	}
	out = graph_begin_real(g, 0);
	emit(g, code, out, graph_real_in(g, 0), graph_real_in(g, 1),
	     graph_activation(g, activation));
	graph_end_real(g, 0, out);
}

static float scale(const struct tfl_tensor *t)
{
	return t->params.scale;
}

/* NNAPI's quantised sums need an output scale that is not far below those of the inputs. */
void convert_add(struct graph *g, const struct operation *op)
{
	const struct tfl_activated *p = g->node->builtin_data;
	const struct tfl_tensor *a = graph_input(g, 0), *b = graph_input(g, 1);

	if (!pair(g) || !same_type(g, 0, 0))
		return;
	binary(g, op->code, p->activation,
	       2 * fmaxf(scale(a), scale(b)) >= scale(graph_output(g, 0)) * (1 << 20));
}

/* NNAPI's quantised product needs an output scale above the product of those of the inputs. */
void convert_mul(struct graph *g, const struct operation *op)
{
	const struct tfl_activated *p = g->node->builtin_data;
	const struct tfl_tensor *a = graph_input(g, 0), *b = graph_input(g, 1);

	(void)op;
	if (!pair(g) || !same_type(g, 0, 0))
		return;
	binary(g, ANEURALNETWORKS_MUL, p->activation,
	       (double)scale(a) * (double)scale(b) >= (double)scale(graph_output(g, 0)));
}

void convert_div(struct graph *g, const struct operation *op)
{
	const struct tfl_activated *p = g->node->builtin_data;

	(void)op;
	if (pair(g) && same_type(g, 0, 0))
		binary(g, ANEURALNETWORKS_DIV, p->activation, false);
}

/* NNAPI's DIV of int32 is this one; TensorFlow Lite's fails where the divisor is 0. */
static bool may_be_zero(struct graph *g, const struct tfl_tensor *t)
{
	const uint64_t count = tensor_count(t);
	const char *data = tensor_is_constant(t) ? data_of_count(g, t, TFL_INT32, count) : NULL;

	for (uint64_t i = 0; data && i < count; i++)
		if (!memcmp(data + 4 * i, "\0\0\0\0", 4))
			return true;
	return !data;
}

static bool may_floor(struct graph *g)
{
	const struct tfl_tensor *b = graph_input(g, 1);

	if (!pair(g) || !same_type(g, 0, 0))
		return false;
	/* -9.9 by -3.3 is just below 3 in double, and 3 in float32. */
	if (b->type != TFL_INT32)
		graph_refuse(g, "%s, which TensorFlow Lite divides in double", tensor_type_name(b->type));
	else if (may_be_zero(g, b))
		graph_refuse(g, "a divisor that may be 0, which has to be an error");
	return !g->refused;
}

void convert_floor_div(struct graph *g, const struct operation *op)
{
	(void)op;
	if (may_floor(g))
		emit(g, ANEURALNETWORKS_DIV, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1),
		     no_activation(g));
}

/* a - floor(a / b) * b */
void convert_floor_mod(struct graph *g, const struct operation *op)
{
	struct value v = graph_value_of(g, graph_output(g, 0));
	uint32_t quotient = graph_temporary(g, &v), product = graph_temporary(g, &v);

	(void)op;
	if (!may_floor(g))
		return;
	emit(g, ANEURALNETWORKS_DIV, quotient, graph_in(g, 0), graph_in(g, 1), no_activation(g));
	emit(g, ANEURALNETWORKS_MUL, product, quotient, graph_in(g, 1), no_activation(g));
	emit(g, ANEURALNETWORKS_SUB, graph_out(g, 0), graph_in(g, 0), product, no_activation(g));
}

static bool all_same_quant(struct graph *g)
{
	if (!pair(g) || !same_quant(g, 0, 0) || !same_quant(g, 1, 0))
		return false;
	return true;
}

/* TensorFlow Lite's compare stored values, whatever the scales. */
void convert_maximum(struct graph *g, const struct operation *op)
{
	if (all_same_quant(g))
		emit(g, op->code, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1));
}

/*
 * Of two scales TensorFlow Lite compares numbers in fixed point, NNAPI in float: pairs that
 * are nearly equal may come out differently.
 */
void convert_compare(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *out = graph_output(g, 0);

	if (!pair(g))
		return;
	if (tensor_is_quant8(graph_input(g, 0)) &&
	    !tensor_same_quant(graph_input(g, 0), graph_input(g, 1)))
		return graph_refuse(g, "quantised inputs of different scales or zero points");
	if (out->type != TFL_BOOL)
		return graph_refuse(g, "an output of type %s", tensor_type_name(out->type));
	emit(g, op->code, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1));
}

void convert_logical(struct graph *g, const struct operation *op)
{
	if (pair(g) && same_type(g, 0, 0))
		emit(g, op->code, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1));
}

void convert_pow(struct graph *g, const struct operation *op)
{
	(void)op;
	if (pair(g) && same_type(g, 0, 0))
		emit(g, ANEURALNETWORKS_POW, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1));
}

void convert_square(struct graph *g, const struct operation *op)
{
	(void)op;
	if (same_type(g, 0, 0))
		emit(g, ANEURALNETWORKS_MUL, graph_out(g, 0), graph_in(g, 0), graph_in(g, 0),
		     no_activation(g));
}

void convert_squared_difference(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *out = graph_output(g, 0);
	uint32_t difference, to;
	struct value v;

	(void)op;
	if (!pair(g) || !same_type(g, 0, 0))
		return;
	v = out->type == TFL_INT32 ? graph_value_of(g, out) : graph_float(out);
	difference = graph_temporary(g, &v);
	to = out->type == TFL_INT32 ? graph_out(g, 0) : graph_begin_real(g, 0);
	if (out->type == TFL_INT32)
		emit(g, ANEURALNETWORKS_SUB, difference, graph_in(g, 0), graph_in(g, 1),
		     no_activation(g));
	else
		emit(g, ANEURALNETWORKS_SUB, difference, graph_real_in(g, 0),
		     graph_real_in(g, 1), no_activation(g));
	emit(g, ANEURALNETWORKS_MUL, to, difference, difference, no_activation(g));
	if (out->type != TFL_INT32)
		graph_end_real(g, 0, to);
}

void convert_add_n(struct graph *g, const struct operation *op)
{
	int count = g->node->inputs->size;
	uint32_t sum = graph_in(g, 0);
	struct value v;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	v = graph_value_of(g, graph_output(g, 0));
	for (int i = 1; i < count; i++) {
		uint32_t to = i + 1 < count ? graph_temporary(g, &v) : graph_out(g, 0);

		if (!same_type(g, i, 0))
			return;
		emit(g, ANEURALNETWORKS_ADD, to, sum, graph_in(g, i), no_activation(g));
		sum = to;
	}
}

/* Dimensions of input `i`, with ones in front of them up to the output's `rank`. */
static bool aligned(struct graph *g, int i, uint32_t rank, uint32_t *dims)
{
	const struct tfl_ints *have = graph_input(g, i)->dims;
	uint32_t before = rank - (uint32_t)have->size;

	if ((uint32_t)have->size > rank || rank > GRAPH_MAX_RANK) {
		graph_refuse(g, "input %d of more dimensions than the output", i);
		return false;
	}
	for (uint32_t k = 0; k < rank; k++)
		dims[k] = k >= before ? (uint32_t)have->data[k - before] : 1;
	return true;
}

/* A condition for each row: NNAPI reshapes floats, not booleans. */
static uint32_t condition_of_rows(struct graph *g, const struct value *wide)
{
	struct value zeros = *wide, row = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = 1 };
	uint32_t dims[GRAPH_MAX_RANK] = { wide->dims[0], 1, 1, 1 }, real, to;

	row.dims[0] = wide->dims[0];
	zeros.type = ANEURALNETWORKS_TENSOR_FLOAT32;
	real = graph_temporary(g, &row);
	emit(g, ANEURALNETWORKS_SELECT, real, graph_in(g, 0),
	     graph_floats(g, wide->dims[0], 1), graph_floats(g, wide->dims[0], 0));
	to = graph_temporary(g, wide);
	emit(g, ANEURALNETWORKS_GREATER, to, graph_reshaped(g, real, wide->rank, dims),
	     graph_filled(g, &zeros, 0));
	return to;
}

/* NNAPI's LOGICAL_OR broadcasts, which its SELECT does not: the condition, or false everywhere. */
static uint32_t wide_condition(struct graph *g, bool by_rows)
{
	const struct tfl_tensor *out = graph_output(g, 0);
	struct value v = graph_value_of(g, out);
	uint32_t to;

	if (tensor_same_shape(graph_input(g, 0), out))
		return graph_in(g, 0);
	if (v.rank > 4)
		graph_refuse(g, "shapes that differ, of %u dimensions", v.rank);
	if (g->refused)
		return GRAPH_NONE;
	v.type = ANEURALNETWORKS_TENSOR_BOOL8;
	v.scale = 0;
	v.zero_point = 0;
	if (by_rows)
		return condition_of_rows(g, &v);
	to = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_LOGICAL_OR, to, graph_in(g, 0), graph_filled(g, &v, 0));
	return to;
}

static uint32_t wide_value(struct graph *g, int i)
{
	const struct tfl_tensor *x = graph_input(g, i), *out = graph_output(g, 0);
	struct value v = graph_value_of(g, out);
	uint32_t dims[GRAPH_MAX_RANK], to, narrow;
	int32_t times[GRAPH_MAX_RANK];

	if (tensor_same_shape(x, out))
		return graph_in(g, i);
	if (g->refused || !aligned(g, i, v.rank, dims))
		return GRAPH_NONE;
	for (uint32_t k = 0; k < v.rank; k++)
		times[k] = (int32_t)(v.dims[k] / dims[k]);
	narrow = graph_reshaped(g, graph_in(g, i), v.rank, dims);
	to = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_TILE, to, narrow, graph_ints(g, times, v.rank));
	return to;
}

/*
 * NNAPI's SELECT takes one shape only. The first form of TensorFlow Lite's has a condition of
 * one element, or one for each row; the second broadcasts all three.
 */
void convert_select(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *condition = graph_input(g, 0), *out = graph_output(g, 0);
	uint32_t wide;

	for (int i = 1; i < 3; i++)
		if (!same_quant(g, i, 0))
			return;
	if (condition->type != TFL_BOOL)
		return graph_refuse(g, "a condition of type %s", tensor_type_name(condition->type));
	wide = wide_condition(g, op->code == 1 && condition->dims->size == 1 &&
			      condition->dims->data[0] == (out->dims->size ? out->dims->data[0] : 1));
	emit(g, ANEURALNETWORKS_SELECT, graph_out(g, 0), wide, wide_value(g, 1), wide_value(g, 2));
}
