/* SPDX-License-Identifier: MIT */
/*
 * Tests buffers of memory domains through the module and the engine. The test needs /dev/nnaccel, a
 * running nnacceld, and root, because only root may trace the kernel.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "hal/device.h"
#include "../../selftests/lib/runner.h"
#include "tests/model_builder.h"
#include "tests/workers.h"

#define OP_ADD		0
#define OP_LSTM		16
#define COUNT		4
#define SIZE		(COUNT * sizeof(float))
#define STEPS		100
#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/nnaccel-buffers"

static struct nna_device *device;
static struct nn_error err;

static int set_up(void **state)
{
	(void)state;
	err.message[0] = 0;
	if (!nna_device_open(NULL, &device, &err))
		return 0;
	print_error("%s\n", err.message);
	return -1;
}

static int tear_down(void **state)
{
	(void)state;
	nna_device_close(device);
	return 0;
}

static void check(enum nn_status status)
{
	if (status)
		print_error("%s: %s\n", nna_status_name(status), err.message);
	assert_int_equal(status, NN_OK);
}

/* Prepares a model that adds two tensors of `count` elements (0: an unknown number). */
static struct nna_prepared_model *prepare_add(uint32_t count)
{
	struct nna_prepared_model *p;
	uint32_t x, y, none, sum;
	struct model_builder b;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	mb_operation(&b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	check(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err));
	return p;
}

/* Makes a buffer that may be any input and any output of a model. */
static struct nna_buffer *allocate_for(struct nna_prepared_model *p, uint32_t inputs,
				       uint32_t outputs, uint32_t *token)
{
	struct nna_role roles[8];
	struct nna_buffer *b;

	for (uint32_t i = 0; i < 8; i++)
		roles[i] = (struct nna_role){ .index = i, .frequency = 1 };
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .inputs = roles, .num_inputs = inputs, .outputs = roles,
				  .num_outputs = outputs), &b, token, &err));
	assert_non_null(b);
	assert_int_not_equal(*token, 0);
	return b;
}

static struct nna_buffer *allocate(struct nna_prepared_model *p, uint32_t *token)
{
	return allocate_for(p, 2, 1, token);
}

/* Adds the contents of two buffers, and writes the sum to a third buffer. */
static enum nn_status add(struct nna_prepared_model *p, uint32_t x, uint32_t y, uint32_t sum,
			  struct nna_output_shape *shape)
{
	const uint32_t tokens[] = { x, sum, y };
	const struct nna_argument in[] = { { .pool = 0 }, { .pool = x == y ? 0 : 2 } };
	const struct nna_argument out = { .pool = 1 };
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 2, .num_outputs = 1, .inputs = in, .outputs = &out,
		.num_tokens = x == y ? 2 : 3, .tokens = tokens,
	};

	return nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = shape), &err);
}

static void fill(float *data, uint32_t count, float from)
{
	for (uint32_t i = 0; i < count; i++)
		data[i] = from + (float)i;
}

/* ---- allocation ---- */

