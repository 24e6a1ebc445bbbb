// SPDX-License-Identifier: MIT
/* Activations. Activations that the NNAPI lacks are composed of arithmetic operations. */
#include "ops.h"

#include <math.h>
#include <string.h>

static void set(struct lowering *t, uint32_t x)
{
	set_out(t, 0, x, shape_in(t, 0));
}

/*
 * Translates an activation between two 8-bit tensors. If both tensors have the same quantisation,
 * emits the activation `type`. If the quantisations differ, emits an ADD of zero with the fused
 * activation `fused`.
 */
static bool quantised_activation(struct lowering *t, int32_t type, int32_t fused)
{
	struct operand one = { .rank = 1, .dims = { 1 } };
	uint32_t x, out, zero;
	int8_t byte;

	if (!bytes_in(t, &x, &out))
		return false;
	if (same_quantisation(t, 0)) {
		set_bytes(t, unary(t, type, x), shape_in(t, 0));
		return true;
	}
	if (!fits_quantised(t, NN(ADD), x, x, out))
		return false;
	one.type = operand_of(t, x)->type;
	one.scale = operand_of(t, x)->scale;
	one.zero = operand_of(t, x)->zero;
	byte = (int8_t)one.zero;
	zero = constant_copy(t, &one, &byte);
	set_bytes(t, EMIT(t, NN(ADD), out, x, zero, scalar_int(t, fused)), shape_in(t, 0));
	return true;
}

void relu_op(struct lowering *t)
{
	uint32_t x;

	if (quantised_activation(t, NN(RELU), NN(FUSED_RELU)))
		return;
	x = in(t, 0);
	refuse_scaled(t, x);
	if (operand_of(t, x)->type == NN(TENSOR_INT32))
		x = with_number(t, NN(MAXIMUM), x, 0);
	else
		x = unary(t, NN(RELU), x);
	set(t, x);
}

/* Reads a constant bound into *value; sets *value to `otherwise` if the bound is missing. */
static bool bound(struct lowering *t, uint32_t index, const char *name, float otherwise,
		  float *value)
{
	int type = type_in(t, index);
	const int32_t *whole = NULL;
	float *real = NULL;

	*value = attr_float(t, name, otherwise);
	if (!has_in(t, index))
		return true;
	if (constant_count(t, index) != 1)
		return false;
	if (type == ONNX_FLOAT || type == ONNX_FLOAT16)
		real = floats_of_count(t, index, 1);
	else if (type == ONNX_INT32)
		whole = data_of_count(t, index, type, 1);
	if (real)
		*value = *real;
	else if (whole && *whole > -(1 << 24) && *whole < 1 << 24)
		*value = (float)*whole;
	else
		return false;
	return true;
}

void clip_op(struct lowering *t)
{
	uint32_t x = in(t, 0);
	float low, high;

	refuse_scaled(t, x);
	if (!bound(t, 1, "min", -INFINITY, &low) || !bound(t, 2, "max", INFINITY, &high)) {
		/* Bounds that are not constant are tensors of one element. */
		if (has_in(t, 1))
			x = arithmetic(t, NN(MAXIMUM), x, in(t, 1));
		if (has_in(t, 2))
			x = arithmetic(t, NN(MINIMUM), x, in(t, 2));
		set(t, x);
		return;
	}
	if (low == 0 && isinf(high) && quantised_activation(t, NN(RELU), NN(FUSED_RELU)))
		return;
	if (low == 0 && high == 6 && quantised_activation(t, NN(RELU6), NN(FUSED_RELU6)))
		return;
	if (is_float(t, x) && low == 0 && high == 6) {
		x = unary(t, NN(RELU6), x);
	} else if (is_float(t, x) && low == -1 && high == 1) {
		x = unary(t, NN(RELU1), x);
	} else if (is_float(t, x) && low == 0 && isinf(high)) {
		x = unary(t, NN(RELU), x);
	} else {
		/* If the lower bound is above the upper bound, all results are the upper bound. */
		x = bounded(t, x, low, high);
	}
	set(t, x);
}

void leaky_relu_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0);

	set(t, with_number(t, NN(PRELU), x, attr_float(t, "alpha", 0.01f)));
}

/*
 * Translates PRelu. The slope may be broadcast to the input's shape, but the input cannot be
 * broadcast to the slope's shape.
 */
