/* SPDX-License-Identifier: MIT */
/*
 * Compares compiled, interpreted and loaded plans of random graphs with random operations, types
 * and shapes. Integer results must be equal, float results nearly equal. A loaded plan gives the
 * same bits as the saved plan; a damaged plan stays within its memory. The test prints the seed of
 * a failure. The environment variable NN_SEED sets the first seed, to try new graphs.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "base/clock.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "plan/saved/saved.h"
#include "tests/plan_diff/compare.h"
#include "tests/plan_diff/damage.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "tests/plan_diff/wrap.h"
#include "vectors/random.h"

#define GRAPHS (uint32_t)how_often(4000, 400)
/*
 * The test begins no graph after it has run for RUN_NS. Under emulation RUN_NS is many times
 * longer.
 */
#define RUN_NS scaled(60000000000)
#define FIRST_SEED 1

/* ---- Comparing ---- */

struct result {
	void *data[MAX_OUTPUTS];
	struct nn_output_shape shapes[MAX_OUTPUTS];
	enum nn_status status;
	struct nn_error err;
};

static void execute(const struct nn_plan *plan, void *input, struct result *r)
{
	struct nn_arg in = { .data = input }, out[MAX_OUTPUTS] = { 0 };
	struct nn_execution e = {
		.num_inputs = 1,
		.num_outputs = g.subgraph.num_outputs,
		.inputs = &in,
		.outputs = out,
		.shapes = r->shapes,
	};
	uint32_t size;

	nn_operand_size(&g.operands[g.input], &size);
	in.length = size;
	for (uint32_t i = 0; i < e.num_outputs; i++) {
		nn_operand_size(&g.operands[g.outputs[i]], &size);
		out[i].length = size;
		out[i].data = r->data[i] = malloc(size);
		assert_non_null(r->data[i]);
		memset(r->data[i], 0xa5, size);
	}
	r->status = nn_plan_execute(plan, &e, &r->err);
}

static void free_result(struct result *r)
{
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++)
		free(r->data[i]);
}

/* Compares two results; fails the test and prints the first difference if the results differ. */
static void compare(const struct result *a, const struct result *b, const char *what,
		    uint64_t seed)
{
	assert_int_equal(a->status, b->status);
	if (a->status)
		return;
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
		int64_t k = graph_differs(i, a->data[i], b->data[i]);

		assert_memory_equal(&a->shapes[i], &b->shapes[i], sizeof(a->shapes[i]));
		if (k >= 0)
			fail_msg("seed %llu, kernels %s, type %s, output %u element %lld: %g, not %g",
				 (unsigned long long)seed, what, nn_type_name(g.type), i,
				 (long long)k, (double)graph_element(a->data[i], (uint32_t)k),
				 (double)graph_element(b->data[i], (uint32_t)k));
	}
}

static struct nn_plan *plan_with(const char *kernels, uint32_t preference, bool lazy)
{
	const struct nn_plan_options options = { .preference = preference, .kernels = kernels,
						 .lazy = lazy };
	struct nn_error err = { "" };
	struct nn_plan *plan;

	if (nn_plan_create(&g.model, &options, &plan, &err))
		fail_msg("%s", err.message);
	return plan;
}

struct job {
	const struct nn_plan *plan;
	void *input;
	struct result result;
};

static void *run_job(void *arg)
{
	struct job *job = arg;

	execute(job->plan, job->input, &job->result);
	return NULL;
}

/*
 * Overwrites the pool of constants, because loaded plans must not read the pool. Returns a copy of
 * the pool's old contents.
 */
static uint8_t *hide_pool(void)
{
	uint8_t *copy = malloc(g.used ? g.used : 1);

	assert_non_null(copy);
	memcpy(copy, g.values, g.used);
	memset(g.values, 0x5a, g.used);
	return copy;
}

static void show_pool(uint8_t *copy)
{
	memcpy(g.values, copy, g.used);
	free(copy);
}

/* ---- Saving ---- */

