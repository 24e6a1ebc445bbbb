/* SPDX-License-Identifier: MIT */
/*
 * Tests memory of another driver in executions, bursts and models, with the installed engine. The
 * exporter of the memory is a module of the tests that counts the notifications of accesses. The
 * test needs /dev/nnaccel, a running nnacceld and root.
 */
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>
#include <nnaccel/uring.h>

#include "exporters.h"
#include "tests/model_builder.h"

#define COUNT	16
#define SIZE	(COUNT * sizeof(float))
#define LENGTH	4096
#define OP_ADD	0

/* Indices of the exporter's counters, which count the accesses of each direction. */
enum { BOTH, TO_DEVICE, FROM_DEVICE };

static struct {
	struct exporter x;
	struct nna_device *device;
	struct nna_memory *foreign, *own;
	struct nna_prepared_model *prepared;
	struct nna_burst *burst;
} t;

/* Prepares a model of input + constant; the constant lies at the start of pool 0. */
static enum nn_status prepare(struct nna_memory *constant, struct nna_prepared_model **prepared)
{
	struct model_builder b;
	uint32_t x, y, none, sum;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	b.pools[0] = (struct nn_pool){ .size = LENGTH };
	b.model.num_pools = 1;
	b.model.pools = b.pools;
	y = mb_reference(&b, NN_TENSOR_FLOAT32, 0, 0, SIZE, MB_DIMS(COUNT));
	none = mb_int32(&b, 0);
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, OP_ADD, MB_LIST(x, y, none), MB_LIST(sum));
	return nna_prepare_model(t.device, &b.model, &constant, NULL, prepared, NULL);
}

static int begin(void **state)
{
	(void)state;
	assert_true(exporter_open(&t.x, 0));
	assert_int_equal(nna_device_open(NULL, &t.device, NULL), NN_OK);
	assert_int_equal(nna_memory_alloc(t.device, LENGTH, &t.own, NULL), NN_OK);
	assert_int_equal(nna_memory_import(t.device, NNA_SIZED(nna_file, .fd = t.x.buffer,
					   .prot = PROT_READ | PROT_WRITE, .length = LENGTH),
					   &t.foreign, NULL), NN_OK);
	assert_int_equal(prepare(t.own, &t.prepared), NN_OK);
	assert_int_equal(nna_burst_create(t.prepared, NULL, &t.burst, NULL), NN_OK);
	return 0;
}

static int end(void **state)
{
	(void)state;
	nna_burst_free(t.burst);
	nna_prepared_model_free(t.prepared);
	nna_memory_free(t.foreign);
	nna_memory_free(t.own);
	nna_device_close(t.device);
	exporter_close(&t.x);
	return 0;
}

/*
 * Adds the constant to the elements at the start of `from`; writes the sums to offset SIZE of `to`.
 */
static enum nn_status run(bool in_burst, struct nna_memory *from, struct nna_memory *to)
{
	struct nna_memory *const memories[] = { from, to };
	const struct nna_argument in = { .pool = 0, .length = SIZE };
	const struct nna_argument out = { .pool = 1, .offset = SIZE, .length = SIZE };
	const struct nna_request request = { .size = sizeof(request),
					     1, 1, 2, &in, &out, memories, 0, NULL };

	if (in_burst)
		return nna_burst_execute(t.burst, &request, NULL, NULL, NULL);
	return nna_execute(t.prepared, &request, NULL, NULL, NULL);
}

static void expect_counts(uint32_t both, uint32_t from_device)
{
	struct exporter_counts counts = exporter_counts(&t.x);

	assert_int_equal(counts.begun[BOTH], both);
	assert_int_equal(counts.begun[FROM_DEVICE], from_device);
	assert_int_equal(counts.begun[TO_DEVICE], 0);
	assert_memory_equal(counts.begun, counts.ended, sizeof(counts.ended));
	assert_int_equal(counts.fences, 0);
}

