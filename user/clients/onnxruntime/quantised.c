// SPDX-License-Identifier: MIT
/* Quantised models: finds the nodes that can use 8-bit tensors, and the scales of these tensors. */
#include "quantised.h"

#include <math.h>
#include <string.h>

static bool is_quantise(const struct node *node)
{
	return is_op(node, "QuantizeLinear");
}

static bool is_dequantise(const struct node *node)
{
	return is_op(node, "DequantizeLinear");
}

static int type_of(struct lowering *t, uint32_t value)
{
	return value == NO_VALUE ? ONNX_NONE : value_at(t, value)->type;
}

static bool is_8bit(int type)
{
	return type == ONNX_UINT8 || type == ONNX_INT8;
}

/* Returns the shape of a value of the graph; the rank is unknown if `value` is NO_VALUE. */
static const struct shape *shape_of(struct lowering *t, uint32_t value)
{
	static const struct shape none = { .rank = -1 };

	return value == NO_VALUE ? &none : &onnx(t)->values[value].shape;
}

bool scale_of_node(struct lowering *t, const struct node *node, uint32_t index,
		   float *scale, int32_t *zero)
{
	const uint32_t z = input_of(node, index + 1);
	const float *s = value_of_count(t, input_of(node, index), ONNX_FLOAT, 1);
	const int type = type_of(t, z);
	const void *point = value_of_count(t, z, type, 1);

	if (!s || (z != NO_VALUE && (!point || (!is_8bit(type) && type != ONNX_INT32))))
		return false;
	*scale = *s;
	*zero = point ? (int32_t)onnx_int(type, point, 0) : 0;
	return isfinite(*scale) && *scale > 0;
}

bool scale_in(struct lowering *t, uint32_t index, float *scale, int32_t *zero)
{
	return !REFUSED_IF(t, !scale_of_node(t, onnx(t)->node, index, scale, zero),
			   "a scale and zero point must be one constant each");
}

uint32_t qlinear_in(struct lowering *t, uint32_t index)
{
	const struct qlinear *form = onnx(t)->qlinear;
	float scale = 0;
	int32_t zero = 0;
	uint32_t x;

	onnx(t)->qlinear = NULL;
	x = in(t, index);
	onnx(t)->qlinear = form;
	scale_in(t, index + 1, &scale, &zero);
	if (!t->refused && (operand_of(t, x)->scale != scale || operand_of(t, x)->zero != zero))
		refuse(t, "two nodes give the 8-bit input different scales");
	return x;
}

uint32_t qlinear_result(struct lowering *t, uint32_t index, uint32_t rank, const uint32_t *dims)
{
	float scale;
	int32_t zero;

	return !scale_in(t, index, &scale, &zero) ? NO_OPERAND :
	       result_scaled(t, nnapi_type(type_out(t, 0)), scale, zero, rank, dims);
}

static void found(struct lowering *t, uint32_t value, float scale, int32_t zero)
{
	struct translated *known;

	if (value == NO_VALUE || !is_8bit(value_at(t, value)->type))
		return;
	known = &onnx(t)->values[value];
	if (known->quantised)
		return;
	known->quantised = true;
	known->scale = scale;
	known->zero = zero;
}

/*
 * Sets the scale of the values from which Gather and Transpose nodes compute `value`. ONNX
 * Runtime's quantiser dequantises embeddings only after Gather and Transpose.
 */
static void found_before(struct lowering *t, uint32_t value, float scale, int32_t zero)
{
	const struct node *node;

	while (value != NO_VALUE) {
		node = producer_of(onnx(t)->graph, value);
		value = is_op(node, "Gather") || is_op(node, "Transpose") ? input_of(node, 0) : NO_VALUE;
		found(t, value, scale, zero);
	}
}

void quantised_values(struct lowering *t)
{
	float scale;
	int32_t zero;

	/*
	 * Look at producers first: the node that produces a value has the value's most reliable
	 * scale.
	 */
	for (int want = 1; want >= 0; want--)
		for (uint32_t i = 0; i < onnx(t)->graph->node_count; i++) {
			const struct node *node = &onnx(t)->graph->nodes[i];

			if (!(want ? is_quantise(node) : is_dequantise(node)) ||
			    !node->in_count || !node->out_count ||
			    !scale_of_node(t, node, 1, &scale, &zero))
				continue;
			found(t, want ? node->out[0] : node->in[0], scale, zero);
			if (!want)
				found_before(t, node->in[0], scale, zero);
		}
	/*
	 * Look at the inputs of QLinear operators, because a scale and a zero point follow each of
	 * these inputs.
	 */
	for (uint32_t i = 0; i < onnx(t)->graph->node_count; i++) {
		const struct node *node = &onnx(t)->graph->nodes[i];
		const bool is_known = !*node->domain || !strcmp(node->domain, "com.microsoft");
		const bool is = is_known &&
				(!strncmp(node->op, "QLinear", 7) || !strcmp(node->op, "QGemm"));

		for (uint32_t k = 0; is && k < node->in_count; k++)
			if (scale_of_node(t, node, k + 1, &scale, &zero))
				found(t, node->in[k], scale, zero);
	}
}

