// SPDX-License-Identifier: MIT
/* Elementwise operators: arithmetic, comparisons, logic and selection. */
#include "ops.h"

#include <string.h>

static bool quantised_arithmetic(struct lowering *t, const struct shape *shape)
{
	uint32_t x, y, out, dims[MAX_DIMS], rank;

	if (t->code == NN(DIV) || shape->rank > MAX_DIMS || t->refused ||
	    !quantised_node(t, 2, true))
		return false;
	x = quantised_in(t, 0);
	y = quantised_in(t, 1);
	rank = flat(shape, dims);
	out = quantised_result(t, rank, dims);
	if (!fits_quantised(t, t->code, x, y, out)) {
		t->fused = NN(FUSED_NONE);
		return false;
	}
	set_quantised_out(t, EMIT(t, t->code, out, x, y, scalar_int(t, t->fused)), shape);
	return true;
}

void arithmetic_op(struct lowering *t)
{
	const struct shape *a = shape_in(t, 0), *b = shape_in(t, 1);
	struct shape shape = broadcast_shape(t, a, b);
	int of = type_in(t, 0);

	if (quantised_arithmetic(t, &shape) || folded_arithmetic(t, t->code, &shape))
		return;
	if (of == ONNX_INT64)
		refuse(t, "the result in int64 may not fit the NNAPI's int32");
	if (of == ONNX_INT32 && t->code == NN(DIV))
		refuse(t, "the NNAPI divides integers downwards, ONNX towards zero");
	if (of == ONNX_UINT8 || of == ONNX_INT8)
		refuse(t, "8-bit results saturate in the NNAPI, and wrap in ONNX");
	set_out(t, 0, broadcast(t, t->code, in(t, 0), a, in(t, 1), b, &shape), &shape);
}

void comparison_op(struct lowering *t)
{
	const struct shape shape = broadcast_shape(t, shape_in(t, 0), shape_in(t, 1));

	if (!folded_arithmetic(t, t->code, &shape))
		binary_op(t);
}

void choice_op(struct lowering *t)
{
	if (!folded_choice(t))
		where_op(t);
}

uint32_t plus_in(struct lowering *t, uint32_t x, const struct shape *shape, uint32_t index)
{
	const struct shape *of = shape_in(t, index), to = broadcast_shape(t, shape, of);

	if (to.rank != shape->rank || shape_count(&to) != shape_count(shape))
		refuse(t, "input %u is larger than the tensor to which it is added", index);
	return view_shape(t, broadcast(t, NN(ADD), x, shape, in(t, index), of, shape), shape);
}

/* Translates Sum and Mean of any number of inputs. */
void sum_op(struct lowering *t)
{
	struct shape shape = *shape_in(t, 0), both;
	uint32_t x;

	if (is_node(t, "Sum") && in_count(t) == 2) {
		both = broadcast_shape(t, &shape, shape_in(t, 1));
		if (quantised_arithmetic(t, &both))
			return;
	}
	x = in(t, 0);
	if (in_count(t) > 1 && type_in(t, 0) == ONNX_INT64)
		refuse(t, "the result in int64 may not fit the NNAPI's int32");
	if (is_quant8(t, x))
		refuse(t, "8-bit results saturate in the NNAPI, and wrap in ONNX");
	x = combined(t, NN(ADD), &shape);
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
		refuse(t, "the base must be float");
	if (data) {
		real = type == ONNX_FLOAT || type == ONNX_FLOAT16 ? floats_of_count(t, 1, 1) : NULL;
		if (type == ONNX_INT32 || type == ONNX_INT64)
			power = (float)onnx_int(type, data, 0);
		else if (!REFUSED_IF(t, !real, "an exponent of %s is unsupported", onnx_name(type)))
			power = *real;
		if (b->rank > a->rank)
			refuse(t, "the exponent has more dimensions than the base");
		if (power == 2)
			set_out(t, 0, arithmetic(t, NN(MUL), x, x), &shape);
		else if (power == 0.5f)
			set_out(t, 0, unary(t, NN(SQRT), x), &shape);
		else
			set_out(t, 0, with_number(t, NN(POW), x, power), &shape);
		return;
	}
	y = in(t, 1);
	if (is_type(t, y, NN(TENSOR_INT32)))
		y = cast(t, y, operand_of(t, x)->type);
	if (operand_of(t, y)->type != operand_of(t, x)->type)
		refuse(t, "the exponent must be of int32 or of the base's type");
	set_out(t, 0, broadcast(t, NN(POW), x, a, y, b, &shape), &shape);
}
