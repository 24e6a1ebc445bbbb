/* SPDX-License-Identifier: MIT */
/* QUANTIZE and DEQUANTIZE: convert tensors between float and the 8-bit quantised types. */
#include "ops/axis.h"
#include "ops/check.h"
#include "ops/quant.h"

/* ---- QUANTIZE ---- */

static enum nn_status execute_quantize(struct nn_run *r)
{
	const struct nn_tensor *t = &r->outputs[0];
	const float *in = r->inputs[0].data;
	uint8_t *out = t->data;
	size_t count = nn_tensor_count(t);
	int32_t low, high;

	nn_quant_range(t->type, &low, &high);
	for (size_t i = 0; i < count; i++)
		out[i] = (uint8_t)nn_quantize(in[i], t->scale, t->zero_point, low, high);
	return NN_OK;
}

/* ---- DEQUANTIZE ---- */

static void dequantize(const struct nn_tensor *t, const uint8_t *in, float *out, size_t count,
		       float scale)
{
	if (t->type == NN_TENSOR_QUANT8_ASYMM) {
		for (size_t i = 0; i < count; i++)
			out[i] = scale * (float)(in[i] - t->zero_point);
	} else {
		for (size_t i = 0; i < count; i++)
			out[i] = scale * (float)((int8_t)in[i] - t->zero_point);
	}
}

static enum nn_status dequantize_channels(const struct nn_run *r)
{
	const struct nn_tensor *t = &r->inputs[0];
	const struct nn_extra *extra = t->extra;
	size_t outer, inner;
	const uint8_t *in = t->data;
	float *out = r->outputs[0].data;

	if (extra->channel_dim >= t->rank || extra->count != t->dims[extra->channel_dim])
		return nn_run_fail(r, "input 0: %u scales do not fit dimension %u", extra->count,
				   extra->channel_dim);
	outer = nn_tensor_product(t, 0, extra->channel_dim);
	inner = nn_tensor_product(t, extra->channel_dim + 1, t->rank);
	for (size_t o = 0; o < outer; o++) {
		for (uint32_t c = 0; c < extra->count; c++, in += inner, out += inner)
			dequantize(t, in, out, inner, extra->scales[c]);
	}
	return NN_OK;
}

static enum nn_status execute_dequantize(struct nn_run *r)
{
	const struct nn_tensor *t = &r->inputs[0];

	if (t->type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL)
		return dequantize_channels(r);
	dequantize(t, t->data, r->outputs[0].data, nn_tensor_count(t), t->scale);
	return NN_OK;
}

NN_OPERATION(DEQUANTIZE,
	NN_INPUTS(1,
		  { NN_QUANT8 | NN_T(NN_TENSOR_QUANT8_SYMM) | NN_T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL), 0, 4 }),
	NN_OUTPUTS({ NN_FLOATS, 0, 4 }),
	.zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,
	.infer = nn_infer_shape, .execute = execute_dequantize);

NN_OPERATION(QUANTIZE,
	NN_INPUTS(1, { NN_FLOATS, 0, 0 }),
	NN_OUTPUTS({ NN_QUANT8, 0, 0 }),
	.zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,
	.infer = nn_infer_shape, .execute = execute_quantize);
