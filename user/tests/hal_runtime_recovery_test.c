/* SPDX-License-Identifier: MIT */
/*
 * Programs get the device nnaccel back: after the death of their worker, and in forked children.
 * Needs /dev/nnaccel and a running nnacceld, and root to find the worker.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime_fixture.h"
#include "tests/workers.h"

#define DEATHS 3
#define CHILDREN 4

static ANeuralNetworksCompilation *compile_for_nnaccel(ANeuralNetworksModel *model)
{
	const ANeuralNetworksDevice *device = nnaccel_device();
	ANeuralNetworksCompilation *c;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &c));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	return c;
}

static void compute(ANeuralNetworksCompilation *c, ANeuralNetworksBurst *burst)
{
	ANeuralNetworksExecution *e = add_execution(c);
	float sum[ADD_ELEMENTS] = { 0 };

	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, sum, sizeof(sum)));
	assert_ok(burst ? ANeuralNetworksExecution_burstCompute(e, burst) :
			  ANeuralNetworksExecution_compute(e));
	assert_sum(sum);
	ANeuralNetworksExecution_free(e);
}

static void test_worker_dies(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile_for_nnaccel(model);
	ANeuralNetworksBurst *burst;

	(void)state;
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	for (int i = 0; i < DEATHS; i++) {
		compute(c, NULL);
		compute(c, burst);
		assert_true(workers_kill());
		compute(c, i & 1 ? burst : NULL);
	}
	compute(c, burst);
	ANeuralNetworksBurst_free(burst);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* As servers do that compile before they fork. */
static void test_forked_children(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile_for_nnaccel(model);
	pid_t children[CHILDREN];
	int status;

	(void)state;
	compute(c, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i])
			continue;
		compute(c, NULL);
		c = compile_for_nnaccel(model);
		compute(c, NULL);
		_exit(0);
	}
	for (int i = 0; i < CHILDREN; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	compute(c, NULL);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worker_dies),
		cmocka_unit_test(test_forked_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
