/* SPDX-License-Identifier: MIT */
/*
 * Tests libnnaccel's asynchronous executions: with fences, and by io_uring. The test program
 * imitates the kernel: the program checks libnnaccel's requests, and returns the answer of each
 * test case.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>
#include <nnaccel/uring.h>

#include "base/clock.h"
#include "hal/device.h"
#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROW 16

/* The model y = RELU(x) with an unknown number of rows or an unknown rank. */
static const uint32_t x = 0, y = 1;
static const struct nn_operation relu = { NN_OP_RELU, 1, 1, &x, &y };
static struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT },
};
static const struct nn_subgraph subgraph = { 2, 1, 1, 1, operands, &relu, &x, &y };
static const struct nn_model model = {
	.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &subgraph,
};

static struct nna_device *device;
static struct nna_memory *memory;
static struct nn_error err;
static struct kept kept;

/* The last requests of libnnaccel, and the answers of the imitated kernel. */
static struct {
	struct nnaccel_submit submit;
	struct nnaccel_execute execute;
	int submit_errno;
	unsigned int submits;
	struct nnaccel_wait wait;
	unsigned int waits;
	struct nnaccel_cancel cancel;
	int cancel_errno;
	int sync_errno;
	unsigned int sync_waits;	/* number of calls that are answered with "no fence yet" */
	uint32_t out_status;		/* status of each execution; an error also has a message */
} asked;

static int fail_with(int error)
{
	errno = error;
	return error ? -1 : 0;
}

static bool answer(unsigned long request, void *arg, int *result)
{
	struct nnaccel_execute *e = arg;

	switch (request) {
	case NNACCEL_SUBMIT:
		e = (struct nnaccel_execute *)(uintptr_t)((struct nnaccel_submit *)arg)->work;
		if (((struct nnaccel_submit *)arg)->kind != NNACCEL_WORK_EXECUTE)
			return false;
		asked.submits++;
		asked.submit = *(struct nnaccel_submit *)arg;
		asked.execute = *e;
		*result = fail_with(asked.submit_errno);
		return asked.submit_errno;
	case NNACCEL_WORK_EXECUTE:
		e->out_status = asked.out_status;
		e->out_device_ns = 1999;
		e->out_driver_ns = 5000;
		e->out_fenced_ns = 3000;
		*result = 0;
		return true;
	case NNACCEL_WAIT:
		asked.waits++;
		asked.wait = *(struct nnaccel_wait *)arg;
		e = (struct nnaccel_execute *)(uintptr_t)asked.wait.work;
		assert_int_equal(e->message_size, NNACCEL_MAX_MESSAGE);
		if (asked.out_status)
			strcpy((char *)(uintptr_t)e->message, "it is blue");
		return false;
	case NNACCEL_SYNC_FILE:
		*result = fail_with(asked.sync_waits ? EAGAIN : asked.sync_errno);
		asked.sync_waits -= asked.sync_waits > 0;
		return *result;
	case NNACCEL_CANCEL:
		asked.cancel = *(struct nnaccel_cancel *)arg;
		*result = fail_with(asked.cancel_errno);
		return true;
	}
	return false;
}

static int set_up(void **state)
{
	(void)state;
	kept = kept_now();
	memset(&asked, 0, sizeof(asked));
	fake.is_busy = false;
	fake.end = 0;
	err.message[0] = '\0';
	fake.is_on = true;
	fake.answer = answer;
	return nna_device_open(NULL, &device, &err) ||
	       nna_memory_alloc(device, FAKE_PAGE, &memory, &err);
}

static int tear_down(void **state)
{
	struct kept left;

	(void)state;
	nna_memory_free(memory);
	nna_device_close(device);
	left = kept_now();
	fake.is_on = false;
	return kept_more(&kept, &left) || fake.live || fake.wrong;
}

static struct nna_prepared_model *prepare(uint32_t rank, uint32_t rows, uint32_t columns)
{
	struct nna_prepared_model *p;

