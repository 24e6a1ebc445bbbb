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

/* cos(x) = 1 - 2 sin(x/2)^2, which is exact to a few ulp of 1; sin(x + pi/2) is not if x is large. */
void convert_cos(struct graph *g, const struct operation *op)
{
	struct value v = graph_float(graph_output(g, 0));
	uint32_t half = graph_temporary(g, &v), sine = graph_temporary(g, &v);
	uint32_t square = graph_temporary(g, &v), twice = graph_temporary(g, &v);
	uint32_t none = graph_i32(g, ANEURALNETWORKS_FUSED_NONE);

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	emit(g, ANEURALNETWORKS_MUL, half, graph_in(g, 0), graph_floats(g, 1, 0.5f), none);
	emit(g, ANEURALNETWORKS_SIN, sine, half);
	emit(g, ANEURALNETWORKS_MUL, square, sine, sine, none);
	emit(g, ANEURALNETWORKS_MUL, twice, square, graph_floats(g, 1, 2), none);
	emit(g, ANEURALNETWORKS_SUB, graph_out(g, 0), graph_floats(g, 1, 1), twice, none);
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

/* A step of arithmetic of floats, shaped as x, with an operand or with a number. */
static uint32_t step(struct graph *g, const struct value *shape, int32_t code, uint32_t a,
		     uint32_t b)
{
	uint32_t to = graph_temporary(g, shape);

	emit(g, code, to, a, b, no_activation(g));
	return to;
}

static uint32_t with(struct graph *g, const struct value *shape, int32_t code, uint32_t a,
		     double number)
{
	return step(g, shape, code, a, constant_like(g, graph_input(g, 0), (float)number));
}

/* sqrt(2/pi) * (x + 0.044715 * x^3) */
static uint32_t tanh_argument(struct graph *g, const struct value *v, uint32_t x)
{
	uint32_t y = step(g, v, ANEURALNETWORKS_MUL, x, x);

	y = with(g, v, ANEURALNETWORKS_MUL, y, 0.044715 * M_2_SQRTPI * M_SQRT1_2);
	y = with(g, v, ANEURALNETWORKS_ADD, y, M_2_SQRTPI * M_SQRT1_2);
	return step(g, v, ANEURALNETWORKS_MUL, y, x);
}

/*
 * erf(x) for x >= 0, within 1.5e-7: 1 - (a1 k + ... + a5 k^5) exp(-x^2), k = 1 / (1 + p x),
 * formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions.
 */
static uint32_t erf_of_magnitude(struct graph *g, const struct value *v, uint32_t x)
{
	static const double a[] = { 1.061405429, -1.453152027, 1.421413741, -0.284496736,
				    0.254829592 };
	uint32_t one = constant_like(g, graph_input(g, 0), 1), k, sum, minus, power;

	k = with(g, v, ANEURALNETWORKS_MUL, x, 0.3275911);
	k = with(g, v, ANEURALNETWORKS_ADD, k, 1);
	k = step(g, v, ANEURALNETWORKS_DIV, one, k);
	sum = with(g, v, ANEURALNETWORKS_MUL, k, a[0]);
	for (int i = 1; i < 5; i++)
		sum = step(g, v, ANEURALNETWORKS_MUL, with(g, v, ANEURALNETWORKS_ADD, sum, a[i]), k);
	minus = graph_temporary(g, v);
	power = graph_temporary(g, v);
	emit(g, ANEURALNETWORKS_NEG, minus, step(g, v, ANEURALNETWORKS_MUL, x, x));
	emit(g, ANEURALNETWORKS_EXP, power, minus);
	return step(g, v, ANEURALNETWORKS_SUB, one, step(g, v, ANEURALNETWORKS_MUL, sum, power));
}

/*
 * x/2 * (1 + tanh(...)), or the exact x/2 * (1 + erf(x / sqrt(2))), whose second half is
 * |x|/2 * erf(|x| / sqrt(2)).
 */
void convert_gelu(struct graph *g, const struct operation *op)
{
	const struct tfl_gelu *p = g->node->builtin_data;
	struct value v = graph_float(graph_input(g, 0));
	uint32_t x, half, second, out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	x = graph_real_in(g, 0);
	half = with(g, &v, ANEURALNETWORKS_MUL, x, .5);
	second = graph_temporary(g, &v);
	if (p->approximate) {
		emit(g, ANEURALNETWORKS_TANH, second, tanh_argument(g, &v, x));
		second = step(g, &v, ANEURALNETWORKS_MUL, second, half);
	} else {
		emit(g, ANEURALNETWORKS_ABS, second, x);
		x = with(g, &v, ANEURALNETWORKS_MUL, second, M_SQRT1_2);
		second = with(g, &v, ANEURALNETWORKS_MUL, second, .5);
		second = step(g, &v, ANEURALNETWORKS_MUL, second, erf_of_magnitude(g, &v, x));
	}
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_ADD, out, half, second, no_activation(g));
	graph_end_real(g, 0, out);
}

/* NNAPI's quantised one needs an output scale that is not far below the input's. */
void convert_hard_swish(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	if (tensor_is_quant8(x) && x->params.scale / 128 >= out->params.scale)
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
