/* SPDX-License-Identifier: MIT */
/*
 * Tests how libnnaccel submits work for the engine: with one system call, or, if a signal
 * interrupts this call, with more calls that fetch the answer. The test program imitates the
 * kernel.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hal/device.h"
#include "hal/submit.h"
#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_SIGNALS 3

static struct nna_device *device;
static struct nn_error err;
static struct kept kept;

/* Numbers of the library's requests and of answered requests for work, since the last check. */
static unsigned int submits, waits, destroys, works;
static uint32_t submitted, waited_for, destroyed;

/* The state of goes_on(), the caller's function to which the library reports progress. */
static struct {
	bool is_on, gives_up;
	unsigned int calls;
	uint32_t seen[3];
} slow;

static bool answer(unsigned long request, void *arg, int *result)
{
	const struct nnaccel_submit *s = arg;

	(void)result;
	switch (request) {
	case NNACCEL_SUBMIT:
		submits++;
		assert_int_equal(s->flags, slow.is_on ? 0 : NNACCEL_SUBMIT_WAIT);
		assert_int_equal(s->num_dependencies, 0);
		assert_int_equal(s->duration_ns, 0);
		break;
	case NNACCEL_WAIT:
		waits++;
		assert_int_equal(((struct nnaccel_wait *)arg)->flags,
				 slow.is_on ? NNACCEL_WAIT_NONBLOCK : 0);
		waited_for = ((struct nnaccel_wait *)arg)->id;
		break;
	case NNACCEL_DESTROY:
		destroys++;
		destroyed = ((struct nnaccel_destroy *)arg)->id;
		break;
	default:
		works += request <= NNACCEL_WORK_BURST;
		if (request <= NNACCEL_WORK_BURST)
			submitted = (uint32_t)request;
	}
	return false;
}

static int set_up(void **state)
{
	(void)state;
	kept = kept_now();
	fake.is_on = true;
	fake.answer = answer;
	fake.signals = 0;
	fake.end = 0;
	submits = waits = destroys = works = 0;
	return nna_device_open(NULL, &device, &err);
}

static int tear_down(void **state)
{
	struct kept left;

	(void)state;
	nna_device_close(device);
	left = kept_now();
	fake.is_on = false;
	return kept_more(&kept, &left) || fake_pending() || fake.wrong;
}

/* The test's request for each kind of work. */
static char bytes[4096];
static const union fake_work kinds[] = {
	[NNACCEL_WORK_QUERY] = { .query = {
		.size = sizeof(struct nnaccel_query), .data = (uintptr_t)bytes,
		.data_size = sizeof(bytes) } },
	[NNACCEL_WORK_SUPPORTED] = { .supported = {
		.size = sizeof(struct nnaccel_supported), .supported = (uintptr_t)bytes,
		.num_operations = 1 } },
	[NNACCEL_WORK_PREPARE] = { .prepare = { .size = sizeof(struct nnaccel_prepare) } },
	[NNACCEL_WORK_PREPARE_CACHED] = { .prepare_cached = {
		.size = sizeof(struct nnaccel_prepare_cached) } },
	[NNACCEL_WORK_CACHE_SAVE] = { .cache_save = {
		.size = sizeof(struct nnaccel_cache_save), .num_model_parts = 1,
		.parts = (uintptr_t)&(struct nnaccel_cache_part){ .pool = 0 },
		.sizes = (uintptr_t)bytes } },
	[NNACCEL_WORK_EXECUTE] = { .execute = { .size = sizeof(struct nnaccel_execute) } },
	[NNACCEL_WORK_BUFFER_ALLOC] = { .buffer_alloc = {
		.size = sizeof(struct nnaccel_buffer_alloc) } },
	[NNACCEL_WORK_BUFFER_COPY] = { .buffer_copy = {
		.size = sizeof(struct nnaccel_buffer_copy) } },
	[NNACCEL_WORK_BURST] = { .burst = { .size = sizeof(struct nnaccel_burst_create) } },
};

