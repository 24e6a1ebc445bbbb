/* SPDX-License-Identifier: MIT */
/*
 * Tests the rules of executions: arguments, states, shapes, times, bursts and events.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/eventfd.h>

#include "tests/heap_blocks.h"
#include "runtime_fixture.h"

static int setup(void **state)
{
	static struct add_models models;

	add_models_init(&models, false);
	*state = &models;
	return 0;
}

static void test_null(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);
	ANeuralNetworksEvent *event = (ANeuralNetworksEvent *)f;
	const ANeuralNetworksEvent *no_event = NULL;
	ANeuralNetworksBurst *burst, *none = (ANeuralNetworksBurst *)f;
	void *base;
	ANeuralNetworksMemory *memory = shared_memory(16, PROT_READ | PROT_WRITE, &base);
	uint32_t value;
	uint64_t duration;
	int fd = 7;

	assert_ok(ANeuralNetworksBurst_create(f->compilation, &burst));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_create(f->compilation, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setInput(NULL, 0, NULL, add_a, 16));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_setInput(execution, 0, NULL, NULL, 16));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_setOutput(execution, 0, NULL, NULL, 16));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setInputFromMemory(
					       execution, 0, NULL, NULL, 0, 16));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setOutputFromMemory(
					       execution, 0, NULL, NULL, 0, 16));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_compute(NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_startCompute(NULL, &event));
	assert_null(event);
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_startCompute(execution, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_burstCompute(execution, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_startComputeWithDependencies(
					       execution, NULL, 1, 0, &event));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setMeasureTiming(NULL, true));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setTimeout(NULL, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setLoopTimeout(NULL, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setReusable(NULL, true));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_enableInputAndOutputPadding(NULL, true));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_getOutputOperandRank(NULL, 0, &value));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, NULL));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_getDuration(NULL, 0, &duration));
	/* Each of the following calls passes one NULL pointer. */
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_startComputeWithDependencies(
					       NULL, NULL, 0, 0, &event));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_startComputeWithDependencies(
					       execution, NULL, 0, 0, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_startComputeWithDependencies(
					       execution, &no_event, 1, 0, &event));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_burstCompute(NULL, burst));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksBurst_create(NULL, &none));
	assert_null(none);
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_getOutputOperandRank(execution, 0, NULL));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_getOutputOperandDimensions(NULL, 0, &value));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_getDuration(execution, 0, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setOutput(NULL, 0, NULL, &value, 4));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setInputFromMemory(
					       NULL, 0, NULL, memory, 0, 16));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_setOutputFromMemory(
					       NULL, 0, NULL, memory, 0, 16));
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksMemory_free(memory);
	munmap(base, 16);
	assert_result(UNEXPECTED_NULL, ANeuralNetworksEvent_wait(NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksEvent_getSyncFenceFd(NULL, &fd));
	assert_int_equal(fd, -1);
	assert_result(UNEXPECTED_NULL, ANeuralNetworksEvent_createFromSyncFenceFd(1, NULL));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksBurst_create(f->compilation, NULL));
	ANeuralNetworksEvent_free(NULL);
	ANeuralNetworksBurst_free(NULL);
	ANeuralNetworksExecution_free(NULL);
	ANeuralNetworksExecution_free(execution);
}

static void test_compute(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);
	uint32_t rank, dims[2];
	float sum[ADD_ELEMENTS];

	/*
	 * A rejected call that reads the output's rank or sets an argument does not change the
	 * execution.
	 */
	assert_result(BAD_DATA, ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_STATE,
		      ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_result(BAD_STATE,
		      ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_result(BAD_STATE,
		      ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, sizeof(add_a)));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, 1));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum(sum);

	assert_ok(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
	assert_int_equal(rank, 2);
	assert_ok(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
	assert_int_equal(dims[0], 2);
	assert_result(BAD_DATA, ANeuralNetworksExecution_getOutputOperandRank(execution, 1, &rank));
	assert_result(BAD_DATA,
		      ANeuralNetworksExecution_getOutputOperandRank(execution, -1, &rank));

	/* An execution that is not reusable cannot run twice. */
	assert_result(BAD_STATE, ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setLoopTimeout(execution, 1));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setMeasureTiming(execution, true));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setTimeout(execution, 1));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setReusable(execution, true));
	assert_result(BAD_STATE,
		      ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, sizeof(add_a)));
	ANeuralNetworksExecution_free(execution);
}