static void test_roles(void **state)
{
	struct nna_prepared_model *models[3] = { prepare_add(COUNT), prepare_add(0),
						 prepare_add(COUNT + 1) };
	const struct {
		const char *what;
		struct nna_role in[2];
		uint32_t num_in;
		struct nna_role out[2];
		uint32_t num_out;
		struct nna_buffer_desc desc;
		enum nn_status status;
	} cases[] = {
		{ "an input", { { 0, 0, 1 } }, 1, { { 0 } }, 0, { 0 }, NN_OK },
		{ "an output", { { 0 } }, 0, { { 0, 0, 0.1F } }, 1, { 0 }, NN_OK },
		{ "two models", { { 0, 0, 1 } }, 1, { { 1, 0, 1 } }, 1, { 0 }, NN_OK },
		{ "an open model and dimensions", { { 1, 1, 1 } }, 1, { { 0 } }, 0, { 1, { 7 } },
		  NN_OK },
		{ "an open model", { { 1, 1, 1 } }, 1, { { 0 } }, 0, { 0 }, NN_OK },
		{ "no role", { { 0 } }, 0, { { 0 } }, 0, { 0 }, NN_INVALID_ARGUMENT },
		{ "no such model", { { 3, 0, 1 } }, 1, { { 0 } }, 0, { 0 }, NN_INVALID_ARGUMENT },
		{ "no such input", { { 0, 2, 1 } }, 1, { { 0 } }, 0, { 0 }, NN_INVALID_ARGUMENT },
		{ "no such output", { { 0 } }, 0, { { 0, 1, 1 } }, 1, { 0 }, NN_INVALID_ARGUMENT },
		{ "twice", { { 0, 0, 1 }, { 0, 0, 1 } }, 2, { { 0 } }, 0, { 0 },
		  NN_INVALID_ARGUMENT },
		{ "frequency 0", { { 0, 0, 0 } }, 1, { { 0 } }, 0, { 0 }, NN_INVALID_ARGUMENT },
		{ "frequency above 1", { { 0, 0, 1.1F } }, 1, { { 0 } }, 0, { 0 },
		  NN_INVALID_ARGUMENT },
		{ "other dimensions", { { 0, 0, 1 }, { 2, 0, 1 } }, 2, { { 0 } }, 0, { 0 },
		  NN_INVALID_ARGUMENT },
		{ "a description that differs", { { 0, 0, 1 } }, 1, { { 0 } }, 0, { 1, { 9 } },
		  NN_INVALID_ARGUMENT },
		{ "a rank that differs", { { 0, 0, 1 } }, 1, { { 0 } }, 0, { 2, { 4, 1 } },
		  NN_INVALID_ARGUMENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nna_buffer *b = (void *)1;
		uint32_t token = 4711;
		enum nn_status status = nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles,
							    .desc = &cases[i].desc,
							    .models = models, .num_models = 3,
							    .inputs = cases[i].in,
							    .num_inputs = cases[i].num_in,
							    .outputs = cases[i].out,
							    .num_outputs = cases[i].num_out), &b,
							    &token, &err);

		if (status != cases[i].status)
			fail_msg("%s: %s, %s", cases[i].what, nna_status_name(status), err.message);
		assert_int_equal(!status, b != NULL);
		assert_int_equal(!status, token != 0);
		nna_buffer_free(b);
	}
	for (int i = 0; i < 3; i++)
		nna_prepared_model_free(models[i]);
}

/*
 * Each buffer has its own token as long as the buffer exists; the token of a freed buffer is
 * invalid.
 */
