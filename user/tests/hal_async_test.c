/* SPDX-License-Identifier: MIT */
/*
 * Tests fenced executions and executions by io_uring on the installed engine: results, chains of
 * executions, times, errors, time limits, and interruptions by signals. The test needs /dev/nnaccel
 * and a running nnacceld.
 */
#include <liburing.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <nnaccel/uring.h>

#include "base/clock.h"
#include "tests/hal_fixture.h"
#include "tests/model_samples.h"

#define LENGTH	4096
#define SIZE	16	/* number of bytes of a tensor of sample_add() */
#define DEPTH	32
#define LINKS	20
#define SIGNALLED 200	/* minimum number of executions, and of signals, in test_signals() */

/* A request for sample_add(); input and output lie at different offsets of the same memory. */
struct add {
	struct nna_argument in;
	struct nna_argument out;
	struct nna_request request;
};

static struct nna_memory *memory;
static struct nna_prepared_model *prepared;
static float *data;

static void set_add(struct add *a, uint64_t from, uint64_t to)
{
	a->in = (struct nna_argument){ .offset = from, .length = SIZE };
	a->out = (struct nna_argument){ .offset = to, .length = SIZE };
	a->request = (struct nna_request){
		.size = sizeof(struct nna_request),
		.num_inputs = 1, .inputs = &a->in,
		.num_outputs = 1, .outputs = &a->out,
		.num_memories = 1, .memories = &memory,
	};
}

static int begin(void **state)
{
	struct model_builder b;

	if (set_up(state))
		return -1;
	sample_add(&b);
	check(nna_prepare_model(device, &b.model, NULL, NULL, &prepared, &err));
	check(nna_memory_alloc(device, LENGTH, &memory, &err));
	data = nna_memory_map(memory, &err);
	assert_non_null(data);
	return 0;
}

static int end(void **state)
{
	nna_memory_free(memory);
	nna_prepared_model_free(prepared);
	return tear_down(state);
}

/* Waits for the end of a fenced execution, and returns the status of the execution. */
static enum nn_status await(int fence)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };

	assert_int_equal(poll(&poll_fd, 1, -1), 1);
	assert_int_equal(poll_fd.revents, POLLIN);
	return nna_fence_get_info(device, fence, NULL, NULL, &err);
}

/* ---- fences ---- */

static void test_fence(void **state)
{
	const struct nna_execute_options measured = { .size = sizeof(measured), .measure = true };
	struct nna_timing launched, fenced;
	struct add a;
	int fence;

	(void)state;
	for (int i = 0; i < 4; i++)
		data[i] = (float)i;
	set_add(&a, 0, SIZE);
	check(nna_execute_fenced(prepared, &a.request, &measured, NULL, &fence, &err));
	check(await(fence));
	check(nna_fence_get_info(device, fence, &launched, &fenced, &err));
	assert_int_not_equal(launched.in_driver_us, NNA_TIME_NONE);
	assert_true(launched.in_driver_us >= fenced.in_driver_us);
	assert_true(fenced.in_driver_us >= fenced.on_device_us);
	for (int i = 0; i < 4; i++)
		assert_true(data[4 + i] == (float)i + (i % 2 ? 2 : 1));
	close(fence);
	check(nna_execute_fenced(prepared, &a.request, NULL, NULL, &fence, &err));
	check(await(fence));
	check(nna_fence_get_info(device, fence, &launched, NULL, &err));
	assert_int_equal(launched.in_driver_us, NNA_TIME_NONE);
	assert_int_equal(launched.on_device_us, NNA_TIME_NONE);
	close(fence);
}

/*
 * Each execution of the chain adds to the result of the previous execution of the chain. The test
 * waits only for the last execution of the chain.
 */
static void test_chain(void **state)
{
	int fence = -1, next;
	struct add a;

	(void)state;
	memset(data, 0, 2 * SIZE);
	for (int i = 0; i < LINKS; i++) {
		set_add(&a, i % 2 ? SIZE : 0, i % 2 ? 0 : SIZE);
		check(nna_execute_fenced(prepared, &a.request, NULL, NNA_SIZED(nna_dependencies,
					 .files = &fence, .num_files = fence >= 0), &next, &err));
		if (fence >= 0)
			close(fence);
		fence = next;
	}
	check(await(fence));
	for (int i = 0; i < 4; i++)
		assert_true(data[i] == (float)(LINKS * (i % 2 ? 2 : 1)));
	close(fence);
}

/*
 * Tests a chain of executions on buffers, which the client never maps. The test writes only the
 * first buffer of the chain and reads only the last buffer.
 */
