/* SPDX-License-Identifier: MIT */
/*
 * Tests products of floats that are quantised at run time. The test compares the quantisation with
 * test vectors for ONNX and TensorFlow Lite, and the sums with sums of float operations.
 */
#include <math.h>
#include <stdio.h>

#include "op_case.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define MOST 1024

enum { TENSOR, ROWS, ROWS_ASYMMETRIC, NUM_FORMS };

static void add_text(struct op_case *c, const char *text, int32_t form);

/*
 * Test vectors for ONNX's DynamicQuantizeLinear, and for TensorFlow Lite's SymmetricQuantizeFloats
 * and AsymmetricQuantizeFloats: floats, and the quantised numbers minus the zero point.
 */
static const struct {
	int32_t form;
	float scale;
	uint32_t count;
	float x[12];
	int32_t wanted[12];
} vectors[] = {
	{ TENSOR, 5.f / 255, 6, { 0, 2, -3, -2.5f, 1.34f, 0.5f }, { 0, 102, -153, -127, 68, 26 } },
	{ TENSOR, 4.f / 255, 6, { -1, -2.1f, -1.3f, -2.5f, -3.34f, -4 },
	  { -64, -134, -83, -159, -213, -255 } },
	{ TENSOR, 4.f / 255, 12, { 1, 2.1f, 1.3f, 2.5f, 3.34f, 4, 1.5f, 2.6f, 3.9f, 4, 3, 2.345f },
	  { 64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149 } },
	{ TENSOR, 1, 2, { 0, 0 }, { 0, 0 } },
	/* DynamicQuantizeLinear rounds ties to even and saturates. */
	{ TENSOR, 1, 4, { 0, 0.5f, 1.5f, 255 }, { 0, 0, 2, 255 } },
	{ ROWS, 1000.f / 127, 9, { -640, -635, -630, 10, 2, -5, -10, 0, 1000 },
	  { -81, -81, -80, 1, 0, -1, -1, 0, 127 } },
	{ ROWS, 1, 4, { 0.5f, 1.5f, -127, -2.5f }, { 1, 2, -127, -3 } },
	{ ROWS, 1, 2, { 0, 0 }, { 0, 0 } },
	{ ROWS_ASYMMETRIC, 1640.f / 255, 9, { -640, -635, -630, 10, 2, -5, -10, 0, 1000 },
	  { -100, -99, -98, 2, 0, -1, -2, 0, 155 } },
	{ ROWS_ASYMMETRIC, 1, 2, { 0, 0 }, { 0, 0 } },
};

/*
 * Multiplies each test vector by the unit matrix, so that the products are the quantised numbers.
 */
static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(vectors); i++) {
		const uint32_t n = vectors[i].count;
		int8_t ones[12 * 12] = { 0 };
		float bias[12] = { 0 };
		struct op_case c;

		for (uint32_t k = 0; k < n; k++)
			ones[k * n + k] = 1;
		oc_init(&c, "DYNAMIC_FULLY_CONNECTED");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, n), vectors[i].x);
		oc_input(&c, NN_TENSOR_QUANT8_SYMM, OC_DIMS(n, n), ones);
		oc_quantise(&c, 1, 0);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(n), bias);
		add_text(&c, "i0 f", vectors[i].form);
		oc_output(&c, NN_TENSOR_FLOAT32);
		if (oc_run(&c))
			fail_msg("vector %zu: %s", i, c.err.message);
		for (uint32_t k = 0; k < n; k++) {
			float got = ((float *)oc_result(&c, 0)->data)[k] / vectors[i].scale;

			if (!(fabsf(got - (float)vectors[i].wanted[k]) < 1e-3f))
				fail_msg("vector %zu: element %u is %g, not %d", i, k, (double)got,
					 vectors[i].wanted[k]);
		}
		oc_free(&c);
	}
}

/* ---- Sums ---- */

/*
 * Each case has a dynamic operation, the float operation that computes the same sums, and the
 * shapes of both operations. In the scalars, "i" is an integer, "b" a boolean, "f" the form of
 * quantisation, and "g" the number of groups. Float operations do not have the scalars "f" and "g".
 */
