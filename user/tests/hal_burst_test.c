/* SPDX-License-Identifier: MIT */
/*
 * Tests bursts of libnnaccel through the module and the engine. The test needs /dev/nnaccel, a
 * running nnacceld, and root, because the test kills workers.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "base/round.h"
#include "ring/packet.h"
#include "ring/ring.h"
#include "tests/burst_counter.h"
#include "tests/hal_fixture.h"
#include "../../selftests/lib/runner.h"
#include "tests/model_builder.h"
#include "tests/model_samples.h"
#include "tests/workers.h"

#define OP_ADD		0
#define COUNT		4
#define SIZE		(COUNT * sizeof(float))
#define PAGE		4096
#define RUNS		200
#define THREADS		4
#define MANY		how_often(200, 30)	/* number of bursts at the same time */
#define IDLE		how_often(1000, 30)	/* number of idle bursts at the same time */
#define BYTE_STEP	(uint32_t)how_often(1, 9)	/* distance of damaged bytes in a packet */
#define MUTATIONS	(uint32_t)how_often(300, 10)
#define WRITES		300	/* into a ring */
#define LONG_NS		UINT64_C(3600000000000)

/*
 * Prepares a model that adds two vectors of `count` elements. If `count` is 0, each request
 * determines the number of elements.
 */
static struct nna_prepared_model *prepare(uint32_t count)
{
	struct nna_prepared_model *p = NULL;
	uint32_t x, y, none, sum;
	struct model_builder b;

	/* Skip the test, because the sample engine does not support unknown dimensions. */
	if (!count && getenv("NN_TEST_SAMPLE"))
		skip();
	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(count));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(count));
	mb_operation(&b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	check(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err));
	return p;
}

static struct nna_burst *open_burst(struct nna_prepared_model *p, uint32_t capacity)
{
	const struct nna_burst_options options = { .size = sizeof(options),
						   .capacity = capacity };
	struct nna_burst *b = NULL;

	check(nna_burst_create(p, &options, &b, &err));
	return b;
}

static struct nna_memory *alloc(void)
{
	struct nna_memory *m;

	check(nna_memory_alloc(device, PAGE, &m, &err));
	return m;
}

/*
 * Adds the two vectors at the start of a memory by a burst, and writes the sum after the two
 * vectors.
 */
static enum nn_status add(struct nna_burst *b, struct nna_memory *m,
			  const struct nna_execute_options *options, struct nna_timing *timing)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	const struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &m, 0, NULL };

	return nna_burst_execute(b, &r, options, NNA_SIZED(nna_results, .timing = timing), NULL);
}

/*
 * Fills two vectors with numbers, adds the vectors by a burst, and returns the number of wrong
 * sums.
 */
static int add_numbers(struct nna_burst *b, struct nna_memory *m, float from)
{
	float *data = nna_memory_map(m, NULL);
	int wrong = 0;

	for (int i = 0; i < COUNT; i++) {
		data[i] = from + (float)i;
		data[COUNT + i] = 100;
		data[2 * COUNT + i] = 0;
	}
	if (add(b, m, NULL, NULL))
		return COUNT;
	for (int i = 0; i < COUNT; i++)
		wrong += data[2 * COUNT + i] != from + (float)i + 100;
	return wrong;
}

/* ---- tests ---- */

static void test_executions(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b = open_burst(p, 0);
	struct nna_memory *m = alloc();
	int wrong = 0;

	(void)state;
	for (int i = 0; i < RUNS; i++)
		wrong += add_numbers(b, m, (float)i);
	assert_int_equal(wrong, 0);
	assert_int_equal(burst_counter("nnaccel-client-packets", NULL), RUNS);
	assert_int_equal(burst_counter("nnaccel-engine-packets", NULL), RUNS);
	assert_int_equal(burst_counter("nnaccel-client-fallbacks", NULL), 0);
	assert_int_equal(burst_counter("nnaccel-client-misses", NULL), 1);
	assert_int_equal(burst_counter("nnaccel-slot-resolves", NULL), 1);
	assert_int_equal(burst_counter("nnaccel-engine-misses", NULL), 1);
	assert_int_equal(burst_counter("nnaccel-slots", NULL), 1);
	nna_burst_free(b);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/*
 * In each burst, the client and the worker look up a memory only once. When the client frees the
 * memory, both release the memory.
 */
static void test_memory_frees_its_slots(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b[] = { open_burst(p, 0), open_burst(p, 0) };
	struct nna_memory *m = alloc(), *kept = alloc();
	struct nna_context_info before = { .size = sizeof(before) }, after = { .size = sizeof(after) };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(add_numbers(b[i], m, 1), 0);
		assert_int_equal(add_numbers(b[i], kept, 2), 0);
	}
	assert_int_equal(burst_counter("nnaccel-slots", NULL), 4);
	check(nna_device_get_context_info(device, &before, &err));
	nna_memory_free(m);
	assert_int_equal(burst_counter("nnaccel-slots", NULL), 2);
	/* The worker releases a memory some time after the client has freed the memory. */
	do {
		usleep(1000);
		check(nna_device_get_context_info(device, &after, &err));
	} while (after.pool_bytes == before.pool_bytes);
	assert_int_equal(after.pool_bytes, before.pool_bytes - PAGE);
	/* A new memory at the address of the freed memory gets a new slot. */
	m = alloc();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(add_numbers(b[i], m, 3), 0);
		assert_int_equal(add_numbers(b[i], kept, 4), 0);
		nna_burst_free(b[i]);
	}
	nna_memory_free(kept);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

