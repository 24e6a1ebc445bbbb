/* SPDX-License-Identifier: MIT */
/*
 * Poolings and normalizations. The test covers signatures, invalid parameters, and results, which
 * are compared with the operations' definitions.
 */
#include <math.h>

#include "op_case.h"
#include "tests/heap_blocks.h"

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "AVERAGE_POOL_2D", "f4 I I I I I I > f4", true },
		{ "AVERAGE_POOL_2D", "h4 I I I I I I B > h4", true },
		{ "AVERAGE_POOL_2D", "u4 I I I I I I I I I > u4", true },
		{ "AVERAGE_POOL_2D", "s4 I I I I I I I I I B > s4", true },
		{ "AVERAGE_POOL_2D", "f4 I I I I I > f4", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I I I > f4", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I B I I > f4", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I I I I B I > f4", false },
		{ "AVERAGE_POOL_2D", "w4 I I I I I I > w4", false },
		{ "AVERAGE_POOL_2D", "f3 I I I I I I > f4", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I > f3", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I > u4", false },
		{ "AVERAGE_POOL_2D", "f4 I I F I I I > f4", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I I > f4", false },
		{ "AVERAGE_POOL_2D", "f4 I I I I I I > f4 f4", false },
		{ "MAX_POOL_2D", "f4 I I I I I I I I I B > f4", true },
		{ "MAX_POOL_2D", "h4 I I I I I I > h4", true },
		{ "MAX_POOL_2D", "u4 I I I I I I B > u4", true },
		{ "MAX_POOL_2D", "s4 I I I I I I > s4", true },
		{ "MAX_POOL_2D", "t4 I I I I I I > t4", false },
		{ "L2_POOL_2D", "f4 I I I I I I > f4", true },
		{ "L2_POOL_2D", "h4 I I I I I I I I I B > h4", true },
		{ "L2_POOL_2D", "u4 I I I I I I > u4", false },

		{ "L2_NORMALIZATION", "f4 > f4", true },
		{ "L2_NORMALIZATION", "h1 I > h1", true },
		{ "L2_NORMALIZATION", "u2 I > u2", true },
		{ "L2_NORMALIZATION", "s3 > s3", true },
		{ "L2_NORMALIZATION", "f5 > f4", false },
		{ "L2_NORMALIZATION", "w4 > w4", false },
		{ "L2_NORMALIZATION", "f4 F > f4", false },
		{ "L2_NORMALIZATION", "f4 I I > f4", false },
		{ "L2_NORMALIZATION", "f4 > h4", false },
		{ "LOCAL_RESPONSE_NORMALIZATION", "f4 I F F F > f4", true },
		{ "LOCAL_RESPONSE_NORMALIZATION", "h2 I H H H I > h2", true },
		{ "LOCAL_RESPONSE_NORMALIZATION", "h2 I F F F I > h2", false },
		{ "LOCAL_RESPONSE_NORMALIZATION", "u4 I F F F > u4", false },
		{ "LOCAL_RESPONSE_NORMALIZATION", "f4 F F F F > f4", false },
		{ "LOCAL_RESPONSE_NORMALIZATION", "f4 I F F > f4", false },
		{ "INSTANCE_NORMALIZATION", "f4 F F F B > f4", true },
		{ "INSTANCE_NORMALIZATION", "h4 H H H B > h4", true },
		{ "INSTANCE_NORMALIZATION", "h4 F F F B > h4", false },
		{ "INSTANCE_NORMALIZATION", "f3 F F F B > f3", false },
		{ "INSTANCE_NORMALIZATION", "f4 F F F > f4", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		oc_assert_signature(&table[i]);
}

/* ---- Pooling, against the definition ---- */

enum kind { AVERAGE, MAX, L2 };

static const char *const names[] = { "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D" };

/*
 * A pooling with explicit paddings; in each array, element 0 is for the height and element 1 for
 * the width.
 */
struct shape {
	bool nchw;
	int32_t activation;
	uint32_t n, h, w, c;
	int32_t filter[2];
	int32_t stride[2];
	int32_t head[2];
	int32_t tail[2];
};

static const struct shape shapes[] = {
	{ false, 0, 2, 5, 6, 3, { 3, 2 }, { 1, 2 }, { 1, 0 }, { 2, 1 } },
	{ true, 0, 2, 5, 6, 3, { 3, 2 }, { 2, 1 }, { 0, 1 }, { 2, 1 } },
	{ false, 1, 1, 4, 4, 17, { 4, 4 }, { 1, 1 }, { 3, 3 }, { 3, 3 } },
	{ true, 2, 1, 7, 3, 2, { 1, 3 }, { 3, 3 }, { 0, 2 }, { 0, 2 } },
	{ false, 3, 3, 1, 1, 33, { 1, 1 }, { 1, 1 }, { 0, 0 }, { 0, 0 } },
	{ false, 0, 1, 8, 8, 1, { 8, 8 }, { 7, 7 }, { 0, 0 }, { 0, 0 } },
};

static uint32_t seed;

static uint32_t any_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % n;
}

static void add_scalars(struct op_case *c, const struct shape *s)
{
	for (int axis = 1; axis >= 0; axis--) {
		oc_int(c, s->head[axis]);
		oc_int(c, s->tail[axis]);
	}
	oc_int(c, s->stride[1]);
	oc_int(c, s->stride[0]);
	oc_int(c, s->filter[1]);
	oc_int(c, s->filter[0]);
	oc_int(c, s->activation);
	oc_bool(c, s->nchw);
}

static uint32_t out_size(const struct shape *s, int axis)
{
	int32_t in = (int32_t)(axis ? s->w : s->h);

	return (uint32_t)((in + s->head[axis] + s->tail[axis] - s->filter[axis]) /
			  s->stride[axis] + 1);
}

static size_t at4(bool nchw, uint32_t h, uint32_t w, uint32_t channels, uint32_t n, uint32_t y,
		  uint32_t x, uint32_t c)
{
	if (nchw)
		return ((size_t)(n * channels + c) * h + y) * w + x;
	return ((size_t)(n * h + y) * w + x) * channels + c;
}

/* Returns the expected output element for the input values `x`, before rounding and activation. */
static double pooled(const struct shape *s, enum kind kind, const double *x, uint32_t n,
		     uint32_t oy, uint32_t ox, uint32_t c)
{
	double sum = 0, most = -1e30, squares = 0;
	uint32_t count = 0;

	for (int32_t i = 0; i < s->filter[0]; i++) {
		for (int32_t j = 0; j < s->filter[1]; j++) {
			int32_t y = (int32_t)oy * s->stride[0] - s->head[0] + i;
			int32_t z = (int32_t)ox * s->stride[1] - s->head[1] + j;
			double v;

			if (y < 0 || z < 0 || y >= (int32_t)s->h || z >= (int32_t)s->w)
				continue;
			v = x[at4(s->nchw, s->h, s->w, s->c, n, (uint32_t)y, (uint32_t)z, c)];
			sum += v;
			squares += v * v;
			most = fmax(most, v);
			count++;
		}
	}
	return kind == MAX ? most : kind == L2 ? sqrt(squares / count) : sum / count;
}

static double activated(const struct shape *s, double value, double one, double zero)
{
	static const double limits[][2] = { { -1e30, 1e30 }, { 0, 1e30 }, { -1, 1 }, { 0, 6 } };

	return fmin(fmax(value, limits[s->activation][0] * one + zero),
		    limits[s->activation][1] * one + zero);
}

/* Returns the stored value of a tensor's element, without dequantising it. */
static double stored(const struct nn_tensor *t, size_t at)
{
	if (t->type == NN_TENSOR_FLOAT32)
		return ((float *)t->data)[at];
	if (t->type == NN_TENSOR_QUANT8_ASYMM)
		return ((uint8_t *)t->data)[at];
	return ((int8_t *)t->data)[at];
}

#define SCALE 0.125f

/*
 * Compares an output with the expected elements. Quantised averages are rounded half away from
 * zero, and activations clamp the stored values.
 */
static void compare(const struct shape *s, enum kind kind, const double *x,
		    const struct nn_tensor *out)
{
	bool is_float = out->type == NN_TENSOR_FLOAT32;
	uint32_t h = out_size(s, 0), w = out_size(s, 1);

	assert_int_equal(nn_tensor_count(out), s->n * h * w * s->c);
	assert_int_equal(out->dims[s->nchw ? 2 : 1], h);
	assert_int_equal(out->dims[s->nchw ? 3 : 2], w);
	for (uint32_t i = 0; i < s->n * h * w * s->c; i++) {
		uint32_t c = i % s->c, z = i / s->c % w, y = i / s->c / w % h, n = i / s->c / w / h;
		double got = stored(out, at4(s->nchw, h, w, s->c, n, y, z, c));
		double exact = pooled(s, kind, x, n, y, z, c);

		if (is_float)
			assert_true(fabs(got - activated(s, exact, 1, 0)) < 1e-5);
		else
			assert_true(got == activated(s, round(exact), 1 / SCALE, out->zero_point));
	}
}

static void run_pool(const struct shape *s, enum kind kind, int32_t type)
{
	static double x[1024];
	static float floats[1024];
	static uint8_t bytes[1024];
	bool is_float = type == NN_TENSOR_FLOAT32;
	uint32_t count = s->n * s->h * s->w * s->c;
	uint32_t nhwc[] = { s->n, s->h, s->w, s->c }, nchw[] = { s->n, s->c, s->h, s->w };
	int32_t zero = type == NN_TENSOR_QUANT8_ASYMM ? 100 : -20;
	struct op_case c;

	for (uint32_t i = 0; i < count; i++) {
		bytes[i] = (uint8_t)any_below(256);
		floats[i] = (float)((int8_t)bytes[i]) / 16;
		x[i] = is_float ? floats[i] :
		       type == NN_TENSOR_QUANT8_ASYMM ? bytes[i] : (int8_t)bytes[i];
	}
	oc_init(&c, names[kind]);
	oc_input(&c, type, 4, s->nchw ? nchw : nhwc, is_float ? (void *)floats : bytes);
	if (!is_float)
		oc_quantise(&c, SCALE, zero);
	add_scalars(&c, s);
	oc_output(&c, type);
	if (!is_float)
		oc_quantise(&c, SCALE, zero);
	if (oc_run(&c))
		fail_msg("%s: %s", names[kind], c.err.message);
	compare(s, kind, x, oc_result(&c, 0));
	oc_free(&c);
}

static void test_pools(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		seed = (uint32_t)i;
		for (enum kind kind = AVERAGE; kind <= L2; kind++)
			run_pool(&shapes[i], kind, NN_TENSOR_FLOAT32);
		for (enum kind kind = AVERAGE; kind <= MAX; kind++) {
			run_pool(&shapes[i], kind, NN_TENSOR_QUANT8_ASYMM);
			run_pool(&shapes[i], kind, NN_TENSOR_QUANT8_ASYMM_SIGNED);
		}
	}
}

