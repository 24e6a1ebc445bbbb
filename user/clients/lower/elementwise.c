// SPDX-License-Identifier: MIT
/*
 * Elementwise operations: comparisons, logic, selection, and the 8-bit results that the NNAPI
 * supports.
 */
#include "clients/lower/lowerings.h"
#include "clients/lower/reader.h"

/* Returns whether the result has the scale and zero point that the NNAPI's operation requires. */
static bool is_fixed(const struct operand *out, float scale, int32_t zero)
{
	const bool is_signed = out->type == NN(TENSOR_QUANT8_ASYMM_SIGNED);

	return out->scale == scale && out->zero == zero - (is_signed ? 128 : 0);
}

bool fits_quantised(const struct lowering *t, int32_t code, uint32_t a, uint32_t b, uint32_t to)
{
	const struct operand *out = operand_of(t, to);
	const float x = operand_of(t, a)->scale, y = operand_of(t, b)->scale;

	switch (code) {
	case NN(LOGISTIC):
	case NN(SOFTMAX):
		return is_fixed(out, 1.f / 256, 0);
	case NN(TANH):
	case NN(L2_NORMALIZATION):
		return is_fixed(out, 1.f / 128, 128);
	case NN(RELU):
	case NN(RELU1):
	case NN(RELU6):
		return is_alike(t, a, to);
	case NN(HARD_SWISH):
		return x / 128 < out->scale;
	case NN(MUL):
		return (double)x * y / out->scale < 1;
	default:
		return 2.0 * (x > y ? x : y) / ((double)(1 << 20) * out->scale) < 1;
	}
}

void activation_op(struct lowering *t)
{
	uint32_t x, out;

	if (bytes_in(t, &x, &out) && fits_quantised(t, t->code, x, x, out))
		set_bytes(t, EMIT(t, t->code, out, x), shape_in(t, 0));
	else
		set_out(t, 0, unary(t, t->code, float_in(t, 0)), shape_in(t, 0));
}

/*
 * Checks that the inputs have equal scales, because a comparison compares the stored 8-bit numbers.
 */
static void are_alike(struct lowering *t, uint32_t a, uint32_t b)
{
	if (!t->refused && is_quant8(t, a) && !is_alike(t, a, b))
		refuse(t, "the 8-bit inputs must have the same scale and zero point");
}

void binary_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	uint32_t x = in(t, 0), y = in(t, 1);

	are_alike(t, x, y);
	set_out(t, 0, broadcast(t, t->code, x, a, y, b, &shape), &shape);
}

uint32_t combined(struct lowering *t, int32_t code, struct shape *shape)
{
	struct shape both = *shape_in(t, 0);
	uint32_t x = in(t, 0), y;

	*shape = both;
	for (uint32_t i = 1; i < in_count(t); i++, *shape = both) {
		y = in(t, i);
		both = broadcast_shape(t, shape, shape_in(t, i));
		x = view_shape(t, broadcast(t, code, x, shape, y, shape_in(t, i), &both), &both);
	}
	return x;
}

void extremum_op(struct lowering *t)
{
	struct shape shape;
	uint32_t x;

	for (uint32_t i = 1; i < in_count(t); i++)
		are_alike(t, in(t, 0), in(t, i));
	x = combined(t, t->code, &shape);
	set_out(t, 0, x, &shape);
}

/* Selects bools by logic, (c and a) or (not c and b), because SELECT has no bool values. */
static uint32_t where_bool(struct lowering *t, const struct shape *shape)
{
	const struct shape *c = shape_in(t, 0), *a = shape_in(t, 1), *b = shape_in(t, 2);
	struct shape ca = broadcast_shape(t, c, a), cb = broadcast_shape(t, c, b);
	uint32_t x, y;

	x = broadcast(t, NN(LOGICAL_AND), in(t, 0), c, in(t, 1), a, &ca);
	y = broadcast(t, NN(LOGICAL_AND), unary(t, NN(LOGICAL_NOT), in(t, 0)), c, in(t, 2), b, &cb);
	return broadcast(t, NN(LOGICAL_OR), x, &ca, y, &cb, shape);
}

void choose(struct lowering *t, uint32_t condition, const struct shape *c)
{
	const struct shape *a = shape_in(t, 1), *b = shape_in(t, 2);
	struct shape ab = broadcast_shape(t, a, b), shape = broadcast_shape(t, c, &ab);
	uint32_t dims[MAX_DIMS], rank = flat(&shape, dims), x, y;

	if (is_type(t, in(t, 1), NN(TENSOR_BOOL8)))
		return set_out(t, 0, where_bool(t, &shape), &shape);
	x = expanded(t, in(t, 1), a, &shape);
	y = expanded(t, in(t, 2), b, &shape);
	/* TILE does not support bool, so broadcast bools by LOGICAL_OR with false. */
	if (!is_of_shape(t, condition, rank, dims)) {
		condition = broadcast(t, NN(LOGICAL_OR), condition, c,
				      zeros(t, condition, rank, dims), &shape, &shape);
		condition = view(t, condition, rank, dims);
	}
	are_alike(t, x, y);
	set_out(t, 0, selected(t, condition, x, y), &shape);
}

void where_op(struct lowering *t)
{
	choose(t, in(t, 0), shape_in(t, 0));
}

void floor_mod_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	uint32_t x, y;

	if (!is_type(t, in(t, 0), NN(TENSOR_INT32)))
		refuse(t, "the remainder is supported only for int32");
	x = expanded(t, in(t, 0), a, &shape);
	y = expanded(t, in(t, 1), b, &shape);
	set_out(t, 0, arithmetic(t, NN(SUB), x,
				 arithmetic(t, NN(MUL), arithmetic(t, NN(DIV), x, y), y)), &shape);
}
