/* SPDX-License-Identifier: MIT */
/*
 * libnnaccel and the kit without the module: kit_engine serves this program's clients at a socket, by
 * processes and by threads.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "hal/device.h"
#include "tests/kit_engine/engine.h"
#include "tests/model_builder.h"

#define COUNT 5
#define MOST 2			/* clients at a time */

static char program[4096];
static char folder[] = "/tmp/nnaccel-direct-XXXXXX", path[64];
static pid_t engine;
static struct nna_device *device;
static struct nn_error err;

static void check(enum nn_status status)
{
	if (status)
		fail_msg("%s: %s", nn_status_name(status), err.message);
}

/* ---- the engine ---- */

static void start_engine(const char *clients)
{
	char option[80];

	snprintf(option, sizeof(option), "--direct=%s", path);
	engine = fork();
	if (!engine) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execl(program, program, option, clients, "--max-clients=2", "--log-level=error", NULL);
		_exit(127);
	}
	while (access(path, F_OK))
		usleep(1000);
}

static void stop_engine(int signal)
{
	kill(engine, signal);
	waitpid(engine, NULL, 0);
	unlink(path);
}

static int set_up(void **state)
{
	start_engine(*state);
	return nna_device_open(path, &device, &err);
}

static int tear_down(void **state)
{
	(void)state;
	nna_device_close(device);
	stop_engine(SIGTERM);
	return 0;
}

/* ---- executions: x + 1 ---- */

static struct nna_prepared_model *prepare(struct nna_device *d, uint32_t count)
{
	static const float one = 1;
	struct nna_prepared_model *p = NULL;
	struct model_builder b;
	uint32_t x, y, none, sum;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	y = mb_constant(&b, NN_TENSOR_FLOAT32, &one, sizeof(one), MB_DIMS(1));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	mb_operation(&b, NN_OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	if (nna_prepare_model(d, &b.model, NULL, NULL, &p, &err))
		return NULL;
	return p;
}

/* Memory of `count` inputs and as many outputs. */
static struct nna_memory *fill(uint32_t count, float from)
{
	struct nna_memory *m = NULL;
	float *data;

	check(nna_memory_alloc(device, 2 * count * sizeof(*data), &m, &err));
	data = nna_memory_map(m, &err);
	for (uint32_t i = 0; i < count; i++)
		data[i] = from + (float)i;
	return m;
}

static enum nn_status run(struct nna_prepared_model *p, struct nna_burst *burst,
			  struct nna_memory *m, uint64_t deadline_ns)
{
	const uint64_t length = nna_memory_size(m) / 2;
	const struct nna_argument in = { .length = length }, out = { .offset = length, .length = length };
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .num_memories = 1, .inputs = &in,
		.outputs = &out, .memories = &m,
	};
	const struct nna_execute_options o = { .size = sizeof(o), .deadline_ns = deadline_ns };

	if (burst)
		return nna_burst_execute(burst, &r, &o, NULL, NULL, NULL, &err);
	return nna_execute(p, &r, &o, NULL, NULL, NULL, &err);
}

/* Executes with memory of its own, which is freed. */
static void check_sum(struct nna_prepared_model *p, struct nna_burst *burst, float from)
{
	struct nna_memory *m = fill(COUNT, from);
	const float *data = nna_memory_map(m, &err);

	check(run(p, burst, m, 0));
	for (int i = 0; i < COUNT; i++)
		assert_true(data[COUNT + i] == from + (float)i + 1);
	nna_memory_free(m);
}

/* Slots of a burst come and go; a model and a burst outlive what else is freed. */
static void test_executions(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_burst *burst;

	(void)state;
	assert_non_null(p);
	check(nna_burst_create(p, NULL, &burst, &err));
	for (int i = 0; i < 20; i++) {
		check_sum(p, NULL, (float)i);
		check_sum(p, burst, (float)-i);
	}
	nna_burst_free(burst);
	nna_prepared_model_free(p);
}

/* Its buffers lie in a layout of the engine's own. */
static void test_buffers(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	const struct nna_role role = { .frequency = 1 };
	float data[COUNT] = { 1, 2, 3, 4, 5 };
	const struct nna_argument in = { .pool = 0 }, out = { .pool = 1 };
	struct nna_buffer *a, *b;
	uint32_t tokens[2];
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_tokens = 2, .tokens = tokens,
	};

	(void)state;
	check(nna_buffer_allocate(device, NULL, &p, 1, &role, 1, NULL, 0, &a, &tokens[0], &err));
	check(nna_buffer_allocate(device, NULL, &p, 1, NULL, 0, &role, 1, &b, &tokens[1], &err));
	assert_int_equal(nna_execute(p, &r, NULL, NULL, NULL, NULL, &err), NN_GENERAL_FAILURE);
	check(nna_buffer_write(a, data, sizeof(data), 0, NULL, &err));
	check(nna_execute(p, &r, NULL, NULL, NULL, NULL, &err));
	check(nna_buffer_read(b, data, sizeof(data), &err));
	for (int i = 0; i < COUNT; i++)
		assert_true(data[i] == (float)i + 2);
	nna_buffer_free(a);
	nna_buffer_free(b);
	nna_prepared_model_free(p);
}

