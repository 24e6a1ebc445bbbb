// SPDX-License-Identifier: MIT
/* Operators element by element: arithmetic, comparisons, logic, selection. */
#include "ops.h"

#include <string.h>

static const struct {
	const char *op;
	int32_t type;
} operations[] = {
	{ "Abs", NN(ABS) },
	{ "Add", NN(ADD) },
	{ "And", NN(LOGICAL_AND) },
	{ "Div", NN(DIV) },
	{ "Equal", NN(EQUAL) },
	{ "Exp", NN(EXP) },
	{ "Floor", NN(FLOOR) },
	{ "Greater", NN(GREATER) },
	{ "GreaterOrEqual", NN(GREATER_EQUAL) },
	{ "Less", NN(LESS) },
	{ "LessOrEqual", NN(LESS_EQUAL) },
	{ "Log", NN(LOG) },
	{ "Max", NN(MAXIMUM) },
	{ "Mean", NN(ADD) },
	{ "Min", NN(MINIMUM) },
	{ "Mul", NN(MUL) },
	{ "Neg", NN(NEG) },
	{ "Not", NN(LOGICAL_NOT) },
	{ "Or", NN(LOGICAL_OR) },
	{ "Sigmoid", NN(LOGISTIC) },
	{ "Sin", NN(SIN) },
	{ "Sqrt", NN(SQRT) },
	{ "Sub", NN(SUB) },
	{ "Sum", NN(ADD) },
	{ "Tanh", NN(TANH) },
	{ "Xor", NN(NOT_EQUAL) },
};

static int32_t operation(struct lowering *t)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (is_node(t, operations[i].op))
			return operations[i].type;
	return -1;
}

/* The scale and zero point that the NNAPI fixes for the result of an operation. */
static bool is_fixed(struct lowering *t, int32_t type)
{
	const struct translated *out = &onnx(t)->values[onnx(t)->quantised_out];
	bool is_signed = value_at(t, onnx(t)->quantised_out)->type == ONNX_INT8;

	if (type == NN(LOGISTIC))
		return out->scale == 1.f / 256 && out->zero == (is_signed ? -128 : 0);
	return type == NN(TANH) && out->scale == 1.f / 128 &&
	       out->zero == (is_signed ? 0 : 128);
}

void unary_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int32_t type = operation(t);
	uint32_t x = in(t, 0);

	if ((type == NN(LOGISTIC) || type == NN(TANH)) &&
	    quantised_node(t, 1, false) && is_fixed(t, type)) {
		x = quantised_in(t, 0);
		set_quantised_out(t, EMIT(t, type,
					  quantised_result(t, operand_of(t, x)->rank,
							   operand_of(t, x)->dims), x), shape);
		return;
	}
	/* -2^63 and -128 have no negative; an int64 that is int32 has. */
	if (type_in(t, 0) == ONNX_INT64 && operand_of(t, x)->type == NN(TENSOR_INT32))
		refuse(t, "arithmetic of int64");
	set_out(t, 0, unary(t, type, x), shape);
}

bool fits_quantised(struct lowering *t, int32_t type, uint32_t a, uint32_t b)
{
	float x = operand_of(t, a)->scale, y = operand_of(t, b)->scale;
	float out = onnx(t)->values[onnx(t)->quantised_out].scale;
	float greatest = x > y ? x : y;

	if (type == NN(MUL))
		return (double)x * y / out < 1;
	return 2.0 * greatest / ((double)(1 << 20) * out) < 1;
}

static bool quantised_arithmetic(struct lowering *t, int32_t type, const struct shape *shape)
{
	uint32_t x, y, out, dims[MAX_DIMS], rank;

	if (type == NN(DIV) || shape->rank > MAX_DIMS || t->refused ||
	    !quantised_node(t, 2, true))
		return false;
	x = quantised_in(t, 0);
	y = quantised_in(t, 1);
	if (!fits_quantised(t, type, x, y)) {
		t->fused = NN(FUSED_NONE);
		return false;
	}
	rank = flat(shape, dims);
	out = quantised_result(t, rank, dims);
	set_quantised_out(t, EMIT(t, type, out, x, y, scalar_int(t, t->fused)), shape);
	return true;
}

void arithmetic_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	int32_t type = operation(t);
	int of = type_in(t, 0);

	if (quantised_arithmetic(t, type, &shape) || folded_arithmetic(t, type, &shape))
		return;
	if (of == ONNX_INT64)
		refuse(t, "arithmetic of int64, which may not fit int32");
	if (of == ONNX_INT32 && type == NN(DIV))
		refuse(t, "the NNAPI divides integers downwards, ONNX towards zero");
	if (of == ONNX_UINT8 || of == ONNX_INT8)
		refuse(t, "the NNAPI's 8-bit arithmetic saturates");
	set_out(t, 0, broadcast(t, type, in(t, 0), a, in(t, 1), b, &shape), &shape);
}

void compare_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);

	set_out(t, 0, broadcast(t, operation(t), in(t, 0), a, in(t, 1), b, &shape), &shape);
}

void logical_op(struct lowering *t)
{
	compare_op(t);
}