static void test_tokens(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT);
	uint32_t one, two, again;
	struct nna_buffer *a = allocate(p, &one), *b = allocate(p, &two);

	(void)state;
	assert_int_not_equal(one, two);
	nna_buffer_free(a);
	assert_int_equal(add(p, two, two, one, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(add(p, two, two, 1000, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(add(p, two, two, 0, NULL), NN_INVALID_ARGUMENT);
	a = allocate(p, &again);
	assert_int_not_equal(again, two);
	nna_buffer_free(a);
	nna_buffer_free(b);
	nna_buffer_free(NULL);
	nna_prepared_model_free(p);
}

/* ---- copies ---- */

static void test_copies(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT);
	struct nna_memory *m, *large;
	uint32_t token;
	struct nna_buffer *b = allocate(p, &token);
	const uint32_t good = COUNT, bad = COUNT + 1;
	float *data, back[COUNT];

	(void)state;
	check(nna_memory_alloc(device, SIZE, &m, &err));
	check(nna_memory_alloc(device, SIZE + 1, &large, &err));
	data = nna_memory_map(m, &err);
	fill(data, COUNT, 5);
	assert_int_equal(nna_buffer_copy_to(b, m, &err), NN_GENERAL_FAILURE);
	assert_int_equal(nna_buffer_size(b), 0);
	check(nna_buffer_copy_from(b, m, 0, NULL, &err));
	check(nna_buffer_copy_from(b, m, 1, &good, &err));
	assert_int_equal(nna_buffer_size(b), SIZE);
	memset(data, 0, SIZE);
	check(nna_buffer_copy_to(b, m, &err));
	for (int i = 0; i < COUNT; i++)
		assert_true(data[i] == 5.0F + (float)i);
	assert_int_equal(nna_buffer_copy_to(b, large, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_read(b, back, SIZE - 1, &err), NN_INVALID_ARGUMENT);
	check(nna_buffer_read(b, back, SIZE, &err));
	assert_memory_equal(back, data, SIZE);

	/* After a failed copy into a buffer, the buffer is empty. */
	assert_int_equal(nna_buffer_copy_from(b, large, 0, NULL, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_read(b, back, SIZE, &err), NN_GENERAL_FAILURE);
	check(nna_buffer_write(b, data, SIZE, 0, NULL, &err));
	assert_int_equal(nna_buffer_copy_from(b, m, 1, &bad, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_buffer_read(b, back, SIZE, &err), NN_GENERAL_FAILURE);
	assert_int_equal(nna_buffer_write(b, NULL, SIZE, 0, NULL, &err), NN_INVALID_ARGUMENT);
	nna_buffer_free(b);
	nna_memory_free(m);
	nna_memory_free(large);
	nna_prepared_model_free(p);
}

/* ---- executions ---- */

static void test_execute(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT), *other = prepare_add(COUNT);
	uint32_t x, y, z;
	struct nna_buffer *a = allocate(p, &x), *b = allocate(p, &y), *c = allocate(p, &z);
	struct nna_output_shape shape;
	float data[COUNT], sum[COUNT];

	(void)state;
	fill(data, COUNT, 1);
	check(nna_buffer_write(a, data, SIZE, 0, NULL, &err));
	assert_int_equal(add(p, x, y, z, NULL), NN_GENERAL_FAILURE);
	check(nna_buffer_write(b, data, SIZE, 0, NULL, &err));
	check(add(p, x, y, z, &shape));
	assert_int_equal(shape.rank, 1);
	assert_int_equal(shape.dims[0], COUNT);
	check(nna_buffer_read(c, sum, SIZE, &err));
	for (int i = 0; i < COUNT; i++)
		assert_true(sum[i] == 2 * data[i]);
	/*
	 * One buffer may be two inputs of the same execution, but not both an input and an output.
	 */
	check(add(p, z, z, x, NULL));
	check(nna_buffer_read(a, sum, SIZE, &err));
	assert_true(sum[1] == 4 * data[1]);
	assert_int_equal(add(p, x, y, x, NULL), NN_INVALID_ARGUMENT);
	check(nna_buffer_read(a, sum, SIZE, &err));
	/* An execution is rejected if its buffers were made for another model. */
	assert_int_equal(add(other, x, y, z, NULL), NN_INVALID_ARGUMENT);
	nna_buffer_free(a);
	nna_buffer_free(b);
	nna_buffer_free(c);
	nna_prepared_model_free(p);
	nna_prepared_model_free(other);
}

/*
 * An execution may have memories and buffers as arguments at the same time. An execution is
 * rejected if an argument that is a buffer sets fields that apply only to memories.
 */
static void test_arguments(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT);
	struct nna_argument in[] = { { .length = SIZE }, { .pool = 1 } };
	struct nna_argument out = { .pool = 0, .offset = SIZE, .length = SIZE };
	struct nna_memory *m;
	uint32_t token;
	struct nna_buffer *b = allocate(p, &token);
	struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 2, .num_outputs = 1, .num_memories = 1, .inputs = in,
		.outputs = &out, .memories = &m, .num_tokens = 1, .tokens = &token,
	};
	float *data;

	(void)state;
	check(nna_memory_alloc(device, 2 * SIZE, &m, &err));
	data = nna_memory_map(m, &err);
	fill(data, COUNT, 1);
	check(nna_buffer_write(b, data, SIZE, 0, NULL, &err));
	check(nna_execute(p, &r, NULL, NULL, &err));
	assert_true(data[COUNT + 1] == 2 * data[1]);
	in[1].length = SIZE;
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	in[1] = (struct nna_argument){ .pool = 1, .offset = 4 };
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	in[1] = (struct nna_argument){ .pool = 2 };
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	in[1] = (struct nna_argument){ .pool = 1, .rank = 1, .dims = { COUNT + 1 } };
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	in[1] = (struct nna_argument){ .pool = 1, .rank = 1, .dims = { COUNT } };
	check(nna_execute(p, &r, NULL, NULL, &err));
	nna_buffer_free(b);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

/*
 * Each write specifies the unknown dimensions of a buffer, and the buffer's memory grows if the new
 * dimensions need more memory.
 */
static void test_open_shapes(void **state)
{
	const uint32_t counts[] = { 3, 1000, 50000, 2 };
	struct nna_prepared_model *p = prepare_add(0);
	uint32_t x, z;
	struct nna_buffer *a = allocate(p, &x), *c = allocate(p, &z);
	struct nna_output_shape shape;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint32_t n = counts[i];
		float *data = malloc(n * sizeof(*data)), *sum = malloc(n * sizeof(*sum));

		fill(data, n, 1);
		assert_int_equal(nna_buffer_write(a, data, n * sizeof(*data), 0, NULL, &err),
				 NN_INVALID_ARGUMENT);
		check(nna_buffer_write(a, data, n * sizeof(*data), 1, &n, &err));
		check(add(p, x, x, z, &shape));
		assert_int_equal(shape.dims[0], n);
		assert_int_equal(nna_buffer_size(c), n * sizeof(*sum));
		check(nna_buffer_read(c, sum, n * sizeof(*sum), &err));
		for (uint32_t k = 0; k < n; k++)
			assert_true(sum[k] == 2 * data[k]);
		free(data);
		free(sum);
	}
	nna_buffer_free(a);
	nna_buffer_free(c);
	nna_prepared_model_free(p);
}

/* A request with a buffer as argument is executed by an ioctl, not by the burst's rings. */
static void test_burst(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT);
	uint32_t tokens[2];
	struct nna_buffer *a = allocate(p, &tokens[0]), *c = allocate(p, &tokens[1]);
	const struct nna_argument in[] = { { .pool = 0 }, { .pool = 0 } };
	const struct nna_argument out = { .pool = 1 };
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 2, .num_outputs = 1, .inputs = in, .outputs = &out,
		.num_tokens = 2, .tokens = tokens,
	};
	struct nna_burst *burst;
	float data[COUNT];

	(void)state;
	fill(data, COUNT, 1);
	check(nna_burst_create(p, NULL, &burst, &err));
	check(nna_buffer_write(a, data, SIZE, 0, NULL, &err));
	for (int i = 0; i < 3; i++)
		check(nna_burst_execute(burst, &r, NULL, NULL, &err));
	check(nna_buffer_read(c, data, SIZE, &err));
	assert_true(data[0] == 2);
	nna_burst_free(burst);
	nna_buffer_free(a);
	nna_buffer_free(c);
	nna_prepared_model_free(p);
}

