/* SPDX-License-Identifier: MIT */
/*
 * Tests libnnaccel with the module and the engine. The test needs /dev/nnaccel, a running nnacceld,
 * and root, because the test kills workers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "tests/hal_fixture.h"
#include "tests/model_builder.h"
#include "tests/workers.h"

#define OP_ADD		0
#define OP_UNKNOWN	9999
#define COUNT		4
#define SIZE		(COUNT * sizeof(float))
#define PAGE		4096
#define THREADS		4
#define THREAD_RUNS	20

/*
 * Builds a model that adds two vectors of `count` elements. If `count` is 0, the request determines
 * the number of elements.
 */
static void build_add(struct model_builder *b, uint32_t count)
{
	uint32_t x, y, none, sum;

	mb_init(b);
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	none = mb_int32(b, 0);
	sum = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	mb_operation(b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
}

/* Builds a model that adds a constant vector to a vector; the constant lies at byte 8 of a pool. */
static void build_add_constant(struct model_builder *b)
{
	uint32_t x, y, none, sum;

	mb_init(b);
	b->model.num_pools = 1;
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	y = mb_reference(b, NN_TENSOR_FLOAT32, 0, 8, SIZE, MB_DIMS(COUNT));
	none = mb_int32(b, 0);
	sum = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
}

static struct nna_prepared_model *prepare(struct nna_device *d, uint32_t count)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	build_add(&b, count);
	check(nna_prepare_model(d, &b.model, NULL, NULL, &p, &err));
	return p;
}

static struct nna_memory *alloc(void)
{
	struct nna_memory *m;

	check(nna_memory_alloc(device, PAGE, &m, &err));
	return m;
}

static float *map(struct nna_memory *m)
{
	float *data = nna_memory_map(m, &err);

	assert_non_null(data);
	return data;
}

/*
 * Executes the model on the two vectors at the start of a memory, and writes the sum behind the
 * vectors.
 */
static enum nn_status add(struct nna_prepared_model *p, struct nna_memory *m,
			  const struct nna_execute_options *options, struct nna_timing *timing,
			  struct nn_error *e)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	const struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &m, 0, NULL };

	return nna_execute(p, &r, options, NNA_SIZED(nna_results, .timing = timing), e);
}

/* Writes two vectors into the memory, calls add(), and returns the number of wrong sums. */
static int add_numbers(struct nna_prepared_model *p, struct nna_memory *m, float *data, float from)
{
	int wrong = 0;

	for (int i = 0; i < COUNT; i++) {
		data[i] = from + (float)i;
		data[COUNT + i] = 100;
	}
	if (add(p, m, NULL, NULL, NULL))
		return COUNT;
	for (int i = 0; i < COUNT; i++)
		wrong += data[2 * COUNT + i] != from + (float)i + 100;
	return wrong;
}

static void test_device(void **state)
{
	struct nna_context_info context = { .size = sizeof(context) };
	struct nn_device_info info = { .size = sizeof(info) };

	(void)state;
	assert_int_equal(nna_device_status(device), NNA_AVAILABLE);
	check(nna_device_get_info(device, &info, &err));
	assert_string_not_equal(info.version, "");
	assert_true(info.operations[OP_ADD / 8] & 1 << OP_ADD % 8);
	check(nna_device_get_context_info(device, &context, &err));
	assert_int_equal(context.abi, NNACCEL_ABI_VERSION);
	assert_int_equal(context.engine, NNACCEL_ENGINE_ATTACHED);
	assert_int_equal(context.executions, 0);
}

static void test_executions_are_counted(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m = alloc();
	struct nna_context_info context = { .size = sizeof(context) };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(add_numbers(p, m, map(m), (float)i), 0);
	check(nna_device_get_context_info(device, &context, &err));
	assert_int_equal(context.executions, 3);
	assert_true(context.pool_bytes >= PAGE);
	nna_prepared_model_free(p);
	nna_memory_free(m);
	/*
	 * The worker keeps the memory mapped until the worker handles the notification that the
	 * memory was freed.
	 */
	while (context.pool_bytes) {
		usleep(1000);
		check(nna_device_get_context_info(device, &context, &err));
	}
	assert_int_equal(context.import_bytes, 0);
}