static void test_reusable(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);
	float sum[ADD_ELEMENTS];
	int i;

	assert_ok(ANeuralNetworksExecution_setReusable(execution, true));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	for (i = 0; i < 3; i++) {
		memset(sum, 0, sizeof(sum));
		assert_ok(ANeuralNetworksExecution_compute(execution));
		assert_sum(sum);
	}
	ANeuralNetworksExecution_free(execution);
}

static const uint32_t dims_2x2[] = { 2, 2 }, dims_3x2[] = { 3, 2 }, dims_2x3[] = { 2, 3 };
static const uint32_t dims_open[] = { 0, 2 };

struct argument_case {
	const char *name;
	bool open;			/* true: use the model with an unknown dimension */
	int32_t index;
	uint32_t rank;			/* rank in the argument's type; 0: no type given */
	const uint32_t *dims;
	size_t length;
	int input;			/* expected result code for an input */
	int output;			/* expected result code for an output */
};

#define OK ANEURALNETWORKS_NO_ERROR
#define BAD ANEURALNETWORKS_BAD_DATA

static const struct argument_case argument_cases[] = {
	{ "the model's type", false, 0, 0, NULL, 16, OK, OK },
	{ "the same type", false, 0, 2, dims_2x2, 16, OK, OK },
	{ "another dimension", false, 0, 2, dims_3x2, 24, BAD, BAD },
	{ "another rank", false, 0, 1, dims_2x2, 8, BAD, BAD },
	{ "an open dimension for a known one", false, 0, 2, dims_open, 16, BAD, BAD },
	{ "too few bytes", false, 0, 0, NULL, 12, BAD, BAD },
	{ "too many bytes", false, 0, 0, NULL, 20, BAD, BAD },
	{ "no bytes at an address", false, 0, 0, NULL, 0, BAD, BAD },
	{ "no such argument", false, 2, 0, NULL, 16, BAD, BAD },
	{ "an index below 0", false, -1, 0, NULL, 16, BAD, BAD },
	{ "nothing for an open dimension", true, 0, 0, NULL, 16, BAD, OK },
	{ "a known dimension for an open one", true, 0, 2, dims_2x2, 16, OK, OK },
	{ "an open dimension for an open one", true, 0, 2, dims_open, 16, BAD, OK },
	{ "another last dimension", true, 0, 2, dims_2x3, 24, BAD, BAD },
	{ "a length of another shape", true, 0, 2, dims_3x2, 16, BAD, BAD },
};

static void test_arguments(void **state)
{
	struct add_models *f = *state;
	float data[ADD_ELEMENTS * 2];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(argument_cases); i++) {
		const struct argument_case *c = &argument_cases[i];
		const ANeuralNetworksOperandType type = tensor_type(c->rank, c->dims);
		const ANeuralNetworksOperandType *given = c->rank ? &type : NULL;
		ANeuralNetworksExecution *execution;

		assert_ok(ANeuralNetworksExecution_create(c->open ? f->open : f->compilation,
							  &execution));
		if (ANeuralNetworksExecution_setInput(execution, c->index, given, data,
						      c->length) != c->input)
			fail_msg("wrong result for an input: %s", c->name);
		if (ANeuralNetworksExecution_setOutput(execution, c->index, given, data,
						       c->length) != c->output)
			fail_msg("wrong result for an output: %s", c->name);
		ANeuralNetworksExecution_free(execution);
	}
}

struct type_case {
	const char *name;
	ANeuralNetworksOperandType type;
	size_t length;
	int result;
};

/*
 * Argument types that the test gives for a TENSOR_FLOAT32 of [2, 2]; the runtime uses only the
 * dimensions of an argument's type.
 */
