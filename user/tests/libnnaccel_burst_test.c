/* SPDX-License-Identifier: MIT */
/*
 * Tests bursts of libnnaccel; the test program imitates the kernel and the worker. The test covers
 * valid answers, answers with one wrong byte, and rings that are overwritten while the client reads
 * the rings. The test does not need the kernel module, so it can run with sanitizers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/nnaccel.h>

#include "base/round.h"
#include "hal/prepare.h"
#include "ring/packet.h"
#include "ring/ring.h"
#include "tests/failing/kept.h"
#include "tests/played_submit.h"

#define PAGE		4096
#define CAPACITY	64
#define RUNS		500
#define MUTATIONS	600
#define SCRIBBLES	40	/* number of bursts whose ring is overwritten */

/* ---- the kernel ---- */

/* The ways in which the imitated worker answers an execution. */
enum behaviour { ANSWER, REFUSE, MUTATE, DIE, STAY_AWAY };

static struct kernel {
	int file;			/* memfd with the rings of the last burst */
	int hangup[2];			/* closing hangup[1] ends the burst */
	int create_error;
	uint32_t create_status;
	uint32_t wrong_lines;		/* the fake kernel adds this to a ring's number of lines */
	int bind_error;
	unsigned int binds, frees, executions, next_pool;

	enum behaviour behaviour;
	uint32_t mutation;		/* index of the result's byte that is XORed with `change` */
	uint8_t change;
	pthread_t worker;
	bool has_worker;
	atomic_bool stop;
	struct nn_ring ring;
	struct nnaccel_burst_status *status;
	struct nnaccel_ring_control *requests, *results;
} kernel;

static int give_errno(int error)
{
	errno = error;
	return -1;
}

static void *map(uint64_t offset, size_t length)
{
	void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, kernel.file,
			  (off_t)offset);

	assert_ptr_not_equal(base, MAP_FAILED);
	return base;
}

static size_t ring_bytes(void)
{
	return round_up(nn_ring_bytes(CAPACITY), PAGE);
}

static void *work(void *unused);

static void create_memory(void)
{
	kernel.file = memfd_create("burst", MFD_CLOEXEC);
	assert_int_equal(ftruncate(kernel.file, NNACCEL_BURST_DOORBELL + PAGE), 0);
	assert_int_equal(pipe(kernel.hangup), 0);
	kernel.status = map(NNACCEL_BURST_STATUS, PAGE);
	kernel.requests = map(NNACCEL_BURST_REQUESTS, ring_bytes());
	kernel.results = map(NNACCEL_BURST_RESULTS, ring_bytes());
	*kernel.status = (struct nnaccel_burst_status){
		.state = NNACCEL_BURST_ALIVE,
		.lines = nn_ring_lines(CAPACITY) + kernel.wrong_lines,
		.capacity = CAPACITY,
		.ring_bytes = (uint32_t)nn_ring_bytes(CAPACITY),
	};
}

static int do_create(struct nnaccel_burst_create *c)
{
	struct nn_ring_map m = { .lines = nn_ring_lines(CAPACITY), .capacity = CAPACITY };

	if (kernel.create_error)
		return give_errno(kernel.create_error);
	c->out_status = kernel.create_status;
	c->out_fd = -1;
	if (kernel.create_status) {
		strncpy((char *)(uintptr_t)c->message, "no bursts today", c->message_size - 1);
		return 0;
	}
	create_memory();
	m.status = kernel.status;
	m.mine = kernel.results;
	m.peer = kernel.requests;
	assert_int_equal(nn_ring_init(&kernel.ring, &m, 0), NN_RING_OK);
	atomic_store(&kernel.stop, false);
	kernel.has_worker = kernel.behaviour != STAY_AWAY;
	if (kernel.has_worker)
		assert_int_equal(pthread_create(&kernel.worker, NULL, work, NULL), 0);
	c->out_fd = dup(kernel.file);
	return 0;
}

