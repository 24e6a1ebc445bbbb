/* SPDX-License-Identifier: MIT */
/*
 * Tests executions with dependencies on the device nnaccel: chains of executions, measured times,
 * device memory, and threads of the runtime. The test needs /dev/nnaccel and a running nnacceld.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "tests/open_files.h"
#include "tests/runtime_fixture.h"

#define SIZE (ADD_ELEMENTS * sizeof(float))
#define LINKS 10

static struct {
	ANeuralNetworksModel *model;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksMemory *memory;
	float *data;
} t;

static int begin(void **state)
{
	const ANeuralNetworksDevice *device = nnaccel_device();
	int fd = memfd_create("fences", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, 4 * SIZE), 0);
	t.data = mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(t.data, MAP_FAILED);
	assert_ok(ANeuralNetworksMemory_createFromFd(4 * SIZE, PROT_READ | PROT_WRITE, fd, 0,
						     &t.memory));
	close(fd);
	t.model = add_model(2);
	assert_ok(ANeuralNetworksCompilation_createForDevices(t.model, &device, 1,
							      &t.compilation));
	assert_ok(ANeuralNetworksCompilation_finish(t.compilation));
	return 0;
}

static int end(void **state)
{
	(void)state;
	ANeuralNetworksCompilation_free(t.compilation);
	ANeuralNetworksModel_free(t.model);
	ANeuralNetworksMemory_free(t.memory);
	munmap(t.data, 4 * SIZE);
	return 0;
}

/*
 * Makes an execution that adds tensors number `a` and `b` of the memory, and writes the sum to
 * tensor number `to`.
 */
static ANeuralNetworksExecution *add(uint32_t a, uint32_t b, uint32_t to)
{
	ANeuralNetworksExecution *e;

	assert_ok(ANeuralNetworksExecution_create(t.compilation, &e));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(e, 0, NULL, t.memory, a * SIZE,
							      SIZE));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(e, 1, NULL, t.memory, b * SIZE,
							      SIZE));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, t.memory, to * SIZE,
							       SIZE));
	return e;
}

/*
 * Starts an execution; the device, not a thread of the runtime, waits for the execution's
 * dependencies. Checks that the execution's event is one open file.
 */
static ANeuralNetworksEvent *start(ANeuralNetworksExecution *e, const ANeuralNetworksEvent *before)
{
	const int files = count_files();
	ANeuralNetworksEvent *event;

	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(e, &before, before != NULL,
									0, &event));
	assert_int_equal(count_files(), files + 1);
	return event;
}

static void test_event(void **state)
{
	ANeuralNetworksExecution *e = add(0, 1, 2);
	ANeuralNetworksEvent *event;
	uint64_t ns;
	int fd = 0;

	(void)state;
	t.data[0] = 3;
	t.data[ADD_ELEMENTS] = 4;
	assert_ok(ANeuralNetworksExecution_setMeasureTiming(e, true));
	event = start(e, NULL);
	/* An event has no sync fence if a process, not hardware, ends the event's execution. */
	assert_result(BAD_DATA, ANeuralNetworksEvent_getSyncFenceFd(event, &fd));
	assert_int_equal(fd, -1);
	assert_ok(ANeuralNetworksEvent_wait(event));
	assert_ok(ANeuralNetworksEvent_wait(event));
	assert_true(t.data[2 * ADD_ELEMENTS] == 7);
	assert_result(BAD_DATA, ANeuralNetworksEvent_getSyncFenceFd(event, &fd));
	for (int32_t code = ANEURALNETWORKS_DURATION_ON_HARDWARE;
	     code <= ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER; code++) {
		assert_ok(ANeuralNetworksExecution_getDuration(e, code, &ns));
		assert_true(ns != UINT64_MAX);
	}
	ANeuralNetworksEvent_free(event);
	ANeuralNetworksExecution_free(e);
}