static void test_objects_outlive_the_device_handle(void **state)
{
	struct nna_prepared_model *p;
	struct nna_memory *m;
	struct nna_device *d;

	(void)state;
	check(nna_device_open(NULL, &d, &err));
	p = prepare(d, COUNT);
	check(nna_memory_alloc(d, PAGE, &m, &err));
	nna_device_close(d);
	assert_int_equal(add_numbers(p, m, map(m), 1), 0);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

static void test_supported_operations(void **state)
{
	uint32_t x, y, none, sum, out;
	bool supported[2] = { false, true };
	struct model_builder b;

	(void)state;
	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(COUNT));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	mb_operation(&b, OP_UNKNOWN, MB_LIST(sum), MB_LIST(out));
	check(nna_get_supported_operations(device, &b.model, NULL, supported, &err));
	assert_true(supported[0]);
	assert_false(supported[1]);
}

/* The engine's error message names the operation that the engine refuses. */
static void test_wrong_model(void **state)
{
	struct nna_prepared_model *p;
	struct model_builder b;

	(void)state;
	build_add(&b, COUNT);
	b.operands[0][1].type = NN_TENSOR_INT32;
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "ADD"));
}

static void test_options(void **state)
{
	struct nna_prepare_options options = { .size = sizeof(options), .deadline_ns = 1 };
	struct nna_prepared_model *p;
	struct model_builder b;

	(void)state;
	build_add(&b, COUNT);
	assert_int_equal(nna_prepare_model(device, &b.model, NULL, &options, &p, &err),
			 NN_MISSED_DEADLINE_PERSISTENT);
	for (uint32_t i = 0; i < 3; i++) {
		options.preference = options.priority = i;
		options.deadline_ns = clock_ns() + UINT64_C(100000000000);
		check(nna_prepare_model(device, &b.model, NULL, &options, &p, &err));
		nna_prepared_model_free(p);
	}
}

static void test_deadline(void **state)
{
	struct nna_execute_options options = { .size = sizeof(options), .deadline_ns = 1 };
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m = alloc();

	(void)state;
	assert_int_equal(add(p, m, &options, NULL, &err), NN_MISSED_DEADLINE_PERSISTENT);
	options.deadline_ns = clock_ns() + UINT64_C(100000000000);
	check(add(p, m, &options, NULL, &err));
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_timing(void **state)
{
	const struct nna_execute_options measure = { .size = sizeof(measure), .measure = true };
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m = alloc();
	struct nna_timing timing;

	(void)state;
	check(add(p, m, &measure, &timing, &err));
	assert_true(timing.on_device_us != NNA_TIME_NONE);
	assert_true(timing.in_driver_us != NNA_TIME_NONE);
	assert_true(timing.on_device_us <= timing.in_driver_us);
	check(add(p, m, NULL, &timing, &err));
	assert_true(timing.on_device_us == NNA_TIME_NONE);
	assert_true(timing.in_driver_us == NNA_TIME_NONE);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/*
 * The first request determines the sizes of the tensors, which the model leaves unknown. In a
 * second request, the memory of the output is too small for the sum.
 */
static void test_dynamic_shapes(void **state)
{
	struct nna_argument in[] = {
		{ .length = 12, .rank = 1, .dims = { 3 } },
		{ .offset = SIZE, .length = 12, .rank = 1, .dims = { 3 } },
	};
	struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	struct nna_prepared_model *p = prepare(device, 0);
	struct nna_memory *m = alloc();
	struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &m, 0, NULL };
	struct nna_output_shape shape;
	uint32_t count;

	(void)state;
	check(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
			  .num_shapes = &count), &err));
	assert_int_equal(count, 1);
	assert_true(shape.is_sufficient);
	assert_int_equal(shape.rank, 1);
	assert_int_equal(shape.dims[0], 3);

	out.length = 8;
	assert_int_equal(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				     .num_shapes = &count), &err),
			 NN_OUTPUT_INSUFFICIENT_SIZE);
	assert_int_equal(count, 1);
	assert_false(shape.is_sufficient);
	assert_int_equal(shape.dims[0], 3);

	in[1].length = 8;
	in[1].dims[0] = 2;
	assert_true(nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				.num_shapes = &count), &err) != NN_OK);
	assert_int_equal(count, 0);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/*
 * Executes an addition of a constant; the COUNT floats of the constant lie at byte 8 of a memory.
 */