static struct {
	uint32_t saved;
	uint32_t serialised;
	struct damage_counts damaged;
} counts;

/*
 * Checks that a plan, saved and loaded with any preference, gives results that equal `right` bit by
 * bit. Loading must access only the first page of the plan's data part.
 */
static void check_saved(const struct nn_plan *plan, void *input, const struct result *right)
{
	const struct nn_plan_options options = { .preference = pick(0, 2) };
	struct nn_error err = { "" };
	struct nn_plan_image image;
	struct nn_plan *loaded;
	struct result result = { .status = 0 };
	uint8_t *copy;
	char *data;
	uint32_t size;

	if (nn_plan_save(plan, &image, &err))
		fail_msg("%s", err.message);
	data = mmap(NULL, image.data_size + NN_PLAN_DATA_ALIGN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	nn_plan_image_data(&image, data);
	mprotect(data + NN_PLAN_DATA_ALIGN, image.data_size, PROT_NONE);
	copy = hide_pool();
	if (nn_plan_load(image.model, image.model_size, data, image.data_size, &options, &loaded,
			 &err))
		fail_msg("%s", err.message);
	mprotect(data, image.data_size, PROT_READ);
	counts.saved++;
	if (((struct saved_header *)image.model)->serial_size) {
		counts.serialised++;
		if (chance(4))
			check_damaged(&image, data, &counts.damaged);
	}
	memset(image.model, 0x5a, image.model_size);
	execute(loaded, input, &result);
	assert_int_equal(result.status, NN_OK);
	for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
		nn_operand_size(&g.operands[g.outputs[i]], &size);
		assert_memory_equal(&result.shapes[i], &right->shapes[i], sizeof(right->shapes[i]));
		assert_memory_equal(result.data[i], right->data[i], size);
	}
	free_result(&result);
	nn_plan_free(loaded);
	show_pool(copy);
	munmap(data, image.data_size + NN_PLAN_DATA_ALIGN);
	nn_plan_image_free(&image);
}

/* ---- Control flow and unknown shapes ---- */

static void check_wrapped(const struct wrapped *w, const char *kernels, void *input,
			  const struct result *right, uint64_t seed)
{
	const struct nn_plan_options options = { .preference = pick(0, 2), .kernels = kernels };
	const uint32_t count = g.subgraph.num_outputs;
	struct nn_output_shape shapes[MAX_OUTPUTS];
	struct nn_arg in[2], out[MAX_OUTPUTS];
	struct nn_execution e = { .num_inputs = w->num_inputs, .num_outputs = count, .inputs = in,
				  .outputs = out, .shapes = shapes };
	struct nn_error err = { "" };
	struct nn_plan *plan;
	uint32_t size;

	if (nn_model_check(&w->model, &err) || nn_ops_check_model(&w->model, NULL, &err) ||
	    nn_plan_create(&w->model, &options, &plan, &err))
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
	for (uint32_t round = 0; round < 3; round++) {
		struct result got = { .status = 0 };

		wrapped_inputs(w, input, round % 2, in);
		for (uint32_t i = 0; i < count; i++) {
			nn_operand_size(&g.operands[g.outputs[i]], &size);
			got.data[i] = malloc(size);
			assert_non_null(got.data[i]);
			out[i] = (struct nn_arg){ .data = got.data[i], .length = size };
		}
		got.status = nn_plan_execute(plan, &e, &err);
		memcpy(got.shapes, shapes, sizeof(shapes));
		compare(&got, right, kernels, seed);
		free_result(&got);
	}
	nn_plan_free(plan);
}

static void check_wraps(const char *kernels, void *input, const struct result *right,
			uint64_t seed)
{
	static struct wrapped w;

	if (right->status)
		return;
	wrap_unknown(&w);
	check_wrapped(&w, kernels, input, right, seed);
	wrap_branches(&w, chance(2));
	check_wrapped(&w, kernels, input, right, seed);
}

