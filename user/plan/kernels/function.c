/* SPDX-License-Identifier: MIT */
/*
 * Functions of single elements: activations and mathematical functions of floats, CAST between
 * float16 and float32, QUANTIZE of floats, and DEQUANTIZE of int8 with one scale.
 */
#include "ops/float16.h"
#include "ops/quant.h"
#include "ops/traits.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"

/* A function of floats, CLAMP of fp16 numbers, or a conversion of types. */
enum kind { OF_FLOATS, OF_FP16, WIDEN, NARROW, QUANTIZE, DEQUANTIZE };

struct function {
	enum kind kind;
	size_t count;
	size_t task_count;
	/* The arguments of the inner loop for `kind`, without pointers. */
	struct nn_unary_f32 f32;
	struct nn_quantize_f32 quantize;
	struct nn_dequantize_f32 dequantize;
};

static const struct {
	int32_t code;
	enum nn_unary function;		/* for floats */
} functions[] = {
	{ NN_OP_LOGISTIC, NN_UNARY_LOGISTIC }, { NN_OP_RELU, NN_UNARY_CLAMP },
	{ NN_OP_RELU1, NN_UNARY_CLAMP }, { NN_OP_RELU6, NN_UNARY_CLAMP },
	{ NN_OP_TANH, NN_UNARY_TANH }, { NN_OP_ABS, NN_UNARY_ABS }, { NN_OP_EXP, NN_UNARY_EXP },
	{ NN_OP_NEG, NN_UNARY_NEG }, { NN_OP_RSQRT, NN_UNARY_RSQRT }, { NN_OP_SQRT, NN_UNARY_SQRT },
	{ NN_OP_ELU, NN_UNARY_ELU }, { NN_OP_HARD_SWISH, NN_UNARY_HARD_SWISH },
	{ NN_OP_LOG, NN_UNARY_LOG }, { NN_OP_SIN, NN_UNARY_SIN }, { NN_OP_FLOOR, NN_UNARY_FLOOR },
	{ NN_OP_ERF, NN_UNARY_ERF }, { NN_OP_GELU, NN_UNARY_GELU },
	{ NN_OP_CAST, 0 }, { NN_OP_QUANTIZE, 0 }, { NN_OP_DEQUANTIZE, 0 },
};

/*
 * The absolute value of the zero point and of each bound of QUANTIZE is at most UINT8_MAX, the
 * largest difference of two bytes.
 */
#define NN_STATE struct function
static const struct nn_field fields[] = {
	WORD(kind, 0, DEQUANTIZE), COUNT(count),
	WHEN(kind, IS(OF_FLOATS), WORD(f32.function, 0, NN_UNARY_GELU), FLOAT(f32.alpha)),
	WHEN(kind, IS(OF_FLOATS) | IS(OF_FP16), FLOAT(f32.low), FLOAT(f32.high)),
	WHEN(kind, IS(QUANTIZE),
	     FLOAT(quantize.scale), FLOAT_WITHIN(quantize.zero, UINT8_MAX),
	     FLOAT_WITHIN(quantize.low, UINT8_MAX), FLOAT_WITHIN(quantize.high, UINT8_MAX)),
	WHEN(kind, IS(DEQUANTIZE),
	     FLOAT(dequantize.scale), BYTE(dequantize.flip), BYTE(dequantize.zero)),
	SPAN(INPUT(0), SIZE_BY(kind, 0x144224), count),
	SPAN(OUTPUT(0), SIZE_BY(kind, 0x412424), count),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct function *f = state;

	ready->tasks = nn_elementwise_divide(ready->threads, f->count, &f->task_count);
	return f->kind != OF_FP16 || ready->isa->binary_f16;
}

static bool read_function(const struct nn_run *r, enum nn_unary function, struct function *f)
{
	const bool is_fp16 = r->inputs[0].type == NN_TENSOR_FLOAT16;

	f->kind = is_fp16 ? OF_FP16 : OF_FLOATS;
	f->f32.function = function;
	if (f->f32.function == NN_UNARY_ELU)
		f->f32.alpha = nn_run_float(r, 1, 0);
	nn_fused_range_float(nn_traits(r->op->code)->fused_code, &f->f32.low, &f->f32.high);
	return r->inputs[0].type == NN_TENSOR_FLOAT32 ||
	       (is_fp16 && f->f32.function == NN_UNARY_CLAMP);
}

