/* SPDX-License-Identifier: MIT */
/*
 * Tests the rules of memories: memories from file descriptors, memories from descriptions, and
 * copies.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>

#include "runtime_fixture.h"

#define TENSOR_SIZE (ADD_ELEMENTS * sizeof(float))

static int setup(void **state)
{
	static struct add_models models;

	add_models_init(&models, true);
	*state = &models;
	return 0;
}

static void test_create_refusals(void **state)
{
	ANeuralNetworksMemory *memory = (ANeuralNetworksMemory *)state;
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksMemory_createFromFd(16, PROT_READ, fd, 0, NULL));
	assert_result(BAD_DATA, ANeuralNetworksMemory_createFromFd(0, PROT_READ, fd, 0, &memory));
	assert_null(memory);
	assert_result(BAD_DATA, ANeuralNetworksMemory_createFromFd(16, PROT_READ, -1, 0, &memory));
	close(fd);
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksMemory_createFromFd(16, PROT_READ, fd, 0, &memory));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksMemory_createFromAHardwareBuffer(NULL, &memory));
	assert_null(memory);
	ANeuralNetworksMemory_free(NULL);
}

static int compute_from(struct add_models *f, ANeuralNetworksMemory *memory, size_t offset,
			float *sum)
{
	ANeuralNetworksExecution *execution;
	int result;

	assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, offset,
							      TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, TENSOR_SIZE));
	result = ANeuralNetworksExecution_compute(execution);
	ANeuralNetworksExecution_free(execution);
	return result;
}

static void test_offsets(void **state)
{
	struct add_models *f = *state;
	long page = sysconf(_SC_PAGESIZE);
	char path[] = "/dev/shm/nnaccel-test-XXXXXX";
	float sum[ADD_ELEMENTS];
	ANeuralNetworksMemory *memory;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 2 * page), 0);
	assert_int_equal(pwrite(fd, add_a, TENSOR_SIZE, page + 32), TENSOR_SIZE);
	assert_ok(ANeuralNetworksMemory_createFromFd(page, PROT_READ, fd, page, &memory));
	assert_ok(compute_from(f, memory, 32, sum));
	assert_sum(sum);
	ANeuralNetworksMemory_free(memory);

	/*
	 * Mapping fails if the offset is not a multiple of the page size, or if the range ends
	 * beyond the file.
	 */
	assert_ok(ANeuralNetworksMemory_createFromFd(page, PROT_READ, fd, 32, &memory));
	assert_result(UNMAPPABLE, compute_from(f, memory, 0, sum));
	ANeuralNetworksMemory_free(memory);
	assert_ok(ANeuralNetworksMemory_createFromFd(2 * page, PROT_READ, fd, page, &memory));
	assert_result(UNMAPPABLE, compute_from(f, memory, page, sum));
	ANeuralNetworksMemory_free(memory);
	close(fd);
}

static void test_protection(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *execution = add_execution(f->compilation);
	ANeuralNetworksMemory *memory;
	void *base;

	memory = shared_memory(TENSOR_SIZE, PROT_READ, &base);
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0,
							       TENSOR_SIZE));
	assert_result(UNMAPPABLE, ANeuralNetworksExecution_compute(execution));
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(memory);
	munmap(base, TENSOR_SIZE);
}