/* ---- the node and its neighbours ---- */

static const struct node *dequantiser(struct lowering *t, uint32_t index)
{
	const struct node *node = producer_of(onnx(t)->graph, number_of_in(t, index));

	return is_dequantise(node) ? node : NULL;
}

static bool clip_bounds(struct lowering *t, const struct node *node, float *low,
			float *high)
{
	float bounds[2] = { -INFINITY, INFINITY };

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t v = input_of(node, i + 1);
		const float *bound = value_of_count(t, v, ONNX_FLOAT, 1);

		if (v != NO_VALUE && !bound)
			return false;
		if (bound)
			bounds[i] = *bound;
	}
	*low = node_float(node, "min", bounds[0]);
	*high = node_float(node, "max", bounds[1]);
	return true;
}

/* Returns the activation of a node, or FUSED_NONE. */
static int32_t activation(struct lowering *t, const struct node *node)
{
	float low, high;

	if (is_op(node, "Relu"))
		return ANEURALNETWORKS_FUSED_RELU;
	if (!is_op(node, "Clip") || !clip_bounds(t, node, &low, &high))
		return ANEURALNETWORKS_FUSED_NONE;
	if (low == 0 && high == 6)
		return ANEURALNETWORKS_FUSED_RELU6;
	if (low == -1 && high == 1)
		return ANEURALNETWORKS_FUSED_RELU1;
	return low == 0 && high > 1e30f ? ANEURALNETWORKS_FUSED_RELU : ANEURALNETWORKS_FUSED_NONE;
}

static struct translated *dequantised_value(struct lowering *t, uint32_t index)
{
	const struct node *node = dequantiser(t, index);
	struct translated *value;
	float scale;
	int32_t zero;

	if (!node || !scale_of_node(t, node, 1, &scale, &zero) || node->in[0] == NO_VALUE ||
	    !is_8bit(value_at(t, node->in[0])->type))
		return NULL;
	value = &onnx(t)->values[node->in[0]];
	return value->ready && value->quantised && value->scale == scale && value->zero == zero ?
	       value : NULL;
}

bool quantised_node(struct lowering *t, uint32_t count, bool fuse)
{
	const struct node *next;
	int type = ONNX_NONE;
	float scale;
	int32_t zero;

	if (t->refused || onnx(t)->node->out_count < 1 || onnx(t)->node->out[0] == NO_VALUE)
		return false;
	for (uint32_t i = 0; onnx(t)->qlinear && i < count; i++)
		if (type_of(t, input_of(onnx(t)->node, onnx(t)->qlinear->first + 3 * i)) !=
		    type_out(t, 0))
			return false;
	if (onnx(t)->qlinear)
		return true;
	for (uint32_t i = 0; i < count; i++) {
		int of;

		if (!dequantised_value(t, i))
			return false;
		of = value_at(t, dequantiser(t, i)->in[0])->type;
		if (type != ONNX_NONE && of != type)
			return false;
		type = of;
	}
	next = only_consumer(onnx(t)->graph, onnx(t)->node->out[0]);
	if (next && fuse && activation(t, next) && next->out[0] != NO_VALUE) {
		t->fused = activation(t, next);
		next = only_consumer(onnx(t)->graph, next->out[0]);
	}
	if (next && is_quantise(next) && scale_of_node(t, next, 1, &scale, &zero) &&
	    next->out[0] != NO_VALUE && value_at(t, next->out[0])->type == type &&
	    onnx(t)->values[next->out[0]].quantised) {
		onnx(t)->quantised_out = next->out[0];
		return true;
	}
	t->fused = ANEURALNETWORKS_FUSED_NONE;
	return false;
}

/*
 * If a DequantizeLinear computes input `index` of the node in translation, returns the 8-bit input
 * of the DequantizeLinear.
 */
uint32_t quantised_in(struct lowering *t, uint32_t index)
{
	const struct node *node = onnx(t)->node, *from = dequantiser(t, index);
	uint32_t operand;

	if (onnx(t)->qlinear)
		return qlinear_in(t, onnx(t)->qlinear->first + 3 * index);
	if (!from)
		return NO_OPERAND;
	onnx(t)->node = from;
	operand = in(t, 0);
	onnx(t)->node = node;
	return operand;
}