	for (int i = 0; i < 2; i++) {
		operands[i].rank = rank;
		operands[i].dims[0] = rows;
		operands[i].dims[1] = columns;
	}
	assert_int_equal(nna_prepare_model(device, &model, NULL, NULL, &p, &err), NN_OK);
	return p;
}

/* ---- fences ---- */

static void test_what_is_asked(void **state)
{
	struct nna_prepared_model *p = prepare(2, 1, 4);
	const struct nna_argument in = { .length = ROW }, out = { .offset = 64, .length = ROW };
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	const struct nna_execute_options options = {
		.size = sizeof(options), .measure = true, .deadline_ns = 123, .loop_timeout_ns = 456,
	};
	static const int errors[] = { EINVAL, EMFILE, ESTALE };
	static const enum nn_status statuses[] = {
		NN_INVALID_ARGUMENT, NN_RESOURCE_EXHAUSTED_TRANSIENT, NN_DEAD_OBJECT,
	};
	const int wait_for[] = { 7, 8 };
	int fence = 99;

	(void)state;
	assert_int_equal(nna_execute_fenced(p, &r, &options, NNA_SIZED(nna_dependencies,
					    .files = wait_for, .num_files = 2, .duration_ns = 789),
					    &fence, &err), NN_OK);
	assert_true(fence >= 0 && fence != 99);
	close(fence);
	assert_int_equal(asked.submit.flags, NNACCEL_SUBMIT_FILE | NNACCEL_SUBMIT_CLOEXEC);
	assert_int_equal(asked.submit.kind, NNACCEL_WORK_EXECUTE);
	assert_int_equal(asked.submit.dependencies, (uintptr_t)wait_for);
	assert_int_equal(asked.submit.num_dependencies, 2);
	assert_int_equal(asked.submit.duration_ns, 789);
	assert_int_equal(asked.execute.flags, NNACCEL_EXECUTE_MEASURE);
	assert_int_equal(asked.execute.deadline_ns, 123);
	assert_int_equal(asked.execute.loop_timeout_ns, 456);
	/*
	 * The kernel's request has no pointer to the caller's stack, because the request outlives
	 * nna_execute_fenced().
	 */
	assert_int_equal(asked.execute.shapes, 0);
	assert_int_equal(asked.execute.message, 0);
	assert_int_equal(asked.execute.message_size, 0);
	for (size_t i = 0; i < COUNT(errors); i++) {
		asked.submit_errno = errors[i];
		fence = 99;
		assert_int_equal(nna_execute_fenced(p, &r, NULL, NULL, &fence, &err), statuses[i]);
		assert_int_equal(fence, -1);
	}
	nna_prepared_model_free(p);
}

/*
 * An output needs a complete shape; the shape may come from the request, from the model, or from
 * both.
 */
