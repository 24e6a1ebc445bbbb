/* SPDX-License-Identifier: MIT */
/* Tests how nnaccel engine-test saves, loads and compares vectors. */
#define _GNU_SOURCE
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops/float16.h"
#include "ops/op.h"
#include "tests/heap_blocks.h"
#include "tests/model_builder.h"
#include "tests/open_files.h"
#include "tools/engine_test/vector.h"

/* ---- files ---- */

static char path[64];

/* A name of the greatest length. */
#define NAME "a vector with a name of 95 characters, which is as long as names of vectors may be in the file."

/*
 * Returns a vector of (x + constant) * y. If `has_pool` is true, the constant is in the middle of a
 * pool; otherwise the constant is in the model.
 */
static struct vector *make_vector(bool has_pool)
{
	static const float x[] = { 1, 2, 3, 4, 5, 6 }, y[] = { -7, 0.5f, 9 };
	static const float pool[64] = { [16] = 10, 20, 30 };
	uint32_t in[2], constant, sum, none, out;
	struct model_builder b;

	mb_init(&b);
	b.pools[0] = (struct nn_pool){ (void *)(uintptr_t)pool, sizeof(pool) };
	b.model.num_pools = has_pool;
	in[0] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2, 3));
	in[1] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(3));
	constant = has_pool ?
		   mb_reference(&b, NN_TENSOR_FLOAT32, 0, 16 * sizeof(float), 3 * sizeof(float), MB_DIMS(3)) :
		   mb_constant(&b, NN_TENSOR_FLOAT32, &pool[16], 3 * sizeof(float), MB_DIMS(3));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(2, 3));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 3));
	mb_operation(&b, NN_OP_ADD, MB_LIST(in[0], constant, none), MB_LIST(sum));
	mb_operation(&b, NN_OP_MUL, MB_LIST(sum, in[1], none), MB_LIST(out));
	return vector_make(&b.model, (const void *const[]){ x, y }, NAME, NN_OP_MUL);
}

/* Writes a file and loads it. */
static struct vector *load(const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
	errno = 0;
	return vector_load(path);
}

static size_t read_file(void *bytes, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t n;

	assert_non_null(file);
	n = fread(bytes, 1, size, file);
	fclose(file);
	return n;
}

static void check_save(bool has_pool)
{
	static const float right[] = { -77, 11, 297, -98, 12.5f, 324 };
	struct vector *v = make_vector(has_pool), *w;
	char bytes[4096], again[4096];
	size_t size;

	assert_non_null(v);
	assert_memory_equal(v->outputs[0].data, right, sizeof(right));
	assert_true(vector_save(v, path));
	size = read_file(bytes, sizeof(bytes));
	w = vector_load(path);
	assert_non_null(w);
	assert_string_equal(w->name, NAME);
	assert_int_equal(w->model->subgraphs[0].num_operations, 2);
	assert_int_equal(w->model->num_pools, has_pool);
	if (has_pool)
		assert_memory_equal(w->pool, v->pool, v->model->pools[0].size);
	assert_int_equal(w->num_inputs, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(w->inputs[i].size, v->inputs[i].size);
		assert_memory_equal(w->inputs[i].data, v->inputs[i].data, v->inputs[i].size);
	}
	assert_int_equal(w->num_outputs, 1);
	assert_int_equal(w->outputs[0].size, sizeof(right));
	assert_memory_equal(w->outputs[0].data, right, sizeof(right));
	/* A loaded vector is saved with the same bytes. */
	assert_true(vector_save(w, path));
	assert_int_equal(read_file(again, sizeof(again)), size);
	assert_memory_equal(again, bytes, size);
	assert_false(vector_save(w, "/nonexistent/vector"));
	assert_false(vector_save(w, "/dev/full"));
	vector_free(v);
	vector_free(w);
}

static void test_save(void **state)
{
	(void)state;
	check_save(true);
	check_save(false);
}

#define NAME_END 119	/* offset of the last byte of the name in a file */