uint32_t quantised_result(struct lowering *t, uint32_t rank, const uint32_t *dims)
{
	const uint32_t number = onnx(t)->quantised_out;

	if (onnx(t)->qlinear)
		return qlinear_result(t, onnx(t)->qlinear->out, rank, dims);
	return result_scaled(t, nnapi_type(value_at(t, number)->type), onnx(t)->values[number].scale,
			     onnx(t)->values[number].zero, rank, dims);
}

void set_quantised_out(struct lowering *t, uint32_t operand, const struct shape *shape)
{
	struct translated *out;
	const struct value *value;
	uint32_t dims[MAX_DIMS], rank;

	if (onnx(t)->qlinear)
		return set_out(t, 0, operand, shape);
	out = &onnx(t)->values[onnx(t)->quantised_out];
	value = value_at(t, onnx(t)->quantised_out);
	if (shape_count(shape) <= 0)
		refuse(t, "the output has no elements, or more than 2^31");
	rank = flat(shape, dims);
	operand = view(t, operand, rank, dims);
	if (t->refused || operand == NO_OPERAND)
		return;
	out->operand = operand;
	out->shape = *shape;
	out->ready = true;
	/*
	 * The device never computes the float values between the node in translation and the
	 * QuantizeLinear after the node.
	 */
	for (const struct node *node = value->producer; node;) {
		onnx(t)->done[node->index] = true;
		if (node == onnx(t)->node)
			break;
		onnx(t)->values[node->in[0]].shape = *shape;
		onnx(t)->values[node->in[0]].ready = true;
		onnx(t)->values[node->in[0]].elided = true;
		node = producer_of(onnx(t)->graph, node->in[0]);
	}
}

bool bytes_in(struct lowering *t, uint32_t *x, uint32_t *out)
{
	if (!quantised_node(t, 1, false))
		return false;
	*x = quantised_in(t, 0);
	*out = quantised_result(t, operand_of(t, *x)->rank, operand_of(t, *x)->dims);
	return !t->refused;
}

void set_bytes(struct lowering *t, uint32_t operand, const struct shape *shape)
{
	set_quantised_out(t, operand, shape);
}

bool same_quantisation(struct lowering *t, uint32_t index)
{
	const struct translated *value, *out;
	const struct qlinear *q = onnx(t)->qlinear;
	float scales[2];
	int32_t zeros[2];

	if (q)
		return scale_of_node(t, onnx(t)->node, q->first + 3 * index + 1, scales, zeros) &&
		       scale_of_node(t, onnx(t)->node, q->out, scales + 1, zeros + 1) &&
		       scales[0] == scales[1] && zeros[0] == zeros[1];
	value = dequantised_value(t, index);
	out = &onnx(t)->values[onnx(t)->quantised_out];
	return value && value->scale == out->scale && value->zero == out->zero;
}

/* ---- weights ---- */

/*
 * Reads the zero point of weights, which is one number or `count` equal numbers. Returns false if
 * the numbers differ or are unknown.
 */
static bool weight_zero(struct lowering *t, uint32_t value, int type, int64_t count,
			int32_t *zero)
{
	const void *one = value_of_count(t, value, type, 1), *zeros;

	*zero = 0;
	if (value == NO_VALUE)
		return true;
	zeros = one ? one : value_of_count(t, value, type, count);
	if (!zeros)
		return false;
	for (int64_t i = 0; i < (one ? 1 : count); i++) {
		const int32_t is = (int32_t)onnx_int(type, zeros, i);

		if (i && is != *zero)
			return false;
		*zero = is;
	}
	return true;
}

bool weights_read(struct lowering *t, const struct node *node, uint32_t index,
		  const struct shape *shape, int axis, struct weights *weights)
{
	const uint32_t data = input_of(node, index), scales = input_of(node, index + 1);

	if (!is_8bit(type_of(t, data)))
		return false;
	weights->type = type_of(t, data);
	weights->shape = *shape;
	weights->elements = value_of_count(t, data, weights->type, shape_count(shape));
	weights->scale_count = shape_count(shape_of(t, scales));
	weights->scales = value_of_count(t, scales, ONNX_FLOAT, weights->scale_count);
	if (!weights->elements || !weights->scales || weights->scale_count < 1 ||
	    (weights->scale_count > 1 &&
	     (axis >= shape->rank || weights->scale_count != shape->dims[axis])))
		return false;
	for (int64_t i = 0; i < weights->scale_count; i++)
		if (!isfinite(weights->scales[i]) || weights->scales[i] <= 0)
			return false;
	if (!weight_zero(t, input_of(node, index + 2), weights->type, weights->scale_count,
			 &weights->zero))
		return false;
	/* Per-channel weights of the NNAPI are symmetric, without a zero point. */
	return weights->scale_count == 1 || weights->zero == (weights->type == ONNX_INT8 ? 0 : 128);
}

