/* SPDX-License-Identifier: MIT */
/*
 * Tests three engines, which are three devices of libneuralnetworks in addition to the CPU. The
 * test compiles a model for each device, and all devices use the same memory. The test needs a
 * running nnacceld, the program of nnacceld, and root, because the test starts two more engines.
 */
#define _GNU_SOURCE
#include "tests/clock_rate.h"
#include "tests/engines_fixture.h"
#include "tests/named_devices.h"

static ANeuralNetworksCompilation *compile_for(ANeuralNetworksModel *model, const char *name)
{
	const ANeuralNetworksDevice *device = find_device(name);
	ANeuralNetworksCompilation *c;

	assert_non_null(device);
	assert_ok(ANeuralNetworksDevice_wait(device));
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &c));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	return c;
}

static void compute(ANeuralNetworksCompilation *c, ANeuralNetworksMemory *memory, const float *sum)
{
	ANeuralNetworksExecution *e = add_execution(c);

	assert_ok(ANeuralNetworksExecution_setOutputFromMemory(e, 0, NULL, memory, 0,
							       ADD_ELEMENTS * sizeof(float)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	assert_sum(sum);
	ANeuralNetworksExecution_free(e);
}

static void test_each_computes(void **state)
{
	static const char *const names[] = { "nnaccel", "test-second", "test-third" };
	ANeuralNetworksCompilation *compilations[ARRAY_SIZE(names)];
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksMemory *memory;
	int fd = memfd_create("sum", MFD_CLOEXEC);
	float *sum;

	(void)state;
	assert_true(fd >= 0 && !ftruncate(fd, 4096));
	sum = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(sum, MAP_FAILED);
	assert_ok(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &memory));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		compilations[i] = compile_for(model, names[i]);
	for (int k = 0; k < 5; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			memset(sum, 0, ADD_ELEMENTS * sizeof(float));
			compute(compilations[i], memory, sum);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ANeuralNetworksCompilation_free(compilations[i]);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksModel_free(model);
	munmap(sum, 4096);
	close(fd);
}

/*
 * Executions fail on a device whose engine has ended. After one engine has ended, other devices
 * still compute, and compilations that name no device still compute.
 */
static void test_one_ends(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *second = compile_for(model, "test-second");
	ANeuralNetworksCompilation *third = compile_for(model, "test-third");
	float sum[ADD_ELEMENTS] = { 0 };
	ANeuralNetworksExecution *e;
	int result;

	(void)state;
	stop_other(0, SIGKILL);
	/*
	 * The workers of a killed engine end some time after the engine. The test speeds up the
	 * clock, so that the runtime waits only a short time for a new engine.
	 */
	set_clock_rate(50);
	do {
		e = add_execution(second);
		assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, sizeof(sum)));
		result = ANeuralNetworksExecution_compute(e);
		ANeuralNetworksExecution_free(e);
	} while (result == ANEURALNETWORKS_NO_ERROR);
	set_clock_rate(1);
	assert_result(DEAD_OBJECT, result);
	e = add_execution(third);
	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	assert_sum(sum);
	ANeuralNetworksExecution_free(e);
	assert_result(DEAD_OBJECT, ANeuralNetworksDevice_wait(find_device("test-second")));
	ANeuralNetworksCompilation_free(second);
	ANeuralNetworksCompilation_free(third);
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_computes),
		cmocka_unit_test(test_one_ends),
	};

	return cmocka_run_group_tests(tests, start_others, stop_others);
}