static void test_argument_ranges(void **state)
{
	const struct {
		const char *name;
		size_t offset;
		size_t length;
		int result;
	} cases[] = {
		{ "the end", 4096 - TENSOR_SIZE, TENSOR_SIZE, ANEURALNETWORKS_NO_ERROR },
		{ "beyond the end", 4096 - 12, TENSOR_SIZE, ANEURALNETWORKS_BAD_DATA },
		{ "a sum that overflows", SIZE_MAX, TENSOR_SIZE, ANEURALNETWORKS_BAD_DATA },
		{ "an implied length", 0, 0, ANEURALNETWORKS_BAD_DATA },
		{ "no length", 16, 0, ANEURALNETWORKS_BAD_DATA },
		{ "another length", 0, 12, ANEURALNETWORKS_BAD_DATA },
	};
	struct add_models *f = *state;
	ANeuralNetworksMemory *memory;
	void *base;
	size_t i;

	memory = shared_memory(4096, PROT_READ | PROT_WRITE, &base);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ANeuralNetworksExecution *execution;

		assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
		if (ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory,
								cases[i].offset,
								cases[i].length) !=
		    cases[i].result)
			fail_msg("wrong result as an input: %s", cases[i].name);
		if (ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory,
								 cases[i].offset,
								 cases[i].length) !=
		    cases[i].result)
			fail_msg("wrong result as an output: %s", cases[i].name);
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksMemory_free(memory);
	munmap(base, 4096);
}

/*
 * The error of an argument that is already set has priority over the error of a wrong length. The
 * error of a range outside of the memory has priority over the errors of a set argument and of a
 * wrong length.
 */
static void test_argument_twice(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *e;
	ANeuralNetworksMemory *memory;
	void *base;

	memory = shared_memory(TENSOR_SIZE, PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksExecution_create(f->compilation, &e));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 4,
									    TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_enableInputAndOutputPadding(e, false));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 0,
									    12));
	assert_result(BAD_STATE, ANeuralNetworksExecution_enableInputAndOutputPadding(e, true));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 0, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, base, TENSOR_SIZE));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 4,
									    TENSOR_SIZE));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 0,
									    0));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, memory, 0,
									     12));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory, 4,
									     TENSOR_SIZE));
	assert_result(BAD_STATE, ANeuralNetworksExecution_setOutput(e, 0, NULL, base, 12));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInput(e, 0, NULL, base,
								  (size_t)UINT32_MAX + 1));
	ANeuralNetworksExecution_free(e);
	ANeuralNetworksMemory_free(memory);
	munmap(base, TENSOR_SIZE);
}

/*
 * The runtime does not copy a constant in a memory, so the test may fill the memory after the model
 * is finished.
 */
static void test_shared_constant(void **state)
{
	const uint32_t dims[] = { 2, 2 }, inputs[] = { ADD_A }, outputs[] = { ADD_SUM };
	const uint32_t operands[] = { ADD_A, ADD_B, ADD_ACTIVATION };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksMemory *memory;
	ANeuralNetworksModel *model;
	float sum[ADD_ELEMENTS];
	void *base;
	int i;

	(void)state;
	memory = shared_memory(TENSOR_SIZE, PROT_READ, &base);
	assert_ok(ANeuralNetworksModel_create(&model));
	for (i = 0; i < 4; i++)
		assert_ok(ANeuralNetworksModel_addOperand(
			model, i == ADD_ACTIVATION ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, ADD_ACTIVATION, &none, 4));
	assert_ok(ANeuralNetworksModel_setOperandValueFromMemory(model, ADD_B, memory, 0,
								 TENSOR_SIZE));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1,
						    outputs));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	memcpy(base, add_b, TENSOR_SIZE);
	compilation = compile(model, false);
	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_sum(sum);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksModel_free(model);
	ANeuralNetworksMemory_free(memory);
	munmap(base, TENSOR_SIZE);
}

static void test_copy(void **state)
{
	ANeuralNetworksMemory *a, *b, *smaller, *readonly;
	void *at_a, *at_b, *at_smaller, *at_readonly;

	(void)state;
	a = shared_memory(64, PROT_READ | PROT_WRITE, &at_a);
	b = shared_memory(64, PROT_READ | PROT_WRITE, &at_b);
	smaller = shared_memory(32, PROT_READ | PROT_WRITE, &at_smaller);
	readonly = shared_memory(64, PROT_READ, &at_readonly);
	memset(at_a, 7, 64);
	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemory_copy(NULL, a));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemory_copy(a, NULL));
	assert_ok(ANeuralNetworksMemory_copy(a, a));
	assert_ok(ANeuralNetworksMemory_copy(a, b));
	assert_memory_equal(at_a, at_b, 64);
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, smaller));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(smaller, a));
	assert_result(UNMAPPABLE, ANeuralNetworksMemory_copy(a, readonly));
	assert_ok(ANeuralNetworksMemory_copy(readonly, b));
	ANeuralNetworksMemory_free(a);
	ANeuralNetworksMemory_free(b);
	ANeuralNetworksMemory_free(smaller);
	ANeuralNetworksMemory_free(readonly);
	munmap(at_a, 64);
	munmap(at_b, 64);
	munmap(at_smaller, 32);
	munmap(at_readonly, 64);
}

