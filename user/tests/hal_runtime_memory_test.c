/* SPDX-License-Identifier: MIT */
/*
 * Tests memories that were made from memory descriptions on the device nnaccel: location, copies
 * and executions. The test needs /dev/nnaccel, a running nnacceld, and root to kill a worker.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "tests/burst_counter.h"
#include "tests/runtime_fixture.h"
#include "tests/workers.h"

#define SIZE (ADD_ELEMENTS * sizeof(float))

static ANeuralNetworksCompilation *compile_for(ANeuralNetworksModel *model,
					       const ANeuralNetworksDevice *device)
{
	ANeuralNetworksCompilation *compilation;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	return compilation;
}

struct fixture {
	ANeuralNetworksModel *model, *open_model;
	ANeuralNetworksCompilation *compilation, *open;		/* for nnaccel */
};

static int set_up(void **state)
{
	static struct fixture f;

	f.model = add_model(2);
	f.open_model = add_model(0);
	f.compilation = compile_for(f.model, nnaccel_device());
	f.open = compile_for(f.open_model, nnaccel_device());
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ANeuralNetworksCompilation_free(f->compilation);
	ANeuralNetworksCompilation_free(f->open);
	ANeuralNetworksModel_free(f->model);
	ANeuralNetworksModel_free(f->open_model);
	return 0;
}

/*
 * Makes a memory whose roles are the two inputs and the output of the compilation `a` and, unless
 * `b` is NULL, of the compilation `b`.
 */
static int make(const ANeuralNetworksCompilation *a, const ANeuralNetworksCompilation *b,
		ANeuralNetworksMemory **memory)
{
	ANeuralNetworksMemoryDesc *desc;
	int result;

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	for (uint32_t i = 0; i < 2; i++) {
		assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, a, i, 1));
		if (b)
			assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, b, i, 1));
	}
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, a, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	result = ANeuralNetworksMemory_createFromDesc(desc, memory);
	ANeuralNetworksMemoryDesc_free(desc);
	return result;
}

struct host {
	int fd;
	float *data;
	ANeuralNetworksMemory *memory;
};

static struct host host_new(size_t size)
{
	struct host h = { .fd = memfd_create("host", MFD_CLOEXEC) };

	assert_true(h.fd >= 0 && !ftruncate(h.fd, (off_t)size));
	h.data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, h.fd, 0);
	assert_ok(ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, h.fd, 0,
						     &h.memory));
	return h;
}

static void host_free(struct host *h, size_t size)
{
	ANeuralNetworksMemory_free(h->memory);
	munmap(h->data, size);
	close(h->fd);
}

/* Executes sum = a + b; a, b and sum are memories. */
static int add(ANeuralNetworksCompilation *compilation, const ANeuralNetworksMemory *a,
	       const ANeuralNetworksMemory *b, const ANeuralNetworksMemory *sum,
	       const ANeuralNetworksOperandType *type)
{
	ANeuralNetworksExecution *execution;
	int result;

	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, type, a, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 1, type, b, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, sum, 0, 0));
	result = ANeuralNetworksExecution_compute(execution);
	ANeuralNetworksExecution_free(execution);
	return result;
}

static void test_copies(void **state)
{
	struct fixture *f = *state;
	struct host h = host_new(SIZE), back = host_new(SIZE), large = host_new(2 * SIZE);
	ANeuralNetworksMemory *a, *b;

	assert_ok(make(f->compilation, NULL, &a));
	assert_ok(make(f->compilation, NULL, &b));
	assert_int_equal(context_counter("nnaccel-buffers"), 2);
	memcpy(h.data, add_a, SIZE);
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, h.memory));
	assert_ok(ANeuralNetworksMemory_copy(h.memory, a));
	assert_int_equal(context_counter("nnaccel-copied-in"), SIZE);
	assert_ok(ANeuralNetworksMemory_copy(a, b));
	assert_ok(ANeuralNetworksMemory_copy(b, b));
	assert_ok(ANeuralNetworksMemory_copy(b, back.memory));
	assert_memory_equal(back.data, add_a, SIZE);
	assert_int_equal(context_counter("nnaccel-copied-in"), 2 * SIZE);
	assert_int_equal(context_counter("nnaccel-copied-out"), 2 * SIZE);
	memset(back.data, 0, SIZE);
	assert_ok(ANeuralNetworksMemory_copy(h.memory, back.memory));
	assert_memory_equal(back.data, add_a, SIZE);
	/* After a failed copy, the destination memory is uninitialised. */
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(large.memory, a));
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(a, h.memory));
	ANeuralNetworksMemory_free(a);
	ANeuralNetworksMemory_free(b);
	assert_int_equal(context_counter("nnaccel-buffers"), 0);
	host_free(&h, SIZE);
	host_free(&back, SIZE);
	host_free(&large, 2 * SIZE);
}

