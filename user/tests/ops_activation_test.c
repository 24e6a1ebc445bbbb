/* SPDX-License-Identifier: MIT */
/*
 * Tests activations, SOFTMAX, LOG_SOFTMAX, QUANTIZE and DEQUANTIZE: compares results with the
 * mathematical functions, and checks signatures.
 */
#include <math.h>

#include "op_case.h"
#include "ops/quant.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "RELU", "f4 > f4", true },
		{ "RELU", "h1 > h0", true },
		{ "RELU", "u0 > u0", true },
		{ "RELU", "f5 > f5", false },
		{ "RELU", "f4 > f5", false },
		{ "RELU", "f4 > h4", false },
		{ "RELU", "w4 > w4", false },
		{ "RELU", "f4 f4 > f4", false },
		{ "RELU", "f4 > f4 f4", false },
		{ "RELU1", "s2 > s2", true },
		{ "RELU1", "a2 > a2", false },
		{ "RELU6", "u4 > u4", true },
		{ "RELU6", "u4 > s4", false },
		{ "LOGISTIC", "s4 > s4", true },
		{ "LOGISTIC", "f5 > f5", false },
		{ "LOGISTIC", "t4 > t4", false },
		{ "TANH", "u4 > u4", true },
		{ "TANH", "w4 > w4", false },
		{ "ELU", "f7 F > f7", true },
		{ "ELU", "h1 H > h1", true },
		{ "ELU", "h1 F > h1", false },
		{ "ELU", "f1 > f1", false },
		{ "ELU", "u1 F > u1", false },
		{ "HARD_SWISH", "s7 > s7", true },
		{ "HARD_SWISH", "h1 > h1", true },
		{ "HARD_SWISH", "w1 > w1", false },
		{ "SOFTMAX", "f4 F > f4", true },
		{ "SOFTMAX", "h3 H I > h3", true },
		{ "SOFTMAX", "u2 F > u2", true },
		{ "SOFTMAX", "s2 F I > s2", true },
		{ "SOFTMAX", "f5 F > f5", false },
		{ "SOFTMAX", "h2 F > h2", false },
		{ "SOFTMAX", "f2 > f2", false },
		{ "SOFTMAX", "f2 F F > f2", false },
		{ "SOFTMAX", "f2 F I I > f2", false },
		{ "SOFTMAX", "w2 F > w2", false },
		{ "LOG_SOFTMAX", "f5 F I > f5", true },
		{ "LOG_SOFTMAX", "h1 H I > h1", true },
		{ "LOG_SOFTMAX", "f1 F > f1", false },
		{ "LOG_SOFTMAX", "u1 F I > u1", false },
		{ "QUANTIZE", "f5 > u5", true },
		{ "QUANTIZE", "h1 > s1", true },
		{ "QUANTIZE", "u1 > u1", false },
		{ "QUANTIZE", "f1 > f1", false },
		{ "QUANTIZE", "f1 > a1", false },
		{ "DEQUANTIZE", "u4 > f4", true },
		{ "DEQUANTIZE", "s1 > h1", true },
		{ "DEQUANTIZE", "p30 > f3", true },
		{ "DEQUANTIZE", "u5 > f5", false },
		{ "DEQUANTIZE", "y1 > f1", false },
		{ "DEQUANTIZE", "u1 > w1", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		oc_assert_signature(&table[i]);
}

/* ---- Functions of one element ---- */

static double real_relu(double x)
{
	return fmax(x, 0);
}

static double real_relu1(double x)
{
	return fmin(fmax(x, -1), 1);
}

static double real_relu6(double x)
{
	return fmin(fmax(x, 0), 6);
}

static double real_logistic(double x)
{
	return 1 / (1 + exp(-x));
}

static double real_hard_swish(double x)
{
	return x * real_relu6(x + 3) / 6;
}

/* With alpha 0.5. */
static double real_elu(double x)
{
	return x > 0 ? x : 0.5 * (exp(x) - 1);
}

static const struct function {
	const char *op;
	double (*real)(double x);
	bool has_alpha;
} functions[] = {
	{ "RELU", real_relu, false },	       { "RELU1", real_relu1, false },
	{ "RELU6", real_relu6, false },	       { "LOGISTIC", real_logistic, false },
	{ "TANH", tanh, false },	       { "HARD_SWISH", real_hard_swish, false },
	{ "ELU", real_elu, true },
};

