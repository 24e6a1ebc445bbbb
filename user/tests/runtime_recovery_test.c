/* SPDX-License-Identifier: MIT */
/*
 * Tests that programs can use the accelerator again after it was absent, after its worker died, and
 * in a forked process.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_fake_accel.h"
#include "tests/clock_rate.h"

#define THREADS 4
#define KILLS 50

/* Seconds after which a child process is killed if a call in the child hangs. */
#define HANG_S 20

static uint32_t count_devices(void)
{
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	return count;
}

static unsigned int looked;

static void note_look(void)
{
	looked++;
}

/*
 * Advances the clock by `ns`, and calls ANeuralNetworks_getDeviceCount(). Returns true if
 * ANeuralNetworks_getDeviceCount() searched for devices.
 */
static bool looks_after(uint64_t ns)
{
	unsigned int before = looked;

	stop_clock_after(ns);
	count_devices();
	return looked > before;
}

/*
 * Runs in a child process, and returns the exit status of the child. The pauses between searches
 * for devices double from 0.1 s to 5 s.
 */
static int look_on(void)
{
	static const uint64_t pauses_ms[] = { 100, 200, 400, 800, 1600, 3200, 5000, 5000 };

	accel.is_absent = true;
	accel.at_list = note_look;
	alarm(HANG_S);
	if (!looks_after(0) || looked != 1)
		return 2;
	for (size_t i = 0; i < ARRAY_SIZE(pauses_ms); i++)
		if (looks_after(0) || looks_after(pauses_ms[i] * 1000000 - 1) || !looks_after(1))
			return 3 + (int)i;
	/*
	 * After the library has found a device, it searches for further devices every 5 s, the
	 * longest pause between searches.
	 */
	accel.is_absent = false;
	if (!looks_after(5 * NS_PER_S) || count_devices() != 2)
		return 20;
	accel.has_second = true;
	if (looks_after(5 * NS_PER_S - 1) || !looks_after(1) || count_devices() != 3)
		return 21;
	return looks_after(5 * NS_PER_S - 1) ? 22 : 0;
}

/* This test must run first, because all other tests search for devices. */
static void test_pauses_between_looks(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child)
		_exit(look_on());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static atomic_bool looks, forked;

/*
 * Waits, in a search for devices, until another thread forks; the library may make fork() wait
 * until the search ends.
 */
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

/*
 * If a process forks during its first NNAPI call, parent and child must continue. This test runs
 * before tests that search for devices.
 */
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

/* After this test, the accelerator is in the list of devices for all later tests. */
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

	/* The kernel module is loaded, but the device has no engine. */
	accel.is_absent = false;
	accel.is_offline = true;
	c = compile(model, false);
	assert_ok(compute_sum(c));
	assert_int_equal(accel.executed, 0);
	/*
	 * The library did not request the device's info, because such a request waits for an
	 * engine.
	 */
	assert_int_equal(accel.asked_for_info, 0);
	ANeuralNetworksCompilation_free(c);

	/*
	 * A new compilation searches for the engine immediately, even during a pause between
	 * searches.
	 */
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

	/*
	 * If the worker of a burst's model has died, the runtime prepares the model again, and the
	 * burst uses the new prepared model.
	 */
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
	/*
	 * An execution outside of the burst prepares the model again. The burst then replaces its
	 * memory for the dead prepared model.
	 */
	accel.worker++;
	assert_ok(compute_sum(c));
	memset(sum, 0, sizeof(sum));
	assert_ok(ANeuralNetworksExecution_burstCompute(execution, burst));
	assert_sum(sum);
	assert_int_equal(accel.prepared, 4);
	assert_int_equal(accel.in_bursts, 4);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksBurst_free(burst);

	/* The application can make a burst even while the model's worker is dead. */
	accel.worker++;
	assert_ok(ANeuralNetworksBurst_create(c, &burst));
	ANeuralNetworksBurst_free(burst);
	assert_int_equal(accel.bursts, 0);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* A request for device memory of a model whose worker has died prepares the model again. */