/* A file that ends too early, or that is damaged, cannot be loaded as a vector. */
static void test_damaged(void **state)
{
	static const struct {
		const char *name;
		size_t at;
		char byte;
	} damages[] = {
		{ "magic", 0, 'n' }, { "version", 6, '2' }, { "end of the version", 7, '3' },
		{ "size of the model", 11, 0x7f },
		{ "number of inputs", 12, 1 }, { "size of the pool", 20, 1 },
	};
	struct vector *v = make_vector(true);
	char bytes[4096], saved;
	int files = count_files();
	size_t size;

	(void)state;
	assert_non_null(v);
	assert_true(vector_save(v, path));
	vector_free(v);
	size = read_file(bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i++) {
		assert_null(load(bytes, i));
		assert_int_equal(errno, EINVAL);
	}
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		saved = bytes[damages[i].at];
		bytes[damages[i].at] = damages[i].byte;
		if (load(bytes, size) || errno != EINVAL)
			fail_msg("%s", damages[i].name);
		bytes[damages[i].at] = saved;
	}
	/* Loading replaces the last byte of the name's field by 0. */
	bytes[NAME_END] = 'x';
	v = load(bytes, size);
	assert_non_null(v);
	assert_string_equal(v->name, NAME);
	vector_free(v);
	unlink(path);
	assert_null(vector_load(path));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(count_files(), files);
}

/* ---- comparisons ---- */

#define F32 NN_TENSOR_FLOAT32
#define F16 NN_TENSOR_FLOAT16
#define U8 NN_TENSOR_QUANT8_ASYMM
#define S8 NN_TENSOR_QUANT8_ASYMM_SIGNED
#define S16 NN_TENSOR_QUANT16_SYMM
#define U16 NN_TENSOR_QUANT16_ASYMM
#define I32 NN_TENSOR_INT32

/*
 * Each case has an expected element, a computed element, and their allowed difference: a tolerance
 * of floats, or a number of quanta.
 */
static const struct {
	int32_t type;
	float tolerance;
	uint32_t steps;
	bool relaxed;
	double right, other;		/* the expected and the computed element */
	double beside;			/* all other elements, which are computed exactly */
	bool is_equal;
} cases[] = {
	/* float32: the tolerance is relative and absolute, and grows with the largest element. */
	{ F32, 1e-5f, 1, false, 1, 1.00001, 0, true }, { F32, 1e-5f, 1, false, 1, 1.00003, 0, false },
	{ F32, 1e-5f, 1, false, 0, 0.9e-5, 0, true }, { F32, 1e-5f, 1, false, 0, 1.01e-5, 0, false },
	{ F32, 1e-5f, 1, false, 100, 100.00103, 0, true }, { F32, 1e-5f, 1, false, 100, 100.0012, 0, false },
	{ F32, 1e-5f, 1, false, 1, 1.00004, -100, true }, { F32, 1e-5f, 1, false, 1, 1.00006, -100, false },
	{ F32, 1e-3f, 1, false, 1, 1.0019, 0, true }, { F32, 1e-3f, 1, false, 1, 0.9979, 0, false },
	/*
	 * float16 and relaxed float32 have the tolerance 2e-2, or less if float16 is rounded once.
	 */
	{ F16, 1e-5f, 1, false, 1, 1.0015, 9, true }, { F16, 1e-5f, 1, false, 1, 1.0025, 9, false },
	{ F16, 1e-3f, 1, false, 1, 1.19, 9, true }, { F16, 1e-3f, 1, false, 1, 1.21, 9, false },
	{ F16, 2e-5f, 2, false, 1, 1.19, 9, true }, { F32, 2e-2f, 1, true, 1, 1.19, 9, true },
	{ F32, 1e-5f, 1, true, 1, 1.21, 9, false }, { F32, 1e-3f, 1, false, 1, 1.19, 9, false },
	/* The largest finite number of a type is accepted for infinity; no other number is. */
	{ F32, 1e-3f, 1, false, INFINITY, (double)FLT_MAX, 0, true },
	{ F32, 1e-3f, 1, false, -INFINITY, -(double)FLT_MAX, 0, true },
	{ F32, 1e-3f, 1, false, -INFINITY, (double)FLT_MAX, 0, false },
	{ F32, 1e-3f, 1, false, INFINITY, 65504, 0, false }, { F16, 1e-3f, 1, false, INFINITY, 65504, 0, true },
	{ F16, 1e-3f, 1, false, INFINITY, 65472, 1, false }, { F32, 1e-3f, 1, false, INFINITY, INFINITY, 0, true },
	{ F32, 1e-3f, 1, false, INFINITY, -INFINITY, 0, false }, { F32, 1e-3f, 1, false, INFINITY, NAN, 0, false },
	{ F32, 1e-3f, 1, false, 1, INFINITY, 0, false }, { F32, 1e-5f, 1, false, 1, 2, INFINITY, false },
	{ F32, 1e-3f, 1, false, NAN, NAN, 0, true }, { F32, 1e-3f, 1, false, NAN, 1, 0, false },
	{ F32, 1e-3f, 1, false, 1, NAN, 0, false },
	/* The type says whether a number of 8 or 16 bits is signed. */
	{ U8, 1e-3f, 2, false, 127, 129, 0, true }, { U8, 1e-3f, 2, false, 127, 130, 0, false },
	{ U8, 1e-3f, 2, false, 0, 255, 0, false }, { S8, 1e-3f, 2, false, -1, 1, 0, true },
	{ S8, 1e-3f, 2, false, -1, 2, 0, false }, { S8, 1e-3f, 2, false, -128, 127, 0, false },
	{ S16, 1e-3f, 1, false, -1, 0, 300, true }, { S16, 1e-3f, 1, false, -32768, 32767, -3, false },
	{ U16, 1e-3f, 1, false, 32767, 32768, 0, true }, { U16, 1e-3f, 1, false, 0, 65535, 0, false },
	{ I32, 1e-3f, 2, false, -5, -5, 77777, true }, { I32, 1e-3f, 2, false, 1000000, 1000001, -1, false },
	{ I32, 1e-3f, 2, false, 0, 0x1000000, -1, false },
	{ NN_TENSOR_BOOL8, 1e-3f, 2, false, 1, 1, 0, true }, { NN_TENSOR_BOOL8, 1e-3f, 2, false, 1, 0, 0, false },
};