static void test_dynamic_shapes(void **state)
{
	struct nna_argument in[] = {
		{ .length = 12, .rank = 1, .dims = { 3 } },
		{ .offset = SIZE, .length = 12, .rank = 1, .dims = { 3 } },
	};
	struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	struct nna_prepared_model *p = prepare(0);
	struct nna_burst *b = open_burst(p, 0);
	struct nna_memory *m = alloc();
	struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &m, 0, NULL };
	struct nna_output_shape shape;
	enum nn_status plain;
	uint32_t count;

	(void)state;
	check(nna_burst_execute(b, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				.num_shapes = &count), &err));
	assert_int_equal(count, 1);
	assert_true(shape.is_sufficient);
	assert_int_equal(shape.rank, 1);
	assert_int_equal(shape.dims[0], 3);

	out.length = 8;
	assert_int_equal(nna_burst_execute(b, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
					   .num_shapes = &count), &err),
			 NN_OUTPUT_INSUFFICIENT_SIZE);
	assert_int_equal(count, 1);
	assert_false(shape.is_sufficient);
	assert_int_equal(shape.dims[0], 3);

	in[1].length = 8;
	in[1].dims[0] = 2;
	plain = nna_execute(p, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
			    .num_shapes = &count), NULL);
	assert_true(plain != NN_OK);
	assert_int_equal(nna_burst_execute(b, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
					   .num_shapes = &count), NULL), plain);
	assert_int_equal(count, 0);
	assert_int_equal(burst_counter("nnaccel-client-fallbacks", NULL), 0);
	nna_burst_free(b);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_timing(void **state)
{
	const struct nna_execute_options measure = { .size = sizeof(measure), .measure = true };
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b = open_burst(p, 0);
	struct nna_memory *m = alloc();
	struct nna_timing timing;

	(void)state;
	check(add(b, m, &measure, &timing));
	assert_true(timing.on_device_us != NNA_TIME_NONE);
	assert_true(timing.in_driver_us != NNA_TIME_NONE);
	assert_true(timing.on_device_us <= timing.in_driver_us);
	check(add(b, m, NULL, &timing));
	assert_true(timing.on_device_us == NNA_TIME_NONE);
	assert_true(timing.in_driver_us == NNA_TIME_NONE);
	assert_int_equal(burst_counter("nnaccel-client-fallbacks", NULL), 0);
	nna_burst_free(b);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/* Requests that do not fit into the burst's ring are executed by an ioctl. */
static void test_fallback(void **state)
{
	struct nna_execute_options options = { .size = sizeof(options),
					       .deadline_ns = clock_ns() + LONG_NS };
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b = open_burst(p, 4);
	struct nna_memory *m = alloc();

	(void)state;
	assert_int_equal(add_numbers(b, m, 1), 0);
	assert_int_equal(burst_counter("nnaccel-client-packets", NULL), 0);
	assert_int_equal(burst_counter("nnaccel-client-fallbacks", NULL), 1);
	nna_burst_free(b);

	b = open_burst(p, 0);
	check(add(b, m, &options, NULL));
	options.deadline_ns = 1;
	assert_int_equal(add(b, m, &options, NULL), NN_MISSED_DEADLINE_PERSISTENT);
	options = (struct nna_execute_options){ .size = sizeof(struct nna_execute_options),
						.loop_timeout_ns = LONG_NS };
	check(add(b, m, &options, NULL));
	assert_int_equal(burst_counter("nnaccel-client-packets", NULL), 0);
	assert_int_equal(burst_counter("nnaccel-client-fallbacks", NULL), 3);
	nna_burst_free(b);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

static void test_wrong_requests(void **state)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = PAGE, .length = SIZE } };
	const struct nna_argument out = { .offset = 2 * SIZE, .length = SIZE };
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b = open_burst(p, 0);
	struct nna_memory *m = alloc(), *none = NULL;
	struct nna_request r = { .size = sizeof(r), 2, 1, 1, in, &out, &m, 0, NULL };
	const struct nna_burst_options too_big = { .size = sizeof(too_big),
						   .capacity = NNACCEL_BURST_MAX_CAPACITY + 1 };
	struct nn_error plain = { "" };
	struct nna_burst *no_burst;

	(void)state;
	assert_int_equal(nna_burst_execute(b, &r, NULL, NULL, NULL),
			 NN_INVALID_ARGUMENT);
	r.num_inputs = 1;
	assert_int_equal(nna_burst_execute(b, &r, NULL, NULL, &err),
			 NN_INVALID_ARGUMENT);
	/*
	 * The worker writes the message about an invalid request, so a burst and an ioctl report
	 * the same message.
	 */
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &plain), NN_INVALID_ARGUMENT);
	assert_int_equal(strncmp(err.message, "burst: ", 7), 0);
	assert_int_equal(strncmp(plain.message, "execute: ", 9), 0);
	assert_string_equal(err.message + 7, plain.message + 9);
	assert_null(strstr(err.message, "the engine refused without a reason"));
	print_message("# %s\n", err.message);
	r.memories = &none;
	assert_int_equal(nna_burst_execute(b, &r, NULL, NULL, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(nna_burst_create(p, &too_big, &no_burst, NULL), NN_INVALID_ARGUMENT);
	assert_int_equal(add_numbers(b, m, 1), 0);
	nna_burst_free(b);
	nna_prepared_model_free(p);
	nna_memory_free(m);
}

/* Both the library and the worker refuse an output in read-only memory. */
static void test_read_only_memory(void **state)
{
	const struct nna_argument in[] = { { .length = SIZE }, { .offset = SIZE, .length = SIZE } };
	const struct nna_argument out = { .pool = 1, .length = SIZE };
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b = open_burst(p, 0);
	int fd = memfd_create("read-only", 0);
	struct nna_memory *m[2] = { alloc() };
	const struct nna_request r = { .size = sizeof(r), 2, 1, 2, in, &out, m, 0, NULL };

	(void)state;
	assert_int_equal(ftruncate(fd, PAGE), 0);
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
				.length = PAGE), &m[1], &err));
	close(fd);
	assert_int_equal(nna_burst_execute(b, &r, NULL, NULL, NULL),
			 NN_INVALID_ARGUMENT);
	assert_int_equal(add_numbers(b, m[0], 1), 0);
	nna_memory_free(m[0]);
	nna_memory_free(m[1]);
	nna_burst_free(b);
	nna_prepared_model_free(p);
}