/* Each execution of the chain depends on the event of the previous execution. */
static void test_chain(void **state)
{
	ANeuralNetworksExecution *e[LINKS];
	ANeuralNetworksEvent *events[LINKS];

	(void)state;
	t.data[0] = 1;
	t.data[ADD_ELEMENTS] = 1;
	for (uint32_t i = 0; i < LINKS; i++) {
		e[i] = add(0, 1, i % 2);
		events[i] = start(e[i], i ? events[i - 1] : NULL);
	}
	assert_ok(ANeuralNetworksEvent_wait(events[LINKS - 1]));
	/* The results of the chain are Fibonacci numbers: 2, 3, 5, 8 ... */
	assert_true(t.data[0] == 89 && t.data[ADD_ELEMENTS] == 144);
	for (uint32_t i = 0; i < LINKS; i++) {
		/*
		 * An execution that has ended may be freed before the event of the execution is
		 * freed.
		 */
		ANeuralNetworksExecution_free(e[i]);
		ANeuralNetworksEvent_free(events[i]);
	}
}

/* Opens a sync_file that has already signalled, namely the sync_file of an unused dma-buf. */
static int open_sync_file(void)
{
	struct nnaccel_pool_alloc pool = { .size = sizeof(pool), .length = 1 };
	struct nnaccel_pool_export buffer = { .size = sizeof(buffer) };
	struct dma_buf_export_sync_file file = { .flags = DMA_BUF_SYNC_RW, .fd = -1 };
	int device = open(NNA_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	assert_true(device >= 0);
	assert_int_equal(ioctl(device, NNACCEL_POOL_ALLOC, &pool), 0);
	buffer.id = pool.out_id;
	assert_int_equal(ioctl(device, NNACCEL_POOL_EXPORT, &buffer), 0);
	assert_int_equal(ioctl(buffer.out_fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &file), 0);
	close(buffer.out_fd);
	close(device);
	return file.fd;
}

/* The device nnaccel waits both for fences of other drivers and for executions. */
static void test_sync_file(void **state)
{
	ANeuralNetworksExecution *e[2] = { add(0, 1, 2), add(2, 1, 3) };
	ANeuralNetworksEvent *events[2], *fence;
	const ANeuralNetworksEvent *both[2];
	int file = open_sync_file(), copy, files;

	(void)state;
	t.data[0] = 1;
	t.data[ADD_ELEMENTS] = 2;
	assert_ok(ANeuralNetworksEvent_createFromSyncFenceFd(file, &fence));
	close(file);
	assert_ok(ANeuralNetworksEvent_getSyncFenceFd(fence, &copy));
	assert_true(copy > 0);
	close(copy);
	events[0] = start(e[0], fence);
	both[0] = fence;
	both[1] = events[0];
	files = count_files();
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(e[1], both, 2, 0,
									&events[1]));
	assert_int_equal(count_files(), files + 1);
	assert_ok(ANeuralNetworksEvent_wait(events[1]));
	assert_true(t.data[3 * ADD_ELEMENTS] == 5);
	assert_ok(ANeuralNetworksEvent_wait(fence));
	for (int i = 0; i < 2; i++) {
		ANeuralNetworksExecution_free(e[i]);
		ANeuralNetworksEvent_free(events[i]);
	}
	ANeuralNetworksEvent_free(fence);
}

/*
 * The runtime notices the end of an execution even if no thread has waited for the event; then the
 * application can start the execution again.
 */
