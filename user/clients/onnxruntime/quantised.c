// SPDX-License-Identifier: MIT
/* Quantised models: which nodes have a form on 8-bit tensors, and their scales. */
#include "quantised.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_op(const struct node *node, const char *op)
{
	return node && !strcmp(node->op, op) && !*node->domain;
}

static bool is_quantise(const struct node *node)
{
	return is_op(node, "QuantizeLinear");
}

static bool is_dequantise(const struct node *node)
{
	return is_op(node, "DequantizeLinear");
}

static const struct value *node_value(const struct translation *t, const struct node *node,
				      uint32_t index)
{
	return index < node->in_count && node->in[index] != NO_VALUE ?
	       &t->graph->values[node->in[index]] : NULL;
}

/* The one scale and zero point of a node that quantises or dequantises, where they are constant. */
static bool parameters(const struct translation *t, const struct node *node, float *scale,
		       int32_t *zero)
{
	const struct value *s = node_value(t, node, 1), *z = node_value(t, node, 2);

	if (!s || !s->data || s->type != ONNX_FLOAT || shape_count(&s->shape) != 1)
		return false;
	*scale = *(const float *)s->data;
	*zero = 0;
	if (z && (!z->data || shape_count(&z->shape) != 1))
		return false;
	if (z && z->type == ONNX_UINT8)
		*zero = *(const uint8_t *)z->data;
	else if (z && z->type == ONNX_INT8)
		*zero = *(const int8_t *)z->data;
	else if (z && z->type == ONNX_INT32)
		*zero = *(const int32_t *)z->data;
	else if (z)
		return false;
	return isfinite(*scale) && *scale > 0;
}

static bool is_8bit(int type)
{
	return type == ONNX_UINT8 || type == ONNX_INT8;
}

static void found(struct translation *t, uint32_t value, float scale, int32_t zero)
{
	struct translated *known;

	if (value == NO_VALUE || !is_8bit(t->graph->values[value].type))
		return;
	known = &t->values[value];
	if (known->quantised)
		return;
	known->quantised = true;
	known->scale = scale;
	known->zero = zero;
}

void quantised_values(struct translation *t)
{
	float scale;
	int32_t zero;

	/* What a value was made with is known best. */
	for (int want = 1; want >= 0; want--)
		for (uint32_t i = 0; i < t->graph->node_count; i++) {
			const struct node *node = &t->graph->nodes[i];

			if (!(want ? is_quantise(node) : is_dequantise(node)) ||
			    !node->in_count || !node->out_count ||
			    !parameters(t, node, &scale, &zero))
				continue;
			found(t, want ? node->out[0] : node->in[0], scale, zero);
		}
}

/* ---- the node and what is around it ---- */

static const struct node *dequantiser(const struct translation *t, uint32_t index)
{
	const struct node *node;

	if (!has_in(t, index))
		return NULL;
	node = t->graph->values[t->node->in[index]].producer;
	return is_dequantise(node) ? node : NULL;
}

/* Only one node uses the value. */
static const struct node *only_consumer(const struct translation *t, uint32_t value)
{
	const struct value *v = &t->graph->values[value];

	return v->consumers == 1 && !v->is_output ? v->consumer : NULL;
}

static bool clip_bounds(const struct translation *t, const struct node *node, float *low,
			float *high)
{
	float bounds[2] = { -INFINITY, INFINITY };

	for (uint32_t i = 0; i < 2; i++) {
		const struct value *v = node_value(t, node, i + 1);

		if (v && (!v->data || v->type != ONNX_FLOAT || shape_count(&v->shape) != 1))
			return false;
		if (v)
			bounds[i] = *(const float *)v->data;
	}
	*low = node_float(node, "min", bounds[0]);
	*high = node_float(node, "max", bounds[1]);
	return true;
}

/* The activation that a node is, FUSED_NONE where it is none. */
static int32_t activation(const struct translation *t, const struct node *node)
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

static struct translated *dequantised_value(struct translation *t, uint32_t index)
{
	const struct node *node = dequantiser(t, index);
	struct translated *value;
	float scale;
	int32_t zero;

	if (!node || !parameters(t, node, &scale, &zero) || node->in[0] == NO_VALUE ||
	    !is_8bit(t->graph->values[node->in[0]].type))
		return NULL;
	value = &t->values[node->in[0]];
	return value->ready && value->quantised && value->scale == scale && value->zero == zero ?
	       value : NULL;
}

bool quantised_node(struct translation *t, uint32_t count, bool fuse)
{
	const struct node *next;
	int type = ONNX_NONE;
	float scale;
	int32_t zero;

	if (t->refused || t->node->out_count < 1 || t->node->out[0] == NO_VALUE)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		int of;

		if (!dequantised_value(t, i))
			return false;
		of = t->graph->values[dequantiser(t, i)->in[0]].type;
		if (type != ONNX_NONE && of != type)
			return false;
		type = of;
	}
	next = only_consumer(t, t->node->out[0]);
	if (next && fuse && activation(t, next) && next->out[0] != NO_VALUE) {
		t->fused = activation(t, next);
		next = only_consumer(t, next->out[0]);
	}
	if (next && is_quantise(next) && parameters(t, next, &scale, &zero) &&
	    next->out[0] != NO_VALUE && t->graph->values[next->out[0]].type == type &&
	    t->values[next->out[0]].quantised) {
		t->quantised_out = next->out[0];
		return true;
	}
	t->fused = ANEURALNETWORKS_FUSED_NONE;
	return false;
}