/* A late execution returns soon. If the engine goes on, the client's models die, and are prepared again. */
static void test_deadline(void **state)
{
	struct nna_prepared_model *p = prepare(device, 1);
	struct nna_memory *m = fill(1, KIT_ENGINE_LATE);
	enum nn_status status;

	(void)state;
	assert_int_equal(run(p, NULL, m, 1), NN_MISSED_DEADLINE_PERSISTENT);
	assert_int_equal(run(p, NULL, m, clock_ns() + 1000000), NN_MISSED_DEADLINE_TRANSIENT);
	nna_memory_free(m);
	do {
		m = fill(1, 1);
		status = run(p, NULL, m, 0);
		nna_memory_free(m);
	} while (status != NN_DEAD_OBJECT);
	nna_prepared_model_free(p);
	p = prepare(device, COUNT);
	assert_non_null(p);
	check_sum(p, NULL, 1);
	nna_prepared_model_free(p);
}

static void test_many_clients(void **state)
{
	struct nna_device *other[MOST] = { NULL };
	struct nna_prepared_model *p = prepare(device, COUNT), *q, *none;

	(void)state;
	for (int i = 0; i < MOST; i++)
		check(nna_device_open(path, &other[i], &err));
	q = prepare(other[0], COUNT);
	assert_non_null(q);
	assert_null(prepare(other[1], COUNT));
	assert_non_null(strstr(err.message, "too many"));
	nna_prepared_model_free(q);
	nna_device_close(other[0]);
	do
		none = prepare(other[1], COUNT);
	while (!none);
	nna_prepared_model_free(none);
	nna_device_close(other[1]);
	check_sum(p, NULL, 1);
	nna_prepared_model_free(p);
}

/* All that a client has dies with its engine, and all calls return. The next engine serves it. */
static void test_death(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m = fill(COUNT, 1);
	struct nna_burst *burst;

	check(nna_burst_create(p, NULL, &burst, &err));
	check(run(p, burst, m, 0));
	stop_engine(SIGTERM);
	while (nna_device_status(device) != NNA_OFFLINE)
		;
	while (run(p, burst, m, 0) != NN_DEAD_OBJECT)
		;
	assert_int_equal(run(p, NULL, m, 0), NN_DEAD_OBJECT);
	assert_null(prepare(device, COUNT));
	nna_burst_free(burst);
	nna_prepared_model_free(p);
	start_engine(*state);
	p = prepare(device, COUNT);
	assert_non_null(p);
	check(run(p, NULL, m, 0));
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

static void test_child(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m = fill(COUNT, 1);
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		bool refused = run(p, NULL, m, 0) == NN_DEVICE_UNAVAILABLE;

		nna_memory_free(m);
		nna_prepared_model_free(p);
		nna_device_close(device);
		_exit(!refused);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	check(run(p, NULL, m, 0));
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

static void test_memory(void **state)
{
	int file = memfd_create("direct", MFD_CLOEXEC), other;
	struct nna_memory *m;

	(void)state;
	assert_int_equal(ftruncate(file, 4096), 0);
	assert_int_equal(nna_memory_import(device, file, PROT_READ, 4000, 97, &m, &err),
			 NN_GENERAL_FAILURE);
	assert_int_equal(nna_memory_import(device, -1, PROT_READ, 0, 1, &m, &err), NN_INVALID_ARGUMENT);
	check(nna_memory_import(device, file, PROT_READ, 4000, 96, &m, &err));
	assert_int_equal(nna_memory_export(m, &other, &err), NN_INVALID_ARGUMENT);
	nna_memory_free(m);
	close(file);
}

static void test_wrong_paths(void **state)
{
	struct nna_device *d;

	(void)state;
	assert_int_equal(nna_device_open("/none", &d, &err), NN_DEVICE_UNAVAILABLE);
	check(nna_device_open(path, &d, &err));
	assert_int_equal(nna_device_status(d), NNA_AVAILABLE);
	nna_device_close(d);
	setenv("NNACCEL_DEVICE", path, 1);
	check(nna_device_open(NULL, &d, &err));
	nna_device_close(d);
	unsetenv("NNACCEL_DEVICE");
}

#define TEST(function) \
	{ #function " by processes", function, set_up, tear_down, (void *)"--clients=processes" }, \
	{ #function " by threads", function, set_up, tear_down, (void *)"--clients=threads" }

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_executions),
		TEST(test_buffers),
		TEST(test_deadline),
		TEST(test_many_clients),
		TEST(test_death),
		TEST(test_child),
		TEST(test_memory),
		TEST(test_wrong_paths),
	};
	int result;

	snprintf(program, sizeof(program), "%.*skit_engine",
		 (int)(strrchr(argv[0], '/') + 1 - argv[0]), argv[0]);
	if (argc < 1 || !mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/engine", folder);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return result;
}