static void test_description(void **state)
{
	const uint32_t rows[] = { 3, 2 }, open_rows[] = { 0, 2 };
	struct add_models *f = *state;
	ANeuralNetworksCompilation *unfinished;
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemoryDesc_create(NULL));
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_result(UNEXPECTED_NULL,
		      ANeuralNetworksMemoryDesc_addInputRole(NULL, f->compilation, 0, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemoryDesc_addInputRole(desc, NULL, 0, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemoryDesc_setDimensions(desc, 1, NULL));
	assert_result(BAD_DATA, ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, open_rows));

	assert_ok(ANeuralNetworksCompilation_create(f->model, &unfinished));
	assert_result(BAD_DATA, ANeuralNetworksMemoryDesc_addInputRole(desc, unfinished, 0, 1));
	ANeuralNetworksCompilation_free(unfinished);
	assert_result(BAD_DATA,
		      ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 2, 1));
	assert_result(BAD_DATA,
		      ANeuralNetworksMemoryDesc_addOutputRole(desc, f->compilation, 1, 1));
	assert_result(BAD_DATA,
		      ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 0, 0));
	assert_result(BAD_DATA,
		      ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 0, 1.5f));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 0, 1));
	assert_result(BAD_DATA,
		      ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, f->open, 0, 0.5f));
	assert_result(BAD_DATA, ANeuralNetworksMemoryDesc_setDimensions(desc, 2, rows));
	assert_result(BAD_DATA, ANeuralNetworksMemoryDesc_setDimensions(desc, 1, rows));

	assert_result(BAD_STATE, ANeuralNetworksMemory_createFromDesc(desc, &memory));
	assert_null(memory);
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_result(BAD_STATE, ANeuralNetworksMemoryDesc_finish(desc));
	assert_result(BAD_STATE, ANeuralNetworksMemoryDesc_setDimensions(desc, 2, open_rows));
	assert_result(BAD_STATE,
		      ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 1, 1));
	assert_result(UNEXPECTED_NULL, ANeuralNetworksMemory_createFromDesc(desc, NULL));
	ANeuralNetworksMemoryDesc_free(desc);
	ANeuralNetworksMemoryDesc_free(NULL);
}

static void test_unknown_size(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, f->open, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_result(OP_FAILED, ANeuralNetworksMemory_createFromDesc(desc, &memory));
	assert_null(memory);
	ANeuralNetworksMemoryDesc_free(desc);
}

/* Makes a device memory for input 0 and output 0 of a compilation. */
static ANeuralNetworksMemory *domain_memory(struct add_models *f)
{
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, f->compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	return memory;
}

/*
 * A new compilation that has the address of a freed compilation does not get the freed
 * compilation's memory roles.
 */
static void test_roles_of_a_freed_compilation(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksCompilation *gone, *next;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	gone = compile(f->model, true);
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, gone, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	ANeuralNetworksCompilation_free(gone);
	next = compile(f->model, true);
	assert_ok(ANeuralNetworksExecution_create(next, &execution));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL,
									    memory, 0, 0));
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(next);
	ANeuralNetworksMemory_free(memory);
}