static void check_accesses(bool in_burst)
{
	float *data = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, t.x.buffer, 0);
	float *own = nna_memory_map(t.own, NULL);

	assert_ptr_not_equal(data, MAP_FAILED);
	for (int i = 0; i < COUNT; i++)
		data[i] = (float)i;
	own[0] = 0;
	assert_int_equal(run(in_burst, t.own, t.own), NN_OK);
	expect_counts(0, 0);
	assert_int_equal(run(in_burst, t.foreign, t.own), NN_OK);
	expect_counts(0, 1);
	assert_true(own[COUNT + 1] == 1);
	assert_int_equal(run(in_burst, t.own, t.foreign), NN_OK);
	expect_counts(1, 1);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(run(in_burst, t.foreign, t.foreign), NN_OK);
	expect_counts(101, 101);
	assert_true(data[COUNT + 1] == 1);
	munmap(data, LENGTH);
}

static void test_accesses_of_executions(void **state)
{
	(void)state;
	check_accesses(false);
}

static void test_accesses_of_a_burst(void **state)
{
	(void)state;
	check_accesses(true);
}

/* ---- the paths that an execution can take ---- */

enum path { BY_IOCTL, FENCED, BY_URING, IN_BURST, NUM_PATHS };

static const char *const path_names[] = { "ioctl", "fenced", "io_uring", "burst" };

static enum nn_status run_fenced(const struct nna_request *request)
{
	struct pollfd poller = { .events = POLLIN };
	enum nn_status status;

	status = nna_execute_fenced(t.prepared, request, NULL, NULL, &poller.fd, NULL);
	if (status)
		return status;
	assert_int_equal(poll(&poller, 1, -1), 1);
	status = nna_fence_get_info(t.device, poller.fd, NULL, NULL, NULL);
	close(poller.fd);
	return status;
}

static enum nn_status run_by_uring(const struct nna_request *request)
{
	struct nna_submission *submission;
	struct io_uring_cqe *cqe;
	enum nn_status status;
	struct io_uring ring;

	assert_int_equal(io_uring_queue_init(1, &ring, 0), 0);
	status = nna_submission_create(t.prepared, request, NULL, &submission, NULL);
	assert_int_equal(status, NN_OK);
	assert_int_equal(nna_submission_prepare(submission, io_uring_get_sqe(&ring), NULL), NN_OK);
	assert_int_equal(io_uring_submit(&ring), 1);
	assert_int_equal(io_uring_wait_cqe(&ring, &cqe), 0);
	status = nna_submission_result(submission, cqe->res, NULL, NULL);
	io_uring_cqe_seen(&ring, cqe);
	nna_submission_free(submission);
	io_uring_queue_exit(&ring);
	return status;
}

static enum nn_status run_on_path(enum path path, struct nna_memory *from, struct nna_memory *to)
{
	struct nna_memory *const memories[] = { from, to };
	const struct nna_argument in = { .pool = 0, .length = SIZE };
	const struct nna_argument out = { .pool = 1, .offset = SIZE, .length = SIZE };
	const struct nna_request request = { .size = sizeof(request),
					     1, 1, 2, &in, &out, memories, 0, NULL };

	if (path == FENCED)
		return run_fenced(&request);
	return path == BY_URING ? run_by_uring(&request) : run(path == IN_BURST, from, to);
}

#define RUNS 10

/*
 * Executes the model on each path (such as a burst). Checks that each execution begins and ends
 * `each` accesses to memory; count(false) returns the number of begun accesses, count(true) the
 * number of ended accesses.
 */
static void compare_paths(struct nna_memory *from, struct nna_memory *to, const char *what,
			  uint32_t (*count)(bool end), uint32_t each)
{
	for (enum path path = 0; path < NUM_PATHS; path++) {
		uint32_t begun = count(false), ended = count(true);

		for (int i = 0; i < RUNS; i++)
			assert_int_equal(run_on_path(path, from, to), NN_OK);
		begun = count(false) - begun;
		ended = count(true) - ended;
		print_message("%s, %s: %u begun, %u ended, of %d executions\n", what,
			      path_names[path], begun, ended, RUNS);
		assert_int_equal(begun, RUNS * each);
		assert_int_equal(ended, RUNS * each);
	}
}

