/* SPDX-License-Identifier: MIT */
/*
 * Tests libnnaccel and the engine kit without the kernel module. The engine kit_engine serves the
 * clients in the test program through a socket, and runs a process or a thread for each client.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/direct.h"
#include "base/packet.h"
#include "hal/device.h"
#include "hal/memory.h"
#include "hal/prepare.h"
#include "tests/kit_engine/engine.h"
#include "tests/failing/failing.h"
#include "tests/failing/kept.h"
#include "tests/model_builder.h"

#define COUNT 5
#define MOST 2			/* maximum number of clients of the engine */

static char program[4096];
static char folder[] = "/tmp/nnaccel-direct-XXXXXX", path[64];
static pid_t engine;
static struct nna_device *device;
static _Thread_local struct nn_error err;

static void check(enum nn_status status)
{
	if (status)
		fail_msg("%s: %s", nn_status_name(status), err.message);
}

/* ---- the engine ---- */

static const char *another;	/* additional option for the engine, or NULL */

/* Starts the engine; `clients` is the option that says how the engine serves clients. */
static void fork_engine(const char *clients, const char *option)
{
	char direct[80];

	snprintf(direct, sizeof(direct), "--direct=%s", path);
	engine = fork();
	if (!engine) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execl(program, program, direct, clients, "--max-clients=2", "--log-level=error", option,
		      another, NULL);
		_exit(127);
	}
}

static void await_engine(void)
{
	while (access(path, F_OK)) {
		assert_int_equal(waitpid(engine, NULL, WNOHANG), 0);
		usleep(1000);
	}
}

static void start_engine(const char *clients)
{
	fork_engine(clients, NULL);
	await_engine();
}

static void stop_engine(void)
{
	int status;

	kill(engine, SIGTERM);
	assert_int_equal(waitpid(engine, &status, 0), engine);
	assert_int_equal(status, 0);
	unlink(path);
}

static struct kept kept;

static int set_up(void **state)
{
	start_engine(*state);
	kept = kept_now();
	return nna_device_open(path, &device, &err);
}

static int tear_down(void **state)
{
	struct kept left;
	const char *more;

	(void)state;
	nna_device_close(device);
	left = kept_now();
	more = kept_more(&kept, &left);
	if (more)
		print_error("%s are left\n", more);
	stop_engine();
	return more != NULL;
}

/* ---- executions: x + 1 ---- */

static enum nn_status prepared;		/* status of the last preparation */

static struct nna_prepared_model *prepare_with(struct nna_device *d, uint32_t count,
					       const struct nna_prepare_options *options)
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
	prepared = nna_prepare_model(d, &b.model, NULL, options, &p, &err);
	if (prepared)
		return NULL;
	return p;
}

static struct nna_prepared_model *prepare(struct nna_device *d, uint32_t count)
{
	return prepare_with(d, count, NULL);
}

/*
 * Makes memory that contains `count` inputs with the values `from`, `from` + 1, ..., and has room
 * for `count` outputs.
 */
static struct nna_memory *fill(uint32_t count, float from)
{
	struct nna_memory *m = NULL;
	float *data;

	check(nna_memory_alloc(device, 2 * count * sizeof(*data), &m, &err));
	data = nna_memory_map(m, &err);
	assert_ptr_equal(nna_memory_map(m, &err), data);
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
		return nna_burst_execute(burst, &r, &o, NULL, &err);
	return nna_execute(p, &r, &o, NULL, &err);
}

static void check_sum(struct nna_prepared_model *p, struct nna_burst *burst, float from)
{
	struct nna_memory *m = fill(COUNT, from);
	const float *data = nna_memory_map(m, &err);

	check(run(p, burst, m, 0));
	for (int i = 0; i < COUNT; i++)
		assert_true(data[COUNT + i] == from + (float)i + 1);
	nna_memory_free(m);
}

/*
 * Executions with new memories add and free slots of a burst. A burst still works after another
 * burst is freed.
 */
static void test_executions(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_burst *burst, *other;

	(void)state;
	assert_non_null(p);
	check(nna_burst_create(p, NULL, &burst, &err));
	check(nna_burst_create(p, NULL, &other, &err));
	for (int i = 0; i < 20; i++) {
		check_sum(p, NULL, (float)i);
		check_sum(p, burst, (float)-i);
		check_sum(p, other, (float)(2 * i));
	}
	nna_burst_free(burst);
	check_sum(p, other, 1);
	nna_burst_free(other);
	nna_prepared_model_free(p);
}

/*
 * Calls once each function of libnnaccel that allocates memory. Returns false and sets err if one
 * of the calls failed.
 */
static bool run_all(void)
{
	const struct nna_role role = { .frequency = 1 };
	struct nna_prepared_model *p;
	struct nna_burst *burst = NULL;
	struct nna_memory *m = NULL;
	struct nna_buffer *buffer = NULL;
	float data[COUNT] = { 0 };
	uint32_t token;
	bool good;

	err.message[0] = '\0';
	p = prepare(device, COUNT);
	good = p && !nna_memory_alloc(device, 2 * COUNT * sizeof(*data), &m, &err) && nna_memory_map(m, &err) &&
	       !run(p, NULL, m, 0) && !nna_burst_create(p, NULL, &burst, &err) && !run(p, burst, m, 0) &&
	       !nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p,
				    .num_models = 1, .inputs = &role, .num_inputs = 1), &buffer,
				    &token, &err) &&
	       !nna_buffer_write(buffer, data, sizeof(data), 0, NULL, &err) &&
	       !nna_buffer_read(buffer, data, sizeof(data), &err);
	assert_true(good || err.message[0]);
	nna_buffer_free(buffer);
	nna_burst_free(burst);
	nna_memory_free(m);
	nna_prepared_model_free(p);
	return good;
}

/*
 * Each allocation of the library fails in turn. A failed allocation leaks no object, and the calls
 * succeed when they are repeated.
 */
static void test_out_of_memory(void **state)
{
	unsigned int failures, number = 0, failed = 0;

	(void)state;
	assert_true(run_all());
	do {
		struct kept before = kept_now(), left;

		failing_begin(FAILING_SELF, ++number, false);
		failed += !run_all();
		failures = failing_end(FAILING_SELF);
		left = kept_now();
		if (kept_more(&before, &left))
			fail_msg("allocation %u: %s are left", number, kept_more(&before, &left));
		/*
		 * If a failed allocation ended the library's connection, the library connects again
		 * once the engine has closed the old connection.
		 */
		while (!run_all())
			usleep(1000);
	} while (failures);
	assert_true(failed > 10);
}

/* The test engine uses its own layout for buffers of memory domains. */
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
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .inputs = &role, .num_inputs = 1), &a, &tokens[0], &err));
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .outputs = &role, .num_outputs = 1), &b, &tokens[1], &err));
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_GENERAL_FAILURE);
	check(nna_buffer_write(a, data, sizeof(data), 0, NULL, &err));
	check(nna_execute(p, &r, NULL, NULL, &err));
	check(nna_buffer_read(b, data, sizeof(data), &err));
	for (int i = 0; i < COUNT; i++)
		assert_true(data[i] == (float)i + 2);
	nna_buffer_free(a);
	nna_buffer_free(b);
	nna_prepared_model_free(p);
}

/* Executes a model until the execution returns NN_DEAD_OBJECT, because the model is lost. */
static void await_death(struct nna_prepared_model *p)
{
	enum nn_status status;

	do {
		struct nna_memory *m = fill(1, 1);

		status = run(p, NULL, m, 0);
		nna_memory_free(m);
	} while (status != NN_DEAD_OBJECT);
}