/* ---- several at a time ---- */

struct looping {
	struct nna_burst *burst;
	struct nna_memory *memory;
	enum nn_status status;
};

/*
 * Executes a WHILE loop that counts up to the third number of the memory, and stores two results
 * after this number.
 */
static void *loop_main(void *arg)
{
	struct looping *l = arg;
	const struct nna_argument in[] = { { .length = 4 }, { .offset = 4, .length = 4 },
					   { .offset = 8, .length = 4 } };
	const struct nna_argument out[] = { { .offset = 12, .length = 4 },
					    { .offset = 16, .length = 4 } };
	const struct nna_request r = { .size = sizeof(r), 3, 2, 1, in, out, &l->memory, 0, NULL };

	l->status = nna_burst_execute(l->burst, &r, NULL, NULL, NULL);
	return NULL;
}

static struct nna_prepared_model *prepare_loop(void)
{
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	/* and no loops. */
	if (getenv("NN_TEST_SAMPLE"))
		skip();
	sample_while(&b);
	check(nna_prepare_model(device, &b.model, NULL, NULL, &p, &err));
	return p;
}

/* As long as the WHILE loop runs, the burst is busy. */
static void test_one_at_a_time(void **state)
{
	struct nna_prepared_model *p = prepare_loop();
	struct looping l = { .burst = open_burst(p, 0), .memory = alloc() };
	float *data = nna_memory_map(l.memory, NULL);
	const struct nna_request empty = { .size = sizeof(empty),
					   0, 0, 0, NULL, NULL, NULL, 0, NULL };
	pthread_t thread;

	(void)state;
	data[2] = 1e30f;
	assert_int_equal(pthread_create(&thread, NULL, loop_main, &l), 0);
	while (!burst_counter("nnaccel-client-packets", NULL))
		usleep(1000);
	assert_int_equal(nna_burst_execute(l.burst, &empty, NULL, NULL, NULL),
			 NN_DEVICE_UNAVAILABLE);
	pthread_join(thread, NULL);
	assert_true(l.status == NN_MISSED_DEADLINE_TRANSIENT ||
		    l.status == NN_MISSED_DEADLINE_PERSISTENT);
	nna_burst_free(l.burst);
	nna_memory_free(l.memory);
	nna_prepared_model_free(p);
}