static void test_memory_of_the_dead(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory;

	(void)state;
	accel.has_buffers = true;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, c, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, c, 1, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	for (uint32_t i = 0; i < 3; i++) {
		assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
		assert_int_equal(accel.prepared, 1 + i);
		ANeuralNetworksMemory_free(memory);
		assert_ok(compute_sum(c));
		accel.worker++;
	}
	accel.is_offline = true;
	assert_result(DEAD_OBJECT, ANeuralNetworksMemory_createFromDesc(desc, &memory));
	ANeuralNetworksMemoryDesc_free(desc);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * If executions kill the model's worker, the runtime prepares the model a second time immediately,
 * a third time after a pause.
 */
static void test_keeps_dying(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	accel.keeps_dying = true;
	assert_result(DEAD_OBJECT, compute_sum(c));
	assert_int_equal(accel.prepared, 2);
	/*
	 * Executions during the pause before the third preparation do not prepare the model again.
	 */
	set_clock_rate(0);
	for (int i = 0; i < 100; i++)
		assert_result(DEAD_OBJECT, compute_sum(c));
	assert_int_equal(accel.prepared, 2);
	set_clock_rate(1000);
	accel.keeps_dying = false;
	while (compute_sum(c) != ANEURALNETWORKS_NO_ERROR)
		usleep(1000);
	set_clock_rate(1);
	/*
	 * If a worker dies after a successful execution, the next preparation begins without a
	 * pause.
	 */
	accel.worker++;
	assert_ok(compute_sum(c));
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * The pauses between preparations double from 1 s to a minute while all executions fail, and begin
 * with 1 s after a success.
 */
static void test_pauses_of_the_dying(void **state)
{
	static const uint64_t pauses_s[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	for (int round = 0; round < 2; round++) {
		stop_clock_after(0);
		accel.keeps_dying = true;
		accel.prepared = 0;
		assert_result(DEAD_OBJECT, compute_sum(c));
		assert_int_equal(accel.prepared, 1);
		for (uint32_t i = 0; i < ARRAY_SIZE(pauses_s); i++) {
			assert_result(DEAD_OBJECT, compute_sum(c));
			stop_clock_after(pauses_s[i] * NS_PER_S - 1);
			assert_result(DEAD_OBJECT, compute_sum(c));
			assert_int_equal(accel.prepared, 1 + i);
			stop_clock_after(1);
			assert_result(DEAD_OBJECT, compute_sum(c));
			assert_int_equal(accel.prepared, 2 + i);
		}
		/*
		 * While the device has no engine, the runtime prepares no model, and begins no
		 * pause.
		 */
		stop_clock_after(60 * NS_PER_S);
		accel.keeps_dying = false;
		accel.is_offline = true;
		set_clock_rate(1000);
		assert_result(DEAD_OBJECT, compute_sum(c));
		accel.is_offline = false;
		assert_ok(compute_sum(c));
		assert_int_equal(accel.prepared, 2 + ARRAY_SIZE(pauses_s));
	}
	set_clock_rate(1);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static void *compute_in_thread(void *compilation)
{
	return compute_sum(compilation) ? NULL : compilation;
}

/*
 * While the device has no engine, the CPU executes models without waiting for an engine, if the
 * compilation allows the CPU.
 */
static void test_engine_comes_back(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *named = for_accelerator(model), *any = compile(model, false);
	pthread_t thread;
	void *computed;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(named));
	accel.worker++;
	accel.is_offline = true;
	/*
	 * An execution for only the accelerator waits for an engine that may be restarting, so make
	 * the clock faster.
	 */
	set_clock_rate(1000);
	assert_result(DEAD_OBJECT, compute_sum(named));
	set_clock_rate(1);
	assert_ok(compute_sum(any));
	assert_int_equal(accel.executed, 0);
	assert_result(DEAD_OBJECT, ANeuralNetworksDevice_wait(accelerator()));
	accel.is_offline = false;
	/*
	 * After one thread has failed to prepare the model again, another thread can prepare and
	 * execute the model.
	 */
	assert_int_equal(pthread_create(&thread, NULL, compute_in_thread, named), 0);
	pthread_join(thread, &computed);
	assert_ptr_equal(computed, named);
	assert_ok(compute_sum(any));
	assert_int_equal(accel.executed, 2);
	assert_ok(ANeuralNetworksDevice_wait(accelerator()));
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksCompilation_free(any);
	ANeuralNetworksModel_free(model);
}

/*
 * An execution for only the accelerator waits for an engine that is restarting. If the execution
 * fails after the restart, the log has the reason.
 */
static void test_engine_is_restarted(void **state)
{
	static const struct {
		enum nn_status status;
		int result;
		const char *line;
	} cases[] = {
		{ NN_OK, ANEURALNETWORKS_NO_ERROR, "" },
		{ NN_GENERAL_FAILURE, ANEURALNETWORKS_OP_FAILED,
		  "ANeuralNetworksExecution_compute: OP_FAILED: nnaccel: told to fail" },
	};
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *named = for_accelerator(model);

	(void)state;
	assert_ok(ANeuralNetworksCompilation_finish(named));
	nna_log_set(take_line, NULL, NNA_LOG_ERROR);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		accel.worker++;
		/*
		 * The execution finds no engine, and its first search for an engine finds none
		 * either.
		 */
		accel.offline_looks = 2;
		accel.execute_status = cases[i].status;
		accel.executed = 0;
		last_line[0] = '\0';
		assert_int_equal(compute_sum(named), cases[i].result);
		assert_string_equal(last_line, cases[i].line);
		assert_int_equal(accel.executed, 1);
		assert_int_equal(accel.offline_looks, 0);
	}
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksModel_free(model);
}

/*
 * Runs in the child process: executes the parent's compilation, and then a compilation of the
 * child. Returns the child's exit status.
 */
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
	/* The children's use of the compilation did not change the parent's device handle. */
	assert_ok(compute_sum(c));
	assert_int_equal(accel.prepared, 1);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* Executes a compilation with device memory as its first input; returns the execution's result. */
static int compute_with(ANeuralNetworksCompilation *compilation, ANeuralNetworksMemory *memory)
{
	ANeuralNetworksExecution *execution;
	float sum[ADD_ELEMENTS];
	int result;

	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	result = ANeuralNetworksExecution_compute(execution);
	ANeuralNetworksExecution_free(execution);
	return result;
}

/*
 * Runs in a child process. The child cannot use memory of its parent's device, because the memory's
 * token is the token of other memory in the child. The child's first request for device memory
 * prepares the parent's model again; a later request does so only if the worker has died.
 */
static int allocate_in_child(ANeuralNetworksCompilation *c, const ANeuralNetworksMemoryDesc *desc,
			     ANeuralNetworksMemory *parents)
{
	ANeuralNetworksMemory *memory;

	for (int i = 0; i < 2; i++) {
		assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
		assert_int_equal(accel.prepared, 2);
		assert_result(BAD_DATA, compute_with(c, parents));
		ANeuralNetworksMemory_free(memory);
	}
	accel.worker++;
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	assert_int_equal(accel.prepared, 3);
	ANeuralNetworksMemory_free(memory);
	return 0;
}

static void test_memory_in_forked_child(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = for_accelerator(model);
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *memory, *host;
	void *base;
	pid_t child;
	int status;

	(void)state;
	accel.has_buffers = true;
	assert_ok(ANeuralNetworksCompilation_finish(c));
	assert_ok(ANeuralNetworksMemoryDesc_create(&desc));
	assert_ok(ANeuralNetworksMemoryDesc_addInputRole(desc, c, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_addOutputRole(desc, c, 0, 1));
	assert_ok(ANeuralNetworksMemoryDesc_finish(desc));
	assert_ok(ANeuralNetworksMemory_createFromDesc(desc, &memory));
	host = shared_memory(sizeof(add_a), PROT_READ | PROT_WRITE, &base);
	assert_ok(ANeuralNetworksMemory_copy(host, memory));
	assert_ok(compute_with(c, memory));
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(allocate_in_child(c, desc, memory));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	ANeuralNetworksMemory_free(memory);
	ANeuralNetworksMemory_free(host);
	munmap(base, sizeof(add_a));
	ANeuralNetworksMemoryDesc_free(desc);
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

/* Workers die while several threads execute models; each execution must still succeed. */
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
		cmocka_unit_test_setup(test_pauses_between_looks, reset),
		cmocka_unit_test_setup(test_fork_in_first_call, reset),
		cmocka_unit_test_setup(test_appears, reset),
		cmocka_unit_test_setup(test_prepared_again, reset),
		cmocka_unit_test_setup(test_memory_of_the_dead, reset),
		cmocka_unit_test_setup(test_keeps_dying, reset),
		cmocka_unit_test_setup(test_pauses_of_the_dying, reset),
		cmocka_unit_test_setup(test_engine_comes_back, reset),
		cmocka_unit_test_setup(test_engine_is_restarted, reset),
		cmocka_unit_test_setup(test_forked_children, reset),
		cmocka_unit_test_setup(test_memory_in_forked_child, reset),
		cmocka_unit_test_setup(test_dies_under_load, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