/*
 * An execution returns soon after its deadline. If the engine computes beyond the deadline, the
 * client loses its models and prepares the models again.
 */
static void test_deadline(void **state)
{
	struct nna_prepared_model *p = prepare(device, 1), *q = prepare(device, COUNT);
	struct nna_memory *m = fill(1, KIT_ENGINE_LATE), *in_time = fill(COUNT, 1);

	(void)state;
	/* A deadline of UINT64_MAX never passes. */
	check(run(q, NULL, in_time, UINT64_MAX));
	assert_int_equal(run(p, NULL, m, 1), NN_MISSED_DEADLINE_PERSISTENT);
	assert_int_equal(run(p, NULL, m, clock_ns() + 1000000), NN_MISSED_DEADLINE_TRANSIENT);
	nna_memory_free(m);
	nna_memory_free(in_time);
	nna_prepared_model_free(q);
	await_death(p);
	nna_prepared_model_free(p);
	p = prepare(device, COUNT);
	assert_non_null(p);
	check_sum(p, NULL, 1);
	nna_prepared_model_free(p);
}

/*
 * The engine defers an execution, which another thread of the engine then ends. If no thread of the
 * engine ends a deferred execution, the client loses its models.
 */
static void test_deferred(void **state)
{
	struct nna_prepared_model *p = prepare(device, 1);
	struct nna_memory *m = fill(1, KIT_ENGINE_DEFERRED);
	float *data = nna_memory_map(m, &err);
	struct nna_burst *burst;

	(void)state;
	check(nna_burst_create(p, NULL, &burst, &err));
	for (int i = 0; i < 4; i++) {
		data[1] = 0;
		check(run(p, i % 2 ? burst : NULL, m, 0));
		assert_true(data[1] == KIT_ENGINE_DEFERRED + 1);
	}
	nna_burst_free(burst);
	nna_memory_free(m);
	m = fill(1, KIT_ENGINE_NEVER);
	assert_int_equal(run(p, NULL, m, clock_ns() + 1000000), NN_MISSED_DEADLINE_TRANSIENT);
	nna_memory_free(m);
	await_death(p);
	nna_prepared_model_free(p);
}

/* A thread's execution. */
struct concurrent {
	pthread_t thread;
	struct nna_prepared_model *prepared;
	struct nna_burst *burst;	/* burst of the execution, or NULL */
	struct nna_memory *memory;
	enum nn_status status;
};

static void *run_here(void *arg)
{
	struct concurrent *c = arg;

	c->status = run(c->prepared, c->burst, c->memory, 0);
	return NULL;
}

/*
 * The engine defers more executions of a client than it has threads for the client. Some of the
 * deferred executions are in bursts.
 */
static void test_queue(void **state)
{
	struct nna_prepared_model *p = prepare(device, 1);
	struct concurrent all[KIT_ENGINE_QUEUE];

	(void)state;
	for (uint32_t i = 0; i < KIT_ENGINE_QUEUE; i++) {
		all[i] = (struct concurrent){
			.prepared = p, .memory = fill(1, KIT_ENGINE_QUEUED),
		};
		if (i < KIT_ENGINE_BURSTS)
			check(nna_burst_create(p, NULL, &all[i].burst, &err));
	}
	for (uint32_t i = 0; i < KIT_ENGINE_QUEUE; i++)
		assert_int_equal(pthread_create(&all[i].thread, NULL, run_here, &all[i]), 0);
	for (uint32_t i = 0; i < KIT_ENGINE_QUEUE; i++) {
		assert_int_equal(pthread_join(all[i].thread, NULL), 0);
		assert_int_equal(all[i].status, NN_OK);
		assert_true(((float *)nna_memory_map(all[i].memory, &err))[1] ==
			    KIT_ENGINE_QUEUED + 1);
		nna_burst_free(all[i].burst);
		nna_memory_free(all[i].memory);
	}
	nna_prepared_model_free(p);
}

/*
 * If the engine reports that its device is lost, the client gets the reason, loses its models, and
 * prepares the models again.
 */
static void test_lost(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct nna_prepared_model *p = prepare(device, 1);
		struct nna_memory *m = fill(1, KIT_ENGINE_LOST);
		struct nna_burst *burst = NULL;

		assert_non_null(p);
		if (i)
			check(nna_burst_create(p, NULL, &burst, &err));
		assert_int_equal(run(p, burst, m, 0), NN_DEVICE_UNAVAILABLE);
		assert_non_null(strstr(err.message, KIT_ENGINE_IS_LOST));
		await_death(p);
		nna_memory_free(m);
		nna_burst_free(burst);
		nna_prepared_model_free(p);
	}
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

/*
 * If the engine dies, all objects of its clients are lost, and all waiting calls return. An engine
 * that is started after another engine's death serves the dead engine's client.
 */
static void test_death(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m = fill(COUNT, 1);
	struct nna_burst *burst;

	check(nna_burst_create(p, NULL, &burst, &err));
	check(run(p, burst, m, 0));
	stop_engine();
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
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file,
					   .prot = PROT_READ, .offset = 4000, .length = 97), &m,
					   &err),
			 NN_GENERAL_FAILURE);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = -1, .prot = PROT_READ,
					   .length = 1), &m, &err), NN_INVALID_ARGUMENT);
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file, .prot = PROT_READ,
				.offset = 4000, .length = 96), &m, &err));
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

/* ---- calls with wrong arguments, which return the module's errors (uapi.rst) ---- */

static int call(unsigned long request, void *arg)
{
	return direct_call(device->direct, request, arg) ? errno : 0;
}

static int work(uint32_t kind, void *arg)
{
	struct nnaccel_submit s = {
		.size = sizeof(s), .flags = NNACCEL_SUBMIT_WAIT, .kind = kind, .work = (uintptr_t)arg, .out_id = 9,
	};
	int error = call(NNACCEL_SUBMIT, &s);

	if (!error)
		assert_true(s.out_state == NNACCEL_STATE_DONE && s.out_id == 0 && s.out_fd == -1);
	return error;
}

static uint32_t pool_of(uint64_t length)
{
	struct nnaccel_pool_alloc a = { .size = sizeof(a), .length = length };

	assert_int_equal(call(NNACCEL_POOL_ALLOC, &a), 0);
	return a.out_id;
}

static int destroy(uint32_t id)
{
	struct nnaccel_destroy d = { .size = sizeof(d), .id = id };

	return call(NNACCEL_DESTROY, &d);
}