static const struct type_case type_cases[] = {
	{ "as wide", { ANEURALNETWORKS_TENSOR_INT32, 2, dims_2x2, 0, 0 }, 16, OK },
	{ "narrower", { ANEURALNETWORKS_TENSOR_FLOAT16, 2, dims_2x2, 0, 0 }, 16, OK },
	{ "quantised", { ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, 2, dims_2x2, 2, 9 }, 16, OK },
	{ "its own length", { ANEURALNETWORKS_TENSOR_FLOAT16, 2, dims_2x2, 0, 0 }, 8, BAD },
	{ "another dimension", { ANEURALNETWORKS_TENSOR_INT32, 2, dims_3x2, 0, 0 }, 24, BAD },
	{ "another rank", { ANEURALNETWORKS_TENSOR_INT32, 1, dims_2x2, 0, 0 }, 8, BAD },
	{ "an open dimension", { ANEURALNETWORKS_TENSOR_INT32, 2, dims_open, 0, 0 }, 16, BAD },
	{ "a scalar", { ANEURALNETWORKS_INT32, 0, NULL, 0, 0 }, 16, BAD },
	{ "a scalar with dimensions", { ANEURALNETWORKS_INT32, 2, dims_2x2, 0, 0 }, 16, BAD },
	{ "no such type", { 9999, 2, dims_2x2, 0, 0 }, 16, BAD },
	{ "no pointer", { ANEURALNETWORKS_TENSOR_FLOAT32, 2, NULL, 0, 0 }, 16, BAD },
	{ "a scale", { ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims_2x2, 1, 0 }, 16, BAD },
	{ "no scale", { ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, dims_2x2, 0, 0 }, 16, BAD },
	{ "a zero point", { ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 2, dims_2x2, 1, 1 }, 16, BAD },
};

/*
 * Sets both inputs and the output with the type of `c`; returns the first result that differs from
 * c->result.
 */
static int set_typed(ANeuralNetworksExecution *execution, const struct type_case *c,
		     ANeuralNetworksMemory *memory, float *data)
{
	const size_t half = ADD_ELEMENTS * sizeof(*data);
	int results[3];
	size_t i;

	if (memory) {
		results[0] = ANeuralNetworksExecution_setInputFromMemory(execution, 0, &c->type,
									 memory, 0, c->length);
		results[1] = ANeuralNetworksExecution_setInputFromMemory(execution, 1, &c->type,
									 memory, half, c->length);
		results[2] = ANeuralNetworksExecution_setOutputFromMemory(
			execution, 0, &c->type, memory, 2 * half, c->length);
	} else {
		results[0] = ANeuralNetworksExecution_setInput(execution, 0, &c->type, data,
							       c->length);
		results[1] = ANeuralNetworksExecution_setInput(
			execution, 1, &c->type, data + ADD_ELEMENTS, c->length);
		results[2] = ANeuralNetworksExecution_setOutput(
			execution, 0, &c->type, data + 2 * ADD_ELEMENTS, c->length);
	}
	for (i = 0; i < ARRAY_SIZE(results); i++)
		if (results[i] != c->result)
			return results[i];
	return c->result;
}

/*
 * The type of an argument must be valid; the type's code, scale and zero point may differ from
 * those of the operand in the model.
 */
static void test_other_type(void **state)
{
	struct add_models *f = *state;
	const size_t size = 4 * sizeof(add_a);
	ANeuralNetworksMemory *memory;
	size_t i, way;
	void *base;

	memory = shared_memory(size, PROT_READ | PROT_WRITE, &base);
	for (i = 0; i < ARRAY_SIZE(type_cases); i++)
		for (way = 0; way < 2; way++) {
			float local[4 * ADD_ELEMENTS] = { 0 }, *data = way ? base : local;
			const struct type_case *c = &type_cases[i];
			ANeuralNetworksExecution *execution;

			memset(base, 0, size);
			memcpy(data, add_a, sizeof(add_a));
			memcpy(data + ADD_ELEMENTS, add_b, sizeof(add_b));
			assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
			if (set_typed(execution, c, way ? memory : NULL, data) != c->result)
				fail_msg("wrong result %s: %s", way ? "from memory" : "by pointer",
					 c->name);
			if (c->result == OK) {
				assert_ok(ANeuralNetworksExecution_compute(execution));
				assert_sum(data + 2 * ADD_ELEMENTS);
			}
			ANeuralNetworksExecution_free(execution);
		}
	ANeuralNetworksMemory_free(memory);
	munmap(base, size);
}

