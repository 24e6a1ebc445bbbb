/* SPDX-License-Identifier: MIT */
/*
 * Tests operations that the compiler folds into other operations. Plans of small models must have
 * the expected number of steps, and the same results as the interpreter. The test checks the choice
 * between several kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "model_builder.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "tests/between.h"
#include "tests/heap_blocks.h"

enum {
	ADD = 0,
	AVERAGE_POOL_2D = 1,
	CONCATENATION = 2,
	CONV_2D = 3,
	DEPTHWISE_CONV_2D = 4,
	DEQUANTIZE = 6,
	FULLY_CONNECTED = 9,
	MAX_POOL_2D = 17,
	MUL = 18,
	RELU = 19,
	RELU6 = 21,
	RESHAPE = 22,
	DIV = 30,
	SUB = 36,
	PAD = 32,
	TRANSPOSE = 37,
	ABS = 38,
	GROUPED_CONV_2D = 55,
	NEG = 67,
	PAD_V2 = 69,
	QUANTIZE = 72,
	SLICE = 86,
	SPLIT = 87,
	PACK = 103,
};

#define MAX_BYTES 4096

static struct model_builder built;
static size_t arena_size;		/* size of the last plan's arena */

static uint32_t tensor(enum nn_lifetime lifetime, uint32_t rank, const uint32_t *dims)
{
	return mb_operand(&built, NN_TENSOR_FLOAT32, lifetime, rank, dims);
}

static uint32_t ints(uint32_t count, const int32_t *values, uint32_t rank, const uint32_t *dims)
{
	return mb_constant(&built, NN_TENSOR_INT32, values, count * sizeof(*values), rank, dims);
}

static uint32_t flag(bool value)
{
	return mb_constant(&built, NN_BOOL, &value, 1, MB_NONE);
}

/*
 * Compiles and executes the built model. Returns the number of steps of the model's plan, or 0 if
 * the model is interpreted.
 */
static uint32_t run(const char *kernels, float out[MAX_BYTES / sizeof(float)])
{
	const struct nn_plan_options options = { .kernels = kernels };
	const struct nn_subgraph *s = &built.subgraphs[0];
	struct nn_error err = { "" };
	struct nn_arg args[8] = { 0 };
	struct nn_plan *plan = NULL;
	uint32_t steps, size, at = 0;
	float in[MAX_BYTES / sizeof(float)];
	const long blocks = heap_blocks;
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = args,
		.outputs = args + 1,
	};

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		in[i] = (float)(i * 7 % 23) - 9;
	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	args[0] = (struct nn_arg){ .data = in, .length = sizeof(in) };
	memset(out, 0, MAX_BYTES);
	for (uint32_t i = 0; i < s->num_outputs; i++) {
		assert_true(nn_operand_size(&s->operands[s->outputs[i]], &size));
		args[1 + i] = (struct nn_arg){ .data = (char *)out + at, .length = size };
		at += size;
	}
	assert_between(at, 1, MAX_BYTES);
	if (nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	steps = plan->compiled ? plan->compiled->num_steps : 0;
	arena_size = plan->compiled ? plan->compiled->arena_size : 0;
	nn_plan_free(plan);
	assert_int_equal(heap_blocks, blocks);
	return steps;
}

static void assert_steps(uint32_t count)
{
	float right[MAX_BYTES / sizeof(float)], out[MAX_BYTES / sizeof(float)];

	assert_int_equal(run("none", right), 0);
	assert_int_equal(run(NULL, out), count);
	assert_memory_equal(out, right, sizeof(right));
}

/* ---- PAD ---- */

static int32_t fused_before = -1;	/* activation of an ADD before the PAD; -1: no ADD */

/*
 * Builds a PAD_V2 with a border of one pixel around an image of [1, 4, 4, 4], and an operation with
 * windows of 3 by 3.
 */