static void run_function(const struct function *f, int32_t type, const void *in, uint32_t count,
			 struct op_case *c)
{
	static const uint16_t fp16 = 0x3800;

	oc_init(c, f->op);
	oc_input(c, type, OC_DIMS(count), in);
	if (f->has_alpha && type == NN_TENSOR_FLOAT16)
		oc_input(c, NN_FLOAT16, 0, NULL, &fp16);
	else if (f->has_alpha)
		oc_float(c, 0.5f);
	oc_output(c, type);
	if (oc_run(c))
		fail_msg("%s", c->err.message);
}

static void test_float_functions(void **state)
{
	float in[200];

	(void)state;
	for (int i = 0; i < 200; i++)
		in[i] = (float)(i - 100) * 0.11f;
	for (size_t k = 0; k < LENGTH(functions); k++) {
		struct op_case c;

		run_function(&functions[k], NN_TENSOR_FLOAT32, in, 200, &c);
		for (uint32_t i = 0; i < 200; i++) {
			double got = (double)nn_tensor_float(oc_result(&c, 0), i);

			assert_true(fabs(got - functions[k].real((double)in[i])) <= 2e-6);
		}
		oc_free(&c);
	}
}

/* The inputs are fp16 numbers with every exponent from 2^-7 to 2^3. */
static void test_fp16_functions(void **state)
{
	uint16_t in[96];

	(void)state;
	for (int i = 0; i < 96; i++)
		in[i] = (uint16_t)(0x2000 + i / 2 * 0xec + (i % 2 ? 0x8000 : 0));
	for (size_t k = 0; k < LENGTH(functions); k++) {
		struct op_case c;

		run_function(&functions[k], NN_TENSOR_FLOAT16, in, 96, &c);
		for (uint32_t i = 0; i < 96; i++) {
			double x = (double)nn_tensor_float(&c.tensors[0], i);
			double got = (double)nn_tensor_float(oc_result(&c, 0), i);
			double want = functions[k].real(x);

			assert_true(fabs(got - want) <= 1e-4 + fabs(want) * 0x1p-10);
		}
		oc_free(&c);
	}
}

/* ---- Quantised: all input bytes, with an error of at most one step of the output ---- */

static double stored(int32_t type, uint8_t byte)
{
	return type == NN_TENSOR_QUANT8_ASYMM ? byte : (int8_t)byte;
}

static double clamp_stored(int32_t type, double value)
{
	bool is_unsigned = type == NN_TENSOR_QUANT8_ASYMM;

	return fmin(fmax(value, is_unsigned ? 0 : -128), is_unsigned ? 255 : 127);
}

static void all_bytes(const char *op, double (*real)(double), int32_t type, float scale,
		      int32_t zero, float out_scale, int32_t out_zero)
{
	uint8_t bytes[256];
	struct op_case c;

	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	oc_init(&c, op);
	oc_input(&c, type, OC_DIMS(256), bytes);
	oc_quantise(&c, scale, zero);
	oc_output(&c, type);
	oc_quantise(&c, out_scale, out_zero);
	if (oc_run(&c))
		fail_msg("%s", c.err.message);
	for (int i = 0; i < 256; i++) {
		double x = (stored(type, (uint8_t)i) - zero) * (double)scale;
		double want = clamp_stored(type, real(x) / (double)out_scale + out_zero);
		double got = stored(type, ((uint8_t *)oc_result(&c, 0)->data)[i]);

		if (!(fabs(got - want) <= 1))
			fail_msg("%s of %g: %g steps, not %g", op, x, got, want);
	}
	oc_free(&c);
}