/* Frees a closed burst, as the kernel and the worker do. */
static void end_burst(void)
{
	atomic_store(&kernel.stop, true);
	__atomic_store_n(&kernel.status->state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
	nn_ring_interrupt(&kernel.ring);
	if (kernel.has_worker)
		pthread_join(kernel.worker, NULL);
	munmap(kernel.status, PAGE);
	munmap(kernel.requests, ring_bytes());
	munmap(kernel.results, ring_bytes());
	close(kernel.file);
	close(kernel.hangup[0]);
	if (kernel.hangup[1] >= 0)
		close(kernel.hangup[1]);
}

static int do_request(unsigned long request, void *arg)
{
	struct nnaccel_burst_slot *slot = arg;
	struct nnaccel_execute *e = arg;

	switch (request) {
	case NNACCEL_INFO:
		((struct nnaccel_info *)arg)->abi = NNACCEL_ABI_VERSION;
		return 0;
	case NNACCEL_DESTROY:
		return 0;
	case NNACCEL_POOL_ALLOC:
		((struct nnaccel_pool_alloc *)arg)->out_id = ++kernel.next_pool;
		return 0;
	case NNACCEL_WORK_EXECUTE:
		kernel.executions++;
		e->out_num_shapes = 1;
		*(struct nnaccel_shape *)(uintptr_t)e->shapes = (struct nnaccel_shape){
			NNACCEL_SHAPE_SUFFICIENT, 1, { 4 } };
		return 0;
	case NNACCEL_WORK_BURST:
		return do_create(arg);
	case NNACCEL_BURST_SLOT:
		if (!slot->pool) {
			kernel.frees++;
			return 0;
		}
		if (kernel.bind_error)
			return give_errno(kernel.bind_error);
		slot->slot = kernel.binds++;
		return 0;
	}
	return give_errno(ENOTTY);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)fd;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	request = played_request(request, &arg);
	return do_request(request, arg);
}

/*
 * In this test the burst's file is a memfd, which cannot be polled, so epoll_ctl() adds a pipe
 * instead.
 */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	long result = syscall(SYS_epoll_ctl, epoll, op, fd, event);

	if (result && errno == EPERM)
		result = syscall(SYS_epoll_ctl, epoll, op, kernel.hangup[0], event);
	return (int)result;
}

/* ---- the worker ---- */

static uint32_t make_result(const struct nn_request *request, struct nnaccel_datum *datums)
{
	static char why[] = "input 0: it is blue";
	struct nnaccel_shape shapes[4] = { { NNACCEL_SHAPE_SUFFICIENT, 1, { 4 } } };
	const struct nn_result result = {
		.status = kernel.behaviour == REFUSE ? NNACCEL_STATUS_INVALID_ARGUMENT : 0,
		.num_outputs = kernel.behaviour == REFUSE ? 0 : request->num_outputs,
		.device_ns = request->measure ? 7000 : NNACCEL_TIME_NONE,
		.driver_ns = request->measure ? 9999 : NNACCEL_TIME_NONE,
		.shapes = shapes, .message = kernel.behaviour == REFUSE ? why : NULL,
	};

	return nn_result_encode(&result, datums, CAPACITY);
}

static void die(void)
{
	__atomic_store_n(&kernel.status->state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
	close(kernel.hangup[1]);
	kernel.hangup[1] = -1;
}

static void *work(void *unused)
{
	struct nnaccel_datum datums[CAPACITY];
	struct nnaccel_arg args[CAPACITY];
	uint32_t slots[CAPACITY], n;
	struct nn_request request = { .args = args, .slots = slots, .max_args = CAPACITY,
				      .max_slots = CAPACITY };

	while (!nn_ring_receive(&kernel.ring, datums, &n, NN_RING_FOREVER)) {
		if (nn_request_parse(datums, n, &request))
			abort();
		if (kernel.behaviour == DIE) {
			die();
			break;
		}
		n = make_result(&request, datums);
		if (kernel.behaviour == MUTATE)
			((uint8_t *)datums)[kernel.mutation % (n * sizeof(*datums))] ^=
				kernel.change;
		if (nn_ring_send(&kernel.ring, datums, n, NN_RING_FOREVER))
			break;
	}
	return unused;
}

/* ---- what the tests share ---- */

static struct nna_device *device;
static struct nna_prepared_model *prepared;
static struct nna_memory *memory;
static struct nn_error err;
static struct kept kept;		/* objects that existed before a test */

static int set_up(void **state)
{
	struct nna_prepare_options options;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	err.message[0] = '\0';
	kept = kept_now();
	return nna_take_prepare_options(&options, NULL, &err) ||
	       nna_device_open("/dev/null", &device, &err) ||
	       nna_prepared_model_new(device, 1, &options, &prepared, &err) ||
	       nna_memory_alloc(device, PAGE, &memory, &err);
}

static int tear_down(void **state)
{
	const char *more;
	struct kept left;

	(void)state;
	if (memory)
		nna_memory_free(memory);
	nna_prepared_model_free(prepared);
	nna_device_close(device);
	left = kept_now();
	more = kept_more(&kept, &left);
	if (more)
		print_error("not given back: %s\n", more);
	return more != NULL;
}

static struct nna_burst *open_burst(enum behaviour behaviour)
{
	struct nna_burst *burst;

	kernel.behaviour = behaviour;
	assert_int_equal(nna_burst_create(prepared, NULL, &burst, &err), NN_OK);
	return burst;
}

static void close_burst(struct nna_burst *burst)
{
	nna_burst_free(burst);
	end_burst();
}

static enum nn_status execute(struct nna_burst *burst)
{
	const struct nna_argument in = { .length = 16 }, out = { .offset = 64, .length = 16 };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &memory, 0, NULL };
	struct nna_output_shape shape = { .rank = 0 };
	enum nn_status status;
	uint32_t count;

	err.message[0] = '\0';
	status = nna_burst_execute(burst, &r, NULL, NNA_SIZED(nna_results, .shapes = &shape,
				   .num_shapes = &count), &err);
	if (status == NN_OK)
		assert_int_equal(count, 1);
	return status;
}