static void build_padded(int32_t code, float value, bool nchw, bool relu)
{
	static const float weights[36 * 4] = { 1, 2, 4, [17] = 8, [40] = 16, [71] = 32 };
	const int32_t pads[2][8] = { { 0, 0, 1, 1, 1, 1, 0, 0 }, { 0, 0, 0, 0, 1, 1, 1, 1 } };
	uint32_t *six = nchw ? (uint32_t[]){ 1, 4, 6, 6 } : (uint32_t[]){ 1, 6, 6, 4 };
	uint32_t in[12], count = 0, x, one, between, padded, out, depth = code == CONV_2D ? 4 : 2;

	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 4, 4, 4));
	between = tensor(NN_TEMPORARY, MB_DIMS(1, 4, 4, 4));
	padded = tensor(NN_TEMPORARY, 4, six);
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 4, 4, 4));
	if (fused_before < 0) {
		mb_operation(&built, relu ? RELU : NEG, MB_LIST(x), MB_LIST(between));
	} else {
		one = mb_constant(&built, NN_TENSOR_FLOAT32, weights, 4, MB_DIMS(1));
		mb_operation(&built, ADD, MB_LIST(x, one, mb_int32(&built, fused_before)),
			     MB_LIST(between));
	}
	mb_operation(&built, PAD_V2, MB_LIST(between, ints(8, pads[nchw], MB_DIMS(4, 2)),
					     mb_float32(&built, value)), MB_LIST(padded));
	in[count++] = padded;
	if (code == CONV_2D || code == GROUPED_CONV_2D) {
		in[count++] = mb_constant(&built, NN_TENSOR_FLOAT32, weights,
					  36 * depth * sizeof(*weights), MB_DIMS(4, 3, 3, depth));
		in[count++] = mb_constant(&built, NN_TENSOR_FLOAT32, weights, 16, MB_DIMS(4));
	}
	if (code == DEPTHWISE_CONV_2D || code == NN_OP_DYNAMIC_CONV_2D) {
		const bool is_dynamic = code == NN_OP_DYNAMIC_CONV_2D;

		in[count] = mb_constant(&built, is_dynamic ? NN_TENSOR_QUANT8_SYMM :
					NN_TENSOR_FLOAT32, weights, is_dynamic ? 36 : 144,
					4, is_dynamic ? (uint32_t[]){ 4, 3, 3, 1 } :
							(uint32_t[]){ 1, 3, 3, 4 });
		built.operands[0][in[count++]].scale = is_dynamic;
		in[count++] = mb_constant(&built, NN_TENSOR_FLOAT32, weights, 16, MB_DIMS(4));
	}
	in[count++] = mb_int32(&built, 2);
	in[count++] = mb_int32(&built, 1);
	in[count++] = mb_int32(&built, 1);
	if (code == GROUPED_CONV_2D)
		in[count++] = mb_int32(&built, 2);
	if (code == DEPTHWISE_CONV_2D)
		in[count++] = mb_int32(&built, 1);
	/*
	 * This DYNAMIC_CONV_2D has two more scalars than CONV_2D: the number of groups (4), and the
	 * form 0 (one scale for the whole input).
	 */
	if (code == NN_OP_DYNAMIC_CONV_2D) {
		in[count++] = mb_int32(&built, 4);
		in[count++] = mb_int32(&built, 0);
	}
	if (code == MAX_POOL_2D || code == AVERAGE_POOL_2D) {
		in[count++] = mb_int32(&built, 3);
		in[count++] = mb_int32(&built, 3);
	}
	in[count++] = mb_int32(&built, 0);
	in[count++] = flag(nchw);
	mb_operation(&built, code, count, in, MB_LIST(out));
}

static void test_pad_into_convolution(void **state)
{
	(void)state;
	build_padded(CONV_2D, 0, false, false);
	assert_steps(2);
	/* The plan's arena is too small for a padded image of 576 bytes, so the PAD was folded. */
	assert_between(arena_size, 4 * 4 * 4 * sizeof(float), 575);
	build_padded(GROUPED_CONV_2D, 0, false, false);
	assert_steps(2);
	build_padded(DEPTHWISE_CONV_2D, 0, false, false);
	assert_steps(2);
	/*
	 * A border of zeros does not change the image's range, so the image can be quantised
	 * without the border.
	 */
	build_padded(NN_OP_DYNAMIC_CONV_2D, 0, false, false);
	assert_steps(2);
	build_padded(CONV_2D, 1, false, false);
	assert_steps(3);
}

static void test_pad_into_pool(void **state)
{
	(void)state;
	build_padded(MAX_POOL_2D, 0, false, true);
	assert_steps(2);
	build_padded(MAX_POOL_2D, -1, false, true);
	assert_steps(2);
	/*
	 * The compiler does not fold the PAD if the padding value can be a window's maximum, or is
	 * a term of an average.
	 */
	build_padded(MAX_POOL_2D, 1, false, true);
	assert_steps(3);
	build_padded(MAX_POOL_2D, 0, false, false);
	assert_steps(3);
	build_padded(AVERAGE_POOL_2D, 0, false, true);
	assert_steps(3);
}

/*
 * A PAD after RELU or RELU6 can be folded into a MAX_POOL_2D, because no pixel is less than the
 * border's zeros.
 */
static void test_pad_behind_fused(void **state)
{
	(void)state;
	for (fused_before = 0; fused_before <= 3; fused_before++) {
		build_padded(MAX_POOL_2D, 0, false, false);
		assert_steps(fused_before == 1 || fused_before == 3 ? 2 : 3);
	}
	fused_before = -1;
}

/* ---- NCHW ---- */