static void test_wrong_pools(void **state)
{
	enum { FILE_SIZE = 8192 };
	static const struct {
		int mode;		/* open flags of the file; -1 for a pipe, -2 for no file */
		uint32_t prot, fourcc, flags;
		uint64_t offset, length;
		int error;
	} cases[] = {
		{ O_RDWR, PROT_READ, 0, 0, 0, FILE_SIZE, 0 },
		{ O_RDWR, PROT_READ | PROT_WRITE, 0, 0, 4096, 4096, 0 },
		{ O_RDWR, PROT_READ, 0, 0, 4096, 4097, EINVAL },
		{ O_RDWR, PROT_READ, 0, 0, 0, FILE_SIZE + 1, EINVAL },
		{ O_RDWR, PROT_READ, 0, 0, FILE_SIZE, 1, EINVAL },
		{ O_RDWR, PROT_READ, 0, 0, FILE_SIZE + 4096, 1, EINVAL },
		{ O_RDWR, PROT_READ, 0, 0, 1, 1, EINVAL },
		{ O_RDWR, PROT_READ, 0, 0, 0, 0, EINVAL },
		{ O_RDWR, PROT_READ, 1, 0, 0, 1, EOPNOTSUPP },
		{ O_RDWR, PROT_READ, 0, 1, 0, 1, EOPNOTSUPP },
		{ O_RDONLY, PROT_READ, 0, 0, 0, 1, 0 },
		{ O_RDONLY, PROT_READ | PROT_WRITE, 0, 0, 0, 1, EACCES },
		{ O_WRONLY, PROT_READ, 0, 0, 0, 1, EACCES },
		{ -1, PROT_READ, 0, 0, 0, 1, EOPNOTSUPP },
		{ -2, PROT_READ, 0, 0, 0, 1, EBADF },
	};
	struct nnaccel_pool_alloc a = { .size = sizeof(a) };
	struct nnaccel_pool_export x = { .size = sizeof(x) };
	int file = memfd_create("pool", MFD_CLOEXEC), ends[2];
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	assert_int_equal(ftruncate(file, FILE_SIZE) | pipe(ends), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nnaccel_pool_import pool = {
			.size = sizeof(pool), .flags = cases[i].flags, .prot = cases[i].prot, .fourcc = cases[i].fourcc,
			.offset = cases[i].offset, .length = cases[i].length,
		};
		int error;

		pool.fd = cases[i].mode >= 0 ? open(name, cases[i].mode | O_CLOEXEC) : cases[i].mode == -1 ? ends[0] : -1;
		error = call(NNACCEL_POOL_IMPORT, &pool);
		if (error != cases[i].error)
			fail_msg("case %zu: %s", i, strerror(error));
		if (cases[i].mode >= 0)
			close(pool.fd);
		if (error)
			continue;
		/*
		 * A client can export only memory that the device has allocated. An object's id can
		 * be destroyed only once.
		 */
		x.id = pool.out_id;
		assert_int_equal(call(NNACCEL_POOL_EXPORT, &x), EOPNOTSUPP);
		assert_int_equal(destroy(pool.out_id), 0);
		assert_int_equal(destroy(pool.out_id), ENOENT);
		assert_int_equal(call(NNACCEL_POOL_EXPORT, &x), ENOENT);
	}
	assert_int_equal(call(NNACCEL_POOL_ALLOC, &a), EINVAL);
	a.length = INT64_MAX / 4 + 1;
	assert_int_equal(call(NNACCEL_POOL_ALLOC, &a), EDQUOT);
	x.id = pool_of(5000);
	assert_int_equal(call(NNACCEL_POOL_EXPORT, &x), 0);
	assert_int_equal(lseek(x.out_fd, 0, SEEK_END), 5000);
	assert_int_equal(fcntl(x.out_fd, F_GETFD), FD_CLOEXEC);
	close(x.out_fd);
	assert_int_equal(destroy(x.id), 0);
	assert_int_equal(call(NNACCEL_CANCEL, &a), EOPNOTSUPP);
	close(file);
	close(ends[0]);
	close(ends[1]);
}

static void test_wrong_work(void **state)
{
	struct nnaccel_submit s = { .size = sizeof(s), .flags = NNACCEL_SUBMIT_WAIT };
	uint8_t answer[NNACCEL_MAX_QUERY];
	struct nnaccel_query q = { .size = sizeof(q), .data = (uintptr_t)answer };
	uint32_t size;

	(void)state;
	for (uint32_t kind = NNACCEL_WORK_QUERY - 1; kind != NNACCEL_WORK_BURST + 2; kind++) {
		s.kind = kind;
		s.flags = 0;
		assert_int_equal(call(NNACCEL_SUBMIT, &s), kind < NNACCEL_WORK_QUERY || kind > NNACCEL_WORK_BURST ? EINVAL :
				 EOPNOTSUPP);
	}
	q.query = NNACCEL_QUERY_DEVICE;
	q.data_size = sizeof(answer);
	assert_int_equal(work(NNACCEL_WORK_QUERY, &q), 0);
	assert_int_equal(q.out_status, NNACCEL_STATUS_NONE);
	assert_true(q.data_size > 0 && q.data_size < sizeof(answer));
	size = q.data_size;
	assert_int_equal(work(NNACCEL_WORK_QUERY, &q), 0);
	assert_int_equal(q.data_size, size);
	/*
	 * If the library's buffer is too short for the device's description, the engine returns the
	 * beginning of the description.
	 */
	q.data_size = size - 1;
	assert_int_equal(work(NNACCEL_WORK_QUERY, &q), 0);
	assert_int_equal(q.data_size, size - 1);
	q.query = 4711;
	q.data_size = sizeof(answer);
	assert_int_equal(work(NNACCEL_WORK_QUERY, &q), 0);
	assert_int_equal(q.out_status, NNACCEL_STATUS_INVALID_ARGUMENT);
}

static void test_supported(void **state)
{
	static const float one = 1;
	struct nn_device_info info = { .size = sizeof(info) };
	struct model_builder b;
	struct nna_memory *m = fill(COUNT, 1);
	bool supported[2] = { false };
	struct nna_prepared_model *p;
	const struct nn_performance *figure;
	uint32_t x, y;

	(void)state;
	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, NN_OP_ADD, MB_LIST(x, mb_constant(&b, NN_TENSOR_FLOAT32, &one, sizeof(one), MB_DIMS(1)),
					    mb_int32(&b, 0)), MB_LIST(y));
	check(nna_get_supported_operations(device, &b.model, NULL, supported, &err));
	assert_true(supported[0]);
	assert_false(supported[1]);
	check(nna_device_get_info(device, &info, &err));
	assert_true(info.version[0]);
	assert_int_equal(info.type, NN_DEVICE_ACCELERATOR);
	/* The engine has one performance for all types and kinds of computation. */
	figure = &info.operand[NN_TENSOR_FLOAT32];
	assert_true(figure->exec_time > 0 && figure->exec_time < 1 && figure->power_usage > 0);
	assert_memory_equal(&info.relaxed_scalar, figure, sizeof(*figure));
	assert_memory_equal(&info.relaxed_tensor, figure, sizeof(*figure));
	assert_memory_equal(&info.if_performance, figure, sizeof(*figure));
	assert_memory_equal(&info.while_performance, figure, sizeof(*figure));
	assert_true(info.operand[NN_SUBGRAPH_TYPE].exec_time > 1);
	/* Make models x + 1, x + 2, ... whose constant is in memory. */
	mb_init(&b);
	b.model.num_pools = 1;
	b.pools[0].size = nna_memory_size(m);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, NN_OP_ADD, MB_LIST(x, mb_reference(&b, NN_TENSOR_FLOAT32, 0, 0, COUNT * sizeof(float), MB_DIMS(COUNT)),
					    mb_int32(&b, 0)), MB_LIST(y));
	supported[0] = false;
	check(nna_get_supported_operations(device, &b.model, &m, supported, &err));
	assert_true(supported[0]);
	check(nna_prepare_model(device, &b.model, &m, NULL, &p, &err));
	check(run(p, NULL, m, 0));
	for (int i = 0; i < COUNT; i++)
		assert_true(((float *)nna_memory_map(m, &err))[COUNT + i] == 2 * (float)(i + 1));
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/*
 * NULL stands for memory that could not be imported. The library reports operations as unsupported
 * if their memory is NULL.
 */