static void add_constant(struct nna_memory *constants)
{
	struct nna_memory *m = alloc();
	const struct nna_argument in = { .length = SIZE }, out = { .offset = SIZE, .length = SIZE };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &m, 0, NULL };
	struct nna_prepared_model *p;
	struct model_builder b;
	float *data = map(m);

	build_add_constant(&b);
	check(nna_prepare_model(device, &b.model, &constants, NULL, &p, &err));
	nna_memory_free(constants);
	for (int i = 0; i < COUNT; i++)
		data[i] = (float)i;
	check(nna_execute(p, &r, NULL, NULL, &err));
	for (int i = 0; i < COUNT; i++)
		assert_true(data[COUNT + i] == (float)i + 7);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void fill_constants(int fd, off_t offset)
{
	const float sevens[COUNT] = { 7, 7, 7, 7 };

	assert_return_code(ftruncate(fd, 2 * PAGE), errno);
	assert_int_equal(pwrite(fd, sevens, SIZE, offset + 8), SIZE);
}

static void test_constants_in_files(void **state)
{
	const off_t offsets[] = { 0, 100, PAGE + 20 };
	struct nna_memory *m;

	(void)state;
	for (int i = 0; i < 6; i++) {
		int fd = i % 2 ? memfd_create("constants", MFD_CLOEXEC) :
				 open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		assert_return_code(fd, errno);
		fill_constants(fd, offsets[i / 2]);
		check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
					.offset = (uint64_t)offsets[i / 2], .length = 24), &m,
					&err));
		close(fd);
		add_constant(m);
	}
}

/* Maps a file that the test also imports as a memory. */
static float *map_file(int fd)
{
	float *data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(data != MAP_FAILED);
	return data;
}

static void test_execution_in_memfd(void **state)
{
	int fd = memfd_create("arguments", MFD_CLOEXEC);
	struct nna_prepared_model *p = prepare(device, COUNT);
	struct nna_memory *m, *readable;
	float *data;

	(void)state;
	assert_return_code(ftruncate(fd, PAGE), errno);
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd,
				.prot = PROT_READ | PROT_WRITE, .offset = 256, .length = 512), &m,
				&err));
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
				.offset = 256, .length = 512), &readable, &err));
	data = map_file(fd);
	close(fd);
	assert_int_equal(add_numbers(p, m, data + 256 / sizeof(*data), 5), 0);
	munmap(data, PAGE);
	assert_int_equal(add(p, readable, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	nna_memory_free(m);
	nna_memory_free(readable);
	nna_prepared_model_free(p);
}

/* The test imports a dma-buf twice in one context and once in a second context. */
static void test_shared_buffer(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT), *other_p;
	struct nna_memory *m = alloc(), *again, *other;
	struct nna_device *d;
	float *data;
	int fd;

	(void)state;
	check(nna_device_open(NULL, &d, &err));
	other_p = prepare(d, COUNT);
	check(nna_memory_export(m, &fd, &err));
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd,
				.prot = PROT_READ | PROT_WRITE, .length = PAGE), &again, &err));
	check(nna_memory_import(d, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ | PROT_WRITE,
				.length = PAGE), &other, &err));
	data = map_file(fd);
	close(fd);
	assert_int_equal(add_numbers(other_p, other, map(m), 3), 0);
	assert_int_equal(add(p, other, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	nna_memory_free(m);
	assert_int_equal(add_numbers(p, again, data, 4), 0);
	nna_memory_free(again);
	assert_int_equal(add_numbers(other_p, other, data, 5), 0);
	munmap(data, PAGE);
	nna_memory_free(other);
	nna_prepared_model_free(other_p);
	nna_prepared_model_free(p);
	nna_device_close(d);
}

static void test_foreign_files_are_refused(void **state)
{
	int event = eventfd(0, EFD_CLOEXEC), file = memfd_create("short", MFD_CLOEXEC);
	struct nna_memory *m;

	(void)state;
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = event,
					   .prot = PROT_READ, .length = PAGE), &m, &err),
			 NN_GENERAL_FAILURE);
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file,
					   .prot = PROT_READ, .length = PAGE), &m, &err),
			 NN_GENERAL_FAILURE);
	assert_int_equal(nna_memory_alloc(device, UINT64_C(1) << 62, &m, &err),
			 NN_RESOURCE_EXHAUSTED_PERSISTENT);
	close(event);
	close(file);
}

