/* SPDX-License-Identifier: MIT */
/*
 * Tests RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: signatures, results for each placement of the
 * samples, and invalid sizes.
 */
#include <math.h>

#include "op_case.h"
#include "tests/heap_blocks.h"

static const char *const names[] = { "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR" };

enum { BILINEAR, NEAREST };

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "RESIZE_BILINEAR", "f4 I I > f4", true },
		{ "RESIZE_BILINEAR", "h4 H H > h4", true },
		{ "RESIZE_BILINEAR", "u4 F F B > u4", true },
		{ "RESIZE_BILINEAR", "s4 I I B B > s4", true },
		{ "RESIZE_BILINEAR", "f4 F F B B B > f4", true },
		{ "RESIZE_BILINEAR", "f4 I > f4", false },
		{ "RESIZE_BILINEAR", "f4 I F > f4", false },
		{ "RESIZE_BILINEAR", "f4 F I > f4", false },
		{ "RESIZE_BILINEAR", "h4 F F > h4", false },
		{ "RESIZE_BILINEAR", "w4 I I > w4", false },
		{ "RESIZE_BILINEAR", "f3 I I > f3", false },
		{ "RESIZE_BILINEAR", "f4 I I > u4", false },
		{ "RESIZE_BILINEAR", "f4 I I I > f4", false },
		{ "RESIZE_BILINEAR", "f4 I I B B B B > f4", false },
		{ "RESIZE_NEAREST_NEIGHBOR", "f4 I I B > f4", true },
		{ "RESIZE_NEAREST_NEIGHBOR", "h4 H H B > h4", true },
		{ "RESIZE_NEAREST_NEIGHBOR", "u4 I I B B > u4", true },
		{ "RESIZE_NEAREST_NEIGHBOR", "s4 F F B B B > s4", true },
		{ "RESIZE_NEAREST_NEIGHBOR", "f4 I I > f4", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		oc_assert_signature(&table[i]);
}

/* Expected output rows of a resize for the input row 0, 8, 16, 24. */
static const struct placement {
	int op;
	uint32_t out;
	bool align;
	bool half;
	float row[8];
} placements[] = {
	{ BILINEAR, 4, false, false, { 0, 8, 16, 24 } },
	{ BILINEAR, 8, false, false, { 0, 4, 8, 12, 16, 20, 24, 24 } },
	{ BILINEAR, 8, false, true, { 0, 2, 6, 10, 14, 18, 22, 24 } },
	{ BILINEAR, 7, true, false, { 0, 4, 8, 12, 16, 20, 24 } },
	{ BILINEAR, 2, false, false, { 0, 16 } },
	{ BILINEAR, 2, true, false, { 0, 24 } },
	{ BILINEAR, 2, false, true, { 4, 20 } },
	{ BILINEAR, 1, true, false, { 0 } },
	{ NEAREST, 8, false, false, { 0, 0, 8, 8, 16, 16, 24, 24 } },
	{ NEAREST, 3, false, false, { 0, 8, 16 } },
	{ NEAREST, 3, true, false, { 0, 16, 24 } },
	{ NEAREST, 3, false, true, { 0, 16, 24 } },
	{ NEAREST, 1, false, true, { 16 } },
};

static double stored(const struct nn_tensor *t, size_t at)
{
	if (t->type == NN_TENSOR_FLOAT32)
		return ((float *)t->data)[at];
	if (t->type == NN_TENSOR_QUANT8_ASYMM)
		return ((uint8_t *)t->data)[at];
	return ((int8_t *)t->data)[at];
}

/*
 * Fills two images of 4 by 4 pixels and 2 channels with multiples of the column number, or of the
 * row number.
 */
static void fill(float *x, bool nchw, bool rows)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t c = nchw ? i / 16 % 2 : i % 2;
		uint32_t column = nchw ? i % 4 : i / 2 % 4, row = nchw ? i / 4 % 4 : i / 8 % 4;

		x[i] = (c ? -1.0f : 1.0f) * 8 * (float)(rows ? row : column);
	}
}