static const struct shape {
	const char *name;
	const char *other;
	uint32_t x_rank;
	uint32_t x[4];
	uint32_t w_rank;
	uint32_t w[4];
	uint32_t channel;		/* the axis of the weights' channels */
	const char *scalars;
} shapes[] = {
	{ "FULLY_CONNECTED", "FULLY_CONNECTED", 2, { 3, 7 }, 2, { 5, 7 }, 0, "i0 f" },
	{ "FULLY_CONNECTED", "FULLY_CONNECTED", 3, { 2, 2, 40 }, 2, { 3, 40 }, 0, "i1 f" },
	{ "BATCH_MATMUL", "BATCH_MATMUL", 2, { 3, 20 }, 2, { 20, 5 }, 1, "b0 b0 f" },
	{ "BATCH_MATMUL", "BATCH_MATMUL", 3, { 2, 3, 4 }, 3, { 1, 5, 4 }, 1, "b0 b1 f" },
	{ "BATCH_MATMUL", "BATCH_MATMUL", 3, { 1, 4, 3 }, 3, { 2, 4, 5 }, 2, "b1 b0 f" },
	{ "BATCH_MATMUL", "BATCH_MATMUL", 4, { 2, 1, 4, 3 }, 4, { 2, 3, 5, 4 }, 2, "b1 b1 f" },
	{ "CONV_2D", "CONV_2D", 4, { 2, 5, 4, 3 }, 4, { 4, 2, 3, 3 }, 0,
	  "i1 i2 i1 g1 f i3 b0 i1 i2" },
	{ "CONV_2D", "CONV_2D", 4, { 1, 5, 6, 3 }, 4, { 2, 3, 3, 3 }, 0,
	  "i1 i0 i2 i1 i1 i2 g1 f i0" },
	{ "CONV_2D", "GROUPED_CONV_2D", 4, { 2, 5, 4, 6 }, 4, { 4, 2, 2, 3 }, 0,
	  "i2 i1 i1 i2 f i1 b0" },
	{ "CONV_2D", "GROUPED_CONV_2D", 4, { 2, 3, 5, 4 }, 4, { 6, 2, 3, 1 }, 0,
	  "i0 i1 i1 i0 i1 i1 i3 f i0 b1" },
};

/* Adds the scalar operands that `text` lists; omits the scalars "f" and "g" if `form` is -1. */
static void add_text(struct op_case *c, const char *text, int32_t form)
{
	for (; *text; text += strcspn(text, " "), text += *text == ' ') {
		const int32_t value = atoi(text + 1);

		if (*text == 'b')
			oc_bool(c, value);
		else if (*text == 'i' || (*text == 'g' && form >= 0))
			oc_int(c, value);
		else if (*text == 'f' && form >= 0)
			oc_int(c, form);
	}
}

static uint32_t product(const uint32_t *dims, uint32_t rank)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	return count;
}

/*
 * Makes whole numbers that quantising does not change, because each row has the smallest and the
 * largest number that `form` allows.
 */
static void fill_rows(const struct shape *s, int32_t form, uint32_t seed, float *x)
{
	static const int32_t least[NUM_FORMS] = { -100, -127, -128 };
	const uint32_t count = product(s->x, s->x_rank);
	const bool adjoint = !strcmp(s->name, "BATCH_MATMUL") && s->scalars[1] == '1';
	const uint32_t step = adjoint ? s->x[s->x_rank - 1] : 1;

	for (uint32_t i = 0; i < count; i++) {
		seed = seed * 1103515245 + 12345;
		x[i] = (float)(least[form] + (int32_t)((seed >> 16) % (form == ROWS ? 255 : 256)));
		if (i / step % 3 == 0)
			x[i] = (float)least[form];
		else if (i / step % 3 == 1)
			x[i] = (float)(least[form] + (form == ROWS ? 254 : 255));
	}
}

/*
 * Adds quantised weights to `c`, and adds the real numbers that the weights represent to `other`.
 */
static void add_weights(const struct shape *s, int32_t type, float *scales, struct op_case *c,
			struct op_case *other)
{
	const uint32_t count = product(s->w, s->w_rank), channels = s->w[s->channel];
	const uint32_t inner = product(s->w + s->channel + 1, s->w_rank - s->channel - 1);
	const bool by_channel = type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL;
	const int32_t zero = type == NN_TENSOR_QUANT8_ASYMM ? 119 :
			     type == NN_TENSOR_QUANT8_ASYMM_SIGNED ? -7 : 0;
	uint8_t bytes[MOST];
	float floats[MOST];
	struct nn_operand *o;