/* The plan's four steps are TRANSPOSE, the convolution with its border, TRANSPOSE back, and NEG. */
static void test_nchw_padded(void **state)
{
	(void)state;
	build_padded(CONV_2D, 0, true, false);
	assert_steps(4);
	build_padded(GROUPED_CONV_2D, 0, true, false);
	assert_steps(4);
	build_padded(DEPTHWISE_CONV_2D, 0, true, false);
	assert_steps(4);
	build_padded(NN_OP_DYNAMIC_CONV_2D, 0, true, false);
	assert_steps(4);
	build_padded(MAX_POOL_2D, 0, true, true);
	assert_steps(4);
}

/* Images stay in NHWC from the first to the last operation that supports NHWC. */
static void test_nchw_chain(void **state)
{
	uint32_t x, list[4], joined, out, none, one, yes;

	(void)state;
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 4, 5));
	for (uint32_t i = 0; i < 4; i++)
		list[i] = tensor(NN_TEMPORARY, MB_DIMS(1, 3, 4, 5));
	joined = tensor(NN_TEMPORARY, MB_DIMS(1, 6, 4, 5));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 6, 4, 5));
	none = mb_int32(&built, 0);
	one = mb_int32(&built, 1);
	yes = flag(true);
	for (uint32_t i = 0; i < 2; i++) {
		mb_operation(&built, MAX_POOL_2D, MB_LIST(i ? list[1] : x, one, one, one,
							  mb_int32(&built, 3), one, none, yes),
			     MB_LIST(list[2 * i]));
		if (!i)
			mb_operation(&built, NEG, MB_LIST(list[0]), MB_LIST(list[1]));
	}
	mb_operation(&built, ADD, MB_LIST(list[1], list[2], none), MB_LIST(list[3]));
	mb_operation(&built, CONCATENATION, MB_LIST(list[3], list[2], one), MB_LIST(joined));
	mb_operation(&built, ABS, MB_LIST(joined), MB_LIST(out));
	assert_steps(8);
}

/* Adds a pooling of an NCHW image with windows of one row by three pixels. */
static void add_pool(uint32_t x, uint32_t out)
{
	uint32_t one = mb_int32(&built, 1);

	mb_operation(&built, MAX_POOL_2D, MB_LIST(x, one, one, one, mb_int32(&built, 3), one,
						  mb_int32(&built, 0), flag(true)), MB_LIST(out));
}

static void test_nchw_channels(void **state)
{
	uint32_t x, pooled, product, sum, sliced, out, none, numbers, one;

	(void)state;
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 4, 5));
	pooled = tensor(NN_TEMPORARY, MB_DIMS(1, 3, 4, 5));
	product = tensor(NN_TEMPORARY, MB_DIMS(1, 3, 4, 5));
	sum = tensor(NN_TEMPORARY, MB_DIMS(1, 3, 4, 5));
	sliced = tensor(NN_TEMPORARY, MB_DIMS(1, 2, 4, 5));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 2, 4, 5));
	none = mb_int32(&built, 0);
	numbers = mb_constant(&built, NN_TENSOR_FLOAT32, ((float[]){ 2, -3, 5 }), 12,
			      MB_DIMS(3, 1, 1));
	one = mb_constant(&built, NN_TENSOR_FLOAT32, &(float){ 7 }, 4, MB_DIMS(1));
	add_pool(x, pooled);
	mb_operation(&built, MUL, MB_LIST(numbers, pooled, none), MB_LIST(product));
	mb_operation(&built, ADD, MB_LIST(product, one, none), MB_LIST(sum));
	mb_operation(&built, SLICE, MB_LIST(sum, ints(4, ((int32_t[]){ 0, 1, 0, 0 }), MB_DIMS(4)),
					    ints(4, ((int32_t[]){ 1, 2, 4, 5 }), MB_DIMS(4))),
		     MB_LIST(sliced));
	add_pool(sliced, out);
	assert_steps(7);
}

/*
 * Tests an NCHW slice whose constant bounds have too few elements; the memory after the bounds
 * cannot be accessed.
 */
static void test_nchw_short_slice(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static float in[60], result[60];
	struct nn_error err = { "" };
	struct nn_arg args[2] = {
		{ .data = in, .length = sizeof(in) }, { .data = result, .length = sizeof(result) },
	};
	struct nn_execution e = {
		.num_inputs = 1, .num_outputs = 1, .inputs = args, .outputs = args + 1,
	};
	uint32_t x, pooled, sliced, out, bounds;
	struct nn_plan *plan = NULL;
	char *pool;

	(void)state;
	pool = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pool, MAP_FAILED);
	assert_int_equal(mprotect(pool + page, page, PROT_NONE), 0);
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 3, 4, 5));
	pooled = tensor(NN_TEMPORARY, MB_DIMS(1, 3, 4, 5));
	sliced = tensor(NN_TEMPORARY, MB_DIMS(1, 2, 4, 5));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 2, 4, 5));
	built.pools[0] = (struct nn_pool){ pool, page };
	built.model.num_pools = 1;
	bounds = mb_reference(&built, NN_TENSOR_INT32, 0, page - 4, 4, MB_DIMS(1));
	add_pool(x, pooled);
	mb_operation(&built, SLICE, MB_LIST(pooled, bounds, bounds), MB_LIST(sliced));
	add_pool(sliced, out);
	assert_false(nn_model_check(&built.model, &err));
	assert_false(nn_ops_check_model(&built.model, NULL, &err));
	/* SLICE rejects bounds with too few elements when SLICE computes the output's shape. */
	if (!nn_plan_create(&built.model, &(struct nn_plan_options){ 0 }, &plan, &err))
		assert_true(nn_plan_execute(plan, &e, &err));
	assert_non_null(strstr(err.message, "must have 4 entries"));
	nn_plan_free(plan);
	munmap(pool, 2 * page);
}