static uint32_t count_foreign(bool end)
{
	struct exporter_counts counts = exporter_counts(&t.x);
	const uint32_t *of = end ? counts.ended : counts.begun;

	return of[BOTH] + of[TO_DEVICE] + of[FROM_DEVICE];
}

/*
 * Returns how many CPU accesses to the memory have begun or (if `end` is set) ended. The second
 * device, which has imported the memory, counts the CPU accesses.
 */
static uint32_t count_device(bool end)
{
	struct exporter_counts counts = exporter_counts(&t.x);

	return end ? counts.to_device : counts.to_cpu;
}

static void test_paths_of_foreign_memory(void **state)
{
	(void)state;
	compare_paths(t.foreign, t.own, "input of another driver", count_foreign, 1);
	compare_paths(t.own, t.foreign, "output of another driver", count_foreign, 1);
}

/* The burst t.burst has already used the memory when a second device attaches to the memory. */
static void test_paths_of_own_memory_with_a_device(void **state)
{
	struct nna_memory *other;
	int fd;

	(void)state;
	assert_int_equal(nna_memory_alloc(t.device, LENGTH, &other, NULL), NN_OK);
	compare_paths(t.own, other, "own memory, no device", count_device, 0);
	assert_int_equal(nna_memory_export(t.own, &fd, NULL), NN_OK);
	if (ioctl(t.x.fd, EXPORTER_ATTACH, fd)) {
		close(fd);
		nna_memory_free(other);
		print_message("this kernel has no operations of DMA that can be counted\n");
		skip();
	}
	close(fd);
	compare_paths(t.own, other, "input with a device", count_device, 1);
	compare_paths(other, t.own, "output with a device", count_device, 1);
	/*
	 * A burst that is made after the device has attached to the memory causes as many accesses
	 * as an older burst.
	 */
	nna_burst_free(t.burst);
	assert_int_equal(nna_burst_create(t.prepared, NULL, &t.burst, NULL), NN_OK);
	compare_paths(t.own, other, "input with a device, new burst", count_device, 1);
	nna_memory_free(other);
}

/* ---- bursts ---- */

static atomic_bool is_back;

static void *run_in_burst(void *data)
{
	enum nn_status *status = data;

	*status = run(true, t.foreign, t.own);
	is_back = true;
	return NULL;
}