	assert_between(count, 1, MOST);
	for (uint32_t i = 0; i < channels; i++)
		scales[i] = by_channel ? 1.f / (float)(1 << i % 5) : 0.25f;
	for (uint32_t i = 0; i < count; i++) {
		bytes[i] = (uint8_t)(i * 37 + i / 7);
		floats[i] = scales[i / inner % channels] *
			    (float)((type == NN_TENSOR_QUANT8_ASYMM ? bytes[i] : (int8_t)bytes[i]) -
				    zero);
	}
	o = oc_input(c, type, s->w_rank, s->w, bytes);
	if (by_channel)
		o->extra = (struct nn_extra){ .kind = NN_EXTRA_CHANNEL_QUANT, .scales = scales,
					      .count = channels, .channel_dim = s->channel };
	else
		oc_quantise(c, 0.25f, zero);
	oc_input(other, NN_TENSOR_FLOAT32, s->w_rank, s->w, floats);
}

static void check_sums(const struct shape *s, int32_t type, int32_t form)
{
	float x[MOST], bias[8] = { 1, -2, 3, -400, 5, -6 }, scales[8];
	struct op_case c, other;
	char name[40];

	snprintf(name, sizeof(name), "DYNAMIC_%s", s->name);
	oc_init(&c, name);
	oc_init(&other, s->other);
	fill_rows(s, form, (uint32_t)form + 1, x);
	oc_input(&c, NN_TENSOR_FLOAT32, s->x_rank, s->x, x);
	oc_input(&other, NN_TENSOR_FLOAT32, s->x_rank, s->x, x);
	add_weights(s, type, scales, &c, &other);
	if (strcmp(s->name, "BATCH_MATMUL")) {
		oc_input(&c, NN_TENSOR_FLOAT32, 1, s->w, bias);
		oc_input(&other, NN_TENSOR_FLOAT32, 1, s->w, bias);
	}
	add_text(&c, s->scalars, form);
	add_text(&other, s->scalars, -1);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&other, NN_TENSOR_FLOAT32);
	if (oc_run(&c) || oc_run(&other))
		fail_msg("%s: %s%s", name, c.err.message, other.err.message);
	assert_int_equal(nn_tensor_size(oc_result(&c, 0)), nn_tensor_size(oc_result(&other, 0)));
	if (memcmp(oc_result(&c, 0)->data, oc_result(&other, 0)->data,
		   nn_tensor_size(oc_result(&c, 0))))
		fail_msg("%s, shape %td, weights of type %d, form %d: other sums", name, s - shapes,
			 type, form);
	oc_free(&c);
	oc_free(&other);
}

/*
 * Quantising does not change the whole numbers of fill_rows(), so the sums equal the float
 * operation's sums bit by bit.
 */
static void test_sums(void **state)
{
	static const int32_t types[] = {
		NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED, NN_TENSOR_QUANT8_SYMM,
		NN_TENSOR_QUANT8_SYMM_PER_CHANNEL,
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(shapes); i++)
		for (size_t k = 0; k < LENGTH(types); k++)
			for (int32_t form = 0; form < NUM_FORMS; form++)
				check_sums(&shapes[i], types[k], form);
}

/*
 * Depending on the scalar `form`, each row or image has its own scale, or all rows have the same
 * scale.
 */
static void test_rows(void **state)
{
	static const float x[] = { 1000, 127000, 1, 127 };
	static const struct {
		int32_t form;
		float first, second;
	} cases[] = {
		{ TENSOR, 2 * 127000.f / 255, 0 },
		{ ROWS, 1000, 1 },
		{ ROWS_ASYMMETRIC, 2 * 127000.f / 255, 2 * 127.f / 255 },
	};
	static const int8_t one[] = { 1, 0 };
	static const float bias;

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(cases); i++) {
		const bool is_conv = i % 2;
		struct op_case c;
		float *out;

		oc_init(&c, is_conv ? "DYNAMIC_CONV_2D" : "DYNAMIC_FULLY_CONNECTED");
		oc_input(&c, NN_TENSOR_FLOAT32, is_conv ? 4 : 2,
			 is_conv ? (uint32_t[]){ 2, 1, 1, 2 } : (uint32_t[]){ 2, 2 }, x);
		oc_input(&c, NN_TENSOR_QUANT8_SYMM, is_conv ? 4 : 2,
			 is_conv ? (uint32_t[]){ 1, 1, 1, 2 } : (uint32_t[]){ 1, 2 }, one);
		oc_quantise(&c, 1, 0);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), &bias);
		add_text(&c, is_conv ? "i2 i1 i1 i1 f i0" : "i0 f", cases[i / 2].form);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		out = oc_result(&c, 0)->data;
		assert_float_equal(out[0], cases[i / 2].first, 1e-3);
		assert_float_equal(out[1], cases[i / 2].second, 1e-5);
		oc_free(&c);
	}
}