static void test_chain_over_buffers(void **state)
{
	const struct nna_role in = { .frequency = 1 }, out = { .frequency = 1 };
	struct nna_buffer *buffers[2];
	uint32_t tokens[2];
	int fence = -1, next;
	struct add a;

	(void)state;
	for (int i = 0; i < 2; i++)
		check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &prepared,
					  .num_models = 1, .inputs = &in, .num_inputs = 1,
					  .outputs = &out, .num_outputs = 1), &buffers[i],
					  &tokens[i], &err));
	memset(data, 0, SIZE);
	check(nna_buffer_write(buffers[0], data, SIZE, 0, NULL, &err));
	for (int i = 0; i < LINKS; i++) {
		uint32_t both[2] = { tokens[i % 2], tokens[(i + 1) % 2] };

		set_add(&a, 0, 0);
		a.in = (struct nna_argument){ .pool = 0 };
		a.out = (struct nna_argument){ .pool = 1 };
		a.request.num_memories = 0;
		a.request.num_tokens = 2;
		a.request.tokens = both;
		check(nna_execute_fenced(prepared, &a.request, NULL, NNA_SIZED(nna_dependencies,
					 .files = &fence, .num_files = fence >= 0), &next, &err));
		if (fence >= 0)
			close(fence);
		fence = next;
	}
	check(await(fence));
	check(nna_buffer_read(buffers[0], data, SIZE, &err));
	for (int i = 0; i < 4; i++)
		assert_true(data[i] == (float)(LINKS * (i % 2 ? 2 : 1)));
	close(fence);
	for (int i = 0; i < 2; i++)
		nna_buffer_free(buffers[i]);
}

static void test_fence_refusals(void **state)
{
	int fence, not_a_fence[1] = { STDIN_FILENO };
	const uint32_t open_dims[2] = { 0, 2 };
	struct model_builder b;
	struct nna_prepared_model *reshape;
	struct nna_argument in[2] = { { .length = 24 }, { .offset = 24, .length = 8 } };
	struct add a;

	(void)state;
	set_add(&a, 0, SIZE);
	assert_int_equal(nna_execute_fenced(prepared, &a.request, NULL, NNA_SIZED(nna_dependencies,
					    .files = not_a_fence, .num_files = 1), &fence,
					    &err), NN_INVALID_ARGUMENT);
	assert_int_equal(fence, -1);
	assert_int_equal(nna_fence_get_info(device, STDIN_FILENO, NULL, NULL, &err),
			 NN_INVALID_ARGUMENT);
	a.out.offset = LENGTH;
	assert_int_equal(nna_execute_fenced(prepared, &a.request, NULL, NULL, &fence, &err),
			 NN_INVALID_ARGUMENT);
	/*
	 * An execution is rejected if neither the model nor the request specifies the output's
	 * shape.
	 */
	sample_reshape(&b);
	check(nna_prepare_model(device, &b.model, NULL, NULL, &reshape, &err));
	set_add(&a, 0, 64);
	a.request.inputs = in;
	a.request.num_inputs = 2;
	a.out.length = 24;
	assert_int_equal(nna_execute_fenced(reshape, &a.request, NULL, NULL, &fence, &err),
			 NN_INVALID_ARGUMENT);
	a.out.rank = 2;
	memcpy(a.out.dims, open_dims, sizeof(open_dims));
	assert_int_equal(nna_execute_fenced(reshape, &a.request, NULL, NULL, &fence, &err),
			 NN_INVALID_ARGUMENT);
	a.out.dims[0] = 3;
	((int32_t *)data)[6] = 3;
	((int32_t *)data)[7] = 2;
	check(nna_execute_fenced(reshape, &a.request, NULL, NULL, &fence, &err));
	check(await(fence));
	close(fence);
	nna_prepared_model_free(reshape);
}

/*
 * An execution ends with an error if the execution fails, or if an execution on which it depends
 * fails.
 */
static void test_fence_failure(void **state)
{
	int fences[2];
	struct add a;

	(void)state;
	set_add(&a, 0, SIZE);
	a.in.length = 4;
	check(nna_execute_fenced(prepared, &a.request, NULL, NULL, &fences[0], &err));
	a.in.length = SIZE;
	check(nna_execute_fenced(prepared, &a.request, NULL, NNA_SIZED(nna_dependencies,
				 .files = &fences[0], .num_files = 1), &fences[1], &err));
	assert_int_equal(await(fences[0]), NN_INVALID_ARGUMENT);
	assert_int_equal(await(fences[1]), NN_GENERAL_FAILURE);
	close(fences[0]);
	close(fences[1]);
}