static void test_declared_shapes(void **state)
{
	static const struct {
		uint32_t model[3], request[3];	/* rank and dimensions */
		bool is_omitted;
		enum nn_status status;
		uint32_t size;			/* size of the buffer for the output */
	} cases[] = {
		{ { 2, 1, 4 }, { 0 }, false, NN_OK, 16 }, { { 0 }, { 2, 1, 4 }, false, NN_OK, 16 },
		{ { 2, 0, 4 }, { 2, 3, 0 }, false, NN_OK, 48 }, { { 2, 0, 4 }, { 2, 3, 4 }, false, NN_OK, 48 },
		{ { 2, 0, 4 }, { 0 }, false, NN_INVALID_ARGUMENT, 0 },
		{ { 2, 1, 0 }, { 0 }, false, NN_INVALID_ARGUMENT, 0 },
		{ { 2, 0, 4 }, { 2, 0, 4 }, false, NN_INVALID_ARGUMENT, 0 },
		{ { 0 }, { 0 }, false, NN_INVALID_ARGUMENT, 0 },
		{ { 0 }, { 0 }, true, NN_OK, 0 }, { { 2, 0, 4 }, { 0 }, true, NN_OK, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int with_buffer = 0; with_buffer < 2 - cases[i].is_omitted; with_buffer++) {
			const uint32_t *m = cases[i].model, *s = cases[i].request;
			struct nna_prepared_model *p = prepare(m[0], m[1], m[2]);
			const struct nna_role role = { .frequency = 1 };
			const struct nna_argument in = { .length = ROW };
			const struct nna_argument out = {
				.has_no_value = cases[i].is_omitted, .rank = s[0], .dims = { s[1], s[2] },
				.length = cases[i].is_omitted || with_buffer ? 0 : 64,
				.pool = (uint32_t)with_buffer,
			};
			struct nna_buffer *buffer;
			uint32_t token;
			const struct nna_request r = {
				.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &in,
				.outputs = &out, .num_memories = 1, .memories = &memory,
				.num_tokens = (uint32_t)with_buffer, .tokens = &token,
			};
			enum nn_status status;
			int fence;

			assert_int_equal(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles,
				.models = &p, .num_models = 1, .outputs = &role, .num_outputs = 1),
				&buffer, &token, &err), NN_OK);
			status = nna_execute_fenced(p, &r, NULL, NULL, &fence, &err);
			if (status != cases[i].status)
				fail_msg("case %zu: %s", i, err.message);
			assert_int_equal(nna_buffer_size(buffer), with_buffer ? cases[i].size : 0);
			if (fence >= 0)
				close(fence);
			nna_buffer_free(buffer);
			nna_prepared_model_free(p);
		}
	}
}

/* The shapes of all outputs must be known, not only the shape of the first one. */
static void test_declared_shape_of_each_output(void **state)
{
	static const struct nna_argument in = { .length = ROW }, outputs[] = {
		{ .length = ROW }, { .rank = 2, .dims = { 3, 4 }, .length = 3 * ROW },
		{ .rank = 2, .dims = { 3, 0 }, .length = 3 * ROW },
	};
	struct nna_prepared_model *p = prepare(2, 1, 4);
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = COUNT(outputs), .inputs = &in,
		.outputs = outputs, .num_memories = 1, .memories = &memory,
	};
	int fence;

	(void)state;
	assert_int_equal(nna_execute_fenced(p, &r, NULL, NULL, &fence, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "execute: dimension 1 of output 2 must be known, because the "
			    "execution is fenced");
	nna_prepared_model_free(p);
}

/* Starts an execution with valid arguments, and returns the fence of the execution. */
static int start(struct nna_prepared_model *p)
{
	const struct nna_argument in = { .length = ROW }, out = { .offset = 64, .length = ROW };
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};
	int fence;

	assert_int_equal(nna_execute_fenced(p, &r, NULL, NULL, &fence, &err), NN_OK);
	assert_true(fence >= 0);
	return fence;
}

/*
 * The kernel returns an execution's result only once, but nna_fence_get_info() returns the result
 * any number of times.
 */
static void test_fence_info(void **state)
{
	static const struct {
		int end;		/* errno with which the execution ends, or 0 */
		uint32_t out_status;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ 0, 0, NN_OK, "" },
		{ EPIPE, 0, NN_DEAD_OBJECT, "execute: the engine's worker died, and its models with it" },
		{ EREMOTEIO, 0, NN_GENERAL_FAILURE,
		  "execute: a fence that the execution waited for signalled an error" },
		{ ETIME, 0, NN_MISSED_DEADLINE_TRANSIENT, "execute: the deadline passed" },
		{ ECANCELED, 0, NN_GENERAL_FAILURE, "execute: cancelled" },
		{ EINVAL, 0, NN_INVALID_ARGUMENT,
		  "execute: the kernel refused the call: a value or range is invalid" },
		{ EBUSY, 0, NN_GENERAL_FAILURE,
		  "execute: the buffer is in use: a writer needs it alone, and readers need it "
		  "without a writer" },
		{ 0, NNACCEL_STATUS_INVALID_ARGUMENT, NN_INVALID_ARGUMENT, "execute: it is blue" },
	};
	struct nna_prepared_model *p = prepare(2, 1, 4);
	struct nna_timing launched, fenced;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int fence;

		asked.out_status = cases[i].out_status;
		fence = start(p);
		fake.end = cases[i].end;
		for (int k = 0; k < 2; k++) {
			memset(&launched, 0, sizeof(launched));
			memset(&fenced, 0, sizeof(fenced));
			assert_int_equal(nna_fence_get_info(device, fence, &launched, &fenced, &err),
					 cases[i].status);
			assert_string_equal(err.message, cases[i].message);
			assert_int_equal(asked.wait.id, 0);
			assert_int_equal(asked.wait.fd, fence);
			assert_int_equal(asked.wait.flags, NNACCEL_WAIT_NONBLOCK);
			assert_true(launched.on_device_us == (cases[i].end ? NNA_TIME_NONE : 1));
			assert_true(launched.in_driver_us == (cases[i].end ? NNA_TIME_NONE : 5));
			assert_true(fenced.on_device_us == (cases[i].end ? NNA_TIME_NONE : 1));
			assert_true(fenced.in_driver_us == (cases[i].end ? NNA_TIME_NONE : 3));
			assert_int_equal(fake_pending(), 0);
			fake.end = 0;
		}
		assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err), cases[i].status);
		close(fence);
	}
	nna_prepared_model_free(p);
}