/*
 * If the worker dies, buffers keep their contents but lose their roles, because the models of the
 * roles are lost. If NN_TEST_LAYOUT is set, the engine stores buffers in a layout that the engine
 * chooses. If NN_TEST_THREADS is set, the engine has no worker that can die.
 */
static void test_death(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT), *next = NULL;
	uint32_t x, z;
	struct nna_buffer *a = allocate(p, &x), *c = allocate(p, &z);
	float data[COUNT], back[COUNT];

	(void)state;
	fill(data, COUNT, 1);
	check(nna_buffer_write(a, data, SIZE, 0, NULL, &err));
	check(add(p, x, x, z, NULL));
	if (getenv("NN_TEST_THREADS"))
		goto out;
	assert_true(workers_kill());
	assert_int_equal(add(p, x, x, z, NULL), NN_DEAD_OBJECT);
	if (getenv("NN_TEST_LAYOUT")) {
		assert_int_not_equal(nna_buffer_read(a, back, SIZE, &err), NN_OK);
		goto out;
	}
	check(nna_buffer_read(a, back, SIZE, &err));
	assert_memory_equal(back, data, SIZE);
	next = prepare_add(COUNT);
	assert_int_equal(add(next, x, x, z, NULL), NN_INVALID_ARGUMENT);