static void test_quantised_functions(void **state)
{
	static const struct {
		float scale;
		int32_t zero;		/* zero point for uint8; for int8 it is 128 less */
	} inputs[] = {
		{ 0.05f, 128 }, { 0.001f, 0 }, { 0.5f, 255 }, { 0.03f, 77 }, { 3, 10 }, { 100, 128 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(inputs); i++) {
		for (int k = 0; k < 2; k++) {
			int32_t type = k ? NN_TENSOR_QUANT8_ASYMM_SIGNED : NN_TENSOR_QUANT8_ASYMM;
			int32_t shift = k ? 128 : 0, zero = inputs[i].zero - shift;
			float scale = inputs[i].scale;

			all_bytes("RELU", real_relu, type, scale, zero, scale, zero);
			all_bytes("RELU1", real_relu1, type, scale, zero, scale, zero);
			all_bytes("RELU6", real_relu6, type, scale, zero, scale, zero);
			all_bytes("LOGISTIC", real_logistic, type, scale, zero, 1.0f / 256, -shift);
			all_bytes("TANH", tanh, type, scale, zero, 1.0f / 128, 128 - shift);
			all_bytes("HARD_SWISH", real_hard_swish, type, scale, zero, scale, zero);
			all_bytes("HARD_SWISH", real_hard_swish, type, scale, zero, scale * 1.7f,
				  20 - shift);
		}
	}
}

/* ---- Quantised: results exactly as by the NNAPI's fixed-point formulas ---- */

struct exact {
	int32_t type;
	float scale, out_scale;
	int32_t out_zero;
};

static int32_t clamped(int32_t type, int64_t value)
{
	int32_t low, high;

	nn_quant_range(type, &low, &high);
	return (int32_t)(value < low ? low : value > high ? high : value);
}

/*
 * Computes the expected result of LOGISTIC or TANH for the quantised number x; fn() is the
 * operation's fixed-point function.
 */
static int32_t exact_curve(const struct exact *e, int32_t x, int32_t (*fn)(int32_t, uint32_t),
			   int32_t shift, int32_t offset)
{
	struct nn_multiplier m;
	int32_t radius;

	assert_true(nn_quant_encode_above_one((double)e->scale * 0x1p27, &m));
	radius = nn_quant_radius(4, m.shift);
	if (x <= -radius || x >= radius)
		return clamped(e->type, x < 0 ? INT32_MIN : INT32_MAX);
	return clamped(e->type, nn_rdp(fn(nn_srdhm((int32_t)((uint32_t)x << m.shift), m.value), 4),
				       shift) + offset);
}

static int32_t exact_logistic(const struct exact *e, int32_t x)
{
	return exact_curve(e, x, nn_quant_logistic, 23, e->out_zero);
}

static int32_t exact_tanh(const struct exact *e, int32_t x)
{
	return exact_curve(e, x, nn_quant_tanh, 24, e->out_zero);
}

/*
 * Encodes a factor as a multiplier and a shift: returns the 16-bit multiplier, and stores the shift
 * in *shift.
 */
static int32_t encode16(double factor, int32_t *shift)
{
	struct nn_multiplier m;
	int64_t value;

	assert_true(nn_quant_encode(factor, &m));
	value = ((int64_t)m.value + (1 << 15)) >> 16;
	*shift = m.shift;
	return (int32_t)(value > INT16_MAX ? INT16_MAX : value);
}

static int16_t saturated16(int64_t x)
{
	return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

static int32_t exact_hard_swish(const struct exact *e, int32_t x)
{
	const double fine = (double)e->scale / 128;
	int32_t out_shift, relu_shift;
	int16_t out = (int16_t)encode16(fine / (double)e->out_scale, &out_shift);
	int16_t relu = (int16_t)encode16(fine / (3 / 32768.0), &relu_shift);
	int16_t h = (int16_t)(x * 128), r = h;

	if (relu_shift > 0)
		r = saturated16((int64_t)r * (INT64_C(1) << (relu_shift - 1)));
	r = nn_srdhm16(r, relu);
	if (relu_shift > 0)
		r = saturated16((int64_t)r * 2);
	if (relu_shift < 0)
		r = (int16_t)nn_rdp(r, -relu_shift);
	r = (int16_t)((r + 32768) >> 1);
	return clamped(e->type, (int64_t)nn_rdp(r * nn_srdhm16(h, out) / 32768, -out_shift) +
				e->out_zero);
}

static void test_exact_functions(void **state)
{
	static const struct {
		const char *op;
		int32_t (*exact)(const struct exact *e, int32_t x);
		float out_scale;	/* scale of the output; 0 means the input's scale */
		int32_t out_zero;	/* zero point for uint8; for int8 it is 128 less */
	} table[] = {
		{ "LOGISTIC", exact_logistic, 1.0f / 256, 0 },
		{ "TANH", exact_tanh, 1.0f / 128, 128 },
		{ "HARD_SWISH", exact_hard_swish, 0, 77 },
	};
	static const float scales[] = { 0.0007f, 0.004f, 0.01f, 0.03f, 0.05f, 0.1f, 0.4f, 2 };
	uint8_t bytes[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	for (uint32_t i = 0; i < 2 * LENGTH(table) * LENGTH(scales); i++) {
		const size_t k = i / 2 % LENGTH(table);
		const int32_t offset = i % 2 ? 128 : 0, zero = 100 - offset;
		struct exact e = {
			.type = i % 2 ? NN_TENSOR_QUANT8_ASYMM_SIGNED : NN_TENSOR_QUANT8_ASYMM,
			.scale = scales[i / 2 / LENGTH(table)],
			.out_zero = table[k].out_zero - offset,
		};
		struct op_case c;

		e.out_scale = table[k].out_scale > 0 ? table[k].out_scale : e.scale * 1.3f;
		oc_init(&c, table[k].op);
		oc_input(&c, e.type, OC_DIMS(256), bytes);
		oc_quantise(&c, e.scale, zero);
		oc_output(&c, e.type);
		oc_quantise(&c, e.out_scale, e.out_zero);
		if (oc_run(&c))
			fail_msg("%s", c.err.message);
		for (int x = 0; x < 256; x++) {
			int32_t want = table[k].exact(&e, (int32_t)stored(e.type, bytes[x]) - zero);
			uint8_t byte = ((uint8_t *)oc_result(&c, 0)->data)[x];
			int32_t got = (int32_t)stored(e.type, byte);

			if (got != want)
				fail_msg("%s of scale %g: byte %d is %d, not %d", table[k].op,
					 (double)e.scale, x, got, want);
		}
		oc_free(&c);
	}
}

/* Computes the expected SOFTMAX of a row in the NNAPI's fixed-point arithmetic. */
static void exact_softmax(const uint8_t *in, uint8_t *out, uint32_t count, uint32_t stride,
			  int32_t type, double factor)
{
	const uint8_t flip = type == NN_TENSOR_QUANT8_ASYMM ? 0 : 0x80;
	struct nn_multiplier m;
	int32_t least, most = 0, headroom = 0, reciprocal = 0;
	uint32_t sum = 0;

	assert_true(nn_quant_encode_above_one(fmin(factor * 0x1p26, INT32_MAX), &m));
	least = -nn_quant_radius(5, m.shift);
	for (uint32_t i = 0; i < count; i++)
		most = (in[i * stride] ^ flip) > most ? in[i * stride] ^ flip : most;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < count; i++) {
			int32_t d = (in[i * stride] ^ flip) - most, e, value = 0;

			e = d < least ? 0 :
			    nn_quant_exp_negative(nn_srdhm(d * (1 << m.shift), m.value), 5);
			if (!pass)
				sum += (uint32_t)nn_rdp(e, 12);
			else if (d >= least && headroom >= 4)	/* values that do not round to 0 */
				value = nn_rdp(nn_srdhm(reciprocal, e), 12 - headroom + 31 - 8);
			out[i * stride] = (uint8_t)((value > 255 ? 255 : value) ^ flip);
		}
		headroom = __builtin_clz(sum);
		reciprocal = nn_quant_one_over_one_plus((int32_t)((sum << headroom) - (1u << 31)));
	}
}

/*
 * Tests SOFTMAX of rows with few and with many elements, with and without a stride between
 * elements.
 */
static void test_exact_softmax(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 7, 16, 17, 254, 255, 256, 257, 600 };
	static const float scales[] = { 0.003f, 0.02f, 0.1f, 1 };
	static uint8_t in[3 * 600], want[3 * 600];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(sizes) * LENGTH(scales) * 4; i++) {
		int32_t type = i % 2 ? NN_TENSOR_QUANT8_ASYMM_SIGNED : NN_TENSOR_QUANT8_ASYMM;
		uint32_t size = sizes[i / 4 % LENGTH(sizes)], stride = i / 2 % 2 ? 3 : 1;
		float scale = scales[i / 4 / LENGTH(sizes)];
		struct op_case c;

		for (uint32_t k = 0; k < size * 3; k++)
			in[k] = (uint8_t)(k * k * 31 + k * 7 + i);
		/* Make each byte after the first row larger than all bytes of the first row. */
		for (uint32_t k = 0; stride == 1 && k < size; k++)
			in[k] /= 4, in[k + size] = (uint8_t)(255 - in[k]);
		for (uint32_t k = 0; k < 3; k++)
			exact_softmax(in + (stride == 1 ? k * size : k), want +
				      (stride == 1 ? k * size : k), size, stride, type,
				      (double)0.7f * (double)scale);
		oc_init(&c, "SOFTMAX");
		if (stride == 1)
			oc_input(&c, type, OC_DIMS(3, size), in);
		else
			oc_input(&c, type, OC_DIMS(size, 3), in);
		oc_quantise(&c, scale, 5);
		oc_float(&c, 0.7f);
		oc_int(&c, stride == 1);
		oc_output(&c, type);
		oc_quantise(&c, 1.0f / 256, i % 2 ? -128 : 0);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_memory_equal(oc_result(&c, 0)->data, want, 3 * size);
		oc_free(&c);
	}
}