/* In a chain of executions, no data is copied between two executions. */
static void test_executions(void **state)
{
	struct fixture *f = *state;
	struct host h = host_new(SIZE);
	ANeuralNetworksMemory *m[3];
	long in, out;
	int i;

	for (i = 0; i < 3; i++)
		assert_ok(make(f->compilation, NULL, &m[i]));
	memcpy(h.data, add_a, SIZE);
	assert_result(OP_FAILED, add(f->compilation, m[0], m[0], m[1], NULL));
	assert_ok(ANeuralNetworksMemory_copy(h.memory, m[0]));
	in = context_counter("nnaccel-copied-in");
	out = context_counter("nnaccel-copied-out");
	for (i = 0; i < 10; i++)
		assert_ok(add(f->compilation, m[i % 2], m[i % 2], m[(i + 1) % 2], NULL));
	assert_ok(add(f->compilation, m[0], m[1], m[2], NULL));
	assert_int_equal(context_counter("nnaccel-copied-in"), in);
	assert_int_equal(context_counter("nnaccel-copied-out"), out);
	assert_ok(ANeuralNetworksMemory_copy(m[2], h.memory));
	for (i = 0; i < ADD_ELEMENTS; i++)
		assert_true(h.data[i] == add_a[i] * (1024 + 512));
	for (i = 0; i < 3; i++)
		ANeuralNetworksMemory_free(m[i]);
	host_free(&h, SIZE);
}

/* Executes in a burst, first with device memory and then with arguments of other kinds. */
static void test_burst(void **state)
{
	struct fixture *f = *state;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst;
	ANeuralNetworksMemory *m;
	struct host h = host_new(SIZE);
	float sum[ADD_ELEMENTS];

	assert_ok(make(f->compilation, NULL, &m));
	memcpy(h.data, add_a, SIZE);
	assert_ok(ANeuralNetworksMemory_copy(h.memory, m));
	assert_ok(ANeuralNetworksBurst_create(f->compilation, &burst));
	for (int i = 0; i < 3; i++) {
		assert_ok(ANeuralNetworksExecution_create(f->compilation, &execution));
		assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, m, 0, 0));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, SIZE));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, SIZE));
		assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
		for (int k = 0; k < ADD_ELEMENTS; k++)
			assert_true(sum[k] == add_a[k] + add_b[k]);
		ANeuralNetworksExecution_free(execution);
	}
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksMemory_free(m);
	host_free(&h, SIZE);
}

/* The shape of a memory may be unknown until an execution or a copy writes the memory. */
static void test_open_shape(void **state)
{
	struct fixture *f = *state;
	struct host h = host_new(SIZE);
	ANeuralNetworksMemory *known, *open, *sum;
	const uint32_t dims[] = { 2, 2 };
	const ANeuralNetworksOperandType type = tensor_type(2, dims);

	assert_ok(make(f->compilation, NULL, &known));
	assert_ok(make(f->open, NULL, &open));
	assert_ok(make(f->open, NULL, &sum));
	memcpy(h.data, add_a, SIZE);
	assert_result(BAD_DATA, ANeuralNetworksMemory_copy(h.memory, open));
	assert_ok(ANeuralNetworksMemory_copy(h.memory, known));
	assert_ok(ANeuralNetworksMemory_copy(known, open));
	assert_ok(add(f->open, open, open, sum, &type));
	assert_ok(ANeuralNetworksMemory_copy(sum, h.memory));
	assert_true(h.data[1] == 2 * add_a[1]);
	ANeuralNetworksMemory_free(known);
	ANeuralNetworksMemory_free(open);
	ANeuralNetworksMemory_free(sum);
	host_free(&h, SIZE);
}