/*
 * Builds two NCHW poolings and, between them, a shuffle of channels from [2, 3] to [3, 2]. The plan
 * of a shuffle must not transpose images.
 */
static void build_shuffle(uint32_t rank, const uint32_t *dims, const int32_t *order, bool read)
{
	uint32_t transposed[4], x, list[4], out, more;
	int32_t shape[4];

	mb_init(&built);
	for (uint32_t i = 0; i < rank; i++)
		transposed[i] = dims[order[i]];
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 6, 4, 5));
	list[0] = tensor(NN_TEMPORARY, MB_DIMS(1, 6, 4, 5));
	list[1] = tensor(NN_TEMPORARY, rank, dims);
	list[2] = tensor(NN_TEMPORARY, rank, transposed);
	list[3] = tensor(NN_TEMPORARY, MB_DIMS(1, 6, 4, 5));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 6, 4, 5));
	add_pool(x, list[0]);
	for (uint32_t i = 0; i < rank; i++)
		shape[i] = (int32_t)dims[i];
	mb_operation(&built, RESHAPE, MB_LIST(list[0], ints(rank, shape, MB_DIMS(rank))),
		     MB_LIST(list[1]));
	mb_operation(&built, TRANSPOSE, MB_LIST(list[1], ints(rank, order, MB_DIMS(rank))),
		     MB_LIST(list[2]));
	mb_operation(&built, RESHAPE, MB_LIST(list[2], ints(4, ((int32_t[]){ 1, 6, 4, 5 }),
							    MB_DIMS(4))), MB_LIST(list[3]));
	add_pool(list[3], out);
	if (!read)
		return;
	more = tensor(NN_SUBGRAPH_OUTPUT, rank, transposed);
	mb_operation(&built, ABS, MB_LIST(list[2]), MB_LIST(more));
}

static void test_nchw_shuffle(void **state)
{
	(void)state;
	build_shuffle(MB_DIMS(2, 3, 20), (int32_t[]){ 1, 0, 2 }, false);
	assert_steps(5);
	build_shuffle(MB_DIMS(1, 2, 3, 20), (int32_t[]){ 0, 2, 1, 3 }, false);
	assert_steps(5);
	/*
	 * Shuffles are not folded if they also move rows or columns, or if another operation reads
	 * the intermediate value.
	 */
	build_shuffle(MB_DIMS(2, 3, 20), (int32_t[]){ 0, 2, 1 }, false);
	assert_steps(7);
	build_shuffle(MB_DIMS(6, 4, 5), (int32_t[]){ 1, 0, 2 }, false);
	assert_steps(7);
	build_shuffle(MB_DIMS(2, 3, 20), (int32_t[]){ 1, 0, 2 }, true);
	assert_steps(8);
}

/* ---- Activations ---- */

/*
 * Builds an operation that can have a fused activation, and an activation of the operation's
 * result.
 */
static void build_activated(int32_t code, int32_t activation)
{
	static const float numbers[] = { 2, -1, 4, 1, 1, -3 };
	uint32_t x, y, out, in[5], count = 0;

	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(2, 2));
	y = tensor(NN_TEMPORARY, MB_DIMS(2, 2));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 2));
	in[count++] = x;
	if (code == NN_OP_DYNAMIC_FULLY_CONNECTED) {
		in[count] = mb_constant(&built, NN_TENSOR_QUANT8_SYMM, numbers, 4, MB_DIMS(2, 2));
		built.operands[0][in[count++]].scale = 0.5f;
	} else {
		in[count++] = mb_constant(&built, NN_TENSOR_FLOAT32, numbers, 16, MB_DIMS(2, 2));
	}
	if (code == FULLY_CONNECTED || code == NN_OP_DYNAMIC_FULLY_CONNECTED)
		in[count++] = mb_constant(&built, NN_TENSOR_FLOAT32, numbers + 4, 8, MB_DIMS(2));
	in[count++] = mb_int32(&built, 0);
	if (code == NN_OP_DYNAMIC_FULLY_CONNECTED)
		in[count++] = mb_int32(&built, 1);
	mb_operation(&built, code, count, in, MB_LIST(y));
	mb_operation(&built, activation, MB_LIST(y), MB_LIST(out));
}