static void *thread_main(void *arg)
{
	struct nna_burst *b = arg;
	struct nna_memory *m;
	intptr_t wrong = 0;

	if (nna_memory_alloc(device, PAGE, &m, NULL))
		return (void *)1;
	for (int i = 0; i < RUNS; i++)
		wrong += add_numbers(b, m, (float)i);
	nna_memory_free(m);
	return (void *)wrong;
}

static void test_threads(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b[THREADS];
	pthread_t threads[THREADS];
	void *wrong;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		b[i] = open_burst(p, 0);
		assert_int_equal(pthread_create(&threads[i], NULL, thread_main, b[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
		nna_burst_free(b[i]);
	}
	nna_prepared_model_free(p);
}

static void test_many(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_memory *m = alloc();
	struct nna_context_info info = { .size = sizeof(info) };
	const int count = MANY;
	struct nna_burst *b[200];
	int wrong = 0;

	(void)state;
	for (int i = 0; i < count; i++)
		b[i] = open_burst(p, 0);
	check(nna_device_get_context_info(device, &info, &err));
	assert_int_equal(info.bursts, count);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < count; i++)
			wrong += add_numbers(b[i], m, (float)i);
	assert_int_equal(wrong, 0);
	assert_int_equal(burst_counter("nnaccel-client-packets", NULL), 2 * count);
	for (int i = 0; i < count; i++)
		nna_burst_free(b[i]);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

/*
 * Returns the CPU time in ns that a worker uses in a second; -1 if the kernel does not count CPU
 * time.
 */
static int64_t cpu_time_in_a_second(pid_t worker)
{
	int64_t used_ns = workers_cpu_time(worker);

	sleep(1);
	return used_ns < 0 ? -1 : workers_cpu_time(worker) - used_ns;
}

/* Executes in many bursts, and then measures the worker's CPU time while these bursts are idle. */
static void test_idle(void **state)
{
	const struct rlimit files = { 2 * IDLE, 2 * IDLE };
	struct nna_prepared_model *p = prepare(COUNT);
	const int count = IDLE;
	struct nna_burst **b = calloc((size_t)count, sizeof(*b));
	struct nna_memory *m = alloc();
	int64_t used_ns;
	int wrong = 0;
	pid_t worker;

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (int i = 0; i < count; i++) {
		b[i] = open_burst(p, 32);
		wrong += add_numbers(b[i], m, (float)i);
	}
	assert_int_equal(wrong, 0);
	worker = workers_find();
	used_ns = workers_cpu_time(worker);
	/*
	 * If the kernel does not measure CPU times precisely, the test only checks that many bursts
	 * can be open.
	 */
	if (getenv("NN_TEST_THREADS"))
		print_message("threads serve: no process is measured\n");
	else if (access("/proc/self/schedstat", F_OK))
		print_message("this kernel has no schedstat: nothing is measured\n");
	else
		assert_true(used_ns > 0);
	/*
	 * The worker's threads soon stop polling the ring of an idle burst. A worker thread that
	 * polled without end would use more than a tenth of a second of CPU time.
	 */
	while ((used_ns = cpu_time_in_a_second(worker)) >= (int64_t)NS_PER_S / 10)
		;
	print_message("# %d idle bursts: %lld us of CPU time in a second\n", count,
		      (long long)used_ns / 1000);
	for (int i = 0; i < count; i++)
		nna_burst_free(b[i]);
	free(b);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

/* ---- a hostile client: rings of its own over a burst's ---- */

struct hostile {
	struct nna_burst *burst;
	struct nn_ring ring;
	void *regions[4];
	size_t ring_bytes;
	struct nnaccel_datum request[64];
	uint32_t length;
};

static void *map_region(int fd, uint64_t offset, size_t length, int prot)
{
	void *base = mmap(NULL, round_up(length, PAGE), prot, MAP_SHARED, fd,
			  (off_t)offset);

	assert_ptr_not_equal(base, MAP_FAILED);
	return base;
}

/*
 * Creates a burst and maps its rings. The process must have no other burst, and must not use this
 * burst through libnnaccel.
 */
static void hostile_open(struct hostile *h, struct nna_prepared_model *p)
{
	const struct nnaccel_burst_status *status;
	int fd = -1;

	h->burst = open_burst(p, 0);
	burst_counter("nnaccel-slots", &fd);
	status = h->regions[0] = map_region(fd, NNACCEL_BURST_STATUS, PAGE, PROT_READ);
	h->ring_bytes = status->ring_bytes;
	h->regions[1] = map_region(fd, NNACCEL_BURST_REQUESTS, h->ring_bytes,
				   PROT_READ | PROT_WRITE);
	h->regions[2] = map_region(fd, NNACCEL_BURST_RESULTS, h->ring_bytes, PROT_READ);
	h->regions[3] = map_region(fd, NNACCEL_BURST_DOORBELL, PAGE, PROT_READ | PROT_WRITE);
	assert_int_equal(nn_ring_init(&h->ring, &(struct nn_ring_map){
		.status = status,
		.mine = h->regions[1],
		.peer = h->regions[2],
		.doorbell = h->regions[3],
		.lines = status->lines,
		.capacity = status->capacity,
	}, 0), NN_RING_OK);
}

static void hostile_close(struct hostile *h)
{
	nna_burst_free(h->burst);
	munmap(h->regions[0], PAGE);
	munmap(h->regions[1], round_up(h->ring_bytes, PAGE));
	munmap(h->regions[2], round_up(h->ring_bytes, PAGE));
	munmap(h->regions[3], PAGE);
}

/*
 * Makes a request with dimensions, which is valid except for its slot: the worker does not know the
 * slot.
 */
static void hostile_request(struct hostile *h)
{
	struct nnaccel_arg args[3] = {
		{ .length = SIZE, .rank = 1, .dims = { COUNT } },
		{ .offset = SIZE, .length = SIZE, .rank = 1, .dims = { COUNT } },
		{ .offset = 2 * SIZE, .length = SIZE, .rank = 1, .dims = { COUNT } },
	};
	uint32_t slot = 0;
	const struct nn_request request = { .num_inputs = 2, .num_outputs = 1, .num_slots = 1,
					    .args = args, .slots = &slot };

	h->length = nn_request_encode(&request, h->request, 64);
	assert_true(h->length > 0);
}

/* Sends a damaged packet, and checks that the worker answers with an error or closes the burst. */
static void hostile_send(struct hostile *h)
{
	struct nnaccel_datum datums[NNACCEL_BURST_DEFAULT_CAPACITY];
	struct nnaccel_shape shapes[4];
	char message[NN_RESULT_MESSAGE];
	struct nn_result result = { .shapes = shapes, .max_outputs = 4, .message = message };
	enum nn_ring_result received;
	uint32_t count;

	assert_int_equal(nn_ring_try_send(&h->ring, h->request, h->length), NN_RING_OK);
	received = nn_ring_receive(&h->ring, datums, &count, NN_RING_FOREVER);
	if (received == NN_RING_OK) {
		assert_null(nn_result_parse(datums, count, &result));
		assert_true(result.status == NNACCEL_STATUS_GENERAL_FAILURE ||
			    result.status == NNACCEL_STATUS_INVALID_ARGUMENT);
	} else {
		assert_int_equal(received, NN_RING_BROKEN);
	}
}

/* Sends packets with one wrong byte each, at every offset, and then packets of random bytes. */
static void test_hostile_packets(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_memory *m = alloc();
	struct nna_burst *honest;
	struct hostile h;
	unsigned int seed = 5;
	uint32_t bytes;

	(void)state;
	hostile_open(&h, p);
	hostile_request(&h);
	bytes = h.length * (uint32_t)sizeof(h.request[0]);
	hostile_close(&h);
	for (uint32_t i = 0; i < bytes + MUTATIONS; i += i < bytes ? BYTE_STEP : 1) {
		hostile_open(&h, p);
		hostile_request(&h);
		((uint8_t *)h.request)[i < bytes ? i : (uint32_t)rand_r(&seed) % bytes] ^=
			(uint8_t)(1 + rand_r(&seed) % 255);
		if (i >= bytes)
			((uint8_t *)h.request)[(uint32_t)rand_r(&seed) % bytes] ^=
				(uint8_t)(1 + rand_r(&seed) % 255);
		hostile_send(&h);
		hostile_close(&h);
	}
	honest = open_burst(p, 0);
	assert_int_equal(add_numbers(honest, m, 1), 0);
	nna_burst_free(honest);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

/* Overwrites every word of the ring's control page and lines while the worker reads these words. */
static void test_hostile_rings(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_memory *m = alloc();
	struct nna_burst *honest;
	unsigned int seed = 7;
	struct hostile h;

	(void)state;
	for (uint32_t i = 0; i < MUTATIONS / 10; i++) {
		hostile_open(&h, p);
		hostile_request(&h);
		for (int k = 0; k < WRITES; k++) {
			size_t at = (size_t)rand_r(&seed) % (k % 2 ? 512 : h.ring_bytes) / 4;

			((volatile uint32_t *)h.regions[1])[at] = k % 3 ? (uint32_t)rand_r(&seed) :
									  (uint32_t)k % 4;
			nn_ring_try_send(&h.ring, h.request, h.length);
		}
		hostile_close(&h);
	}
	honest = open_burst(p, 0);
	assert_int_equal(add_numbers(honest, m, 1), 0);
	nna_burst_free(honest);
	nna_memory_free(m);
	nna_prepared_model_free(p);
}

/* ---- death ---- */

static void test_dead_worker(void **state)
{
	struct nna_prepared_model *p = prepare(COUNT);
	struct nna_burst *b = open_burst(p, 0);
	struct nna_memory *m = alloc();
	enum nn_status status;
	uint64_t start;

	(void)state;
	assert_int_equal(add_numbers(b, m, 1), 0);
	/*
	 * Skip the rest of the test if threads serve clients, because there is no worker to kill.
	 */
	if (getenv("NN_TEST_THREADS"))
		goto out;
	start = clock_ns();
	assert_true(workers_kill());
	do
		status = add(b, m, NULL, NULL);
	while (status == NN_OK);
	print_message("# executions fail %llu us after the worker was killed\n",
		      (unsigned long long)(clock_ns() - start) / 1000);
	assert_int_equal(status, NN_DEAD_OBJECT);
	assert_int_equal(add(b, m, NULL, NULL), NN_DEAD_OBJECT);
	assert_true(nna_burst_create(p, NULL, &(struct nna_burst *){ NULL }, NULL) != NN_OK);
out:
	nna_memory_free(m);
	nna_burst_free(b);
	nna_prepared_model_free(p);
}

/* The worker dies during an execution while the client sleeps until the execution's end. */
static void test_death_during_execution(void **state)
{
	struct nna_prepared_model *p = prepare_loop();
	struct looping l = { .burst = open_burst(p, 0), .memory = alloc(), .status = NN_OK };
	float *data = nna_memory_map(l.memory, NULL);
	pthread_t thread;
	uint64_t start;

	(void)state;
	data[2] = 1e30f;
	assert_int_equal(pthread_create(&thread, NULL, loop_main, &l), 0);
	while (!burst_counter("nnaccel-client-packets", NULL))
		usleep(1000);
	usleep(200000);
	start = clock_ns();
	assert_true(workers_kill());
	pthread_join(thread, NULL);
	print_message("# the client knew %llu us after the worker was killed\n",
		      (unsigned long long)(clock_ns() - start) / 1000);
	assert_int_equal(l.status, NN_DEAD_OBJECT);
	nna_burst_free(l.burst);
	nna_memory_free(l.memory);
	nna_prepared_model_free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_executions),
		TEST(test_memory_frees_its_slots),
		TEST(test_dynamic_shapes),
		TEST(test_timing),
		TEST(test_fallback),
		TEST(test_wrong_requests),
		TEST(test_read_only_memory),
		TEST(test_one_at_a_time),
		TEST(test_threads),
		TEST(test_many),
		TEST(test_idle),
		TEST(test_hostile_packets),
		TEST(test_hostile_rings),
		TEST(test_dead_worker),
		TEST(test_death_during_execution),
	};

	return cmocka_run_group_tests_name("hal_burst", tests, NULL, NULL);
}
