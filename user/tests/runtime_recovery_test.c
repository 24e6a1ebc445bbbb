/* SPDX-License-Identifier: MIT */
/*
 * How programs get the accelerator back: one that was absent, that died, that another process
 * opened.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_fake_accel.h"
#include "tests/clock_rate.h"

#define THREADS 4
#define KILLS 50

/* The child is killed if a call in it hangs. */
#define HANG_S 20

static uint32_t count_devices(void)
{
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	return count;
}

static atomic_bool looks, forked;

/* Another thread forks while this one looks for devices, unless the library makes that wait. */
static void wait_for_fork(void)
{
	accel.at_list = NULL;
	looks = true;
	for (int i = 0; i < 1000 && !forked; i++)
		usleep(1000);
}

static void note_fork(void)
{
	forked = true;
}

static void *count_in_thread(void *count)
{
	*(uint32_t *)count = count_devices();
	return NULL;
}

/* Before any other test: a process forks during its first call, and both go on. */
static void test_fork_in_first_call(void **state)
{
	uint32_t count = 0;
	pthread_t thread;
	pid_t child;
	int status;

	(void)state;
	accel.is_absent = true;
	accel.at_list = wait_for_fork;
	assert_int_equal(pthread_atfork(NULL, note_fork, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, count_in_thread, &count), 0);
	while (!looks)
		usleep(1000);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(HANG_S);
		_exit(count_devices() != 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	pthread_join(thread, NULL);
	assert_int_equal(count, 1);
	accel.is_absent = false;
}

/* The first test but one: the accelerator is in the list from then on. */
static void test_appears(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c;

	(void)state;
	accel.is_absent = true;
	assert_int_equal(count_devices(), 1);
	c = compile(model, false);
	assert_ok(compute_sum(c));
	assert_int_equal(accel.executed, 0);
	ANeuralNetworksCompilation_free(c);

	/* The module is there, the engine is not yet. */
	accel.is_absent = false;
	accel.is_offline = true;
	c = compile(model, false);
	assert_ok(compute_sum(c));
	assert_int_equal(accel.executed, 0);
	ANeuralNetworksCompilation_free(c);

	/* A compilation looks for it at once, whatever the pause. */
	accel.is_offline = false;
	c = compile(model, false);
	assert_ok(compute_sum(c));
	assert_int_equal(accel.executed, 1);
	assert_int_equal(count_devices(), 2);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void test_prepared_again(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksExecution *execution;
	ANeuralNetworksBurst *burst;
	float sum[ADD_ELEMENTS] = { 0 };

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	assert_ok(compute_sum(c));
	accel.worker++;
	assert_ok(compute_sum(c));
	assert_int_equal(accel.prepared, 2);
	assert_int_equal(accel.executed, 2);

	/* The burst is of a model that is dead: it gets a channel to the new one. */
	execution = add_execution(c);
	assert_ok(ANeuralNetworksExecution_setReusable(execution, true));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
	assert_sum(sum);
	assert_int_equal(accel.in_bursts, 1);
	accel.worker++;
	assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
	assert_int_equal(accel.prepared, 3);
	assert_int_equal(accel.in_bursts, 3);
	assert_int_equal(accel.bursts, 1);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksBurst_free(burst);

	/* One that is made of a dead model, too. */
	accel.worker++;
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	ANeuralNetworksBurst_free(burst);
	assert_int_equal(accel.bursts, 0);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* What kills its workers is prepared again once, then after a pause. */
static void test_keeps_dying(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	accel.keeps_dying = true;
	assert_result(DEAD_OBJECT, compute_sum(c));
	assert_int_equal(accel.prepared, 2);
	/* A hundred tries in a pause do not prepare it, and pauses double. */
	set_clock_rate(0);
	for (int i = 0; i < 100; i++)
		assert_result(DEAD_OBJECT, compute_sum(c));
	assert_int_equal(accel.prepared, 2);
	set_clock_rate(1000);
	accel.keeps_dying = false;
	while (compute_sum(c) != ANEURALNETWORKS_NO_ERROR)
		usleep(1000);
	set_clock_rate(1);
	/* After a success there is no pause. */
	accel.worker++;
	assert_ok(compute_sum(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* Without an engine the CPU takes its place, if it may; nothing waits for one. */
static void test_engine_comes_back(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *named = for_accelerator(model), *any = compile(model, false);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(named));
	accel.worker++;
	accel.is_offline = true;
	/* An engine that is restarted is waited for, in time that passes quickly. */
	set_clock_rate(1000);
	assert_result(DEAD_OBJECT, compute_sum(named));
	set_clock_rate(1);
	assert_ok(compute_sum(any));
	assert_int_equal(accel.executed, 0);
	assert_result(DEAD_OBJECT, ANeuralNetworksDevice_wait(accelerator()));
	accel.is_offline = false;
	assert_ok(compute_sum(named));
	assert_ok(compute_sum(any));
	assert_int_equal(accel.executed, 2);
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

/* In the child: what the parent compiled, and a compilation of its own. Returns an exit status. */
static int compute_in_child(ANeuralNetworksModel *model, ANeuralNetworksCompilation *parents)
{
	ANeuralNetworksCompilation *own = for_accelerator(model);

	assert_ok(compute_sum(parents));
	assert_ok(ANeuralNetworksCompilation_finish(own));
	assert_ok(compute_sum(own));
	assert_int_equal(accel.executed, 3);
	assert_int_equal(accel.prepared, 3);
	ANeuralNetworksCompilation_free(own);
	ANeuralNetworksCompilation_free(parents);
	return 0;
}

static void test_forked_children(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	int status;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(compute_sum(c));
	for (int i = 0; i < 8; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			_exit(compute_in_child(model, c));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	/* The parent's handle is as it was. */
	assert_ok(compute_sum(c));
	assert_int_equal(accel.prepared, 1);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static atomic_bool stop;

static void *compute_on(void *compilation)
{
	do {
		if (compute_sum(compilation) != ANEURALNETWORKS_NO_ERROR)
			return NULL;
	} while (!stop);
	return compilation;
}

/* Workers die while several threads execute: each execution succeeds all the same. */
static void test_dies_under_load(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile(model, false);
	pthread_t threads[THREADS];
	void *all_computed;

	(void)state;
	stop = false;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compute_on, c), 0);
	for (int i = 0; i < KILLS; i++) {
		usleep(2000);
		accel.worker++;
	}
	stop = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &all_computed);
		assert_non_null(all_computed);
	}
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_fork_in_first_call, reset),
		cmocka_unit_test_setup(test_appears, reset),
		cmocka_unit_test_setup(test_prepared_again, reset),
		cmocka_unit_test_setup(test_keeps_dying, reset),
		cmocka_unit_test_setup(test_engine_comes_back, reset),
		cmocka_unit_test_setup(test_forked_children, reset),
		cmocka_unit_test_setup(test_dies_under_load, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