out:
	nna_buffer_free(a);
	nna_buffer_free(c);
	nna_prepared_model_free(p);
	nna_prepared_model_free(next);
}

/* ---- a chain: an LSTM whose state never leaves the device ---- */

/*
 * The test's LSTM has 2 units and 2 inputs, uses CIFG, and has no peephole, projection, layer norm
 * or clipping.
 */
#define UNITS 2

static uint32_t weights(struct model_builder *b, float seed, uint32_t columns)
{
	float data[UNITS * UNITS];

	for (uint32_t i = 0; i < UNITS * columns; i++)
		data[i] = seed / (float)(i + 2) * (i % 2 ? -1.0F : 1.0F);
	return columns == 1 ?
	       mb_constant(b, NN_TENSOR_FLOAT32, data, UNITS * sizeof(float), MB_DIMS(UNITS)) :
	       mb_constant(b, NN_TENSOR_FLOAT32, data, sizeof(data), MB_DIMS(UNITS, UNITS));
}

static uint32_t omitted(struct model_builder *b, uint32_t rank, const uint32_t *dims)
{
	return mb_operand(b, NN_TENSOR_FLOAT32, NN_NO_VALUE, rank, dims);
}

/*
 * Prepares an LSTM with the inputs x, output state and cell state, and the outputs scratch, output
 * state, cell state and output.
 */
static struct nna_prepared_model *prepare_lstm(void)
{
	struct nna_prepared_model *p;
	uint32_t in[23], out[4], k = 0;
	struct model_builder b;

	mb_init(&b);
	in[0] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, UNITS));
	in[18] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, UNITS));
	in[19] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, UNITS));
	for (k = 1; k <= 8; k++)
		in[k] = k == 1 || k == 5 ? omitted(&b, MB_DIMS(UNITS, UNITS)) :
					   weights(&b, 0.3F * (float)k, UNITS);
	for (k = 9; k <= 12; k++)
		in[k] = omitted(&b, MB_DIMS(UNITS));
	for (k = 13; k <= 15; k++)
		in[k] = weights(&b, 0.1F * (float)k, 1);
	in[16] = omitted(&b, MB_DIMS(UNITS, UNITS));
	in[17] = omitted(&b, MB_DIMS(UNITS));
	in[20] = mb_int32(&b, 4);
	in[21] = mb_float32(&b, 0);
	in[22] = mb_float32(&b, 0);
	out[0] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 3 * UNITS));
	for (k = 1; k < 4; k++)
		out[k] = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, UNITS));
	mb_operation(&b, OP_LSTM, 23, in, 4, out);
	check(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err));
	return p;
}

/*
 * Runs the LSTM with the LSTM's states in this process's memory. The memory contains x, the two
 * states, the scratch buffer, the two new states and the output, in this order.
 */