static void test_fence_of_a_burst(void **state)
{
	enum nn_status status = NN_GENERAL_FAILURE;
	pthread_t thread;

	(void)state;
	assert_int_equal(ioctl(t.x.fd, EXPORTER_FENCE, 1), 0);
	is_back = false;
	assert_int_equal(pthread_create(&thread, NULL, run_in_burst, &status), 0);
	usleep(200000);
	assert_false(is_back);
	assert_int_equal(exporter_counts(&t.x).begun[FROM_DEVICE], 0);
	assert_int_equal(ioctl(t.x.fd, EXPORTER_SIGNAL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(status, NN_OK);
	expect_counts(0, 1);
}

static void test_exporter_refuses(void **state)
{
	struct nna_prepared_model *p;

	(void)state;
	assert_int_equal(ioctl(t.x.fd, EXPORTER_REFUSE, EXPORTER_NO_BEGIN), 0);
	for (int in_burst = 0; in_burst < 2; in_burst++) {
		assert_int_equal(run(in_burst, t.foreign, t.own), NN_GENERAL_FAILURE);
		assert_int_equal(run(in_burst, t.own, t.foreign), NN_GENERAL_FAILURE);
		assert_int_equal(run(in_burst, t.own, t.own), NN_OK);
	}
	assert_int_equal(prepare(t.foreign, &p), NN_GENERAL_FAILURE);
	expect_counts(0, 0);
	assert_int_equal(ioctl(t.x.fd, EXPORTER_REFUSE, EXPORTER_NO_END), 0);
	assert_int_equal(run(false, t.own, t.foreign), NN_GENERAL_FAILURE);
	assert_int_equal(run(true, t.own, t.foreign), NN_GENERAL_FAILURE);
	assert_int_equal(ioctl(t.x.fd, EXPORTER_REFUSE, 0), 0);
	assert_int_equal(run(true, t.own, t.foreign), NN_OK);
}

static void test_exporter_goes_away(void **state)
{
	struct nna_prepared_model *p;

	(void)state;
	for (int in_burst = 0; in_burst < 2; in_burst++)
		assert_int_equal(run(in_burst, t.foreign, t.own), NN_OK);
	close(t.x.fd);
	t.x.fd = -1;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(run(i % 2, t.foreign, t.own), NN_GENERAL_FAILURE);
		/* The worker survives. */
		assert_int_equal(run(i % 2, t.own, t.own), NN_OK);
	}
	assert_int_equal(prepare(t.foreign, &p), NN_GENERAL_FAILURE);
}

static void test_constants(void **state)
{
	(void)state;
	nna_burst_free(t.burst);
	t.burst = NULL;
	nna_prepared_model_free(t.prepared);
	assert_int_equal(prepare(t.foreign, &t.prepared), NN_OK);
	expect_counts(0, 1);
	assert_int_equal(run(false, t.own, t.own), NN_OK);
	expect_counts(0, 1);
}

/* ---- images ---- */

#define WIDTH	5
#define HEIGHT	4
#define PIXELS	(WIDTH * HEIGHT)
#define R8	0x20203852	/* DRM_FORMAT_R8 */
#define OP_RELU	19

/* Prepares a model of a RELU, which only copies the input, because no number is negative. */
static enum nn_status prepare_identity(struct nna_prepared_model **prepared)
{
	struct model_builder b;
	uint32_t x, y;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, HEIGHT, WIDTH, 1));
	y = mb_operand(&b, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT,
		       MB_DIMS(1, HEIGHT, WIDTH, 1));
	b.operands[0][x].scale = 1;
	b.operands[0][y].scale = 1;
	mb_operation(&b, OP_RELU, MB_LIST(x), MB_LIST(y));
	return nna_prepare_model(t.device, &b.model, NULL, NULL, prepared, NULL);
}

static struct nna_memory *import_image(uint64_t offset, uint32_t stride)
{
	const struct nna_format format = {
		.size = sizeof(format),
		.fourcc = R8, .width = WIDTH, .height = HEIGHT, .stride = stride, .offset = offset,
	};
	struct nna_memory *m = NULL;

	assert_int_equal(nna_memory_import_formatted(t.device, t.x.buffer, PROT_READ | PROT_WRITE,
						     &format, &m, NULL), NN_OK);
	assert_int_equal(nna_memory_size(m), PIXELS);
	return m;
}

static int begin_images(void **state)
{
	begin(state);
	nna_burst_free(t.burst);
	nna_prepared_model_free(t.prepared);
	assert_int_equal(prepare_identity(&t.prepared), NN_OK);
	assert_int_equal(nna_burst_create(t.prepared, NULL, &t.burst, NULL), NN_OK);
	return 0;
}

static enum nn_status copy_image(bool in_burst, struct nna_memory *from, uint64_t length,
				 struct nna_memory *to)
{
	struct nna_memory *const memories[] = { from, to };
	const struct nna_argument in = { .pool = 0, .length = length }, out = { .pool = 1 };
	const struct nna_request request = { .size = sizeof(request),
					     1, 1, 2, &in, &out, memories, 0, NULL };

	if (in_burst)
		return nna_burst_execute(t.burst, &request, NULL, NULL, NULL);
	return nna_execute(t.prepared, &request, NULL, NULL, NULL);
}

/* An execution neither reads nor writes the padding between the rows of an image. */
static void check_images(bool in_burst, uint32_t stride)
{
	uint8_t *data = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, t.x.buffer, 0);
	struct nna_memory *from = import_image(7, stride), *to = import_image(1001, stride);

	assert_ptr_not_equal(data, MAP_FAILED);
	memset(data, 0xee, LENGTH);
	for (uint32_t i = 0; i < PIXELS; i++)
		data[7 + i / WIDTH * stride + i % WIDTH] = (uint8_t)(i + 1);
	assert_int_equal(copy_image(in_burst, from, 0, to), NN_OK);
	for (uint32_t i = 0; i < HEIGHT * stride; i++) {
		uint32_t x = i % stride, y = i / stride;

		assert_int_equal(data[1001 + i], x < WIDTH ? y * WIDTH + x + 1 : 0xee);
	}
	assert_int_equal(data[1000], 0xee);
	assert_int_equal(copy_image(in_burst, from, PIXELS, to), NN_INVALID_ARGUMENT);
	munmap(data, LENGTH);
	nna_memory_free(from);
	nna_memory_free(to);
}