static void test_pool_parameters(void **state)
{
	static const int32_t big = INT32_MAX, least = INT32_MIN;
	static const struct {
		/*
		 * Scalars of a pooling: paddings (left right top bottom), strides (width height),
		 * filter (width height), activation.
		 */
		int32_t scalars[9];
		enum nn_status status;
	} table[] = {
		{ { 1, 1, 1, 1, big, big, 2, 2, 0 }, NN_OK },
		{ { big - 1, 0, 0, 0, big, 1, big, 1, 0 }, NN_OK },
		{ { big - 1, big - 1, big - 1, big - 1, 1, 1, big, big, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, 1, 1, 4, 1, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, 1, 1, 0, 1, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, 1, 1, 1, least, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, 0, 1, 1, 1, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, 1, least, 1, 1, 0 }, NN_GENERAL_FAILURE },
		{ { 2, 0, 0, 0, 1, 1, 2, 2, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 2, 1, 1, 2, 2, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, -1, 0, 1, 1, 2, 2, 0 }, NN_GENERAL_FAILURE },
		{ { 0, least, 0, 0, 1, 1, 2, 2, 0 }, NN_GENERAL_FAILURE },
		{ { 0, 0, 0, 0, 1, 1, 2, 2, 4 }, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(table) / sizeof(table[0]); i++) {
		enum nn_status status;
		struct op_case c;

		oc_init(&c, names[i % 3]);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 3, 3, 1), NULL);
		for (int k = 0; k < 9; k++)
			oc_int(&c, table[i / 3].scalars[k]);
		oc_output(&c, NN_TENSOR_FLOAT32);
		status = oc_run(&c);
		if (status != table[i / 3].status)
			fail_msg("case %zu: %s %s", i / 3, nn_status_name(status), c.err.message);
		oc_free(&c);
	}
}