static void lstm_by_hand(struct nna_prepared_model *p, float *state)
{
	const size_t size = UNITS * sizeof(float);
	struct nna_argument in[3], out[4];
	struct nna_memory *m;
	const struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 3, .num_outputs = 4, .num_memories = 1,
		.inputs = in, .outputs = out, .memories = &m,
	};
	float *data;

	check(nna_memory_alloc(device, 4096, &m, &err));
	data = nna_memory_map(m, &err);
	for (uint32_t i = 0; i < 3; i++)
		in[i] = (struct nna_argument){ .offset = i * size, .length = size };
	out[0] = (struct nna_argument){ .offset = 1024, .length = 3 * size };
	for (uint32_t i = 1; i < 4; i++)
		out[i] = (struct nna_argument){ .offset = 512 + i * size, .length = size };
	data[0] = 0.5F;
	data[1] = -0.25F;
	for (int step = 0; step < STEPS; step++) {
		check(nna_execute(p, &r, NULL, NULL, &err));
		memcpy((char *)data + size, (char *)data + 512 + size, 2 * size);
	}
	memcpy(state, (char *)data + size, 2 * size);
	nna_memory_free(m);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0)
		print_error("%s: %s\n", path, strerror(errno));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Numbers of this process's events since trace_begin(). */
struct seen {
	unsigned long executions;
	unsigned long copies;
	unsigned long pools;
	unsigned long maps;
};

static void trace_begin(void)
{
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (mkdir(INSTANCE, 0700))
		assert_int_equal(errno, EEXIST);
	put(INSTANCE "/trace", "");
	put(INSTANCE "/events/nnaccel/enable", "1");
	if (access(INSTANCE "/events/syscalls", F_OK))
		print_message("this kernel has no events of system calls: mappings go uncounted\n");
	else
		put(INSTANCE "/events/syscalls/sys_enter_mmap/enable", "1");
	put(INSTANCE "/tracing_on", "1");
}

/*
 * The test does not use the filter set_event_pid, because set_event_pid patches the scheduler's
 * code (see scripts/vm). Each line of the trace begins with " NAME-PID [CPU]".
 */
static void trace_end(struct seen *seen)
{
	char line[512], process[16];
	FILE *trace;

	snprintf(process, sizeof(process), "-%d ", (int)getpid());
	put(INSTANCE "/tracing_on", "0");
	*seen = (struct seen){ 0 };
	trace = fopen(INSTANCE "/trace", "r");
	assert_non_null(trace);
	while (fgets(line, sizeof(line), trace)) {
		if (line[0] == '#' || !strstr(line, process))
			continue;
		seen->executions += strstr(line, "nnaccel_command_queue:") && strstr(line, "kind=EXECUTE ");
		seen->copies += strstr(line, "nnaccel_buffer_copy:") != NULL;
		seen->pools += strstr(line, "nnaccel_pool_create:") != NULL;
		seen->maps += strstr(line, "sys_mmap(") != NULL;
	}
	fclose(trace);
	rmdir(INSTANCE);
}

/* Returns how many bytes the kernel has copied for the contexts of this process. */
static unsigned long long copied(void)
{
	unsigned long long sum = 0, n;
	struct dirent *entry;
	char path[320], line[256];
	DIR *files = opendir("/proc/self/fdinfo");

	assert_non_null(files);
	while ((entry = readdir(files))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "nnaccel-copied-in: %llu", &n) == 1 ||
			    sscanf(line, "nnaccel-copied-out: %llu", &n) == 1)
				sum += n;
		if (file)
			fclose(file);
	}
	closedir(files);
	return sum;
}