static void test_activation_after(void **state)
{
	static const int32_t codes[] = {
		ADD, SUB, MUL, DIV, FULLY_CONNECTED, NN_OP_DYNAMIC_FULLY_CONNECTED,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		for (int32_t activation = RELU; activation <= RELU6; activation++) {
			build_activated(codes[i], activation);
			assert_steps(1);
		}
	build_activated(ADD, NEG);
	assert_steps(2);
}

/*
 * Builds a sum of constants, a sum of the input and constants, and a RELU of the first sum. The
 * RELU's input is computed when the plan is compiled, so no step of the plan writes it.
 */
static void test_activation_of_constants(void **state)
{
	static const float numbers[4] = { -1, 2, -3, 4 };
	uint32_t x, some, sum, outs[2];

	(void)state;
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(4));
	some = mb_constant(&built, NN_TENSOR_FLOAT32, numbers, sizeof(numbers), MB_DIMS(4));
	sum = tensor(NN_TEMPORARY, MB_DIMS(4));
	for (uint32_t i = 0; i < 2; i++)
		outs[i] = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&built, ADD, MB_LIST(some, some, mb_int32(&built, 0)), MB_LIST(sum));
	mb_operation(&built, ADD, MB_LIST(x, some, mb_int32(&built, 0)), MB_LIST(outs[0]));
	mb_operation(&built, RELU, MB_LIST(sum), MB_LIST(outs[1]));
	assert_steps(2);
}

/* ---- TRANSPOSE ---- */

/*
 * Transposes fp32 and int8 matrices of three or four columns, with more rows than a vector register
 * holds.
 */
static void test_few_columns(void **state)
{
	(void)state;
	for (uint32_t columns = 3; columns < 5; columns++)
		for (uint32_t bytes = 0; bytes < 2; bytes++) {
			const int32_t type = bytes ? NN_TENSOR_QUANT8_ASYMM : NN_TENSOR_FLOAT32;
			const int32_t order[] = { 0, 2, 1 };
			uint32_t x, before, after, out;

			mb_init(&built);
			x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(2, columns, 37));
			before = mb_operand(&built, type, NN_TEMPORARY, MB_DIMS(2, columns, 37));
			after = mb_operand(&built, type, NN_TEMPORARY, MB_DIMS(2, 37, columns));
			out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 37, columns));
			if (bytes) {
				built.operands[0][before].scale = built.operands[0][after].scale = 1;
				built.operands[0][before].zero_point = 9;
				built.operands[0][after].zero_point = 9;
			}
			mb_operation(&built, bytes ? QUANTIZE : NEG, MB_LIST(x), MB_LIST(before));
			mb_operation(&built, TRANSPOSE, MB_LIST(before,
								ints(3, order, MB_DIMS(3))),
				     MB_LIST(after));
			mb_operation(&built, bytes ? DEQUANTIZE : NEG, MB_LIST(after),
				     MB_LIST(out));
			assert_steps(3);
		}
}

/*
 * Builds a model of NEG, two TRANSPOSE operations and ABS. If `read_twice` is true, another
 * operation also reads the value between the TRANSPOSE operations.
 */
static void build_transposes(const int32_t *first, const uint32_t *between, const int32_t *second,
			     bool read_twice)
{
	uint32_t x, list[5];

	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(2, 3, 4));
	list[0] = tensor(NN_TEMPORARY, MB_DIMS(2, 3, 4));
	list[1] = tensor(NN_TEMPORARY, 3, between);
	list[2] = tensor(NN_TEMPORARY, MB_DIMS(2, 3, 4));
	list[3] = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 3, 4));
	mb_operation(&built, NEG, MB_LIST(x), MB_LIST(list[0]));
	mb_operation(&built, TRANSPOSE, MB_LIST(list[0], ints(3, first, MB_DIMS(3))),
		     MB_LIST(list[1]));
	mb_operation(&built, TRANSPOSE, MB_LIST(list[1], ints(3, second, MB_DIMS(3))),
		     MB_LIST(list[2]));
	mb_operation(&built, ABS, MB_LIST(list[2]), MB_LIST(list[3]));
	if (!read_twice)
		return;
	list[4] = tensor(NN_SUBGRAPH_OUTPUT, 3, between);
	mb_operation(&built, ABS, MB_LIST(list[1]), MB_LIST(list[4]));
}

static void test_transpose_pair(void **state)
{
	(void)state;
	build_transposes((int32_t[]){ 1, 2, 0 }, (uint32_t[]){ 3, 4, 2 }, (int32_t[]){ 2, 0, 1 },
			 false);
	assert_steps(2);
	build_transposes((int32_t[]){ 0, 2, 1 }, (uint32_t[]){ 2, 4, 3 }, (int32_t[]){ 0, 2, 1 },
			 false);
	assert_steps(2);
}

