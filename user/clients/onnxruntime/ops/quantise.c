// SPDX-License-Identifier: MIT
/* QuantizeLinear and DequantizeLinear where they are operations of their own. */
#include "ops.h"

#include <math.h>

#define NN(name) ANEURALNETWORKS_##name

/* The scale and zero point that quantised_values() found must be this node's. */
static bool is_known(struct translation *t, uint32_t value)
{
	const struct translated *known = &t->values[value];
	int64_t count;
	const float *scale = type_in(t, 1) == ONNX_FLOAT ? data_in(t, 1, &count) : NULL;

	if (scale && count == 1 && known->quantised && known->scale == *scale) {
		const void *zero = has_in(t, 2) ? data_in(t, 2, &count) : NULL;
		int type = type_in(t, 2);
		int32_t is = !zero ? 0 : type == ONNX_INT8 ? *(const int8_t *)zero :
							    *(const uint8_t *)zero;

		if (known->zero == is && (zero || !has_in(t, 2)))
			return true;
	}
	refuse(t, "a scale that is not one constant, or another than that of a second node");
	return false;
}

void quantize_op(struct translation *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t out = t->node->out_count ? t->node->out[0] : NO_VALUE, operand, x = in(t, 0);
	int type = out == NO_VALUE ? ONNX_NONE : t->graph->values[out].type;

	if (type != ONNX_UINT8 && type != ONNX_INT8) {
		refuse(t, "to %s", onnx_name(type));
		return;
	}
	if (t->refused || !is_known(t, out))
		return;
	operand = result_type(t, nnapi_type(type), operand_of(t, x)->rank, operand_of(t, x)->dims);
	if (operand == NO_OPERAND)
		return;
	t->b->operands[operand].scale = t->values[out].scale;
	t->b->operands[operand].zero = t->values[out].zero;
	set_out(t, 0, EMIT(t, NN(QUANTIZE), operand, x), shape);
}

/* Constants are computed here: what uses them may want them in another order. */
static bool dequantise_constant(struct translation *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t count, scale_count, zero_count = 0, inner = 1, axis = 0;
	const void *data = data_in(t, 0, &count), *zeros;
	const float *scales;
	int type = type_in(t, 0);
	float *floats;

	if (!data || (type != ONNX_UINT8 && type != ONNX_INT8 && type != ONNX_INT32) ||
	    type_in(t, 1) != ONNX_FLOAT || node_int(t->node, "block_size", 0))
		return false;
	scales = data_in(t, 1, &scale_count);
	zeros = has_in(t, 2) ? data_in(t, 2, &zero_count) : NULL;
	if (!scales || (has_in(t, 2) && !zeros) || (zeros && zero_count != scale_count))
		return false;
	if (scale_count != 1) {
		axis = axis_of(t, node_int(t->node, "axis", 1), shape->rank);
		if (t->refused || shape->dims[axis] != scale_count)
			return false;
		for (int i = (int)axis + 1; i < shape->rank; i++)
			inner *= shape->dims[i];
	}
	floats = builder_alloc(t->b, (size_t)count * sizeof(*floats) + 1);
	for (int64_t i = 0; floats && i < count; i++) {
		int64_t c = scale_count == 1 ? 0 : i / inner % scale_count;
		int32_t zero = 0, q;

		if (type == ONNX_INT32) {
			q = ((const int32_t *)data)[i];
			zero = zeros ? ((const int32_t *)zeros)[c] : 0;
		} else if (type == ONNX_INT8) {
			q = ((const int8_t *)data)[i];
			zero = zeros ? ((const int8_t *)zeros)[c] : 0;
		} else {
			q = ((const uint8_t *)data)[i];
			zero = zeros ? ((const uint8_t *)zeros)[c] : 0;
		}
		floats[i] = (float)((int64_t)q - zero) * scales[c];
	}
	set_out_data(t, 0, floats, shape);
	return true;
}

void dequantize_op(struct translation *t)
{
	const struct shape *shape = shape_in(t, 0);
	uint32_t x;
	int type = type_in(t, 0);

	if (t->graph->values[t->node->out[0]].type == ONNX_FLOAT && dequantise_constant(t))
		return;
	if (type != ONNX_UINT8 && type != ONNX_INT8) {
		refuse(t, "of %s", onnx_name(type));
		return;
	}
	if (t->refused || !is_known(t, t->node->in[0]))
		return;
	x = in(t, 0);
	set_out(t, 0, EMIT(t, NN(DEQUANTIZE),
			   result_type(t, nnapi_type(t->graph->values[t->node->out[0]].type),
				       operand_of(t, x)->rank, operand_of(t, x)->dims), x), shape);
}