static void test_roles(void **state)
{
	const uint32_t dims[] = { 2, 2 };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	struct add_models *f = *state;
	ANeuralNetworksMemory *memory = domain_memory(f);
	ANeuralNetworksExecution *execution, *other;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
	assert_ok(ANeuralNetworksExecution_create(f->open, &other));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(
					execution, 0, NULL, memory, 0, TENSOR_SIZE));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(
					execution, 1, NULL, memory, 0, 0));
	assert_result(BAD_DATA, ANeuralNetworksExecution_setInputFromMemory(
					other, 0, &tensor, memory, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0));

	/* Memory that is made from a description cannot hold a constant. */
	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	assert_result(BAD_DATA, ANeuralNetworksModel_setOperandValueFromMemory(
					model, 0, memory, 0, TENSOR_SIZE));
	ANeuralNetworksModel_free(model);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksExecution_free(other);
	ANeuralNetworksMemory_free(memory);
}

/*
 * Executes sum = a + b with the memory `a` as an input and the memory `sum` as the output. Returns
 * the execution's result.
 */
static int compute_between(struct add_models *f, ANeuralNetworksMemory *a,
			   ANeuralNetworksMemory *sum)
{
	ANeuralNetworksExecution *execution;
	int result;

	assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, a, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, sum, 0, 0));
	result = ANeuralNetworksExecution_compute(execution);
	ANeuralNetworksExecution_free(execution);
	return result;
}

static void test_contents(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksMemory *a = domain_memory(f), *sum = domain_memory(f), *host, *small;
	void *base, *small_base;

	host = shared_memory(TENSOR_SIZE, PROT_READ | PROT_WRITE, &base);
	small = shared_memory(TENSOR_SIZE / 2, PROT_READ | PROT_WRITE, &small_base);
	/* A device memory that was never written cannot be read. */
	assert_result(OP_FAILED, compute_between(f, a, sum));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, host));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, sum));

	memcpy(base, add_a, TENSOR_SIZE);
	assert_ok(ANeuralNetworksMemory_copy(host, a));
	assert_ok(compute_between(f, a, sum));
	assert_ok(ANeuralNetworksMemory_copy(sum, host));
	assert_sum(base);
	assert_ok(ANeuralNetworksMemory_copy(sum, a));
	assert_ok(ANeuralNetworksMemory_copy(sum, sum));

	/* After a failed copy the destination memory is uninitialised. */
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(small, a));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, host));
	assert_result(OP_FAILED, compute_between(f, a, sum));
	ANeuralNetworksMemory_free(a);
	ANeuralNetworksMemory_free(sum);
	ANeuralNetworksMemory_free(host);
	ANeuralNetworksMemory_free(small);
	munmap(base, TENSOR_SIZE);
	munmap(small_base, TENSOR_SIZE / 2);
}

/*
 * For an execution that has already finished, BAD_STATE has priority over errors of the execution's
 * memories.
 */
static void test_state_first(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksMemory *a = domain_memory(f), *unwritten = domain_memory(f), *host;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksEvent *event;
	float sum[ADD_ELEMENTS];
	void *base;

	host = shared_memory(TENSOR_SIZE, PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksMemory_copy(host, a));
	assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, a, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(unwritten, a));
	assert_result(BAD_STATE, ANeuralNetworksExecution_compute(execution));
	assert_result(BAD_STATE, ANeuralNetworksExecution_startCompute(execution, &event));
	assert_null(event);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(a);
	ANeuralNetworksMemory_free(unwritten);
	ANeuralNetworksMemory_free(host);
	munmap(base, TENSOR_SIZE);
}

