/* SPDX-License-Identifier: MIT */
/*
 * Operations on one tensor: activations, functions of elements, normalisations.
 *
 * Where NNAPI has an operation for float32 only, or for quantised tensors of one scale, others
 * are computed as float32 between DEQUANTIZE and QUANTIZE: one rounding of the exact result,
 * where TensorFlow Lite's integer kernels may be one quantum off it.
 */
#include <math.h>

#include "clients/tflite/operations.h"

static uint32_t no_activation(struct graph *g)
{
	return graph_i32(g, ANEURALNETWORKS_FUSED_NONE);
}

static void unary_real(struct graph *g, int32_t code)
{
	uint32_t out = graph_begin_real(g, 0);

	emit(g, code, out, graph_real_in(g, 0));
	graph_end_real(g, 0, out);
}

void convert_unary(struct graph *g, const struct operation *op)
{
	if (!same_type(g, 0, 0))
		return;
	if (tensor_is_quant8(graph_input(g, 0)))
		unary_real(g, op->code);
	else
		emit(g, op->code, graph_out(g, 0), graph_in(g, 0));
}

/* ceil(x) = -floor(-x) */
void convert_ceil(struct graph *g, const struct operation *op)
{
	struct value v = graph_float(graph_output(g, 0));
	uint32_t negative = graph_temporary(g, &v), floored = graph_temporary(g, &v);

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	emit(g, ANEURALNETWORKS_NEG, negative, graph_in(g, 0));
	emit(g, ANEURALNETWORKS_FLOOR, floored, negative);
	emit(g, ANEURALNETWORKS_NEG, graph_out(g, 0), floored);
}

void convert_relu(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0);

	if (!same_type(g, 0, 0))
		return;
	if (tensor_is_quant8(x) && !tensor_same_quant(x, graph_output(g, 0)))
		unary_real(g, op->code);
	else
		emit(g, op->code, graph_out(g, 0), graph_in(g, 0));
}

static uint32_t constant_like(struct graph *g, const struct tfl_tensor *t, float value)
{
	struct value v = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = rank_of(t) };

	for (uint32_t i = 0; i < v.rank && i < GRAPH_MAX_RANK; i++)
		v.dims[i] = 1;
	return graph_constant(g, &v, &value, sizeof(value));
}

void convert_relu_0_to_1(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0);
	struct value v = graph_float(x);
	uint32_t positive, out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	positive = graph_temporary(g, &v);
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_MAXIMUM, positive, graph_real_in(g, 0), constant_like(g, x, 0));
	emit(g, ANEURALNETWORKS_MINIMUM, out, positive, constant_like(g, x, 1));
	graph_end_real(g, 0, out);
}

/* Refuses a quantised output of another scale and zero point than the only one NNAPI has. */
static bool check_output(struct graph *g, float scale, int32_t uint8_zero, int32_t int8_zero)
{
	const struct tfl_tensor *out = graph_output(g, 0);
	int32_t zero = out->type == TFL_UINT8 ? uint8_zero : int8_zero;

	if (!same_type(g, 0, 0))
		return false;
	if (tensor_is_quant8(out) && (out->params.scale != scale || out->params.zero_point != zero))
		graph_refuse(g, "an output of scale %g and zero point %d, NNAPI has %g and %d",
			     (double)out->params.scale, out->params.zero_point, (double)scale, zero);
	return !g->refused;
}

void convert_sigmoid(struct graph *g, const struct operation *op)
{
	bool tanh = op->code == ANEURALNETWORKS_TANH;

	if (check_output(g, tanh ? 1 / 128.f : 1 / 256.f, tanh ? 128 : 0, tanh ? 0 : -128))
		emit(g, op->code, graph_out(g, 0), graph_in(g, 0));
}

void convert_softmax(struct graph *g, const struct operation *op)
{
	const struct tfl_softmax *p = g->node->builtin_data;

	(void)op;
	if (!check_output(g, 1 / 256.f, 0, -128))
		return;
	if (!(p->beta > 0))
		return graph_refuse(g, "a beta of %g", (double)p->beta);
	emit(g, ANEURALNETWORKS_SOFTMAX, graph_out(g, 0), graph_in(g, 0), graph_f32(g, p->beta));
}