void prelu_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *slope = shape_in(t, 1);
	uint32_t x = float_in(t, 0);

	if (slope->rank > shape->rank)
		refuse(t, "the slope has more dimensions than the input");
	set(t, broadcast(t, NN(PRELU), x, shape, in(t, 1), slope, shape));
}

/* The NNAPI's ELU is never above 0 for negative numbers, but ONNX's is if alpha is below 0. */
static uint32_t elu_in(struct lowering *t, float otherwise)
{
	float alpha = attr_float(t, "alpha", otherwise);

	if (alpha < 0)
		refuse(t, "alpha must be at least 0, is %g", alpha);
	return elu_of(t, float_in(t, 0), alpha);
}

void elu_op(struct lowering *t)
{
	set(t, elu_in(t, 1));
}

void selu_op(struct lowering *t)
{
	float gamma = attr_float(t, "gamma", 1.05070102214813232421875f);

	set(t, with_number(t, NN(MUL), elu_in(t, 1.67326319217681884765625f), gamma));
}

/* Computes alpha * elu(x / alpha). */
void celu_op(struct lowering *t)
{
	float alpha = attr_float(t, "alpha", 1);

	if (alpha <= 0)
		refuse(t, "alpha must be above 0, is %g", alpha);
	set(t, with_number(t, NN(MUL),
			   elu_of(t, with_number(t, NN(DIV), float_in(t, 0), alpha), 1), alpha));
}

void thresholded_relu_op(struct lowering *t)
{
	uint32_t x = float_in(t, 0);

	set(t, selected(t, compared_number(t, NN(GREATER), x, attr_float(t, "alpha", 1)), x,
			filled_like(t, x, 0)));
}

static uint32_t hard_sigmoid(struct lowering *t, uint32_t x, float alpha, float beta)
{
	x = with_number(t, NN(ADD), with_number(t, NN(MUL), x, alpha), beta);
	return bounded(t, x, 0, 1);
}

void hard_sigmoid_op(struct lowering *t)
{
	set(t, hard_sigmoid(t, float_in(t, 0), attr_float(t, "alpha", 0.2f),
			    attr_float(t, "beta", 0.5f)));
}

/*
 * Applies the fused activation of a node. FusedConv has the activation's parameters in a list;
 * FusedGemm has these parameters in separate attributes.
 */
uint32_t activated(struct lowering *t, uint32_t x)
{
	const char *name = attr_string(t, "activation", "");
	const struct attribute *list = attr(t, "activation_params");
	const bool is_hard = !strcmp(name, "HardSigmoid"), is_clip = !strcmp(name, "Clip");
	float alpha = attr_float(t, "activation_alpha", is_hard ? 0.2f : is_clip ? -INFINITY :
				 0.01f);
	float beta = attr_float(t, "activation_beta", is_hard ? 0.5f : INFINITY);

	if (list && list->floats && list->count)
		alpha = list->floats[0];
	if (list && list->floats && list->count > 1)
		beta = list->floats[1];
	if (!*name)
		return x;
	if (!strcmp(name, "Relu"))
		return unary(t, NN(RELU), x);
	if (!strcmp(name, "Sigmoid"))
		return unary(t, NN(LOGISTIC), x);
	if (!strcmp(name, "Tanh"))
		return unary(t, NN(TANH), x);
	if (!strcmp(name, "LeakyRelu"))
		return with_number(t, NN(PRELU), x, alpha);
	if (is_hard)
		return hard_sigmoid(t, x, alpha, beta);
	if (is_clip)
		return bounded(t, x, alpha, beta);
	refuse(t, "activation %s is not supported", name);
	return NO_OPERAND;
}

void swish_op(struct lowering *t)
{
	float alpha = attr_float(t, "alpha", is_node(t, "QuickGelu") ? 1.702f : 1);
	uint32_t x = float_in(t, 0);
	uint32_t inner = alpha == 1 ? x : with_number(t, NN(MUL), x, alpha);

	set(t, arithmetic(t, NN(MUL), x, unary(t, NN(LOGISTIC), inner)));
}

void gelu_op(struct lowering *t)
{
	const bool by_tanh = is_node(t, "FastGelu") || !strcmp(attr_string(t, "approximate", ""),
							       "tanh");
	uint32_t x = float_in(t, 0);

	/* Input 1 of BiasGelu and FastGelu is a bias. */
	if (has_in(t, 1))
		x = plus_in(t, x, shape_in(t, 0), 1);
	set(t, gelu_of(t, x, by_tanh));
}