/* An execution that is not started because its dependency failed leaves its output uninitialised. */
static void test_failed_dependency(void **state)
{
	struct add_models *f = *state;
	ANeuralNetworksExecution *first = add_execution(f->compilation), *second = add_execution(f->compilation);
	ANeuralNetworksMemory *sum = domain_memory(f), *host;
	ANeuralNetworksEvent *one, *two;
	float unused[ADD_ELEMENTS];
	void *base;

	host = shared_memory(TENSOR_SIZE, PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksMemory_copy(host, sum));
	assert_ok(ANeuralNetworksMemory_copy(sum, host));
	assert_ok(ANeuralNetworksExecution_setTimeout(first, 1));
	assert_ok(ANeuralNetworksExecution_setOutput(first, 0, NULL, unused, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(second, 0, NULL, sum, 0, 0));
	assert_ok(ANeuralNetworksExecution_startCompute(first, &one));
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
			second, (const ANeuralNetworksEvent *const *)&one, 1, 0, &two));
	assert_result(OP_FAILED, ANeuralNetworksEvent_wait(two));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(sum, host));
	ANeuralNetworksEvent_free(one);
	ANeuralNetworksEvent_free(two);
	ANeuralNetworksExecution_free(first);
	ANeuralNetworksExecution_free(second);
	ANeuralNetworksMemory_free(sum);
	ANeuralNetworksMemory_free(host);
	munmap(base, TENSOR_SIZE);
}

/*
 * If a copy is refused because of the source memory or the shape, the destination memory becomes
 * uninitialised. The description of the memory `other` gets its dimensions before its first role.
 */
static void test_refused_copies(void **state)
{
	const uint32_t rows[] = { 3, 2 };
	struct add_models *f = *state;
	ANeuralNetworksMemory *a = domain_memory(f), *unwritten = domain_memory(f), *host, *other;
	ANeuralNetworksMemoryDesc *desc;
	void *base;

	host = shared_memory(TENSOR_SIZE, PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksMemory_copy(host, a));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(unwritten, a));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, host));

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, rows));
	assert_result(BAD_DATA, ANeuralNetworksMemoryDesc_addInputRole(desc, f->compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, f->open, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &other));
	ANeuralNetworksMemoryDesc_free(desc);
	assert_ok(ANeuralNetworksMemory_copy(host, a));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(other, a));
	assert_ok(ANeuralNetworksMemory_copy(host, a));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, other));
	assert_ok(ANeuralNetworksMemory_copy(a, host));
	ANeuralNetworksMemory_free(other);
	ANeuralNetworksMemory_free(a);
	ANeuralNetworksMemory_free(unwritten);
	ANeuralNetworksMemory_free(host);
	munmap(base, TENSOR_SIZE);
}

/*
 * Computes sum = a + b for two rows, with the model whose number of rows is unknown. The device
 * memory for the sum has `rows` rows.
 */
static void compute_into(struct add_models *f, uint32_t rows, int expected)
{
	const uint32_t dims[] = { 2, 2 }, made[] = { rows, 2 };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	ANeuralNetworksExecution *execution;
	ANeuralNetworksMemory *memory, *host;
	ANeuralNetworksMemoryDesc *desc;
	void *base;

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, f->open, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, made));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	host = shared_memory((size_t)rows * 8, PROT_READ | PROT_WRITE, &base);

	assert_ok(ANeuralNetworksExecution_create(f->open, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &tensor, add_a, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &tensor, add_b, TENSOR_SIZE));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 0));
	assert_int_equal(ANeuralNetworksExecution_compute(execution), expected);
	if (expected == ANEURALNETWORKS_NO_ERROR)
		assert_ok(ANeuralNetworksMemory_copy(memory, host));
	else
		assert_result(BAD_DATA, ANeuralNetworksMemory_copy(memory, host));
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksMemory_free(host);
	munmap(base, (size_t)rows * 8);
}

static void test_open_output(void **state)
{
	compute_into(*state, 2, ANEURALNETWORKS_NO_ERROR);
	compute_into(*state, 3, ANEURALNETWORKS_OP_FAILED);
	compute_into(*state, 1, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_refusals),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_protection),
		cmocka_unit_test(test_argument_ranges),
		cmocka_unit_test(test_argument_twice),
		cmocka_unit_test(test_shared_constant),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_unknown_size),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_roles_of_a_freed_compilation),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_state_first),
		cmocka_unit_test(test_failed_dependency),
		cmocka_unit_test(test_refused_copies),
		cmocka_unit_test(test_open_output),
	};

	return cmocka_run_group_tests(tests, setup, add_models_teardown);
}