static void test_padding(void **state)
{
	struct add_models *f = *state;
	float padded[ADD_ELEMENTS + 4] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	float sum[ADD_ELEMENTS + 4] = { 0 };
	ANeuralNetworksExecution *execution;

	assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
	assert_ok(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, padded, sizeof(padded)));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, 12));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_result(BAD_STATE,
		      ANeuralNetworksExecution_enableInputAndOutputPadding(execution, false));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum(sum);
	assert_true(sum[ADD_ELEMENTS] == 0);
	ANeuralNetworksExecution_free(execution);
}

/*
 * Makes an execution of the model with unknown dimensions; the output has `length` bytes of memory.
 */
static ANeuralNetworksExecution *open_execution(struct add_models *f, float *sum, size_t length)
{
	const ANeuralNetworksOperandType type = tensor_type(2, dims_2x2);
	ANeuralNetworksExecution *execution;

	assert_ok(ANeuralNetworksExecution_create(f->open, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &type, add_a, sizeof(add_a)));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &type, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, length));
	return execution;
}

static void test_open_output(void **state)
{
	struct add_models *f = *state;
	float sum[ADD_ELEMENTS * 2];
	ANeuralNetworksExecution *execution = open_execution(f, sum, sizeof(sum));
	uint32_t dims[2] = { 0 };

	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum(sum);
	assert_ok(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
	assert_int_equal(dims[0], 2);
	assert_int_equal(dims[1], 2);
	ANeuralNetworksExecution_free(execution);

	/* The memory of an output of unknown shape may have up to 4 GiB - 1 byte. */
	assert_ok(ANeuralNetworksExecution_create(f->open, &execution));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, (size_t)UINT32_MAX + 1));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, UINT32_MAX));
	ANeuralNetworksExecution_free(execution);
}

static void test_short_output(void **state)
{
	struct add_models *f = *state;
	float sum[ADD_ELEMENTS];
	ANeuralNetworksExecution *execution = open_execution(f, sum, sizeof(sum) - 4);
	uint32_t rank = 0, dims[2] = { 0 };

	assert_result(OUTPUT_INSUFFICIENT_SIZE, ANeuralNetworksExecution_compute(execution));
	assert_result(OUTPUT_INSUFFICIENT_SIZE,
		      ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
	assert_int_equal(rank, 2);
	assert_result(OUTPUT_INSUFFICIENT_SIZE,
		      ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
	assert_int_equal(dims[0], 2);
	ANeuralNetworksExecution_free(execution);
}

static void test_timing(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation), *other;
	float sum[ADD_ELEMENTS];
	uint64_t duration = 0;

	assert_ok(ANeuralNetworksExecution_create(f->open, &other));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setMeasureTiming(other, true));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setTimeout(other, 1));
	ANeuralNetworksExecution_free(other);

	assert_ok(ANeuralNetworksExecution_setMeasureTiming(execution, true));
	assert_ok(ANeuralNetworksExecution_setTimeout(execution, UINT64_MAX));
	assert_ok(ANeuralNetworksExecution_setLoopTimeout(execution, UINT64_MAX));
	assert_result(BAD_STATE, ANeuralNetworksExecution_getDuration(execution, 0, &duration));
	assert_true(duration == UINT64_MAX);
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_DATA, ANeuralNetworksExecution_getDuration(execution, -1, &duration));
	assert_result(BAD_DATA, ANeuralNetworksExecution_getDuration(execution, 4, &duration));
	/* The CPU device does not measure times. */
	assert_ok(ANeuralNetworksExecution_getDuration(execution, 3, &duration));
	assert_true(duration == UINT64_MAX);
	ANeuralNetworksExecution_free(execution);

	execution = add_execution(f->compilation);
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_STATE, ANeuralNetworksExecution_getDuration(execution, 0, &duration));
	ANeuralNetworksExecution_free(execution);
}