static void test_images(void **state)
{
	(void)state;
	for (int in_burst = 0; in_burst < 2; in_burst++) {
		check_images(in_burst, WIDTH);
		check_images(in_burst, WIDTH + 1);
		check_images(in_burst, 100);
	}
	/* The exporter was notified of each execution. */
	expect_counts(6, 6);
}

static void test_images_are_no_constants(void **state)
{
	struct nna_memory *image = import_image(0, 100);
	struct nna_prepared_model *p;
	struct nn_error err;
	int fd;

	(void)state;
	assert_int_equal(prepare(image, &p), NN_GENERAL_FAILURE);
	assert_null(nna_memory_map(image, &err));
	assert_int_equal(nna_memory_export(image, &fd, &err), NN_INVALID_ARGUMENT);
	nna_memory_free(image);
}

static void test_wrong_images(void **state)
{
	const struct nna_format good = { .size = sizeof(good),
					 .fourcc = R8, .width = 8, .height = 8, .stride = 8 };
	struct nna_format wrong[5] = { good, good, good, good, good };
	struct nn_error err = { "" };
	struct nna_memory *m;

	(void)state;
	wrong[0].fourcc = 0;
	wrong[1].stride = 7;
	wrong[2].height = 1 << 20;
	wrong[3].modifier = 1;
	wrong[4].width = 0;
	/*
	 * Importing an invalid image fails, and so does importing an image that the device cannot
	 * reach.
	 */
	for (int i = 0; i < 5; i++)
		assert_int_equal(nna_memory_import_formatted(t.device, t.x.buffer, PROT_READ,
							     &wrong[i], &m, &err),
				 i == 0 || i == 3 ? NN_GENERAL_FAILURE : NN_INVALID_ARGUMENT);
	wrong[3].modifier = UINT64_C(1) << 56 | 1;
	err.message[0] = 0;
	nna_memory_import_formatted(t.device, t.x.buffer, PROT_READ, &wrong[3], &m, &err);
	assert_non_null(strstr(err.message, "modifier 0x100000000000001 is not linear"));
	wrong[0].fourcc = 0x3631564e;	/* DRM_FORMAT_NV16 */
	err.message[0] = 0;
	nna_memory_import_formatted(t.device, t.x.buffer, PROT_READ, &wrong[0], &m, &err);
	assert_non_null(strstr(err.message, "format NV16"));
	assert_int_equal(nna_memory_import_formatted(t.device, -1, PROT_READ, &good, &m, NULL),
			 NN_INVALID_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_accesses_of_executions, begin, end),
		cmocka_unit_test_setup_teardown(test_accesses_of_a_burst, begin, end),
		cmocka_unit_test_setup_teardown(test_paths_of_foreign_memory, begin, end),
		cmocka_unit_test_setup_teardown(test_paths_of_own_memory_with_a_device, begin, end),
		cmocka_unit_test_setup_teardown(test_fence_of_a_burst, begin, end),
		cmocka_unit_test_setup_teardown(test_exporter_refuses, begin, end),
		cmocka_unit_test_setup_teardown(test_exporter_goes_away, begin, end),
		cmocka_unit_test_setup_teardown(test_constants, begin, end),
		cmocka_unit_test_setup_teardown(test_images, begin_images, end),
		cmocka_unit_test_setup_teardown(test_images_are_no_constants, begin, end),
		cmocka_unit_test_setup_teardown(test_wrong_images, begin, end),
	};

	return cmocka_run_group_tests_name("memory of other drivers", tests, NULL, NULL);
}