/* NaN and infinite numbers may give any result, but do not crash. */
static void test_not_finite(void **state)
{
	static const float values[] = { NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f };
	static const int8_t ones[] = { 1, 1 };
	static const float bias;

	(void)state;
	for (size_t i = 0; i < LENGTH(values) * LENGTH(values) * NUM_FORMS; i++) {
		const float x[] = { values[i % LENGTH(values)],
				    values[i / LENGTH(values) % LENGTH(values)] };
		struct op_case c;

		oc_init(&c, "DYNAMIC_FULLY_CONNECTED");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2), x);
		oc_input(&c, NN_TENSOR_QUANT8_SYMM, OC_DIMS(1, 2), ones);
		oc_quantise(&c, 1, 0);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1), &bias);
		add_text(&c, "i0 f", (int32_t)(i % NUM_FORMS));
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		oc_free(&c);
	}
}

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "DYNAMIC_FULLY_CONNECTED", "h4 s2 h1 I I > h2", true },
		{ "DYNAMIC_FULLY_CONNECTED", "f2 p21 f1 I I > f2", false },
		{ "DYNAMIC_FULLY_CONNECTED", "f2 f2 f1 I I > f2", false },
		{ "DYNAMIC_FULLY_CONNECTED", "u2 u2 w1 I I > u2", false },
		{ "DYNAMIC_FULLY_CONNECTED", "f2 u2 h1 I I > f2", false },
		{ "DYNAMIC_BATCH_MATMUL", "f4 q4 B B I > f4", true },
		{ "DYNAMIC_BATCH_MATMUL", "f4 p43 B B I > f4", true },
		{ "DYNAMIC_BATCH_MATMUL", "f4 q4 B I I > f4", false },
		{ "DYNAMIC_CONV_2D", "f4 u4 f1 I I I I I I I I I B I I > f4", true },
		{ "DYNAMIC_CONV_2D", "f4 u4 f1 I I I I I I B I > f4", false },
		{ "DYNAMIC_CONV_2D", "f4 p43 f1 I I I I I I > f4", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		oc_assert_signature(&table[i]);
}

/* An execution of a dynamic operation rejects invalid arguments with a message. */
static void test_arguments(void **state)
{
	static const float scales[3] = { 1, 1, 1 };
	static const struct {
		const char *name;
		/*
		 * Number of the weights' scales if each channel has a scale; 0 for a single scale.
		 */
		uint32_t scales;
		uint32_t channel;
		const char *scalars;
		const char *message;
	} cases[] = {
		{ "FULLY_CONNECTED", 0, 0, "i0 i3", "input 4: unknown form 3, must be 0 to 2" },
		{ "FULLY_CONNECTED", 0, 0, "i0 i-1", "input 4: unknown form -1" },
		{ "FULLY_CONNECTED", 0, 0, "i9 i0", "input 3: unknown activation 9" },
		{ "FULLY_CONNECTED", 3, 0, "i0 i0", "input 1: 3 scales for 2 channels" },
		{ "BATCH_MATMUL", 2, 0, "b0 b0 i0", "input 1: quantised along dimension 0, must be 1" },
		{ "BATCH_MATMUL", 2, 1, "b0 b1 i0", "input 1: quantised along dimension 1, must be 0" },
		{ "BATCH_MATMUL", 0, 0, "b0 b0 i7", "input 4: unknown form 7" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct nn_operand *o;
		struct op_case c;
		char name[40];

		snprintf(name, sizeof(name), "DYNAMIC_%s", cases[i].name);
		oc_init(&c, name);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 2), NULL);
		o = oc_input(&c, cases[i].scales ? NN_TENSOR_QUANT8_SYMM_PER_CHANNEL :
						   NN_TENSOR_QUANT8_SYMM, OC_DIMS(2, 2), NULL);
		if (cases[i].scales)
			o->extra = (struct nn_extra){
				.kind = NN_EXTRA_CHANNEL_QUANT, .scales = scales,
				.count = cases[i].scales, .channel_dim = cases[i].channel,
			};
		if (*cases[i].name == 'F')
			oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2), NULL);
		add_text(&c, cases[i].scalars, 0);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_GENERAL_FAILURE);
		if (!strstr(c.err.message, cases[i].message))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, c.err.message, cases[i].message);
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_vectors),
		heap_unit_test(test_sums),
		heap_unit_test(test_rows),
		heap_unit_test(test_not_finite),
		heap_unit_test(test_signatures),
		heap_unit_test(test_arguments),
	};

	return cmocka_run_group_tests_name("ops_dynamic", tests, NULL, NULL);
}
