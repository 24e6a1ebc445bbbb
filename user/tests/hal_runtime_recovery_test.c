/* SPDX-License-Identifier: MIT */
/*
 * Tests that programs can use the device nnaccel after the engine has started, and after a worker
 * or the engine has died. The test uses the device in forked children, and after nnacceld has
 * refused a worker because of the user's limit on workers. The test needs the guest of scripts/vm,
 * whose engine this test stops and starts, and root to find the worker.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../selftests/lib/runner.h"
#include "tests/clock_rate.h"
#include "tests/runtime_fixture.h"
#include "tests/workers.h"

#define DEATHS how_often(3, 2)
#define CHILDREN how_often(8, 2)
#define ROOM how_often(64, 2)	/* limit of workers per user in the first tests */
#define COMPUTING 2		/* number of threads that compute */
#define COMPILING 2		/* threads that compile */
#define PAUSE_US (useconds_t)how_often(0, 5000)	/* pause between two executions */
#define NOBODY 65534

static void engine(const char *command)
{
	char line[128];

	snprintf(line, sizeof(line), "scripts/guest/engine %s", command);
	assert_int_equal(system(line), 0);
}

static uint32_t count_devices(void)
{
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	return count;
}

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

/* Compiles a model for the device nnaccel or for any device, and executes the model once. */
static void compile_and_compute(bool by_name)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = by_name ? compile_for_nnaccel(model) :
						  compile(model, false);

	compute(c, NULL);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * This test must run first, so that no engine exists when the program first asks for devices. The
 * next test uses the engine that this test starts.
 */
static void test_engine_comes_later(void **state)
{
	char command[64];

	(void)state;
	engine("stop");
	assert_int_equal(count_devices(), 1);
	compile_and_compute(false);
	snprintf(command, sizeof(command), "start --max-workers-per-user=%d", ROOM);
	engine(command);
	compile_and_compute(false);
	assert_int_equal(count_devices(), 2);
	compile_and_compute(true);
}

static struct {
	atomic_bool stop;
	atomic_uint computed, compiled;
} load;

static void *keep_computing(void *compilation)
{
	while (!load.stop) {
		compute(compilation, NULL);
		load.computed++;
		usleep(PAUSE_US);
	}
	return NULL;
}

static void *keep_compiling(void *unused)
{
	while (!load.stop) {
		compile_and_compute(false);
		load.compiled++;
		usleep(PAUSE_US);
	}
	return unused;
}

/*
 * Every execution and every compilation succeeds on some device. Executions of a compilation for
 * the device nnaccel succeed before, during and after each restart of the engine.
 */
static void test_engine_restarts(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *named = compile_for_nnaccel(model);
	ANeuralNetworksCompilation *unnamed = compile(model, false);
	pthread_t threads[COMPUTING + COMPILING];
	int restarts = how_often(50, 1);

	(void)state;
	for (int i = 0; i < COMPUTING + COMPILING; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i < COMPUTING ?
						keep_computing : keep_compiling,
						i & 1 ? named : unnamed), 0);
	for (int i = 0; i < restarts; i++) {
		engine("restart");
		compute(named, NULL);
		compile_and_compute(true);
		/*
		 * Print the progress, because the caller considers a test that prints nothing
		 * during fifty restarts as hanging.
		 */
		print_message("# restart %d of %d\n", i + 1, restarts);
		fflush(stdout);
	}
	load.stop = true;
	for (int i = 0; i < COMPUTING + COMPILING; i++)
		pthread_join(threads[i], NULL);
	print_message("%d restarts, %u executions, %u compilations\n", restarts, load.computed,
		      load.compiled);
	assert_true(load.computed && load.compiled);
	ANeuralNetworksCompilation_free(unnamed);
	ANeuralNetworksCompilation_free(named);
	ANeuralNetworksModel_free(model);
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

/* The parent process compiles before it forks children, as servers do. */
static void test_forked_children(void **state)
{
	ANeuralNetworksModel *model = add_model(2);
	ANeuralNetworksCompilation *c = compile_for_nnaccel(model);
	const int count = CHILDREN;
	pid_t children[8];
	int status;

	(void)state;
	compute(c, NULL);
	for (int i = 0; i < count; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i])
			continue;
		compute(c, NULL);
		c = compile_for_nnaccel(model);
		compute(c, NULL);
		_exit(0);
	}
	for (int i = 0; i < count; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	compute(c, NULL);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* A client process of an unprivileged user, and the test's ends of two pipes to the client. */
struct client {
	pid_t pid;
	int go;			/* closing this pipe wakes the client */
	int ready;
};

/*
 * Computes on any device, waits until the pipe `go` is closed, and computes on the device nnaccel.
 * Returns the exit status for the client process.
 */
static int be_client(gid_t group, int go, int ready)
{
	ANeuralNetworksModel *model = add_model(2);
	const ANeuralNetworksDevice *device;
	ANeuralNetworksCompilation *c;
	char byte = 0;

	if (setresgid(group, group, group) || setresuid(NOBODY, NOBODY, NOBODY))
		return 2;
	compile_and_compute(false);
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1))
		return 3;
	device = nnaccel_device();
	/* Repeat the compilation until the user may have one more worker. */
	for (;;) {
		assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &c));
		if (ANeuralNetworksCompilation_finish(c) == ANEURALNETWORKS_NO_ERROR) {
			compute(c, NULL);
			return 0;
		}
		ANeuralNetworksCompilation_free(c);
		usleep(10000);
	}
}

static void start_client(struct client *client, gid_t group)
{
	int go[2], ready[2];
	char byte;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	client->pid = fork();
	assert_true(client->pid >= 0);
	if (!client->pid) {
		close(go[1]);
		_exit(be_client(group, go[0], ready[1]));
	}
	close(go[0]);
	close(ready[1]);
	client->go = go[1];
	client->ready = ready[0];
	assert_int_equal(read(client->ready, &byte, 1), 1);
}

static void end_client(struct client *client)
{
	int status;

	close(client->go);
	close(client->ready);
	assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
	assert_int_equal(status, 0);
}

/*
 * A user runs more client processes than the user may have workers. The client process without a
 * worker can use the device after another client process has ended.
 */
static void test_one_client_too_many(void **state)
{
	const int room = ROOM;
	struct client *clients = calloc((size_t)room + 1, sizeof(*clients));
	struct stat node;

	(void)state;
	assert_int_equal(stat("/dev/nnaccel", &node), 0);
	/*
	 * A client process inherits the test's ends of the pipes to earlier clients. An earlier
	 * client continues only when all copies of the ends of its pipes are closed, so the test
	 * must end the clients in reverse order.
	 */
	for (int i = 0; i <= room; i++)
		start_client(&clients[i], node.st_gid);
	kill(clients[0].pid, SIGKILL);
	waitpid(clients[0].pid, NULL, 0);
	for (int i = room; i > 0; i--)
		end_client(&clients[i]);
	free(clients);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine_comes_later),
		cmocka_unit_test(test_one_client_too_many),
		/*
		 * The test test_engine_restarts() restarts the engine without the low limit on
		 * workers.
		 */
		cmocka_unit_test(test_engine_restarts),
		cmocka_unit_test(test_worker_dies),
		cmocka_unit_test(test_forked_children),
	};

	/*
	 * On a slow machine the test's clock runs slower, so that the library waits longer for a
	 * new engine.
	 */
	set_clock_rate(1000.0 / (double)scaled(1000));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