/* ---- tests ---- */

static void test_executions(void **state)
{
	struct nna_burst *b = open_burst(ANSWER);

	(void)state;
	for (int i = 0; i < RUNS; i++)
		assert_int_equal(execute(b), NN_OK);
	assert_int_equal(kernel.executions, 0);
	assert_int_equal(kernel.binds, 1);
	nna_memory_free(memory);
	memory = NULL;
	assert_int_equal(kernel.frees, 1);
	close_burst(b);
}

static void test_times(void **state)
{
	const struct nna_argument in = { .length = 16 }, out = { .offset = 64, .length = 16 };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &memory, 0, NULL };
	struct nna_burst *b = open_burst(ANSWER);

	(void)state;
	for (int measure = 0; measure < 2; measure++) {
		const struct nna_execute_options options = { .size = sizeof(options), .measure = measure };
		struct nna_output_shape shape = { .rank = 99 };
		struct nna_timing timing;
		uint32_t count;

		assert_int_equal(nna_burst_execute(b, &r, &options, NNA_SIZED(nna_results,
						   .shapes = &shape, .num_shapes = &count,
						   .timing = &timing), &err), NN_OK);
		assert_true(timing.on_device_us == (measure ? 7 : NNA_TIME_NONE));
		assert_true(timing.in_driver_us == (measure ? 9 : NNA_TIME_NONE));
		assert_true(shape.rank == 1 && shape.dims[0] == 4 && shape.is_sufficient);
	}
	assert_int_equal(kernel.executions, 0);
	close_burst(b);
}

static void test_refused_executions(void **state)
{
	struct nna_burst *b = open_burst(REFUSE);

	(void)state;
	for (int i = 0; i < RUNS; i++) {
		assert_int_equal(execute(b), NN_INVALID_ARGUMENT);
		assert_string_equal(err.message, "burst: input 0: it is blue");
	}
	close_burst(b);
}

static void test_refused_bursts(void **state)
{
	struct nna_burst *burst;

	(void)state;
	kernel.create_error = ENOSPC;
	assert_int_equal(nna_burst_create(prepared, NULL, &burst, &err),
			 NN_RESOURCE_EXHAUSTED_TRANSIENT);
	kernel.create_error = 0;
	err.message[0] = '\0';
	kernel.create_status = NNACCEL_STATUS_GENERAL_FAILURE;
	assert_int_equal(nna_burst_create(prepared, NULL, &burst, &err), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "burst: no bursts today");
	kernel.create_status = 0;
	kernel.wrong_lines = 1;
	assert_int_equal(nna_burst_create(prepared, NULL, &burst, &err), NN_GENERAL_FAILURE);
	end_burst();
}

/*
 * If a memory has no slot or the ring is broken, the library executes by ioctl() instead of the
 * ring.
 */
static void test_fallback(void **state)
{
	struct nna_burst *b = open_burst(ANSWER);

	(void)state;
	kernel.bind_error = ENOSPC;
	assert_int_equal(execute(b), NN_OK);
	assert_int_equal(kernel.executions, 1);
	assert_int_equal(kernel.requests->fallbacks, 1);
	assert_int_equal(kernel.requests->misses, 1);
	kernel.bind_error = 0;
	assert_int_equal(execute(b), NN_OK);
	assert_int_equal(kernel.executions, 1);
	assert_int_equal(kernel.requests->fallbacks, 1);
	assert_int_equal(kernel.requests->misses, 2);
	close_burst(b);

	/*
	 * The worker's result has an impossible size, so the position of the next packet is
	 * unknown.
	 */
	kernel.mutation = offsetof(struct nnaccel_datum, u.result.size) + 1;
	kernel.change = 0xff;
	b = open_burst(MUTATE);
	assert_int_equal(execute(b), NN_GENERAL_FAILURE);
	assert_int_equal(execute(b), NN_OK);
	assert_int_equal(kernel.executions, 2);
	close_burst(b);
}

/*
 * In each burst, the worker changes one byte of its results to a random value. The index of the
 * changed byte grows by 1 from burst to burst.
 */