static void test_pool_sizes(void **state)
{
	static const struct {
		uint32_t x[4];
		enum nn_status status;
	} table[] = {
		{ { 0, 2, 2, 3 }, NN_OK },
		{ { 1, 0, 2, 3 }, NN_GENERAL_FAILURE },
		{ { 1, 2, 0, 3 }, NN_GENERAL_FAILURE },
		{ { 1, 2, 2, 0 }, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const int32_t scalars[] = { 2, 1, 1, 1, 1, 0 };
		struct op_case c;

		oc_init(&c, "MAX_POOL_2D");
		oc_input(&c, NN_TENSOR_FLOAT32, 4, table[i].x, NULL);
		for (int k = 0; k < 6; k++)
			oc_int(&c, scalars[k]);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), table[i].status);
		oc_free(&c);
	}
}

/* ---- Normalization ---- */

/* L2_NORMALIZATION of a tensor of shape [2, 3, 2] must normalise each slice along each axis. */
static void test_l2_normalization(void **state)
{
	static const float x[] = { 3, 1, 4, -2, 0, 2, 0, 0, -5, 12, 0, 0 };

	(void)state;
	for (int32_t axis = -3; axis < 3; axis++) {
		const uint32_t dims[] = { 2, 3, 2 }, strides[] = { 6, 2, 1 };
		uint32_t a = (uint32_t)(axis < 0 ? axis + 3 : axis);
		const float *y;
		struct op_case c;

		oc_init(&c, "L2_NORMALIZATION");
		oc_input(&c, NN_TENSOR_FLOAT32, 3, dims, x);
		oc_int(&c, axis);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		y = oc_result(&c, 0)->data;
		for (uint32_t i = 0; i < 12; i++) {
			uint32_t first = i - i / strides[a] % dims[a] * strides[a];
			double sum = 0;

			for (uint32_t k = 0; k < dims[a]; k++)
				sum += (double)x[first + k * strides[a]] * x[first + k * strides[a]];
			assert_true(fabs(y[i] - x[i] / fmax(sqrt(sum), 1e-6)) < 1e-6);
		}
		oc_free(&c);
	}
}