/*
 * Some operations require a fixed quantisation of their output; a model that declares another
 * quantisation is refused.
 */
static void test_fixed_quantisation(void **state)
{
	static const char *const ops[] = { "LOGISTIC", "TANH", "RELU", "SOFTMAX" };

	(void)state;
	for (size_t i = 0; i < LENGTH(ops); i++) {
		struct op_case c;

		oc_init(&c, ops[i]);
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(4), NULL);
		oc_quantise(&c, 0.5f, 3);
		if (!strcmp(ops[i], "SOFTMAX"))
			oc_float(&c, 1);
		oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
		oc_quantise(&c, 0.25f, 3);
		assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
		assert_non_null(strstr(c.err.message, "output 0"));
		oc_free(&c);
	}
}

/*
 * Operations refuse scales that make the inputs too large for the operations' fixed-point
 * algorithms.
 */
static void test_scales_that_are_refused(void **state)
{
	static const struct {
		const char *op;
		float scale, out_scale;
	} table[] = {
		{ "LOGISTIC", 1e-9f, 1.0f / 256 },
		{ "TANH", 1e-9f, 1.0f / 128 },
		{ "SOFTMAX", 1e-9f, 1.0f / 256 },
		{ "HARD_SWISH", 1, 1e-3f },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, table[i].op);
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(4), NULL);
		oc_quantise(&c, table[i].scale, 0);
		if (!strcmp(table[i].op, "SOFTMAX"))
			oc_float(&c, 1);
		oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
		oc_quantise(&c, table[i].out_scale, strcmp(table[i].op, "TANH") ? 0 : 128);
		assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
		assert_non_null(strstr(c.err.message, "too small"));
		oc_free(&c);
	}
}