static void store(int32_t type, void *data, uint32_t i, double number)
{
	switch (type) {
	case F32:
		((float *)data)[i] = (float)number;
		break;
	case F16:
		((uint16_t *)data)[i] = nn_float_to_fp16((float)number);
		break;
	case S16:
	case U16:
		((uint16_t *)data)[i] = (uint16_t)(int32_t)number;
		break;
	case I32:
		((int32_t *)data)[i] = (int32_t)number;
		break;
	default:
		((uint8_t *)data)[i] = (uint8_t)(int32_t)number;
	}
}

/* Checks case `i` with three elements: element `at` has the case's right and computed value. */
static void check_equals(struct vector *v, size_t i, uint32_t at)
{
	const int32_t type = cases[i].type;
	uint32_t element;
	float data[3];

	v->outputs[0].size = 3 * nn_type_info_of(type)->element_size;
	v->tolerance = cases[i].tolerance;
	v->steps = cases[i].steps;
	v->model->relaxed = cases[i].relaxed;
	for (uint32_t k = 0; k < 3; k++) {
		const double right = k == at ? cases[i].right : cases[i].beside;

		store(type, v->outputs[0].data, k, right);
		store(type, data, k, k == at ? cases[i].other : right);
	}
	if (vector_equals(v, 0, data, &element) != cases[i].is_equal || (!cases[i].is_equal && element != at))
		fail_msg("case %zu, element %u: type %d, %g and %g", i, at, (int)type, cases[i].right,
			 cases[i].other);
}

static void test_equals(void **state)
{
	struct vector *v = make_vector(true);
	const struct nn_subgraph *main;

	(void)state;
	assert_non_null(v);
	main = &v->model->subgraphs[0];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		((struct nn_operand *)main->operands)[main->outputs[0]].type = cases[i].type;
		for (uint32_t at = 0; at < 3; at++)
			check_equals(v, i, at);
	}
	vector_free(v);
}

/* ---- special and large numbers ---- */

/*
 * Returns a vector with one float32 operation on tensors of 64 elements. An activation of -1 is an
 * input of the model; `only` is true for an operation with one input.
 */
static struct vector *make_one(int32_t code, bool only, int32_t activation)
{
	static float x[64], y[64];
	uint32_t in[3], count = 0, out;
	struct model_builder b;

	for (uint32_t i = 0; i < 64; i++) {
		x[i] = (float)i - 20;
		y[i] = 3;
	}
	mb_init(&b);
	in[count++] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(64));
	if (!only) {
		in[count++] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(64));
		in[count] = activation < 0 ? mb_operand(&b, NN_INT32, NN_SUBGRAPH_INPUT, MB_NONE) :
					     mb_int32(&b, activation);
		count++;
	}
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(64));
	mb_operation(&b, code, count, in, MB_LIST(out));
	return vector_make(&b.model, (const void *const[]){ x, y, &(int32_t){ 0 } }, "one", code);
}