/*
 * The norm of the slice (3, 4) is 5, so the results are 3/5 and 4/5 of 128. A slice whose elements
 * are all zero stays zero.
 */
static void test_l2_normalization_quantised(void **state)
{
	static const struct {
		int32_t type, zero;
		uint8_t x[4], y[4];
	} table[] = {
		{ NN_TENSOR_QUANT8_ASYMM, 128, { 13, 6, 10, 10 }, { 205, 26, 128, 128 } },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, 0, { 13, 6, 10, 10 }, { 77, 154, 0, 0 } },
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct op_case c;

		oc_init(&c, "L2_NORMALIZATION");
		oc_input(&c, table[i].type, OC_DIMS(2, 2), table[i].x);
		oc_quantise(&c, 0.3f, 10);
		oc_output(&c, table[i].type);
		oc_quantise(&c, 1.0f / 128, table[i].zero);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_memory_equal(oc_result(&c, 0)->data, table[i].y, 4);
		oc_free(&c);
	}
}

static void test_local_response_normalization(void **state)
{
	static const float x[] = { 1, -2, 3, -4, 5 };

	(void)state;
	for (int32_t radius = 0; radius < 7; radius++) {
		const float *y;
		struct op_case c;

		oc_init(&c, "LOCAL_RESPONSE_NORMALIZATION");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(5, 1), x);
		oc_int(&c, radius == 6 ? INT32_MAX : radius);
		oc_float(&c, 2);
		oc_float(&c, 0.5f);
		oc_float(&c, 0.75f);
		oc_int(&c, 0);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		y = oc_result(&c, 0)->data;
		for (int32_t i = 0; i < 5; i++) {
			double sum = 0;

			for (int32_t k = 0; k < 5; k++)
				if (abs(i - k) <= radius)
					sum += (double)x[k] * x[k];
			assert_true(fabs(y[i] - x[i] * pow(2 + 0.5 * sum, -0.75)) < 1e-6);
		}
		oc_free(&c);
	}
}