static void test_child_is_refused(void **state)
{
	struct nna_context_info context = { .size = sizeof(context) };
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(nna_device_get_context_info(device, &context, NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), NN_DEVICE_UNAVAILABLE);
}

struct thread {
	pthread_t id;
	float from;
	struct nna_prepared_model *shared;
	int wrong;
};

/* Each thread uses its own model and memory, and a model that all threads share. */
static void *run_thread(void *arg)
{
	struct nna_prepared_model *own = NULL;
	struct nna_memory *m = NULL;
	struct thread *t = arg;
	struct model_builder b;
	float *data;

	build_add(&b, COUNT);
	if (nna_prepare_model(device, &b.model, NULL, NULL, &own, NULL))
		t->wrong++;
	for (int i = 0; own && i < THREAD_RUNS; i++) {
		data = NULL;
		if (!nna_memory_alloc(device, PAGE, &m, NULL))
			data = nna_memory_map(m, NULL);
		if (!data) {
			t->wrong++;
			break;
		}
		t->wrong += add_numbers(i % 2 ? own : t->shared, m, data, t->from + (float)i);
		nna_memory_free(m);
	}
	nna_prepared_model_free(own);
	return NULL;
}

static void test_threads(void **state)
{
	struct nna_prepared_model *shared = prepare(device, COUNT);
	struct thread threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .from = (float)(1000 * i), .shared = shared };
		assert_int_equal(pthread_create(&threads[i].id, NULL, run_thread, &threads[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		assert_int_equal(threads[i].wrong, 0);
	}
	nna_prepared_model_free(shared);
}

/* The models of a dead worker cannot be used; the next preparation starts a new worker. */
static void test_dead_worker(void **state)
{
	struct nna_prepared_model *p = prepare(device, COUNT), *next = NULL;
	struct nna_memory *m = alloc();
	enum nn_status status;
	struct model_builder b;

	(void)state;
	assert_int_equal(add_numbers(p, m, map(m), 1), 0);
	assert_true(workers_kill());
	do
		status = add(p, m, NULL, NULL, NULL);
	while (status == NN_OK);
	assert_int_equal(status, NN_DEAD_OBJECT);
	assert_int_equal(add(p, m, NULL, NULL, &err), NN_DEAD_OBJECT);

	build_add(&b, COUNT);
	while (nna_prepare_model(device, &b.model, NULL, NULL, &next, NULL))
		usleep(10000);
	assert_int_equal(add_numbers(next, m, map(m), 2), 0);
	assert_int_equal(add(p, m, NULL, NULL, &err), NN_DEAD_OBJECT);
	nna_prepared_model_free(p);
	nna_prepared_model_free(next);
	nna_memory_free(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_device),
		TEST(test_executions_are_counted),
		TEST(test_objects_outlive_the_device_handle),
		TEST(test_supported_operations),
		TEST(test_wrong_model),
		TEST(test_options),
		TEST(test_deadline),
		TEST(test_timing),
		TEST(test_dynamic_shapes),
		TEST(test_constants_in_files),
		TEST(test_execution_in_memfd),
		TEST(test_shared_buffer),
		TEST(test_foreign_files_are_refused),
		TEST(test_child_is_refused),
		TEST(test_threads),
		TEST(test_dead_worker),
	};

	return cmocka_run_group_tests_name("hal_device", tests, NULL, NULL);
}
