/* SPDX-License-Identifier: MIT */
/*
 * Tests that an execution of a plan allocates, maps and frees no memory and takes no lock. The
 * linker replaces the functions that allocate, map, free and lock by wrappers in this file, which
 * count the calls.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "model_samples.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "plan/run/sections.h"

enum {
	CONV_2D = 3,
	FULLY_CONNECTED = 9,
	RELU = 19,
	RESHAPE = 22,
	RESIZE_BILINEAR = 23,
	GATHER = 51,
	TOPK_V2 = 90,
};

static atomic_uint calls;

#define COUNTED(type, name, params, args)		\
	type __real_##name params;			\
	type __wrap_##name params;			\
	type __wrap_##name params			\
	{						\
		atomic_fetch_add(&calls, 1);		\
		return __real_##name args;		\
	}

COUNTED(void *, malloc, (size_t size), (size))
COUNTED(void *, calloc, (size_t count, size_t size), (count, size))
COUNTED(void *, realloc, (void *memory, size_t size), (memory, size))
COUNTED(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
COUNTED(void, free, (void *memory), (memory))
COUNTED(int, pthread_mutex_lock, (pthread_mutex_t *mutex), (mutex))

static atomic_size_t mapped;	/* number of bytes that are mapped and not unmapped */

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *got = __real_mmap(at, size, prot, flags, fd, offset);

	atomic_fetch_add(&calls, 1);
	atomic_fetch_add(&mapped, got == MAP_FAILED ? 0 : size);
	return got;
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
	atomic_fetch_add(&calls, 1);
	atomic_fetch_sub(&mapped, size);
	return __real_munmap(at, size);
}

static struct model_builder built;

/* The shape of the arguments; if `rank` is 0, the arguments have the model's shape. */
static uint32_t rank, dims[4];

/*
 * The number of input shapes that executions use in turn. From each shape to the next, the first
 * dimension decreases by 8.
 */
static uint32_t shapes_in_turn = 1;

#define MAX_BYTES 65536

/*
 * Executes the built model many times; returns the number of calls that are counted after the first
 * execution of each shape. If `kernels` is "none", the executions interpret the plan.
 */
static uint32_t count_calls(uint32_t preference, const char *kernels)
{
	static _Alignas(64) char in[3][MAX_BYTES], out[2][MAX_BYTES];
	const struct nn_plan_options options = { .preference = preference, .kernels = kernels };
	const size_t mapped_before = atomic_load(&mapped);
	const struct nn_subgraph *s = &built.subgraphs[0];
	struct nn_output_shape shapes[2];
	struct nn_arg inputs[3], outputs[2];
	struct nn_error err = { "" };
	struct nn_plan_memory memory;
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = inputs,
		.outputs = outputs,
		.shapes = shapes,
	};
	struct nn_plan *plan = NULL;
	uint32_t before = 0;

	/* Loops' limit. */
	memcpy(in[2], &(float){ 5 }, sizeof(float));
	for (uint32_t i = 0; i < 3; i++) {
		inputs[i] = (struct nn_arg){ .data = in[i], .length = MAX_BYTES, .rank = rank };
		memcpy(inputs[i].dims, dims, rank * sizeof(*dims));
	}
	for (uint32_t i = 0; i < 2; i++)
		outputs[i] = (struct nn_arg){ .data = out[i], .length = MAX_BYTES };
	if (nn_model_check(&built.model, &err) || nn_ops_check_model(&built.model, NULL, &err) ||
	    nn_plan_create(&built.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	assert_int_equal(plan->compiled || plan->sections, !kernels);
	/* The test's executions include the executions in which a plan tunes itself. */
	for (uint32_t i = 0; i < NN_PLAN_HOT + NN_PLAN_TUNING + 20; i++) {
		if (i == shapes_in_turn)
			before = atomic_load(&calls);
		if (rank)
			inputs[0].dims[0] = dims[0] - 8 * (i % shapes_in_turn);
		if (nn_plan_execute(plan, &e, &err))
			fail_msg("%s", err.message);
	}
	before = atomic_load(&calls) - before;
	assert_true(kernels || plan->compiled || sections_made(plan));
	/* After an execution the plan keeps the execution's memory for the next execution. */
	if (plan->compiled) {
		compiled_memory(plan->compiled, &memory);
		assert_int_equal(compiled_cached(plan->compiled), memory.execution);
	}
	nn_plan_free(plan);
	assert_int_equal(atomic_load(&mapped), mapped_before);
	return before;
}

static void assert_no_calls(void)
{
	for (uint32_t preference = 0; preference < 3; preference++)
		assert_int_equal(count_calls(preference, NULL), 0);
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(count_calls(0, "none"), 0);
#endif
}

/* Making a plan allocates memory, so the test can check that the wrappers count calls. */
static void test_counting(void **state)
{
	uint32_t before = atomic_load(&calls), x, y;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&built, RELU, MB_LIST(x), MB_LIST(y));
	assert_no_calls();
	assert_true(atomic_load(&calls) > before);
}