static bool is_answered(enum nnaccel_work kind, const union fake_work *w)
{
	switch (kind) {
	case NNACCEL_WORK_QUERY: return w->query.data_size == sizeof(struct nn_device_info);
	case NNACCEL_WORK_SUPPORTED: return bytes[0] == 1;
	case NNACCEL_WORK_PREPARE: return w->prepare.out_model;
	case NNACCEL_WORK_PREPARE_CACHED: return w->prepare_cached.out_model;
	case NNACCEL_WORK_CACHE_SAVE: return bytes[0] == 8;
	case NNACCEL_WORK_EXECUTE: return w->execute.out_device_ns == NNACCEL_TIME_NONE;
	case NNACCEL_WORK_BUFFER_ALLOC: return w->buffer_alloc.out_buffer;
	case NNACCEL_WORK_BUFFER_COPY: return true;
	case NNACCEL_WORK_BURST: return !close(w->burst.out_fd);
	}
	return false;
}

/*
 * If a signal interrupts a submission, the engine still gets the work only once, and the caller
 * gets the engine's answer.
 */
static void test_signals(void **state)
{
	(void)state;
	for (unsigned int signals = 0; signals <= MOST_SIGNALS; signals++) {
		for (enum nnaccel_work kind = NNACCEL_WORK_QUERY; kind < COUNT(kinds); kind++) {
			union fake_work work = kinds[kind];

			memset(bytes, 0, sizeof(bytes));
			submits = waits = destroys = works = 0;
			fake.signals = signals;
			assert_int_equal(nna_ask(device, kind, &work), 0);
			if (!is_answered(kind, &work))
				fail_msg("kind %d, %u signals: no answer", kind, signals);
			assert_int_equal(submitted, kind);
			assert_int_equal(submits, 1);
			assert_int_equal(works, 1);
			assert_int_equal(waits, signals);
			assert_int_equal(destroys, 0);
			assert_int_equal(fake_pending(), 0);
		}
	}
	fake.live = 0;
}

/*
 * Work that ends with an error leaves no submission in the kernel, whether or not a signal
 * interrupts the library.
 */
static void test_errors(void **state)
{
	static const int errors[] = { ECANCELED, ETIME, EPIPE, EXFULL, EAGAIN, EINVAL };

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++) {
		for (unsigned int signals = 0; signals <= MOST_SIGNALS; signals++) {
			union fake_work work = kinds[NNACCEL_WORK_EXECUTE];

			submits = works = destroys = 0;
			fake.end = errors[i];
			fake.signals = signals;
			assert_int_equal(nna_ask(device, NNACCEL_WORK_EXECUTE, &work), errors[i]);
			assert_int_equal(submits, 1);
			assert_int_equal(works, 1);
			assert_int_equal(destroys, 0);
			assert_int_equal(fake_pending(), 0);
		}
	}
}

/*
 * If the library cannot fetch an answer, it destroys the submission. A submission that is not
 * destroyed counts for ever among the client's commands.
 */
static void test_answer_is_given_up(void **state)
{
	union fake_work work = kinds[NNACCEL_WORK_QUERY];

	(void)state;
	fake.signals = 1;
	fake_begin(2, ENOBUFS);
	assert_int_equal(nna_ask(device, NNACCEL_WORK_QUERY, &work), ENOBUFS);
	assert_int_equal(fake_end(), 1);
	assert_int_equal(destroys, 1);
	assert_int_equal(destroyed, fake.num_submissions | FAKE_SUBMISSION);
	assert_int_equal(fake_pending(), 0);
	/* If the kernel refused the submission, the library has no submission to destroy. */
	fake_begin(1, ENOBUFS);
	assert_int_equal(nna_ask(device, NNACCEL_WORK_QUERY, &work), ENOBUFS);
	assert_int_equal(fake_end(), 1);
	assert_int_equal(destroys, 1);
}

/*
 * The caller's progress function, which is called three times. The third call of goes_on() cancels
 * the work if `slow.gives_up` is set; otherwise the kernel answers the work.
 */
static bool goes_on(void *data, uint32_t progress)
{
	assert_ptr_equal(data, &slow);
	assert_true(slow.calls < COUNT(slow.seen));
	slow.seen[slow.calls++] = progress;
	fake.progress += 400;
	fake.is_busy = slow.calls < COUNT(slow.seen);
	return fake.is_busy || !slow.gives_up;
}

/* y = RELU(x) */
static const uint32_t x = 0, y = 1;
static const struct nn_operation relu = { NN_OP_RELU, 1, 1, &x, &y };
static struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT },
};
static const struct nn_subgraph main_graph = { 2, 1, 1, 1, operands, &relu, &x, &y };
static const struct nn_model model = {
	.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &main_graph,
};