/*
 * The compiler does not join two TRANSPOSE operations if another operation reads the first
 * TRANSPOSE's result. A TRANSPOSE that moves only axes of one element needs no step.
 */
static void test_transpose_alone(void **state)
{
	uint32_t x, y, out;

	(void)state;
	build_transposes((int32_t[]){ 1, 2, 0 }, (uint32_t[]){ 3, 4, 2 }, (int32_t[]){ 2, 0, 1 },
			 true);
	assert_steps(4);
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 5, 1, 6));
	y = tensor(NN_TEMPORARY, MB_DIMS(5, 6, 1, 1));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(5, 6, 1, 1));
	mb_operation(&built, TRANSPOSE, MB_LIST(x, ints(4, (int32_t[]){ 1, 3, 0, 2 }, MB_DIMS(4))),
		     MB_LIST(y));
	mb_operation(&built, ABS, MB_LIST(y), MB_LIST(out));
	assert_steps(1);
}

/* ---- Memory that is shared ---- */

/* A RESHAPE that reads a model's input or writes a model's output needs no step. */
static void test_reshape_of_arguments(void **state)
{
	uint32_t x, list[2], out;

	(void)state;
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(2, 3));
	list[0] = tensor(NN_TEMPORARY, MB_DIMS(6));
	list[1] = tensor(NN_TEMPORARY, MB_DIMS(6));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(3, 2));
	mb_operation(&built, RESHAPE, MB_LIST(x, ints(1, (int32_t[]){ 6 }, MB_DIMS(1))),
		     MB_LIST(list[0]));
	mb_operation(&built, ABS, MB_LIST(list[0]), MB_LIST(list[1]));
	mb_operation(&built, RESHAPE, MB_LIST(list[1], ints(2, (int32_t[]){ 3, 2 }, MB_DIMS(2))),
		     MB_LIST(out));
	assert_steps(1);
}

/*
 * If an operation's result is two outputs of the model, one step writes the first output, and
 * another step copies it to the second output.
 */
static void test_reshape_to_two_outputs(void **state)
{
	uint32_t x, y, out;

	(void)state;
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(6));
	y = tensor(NN_TEMPORARY, MB_DIMS(6));
	mb_operation(&built, ABS, MB_LIST(x), MB_LIST(y));
	for (int32_t i = 0; i < 2; i++) {
		out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(3, 2));
		mb_operation(&built, RESHAPE, MB_LIST(y, ints(2, (int32_t[]){ 3, 2 }, MB_DIMS(2))),
			     MB_LIST(out));
	}
	assert_steps(2);
}

/*
 * Builds NEG and ABS of the input, and a CONCATENATION of the results along axis 1 or a PACK along
 * a new axis.
 */
static uint32_t build_join(int32_t code, uint32_t batch, enum nn_lifetime lifetime)
{
	uint32_t x, parts[2], joined;

	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(batch, 3, 4));
	for (uint32_t i = 0; i < 2; i++)
		parts[i] = tensor(NN_TEMPORARY, MB_DIMS(batch, 3, 4));
	joined = code == PACK ? tensor(lifetime, MB_DIMS(2, batch, 3, 4)) :
				tensor(lifetime, MB_DIMS(batch, 6, 4));
	mb_operation(&built, NEG, MB_LIST(x), MB_LIST(parts[0]));
	mb_operation(&built, ABS, MB_LIST(x), MB_LIST(parts[1]));
	if (code == PACK)
		mb_operation(&built, PACK, MB_LIST(mb_int32(&built, 0), parts[0], parts[1]),
			     MB_LIST(joined));
	else
		mb_operation(&built, CONCATENATION, MB_LIST(parts[0], parts[1],
							    mb_int32(&built, 1)), MB_LIST(joined));
	return joined;
}

static void test_join(void **state)
{
	uint32_t joined, out;

	(void)state;
	build_join(CONCATENATION, 1, NN_SUBGRAPH_OUTPUT);
	assert_steps(2);
	build_join(PACK, 2, NN_SUBGRAPH_OUTPUT);
	assert_steps(2);
	build_join(CONCATENATION, 2, NN_SUBGRAPH_OUTPUT);
	assert_steps(3);
	/* The CONCATENATION's output is itself a part of a larger operand in the arena. */
	joined = build_join(CONCATENATION, 1, NN_TEMPORARY);
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(2, 6, 4));
	mb_operation(&built, CONCATENATION, MB_LIST(joined, joined, mb_int32(&built, 0)),
		     MB_LIST(out));
	assert_steps(3);
}