static void test_expired(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);
	float sum[ADD_ELEMENTS];
	uint32_t rank;

	assert_ok(ANeuralNetworksExecution_setTimeout(execution, 1));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_result(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_STATE,
		      ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
	ANeuralNetworksExecution_free(execution);
}

static void *wait_for(void *event)
{
	return (void *)(intptr_t)ANeuralNetworksEvent_wait(event);
}

static void test_start_compute(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);
	ANeuralNetworksEvent *event;
	float sum[ADD_ELEMENTS];
	pthread_t waiter;
	void *result;
	int fd;

	assert_result(BAD_DATA, ANeuralNetworksExecution_startCompute(execution, &event));
	assert_null(event);
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_startCompute(execution, &event));
	/* Any thread may wait for an event, several times. */
	assert_int_equal(pthread_create(&waiter, NULL, wait_for, event), 0);
	assert_ok(ANeuralNetworksEvent_wait(event));
	assert_ok(ANeuralNetworksEvent_wait(event));
	pthread_join(waiter, &result);
	assert_null(result);
	assert_sum(sum);
	assert_result(BAD_DATA, ANeuralNetworksEvent_getSyncFenceFd(event, &fd));
	assert_int_equal(fd, -1);
	assert_result(BAD_STATE, ANeuralNetworksExecution_compute(execution));
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksEvent_free(event);
}

/*
 * A freed execution leaves no memory allocated, except the memory that the first thread leaves for
 * later threads.
 */
static void test_start_again(void **state)
{
	struct add_models *f = *state;
	long blocks = 0;

	for (int i = 0; i < 3; i++) {
		ANeuralNetworksExecution *execution = add_execution(f->compilation);
		ANeuralNetworksEvent *event;
		float sum[ADD_ELEMENTS];

		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
		assert_ok(ANeuralNetworksExecution_startCompute(execution, &event));
		assert_ok(ANeuralNetworksEvent_wait(event));
		ANeuralNetworksEvent_free(event);
		ANeuralNetworksExecution_free(execution);
		blocks = i ? blocks : heap_blocks;
		assert_int_equal(heap_blocks, blocks);
	}
}

/* The fence is an eventfd, which poll() treats like a fence that has not signalled yet. */
static void test_dependencies(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *first = add_execution(f->compilation);
	ANeuralNetworksExecution *second = add_execution(f->compilation);
	ANeuralNetworksEvent *fence, *one, *two;
	float sums[2][ADD_ELEMENTS] = { { 0 } };
	int fd = eventfd(0, EFD_CLOEXEC), copy;
	uint32_t rank;

	assert_true(fd > 0);
	assert_result(BAD_DATA, ANeuralNetworksEvent_createFromSyncFenceFd(-1, &fence));
	assert_null(fence);
	assert_ok(ANeuralNetworksEvent_createFromSyncFenceFd(fd, &fence));
	assert_ok(ANeuralNetworksEvent_getSyncFenceFd(fence, &copy));
	assert_true(copy > 0 && copy != fd);
	close(copy);

	assert_ok(ANeuralNetworksExecution_setOutput(first, 0, NULL, sums[0], 16));
	assert_ok(ANeuralNetworksExecution_setOutput(second, 0, NULL, sums[1], 16));
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
		first, (const ANeuralNetworksEvent *const *)&fence, 1, 0, &one));
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
		second, (const ANeuralNetworksEvent *const *)&one, 1, UINT64_MAX, &two));
	assert_result(BAD_STATE, ANeuralNetworksExecution_getOutputOperandRank(first, 0, &rank));
	/* Freeing an execution in flight is ignored. */
	ANeuralNetworksExecution_free(first);
	assert_result(BAD_STATE, ANeuralNetworksExecution_compute(first));
	assert_int_equal(eventfd_write(fd, 1), 0);
	assert_ok(ANeuralNetworksEvent_wait(fence));
	assert_ok(ANeuralNetworksEvent_wait(two));
	assert_ok(ANeuralNetworksEvent_wait(one));
	assert_sum(sums[0]);
	assert_sum(sums[1]);
	ANeuralNetworksEvent_free(one);
	ANeuralNetworksEvent_free(two);
	ANeuralNetworksEvent_free(fence);
	ANeuralNetworksExecution_free(first);
	ANeuralNetworksExecution_free(second);
	close(fd);
}