/* ---- SOFTMAX and LOG_SOFTMAX ---- */

/* Tests LOG_SOFTMAX of a tensor of shape [2, 3, 5, 4] along each axis. */
enum { ELEMENTS = 120 };
static const uint32_t dims[] = { 2, 3, 5, 4 };

static void softmax_along(const double *x, double *out, uint32_t axis, double beta, bool is_log)
{
	uint32_t inner = 1, size = dims[axis];

	for (uint32_t i = axis + 1; i < 4; i++)
		inner *= dims[i];
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		uint32_t first = i / (inner * size) * inner * size + i % inner;
		double sum = 0;

		for (uint32_t k = 0; k < size; k++)
			sum += exp((x[first + k * inner] - x[i]) * beta);
		out[i] = is_log ? -log(sum) : 1 / sum;
	}
}

static void run_softmax(bool is_log, int32_t axis)
{
	double real[ELEMENTS], want[ELEMENTS];
	float in[ELEMENTS];
	struct op_case c;

	for (uint32_t i = 0; i < ELEMENTS; i++) {
		in[i] = (float)(i * 37 % 61) * 0.13f - 3;
		real[i] = (double)in[i];
	}
	softmax_along(real, want, (uint32_t)(axis < 0 ? axis + 4 : axis), 0.7, is_log);
	oc_init(&c, is_log ? "LOG_SOFTMAX" : "SOFTMAX");
	oc_input(&c, NN_TENSOR_FLOAT32, 4, dims, in);
	oc_float(&c, 0.7f);
	oc_int(&c, axis);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	for (uint32_t i = 0; i < ELEMENTS; i++)
		assert_true(fabs((double)nn_tensor_float(oc_result(&c, 0), i) - want[i]) <= 2e-6);
	oc_free(&c);
}