static void test_unreachable(void **state)
{
	struct nna_memory *m = fill(COUNT, 1);
	struct model_builder b;
	uint32_t x, y[3], none;

	(void)state;
	mb_init(&b);
	b.model.num_pools = 2;
	b.pools[0].size = b.pools[1].size = nna_memory_size(m);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	none = mb_int32(&b, 0);
	for (uint32_t i = 0; i < 3; i++) {
		y[i] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
		mb_operation(&b, NN_OP_ADD, MB_LIST(x, mb_reference(&b, NN_TENSOR_FLOAT32, i == 1, 0,
								    COUNT * sizeof(float), MB_DIMS(COUNT)),
						    none), MB_LIST(y[i]));
	}
	for (int i = 0; i < 4; i++) {
		struct nna_memory *memories[] = { i & 1 ? m : NULL, i & 2 ? m : NULL };
		bool supported[3] = { !(i & 1), !(i & 2), !(i & 1) };

		check(nna_get_supported_operations(device, &b.model, memories, supported, &err));
		assert_int_equal(supported[0], (i & 1) != 0);
		assert_int_equal(supported[1], (i & 2) != 0);
		assert_int_equal(supported[2], (i & 1) != 0);
	}
	nna_memory_free(m);
}

static void test_wrong_arguments(void **state)
{
	enum { BYTES = COUNT * sizeof(float) };
	static const struct {
		const char *name;
		struct nnaccel_arg args[2];
		bool read_only;
		int error;
	} cases[] = {
		{ "good", { { .length = BYTES }, { .offset = BYTES, .length = BYTES } }, false, 0 },
		{ "input at the end", { { .offset = BYTES, .length = BYTES }, { .length = BYTES } }, false, 0 },
		{ "input beyond", { { .offset = BYTES + 1, .length = BYTES }, { .length = BYTES } }, false, EINVAL },
		{ "longer than all", { { .length = 2 * BYTES + 1 }, { .length = BYTES } }, false, EINVAL },
		{ "offset beyond", { { .offset = 2 * BYTES + 1, .length = 0 }, { .length = BYTES } }, false, EINVAL },
		{ "output beyond", { { .length = BYTES }, { .offset = BYTES + 1, .length = BYTES } }, false, EINVAL },
		{ "no such pool", { { .pool = 1, .length = BYTES }, { .length = BYTES } }, false, EINVAL },
		{ "output in no pool", { { .length = BYTES }, { .pool = 1, .length = BYTES } }, false, EINVAL },
		{ "most dimensions", { { .length = BYTES, .rank = 1, .dims = { COUNT } }, { .length = BYTES } }, false, 0 },
		{ "too many dimensions", { { .length = BYTES, .rank = NNACCEL_MAX_RANK + 1 }, { .length = BYTES } }, false,
		  EINVAL },
		{ "output is read only", { { .length = BYTES }, { .length = BYTES } }, true, EACCES },
		{ "no buffer", { { .flags = NNACCEL_ARG_BUFFER }, { .length = BYTES } }, false, EINVAL },
		{ "buffer output", { { .length = BYTES }, { .flags = NNACCEL_ARG_BUFFER } }, false, EINVAL },
	};
	struct nna_prepared_model *p = prepare(device, COUNT);
	int file = memfd_create("pool", MFD_CLOEXEC);
	struct nnaccel_pool_import read_only = { .size = sizeof(read_only), .fd = file, .prot = PROT_READ, .length = 2 * BYTES };
	uint32_t pool = pool_of(2 * BYTES), pools[1];
	struct nnaccel_shape shapes[1];
	struct nnaccel_execute e = {
		.size = sizeof(e), .num_pools = 1, .pools = (uintptr_t)pools, .num_inputs = 1, .num_outputs = 1,
		.shapes = (uintptr_t)shapes,
	};

	(void)state;
	assert_int_equal(ftruncate(file, 2 * BYTES), 0);
	assert_int_equal(call(NNACCEL_POOL_IMPORT, &read_only), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int error;

		pools[0] = cases[i].read_only ? read_only.out_id : pool;
		e.model = p->id;
		e.args = (uintptr_t)cases[i].args;
		e.flags = i % 2 ? NNACCEL_EXECUTE_MEASURE : 0;
		e.out_num_shapes = 9;
		error = work(NNACCEL_WORK_EXECUTE, &e);
		if (error != cases[i].error)
			fail_msg("%s: %s", cases[i].name, strerror(error));
		if (error)
			continue;
		assert_int_equal(e.out_status, NNACCEL_STATUS_NONE);
		assert_int_equal(e.out_num_shapes, 1);
		assert_int_equal(shapes[0].rank, 1);
		assert_int_equal(shapes[0].dims[0], COUNT);
		assert_int_equal(e.out_driver_ns == NNACCEL_TIME_NONE, !e.flags);
		assert_int_equal(e.out_device_ns == NNACCEL_TIME_NONE, !e.flags);
		assert_true(!e.flags || e.out_device_ns <= e.out_driver_ns);
		assert_true(e.out_fenced_ns == NNACCEL_TIME_NONE);
	}
	e.args = (uintptr_t)cases[0].args;
	pools[0] = pool;
	e.deadline_ns = 1;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), ETIME);
	e.deadline_ns = 0;
	e.model = pool;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), ENOENT);
	e.model = p->id;
	pools[0] = p->id;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), ENOENT);
	close(file);
	assert_int_equal(destroy(pool) | destroy(read_only.out_id), 0);
	nna_prepared_model_free(p);
}

static void test_wrong_buffers(void **state)
{
	enum { BYTES = COUNT * sizeof(float), ROOM = 2 * BYTES };
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nnaccel_role role = { .model = p->id, .kind = NNACCEL_ROLE_INPUT };
	struct nnaccel_buffer_alloc a = { .size = sizeof(a), .capacity = BYTES, .roles = (uintptr_t)&role, .num_roles = 1 };
	uint32_t pool = pool_of(ROOM), buffers[1];
	float data[2 * COUNT] = { 1, 2, 3, 4, 5 };
	struct nnaccel_arg args[2] = { { .flags = NNACCEL_ARG_BUFFER }, { .length = BYTES } };
	struct nnaccel_execute e = {
		.size = sizeof(e), .model = p->id, .num_pools = 1, .pools = (uintptr_t)&pool, .num_inputs = 1,
		.num_outputs = 1, .args = (uintptr_t)args, .num_buffers = 1, .buffers = (uintptr_t)buffers,
	};
	const struct {
		const char *name;
		uint32_t flags, buffer, pool;
		void *data;
		uint64_t offset, length;
		int error;
	} cases[] = {
		{ "out of nothing", NNACCEL_COPY_OUT, 1, 0, data, 0, BYTES, ENODATA },
		{ "no bytes", NNACCEL_COPY_IN, 1, 0, data, 0, 0, EINVAL },
		{ "too many", NNACCEL_COPY_IN, 1, 0, data, 0, BYTES + 1, EINVAL },
		{ "nowhere", NNACCEL_COPY_IN, 1, 0, NULL, 0, BYTES, EFAULT },
		{ "no buffer", NNACCEL_COPY_IN, 0, 0, data, 0, BYTES, ENOENT },
		{ "in", NNACCEL_COPY_IN, 1, 0, data, 0, BYTES, 0 },
		{ "less out", NNACCEL_COPY_OUT, 1, 0, data, 0, BYTES - 1, EINVAL },
		{ "more out", NNACCEL_COPY_OUT, 1, 0, data, 0, BYTES + 1, EINVAL },
		{ "out", NNACCEL_COPY_OUT, 1, 0, data, 0, BYTES, 0 },
		{ "no pool", NNACCEL_COPY_OUT | NNACCEL_COPY_POOL, 1, 0, NULL, 0, BYTES, ENOENT },
		{ "to a pool", NNACCEL_COPY_OUT | NNACCEL_COPY_POOL, 1, 1, NULL, BYTES, BYTES, 0 },
		{ "beyond a pool", NNACCEL_COPY_OUT | NNACCEL_COPY_POOL, 1, 1, NULL, BYTES + 1, BYTES, EINVAL },
		{ "far beyond it", NNACCEL_COPY_OUT | NNACCEL_COPY_POOL, 1, 1, NULL, ROOM + 1, BYTES, EINVAL },
		{ "of a pool", NNACCEL_COPY_IN | NNACCEL_COPY_POOL, 1, 1, NULL, BYTES, BYTES, 0 },
	};

	(void)state;
	assert_int_equal(work(NNACCEL_WORK_BUFFER_ALLOC, &a), 0);
	assert_int_equal(a.out_status, NNACCEL_STATUS_NONE);
	buffers[0] = a.out_buffer;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), ENODATA);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nnaccel_buffer_copy c = {
			.size = sizeof(c), .flags = cases[i].flags, .buffer = cases[i].buffer ? a.out_buffer : 0,
			.pool = cases[i].pool ? pool : 0, .data = (uintptr_t)cases[i].data, .offset = cases[i].offset,
			.length = cases[i].length,
		};
		int error = work(NNACCEL_WORK_BUFFER_COPY, &c);

		if (error != cases[i].error)
			fail_msg("%s: %s", cases[i].name, strerror(error));
		assert_int_equal(c.out_status, NNACCEL_STATUS_NONE);
	}
	for (int i = 0; i < COUNT; i++)
		assert_true(data[i] == (float)i + 1);
	args[0].offset = 1;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), EINVAL);
	args[0] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_BUFFER, .length = 1 };
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), EINVAL);
	args[0] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_BUFFER, .pool = 1 };
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), EINVAL);
	args[0].pool = 0;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), 0);
	assert_int_equal(e.out_status, NNACCEL_STATUS_NONE);
	buffers[0] = p->id;
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), ENOENT);
	buffers[0] = a.out_buffer;
	/* An execution cannot write to a buffer that was allocated without an output role. */
	role.index = 1;
	args[1] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_BUFFER };
	args[0] = (struct nnaccel_arg){ .length = BYTES };
	assert_int_equal(work(NNACCEL_WORK_EXECUTE, &e), EPERM);
	role = (struct nnaccel_role){ .model = pool };
	assert_int_equal(work(NNACCEL_WORK_BUFFER_ALLOC, &a), ENOENT);
	assert_int_equal(a.out_buffer, 0);
	assert_int_equal(destroy(buffers[0]) | destroy(pool), 0);
	nna_prepared_model_free(p);
}