/* ---- signals ---- */

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static uint64_t count_executions(void)
{
	struct nna_context_info info = { .size = sizeof(info) };

	check(nna_device_get_context_info(device, &info, &err));
	return info.executions;
}

/* Signals that interrupt system calls neither change results nor make an execution run twice. */
static void test_signals(void **state)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction count = { .sa_handler = count_signal }, none = { .sa_handler = SIG_DFL };
	const uint64_t before = count_executions();
	struct add a;
	int runs;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &count, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (runs = 0; runs < SIGNALLED || signals < SIGNALLED; runs++) {
		data[0] = (float)runs;
		set_add(&a, 0, SIZE);
		check(nna_execute(prepared, &a.request, NULL, NULL, &err));
		assert_true(data[4] == (float)runs + 1);
	}
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &none, NULL), 0);
	assert_int_equal(count_executions() - before, runs);
}

/* ---- limits of time ---- */

/*
 * Checks the status of an execution whose deadline has passed. The status may be persistent,
 * because on a busy machine the execution may not even have begun.
 */
static void assert_late(enum nn_status status)
{
	assert_true(status == NN_MISSED_DEADLINE_TRANSIENT ||
		    status == NN_MISSED_DEADLINE_PERSISTENT);
}

/*
 * A WHILE loop runs until the execution's deadline. The worker stops the WHILE loop between two
 * operations, and survives.
 */
static void test_deadline_while_running(void **state)
{
	struct nna_execute_options options = { .size = sizeof(options),
					       .loop_timeout_ns = UINT64_MAX };
	struct nna_prepared_model *loop;
	struct nna_argument in[3] = { { .length = 4 }, { .offset = 4, .length = 4 },
				      { .offset = 8, .length = 4 } };
	struct nna_argument out[2] = { { .offset = 64, .length = 4 },
				       { .offset = 68, .length = 4 } };
	struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 3, .inputs = in, .num_outputs = 2, .outputs = out,
		.num_memories = 1, .memories = &memory,
	};
	struct model_builder b;
	struct add a;
	int fence;

	(void)state;
	data[0] = 0;
	data[1] = 0;
	data[2] = 1e30f;
	sample_while(&b);
	check(nna_prepare_model(device, &b.model, NULL, NULL, &loop, &err));
	options.deadline_ns = clock_ns() + 100000000;
	assert_late(nna_execute(loop, &request, &options, NULL, &err));
	assert_int_equal(nna_execute(loop, &request, &options, NULL, &err),
			 NN_MISSED_DEADLINE_PERSISTENT);
	options.deadline_ns = clock_ns() + 100000000;
	check(nna_execute_fenced(loop, &request, &options, NULL, &fence, &err));
	assert_late(await(fence));
	close(fence);
	options.deadline_ns = 0;
	check(nna_execute_fenced(loop, &request, &options, NNA_SIZED(nna_dependencies,
				 .duration_ns = 100000000), &fence, &err));
	assert_late(await(fence));
	close(fence);
	nna_prepared_model_free(loop);
	set_add(&a, 0, SIZE);
	check(nna_execute(prepared, &a.request, NULL, NULL, &err));
}

/* ---- io_uring ---- */

static struct io_uring ring;

static int begin_ring(void **state)
{
	return begin(state) || io_uring_queue_init(DEPTH, &ring, 0);
}

static int end_ring(void **state)
{
	io_uring_queue_exit(&ring);
	return end(state);
}

static void submit(struct nna_submission *submission)
{
	check(nna_submission_prepare(submission, io_uring_get_sqe(&ring), &err));
}

/*
 * Returns the result of the next completion of the io_uring, and stores the completed submission in
 * *submission.
 */
static int reap(struct nna_submission **submission)
{
	struct io_uring_cqe *cqe;
	int res;

	assert_int_equal(io_uring_wait_cqe(&ring, &cqe), 0);
	res = cqe->res;
	*submission = io_uring_cqe_get_data(cqe);
	io_uring_cqe_seen(&ring, cqe);
	return res;
}