/* The library reports a preparation's progress to the function options.progress. */
static void test_progress(void **state)
{
	static const struct {
		bool gives_up;
		int end;
		enum nn_status status;
	} cases[] = {
		{ false, 0, NN_OK }, { true, 0, NN_GENERAL_FAILURE }, { false, EPIPE, NN_DEAD_OBJECT },
	};
	struct nna_prepare_options options = {
		.size = sizeof(options), .progress = goes_on, .progress_data = &slow,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_prepared_model *p = NULL;

		memset(&slow, 0, sizeof(slow));
		slow.is_on = true;
		slow.gives_up = cases[i].gives_up;
		submits = 0;
		fake.progress = 0;
		fake.is_busy = true;
		fake.end = cases[i].end;
		assert_int_equal(nna_prepare_model(device, &model, NULL, &options, &p, &err),
				 cases[i].status);
		assert_int_equal(slow.calls, 3);
		assert_true(slow.seen[0] == 0 && slow.seen[1] == 400 && slow.seen[2] == 800);
		assert_int_equal(submits, 1);
		assert_int_equal(fake_pending(), 0);
		if (slow.gives_up)
			assert_non_null(strstr(err.message, "cancelled"));
		slow.is_on = false;
		nna_prepared_model_free(p);
	}
	fake.end = 0;
}

/*
 * Several preparations can run at once, and end in any order. The caller need not wait for a
 * preparation's end.
 */
static void test_preparations(void **state)
{
	struct nna_preparation *all[3];
	struct nna_prepared_model *models[2];
	uint32_t thousandths;

	(void)state;
	slow.is_on = true;
	fake.is_busy = true;
	fake.progress = 250;
	for (int i = 0; i < 3; i++)
		assert_int_equal(nna_preparation_start(device, &model, NULL, NULL, &all[i], &err),
				 NN_OK);
	assert_int_equal(fake_pending(), 3);
	for (int i = 0; i < 3; i++) {
		assert_false(nna_preparation_has_ended(all[i], &thousandths));
		assert_int_equal(thousandths, 250);
	}
	/*
	 * The test cancels the last preparation, polls the second preparation until its end, and
	 * waits for the first preparation.
	 */
	destroys = 0;
	nna_preparation_free(all[2]);
	assert_int_equal(destroys, 1);
	assert_int_equal(fake_pending(), 2);
	fake.is_busy = false;
	for (int k = 0; k < 2; k++) {
		assert_true(nna_preparation_has_ended(all[1], &thousandths));
		assert_int_equal(thousandths, 1000);
	}
	assert_int_equal(fake_pending(), 1);
	slow.is_on = false;
	for (int i = 1; i >= 0; i--) {
		models[i] = NULL;
		assert_int_equal(nna_preparation_finish(all[i], &models[i], &err), NN_OK);
		assert_int_equal(fake_pending(), i);
		/* A preparation returns its model only once. */
		assert_int_equal(nna_preparation_finish(all[i], &models[i], &err),
				 NN_INVALID_ARGUMENT);
		nna_preparation_free(all[i]);
	}
	for (int i = 0; i < 2; i++)
		nna_prepared_model_free(models[i]);
	/* The caller frees an ended preparation without fetching the prepared model. */
	slow.is_on = true;
	assert_int_equal(nna_preparation_start(device, &model, NULL, NULL, &all[0], &err), NN_OK);
	assert_true(nna_preparation_has_ended(all[0], &thousandths));
	nna_preparation_free(all[0]);
	nna_preparation_free(NULL);
	/* One preparation ends with an error, and the start of another preparation fails. */
	assert_int_equal(nna_preparation_start(device, &model, NULL, NULL, &all[0], &err), NN_OK);
	fake.end = EPIPE;
	assert_true(nna_preparation_has_ended(all[0], &thousandths));
	assert_int_equal(nna_preparation_finish(all[0], &models[0], &err), NN_DEAD_OBJECT);
	nna_preparation_free(all[0]);
	fake.end = 0;
	assert_int_equal(nna_preparation_start(device, &(struct nn_model){ .size = 1 }, NULL, NULL,
					       &all[0], &err), NN_INVALID_ARGUMENT);
	slow.is_on = false;
	assert_int_equal(fake_pending(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_signals),
		TEST(test_errors),
		TEST(test_answer_is_given_up),
		TEST(test_progress),
		TEST(test_preparations),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_submit", tests, NULL, NULL);
}