/*
 * When the engine saves a model, it reports the sizes of the saved parts. An engine without cache
 * files cannot save or load models.
 */
static void test_cache(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	int file = memfd_create("pool", MFD_CLOEXEC);
	struct nnaccel_pool_import read_only = { .size = sizeof(read_only), .fd = file, .prot = PROT_READ, .length = 4096 };
	struct nnaccel_cache_part parts[2] = { { 0 } };
	uint64_t sizes[2] = { 0 };
	struct nnaccel_cache_save s = {
		.size = sizeof(s), .model = p->id, .num_model_parts = 1, .num_data_parts = 1,
		.parts = (uintptr_t)parts, .sizes = (uintptr_t)sizes,
	};
	char whole[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_prepare_cached c = {
		.size = sizeof(c), .num_model_parts = 1, .num_data_parts = 1, .parts = (uintptr_t)parts,
		.preference = 1, .priority = 1, .message = (uintptr_t)whole, .message_size = sizeof(whole),
	};
	uint32_t pool;

	(void)state;
	assert_int_equal(ftruncate(file, 4096), 0);
	assert_int_equal(call(NNACCEL_POOL_IMPORT, &read_only), 0);
	assert_int_equal(work(NNACCEL_WORK_CACHE_SAVE, &s), 0);
	assert_int_equal(s.out_status, NNACCEL_STATUS_NONE);
	assert_true(sizes[0] > 0 && sizes[1] > 0);
	pool = pool_of(sizes[0] + sizes[1]);
	parts[0].length = sizes[0];
	parts[1].length = sizes[1];
	for (int i = 0; i < 6; i++) {
		const int errors[] = { 0, ENOENT, ENOENT, EACCES, EACCES, ENOENT };

		s.model = i == 5 ? pool : p->id;
		parts[0].pool = i == 1 ? p->id : i == 3 ? read_only.out_id : pool;
		parts[1].pool = i == 2 ? p->id : i == 4 ? read_only.out_id : pool;
		assert_int_equal(work(NNACCEL_WORK_CACHE_SAVE, &s), errors[i]);
	}
	for (int i = 0; i < 4; i++) {
		const int errors[] = { 0, ENOENT, ENOENT, ETIME };

		parts[0].pool = i == 1 ? p->id : read_only.out_id;
		parts[1].pool = i == 2 ? p->id : pool;
		parts[0].length = parts[1].length = 8;
		c.deadline_ns = i == 3;
		c.out_model = 9;
		c.out_status = NNACCEL_STATUS_NONE;
		assert_int_equal(work(NNACCEL_WORK_PREPARE_CACHED, &c), errors[i]);
		assert_int_equal(c.out_model, errors[i] == ENOENT ? 9 : 0);
		assert_int_equal(c.out_status, i ? NNACCEL_STATUS_NONE : NNACCEL_STATUS_GENERAL_FAILURE);
		c.message_size = 0;
	}
	assert_true(strlen(whole) > 10 && strlen(whole) < sizeof(whole) - 1);
	/* A reason that exceeds the client's buffer is truncated, and ends with a null byte. */
	parts[0].pool = read_only.out_id;
	parts[1].pool = pool;
	c.deadline_ns = 0;
	for (uint32_t room = 1; room < 64; room += 3) {
		char reason[64];

		memset(reason, 'x', sizeof(reason));
		c.message = (uintptr_t)reason;
		c.message_size = room;
		assert_int_equal(work(NNACCEL_WORK_PREPARE_CACHED, &c), 0);
		assert_int_equal(strlen(reason), room < strlen(whole) + 1 ? room - 1 : strlen(whole));
		assert_memory_equal(reason, whole, strlen(reason));
		assert_int_equal(reason[room], 'x');
	}
	close(file);
	assert_int_equal(destroy(pool) | destroy(read_only.out_id), 0);
	nna_prepared_model_free(p);
}

/* ---- numbers of cache files ---- */

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/*
 * Saves the model x + 1 to as many cache files as the engine requires, and loads the model from
 * these files.
 */
static void check_files(uint32_t model_files, uint32_t data_files)
{
	const uint32_t count = model_files + data_files;
	struct nn_error not_saved = { "" };
	struct nna_prepared_model *p;
	uint32_t told[2];
	int fds[64];
	const struct nna_cache cache = {
		.size = sizeof(cache), .token = { 1, 2, 3 }, .not_saved = &not_saved,
		.model_files = fds, .num_model_files = model_files,
		.data_files = fds + model_files, .num_data_files = data_files,
	};
	struct nna_cache other = cache;

	check(nna_cache_files_needed(device, &told[0], &told[1], &err));
	assert_int_equal(told[0], model_files);
	assert_int_equal(told[1], data_files);
	for (uint32_t i = 0; i < count; i++)
		fds[i] = memfd_create("entry", MFD_CLOEXEC);
	p = prepare_with(device, COUNT, &(struct nna_prepare_options){
		.size = sizeof(struct nna_prepare_options),
		.cache = &cache });
	assert_string_equal(not_saved.message, "");
	nna_prepared_model_free(p);
	assert_true(size_of(fds[0]) > 0);
	check(nna_prepare_model_from_cache(device, &cache, NULL, &p, &err));
	check_sum(p, NULL, 5);
	nna_prepared_model_free(p);

	/* The engine refuses a compilation unless it gets as many cache files as it requires. */
	other.num_model_files = model_files ? model_files - 1 : 1;
	other.model_files = model_files ? fds + 1 : fds;
	if (other.num_model_files + other.num_data_files) {
		assert_int_equal(nna_prepare_model_from_cache(device, &other, NULL, &p, &err),
				 NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "cache files, the device has"));
	}
	/* A cache entry whose first two model files are exchanged is invalid. */
	if (model_files > 1) {
		int first = fds[0];

		fds[0] = fds[1];
		fds[1] = first;
		assert_int_equal(nna_prepare_model_from_cache(device, &cache, NULL, &p, &err),
				 NN_GENERAL_FAILURE);
		assert_non_null(strstr(err.message, "did not save the model file"));
	}
	for (uint32_t i = 0; i < count; i++)
		close(fds[i]);
}