/*
 * The function nna_fence_get_sync_file() waits until the kernel returns a sync_file, or reports
 * that the execution gets no sync_file.
 */
static void test_sync_file(void **state)
{
	static const struct {
		int error;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ 0, NN_OK, "" },
		{ EOPNOTSUPP, NN_GENERAL_FAILURE, "execute: no sync_file: the execution uses "
		  "memory that a CPU accesses" },
		{ EBUSY, NN_GENERAL_FAILURE, "execute: no sync_file yet: the execution waits for "
		  "another execution or a fence" },
		{ ENODATA, NN_GENERAL_FAILURE, "execute: no sync_file: the execution has ended "
		  "without a fence of the hardware" },
		{ EINVAL, NN_INVALID_ARGUMENT,
		  "execute: the fd is not a fence of an execution on this device" },
		{ EBADF, NN_INVALID_ARGUMENT,
		  "execute: the fd is not a fence of an execution on this device" },
		{ ENOENT, NN_INVALID_ARGUMENT,
		  "execute: the fd is not a fence of an execution on this device" },
		{ EMFILE, NN_RESOURCE_EXHAUSTED_TRANSIENT, "execute: " },
	};
	struct nna_prepared_model *p = prepare(2, 1, 4);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int fence = start(p), sync_file = -2;

		asked.sync_errno = cases[i].error;
		asked.sync_waits = (unsigned int)i % 3;
		if (nna_fence_get_sync_file(device, fence, &sync_file, &err) != cases[i].status)
			fail_msg("%zu: %s", i, err.message);
		assert_int_equal(asked.sync_waits, 0);
		assert_int_equal(strncmp(err.message, cases[i].message, strlen(cases[i].message)), 0);
		assert_int_equal(err.message[0] != 0, cases[i].error != 0);
		assert_int_equal(sync_file >= 0, !cases[i].error);
		if (sync_file >= 0)
			close(sync_file);
		assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err), NN_OK);
		close(fence);
	}
	nna_prepared_model_free(p);
}