/*
 * The CPU device reads and writes buffers that end where memory ends. QEMU reads masked elements of
 * vectors, so this test finds accesses that a real CPU does not make.
 */
static void test_memory_ends(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fixture *f = *state;
	ANeuralNetworksCompilation *cpu = compile_for(f->open_model, cpu_device());
	char *ends[3];

	for (int i = 0; i < 3; i++) {
		ends[i] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(ends[i] != MAP_FAILED && !mprotect(ends[i] + page, page, PROT_NONE));
		ends[i] += page;
	}
	for (uint32_t rows = 1; rows <= 40; rows++) {
		const ANeuralNetworksOperandType type = tensor_type(2, (const uint32_t[]){ rows, 2 });
		const size_t size = 2 * rows * sizeof(float);
		float *a = (float *)(ends[0] - size), *b = (float *)(ends[1] - size), *sum = (float *)(ends[2] - size);
		ANeuralNetworksExecution *execution;

		for (uint32_t i = 0; i < 2 * rows; i++) {
			a[i] = (float)i;
			b[i] = 1;
		}
		assert_ok(ANeuralNetworksExecution_create(cpu, &execution));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 0, &type, a, size));
		assert_ok(ANeuralNetworksExecution_setInput(execution, 1, &type, b, size));
		assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, &type, sum, size));
		assert_ok(ANeuralNetworksExecution_compute(execution));
		ANeuralNetworksExecution_free(execution);
		for (uint32_t i = 0; i < 2 * rows; i++)
			assert_true(sum[i] == (float)i + 1);
	}
	for (int i = 0; i < 3; i++)
		munmap(ends[i] - page, 2 * page);
	ANeuralNetworksCompilation_free(cpu);
}

/* Compilations for two different named devices cannot use the same memory. */
static void test_two_devices(void **state)
{
	struct fixture *f = *state;
	ANeuralNetworksCompilation *cpu = compile_for(f->model, cpu_device());
	ANeuralNetworksMemory *m;

	assert_result(OP_FAILED, make(f->compilation, cpu, &m));
	assert_null(m);
	assert_int_equal(context_counter("nnaccel-buffers"), 0);
	ANeuralNetworksCompilation_free(cpu);
}

/* If the device has died, the CPU executes the model with copies of the data in device memory. */
static void test_fallback(void **state)
{
	struct fixture *f = *state;
	ANeuralNetworksCompilation *any = compile(f->model, false);
	struct host h = host_new(SIZE);
	ANeuralNetworksMemory *m, *sum;

	assert_ok(make(any, NULL, &m));
	assert_ok(make(any, NULL, &sum));
	if (context_counter("nnaccel-buffers") == 2) {
		memcpy(h.data, add_a, SIZE);
		assert_ok(ANeuralNetworksMemory_copy(h.memory, m));
		assert_true(workers_kill());
		assert_ok(add(any, m, m, sum, NULL));
		assert_ok(ANeuralNetworksMemory_copy(sum, h.memory));
		assert_true(h.data[1] == 2 * add_a[1]);
	} else {
		print_message("the CPU was chosen anyway\n");
	}
	ANeuralNetworksMemory_free(m);
	ANeuralNetworksMemory_free(sum);
	ANeuralNetworksCompilation_free(any);
	host_free(&h, SIZE);
}

/*
 * A prepared model is lost when the worker that prepared it dies. Making memory for a lost prepared
 * model prepares the model again.
 */
static void test_dead_worker(void **state)
{
	struct fixture *f = *state;
	ANeuralNetworksMemory *m;

	assert_ok(make(f->compilation, NULL, &m));
	ANeuralNetworksMemory_free(m);
	assert_true(workers_kill());
	assert_ok(make(f->compilation, NULL, &m));
	assert_int_equal(context_counter("nnaccel-buffers"), 1);
	ANeuralNetworksMemory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_executions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_burst, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_open_shape, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_devices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fallback, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dead_worker, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("memory domains", tests, NULL, NULL);
}