/* Removes all files in the state folder of the engine. */
static void empty_folder(void)
{
	char command[80];

	snprintf(command, sizeof(command), "find %s -mindepth 1 -delete", folder);
	assert_int_equal(system(command), 0);
}

/* Returns the number of the newest file in the engine's own cache, which is the largest number. */
static long last_cached(void)
{
	char plans[80];
	DIR *d;
	const struct dirent *e;
	long last = 0;

	snprintf(plans, sizeof(plans), "%s/plans", folder);
	d = opendir(plans);
	while (d && (e = readdir(d)))
		last = atol(e->d_name) > last ? atol(e->d_name) : last;
	if (d)
		closedir(d);
	return last;
}

/*
 * Prepares x + 1 with the engine's own cache, and checks that the next preparation loads the cached
 * model.
 */
static void check_cached(void)
{
	const struct nna_prepare_options keep = {
		.size = sizeof(keep), .engine_cache = true,
	};
	struct nna_prepared_model *p;
	long kept_file;

	p = prepare_with(device, COUNT, &keep);
	assert_non_null(p);
	while (!(kept_file = last_cached()))
		usleep(1000);
	nna_prepared_model_free(p);
	p = prepare_with(device, COUNT, &keep);
	assert_non_null(p);
	check_sum(p, NULL, 6);
	nna_prepared_model_free(p);
	assert_int_equal(last_cached(), kept_file);
}

static void test_cache_files(void **state)
{
	static const struct { uint32_t model, data; } cases[] = {
		{ 0, 1 }, { 1, 0 }, { 1, 1 }, { 2, 0 }, { 2, 1 }, { 0, 2 }, { 32, 32 },
	};
	char option[80], numbers[16];

	snprintf(option, sizeof(option), "--state=%s", folder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(numbers, sizeof(numbers), "%u %u", cases[i].model, cases[i].data);
		setenv(KIT_ENGINE_FILES, numbers, 1);
		fork_engine(*state, option);
		await_engine();
		check(nna_device_open(path, &device, &err));
		check_files(cases[i].model, cases[i].data);
		check_cached();
		nna_device_close(device);
		stop_engine();
		empty_folder();
	}
	/* An engine that requires more cache files than NNAPI allows does not start. */
	for (size_t i = 0; i < 2; i++) {
		int status;

		setenv(KIT_ENGINE_FILES, i ? "33 1" : "0 33", 1);
		fork_engine(*state, option);
		assert_int_equal(waitpid(engine, &status, 0), engine);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
	}
	unsetenv(KIT_ENGINE_FILES);
}

/*
 * A second engine with the state folder of a running engine does not start. The running engine
 * continues undisturbed when the second engine fails.
 */
static void test_taken_state(void **state)
{
	char option[80], first[sizeof(path)];
	pid_t running;
	int status;

	snprintf(option, sizeof(option), "--state=%s", folder);
	fork_engine(*state, option);
	await_engine();
	running = engine;
	strcpy(first, path);
	strcat(path, "2");
	fork_engine(*state, option);
	assert_int_equal(waitpid(engine, &status, 0), engine);
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
	strcpy(path, first);
	engine = running;
	check(nna_device_open(path, &device, &err));
	check_cached();
	nna_device_close(device);
	stop_engine();
	empty_folder();
}

/* ---- the engine's own store ---- */

/*
 * Makes the engine execute a command that uses the engine's store. If the engine's command fails,
 * err has the reason.
 */
static enum nn_status command(float which)
{
	struct nna_prepared_model *p = prepare(device, 1);
	struct nna_memory *m = fill(1, which);
	enum nn_status status;

	assert_non_null(p);
	status = run(p, NULL, m, 0);
	nna_memory_free(m);
	nna_prepared_model_free(p);
	return status;
}

static void check_no_entry(float which, const char *reason)
{
	assert_int_equal(command(which), NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, reason));
}

/*
 * The engine keeps an entry for its identity in its own store, although no client asks for caching.
 */
static void test_store(void **state)
{
	static const char *const identities[] = { "library 1", "library 1", "library 2", NULL };
	const bool by_threads = strstr(*state, "threads");
	char option[80];

	snprintf(option, sizeof(option), "--state=%s", folder);
	for (int i = 0; i < 4; i++) {
		if (identities[i])
			setenv(KIT_ENGINE_IDENTITY, identities[i], 1);
		else
			unsetenv(KIT_ENGINE_IDENTITY);
		fork_engine(*state, option);
		await_engine();
		check(nna_device_open(path, &device, &err));
		if (i == 1)
			check(command(KIT_ENGINE_GET));
		else
			check_no_entry(KIT_ENGINE_GET, "there is no such entry");
		if (by_threads && identities[i])
			check(command(KIT_ENGINE_GET_FIRST));
		else
			check_no_entry(KIT_ENGINE_GET_FIRST, "there is no such entry");
		if (identities[i]) {
			check(command(KIT_ENGINE_PUT));
			check(command(KIT_ENGINE_GET));
		} else {
			assert_int_equal(command(KIT_ENGINE_PUT), NN_GENERAL_FAILURE);
		}
		nna_device_close(device);
		stop_engine();
	}
	empty_folder();
	/* An engine that is started without a state folder has no store. */
	setenv(KIT_ENGINE_IDENTITY, identities[0], 1);
	start_engine(*state);
	check(nna_device_open(path, &device, &err));
	check_no_entry(KIT_ENGINE_GET, "this process has no store");
	assert_int_equal(command(KIT_ENGINE_PUT), NN_GENERAL_FAILURE);
	nna_device_close(device);
	stop_engine();
	unsetenv(KIT_ENGINE_IDENTITY);
}

/* With --cache-all, plans are cached even if the client does not ask for caching. */
static void test_keep_all(void **state)
{
	char option[80];
	struct nna_prepared_model *p;

	snprintf(option, sizeof(option), "--state=%s", folder);
	for (int all = 0; all < 2; all++) {
		another = all ? "--cache-all" : NULL;
		fork_engine(*state, option);
		await_engine();
		check(nna_device_open(path, &device, &err));
		p = prepare(device, COUNT);
		assert_non_null(p);
		while (all && !last_cached())
			usleep(1000);
		check_sum(p, NULL, 1);
		nna_prepared_model_free(p);
		nna_device_close(device);
		stop_engine();
		assert_int_equal(last_cached() != 0, all);
	}
	another = NULL;
	empty_folder();
}

