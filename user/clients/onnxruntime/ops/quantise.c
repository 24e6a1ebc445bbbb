// SPDX-License-Identifier: MIT
/* QuantizeLinear and DequantizeLinear as separate operations. */
#include "ops.h"

/*
 * Checks that the node in translation has the scale and zero point that quantised_values() has
 * found for `value`.
 */
static bool is_known(struct lowering *t, uint32_t value)
{
	const struct translated *known = &onnx(t)->values[value];
	float scale;
	int32_t zero;

	if (scale_of_node(t, onnx(t)->node, 1, &scale, &zero) && known->quantised &&
	    known->scale == scale && known->zero == zero)
		return true;
	refuse(t, "the scale and zero point must be constant, and equal in both nodes");
	return false;
}

void quantize_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t out = has_out(t, 0) ? onnx(t)->node->out[0] : NO_VALUE, operand, x = in(t, 0);
	int type = out == NO_VALUE ? ONNX_NONE : value_at(t, out)->type;

	if (type != ONNX_UINT8 && type != ONNX_INT8)
		return refuse(t, "the output is of %s, must be uint8 or int8", onnx_name(type));
	if (t->refused || !is_known(t, out))
		return;
	operand = result_scaled(t, nnapi_type(type), onnx(t)->values[out].scale,
				onnx(t)->values[out].zero, operand_of(t, x)->rank,
				operand_of(t, x)->dims);
	set_out(t, 0, EMIT(t, NN(QUANTIZE), operand, x), shape);
}

float *dequantised_floats(struct lowering *t, int type, const void *data, int64_t count,
			  const float *scales, const void *zeros, int64_t scale_count, int64_t inner)
{
	float *floats = builder_alloc(t->b, (size_t)count * sizeof(*floats));

	for (int64_t first = 0; floats && first < count; first += inner) {
		const int64_t c = first / inner % scale_count;
		const int64_t zero = zeros ? onnx_int(type, zeros, c) : 0;

		for (int64_t i = first; i < first + inner; i++)
			floats[i] = (float)(onnx_int(type, data, i) - zero) * scales[c];
	}
	return floats;
}

/*
 * Dequantises a constant during translation and not on the device, because consumers may have to
 * reorder the constant's elements.
 */
static bool dequantise_constant(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t count = constant_count(t, 0), scale_count = constant_count(t, 1), inner = count, axis;
	const void *data, *zeros = NULL;
	const float *scales;
	int type = type_in(t, 0);

	if (count < 1 || scale_count < 1 || attr_int(t, "block_size", 0) ||
	    (type != ONNX_UINT8 && type != ONNX_INT8 && type != ONNX_INT32))
		return false;
	data = value_of_count(t, onnx(t)->node->in[0], type, count);
	scales = value_of_count(t, onnx(t)->node->in[1], ONNX_FLOAT, scale_count);
	if (has_in(t, 2))
		zeros = value_of_count(t, onnx(t)->node->in[2], type, scale_count);
	if (!data || !scales || (has_in(t, 2) && !zeros))
		return false;
	if (scale_count != 1) {
		axis = axis_of(t, attr_int(t, "axis", 1), shape->rank);
		if (t->refused || shape->dims[axis] != scale_count)
			return false;
		inner = 1;
		for (int i = (int)axis + 1; i < shape->rank; i++)
			inner *= shape->dims[i];
	}
	set_out_data(t, 0, ONNX_FLOAT,
		     dequantised_floats(t, type, data, count, scales, zeros, scale_count, inner), shape);
	return true;
}

/*
 * Rejects nodes that are not part of a GEMM pattern. The last node of a GEMM pattern translates the
 * pattern; see dynamic.h.
 */
void integer_op(struct lowering *t)
{
	refuse(t, "it must multiply an output of DynamicQuantizeLinear by constant weights");
}

void dequantize_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int type = type_in(t, 0);

	if (type_out(t, 0) == ONNX_FLOAT && dequantise_constant(t))
		return;
	if (type != ONNX_UINT8 && type != ONNX_INT8)
		return refuse(t, "the input is of %s, must be uint8 or int8", onnx_name(type));
	if (t->refused || !is_known(t, onnx(t)->node->in[0]))
		return;
	set_out(t, 0, dequantised(t, in(t, 0), nnapi_type(type_out(t, 0))), shape);
}