/*
 * Tests INSTANCE_NORMALIZATION of two channels, with values 1 3 5 7 and 0 0 0 8, as NHWC and as
 * NCHW.
 */
static void test_instance_normalization(void **state)
{
	static const float nhwc[] = { 1, 0, 3, 0, 5, 0, 7, 8 }, nchw[] = { 1, 3, 5, 7, 0, 0, 0, 8 };
	static const double mean[] = { 4, 2 }, variance[] = { 5, 12 };

	(void)state;
	for (int layout = 0; layout < 2; layout++) {
		const float *y, *x = layout ? nchw : nhwc;
		struct op_case c;

		oc_init(&c, "INSTANCE_NORMALIZATION");
		if (layout)
			oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 2, 2), nchw);
		else
			oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 2, 2), nhwc);
		oc_float(&c, 2);
		oc_float(&c, 10);
		oc_float(&c, 4);
		oc_bool(&c, layout);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		y = oc_result(&c, 0)->data;
		for (int i = 0; i < 8; i++) {
			int k = layout ? i / 4 : i % 2;

			assert_true(fabs(y[i] - ((x[i] - mean[k]) * 2 / sqrt(variance[k] + 4) + 10)) <
				    1e-5);
		}
		oc_free(&c);
	}
}

static void test_normalization_parameters(void **state)
{
	static const struct {
		int32_t axis, radius;
		enum nn_status status;
	} table[] = {
		{ 1, 0, NN_OK },
		{ 2, 0, NN_GENERAL_FAILURE },
		{ -3, 0, NN_GENERAL_FAILURE },
		{ INT32_MIN, 0, NN_GENERAL_FAILURE },
		{ INT32_MAX, 0, NN_GENERAL_FAILURE },
		{ 1, -1, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, "LOCAL_RESPONSE_NORMALIZATION");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 2), NULL);
		oc_int(&c, table[i].radius);
		for (int k = 0; k < 3; k++)
			oc_float(&c, 1);
		oc_int(&c, table[i].axis);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), table[i].status);
		oc_free(&c);

		if (table[i].radius)
			continue;
		oc_init(&c, "L2_NORMALIZATION");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 2), NULL);
		oc_int(&c, table[i].axis);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), table[i].status);
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_pools),
		heap_unit_test(test_pool_parameters),
		heap_unit_test(test_pool_sizes),
		heap_unit_test(test_l2_normalization),
		heap_unit_test(test_l2_normalization_quantised),
		heap_unit_test(test_local_response_normalization),
		heap_unit_test(test_instance_normalization),
		heap_unit_test(test_normalization_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