/* The device reports whether it has an engine, and how many executions the engine has done. */
static void test_info(void **state)
{
	struct nnaccel_info info = { .size = sizeof(info) };
	struct nna_prepared_model *p;
	struct nna_memory *m = fill(COUNT, 1);
	char other[200];

	(void)state;
	assert_int_equal(call(NNACCEL_INFO, &info), 0);
	assert_int_equal(info.abi, NNACCEL_ABI_VERSION);
	assert_int_equal(info.engine, NNACCEL_ENGINE_PENDING);
	p = prepare(device, COUNT);
	assert_int_equal(call(NNACCEL_INFO, &info), 0);
	assert_int_equal(info.engine, NNACCEL_ENGINE_ATTACHED);
	assert_int_equal(info.executions, 0);
	check(run(p, NULL, m, 0));
	check(run(p, NULL, m, 0));
	assert_int_equal(call(NNACCEL_INFO, &info), 0);
	assert_int_equal(info.executions, 2);
	nna_prepared_model_free(p);
	nna_memory_free(m);
	stop_engine();
	do
		assert_int_equal(call(NNACCEL_INFO, &info), 0);
	while (info.engine != NNACCEL_ENGINE_ABSENT);
	/* Opening fails for a path that is not a socket, and for a path that is too long. */
	memset(other, 'x', sizeof(other));
	other[sizeof(other) - 1] = '\0';
	assert_null(direct_open(other));
	assert_int_equal(errno, ENXIO);
	assert_null(direct_open(program));
	assert_int_equal(errno, ENXIO);
	start_engine(*state);
}

/* The option --device-memory limits the device memory of one client's models. */
static void test_device_memory(void **state)
{
	struct nna_prepared_model *p[2];
	struct nna_device *other;

	fork_engine(*state, "--device-memory=7");
	await_engine();
	check(nna_device_open(path, &device, &err));
	for (int i = 0; i < 2; i++) {
		p[i] = prepare(device, COUNT);
		assert_non_null(p[i]);
	}
	assert_null(prepare(device, COUNT));
	assert_string_equal(err.message, "prepare: the model takes 3072 KiB of the device's memory, the "
			    "client's others 6144, a client at most 7168 (--device-memory)");
	/* The limit of --device-memory applies to each client separately. */
	check(nna_device_open(path, &other, &err));
	nna_prepared_model_free(prepare(other, COUNT));
	nna_device_close(other);
	nna_prepared_model_free(p[0]);
	/*
	 * The engine frees a model's device memory some time after the client has freed the model.
	 */
	do
		p[0] = prepare(device, COUNT);
	while (!p[0] && prepared == NN_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_non_null(p[0]);
	for (int i = 0; i < 2; i++)
		nna_prepared_model_free(p[i]);
	nna_device_close(device);
	stop_engine();
}

static void test_wrong_bursts(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nnaccel_burst_create b = { .size = sizeof(b), .model = p->id };
	int file = memfd_create("pool", MFD_CLOEXEC);
	struct nnaccel_pool_import i = { .size = sizeof(i), .fd = file, .prot = PROT_READ, .length = 4096 };
	struct nnaccel_burst_slot s = { .size = sizeof(s), .prot = PROT_READ };
	uint32_t first;

	(void)state;
	assert_int_equal(ftruncate(file, 4096), 0);
	assert_int_equal(call(NNACCEL_POOL_IMPORT, &i), 0);
	b.capacity = NNACCEL_BURST_MAX_CAPACITY + 1;
	assert_int_equal(work(NNACCEL_WORK_BURST, &b), EINVAL);
	b.capacity = NNACCEL_BURST_MAX_CAPACITY;
	b.model = i.out_id;
	assert_int_equal(work(NNACCEL_WORK_BURST, &b), ENOENT);
	assert_int_equal(b.out_fd, -1);
	b.model = p->id;
	assert_int_equal(work(NNACCEL_WORK_BURST, &b), 0);
#define SLOT(error) assert_int_equal(direct_burst_call(device->direct, b.out_fd, NNACCEL_BURST_SLOT, &s) ? errno : 0, error)
	s.pool = p->id;
	SLOT(ENOENT);
	s.pool = i.out_id;
	s.prot = PROT_READ | PROT_WRITE;
	SLOT(EACCES);
	s.prot = PROT_READ;
	SLOT(0);
	first = s.slot;
	assert_int_equal(NNACCEL_SLOT_INDEX(first), 0);
	SLOT(0);
	assert_int_equal(NNACCEL_SLOT_INDEX(s.slot), 1);
	/* A new slot has the index of the freed slot but another slot number. */
	s.pool = 0;
	s.slot = first;
	SLOT(0);
	SLOT(ENOENT);
	s.slot = first + 2;
	SLOT(ENOENT);
	s.pool = i.out_id;
	SLOT(0);
	assert_int_equal(NNACCEL_SLOT_INDEX(s.slot), 0);
	assert_int_not_equal(s.slot, first);
	s.pool = 0;
	s.slot = first;
	SLOT(ENOENT);
	assert_int_equal(direct_burst_call(device->direct, b.out_fd, NNACCEL_INFO, &s), -1);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(direct_burst_call(device->direct, file, NNACCEL_BURST_SLOT, &s), -1);
	assert_int_equal(errno, ENOTTY);
	direct_burst_close(device->direct, b.out_fd);
	close(file);
	assert_int_equal(destroy(i.out_id), 0);
	nna_prepared_model_free(p);
}

/* ---- an engine that this program plays, and that gives wrong answers ---- */

enum rogue { FINE, OTHER_FIRST, SAYS, SHORT, TOO_LITTLE, TOO_MUCH, NOTHING, LAYOUT, RANK };

static struct {
	enum rogue how;
	int listener;
	pthread_t thread;
	struct sockaddr_un address;
	sem_t copies, go;	/* a client requested a copy; the engine may answer */
} rogue;

static void answer(int socket, uint64_t cookie)
{
	const struct nnaccel_shape shape = { .rank = UINT32_MAX };
	const uint32_t layout = NNACCEL_LAYOUT_ENGINE;
	struct { struct direct_answer head; char rest[sizeof(shape)]; } a = {
		.head.cookie = cookie, .rest = "because",
	};
	size_t size = sizeof(a.head);

	switch (rogue.how) {
	case OTHER_FIRST:
		a.head.cookie = cookie + 1;
		packet_send(socket, &a, size, -1);
		a.head.cookie = cookie;
		break;
	case SAYS:
		a.head.status = NNACCEL_STATUS_GENERAL_FAILURE;
		a.head.message_size = 7;
		size += 7;
		break;
	case SHORT:
		size--;
		break;
	case TOO_LITTLE:
		a.head.payload_size = 1;
		break;
	case TOO_MUCH:
		size++;
		break;
	case LAYOUT:
		memcpy(a.rest, &layout, sizeof(layout));
		size += a.head.payload_size = sizeof(layout);
		break;
	case RANK:
		memcpy(a.rest, &shape, sizeof(shape));
		size += a.head.payload_size = sizeof(shape);
		break;
	default:
		break;
	}
	packet_send(socket, &a, size, -1);
}

/* Imitates an engine that serves one connection until the client closes the connection. */
static void serve(int socket)
{
	union { struct direct_message hello; struct nnaccel_cmd head; char bytes[16384]; } got;
	const struct direct_message hello = { .kind = DIRECT_HELLO };
	int memory = -1;

	if (packet_receive(socket, &got, sizeof(got), 0, &memory) == sizeof(got.hello) && memory >= 0 &&
	    packet_send(socket, &hello, sizeof(hello), -1))
		while (recv(socket, &got, sizeof(got), 0) > 0) {
			if (rogue.how == NOTHING)
				break;
			if (rogue.how == LAYOUT && got.head.kind == NNACCEL_DO_COPY_IN) {
				sem_post(&rogue.copies);
				sem_wait(&rogue.go);
			}
			if (got.head.cookie)
				answer(socket, got.head.cookie);
		}
	close(socket);
	close(memory);
}

static void *serve_all(void *unused)
{
	int socket;

	while ((socket = accept4(rogue.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		serve(socket);
	return unused;
}

/* Starts the engine that this program imitates, and opens the engine's device. */
static int start_rogue(void **state)
{
	(void)state;
	rogue.how = FINE;
	rogue.address.sun_family = AF_UNIX;
	snprintf(rogue.address.sun_path, sizeof(rogue.address.sun_path), "%s/rogue", folder);
	rogue.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(rogue.listener, (struct sockaddr *)&rogue.address, sizeof(rogue.address)) ||
	    listen(rogue.listener, 4) || sem_init(&rogue.copies, 0, 0) || sem_init(&rogue.go, 0, 0) ||
	    pthread_create(&rogue.thread, NULL, serve_all, NULL))
		return -1;
	return nna_device_open(rogue.address.sun_path, &device, &err);
}

static int stop_rogue(void **state)
{
	(void)state;
	nna_device_close(device);
	shutdown(rogue.listener, SHUT_RDWR);
	pthread_join(rogue.thread, NULL);
	close(rogue.listener);
	return unlink(rogue.address.sun_path);
}

/* After a wrong answer the library closes the connection; the next call opens a new connection. */
static void test_rogue(void **state)
{
	static const struct {
		const char *name;
		enum rogue how;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ "fine", FINE, NN_OK, "" },
		{ "another answer first", OTHER_FIRST, NN_OK, "" },
		{ "a message", SAYS, NN_GENERAL_FAILURE, "because" },
		{ "a short answer", SHORT, NN_DEAD_OBJECT, "" },
		{ "too little", TOO_LITTLE, NN_DEAD_OBJECT, "" },
		{ "too much", TOO_MUCH, NN_DEAD_OBJECT, "" },
		{ "the end", NOTHING, NN_DEAD_OBJECT, "" },
	};
	struct nna_prepared_model *p;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rogue.how = cases[i].how;
		err.message[0] = '\0';
		p = prepare(device, 1);
		if (!p != (cases[i].status != NN_OK) || (!p && prepared != cases[i].status) ||
		    !strstr(err.message, cases[i].message))
			fail_msg("%s: %s: %s", cases[i].name, nn_status_name(prepared), err.message);
		nna_prepared_model_free(p);
		rogue.how = FINE;
		p = prepare(device, 1);
		assert_non_null(p);
		nna_prepared_model_free(p);
	}
}

/* A rank that is too high ends the connection, before the library uses the shape. */
static void test_rogue_shape(void **state)
{
	struct nna_prepared_model *p = prepare(device, 1);
	const struct nna_role role = { .frequency = 1 };
	const struct nna_argument in = { .length = sizeof(float) }, out = { .pool = 1 };
	struct nna_memory *m = fill(1, 1);
	struct nna_buffer *buffer;
	uint32_t token;
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &m, .num_tokens = 1, .tokens = &token,
	};

	(void)state;
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .outputs = &role, .num_outputs = 1), &buffer, &token, &err));
	rogue.how = RANK;
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_DEAD_OBJECT);
	assert_int_equal(nna_buffer_size(buffer), 0);
	nna_buffer_free(buffer);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