/* nna_fence_get_info() fails for a running execution, and for a file that is not a fence. */
static void test_no_fence_info(void **state)
{
	static const char not_one[] =
		"execute: the fd is not a fence of an execution on this device";
	struct nna_prepared_model *p = prepare(2, 1, 4);
	int fence = start(p), file, copy;

	(void)state;
	fake.is_busy = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err), NN_GENERAL_FAILURE);
		assert_string_equal(err.message, "execute: the execution has not ended yet");
	}
	fake.is_busy = false;
	/*
	 * If asking the kernel for an execution's result fails, nna_fence_get_info() can be called
	 * again.
	 */
	fake_begin(1, ENOMEM);
	assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err),
			 NN_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_int_equal(fake_end(), 1);
	assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err), NN_OK);
	close(fence);
	assert_int_equal(nna_fence_get_info(device, -1, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, not_one);
	file = fake_file(0);
	assert_int_equal(file, fence);
	fake_find(0, file)->fd = -1;
	assert_int_equal(nna_fence_get_info(device, file, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, not_one);
	close(file);

	/*
	 * If the client itself has read an execution's result from the kernel, nna_fence_get_info()
	 * reports no result.
	 */
	asked.out_status = NNACCEL_STATUS_GENERAL_FAILURE;
	fence = start(p);
	fake_drop(fake_find(0, fence));
	assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, not_one);
	close(fence);

	/* A duplicate of a fence's file descriptor stands for the same execution as the fence. */
	fence = start(p);
	copy = dup(fence);
	fake_find(0, fence)->fd = copy;
	assert_int_equal(nna_fence_get_info(device, copy, NULL, NULL, &err), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "execute: it is blue");
	close(copy);
	close(fence);

	/*
	 * If the client replaces a fence's file by another fence with dup2(), the file descriptor
	 * stands for the other fence's execution.
	 */
	asked.out_status = 0;
	copy = start(p);
	assert_int_equal(nna_fence_get_info(device, copy, NULL, NULL, &err), NN_OK);
	asked.out_status = NNACCEL_STATUS_GENERAL_FAILURE;
	fence = start(p);
	fake_find(0, copy)->fd = -1;
	fake_find(0, fence)->fd = dup2(fence, copy);
	for (int i = 0; i < 2; i++)
		assert_int_equal(nna_fence_get_info(device, copy, NULL, NULL, &err), NN_GENERAL_FAILURE);
	close(copy);
	close(fence);
	nna_prepared_model_free(p);
}

/*
 * Closing a fence drops the unread result of the execution, and makes room for another submission.
 */
static void test_answers_of_closed_files(void **state)
{
	const struct nna_request r = { .size = sizeof(r) };
	struct nna_prepared_model *p = prepare(2, 1, 4);
	int fences[FAKE_MOST_COMMANDS];
	unsigned long blocks;

	(void)state;
	blocks = kept_now().counts[KEPT_MEMORY];
	for (int i = 0; i < 4 * FAKE_MOST_COMMANDS; i++)
		close(start(p));
	for (int i = 0; i < FAKE_MOST_COMMANDS; i++)
		fences[i] = start(p);
	assert_int_equal(kept_now().counts[KEPT_MEMORY], blocks);
	asked.submits = 0;
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err),
			 NN_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_string_equal(err.message, "execute: too many commands of this client are in flight");
	assert_int_equal(asked.submits, 1);
	assert_int_equal(asked.waits, 0);
	close(fences[0]);
	assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_OK);
	for (int i = 1; i < FAKE_MOST_COMMANDS; i++) {
		assert_int_equal(nna_fence_get_info(device, fences[i], NULL, NULL, &err), NN_OK);
		close(fences[i]);
	}
	/*
	 * If a new fence has the same fd number as a closed fence, the new fence's result replaces
	 * the closed fence's stored result.
	 */
	blocks = kept_now().counts[KEPT_MEMORY];
	for (int i = 1; i < FAKE_MOST_COMMANDS; i++) {
		fences[i] = start(p);
		assert_int_equal(kept_now().counts[KEPT_MEMORY], blocks);
		assert_int_equal(nna_fence_get_info(device, fences[i], NULL, NULL, &err), NN_OK);
	}
	for (int i = 1; i < FAKE_MOST_COMMANDS; i++)
		close(fences[i]);
	nna_prepared_model_free(p);
}

/*
 * In a forked child, nna_fence_get_info() makes no request to the kernel, and takes no lock that
 * the parent may hold.
 */