static void test_polled(void **state)
{
	ANeuralNetworksExecution *e = add(0, 1, 2);
	ANeuralNetworksEvent *events[2];
	uint32_t dims[2];
	uint64_t ns;
	int result;

	(void)state;
	assert_ok(ANeuralNetworksExecution_setReusable(e, true));
	assert_ok(ANeuralNetworksExecution_setMeasureTiming(e, true));
	for (int i = 0; i < 2; i++) {
		events[i] = start(e, NULL);
		while ((result = ANeuralNetworksExecution_getOutputOperandDimensions(e, 0, dims)) ==
		       ANEURALNETWORKS_BAD_STATE)
			usleep(1000);
		assert_ok(result);
		assert_int_equal(dims[0], 2);
		assert_ok(ANeuralNetworksExecution_getDuration(
			e, ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER, &ns));
	}
	assert_ok(ANeuralNetworksExecution_compute(e));
	ANeuralNetworksEvent_free(events[0]);
	ANeuralNetworksExecution_free(e);
	assert_ok(ANeuralNetworksEvent_wait(events[1]));
	ANeuralNetworksEvent_free(events[1]);
}

/*
 * Makes an execution whose inputs are given by pointers. The execution's output is given by the
 * pointer `sum`, or lies in t.memory if `sum` is NULL.
 */
static ANeuralNetworksExecution *add_pointers(const float *a, float *sum)
{
	ANeuralNetworksExecution *e;

	assert_ok(ANeuralNetworksExecution_create(t.compilation, &e));
	assert_ok(ANeuralNetworksExecution_setInput(e, 0, NULL, a, SIZE));
	assert_ok(ANeuralNetworksExecution_setInput(e, 1, NULL, a, SIZE));
	if (sum)
		assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, SIZE));
	else
		assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, t.memory, 0,
								       SIZE));
	return e;
}

/*
 * If no dependency is pending, the call that starts an execution copies inputs that are given by
 * pointers.
 */
static void test_pointer_inputs(void **state)
{
	float one[ADD_ELEMENTS] = { 1 };
	ANeuralNetworksExecution *e[LINKS];
	ANeuralNetworksEvent *events[LINKS];

	(void)state;
	for (int i = 0; i < LINKS; i++) {
		if (i)
			assert_ok(ANeuralNetworksEvent_wait(events[i - 1]));
		one[0] = (float)i;
		e[i] = add_pointers(one, NULL);
		events[i] = start(e[i], i ? events[i - 1] : NULL);
		one[0] = -1;
		assert_ok(ANeuralNetworksEvent_wait(events[i]));
		assert_true(t.data[0] == 2 * (float)i);
	}
	for (int i = 0; i < LINKS; i++) {
		ANeuralNetworksEvent_free(events[i]);
		ANeuralNetworksExecution_free(e[i]);
	}
}

/* Makes device memory that can be any input or the output of the compilation. */
static ANeuralNetworksMemory *device_memory(void)
{
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	for (uint32_t i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, t.compilation, i, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, t.compilation, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	return memory;
}

/*
 * Starts an execution of to = from + from; the execution depends on the event `before`, which may
 * be NULL.
 */
static ANeuralNetworksEvent *start_double(const ANeuralNetworksMemory *from,
					  const ANeuralNetworksMemory *to,
					  const ANeuralNetworksEvent *before, uint64_t timeout,
					  ANeuralNetworksExecution **e)
{
	assert_ok(ANeuralNetworksExecution_create(t.compilation, e));
	for (int32_t i = 0; i < 2; i++)
		assert_ok(ANeuralNetworksExecution_setInputFromMemory(*e, i, NULL, from, 0, 0));
	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(*e, 0, NULL, to, 0, 0));
	assert_ok(ANeuralNetworksExecution_setTimeout(*e, timeout));
	return start(*e, before);
}