/* Tests a convolution that copies its windows to scratch memory, on several threads. */
static void test_kernels(void **state)
{
	static const float weights[8 * 9 * 2];
	uint32_t x, y, out, one;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, 40, 40, 2));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(1, 40, 40, 8));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1600, 8));
	one = mb_int32(&built, 1);
	mb_operation(&built, CONV_2D,
		     MB_LIST(x, mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights),
					    MB_DIMS(8, 3, 3, 2)),
			     mb_constant(&built, NN_TENSOR_FLOAT32, weights, 32, MB_DIMS(8)), one,
			     one, one, mb_int32(&built, 0)), MB_LIST(y));
	mb_operation(&built, RESHAPE,
		     MB_LIST(y, mb_constant(&built, NN_TENSOR_INT32, (int32_t[]){ 1600, 8 }, 8,
					    MB_DIMS(2))), MB_LIST(out));
	assert_no_calls();
}

/*
 * Tests weights that are inputs of the model, so that threads pack the weights in each execution.
 */
static void test_dynamic_weights(void **state)
{
	uint32_t x, weights, bias, y, out;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(60, 80));
	weights = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(130, 80));
	bias = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(130));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(60, 130));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(60, 130));
	mb_operation(&built, FULLY_CONNECTED, MB_LIST(x, weights, bias, mb_int32(&built, 0)),
		     MB_LIST(y));
	mb_operation(&built, RELU, MB_LIST(y), MB_LIST(out));
	assert_no_calls();
}

/* Tests reference kernels that need scratch memory, and indices that are inputs of the model. */
static void test_reference_kernels(void **state)
{
	uint32_t x, indices, y, values, places;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(10, 20));
	indices = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(6));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(6, 20));
	values = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(6, 5));
	places = mb_operand(&built, NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(6, 5));
	mb_operation(&built, GATHER, MB_LIST(x, mb_int32(&built, 0), indices), MB_LIST(y));
	mb_operation(&built, TOPK_V2, MB_LIST(y, mb_int32(&built, 5)), MB_LIST(values, places));
	assert_no_calls();
}

/* Tests fp16 operands that are converted for a reference kernel. */
static void test_conversions(void **state)
{
	uint32_t x, y;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_INPUT, MB_DIMS(1, 10, 10, 3));
	y = mb_operand(&built, NN_TENSOR_FLOAT16, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 20, 20, 3));
	mb_operation(&built, RESIZE_BILINEAR, MB_LIST(x, mb_int32(&built, 20),
						      mb_int32(&built, 20)), MB_LIST(y));
	assert_no_calls();
}

#ifndef __SANITIZE_ADDRESS__
/* Tests WHILE, whose iterations pass values to the next iteration, and IF. */
static void test_control_flow(void **state)
{
	(void)state;
	sample_while(&built);
	assert_no_calls();
	sample_if(&built);
	assert_no_calls();
}

/* Tests a network whose shapes are known only at run time. */
static void test_unknown_shapes(void **state)
{
	static const float weights[16 * 8];
	uint32_t x, y, relu, out;

	(void)state;
	mb_init(&built);
	x = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(0, 8));
	y = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0, 16));
	relu = mb_operand(&built, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0, 0));
	out = mb_operand(&built, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0, 0));
	mb_operation(&built, FULLY_CONNECTED,
		     MB_LIST(x, mb_constant(&built, NN_TENSOR_FLOAT32, weights, sizeof(weights),
					    MB_DIMS(16, 8)),
			     mb_constant(&built, NN_TENSOR_FLOAT32, weights, 64, MB_DIMS(16)),
			     mb_int32(&built, 0)), MB_LIST(y));
	mb_operation(&built, RESHAPE,
		     MB_LIST(y, mb_constant(&built, NN_TENSOR_INT32, (int32_t[]){ 8, -1 }, 8,
					    MB_DIMS(2))), MB_LIST(relu));
	mb_operation(&built, RELU, MB_LIST(relu), MB_LIST(out));
	rank = 2;
	dims[0] = 64;
	dims[1] = 8;
	assert_no_calls();
	/*
	 * The executions use SECTION_PLANS shapes in turn, because a section keeps at most
	 * SECTION_PLANS plans.
	 */
	shapes_in_turn = SECTION_PLANS;
	assert_no_calls();
	shapes_in_turn = 1;
	rank = 0;
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counting),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_dynamic_weights),
		cmocka_unit_test(test_reference_kernels),
		cmocka_unit_test(test_conversions),
		/*
		 * With AddressSanitizer, the library's heap requests each block from the system.
		 * With AddressSanitizer, executions allocate memory if the model has IF, WHILE or
		 * unknown shapes, or if a plan is interpreted.
		 */
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_control_flow),
		cmocka_unit_test(test_unknown_shapes),
#endif
	};

	return cmocka_run_group_tests_name("plan_alloc", tests, NULL, NULL);
}