/* The results of a random operation differ in each execution, so the operation remains a step. */
static void test_random(void **state)
{
	static const float logits[4];
	static const int32_t seeds[] = { 37, 42 };
	uint32_t x, drawn, floats, out;

	(void)state;
	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(4));
	drawn = mb_operand(&built, NN_TENSOR_INT32, NN_TEMPORARY, MB_DIMS(1, 64));
	floats = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 64));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&built, NN_OP_RANDOM_MULTINOMIAL,
		     MB_LIST(mb_constant(&built, NN_TENSOR_FLOAT32, logits, sizeof(logits), MB_DIMS(1, 4)),
			     mb_int32(&built, 64), ints(2, seeds, MB_DIMS(2))), MB_LIST(drawn));
	mb_operation(&built, NN_OP_CAST, MB_LIST(drawn), MB_LIST(floats));
	mb_operation(&built, ABS, MB_LIST(x), MB_LIST(out));
	assert_steps(3);
}

/* Builds a SPLIT of the input, and then NEG of one part and ABS of the other part. */
static void build_split(uint32_t batch, enum nn_lifetime lifetime)
{
	uint32_t x, parts[2], outs[2];

	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(batch, 6, 4));
	for (uint32_t i = 0; i < 2; i++) {
		parts[i] = tensor(i ? lifetime : NN_TEMPORARY, MB_DIMS(batch, 3, 4));
		outs[i] = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(batch, 3, 4));
	}
	mb_operation(&built, SPLIT, MB_LIST(x, mb_int32(&built, -2), mb_int32(&built, 2)),
		     MB_LIST(parts[0], parts[1]));
	mb_operation(&built, NEG, MB_LIST(parts[0]), MB_LIST(outs[0]));
	mb_operation(&built, ABS, MB_LIST(parts[1]), MB_LIST(outs[1]));
}

static void test_split(void **state)
{
	(void)state;
	build_split(1, NN_TEMPORARY);
	assert_steps(2);
	build_split(2, NN_TEMPORARY);
	assert_steps(3);
	build_split(1, NN_SUBGRAPH_OUTPUT);
	assert_steps(3);
}

/* ---- Which kernel ---- */

/*
 * Compiles the built model with the set `kernels` of kernels, or with the default set if `kernels`
 * is NULL. Returns the name of the kernel of the first step.
 */
static const char *kernel_of_first(const char *kernels)
{
	const struct nn_plan_options options = { .kernels = kernels };
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;
	const char *name;

	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	assert_non_null(plan->compiled);
	name = plan->compiled->steps[0].ready.kernel ? plan->compiled->steps[0].ready.kernel->name :
						       "reference";
	nn_plan_free(plan);
	return name;
}

/* Returns the name of the kernel for a depthwise convolution of 4 channels. */
static const char *depthwise_kernel(uint32_t multiplier)
{
	static const float weights[9 * 4 * 8];
	uint32_t x, out, one, outputs = 4 * multiplier;

	mb_init(&built);
	x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1, 6, 6, 4));
	out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 6, 6, outputs));
	one = mb_int32(&built, 1);
	built.pools[0] = (struct nn_pool){ weights, sizeof(weights) };
	built.model.num_pools = 1;
	mb_operation(&built, DEPTHWISE_CONV_2D,
		     MB_LIST(x, mb_reference(&built, NN_TENSOR_FLOAT32, 0, 0, 36 * outputs,
					     MB_DIMS(1, 3, 3, outputs)),
			     mb_reference(&built, NN_TENSOR_FLOAT32, 0, 0, 4 * outputs,
					  MB_DIMS(outputs)), one, one, one,
			     mb_int32(&built, (int32_t)multiplier), mb_int32(&built, 0)),
		     MB_LIST(out));
	return kernel_of_first(NULL);
}

static void test_depthwise_kernels(void **state)
{
	(void)state;
	assert_string_equal(depthwise_kernel(1), "depthwise convolution");
	assert_string_equal(depthwise_kernel(2), "reference");
	assert_string_equal(depthwise_kernel(8), "convolution in parts");
}

/* Returns the name of the kernel for a FULLY_CONNECTED of one uint8 with a bias. */
static const char *quant8_kernel(int32_t bias)
{
	const uint8_t weight = 1;
	uint32_t in[4], out;

	mb_init(&built);
	in[0] = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, 1));
	in[1] = mb_constant(&built, NN_TENSOR_QUANT8_ASYMM, &weight, sizeof(weight), MB_DIMS(1, 1));
	in[2] = ints(1, &bias, MB_DIMS(1));
	in[3] = mb_int32(&built, 0);
	out = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 1));
	built.operands[0][in[0]].scale = built.operands[0][in[1]].scale = 0.5f;
	built.operands[0][in[2]].scale = 0.25f;
	built.operands[0][out].scale = 1;
	mb_operation(&built, FULLY_CONNECTED, 4, in, MB_LIST(out));
	return kernel_of_first(NULL);
}

/*
 * Kernels other than the reference kernel compute sums in 32 bits. If a sum may exceed 32 bits, the
 * reference kernel computes the sum.
 */