static void test_device_memories(void **state)
{
	ANeuralNetworksMemory *memories[] = { device_memory(), device_memory() }, *host;
	ANeuralNetworksExecution *e[LINKS];
	ANeuralNetworksEvent *events[LINKS];
	void *base;

	(void)state;
	host = shared_memory(SIZE, PROT_READ | PROT_WRITE, &base);
	memcpy(base, add_a, SIZE);
	assert_ok(ANeuralNetworksMemory_copy(host, memories[0]));
	for (uint32_t i = 0; i < LINKS; i++)
		events[i] = start_double(memories[i % 2], memories[(i + 1) % 2],
					 i ? events[i - 1] : NULL, 0, &e[i]);
	for (uint32_t i = LINKS; i--;) {
		assert_ok(ANeuralNetworksEvent_wait(events[i]));
		ANeuralNetworksEvent_free(events[i]);
		ANeuralNetworksExecution_free(e[i]);
	}
	assert_ok(ANeuralNetworksMemory_copy(memories[LINKS % 2], host));
	for (uint32_t i = 0; i < ADD_ELEMENTS; i++)
		assert_true(((float *)base)[i] == add_a[i] * (1 << LINKS));

	/*
	 * A failed execution writes nothing, and executions that depend on the failed execution
	 * write nothing.
	 */
	events[0] = start_double(memories[0], memories[1], NULL, 1, &e[0]);
	events[1] = start_double(memories[1], memories[0], events[0], 0, &e[1]);
	assert_int_not_equal(ANeuralNetworksEvent_wait(events[0]), ANEURALNETWORKS_NO_ERROR);
	assert_result(OP_FAILED, ANeuralNetworksEvent_wait(events[1]));
	for (uint32_t i = 0; i < 2; i++) {
		assert_result(BAD_DATA, ANeuralNetworksMemory_copy(memories[i], host));
		ANeuralNetworksEvent_free(events[i]);
		ANeuralNetworksExecution_free(e[i]);
		ANeuralNetworksMemory_free(memories[i]);
	}
	ANeuralNetworksMemory_free(host);
	munmap(base, SIZE);
}

/*
 * If the output of an execution is given by a pointer, a thread of the runtime waits for the
 * execution.
 */
static void test_pointer_outputs(void **state)
{
	float one[ADD_ELEMENTS] = { 1 }, sum[ADD_ELEMENTS] = { 0 };
	ANeuralNetworksExecution *e = add_pointers(one, sum), *after = add_pointers(sum, NULL);
	ANeuralNetworksExecution *last = add(0, 0, 1);
	ANeuralNetworksEvent *events[3];
	int fd, files;

	(void)state;
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(e, NULL, 0, 0,
									&events[0]));
	assert_result(BAD_DATA, ANeuralNetworksEvent_getSyncFenceFd(events[0], &fd));
	assert_int_equal(fd, -1);
	/*
	 * The second execution reads the first execution's output only after the first execution
	 * has ended.
	 */
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
		after, (const ANeuralNetworksEvent *const *)events, 1, 0, &events[1]));
	assert_ok(ANeuralNetworksEvent_wait(events[1]));
	assert_true(t.data[0] == 4);
	/*
	 * The runtime need not wait before it starts the last execution, because the two executions
	 * on which it depends have ended.
	 */
	files = count_files();
	assert_ok(ANeuralNetworksExecution_startComputeWithDependencies(
		last, (const ANeuralNetworksEvent *const *)events, 2, 0, &events[2]));
	assert_int_equal(count_files(), files + 1);
	assert_ok(ANeuralNetworksEvent_wait(events[2]));
	assert_true(t.data[ADD_ELEMENTS] == 8);
	for (int i = 0; i < 3; i++)
		ANeuralNetworksEvent_free(events[i]);
	ANeuralNetworksExecution_free(e);
	ANeuralNetworksExecution_free(after);
	ANeuralNetworksExecution_free(last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_event, begin, end),
		cmocka_unit_test_setup_teardown(test_chain, begin, end),
		cmocka_unit_test_setup_teardown(test_sync_file, begin, end),
		cmocka_unit_test_setup_teardown(test_polled, begin, end),
		cmocka_unit_test_setup_teardown(test_pointer_inputs, begin, end),
		cmocka_unit_test_setup_teardown(test_pointer_outputs, begin, end),
		cmocka_unit_test_setup_teardown(test_device_memories, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