/* Max, Min, Sum, Mean of any number of inputs. */
void variadic_op(struct lowering *t)
{
	struct shape shape = *shape_in(t, 0);
	int32_t type = operation(t);
	uint32_t x, rank, dims[MAX_DIMS];

	if (is_node(t, "Sum") && in_count(t) == 2) {
		struct shape both = broadcast_shape(t, &shape, shape_in(t, 1));

		if (quantised_arithmetic(t, type, &both))
			return;
	}
	x = in(t, 0);
	if (in_count(t) > 1 && type_in(t, 0) == ONNX_INT64 && type == NN(ADD))
		refuse(t, "arithmetic of int64, which may not fit int32");
	if (is_quant8(t, x) && type == NN(ADD))
		refuse(t, "the NNAPI's 8-bit arithmetic saturates");
	for (uint32_t i = 1; i < in_count(t); i++) {
		const struct shape *next = shape_in(t, i);
		struct shape both = broadcast_shape(t, &shape, next);

		x = broadcast(t, type, x, &shape, in(t, i), next, &both);
		shape = both;
		rank = flat(&shape, dims);
		x = view(t, x, rank, dims);
	}
	if (is_node(t, "Mean") && in_count(t) > 1)
		x = with_number(t, NN(MUL), x, 1.f / (float)in_count(t));
	set_out(t, 0, x, &shape);
}

void pow_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	const bool is_number = constant_count(t, 1) == 1;
	int type = type_in(t, 1);
	const void *data = is_number ? data_of_count(t, 1, type, 1) : NULL;
	uint32_t x = in(t, 0), y;
	float power = 0, *real;

	if (!is_float(t, x))
		refuse(t, "a power of integers");
	if (data) {
		switch (type) {
		case ONNX_INT32:
			power = (float)*(const int32_t *)data;
			break;
		case ONNX_INT64:
			power = (float)*(const int64_t *)data;
			break;
		case ONNX_FLOAT:
		case ONNX_FLOAT16:
			real = floats_of_count(t, 1, 1);
			power = real ? *real : 0;
			break;
		default:
			refuse(t, "an exponent of %s", onnx_name(type));
		}
		if (b->rank > a->rank)
			refuse(t, "an exponent of more dimensions");
		if (power == 2)
			set_out(t, 0, arithmetic(t, NN(MUL), x, x), &shape);
		else if (power == 0.5f)
			set_out(t, 0, unary(t, NN(SQRT), x), &shape);
		else
			set_out(t, 0, with_number(t, NN(POW), x, power), &shape);
		return;
	}
	y = in(t, 1);
	if (operand_of(t, y)->type != operand_of(t, x)->type)
		refuse(t, "an exponent of another type");
	set_out(t, 0, broadcast(t, NN(POW), x, a, y, b, &shape), &shape);
}

/* With bool there is only logic: c and a, or not c and b. */
static void where_bool(struct lowering *t, const struct shape *shape)
{
	const struct shape *c = shape_in(t, 0), *a = shape_in(t, 1), *b = shape_in(t, 2);
	struct shape ca = broadcast_shape(t, c, a), cb = broadcast_shape(t, c, b);
	uint32_t other = unary(t, NN(LOGICAL_NOT), in(t, 0));
	uint32_t x, y;

	x = broadcast(t, NN(LOGICAL_AND), in(t, 0), c, in(t, 1), a, &ca);
	y = broadcast(t, NN(LOGICAL_AND), other, c, in(t, 2), b, &cb);
	set_out(t, 0, broadcast(t, NN(LOGICAL_OR), x, &ca, y, &cb, shape), shape);
}

void where_op(struct lowering *t)
{
	const struct shape *c = shape_in(t, 0), *a = shape_in(t, 1), *b = shape_in(t, 2);
	struct shape ab = broadcast_shape(t, a, b), shape = broadcast_shape(t, c, &ab);
	uint32_t condition = in(t, 0), rank, dims[MAX_DIMS], x, y;

	if (type_in(t, 1) == ONNX_BOOL) {
		where_bool(t, &shape);
		return;
	}
	rank = flat(&shape, dims);
	x = expanded(t, in(t, 1), a, &shape);
	y = expanded(t, in(t, 2), b, &shape);
	/* There is no TILE for bool, but "or false" is one. */
	if (operand_of(t, condition)->rank != rank ||
	    memcmp(operand_of(t, condition)->dims, dims, rank * sizeof(*dims))) {
		size_t count = 1;
		struct operand type = { .type = NN(TENSOR_BOOL8), .rank = rank };

		memcpy(type.dims, dims, sizeof(type.dims));
		for (uint32_t i = 0; i < rank; i++)
			count *= dims[i];
		condition = broadcast(t, NN(LOGICAL_OR), condition, c,
				      constant_bytes(t, &type, builder_alloc(t->b, count)), &shape,
				      &shape);
	}
	if (!t->refused && is_quant8(t, x) &&
	    (operand_of(t, x)->scale != operand_of(t, y)->scale ||
	     operand_of(t, x)->zero != operand_of(t, y)->zero))
		refuse(t, "8-bit inputs of two scales");
	set_out(t, 0, EMIT(t, NN(SELECT), result(t, x, rank, dims), condition, x, y),
		&shape);
}

void is_nan_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t x = in(t, 0);

	set_out(t, 0, broadcast(t, NN(NOT_EQUAL), x, shape, x, shape, shape), shape);
}