static void test_softmax(void **state)
{
	(void)state;
	for (int32_t axis = -4; axis < 4; axis++) {
		run_softmax(false, axis);
		run_softmax(true, axis);
	}
}

static void test_softmax_quantised(void **state)
{
	static const float scales[] = { 0.02f, 0.1f, 1, 50 };

	(void)state;
	for (int32_t i = 0; i < 32; i++) {
		int32_t type = i % 2 ? NN_TENSOR_QUANT8_ASYMM_SIGNED : NN_TENSOR_QUANT8_ASYMM;
		int32_t axis = i / 2 % 4, zero = i % 2 ? -128 : 0;
		float scale = scales[i / 8];
		double real[ELEMENTS], want[ELEMENTS];
		uint8_t in[ELEMENTS];
		struct op_case c;

		for (uint32_t k = 0; k < ELEMENTS; k++) {
			in[k] = (uint8_t)(k * 101);
			real[k] = stored(type, in[k]) * (double)scale;
		}
		softmax_along(real, want, (uint32_t)axis, 0.5, false);
		oc_init(&c, "SOFTMAX");
		oc_input(&c, type, 4, dims, in);
		oc_quantise(&c, scale, 5);
		oc_float(&c, 0.5f);
		oc_int(&c, axis);
		oc_output(&c, type);
		oc_quantise(&c, 1.0f / 256, zero);
		assert_int_equal(oc_run(&c), NN_OK);
		for (uint32_t k = 0; k < ELEMENTS; k++) {
			double got = stored(type, ((uint8_t *)oc_result(&c, 0)->data)[k]);

			assert_true(fabs(got - clamp_stored(type, want[k] * 256 + zero)) <= 1);
		}
		oc_free(&c);
	}
}

/*
 * SOFTMAX must not overflow if one element, anywhere in the row, is much larger than the other
 * elements.
 */
static void test_softmax_of_large(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		float in[4] = { -1000, -1000, -1000, -1000 };
		struct op_case c;

		in[i / 2] = 1000;
		oc_init(&c, i % 2 ? "LOG_SOFTMAX" : "SOFTMAX");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), in);
		oc_float(&c, 1);
		if (i % 2)
			oc_int(&c, 1);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		for (uint32_t k = 0; k < 4; k++) {
			float got = ((float *)oc_result(&c, 0)->data)[k];

			assert_true(got == (i % 2 ? (k == i / 2 ? 0 : -2000) : k == i / 2));
		}
		oc_free(&c);
	}
}

/*
 * In a row of 20,000 elements, the sum of SOFTMAX overflows the 12 integer bits of the reference
 * implementation.
 */
static void test_softmax_of_many(void **state)
{
	struct op_case c;

	(void)state;
	oc_init(&c, "SOFTMAX");
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, 20000), NULL);
	oc_quantise(&c, 1, 0);
	oc_float(&c, 1);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 1.0f / 256, 0);
	assert_int_equal(oc_run(&c), NN_OK);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(((uint8_t *)oc_result(&c, 0)->data)[i], 0);
	oc_free(&c);
}

static void test_softmax_parameters(void **state)
{
	static const struct {
		float beta;
		int32_t axis;
		const char *message;
	} table[] = {
		{ 0, -1, "beta" }, { -1, -1, "beta" }, { NAN, -1, "beta" },
		{ 1, 2, "axis 2" }, { 1, -3, "axis -3" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, "SOFTMAX");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 3), NULL);
		oc_float(&c, table[i].beta);
		oc_int(&c, table[i].axis);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
		assert_non_null(strstr(c.err.message, table[i].message));
		oc_free(&c);
	}
}