static void test_lstm_chain(void **state)
{
	const struct nna_role x_in = { 0, 0, 1 }, scratch_out = { 0, 0, 1 }, last_out = { 0, 3, 1 };
	const struct nna_role state_in[] = { { 0, 1, 1 }, { 0, 2, 1 } };
	const struct nna_role state_out[] = { { 0, 1, 1 }, { 0, 2, 1 } };
	const size_t size = UNITS * sizeof(float);
	struct nna_prepared_model *p = prepare_lstm();
	struct nna_buffer *x, *scratch, *last, *b[2][2];
	uint32_t tokens[7], by_step[2][7];
	const struct nna_argument in[] = { { .pool = 0 }, { .pool = 1 }, { .pool = 2 } };
	const struct nna_argument out[] = { { .pool = 3 }, { .pool = 4 }, { .pool = 5 },
					    { .pool = 6 } };
	struct nna_request r = {
		.size = sizeof(r),
		.num_inputs = 3, .num_outputs = 4, .inputs = in, .outputs = out, .num_tokens = 7,
	};
	float start[UNITS] = { 0.5F, -0.25F }, zero[UNITS] = { 0 }, expected[2 * UNITS];
	float got[2 * UNITS];
	unsigned long long before;
	struct seen seen;

	(void)state;
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .inputs = &x_in, .num_inputs = 1), &x, &tokens[0], &err));
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .outputs = &scratch_out, .num_outputs = 1), &scratch, &tokens[3],
				  &err));
	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .outputs = &last_out, .num_outputs = 1), &last, &tokens[6],
				  &err));
	memcpy(by_step[0], tokens, sizeof(tokens));
	memcpy(by_step[1], tokens, sizeof(tokens));
	for (int s = 0; s < 2; s++) {
		for (int i = 0; i < 2; i++) {
			uint32_t token;

			check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p,
						  .num_models = 1, .inputs = &state_in[s],
						  .num_inputs = 1, .outputs = &state_out[s],
						  .num_outputs = 1), &b[i][s], &token, &err));
			by_step[i][1 + s] = token;
			by_step[!i][4 + s] = token;
		}
		check(nna_buffer_write(b[0][s], zero, size, 0, NULL, &err));
	}
	check(nna_buffer_write(x, start, size, 0, NULL, &err));

	before = copied();
	trace_begin();
	for (int step = 0; step < STEPS; step++) {
		r.tokens = by_step[step % 2];
		check(nna_execute(p, &r, NULL, NULL, &err));
	}
	trace_end(&seen);
	/* The kernel's trace shows the executions of the LSTM, but no copies. */
	assert_int_equal(seen.executions, STEPS);
	assert_int_equal(seen.copies, 0);
	assert_int_equal(seen.pools, 0);
	assert_int_equal(seen.maps, 0);
	assert_true(copied() == before);

	check(nna_buffer_read(b[0][0], got, size, &err));
	check(nna_buffer_read(b[0][1], got + UNITS, size, &err));
	assert_true(copied() == before + 2 * size);
	lstm_by_hand(p, expected);
	assert_memory_equal(got, expected, sizeof(got));
	assert_true(got[0] != 0 && got[1] != 0);
	print_message("%d steps, 0 bytes copied\n", STEPS);
	for (int i = 0; i < 2; i++) {
		nna_buffer_free(b[i][0]);
		nna_buffer_free(b[i][1]);
	}
	nna_buffer_free(x);
	nna_buffer_free(scratch);
	nna_buffer_free(last);
	nna_prepared_model_free(p);
}

/*
 * When a forked child frees buffers, the child waits for no lock that the parent held at the fork.
 */
static void test_free_in_a_child(void **state)
{
	struct nna_prepared_model *p = prepare_add(COUNT);
	float data[COUNT], back[COUNT];
	uint32_t token;
	struct nna_buffer *b = allocate(p, &token);
	int status;
	pid_t pid;

	(void)state;
	fill(data, COUNT, 1);
	check(nna_buffer_write(b, data, SIZE, 0, NULL, &err));
	pthread_mutex_lock(&device->buffers_lock);
	pid = fork();
	if (!pid) {
		alarm((unsigned int)scaled(60));
		nna_buffer_free(b);
		_exit(0);
	}
	pthread_mutex_unlock(&device->buffers_lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	check(nna_buffer_read(b, back, SIZE, &err));
	assert_memory_equal(back, data, SIZE);
	nna_buffer_free(b);
	nna_prepared_model_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_roles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tokens, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_execute, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_open_shapes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_burst, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_death, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lstm_chain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_free_in_a_child, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}