bool quantised_weights(struct lowering *t, uint32_t index, int axis, struct weights *weights)
{
	const struct node *node = dequantiser(t, index);
	const struct shape *shape = node ? shape_in(t, index) : NULL;
	int64_t of;

	if (!node || t->refused || node_int(node, "block_size", 0) ||
	    !weights_read(t, node, 0, shape, axis, weights))
		return false;
	of = node_int(node, "axis", 1);
	return weights->scale_count == 1 || (of < 0 ? of + shape->rank : of) == axis;
}

/* A constant bias: floats, or integers with one scale or one for each channel. */
struct bias {
	const float *floats;
	const int32_t *ints;
	const float *units;
	bool one_unit;
};

static bool bias_read(struct lowering *t, uint32_t index, int64_t count, struct bias *bias)
{
	const struct node *node = dequantiser(t, index);

	memset(bias, 0, sizeof(*bias));
	if (!node) {
		bias->floats = value_of_count(t, input_of(onnx(t)->node, index), ONNX_FLOAT, count);
		return bias->floats;
	}
	bias->ints = value_of_count(t, input_of(node, 0), ONNX_INT32, count);
	bias->units = value_of_count(t, input_of(node, 1), ONNX_FLOAT, 1);
	bias->one_unit = bias->units;
	if (!bias->units)
		bias->units = value_of_count(t, input_of(node, 1), ONNX_FLOAT, count);
	return bias->ints && bias->units;
}

/*
 * Converts a bias to integers with the accumulator's scale. If the bias already has the
 * accumulator's scale, the integers are those that ONNX Runtime adds.
 */
const int32_t *quantised_bias(struct lowering *t, uint32_t index, float input,
			      const struct weights *weights, int64_t count)
{
	int32_t *bias = builder_alloc(t->b, (size_t)count * sizeof(*bias));
	struct bias from;

	if (weights->scale_count != 1 && weights->scale_count != count)
		return NULL;
	if (has_in(t, index) && !bias_read(t, index, count, &from))
		return NULL;
	for (int64_t i = 0; bias && has_in(t, index) && i < count; i++) {
		double unit = (double)input * weights->scales[weights->scale_count == 1 ? 0 : i];
		double value = from.floats ? (double)from.floats[i] :
			       (double)from.ints[i] * from.units[from.one_unit ? 0 : i];

		/* A comparison with NaN is false, so negate the condition to reject NaN. */
		if (!(fabs(value / unit) <= INT32_MAX / 2))
			return NULL;
		bias[i] = (int32_t)lrint(value / unit);
	}
	return bias;
}

uint32_t weights_operand(struct lowering *t, const struct weights *weights, uint32_t input,
			 uint32_t rank, const uint32_t *dims, uint32_t channel, int8_t *elements)
{
	bool is_signed = operand_of(t, input)->type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
	int32_t zero = weights->zero;
	struct operand operand = { .rank = rank };
	float *scales;
	size_t count = 1;

	if (t->refused || !elements)
		return NO_OPERAND;
	for (uint32_t i = 0; i < rank; i++) {
		operand.dims[i] = dims[i];
		count *= dims[i];
	}
	/*
	 * Inverting the highest bit of a byte adds or subtracts 128, which converts between uint8
	 * and int8.
	 */
	if (weights->scale_count > 1 ? weights->type == ONNX_UINT8 :
				       is_signed != (weights->type == ONNX_INT8)) {
		for (size_t i = 0; i < count; i++)
			elements[i] = (int8_t)(elements[i] ^ 0x80);
		zero += weights->type == ONNX_UINT8 ? -128 : 128;
	}
	operand.scale = weights->scales[0];
	operand.zero = zero;
	operand.type = is_signed ? ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED :
				   ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
	if (weights->scale_count > 1) {
		operand.type = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
		operand.scale = 0;
		operand.zero = 0;
		scales = builder_alloc(t->b, (size_t)weights->scale_count * sizeof(*scales));
		if (!scales)
			return NO_OPERAND;
		memcpy(scales, weights->scales, (size_t)weights->scale_count * sizeof(*scales));
		operand.scales = scales;
		operand.channel = channel;
	}
	return constant_bytes(t, &operand, elements);
}