static void test_uring(void **state)
{
	const struct nna_execute_options measured = { .size = sizeof(measured), .measure = true };
	struct nna_submission *submissions[DEPTH], *done;
	struct nna_output_shape shape;
	struct nna_timing timing;
	uint32_t num_shapes;
	struct add a;
	int res;

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		set_add(&a, (uint64_t)i * 2 * SIZE, ((uint64_t)i * 2 + 1) * SIZE);
		check(nna_submission_create(prepared, &a.request, &measured, &submissions[i],
					    &err));
		data[i * 8] = (float)i;
	}
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < DEPTH; i++) {
			data[i * 8 + 4] = -1;
			submit(submissions[i]);
		}
		assert_int_equal(io_uring_submit(&ring), DEPTH);
		for (int i = 0; i < DEPTH; i++) {
			res = reap(&done);
			check(nna_submission_result(done, res, NNA_SIZED(nna_results,
						    .shapes = &shape, .num_shapes = &num_shapes,
						    .timing = &timing), &err));
			assert_int_equal(num_shapes, 1);
			assert_int_equal(shape.rank, 2);
			assert_true(shape.is_sufficient);
			assert_int_not_equal(timing.in_driver_us, NNA_TIME_NONE);
		}
		for (int i = 0; i < DEPTH; i++)
			assert_true(data[i * 8 + 4] == (float)i + 1);
	}
	assert_int_equal(nna_submission_cancel(submissions[0], &err), NN_INVALID_ARGUMENT);
	for (int i = 0; i < DEPTH; i++)
		nna_submission_free(submissions[i]);
}

/*
 * Bursts and fenced executions work while an io_uring has DEPTH executions, and the io_uring works
 * while bursts and fences are in use.
 */
static void test_uring_beside_others(void **state)
{
	struct nna_submission *submissions[DEPTH], *done;
	struct nna_burst *burst;
	struct add a, other;
	int fence, res;

	(void)state;
	check(nna_burst_create(prepared, NULL, &burst, &err));
	for (int i = 0; i < DEPTH; i++) {
		set_add(&a, 0, ((uint64_t)i + 1) * SIZE);
		check(nna_submission_create(prepared, &a.request, NULL, &submissions[i], &err));
		submit(submissions[i]);
	}
	assert_int_equal(io_uring_submit(&ring), DEPTH);
	set_add(&other, 0, LENGTH - SIZE);
	for (int i = 0; i < 20; i++) {
		check(nna_burst_execute(burst, &other.request, NULL, NULL, &err));
		check(nna_execute_fenced(prepared, &other.request, NULL, NULL, &fence, &err));
		check(await(fence));
		close(fence);
	}
	for (int i = 0; i < DEPTH; i++) {
		res = reap(&done);
		check(nna_submission_result(done, res, NULL, &err));
		nna_submission_free(done);
	}
	nna_burst_free(burst);
}

static void test_uring_failures(void **state)
{
	struct nna_execute_options late = { .size = sizeof(late), .deadline_ns = 1 };
	struct nna_submission *submission, *done;
	struct add a;
	int res;

	(void)state;
	set_add(&a, 0, SIZE);
	a.in.length = 4;
	check(nna_submission_create(prepared, &a.request, NULL, &submission, &err));
	submit(submission);
	assert_int_equal(io_uring_submit(&ring), 1);
	res = reap(&done);
	assert_ptr_equal(done, submission);
	assert_int_equal(nna_submission_result(done, res, NULL, &err),
			 NN_INVALID_ARGUMENT);
	assert_true(err.message[0]);
	nna_submission_free(submission);
	set_add(&a, 0, SIZE);
	check(nna_submission_create(prepared, &a.request, &late, &submission, &err));
	submit(submission);
	assert_int_equal(io_uring_submit(&ring), 1);
	res = reap(&done);
	assert_int_equal(nna_submission_result(done, res, NULL, &err),
			 NN_MISSED_DEADLINE_PERSISTENT);
	nna_submission_free(submission);
	a.out.offset = LENGTH;
	assert_int_equal(nna_submission_create(prepared, &a.request, NULL, &submission, &err),
			 NN_INVALID_ARGUMENT);
	assert_null(submission);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fence, begin, end),
		cmocka_unit_test_setup_teardown(test_chain, begin, end),
		cmocka_unit_test_setup_teardown(test_chain_over_buffers, begin, end),
		cmocka_unit_test_setup_teardown(test_fence_refusals, begin, end),
		cmocka_unit_test_setup_teardown(test_fence_failure, begin, end),
		cmocka_unit_test_setup_teardown(test_signals, begin, end),
		cmocka_unit_test_setup_teardown(test_deadline_while_running, begin, end),
		cmocka_unit_test_setup_teardown(test_uring, begin_ring, end_ring),
		cmocka_unit_test_setup_teardown(test_uring_beside_others, begin_ring, end_ring),
		cmocka_unit_test_setup_teardown(test_uring_failures, begin_ring, end_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