static void test_quant8_kernels(void **state)
{
	(void)state;
	assert_string_equal(quant8_kernel(1000000000), "fully connected");
	assert_string_equal(quant8_kernel(-1000000000), "fully connected");
	assert_string_equal(quant8_kernel(INT32_MAX), "reference");
	assert_string_equal(quant8_kernel(INT32_MIN), "reference");
}

/* Returns the name of the kernel for a DEPTHWISE_CONV_2D of uint8 with 40 channels. */
static const char *quant8_depthwise_kernel(const char *kernels, int32_t last_bias)
{
	static const uint8_t weights[9 * 40];
	const int32_t biases[40] = { [39] = last_bias };
	uint32_t x, filter, bias, out, one;

	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, 6, 6, 40));
	filter = mb_constant(&built, NN_TENSOR_QUANT8_ASYMM, weights, sizeof(weights),
			     MB_DIMS(1, 3, 3, 40));
	bias = ints(40, biases, MB_DIMS(40));
	out = mb_operand(&built, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 6, 6, 40));
	one = mb_int32(&built, 1);
	built.operands[0][x].scale = built.operands[0][filter].scale = 0.5f;
	built.operands[0][bias].scale = 0.25f;
	built.operands[0][out].scale = 1;
	mb_operation(&built, DEPTHWISE_CONV_2D,
		     MB_LIST(x, filter, bias, one, one, one, one, mb_int32(&built, 0)), MB_LIST(out));
	return kernel_of_first(kernels);
}

/*
 * Each set of kernels packs the weights of a uint8 depthwise convolution. If a sum of any channel may
 * exceed 32 bits, the reference code computes the convolution.
 */
static void test_quant8_depthwise_kernels(void **state)
{
	const char *kernels;

	(void)state;
	for (uint32_t i = 0; (kernels = nn_plan_kernels_at(i)); i++) {
		if (strcmp(quant8_depthwise_kernel(kernels, 0), "depthwise convolution"))
			fail_msg("%s does not pack the weights", kernels);
		if (strcmp(quant8_depthwise_kernel(kernels, INT32_MAX), "reference"))
			fail_msg("%s packs a bias that is too large", kernels);
	}
}

/* The compiler computes an operation on constants in advance, unless the deadline has passed. */
static void test_deadline(void **state)
{
	static const uint64_t deadlines_ns[] = { 1, UINT64_MAX, 0 };
	const float two = 2;

	(void)state;
	for (size_t i = 0; i < sizeof(deadlines_ns) / sizeof(deadlines_ns[0]); i++) {
		const struct nn_plan_options options = { .deadline_ns = deadlines_ns[i] };
		struct nn_error err = { "" };
		struct nn_plan *plan = NULL;
		uint32_t x, y, out;

		mb_init(&built);
		x = tensor(NN_SUBGRAPH_INPUT, MB_DIMS(1));
		y = tensor(NN_TEMPORARY, MB_DIMS(1));
		out = tensor(NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
		mb_operation(&built, NEG, MB_LIST(mb_constant(&built, NN_TENSOR_FLOAT32, &two, sizeof(two),
							      MB_DIMS(1))), MB_LIST(y));
		mb_operation(&built, MUL, MB_LIST(x, y, mb_int32(&built, 0)), MB_LIST(out));
		assert_int_equal(nn_model_check(&built.model, &err), NN_OK);
		assert_int_equal(plan_create(&built.model, &options, &plan, &err), NN_OK);
		plan->compiled = compiled_create(plan, nn_isa_find(NULL), 1, NULL);
		assert_int_equal(plan->compiled ? plan->compiled->num_steps : 0, deadlines_ns[i] == 1 ? 0 : 1);
		nn_plan_free(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pad_into_convolution),
		cmocka_unit_test(test_pad_into_pool),
		cmocka_unit_test(test_pad_behind_fused),
		cmocka_unit_test(test_nchw_padded),
		cmocka_unit_test(test_few_columns),
		cmocka_unit_test(test_nchw_chain),
		cmocka_unit_test(test_nchw_channels),
		cmocka_unit_test(test_nchw_short_slice),
		cmocka_unit_test(test_nchw_shuffle),
		cmocka_unit_test(test_activation_after),
		cmocka_unit_test(test_activation_of_constants),
		cmocka_unit_test(test_transpose_pair),
		cmocka_unit_test(test_transpose_alone),
		cmocka_unit_test(test_reshape_of_arguments),
		cmocka_unit_test(test_reshape_to_two_outputs),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_depthwise_kernels),
		cmocka_unit_test(test_quant8_kernels),
		cmocka_unit_test(test_quant8_depthwise_kernels),
		cmocka_unit_test(test_deadline),
	};

	return cmocka_run_group_tests_name("plan_fold", tests, NULL, NULL);
}