static void test_mutated_results(void **state)
{
	unsigned int seed = 3;
	int failed = 0;

	(void)state;
	for (uint32_t i = 0; i < MUTATIONS; i++) {
		struct nna_burst *b;

		kernel.mutation = i;
		kernel.change = (uint8_t)(1 + rand_r(&seed) % 255);
		b = open_burst(MUTATE);
		for (int k = 0; k < 3; k++)
			failed += execute(b) != NN_OK;
		close_burst(b);
	}
	assert_true(failed > MUTATIONS);
}

/* Overwrites random words of the ring of results until kernel.stop is set. */
static void *scribble(void *unused)
{
	uint32_t *words = (uint32_t *)kernel.results;
	unsigned int seed = 5;

	for (uint32_t i = 0; !atomic_load(&kernel.stop); i++) {
		size_t at = (size_t)rand_r(&seed) % (ring_bytes() / 4);
		uint32_t value = i % 3 ? (uint32_t)rand_r(&seed) % 8 : (uint32_t)rand_r(&seed);

		/*
		 * Every second overwritten word is in a ring line's sequence number, or in the head
		 * of the line's first datum.
		 */
		if (i % 2)
			at = (NNACCEL_RING_LINES + at % 4 * 64) / 4 + i / 2 % 3;
		__atomic_store_n(&words[at], value, __ATOMIC_RELAXED);
	}
	return unused;
}

static void test_overwritten_rings(void **state)
{
	pthread_t thread;

	(void)state;
	for (int i = 0; i < SCRIBBLES; i++) {
		struct nna_burst *b = open_burst(STAY_AWAY);

		assert_int_equal(pthread_create(&thread, NULL, scribble, NULL), 0);
		for (int k = 0; k < 20; k++)
			execute(b);
		atomic_store(&kernel.stop, true);
		pthread_join(thread, NULL);
		close_burst(b);
	}
}

static void test_death(void **state)
{
	struct nna_burst *b = open_burst(DIE);

	(void)state;
	assert_int_equal(execute(b), NN_DEAD_OBJECT);
	/*
	 * After a burst's worker has died, the library executes by ioctl() and writes nothing to
	 * the ring.
	 */
	assert_int_equal(execute(b), NN_OK);
	assert_int_equal(kernel.executions, 1);
	close_burst(b);
}

static void *execute_once(void *burst)
{
	return (void *)(uintptr_t)execute(burst);
}

static void test_one_at_a_time(void **state)
{
	struct nna_burst *b = open_burst(STAY_AWAY);
	struct nn_error other = { "" };
	pthread_t thread;
	void *status;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, execute_once, b), 0);
	while (!__atomic_load_n(&kernel.requests->packets, __ATOMIC_ACQUIRE))
		usleep(1000);
	assert_int_equal(nna_burst_execute(b,
					   &(struct nna_request){ .size = sizeof(struct nna_request), .num_inputs = 0 },
					   NULL, NULL, &other), NN_DEVICE_UNAVAILABLE);
	die();
	pthread_join(thread, &status);
	assert_int_equal((uintptr_t)status, NN_DEAD_OBJECT);
	close_burst(b);
}

/*
 * Runs in a child process. Replaces the burst's mappings, which the real kernel does not copy to a
 * child, by other memory, and frees the burst. Returns 0 if the other memory is still mapped.
 */
static int free_in_child(struct nna_burst *b)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct { unsigned long at, end; } places[16];
	char line[256];
	int count = 0;

	while (maps && count < 16 && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:burst") &&
		    sscanf(line, "%lx-%lx", &places[count].at, &places[count].end) == 2)
			count++;
	for (int i = 0; i < count; i++)
		if (mmap((void *)places[i].at, places[i].end - places[i].at, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return 1;
	nna_burst_free(b);
	for (int i = 0; i < count; i++)
		if (msync((void *)places[i].at, places[i].end - places[i].at, MS_ASYNC))
			return 2;
	return count < 4;
}

/*
 * If a forked child frees its parent's burst, the library unmaps nothing in the child, because
 * other memory may be mapped at the addresses of the parent's rings.
 */
static void test_free_in_child(void **state)
{
	struct nna_burst *b = open_burst(STAY_AWAY);
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(free_in_child(b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close_burst(b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_executions),
		TEST(test_times),
		TEST(test_refused_executions),
		TEST(test_refused_bursts),
		TEST(test_fallback),
		TEST(test_mutated_results),
		TEST(test_overwritten_rings),
		TEST(test_death),
		TEST(test_one_at_a_time),
		TEST(test_free_in_child),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_burst", tests, NULL, NULL);
}