static void test_failed_dependency(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *first = add_execution(f->compilation);
	ANeuralNetworksExecution *second = add_execution(f->compilation);
	ANeuralNetworksEvent *one, *two;
	float sums[2][ADD_ELEMENTS] = { { 0 } };

	assert_ok(ANeuralNetworksExecution_setTimeout(first, 1));
	assert_ok(ANeuralNetworksExecution_setOutput(first, 0, NULL, sums[0], 16));
	assert_ok(ANeuralNetworksExecution_setOutput(second, 0, NULL, sums[1], 16));
	assert_ok(ANeuralNetworksExecution_startCompute(first, &one));
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
		second, (const ANeuralNetworksEvent *const *)&one, 1, 0, &two));
	/*
	 * The second execution keeps references to its memories and to the event `one`, which is
	 * freed here.
	 */
	assert_result(MISSED_DEADLINE_PERSISTENT, ANeuralNetworksEvent_wait(one));
	ANeuralNetworksEvent_free(one);
	assert_result(OP_FAILED, ANeuralNetworksEvent_wait(two));
	ANeuralNetworksEvent_free(two);
	assert_true(sums[1][0] == 0);
	ANeuralNetworksExecution_free(first);
	ANeuralNetworksExecution_free(second);
}

static void test_fenced_refusals(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksEvent *event, *none = NULL;
	float sum[ADD_ELEMENTS];
	ANeuralNetworksExecution *execution = open_execution(f, sum, sizeof(sum));

	/*
	 * A fenced execution is refused if an output's shape is unknown and the model is compiled
	 * for all devices.
	 */
	assert_result(BAD_DATA, ANeuralNetworksExecution_startComputeWithDependencies(
					execution, NULL, 0, 0, &event));
	assert_result(BAD_DATA, ANeuralNetworksExecution_startComputeWithDependencies(
					execution, NULL, 0, 1, &event));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksExecution_startComputeWithDependencies(
			      execution, (const ANeuralNetworksEvent *const *)&none, 1, 0,
			      &event));
	assert_null(event);

	/*
	 * For an execution that has already run, the error BAD_STATE has priority over all other
	 * errors.
	 */
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_STATE, ANeuralNetworksExecution_startComputeWithDependencies(
					 execution, NULL, 0, 1, &event));
	ANeuralNetworksExecution_free(execution);
}

static void test_burst(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst, *other;
	float sum[ADD_ELEMENTS];
	int i;

	assert_ok(ANeuralNetworksBurst_create(f->compilation, &burst));
	assert_ok(ANeuralNetworksBurst_create(f->open, &other));
	for (i = 0; i < 3; i++) {
		execution = add_execution(f->compilation);
		assert_result(BAD_DATA, ANeuralNetworksExecution_burstCompute(execution, burst));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum,
							     sizeof(sum)));
		assert_result(BAD_DATA, ANeuralNetworksExecution_burstCompute(execution, other));
		assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
		assert_sum(sum);
		assert_result(BAD_STATE, ANeuralNetworksExecution_burstCompute(execution, burst));
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksBurst_free(other);
}

static void test_extension_attributes(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);

	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_addExtensionAttribute(
					       NULL, "com.example.x", 0, NULL, 0));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksExecution_addExtensionAttribute(
					       execution, "com.example.x", 0, NULL, 1));
	assert_result(BAD_DATA, ANeuralNetworksExecution_addExtensionAttribute(
					execution, "com.example.x", 0, add_a, 1));
	ANeuralNetworksExecution_free(execution);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_compute),
		cmocka_unit_test(test_reusable),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_other_type),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_open_output),
		cmocka_unit_test(test_short_output),
		cmocka_unit_test(test_timing),
		cmocka_unit_test(test_expired),
		cmocka_unit_test(test_start_compute),
		cmocka_unit_test(test_start_again),
		cmocka_unit_test(test_dependencies),
		cmocka_unit_test(test_failed_dependency),
		cmocka_unit_test(test_fenced_refusals),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_extension_attributes),
	};

	return cmocka_run_group_tests(tests, setup, add_models_teardown);
}