static bool read_cast(const struct nn_run *r, struct function *f)
{
	const int32_t from = r->inputs[0].type, to = r->outputs[0].type;

	f->kind = from == NN_TENSOR_FLOAT16 ? WIDEN : NARROW;
	return (from == NN_TENSOR_FLOAT16 && to == NN_TENSOR_FLOAT32) ||
	       (from == NN_TENSOR_FLOAT32 && to == NN_TENSOR_FLOAT16);
}

static bool read_quantize(const struct nn_run *r, struct function *f)
{
	const struct nn_tensor *out = &r->outputs[0];
	int32_t low, high;

	nn_quant_range(out->type, &low, &high);
	f->kind = QUANTIZE;
	f->quantize.scale = out->scale;
	f->quantize.zero = (float)out->zero_point;
	f->quantize.low = (float)(low - out->zero_point);
	f->quantize.high = (float)(high - out->zero_point);
	return r->inputs[0].type == NN_TENSOR_FLOAT32;
}

static bool read_dequantize(const struct nn_run *r, struct function *f)
{
	const struct nn_tensor *x = &r->inputs[0];

	f->kind = DEQUANTIZE;
	f->dequantize.scale = x->scale;
	/* Flipping the sign bit of a signed byte adds 128, which makes the byte unsigned. */
	f->dequantize.flip = x->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 0x80;
	f->dequantize.zero = x->zero_point + f->dequantize.flip;
	return r->outputs[0].type == NN_TENSOR_FLOAT32 &&
	       (x->type == NN_TENSOR_QUANT8_ASYMM || x->type == NN_TENSOR_QUANT8_ASYMM_SIGNED);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const int32_t code = r->op->code;
	struct function *f = ready->state;

	f->count = nn_tensor_count(&r->inputs[0]);
	return (code == NN_OP_CAST ? read_cast(r, f) :
		code == NN_OP_QUANTIZE ? read_quantize(r, f) :
		code == NN_OP_DEQUANTIZE ? read_dequantize(r, f) :
		read_function(r, functions[ready->row].function, f)) &&
	       complete(f, ready);
}

/* Clamps fp16 numbers with the clamping loop of ADD; the loop adds -0, which changes no number. */
static void clamp_fp16(const struct nn_isa *isa, const struct function *f, const uint16_t *in,
		       uint16_t *out, size_t count)
{
	static const uint16_t zero = 0x8000;
	const struct nn_binary_f32 b = {
		.operation = NN_BINARY_ADD,
		.rows = 1,
		.count = count,
		.a = &zero,
		.b = in,
		.one_a = true,
		.out = out,
		.low = f->f32.low,
		.high = f->f32.high,
	};

	isa->binary_f16(&b);
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct function *f = call->ready->state;
	const struct nn_isa *isa = call->ready->isa;
	const size_t first = task * f->task_count, left = f->count - first;
	const size_t count = left < f->task_count ? left : f->task_count;
	const uint16_t *fp16 = (const uint16_t *)call->inputs[0] + first;
	const float *floats = (const float *)call->inputs[0] + first;
	uint16_t *out_fp16 = (uint16_t *)call->outputs[0] + first;
	float *out_floats = (float *)call->outputs[0] + first;
	struct nn_dequantize_f32 dequantize = f->dequantize;
	struct nn_quantize_f32 quantize = f->quantize;
	struct nn_unary_f32 f32 = f->f32;

	(void)scratch;
	switch (f->kind) {
	case OF_FLOATS:
		f32.count = count;
		f32.in = floats;
		f32.out = out_floats;
		isa->unary_f32(&f32);
		break;
	case OF_FP16:
		clamp_fp16(isa, f, fp16, out_fp16, count);
		break;
	case WIDEN:
		nn_fp16_to_fp32(fp16, out_floats, count);
		break;
	case NARROW:
		nn_fp32_to_fp16(floats, out_fp16, count);
		break;
	case QUANTIZE:
		quantize.count = count;
		quantize.in = floats;
		quantize.out = (uint8_t *)call->outputs[0] + first;
		isa->quantize_f32(&quantize);
		break;
	case DEQUANTIZE:
		dequantize.count = count;
		dequantize.in = (const uint8_t *)call->inputs[0] + first;
		dequantize.out = out_floats;
		isa->dequantize_f32(&dequantize);
		break;
	}
}

NN_KERNEL(function, "function", sizeof(struct function), NN_TAKES_ROWS(functions), .inputs = 1);