static void check(const struct placement *p, int32_t type, bool nchw, bool rows)
{
	bool is_unsigned = type == NN_TENSOR_QUANT8_ASYMM;
	uint32_t nhwc_dims[] = { 2, 4, 4, 2 }, nchw_dims[] = { 2, 2, 4, 4 };
	const struct nn_tensor *y;
	int8_t bytes[64];
	float x[64];
	struct op_case c;

	fill(x, nchw, rows);
	for (int i = 0; i < 64; i++)
		bytes[i] = (int8_t)(is_unsigned ? fabsf(x[i]) : x[i]);
	oc_init(&c, names[p->op]);
	oc_input(&c, type, 4, nchw ? nchw_dims : nhwc_dims,
		 type == NN_TENSOR_FLOAT32 ? (void *)x : bytes);
	if (type != NN_TENSOR_FLOAT32)
		oc_quantise(&c, 0.5f, 7);
	oc_int(&c, rows ? 4 : (int32_t)p->out);
	oc_int(&c, rows ? (int32_t)p->out : 4);
	oc_bool(&c, nchw);
	oc_bool(&c, p->align);
	oc_bool(&c, p->half);
	oc_output(&c, type);
	if (type != NN_TENSOR_FLOAT32)
		oc_quantise(&c, 0.5f, 7);
	if (oc_run(&c))
		fail_msg("%s: %s", names[p->op], c.err.message);
	y = oc_result(&c, 0);
	assert_int_equal(nn_tensor_count(y), 16 * p->out);
	for (uint32_t i = 0; i < 16 * p->out; i++) {
		uint32_t w = rows ? 4 : p->out, h = rows ? p->out : 4;
		uint32_t k = nchw ? i / (w * h) % 2 : i % 2;
		uint32_t column = nchw ? i % w : i / 2 % w, row = nchw ? i / w % h : i / 2 / w % h;
		double expected = p->row[rows ? row : column];

		assert_true(stored(y, i) == (k && !is_unsigned ? -expected : expected));
	}
	oc_free(&c);
}

static void test_placements(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(placements) / sizeof(placements[0]); i++) {
		for (int way = 0; way < 4; way++) {
			check(&placements[i], NN_TENSOR_FLOAT32, way & 1, way & 2);
			check(&placements[i], NN_TENSOR_QUANT8_ASYMM, way & 1, way & 2);
			check(&placements[i], NN_TENSOR_QUANT8_ASYMM_SIGNED, way & 1, way & 2);
		}
	}
}

/* Between four pixels. RESIZE_BILINEAR truncates quantised results: 0.75 and -0.75 become 0. */
static void test_between(void **state)
{
	static const uint8_t u[] = { 0, 1, 1, 1 };
	static const int8_t s[] = { 0, -1, -1, -1 };
	static const float f[] = { 0, 1, 1, 1 };
	static const struct {
		int32_t type;
		const void *x;
		double y;
	} table[] = {
		{ NN_TENSOR_FLOAT32, f, 0.75 },
		{ NN_TENSOR_QUANT8_ASYMM, u, 0 },
		{ NN_TENSOR_QUANT8_ASYMM_SIGNED, s, 0 },
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct op_case c;

		oc_init(&c, "RESIZE_BILINEAR");
		oc_input(&c, table[i].type, OC_DIMS(1, 2, 2, 1), table[i].x);
		oc_int(&c, 1);
		oc_int(&c, 1);
		oc_bool(&c, false);
		oc_bool(&c, false);
		oc_bool(&c, true);
		oc_output(&c, table[i].type);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_true(stored(oc_result(&c, 0), 0) == table[i].y);
		oc_free(&c);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		int32_t width;
		float scale;		/* scale factor instead of a size, or 0 */
		bool align, half;
		uint32_t batch, height, out;
		enum nn_status status;
	} table[] = {
		{ 5, 0, false, false, 1, 2, 5, NN_OK },
		{ 5, 0, false, false, 0, 2, 5, NN_OK },
		{ 0, 1.5f, false, false, 1, 2, 4, NN_OK },
		{ 0, 0.34f, false, false, 1, 2, 1, NN_OK },
		{ 5, 0, true, true, 1, 2, 0, NN_GENERAL_FAILURE },
		{ 5, 0, false, false, 1, 0, 0, NN_GENERAL_FAILURE },
		{ 0, 0, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ -1, 0, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ INT32_MAX, 0, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ 0, 0.3f, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ 0, -2, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ 0, 1e30f, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ 0, NAN, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
		{ 0, INFINITY, false, false, 1, 2, 0, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(table) / sizeof(table[0]); i++) {
		uint32_t dims[] = { table[i / 2].batch, table[i / 2].height, 3, 1 };
		enum nn_status status;
		struct op_case c;

		oc_init(&c, names[i % 2]);
		oc_input(&c, NN_TENSOR_FLOAT32, 4, dims, NULL);
		if (table[i / 2].scale != 0) {
			oc_float(&c, table[i / 2].scale);
			oc_float(&c, 1);
		} else {
			oc_int(&c, table[i / 2].width);
			oc_int(&c, 2);
		}
		oc_bool(&c, false);
		oc_bool(&c, table[i / 2].align);
		oc_bool(&c, table[i / 2].half);
		oc_output(&c, NN_TENSOR_FLOAT32);
		status = oc_run(&c);
		if (status != table[i / 2].status)
			fail_msg("case %zu: %s %s", i / 2, nn_status_name(status), c.err.message);
		if (!status)
			assert_int_equal(oc_result(&c, 0)->dims[2], table[i / 2].out);
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_placements),
		heap_unit_test(test_between),
		heap_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
