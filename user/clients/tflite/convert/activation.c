/* SPDX-License-Identifier: MIT */
/*
 * Activations, functions with parameters, normalisations.
 *
 * If NNAPI supports an operation only for float32, or only for quantised tensors of certain scales,
 * other tensors are computed as float32 between DEQUANTIZE and QUANTIZE. A float32 computation
 * rounds the exact result once, so the result may differ by one quantum from TensorFlow Lite's
 * integer kernels.
 */
#include "clients/tflite/operations.h"

/* Translates SOFTMAX and LOG_SOFTMAX along the last axis. */
void softmax_op(struct lowering *t)
{
	const struct tfl_softmax *p = params(t);
	const float beta = t->code == NN(SOFTMAX) ? p->beta : 1;
	uint32_t x, out;

	if (!(beta > 0))
		return refuse(t, "beta must be above 0, is %g", (double)beta);
	if (t->code == NN(SOFTMAX) && bytes_in(t, &x, &out) &&
	    fits_quantised(t, t->code, x, x, out))
		return set(t, 0, softmax_of(t, t->code, x, beta, -1, out));
	x = float_in(t, 0);
	set(t, 0, softmax_of(t, t->code, x, beta, -1, x));
}

void elu_op(struct lowering *t)
{
	set(t, 0, elu_of(t, float_in(t, 0), 1));
}

void gelu_op(struct lowering *t)
{
	const struct tfl_gelu *p = params(t);

	set(t, 0, gelu_of(t, float_in(t, 0), p->approximate));
}

void leaky_relu_op(struct lowering *t)
{
	const struct tfl_leaky_relu *p = params(t);

	set(t, 0, with_number(t, NN(PRELU), float_in(t, 0), p->alpha));
}

void prelu_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);

	set(t, 0, broadcast_like(t, NN(PRELU), in(t, 0), shape, in(t, 1), shape_in(t, 1), shape,
				 out_like(t, 0)));
}

void l2_normalization_op(struct lowering *t)
{
	const struct tfl_activated *p = params(t);

	if (p->activation != TFL_ACT_NONE)
		return refuse(t, "a fused activation is not supported");
	activation_op(t);
}

void response_norm_op(struct lowering *t)
{
	const struct tfl_response_norm *p = params(t);
	uint32_t x = in(t, 0);

	if (p->bias == 0)
		return refuse(t, "the bias must not be 0");
	set(t, 0, EMIT(t, NN(LOCAL_RESPONSE_NORMALIZATION), result_like(t, x), x,
		       scalar_int(t, p->radius), scalar_float(t, x, p->bias),
		       scalar_float(t, x, p->alpha), scalar_float(t, x, p->beta)));
}