void convert_log_softmax(struct graph *g, const struct operation *op)
{
	uint32_t out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_LOG_SOFTMAX, out, graph_real_in(g, 0), graph_f32(g, 1),
	     graph_i32(g, -1));
	graph_end_real(g, 0, out);
}

void convert_elu(struct graph *g, const struct operation *op)
{
	uint32_t out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_ELU, out, graph_real_in(g, 0), graph_f32(g, 1));
	graph_end_real(g, 0, out);
}

/* The form with TANH: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) */
void convert_gelu(struct graph *g, const struct operation *op)
{
	const struct tfl_gelu *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	struct value v = graph_float(x);
	uint32_t step[7], from, out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	if (!p->approximate)
		return graph_refuse(g, "the exact form, by the error function, which NNAPI has not");
	from = graph_real_in(g, 0);
	for (int i = 0; i < 7; i++)
		step[i] = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_MUL, step[0], from, from, no_activation(g));
	emit(g, ANEURALNETWORKS_MUL, step[1], step[0],
	     constant_like(g, x, (float)(0.044715 * M_2_SQRTPI * M_SQRT1_2)), no_activation(g));
	emit(g, ANEURALNETWORKS_ADD, step[2], step[1],
	     constant_like(g, x, (float)(M_2_SQRTPI * M_SQRT1_2)), no_activation(g));
	emit(g, ANEURALNETWORKS_MUL, step[3], step[2], from, no_activation(g));
	emit(g, ANEURALNETWORKS_TANH, step[4], step[3]);
	emit(g, ANEURALNETWORKS_ADD, step[5], step[4], constant_like(g, x, 1), no_activation(g));
	emit(g, ANEURALNETWORKS_MUL, step[6], step[5], from, no_activation(g));
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_MUL, out, step[6], constant_like(g, x, .5f), no_activation(g));
	graph_end_real(g, 0, out);
}

/* NNAPI's quantised one needs an output scale that is not far below the input's. */
void convert_hard_swish(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	if (tensor_is_quant8(x) && x->params.scale / 128 > out->params.scale)
		unary_real(g, ANEURALNETWORKS_HARD_SWISH);
	else
		emit(g, ANEURALNETWORKS_HARD_SWISH, graph_out(g, 0), graph_in(g, 0));
}

/* PRELU with a constant of one element. */
void convert_leaky_relu(struct graph *g, const struct operation *op)
{
	const struct tfl_leaky_relu *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	uint32_t alpha, out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	alpha = constant_like(g, x, p->alpha);
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_PRELU, out, graph_real_in(g, 0), alpha);
	graph_end_real(g, 0, out);
}

void convert_prelu(struct graph *g, const struct operation *op)
{
	(void)op;
	if (!graph_input(g, 1) || graph_input(g, 1)->type != graph_input(g, 0)->type)
		return graph_refuse(g, "slopes of another type than the input");
	if (same_type(g, 0, 0))
		emit(g, ANEURALNETWORKS_PRELU, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1));
}

void convert_l2_normalization(struct graph *g, const struct operation *op)
{
	const struct tfl_activated *p = g->node->builtin_data;

	(void)op;
	if (p->activation != TFL_ACT_NONE)
		return graph_refuse(g, "a fused activation");
	if (check_output(g, 1 / 128.f, 128, 0))
		emit(g, ANEURALNETWORKS_L2_NORMALIZATION, graph_out(g, 0), graph_in(g, 0));
}

void convert_response_norm(struct graph *g, const struct operation *op)
{
	const struct tfl_response_norm *p = g->node->builtin_data;

	(void)op;
	if (p->bias == 0)
		return graph_refuse(g, "a bias of 0");
	if (same_type(g, 0, 0))
		emit(g, ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION, graph_out(g, 0),
		     graph_in(g, 0), graph_i32(g, p->radius), graph_f32(g, p->bias),
		     graph_f32(g, p->alpha), graph_f32(g, p->beta));
}