static void test_child(void **state)
{
	struct nna_prepared_model *p = prepare(2, 1, 4);
	int fence = start(p), status;
	pid_t pid;

	(void)state;
	pthread_mutex_lock(&device->fences_lock);
	pid = fork();
	if (!pid) {
		alarm(10);
		_exit(!nna_fence_get_info(device, fence, NULL, NULL, &err) || asked.waits);
	}
	pthread_mutex_unlock(&device->fences_lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(nna_fence_get_info(device, fence, NULL, NULL, &err), NN_OK);
	close(fence);
	nna_prepared_model_free(p);
}

/* ---- io_uring ---- */

static void test_submissions(void **state)
{
	static const struct {
		int res;
		uint32_t out_status;
		bool was_past;		/* set if the deadline has passed when the test submits */
		enum nn_status status;
	} cases[] = {
		{ 0, 0, false, NN_OK },
		{ 1, 0, false, NN_OK },
		{ -EIO, NNACCEL_STATUS_GENERAL_FAILURE, false, NN_GENERAL_FAILURE },
		{ -EIO, NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, false, NN_OUTPUT_INSUFFICIENT_SIZE },
		{ -EIO, NNACCEL_STATUS_INVALID_ARGUMENT, false, NN_INVALID_ARGUMENT },
		{ -ECANCELED, 0, false, NN_GENERAL_FAILURE },
		{ -EPIPE, 0, false, NN_DEAD_OBJECT },
		{ -ETIME, 0, false, NN_MISSED_DEADLINE_TRANSIENT },
		{ -ETIME, 0, true, NN_MISSED_DEADLINE_PERSISTENT },
	};
	struct nna_prepared_model *p = prepare(2, 1, 4);
	const struct nna_argument in = { .length = ROW }, out = { .offset = 64, .length = ROW };
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct nna_execute_options options = {
			.size = sizeof(options), .measure = true, .loop_timeout_ns = 456,
			.deadline_ns = cases[i].was_past ? 1 : clock_ns() + 1000 * NS_PER_S,
		};
		struct nna_timing timing = { 0, 0 };
		const struct nnaccel_submit *submit;
		struct nnaccel_uring_submit block;
		struct nna_output_shape shape = { 0 };
		struct nna_submission *s;
		struct nnaccel_execute *e;
		struct io_uring_sqe sqe;
		uint32_t count = 99;
		bool has_shapes;

		assert_int_equal(nna_submission_create(p, &r, &options, &s, &err), NN_OK);
		memset(&sqe, 0xff, sizeof(sqe));
		assert_int_equal(nna_submission_prepare(s, &sqe, &err), NN_OK);
		memcpy(&block, sqe.cmd, sizeof(block));
		assert_int_equal(sqe.opcode, IORING_OP_URING_CMD);
		assert_int_equal(sqe.cmd_op, NNACCEL_SUBMIT);
		assert_int_equal(sqe.flags, 0);
		assert_int_equal(sqe.fd, device->fd);
		assert_int_equal(sqe.user_data, (uintptr_t)s);
		assert_int_equal(block.tag, (uintptr_t)s);
		submit = (const struct nnaccel_submit *)(uintptr_t)block.submit;
		assert_int_equal(submit->size, sizeof(*submit));
		assert_int_equal(submit->flags, NNACCEL_SUBMIT_WAIT);
		assert_int_equal(submit->kind, NNACCEL_WORK_EXECUTE);
		assert_int_equal(submit->num_dependencies, 0);
		assert_int_equal(submit->duration_ns, 0);
		e = (struct nnaccel_execute *)(uintptr_t)submit->work;
		assert_int_equal(e->size, sizeof(*e));
		assert_int_equal(e->out_status, 0);
		assert_int_equal(e->deadline_ns, options.deadline_ns);
		assert_int_equal(e->loop_timeout_ns, 456);
		assert_int_equal(e->num_inputs, 1);
		assert_int_equal(e->num_outputs, 1);
		assert_int_equal(e->flags, NNACCEL_EXECUTE_MEASURE);
		/* Write the results that an engine would return for the execution. */
		e->out_status = cases[i].out_status;
		e->out_num_shapes = 1;
		e->out_device_ns = 7000;
		e->out_driver_ns = 9999;
		*(struct nnaccel_shape *)(uintptr_t)e->shapes = (struct nnaccel_shape){
			NNACCEL_SHAPE_SUFFICIENT, 2, { 1, 4 } };
		if (nna_submission_result(s, cases[i].res, NNA_SIZED(nna_results, .shapes = &shape,
					  .num_shapes = &count, .timing = &timing),
					  &err) != cases[i].status)
			fail_msg("case %zu: %s", i, err.message);
		has_shapes = cases[i].status == NN_OK || cases[i].status == NN_OUTPUT_INSUFFICIENT_SIZE;
		assert_int_equal(count, has_shapes);
		assert_int_equal(shape.dims[1], has_shapes ? 4 : 0);
		assert_true(timing.on_device_us ==
			    (cases[i].res < 0 && !cases[i].out_status ? NNA_TIME_NONE : 7));
		assert_true(timing.in_driver_us ==
			    (cases[i].res < 0 && !cases[i].out_status ? NNA_TIME_NONE : 9));
		nna_submission_free(s);
	}
	nna_prepared_model_free(p);
}