static void test_softmax_of_nothing(void **state)
{
	static const uint32_t shapes[][2] = { { 0, 3 }, { 3, 0 } };

	(void)state;
	for (size_t i = 0; i < LENGTH(shapes); i++) {
		struct op_case c;

		oc_init(&c, "SOFTMAX");
		oc_input(&c, NN_TENSOR_FLOAT32, 2, shapes[i], NULL);
		oc_float(&c, 1);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_int_equal(nn_tensor_count(oc_result(&c, 0)), 0);
		oc_free(&c);
	}
}

/* ---- QUANTIZE and DEQUANTIZE ---- */

static void test_quantize(void **state)
{
	static const float in[] = { 0, 0.25f, -0.25f, 1, -1, 1e9f, -1e9f, NAN };
	static const uint8_t as_unsigned[] = { 10, 11, 9, 12, 8, 255, 0, 0 };
	static const int8_t as_signed[] = { 10, 11, 9, 12, 8, 127, -128, -128 };
	struct op_case c;

	(void)state;
	oc_init(&c, "QUANTIZE");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(8), in);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 0.5f, 10);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, as_unsigned, 8);
	oc_free(&c);

	oc_init(&c, "QUANTIZE");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(8), in);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM_SIGNED);
	oc_quantise(&c, 0.5f, 10);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, as_signed, 8);
	oc_free(&c);
}

static void test_dequantize(void **state)
{
	static const uint8_t in[] = { 0, 1, 127, 128, 255 };
	static const struct {
		int32_t type, zero;
		float want[5];
	} table[] = {
		{ NN_TENSOR_QUANT8_ASYMM, 1, { -0.5f, 0, 63, 63.5f, 127 } },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, 1, { -0.5f, 0, 63, -64.5f, -1 } },
		{ NN_TENSOR_QUANT8_SYMM, 0, { 0, 0.5f, 63.5f, -64, -0.5f } },
	};

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, "DEQUANTIZE");
		oc_input(&c, table[i / 2].type, OC_DIMS(5), in);
		oc_quantise(&c, 0.5f, table[i / 2].zero);
		oc_output(&c, i % 2 ? NN_TENSOR_FLOAT16 : NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		for (uint32_t k = 0; k < 5; k++)
			assert_true(nn_tensor_float(oc_result(&c, 0), k) == table[i / 2].want[k]);
		oc_free(&c);
	}
}

static void test_dequantize_channels(void **state)
{
	static const int8_t in[] = { 1, 2, 3, -4, -5, -6, 7, 8, 9, 10, 11, -128 };
	static const float scales[] = { 0.5f, 2, 10 };
	static const float want[] = { 0.5f, 1, 6, -8, -50, -60, 3.5f, 4, 18, 20, 110, -1280 };
	struct nn_operand *o;
	struct op_case c;

	(void)state;
	oc_init(&c, "DEQUANTIZE");
	o = oc_input(&c, NN_TENSOR_QUANT8_SYMM_PER_CHANNEL, OC_DIMS(2, 3, 2), in);
	o->extra = (struct nn_extra){
		.kind = NN_EXTRA_CHANNEL_QUANT, .channel_dim = 1, .count = 3, .scales = scales,
	};
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, want, sizeof(want));
	oc_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_float_functions),
		heap_unit_test(test_fp16_functions),
		heap_unit_test(test_quantised_functions),
		heap_unit_test(test_fixed_quantisation),
		heap_unit_test(test_scales_that_are_refused),
		heap_unit_test(test_exact_functions),
		heap_unit_test(test_exact_softmax),
		heap_unit_test(test_softmax),
		heap_unit_test(test_softmax_quantised),
		heap_unit_test(test_softmax_of_large),
		heap_unit_test(test_softmax_of_many),
		heap_unit_test(test_softmax_parameters),
		heap_unit_test(test_softmax_of_nothing),
		heap_unit_test(test_quantize),
		heap_unit_test(test_dequantize),
		heap_unit_test(test_dequantize_channels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