/* An input that is 8 bits is a value of another node: it is asked for in that node's stead. */
uint32_t quantised_in(struct translation *t, uint32_t index)
{
	const struct node *node = t->node, *from = dequantiser(t, index);
	uint32_t operand;

	if (!from)
		return NO_OPERAND;
	t->node = from;
	operand = in(t, 0);
	t->node = node;
	return operand;
}

uint32_t quantised_result(struct translation *t, uint32_t rank, const uint32_t *dims)
{
	const struct translated *out = &t->values[t->quantised_out];
	uint32_t operand;

	operand = result_type(t, nnapi_type(t->graph->values[t->quantised_out].type), rank, dims);
	if (operand == NO_OPERAND)
		return operand;
	t->b->operands[operand].scale = out->scale;
	t->b->operands[operand].zero = out->zero;
	return operand;
}

void set_quantised_out(struct translation *t, uint32_t operand, const struct shape *shape)
{
	struct translated *out = &t->values[t->quantised_out];
	const struct value *value = &t->graph->values[t->quantised_out];
	uint32_t dims[MAX_DIMS], rank;

	if (shape_count(shape) <= 0)
		refuse(t, "the output has no element");
	rank = flat(shape, dims);
	operand = view(t, operand, rank, dims);
	if (t->refused || operand == NO_OPERAND)
		return;
	out->operand = operand;
	out->shape = *shape;
	out->ready = true;
	/* The float values between are never computed. */
	for (const struct node *node = value->producer; node;) {
		t->done[node->index] = true;
		if (node == t->node)
			break;
		t->values[node->in[0]].shape = *shape;
		t->values[node->in[0]].ready = true;
		t->values[node->in[0]].elided = true;
		node = t->graph->values[node->in[0]].producer;
	}
}

bool same_quantisation(struct translation *t, uint32_t index)
{
	const struct translated *value = dequantised_value(t, index);
	const struct translated *out = &t->values[t->quantised_out];

	return value && value->scale == out->scale && value->zero == out->zero;
}

/* ---- weights ---- */

static bool weight_zero(const struct value *zeros, int type, int64_t count, int32_t *zero)
{
	int64_t zero_count = zeros ? shape_count(&zeros->shape) : 0;

	*zero = 0;
	if (!zeros)
		return true;
	if (!zeros->data || zeros->type != type || (zero_count != count && zero_count != 1))
		return false;
	for (int64_t i = 0; i < zero_count; i++) {
		int32_t is = type == ONNX_INT8 ? ((const int8_t *)zeros->data)[i] :
						 ((const uint8_t *)zeros->data)[i];

		if (i && is != *zero)
			return false;
		*zero = is;
	}
	return true;
}

bool quantised_weights(struct translation *t, uint32_t index, int axis, struct weights *weights)
{
	const struct node *node = dequantiser(t, index);
	const struct value *data, *scales;

	if (!node || !(data = node_value(t, node, 0)) || !(scales = node_value(t, node, 1)) ||
	    !data->data || !is_8bit(data->type) || !scales->data || scales->type != ONNX_FLOAT ||
	    node_int(node, "block_size", 0))
		return false;
	weights->data = data->data;
	weights->type = data->type;
	weights->shape = data->shape;
	weights->axis = axis;
	weights->scales = scales->data;
	weights->scale_count = shape_count(&scales->shape);
	if (weights->scale_count != 1) {
		int64_t of = node_int(node, "axis", 1);

		if ((of < 0 ? of + data->shape.rank : of) != axis ||
		    weights->scale_count != data->shape.dims[axis])
			return false;
	}
	for (int64_t i = 0; i < weights->scale_count; i++)
		if (!isfinite(weights->scales[i]) || weights->scales[i] <= 0)
			return false;
	if (!weight_zero(node_value(t, node, 2), data->type, weights->scale_count, &weights->zero))
		return false;
	/* The NNAPI's per-channel weights are symmetric. */
	return weights->scale_count == 1 || weights->zero == (data->type == ONNX_INT8 ? 0 : 128);
}

static bool bias_value(struct translation *t, uint32_t index, int64_t channel, double *value)
{
	const struct node *node = dequantiser(t, index);
	const struct value *data = node ? node_value(t, node, 0) : node_value(t, t->node, index);
	const struct value *scales = node ? node_value(t, node, 1) : NULL;
	int64_t count;

	if (!data || !data->data)
		return false;
	if (!node) {
		*value = ((const float *)data->data)[channel];
		return data->type == ONNX_FLOAT;
	}
	count = scales && scales->data && scales->type == ONNX_FLOAT ?
		shape_count(&scales->shape) : 0;
	if (data->type != ONNX_INT32 || (count != 1 && count <= channel))
		return false;
	*value = (double)((const int32_t *)data->data)[channel] *
		 ((const float *)scales->data)[count == 1 ? 0 : channel];
	return true;
}

/* Numbers of the accumulator: what ONNX Runtime adds, too, where the scales agree. */
const int32_t *quantised_bias(struct translation *t, uint32_t index, float input,
			      const struct weights *weights, int64_t count)
{
	int32_t *bias = builder_alloc(t->b, (size_t)count * sizeof(*bias) + 1);

	for (int64_t i = 0; bias && has_in(t, index) && i < count; i++) {
		double unit = (double)input * weights->scales[weights->scale_count == 1 ? 0 : i];
		double value;

		if (!bias_value(t, index, i, &value) || fabs(value / unit) > INT32_MAX / 2)
			return NULL;
		bias[i] = (int32_t)lrint(value / unit);
	}
	return bias;
}

uint32_t weights_operand(struct translation *t, const struct weights *weights, uint32_t input,
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
	/* uint8 and int8 are 128 apart, which is the highest bit. */
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
