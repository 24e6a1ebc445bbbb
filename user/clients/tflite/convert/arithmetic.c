/* SPDX-License-Identifier: MIT */
/*
 * Operations on two tensors, with broadcasting.
 */
#include <string.h>

#include "clients/tflite/operations.h"

/* Translates ADD, SUB, MUL and DIV. */
void arithmetic_op(struct lowering *t)
{
	const struct tfl_activated *p = params(t);
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	uint32_t x = in(t, 0), y = in(t, 1), out = out_like(t, 0);

	t->fused = fused_code(t, p->activation);
	if (is_type(t, x, NN(TENSOR_INT32)) && t->fused != NN(FUSED_NONE))
		return refuse(t, "int32 with a fused activation is not supported");
	if (is_quant8(t, x) && !fits_quantised(t, t->code, x, y, out))
		x = float_in(t, 0), y = float_in(t, 1), out = x;
	set_out(t, 0, broadcast_like(t, t->code, x, a, y, b, &shape, out), &shape);
}

/*
 * Returns whether an int32 divisor may be 0. TensorFlow Lite's DIV fails if a divisor is 0. NNAPI's
 * DIV does not fail, and rounds down.
 */
static bool may_be_zero(struct lowering *t)
{
	int64_t count, *divisor = constant_count(t, 1) < 0 ? NULL : ints_in(t, 1, &count);

	for (int64_t i = 0; divisor && i < count; i++)
		if (!divisor[i])
			return true;
	return !divisor;
}

/*
 * Translates FLOOR_DIV, which has an OperationCode in builtins.def, and FLOOR_MOD, which has no
 * OperationCode.
 */
void floor_div_op(struct lowering *t)
{
	/*
	 * Rejects float32, whose quotients the NNAPI would round before rounding down: -9.9 / -3.3
	 * is just below 3 in double precision, but 3 in float32.
	 */
	if (!is_type(t, in(t, 0), NN(TENSOR_INT32)))
		refuse(t, "TensorFlow Lite divides float32 in double precision");
	else if (may_be_zero(t))
		refuse(t, "the divisor may be 0, which must be an error");
	else if (t->code == NN(DIV))
		binary_op(t);
	else
		floor_mod_op(t);
}

void squared_difference_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	uint32_t difference = broadcast(t, NN(SUB), number_in(t, 0), a, number_in(t, 1), b, &shape);

	set_out(t, 0, arithmetic(t, NN(MUL), difference, difference), &shape);
}

void add_n_op(struct lowering *t)
{
	struct shape shape;
	uint32_t sum = combined(t, NN(ADD), &shape);

	set_out(t, 0, sum, &shape);
}

/*
 * Translates SELECT and SELECT_V2. The condition of SELECT has one element, or one element for each
 * row. SELECT_V2 broadcasts its condition and its two values.
 */
void select_op(struct lowering *t)
{
	const struct tfl_tensor *condition = tensor_in(t, 0);
	struct shape shape = *shape_in(t, 0), out = shape_of(tensor_out(t, 0));

	if (condition->type != TFL_BOOL)
		return refuse(t, "condition is %s, must be bool",
			      tensor_type_name(condition->type));
	if (t->code == NN(SELECT) && shape.rank == 1 && out.rank && shape.dims[0] == out.dims[0]) {
		for (shape.rank = 1; shape.rank < out.rank; shape.rank++)
			shape.dims[shape.rank] = 1;
	}
	choose(t, view_shape(t, in(t, 0), &shape), &shape);
}