/*
 * NaN and infinity are only tried if the operation keeps them in its results: not with a fused
 * activation, and not in operations that compare or that round twice.
 */
static void test_special(void **state)
{
	static const struct {
		int32_t code;
		bool only;
		int32_t activation;
		bool is_tried;
	} rows[] = {
		{ NN_OP_ADD, false, 0, true }, { NN_OP_ADD, false, 1, false }, { NN_OP_ADD, false, -1, false },
		{ NN_OP_SUB, false, 0, true }, { NN_OP_SUB, false, 3, false },
		{ NN_OP_MUL, false, 0, true }, { NN_OP_MUL, false, 2, false }, { NN_OP_DIV, false, 0, false },
		{ NN_OP_RELU, true, 0, false }, { NN_OP_RELU1, true, 0, false }, { NN_OP_RELU6, true, 0, false },
		{ NN_OP_ABS, true, 0, true }, { NN_OP_FLOOR, true, 0, true }, { NN_OP_TANH, true, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vector *v = make_one(rows[i].code, rows[i].only, rows[i].activation);
		struct vector *w = v ? vector_special(v, 1) : NULL;
		uint32_t nans = 0, infinities[2] = { 0 };

		assert_non_null(v);
		if (!!w != rows[i].is_tried)
			fail_msg("row %zu", i);
		for (uint32_t k = 0; w && k < 64; k++) {
			const float real = ((const float *)w->inputs[0].data)[k];

			nans += isnan(real) != 0;
			if (isinf(real))
				infinities[signbit(real) != 0]++;
		}
		assert_true(!w || (nans && infinities[0] && infinities[1]));
		assert_true(nans + infinities[0] + infinities[1] < 32);
		vector_free(v);
		vector_free(w);
	}
}

/* Inputs are 64 times larger, except for operations in which large numbers overflow. */
static void test_large(void **state)
{
	static const int32_t codes[] = { NN_OP_ADD, NN_OP_MUL, NN_OP_ABS, NN_OP_SIN };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct vector *v = make_one(codes[i], i >= 2, 0), *w = v ? vector_large(v) : NULL;

		assert_non_null(v);
		assert_true(!!w == (i % 2 == 0));
		for (uint32_t k = 0; w && k < 64; k++) {
			const float sum = codes[i] == NN_OP_ADD ? ((float)k - 20 + 3) * 64 : fabsf((float)k - 20) * 64;

			assert_true(((const float *)w->inputs[0].data)[k] == ((float)k - 20) * 64);
			assert_true(((const float *)w->outputs[0].data)[k] == sum);
		}
		vector_free(v);
		vector_free(w);
	}
}

/*
 * The tolerance of a new vector is larger for operations that round more than once, and grows with
 * the number of operations. Relaxed models have the largest tolerance.
 */
static void test_tolerance(void **state)
{
	static const struct {
		int32_t code;
		bool only;
		float tolerance;
	} rows[] = {
		{ NN_OP_ADD, false, 1e-5f }, { NN_OP_MUL, false, 1e-5f }, { NN_OP_DIV, false, 1e-3f },
		{ NN_OP_RELU6, true, 1e-5f }, { NN_OP_FLOOR, true, 1e-5f }, { NN_OP_TANH, true, 1e-3f },
		{ NN_OP_LOGISTIC, true, 1e-3f }, { NN_OP_NEG, true, 1e-5f }, { NN_OP_EXP, true, 1e-3f },
	};
	struct vector *v, *w;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		v = make_one(rows[i].code, rows[i].only, 0);
		assert_non_null(v);
		if (v->tolerance != rows[i].tolerance || v->steps != 1)
			fail_msg("row %zu: tolerance %g, %u steps", i, (double)v->tolerance, v->steps);
		vector_free(v);
	}
	v = make_vector(false);
	assert_non_null(v);
	assert_true(v->tolerance == 2e-5f);
	assert_int_equal(v->steps, 2);
	v->model->relaxed = true;
	w = vector_vary(v, 1);
	assert_non_null(w);
	assert_true(w->tolerance == 2e-2f);
	vector_free(v);
	vector_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_save),
		heap_unit_test(test_damaged),
		heap_unit_test(test_equals),
		heap_unit_test(test_special),
		heap_unit_test(test_large),
		heap_unit_test(test_tolerance),
	};

	snprintf(path, sizeof(path), "/tmp/nnaccel-vector-%d", (int)getpid());
	return cmocka_run_group_tests_name("vectors of engine-test", tests, NULL, NULL);
}