/* A submission copies all data to which the client's request points. */
static void test_submissions_keep_requests(void **state)
{
	struct nna_prepared_model *p = prepare(2, 1, 4);
	struct nna_argument in[2] = { { .offset = 4, .length = 1 }, { .offset = 5, .length = 2 } };
	struct nna_argument out[2] = { { .offset = 6, .length = 3 }, { .offset = 7, .length = 4 } };
	struct nna_memory *memories[2] = { memory, memory };
	struct nna_request r = {
		.size = sizeof(r), .num_inputs = 2, .num_outputs = 2, .inputs = in, .outputs = out,
		.num_memories = 2, .memories = memories,
	};
	struct nn_attributes none = { 0, NULL };
	const struct nna_execute_options options = { .size = sizeof(options), .attributes = &none };
	const struct nnaccel_execute *e;
	struct nnaccel_uring_submit block;
	const struct nnaccel_arg *args;
	struct nna_submission *s;
	struct io_uring_sqe sqe;

	(void)state;
	assert_int_equal(nna_submission_create(p, &r, &options, &s, &err), NN_OK);
	memset(&none, 0xff, sizeof(none));
	memset(in, 0xff, sizeof(in));
	memset(out, 0xff, sizeof(out));
	memset(memories, 0xff, sizeof(memories));
	memset(&r, 0xff, sizeof(r));
	assert_int_equal(nna_submission_prepare(s, &sqe, &err), NN_OK);
	memcpy(&block, sqe.cmd, sizeof(block));
	e = (void *)(uintptr_t)((const struct nnaccel_submit *)(uintptr_t)block.submit)->work;
	args = (const struct nnaccel_arg *)(uintptr_t)e->args;
	assert_int_equal(e->num_inputs, 2);
	assert_int_equal(e->num_outputs, 2);
	assert_int_equal(e->num_pools, 2);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(args[i].offset, 4 + i);
		assert_int_equal(args[i].length, 1 + i);
	}
	assert_int_equal(nna_submission_result(s, -EXFULL, NULL, &err),
			 NN_RESOURCE_EXHAUSTED_TRANSIENT);
	asked.cancel_errno = 0;
	assert_int_equal(nna_submission_cancel(s, &err), NN_OK);
	assert_int_equal(asked.cancel.tag, (uintptr_t)s);
	asked.cancel_errno = ENOENT;
	assert_int_equal(nna_submission_cancel(s, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "cancel: the execution is not in flight");
	asked.cancel_errno = EIO;
	assert_int_equal(nna_submission_cancel(s, &err), NN_GENERAL_FAILURE);
	nna_submission_free(s);
	nna_submission_free(NULL);
	nna_prepared_model_free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_asked),
		TEST(test_declared_shapes),
		TEST(test_declared_shape_of_each_output),
		TEST(test_fence_info),
		TEST(test_sync_file),
		TEST(test_no_fence_info),
		TEST(test_answers_of_closed_files),
		TEST(test_child),
		TEST(test_submissions),
		TEST(test_submissions_keep_requests),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_async", tests, NULL, NULL);
}