static void *copy_to_buffer(void *copy)
{
	return work(NNACCEL_WORK_BUFFER_COPY, copy) ? NULL : copy;
}

/*
 * If a buffer is destroyed while the engine converts its contents, the library keeps the buffer's
 * memory until the engine answers.
 */
static void test_destroyed_in_copy(void **state)
{
	struct nna_prepared_model *p = prepare(device, 1);
	struct nnaccel_role role = { .model = p->id };
	struct nnaccel_buffer_alloc a = {
		.size = sizeof(a), .capacity = sizeof(float), .roles = (uintptr_t)&role, .num_roles = 1,
	};
	float one = 1;
	struct nnaccel_buffer_copy c = {
		.size = sizeof(c), .flags = NNACCEL_COPY_IN, .data = (uintptr_t)&one, .length = sizeof(one),
	};
	unsigned long before, during;
	pthread_t thread;
	void *copied;

	(void)state;
	rogue.how = LAYOUT;
	assert_int_equal(work(NNACCEL_WORK_BUFFER_ALLOC, &a), 0);
	c.buffer = a.out_buffer;
	assert_int_equal(pthread_create(&thread, NULL, copy_to_buffer, &c), 0);
	sem_wait(&rogue.copies);
	before = kept_now().counts[KEPT_MEMORY];
	assert_int_equal(destroy(a.out_buffer), 0);
	during = kept_now().counts[KEPT_MEMORY];
	sem_post(&rogue.go);
	pthread_join(thread, &copied);
	assert_ptr_equal(copied, &c);
	assert_int_equal(during, before);
	assert_true(kept_now().counts[KEPT_MEMORY] < before);
	nna_prepared_model_free(p);
}

#define TEST(function) \
	{ #function " by processes", function, set_up, tear_down, (void *)"--clients=processes" }, \
	{ #function " by threads", function, set_up, tear_down, (void *)"--clients=threads" }

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_executions),
		TEST(test_buffers),
		{ "test_out_of_memory", test_out_of_memory, set_up, tear_down, (void *)"--clients=threads" },
		TEST(test_deadline),
		TEST(test_many_clients),
		TEST(test_death),
		TEST(test_child),
		TEST(test_deferred),
		TEST(test_queue),
		TEST(test_lost),
		TEST(test_memory),
		TEST(test_wrong_paths),
		TEST(test_wrong_pools),
		TEST(test_wrong_work),
		TEST(test_supported),
		TEST(test_unreachable),
		TEST(test_wrong_arguments),
		TEST(test_wrong_buffers),
		TEST(test_cache),
		TEST(test_info),
		{ "test_cache_files by processes", test_cache_files, NULL, NULL,
		  (void *)"--clients=processes" },
		{ "test_cache_files by threads", test_cache_files, NULL, NULL,
		  (void *)"--clients=threads" },
		{ "test_taken_state by processes", test_taken_state, NULL, NULL,
		  (void *)"--clients=processes" },
		{ "test_taken_state by threads", test_taken_state, NULL, NULL,
		  (void *)"--clients=threads" },
		{ "test_store by processes", test_store, NULL, NULL, (void *)"--clients=processes" },
		{ "test_store by threads", test_store, NULL, NULL, (void *)"--clients=threads" },
		{ "test_keep_all by processes", test_keep_all, NULL, NULL,
		  (void *)"--clients=processes" },
		{ "test_keep_all by threads", test_keep_all, NULL, NULL,
		  (void *)"--clients=threads" },
		{ "test_device_memory by processes", test_device_memory, NULL, NULL,
		  (void *)"--clients=processes" },
		{ "test_device_memory by threads", test_device_memory, NULL, NULL,
		  (void *)"--clients=threads" },
		TEST(test_wrong_bursts),
		cmocka_unit_test_setup_teardown(test_rogue, start_rogue, stop_rogue),
		cmocka_unit_test_setup_teardown(test_rogue_shape, start_rogue, stop_rogue),
		cmocka_unit_test_setup_teardown(test_destroyed_in_copy, start_rogue, stop_rogue),
	};
	int result;

	snprintf(program, sizeof(program), "%.*skit_engine",
		 (int)(strrchr(argv[0], '/') + 1 - argv[0]), argv[0]);
	if (argc < 1 || !mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/engine", folder);
	kept_start();
	result = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return result;
}