/*
 * Executes a plan twice, and compares both results with `right`. If `together` is true, both
 * executions run at the same time.
 */
static void check_plan(const char *kernels, void *input, const struct result *right,
		       bool together, uint64_t seed)
{
	struct nn_plan *plan = plan_with(kernels, pick(0, 2), chance(4));
	struct nn_plan_memory memory;
	struct job jobs[2] = { { plan, input, { .status = 0 } }, { plan, input, { .status = 0 } } };
	pthread_t thread;

	if (together)
		assert_int_equal(pthread_create(&thread, NULL, run_job, &jobs[0]), 0);
	else
		run_job(&jobs[0]);
	run_job(&jobs[1]);
	if (together)
		pthread_join(thread, NULL);
	/* All shapes are known, so every operation must be compiled. */
	nn_plan_memory(plan, &memory);
	assert_true(memory.execution > 0);
	for (uint32_t i = 0; i < 2; i++)
		compare(&jobs[i].result, right, kernels, seed);
	check_saved(plan, input, &jobs[0].result);
	for (uint32_t i = 0; i < 2; i++)
		free_result(&jobs[i].result);
	nn_plan_free(plan);
}

static void check_graph(uint64_t seed)
{
	const char *kernels;
	struct nn_error err = { "" };
	struct nn_plan *plan;
	struct result right;
	uint32_t size;
	void *input;

	if (nn_model_check(&g.model, &err) || nn_ops_check_model(&g.model, NULL, &err))
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
	nn_operand_size(&g.operands[g.input], &size);
	input = malloc(size);
	assert_non_null(input);
	fill(g.type, input, size, 2);
	plan = plan_with("none", 0, false);
	execute(plan, input, &right);
	check_saved(plan, input, &right);
	for (uint32_t i = 0; (kernels = nn_plan_kernels_at(i)); i++)
		check_plan(kernels, input, &right, chance(8), seed);
	if (chance(4))
		check_wraps(nn_plan_kernels_at(0), input, &right, seed);
	nn_plan_free(plan);
	free_result(&right);
	free(input);
}

/* ---- Printing the seed of a failed graph ---- */

static volatile uint64_t current;
static volatile sig_atomic_t is_running;

static void tell_seed(void)
{
	char text[] = "crashed or failed: seed 00000000000000000000\n", *at = strchr(text, '\n');
	uint64_t seed = current;

	for (; seed; seed /= 10)
		*--at = (char)('0' + seed % 10);
	memmove(strchr(text, '0'), at, strlen(at) + 1);
	if (is_running && write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
static struct sigaction before[sizeof(signals) / sizeof(signals[0])];

/*
 * A signal handler that prints the seed, and raises the signal again with the signal's original
 * action.
 */
static void on_signal(int number)
{
	tell_seed();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] == number)
			sigaction(number, &before[i], NULL);
	raise(number);
}

void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static void watch(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, &before[i]);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell_seed);
}

/* Prints the seed of a failed graph; cmocka calls this function also after a failed assertion. */
static int tear_down(void **unused)
{
	(void)unused;
	tell_seed();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &before[i], NULL);
	return 0;
}

static void test_random_graphs(void **unused)
{
	const char *given = getenv("NN_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : FIRST_SEED;
	uint64_t end = clock_ns() + RUN_NS;
	uint32_t count = 0;

	(void)unused;
	g.values = malloc(VALUES_SIZE);
	assert_non_null(g.values);
	watch();
	is_running = true;
	for (; count < GRAPHS && clock_ns() < end; count++) {
		current = first + count;
		random_start(current * 7919);
		make_graph();
		check_graph(current);
	}
	is_running = false;
	print_message("%u graphs from seed %llu on\n", count, (unsigned long long)first);
	print_message("%u plans saved, %u of them serialised; damaged: %u refused, %u loaded, "
		      "%u steps run\n", counts.saved, counts.serialised, counts.damaged.refused,
		      counts.damaged.loaded, counts.damaged.steps);
	free(g.values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random_graphs, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
