/* SPDX-License-Identifier: MIT */
/* Tests which settings tuning chooses; functions of the test replace measured times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/run/tuning.h"

#define STEPS 3
#define THREADS 4

/*
 * Returns the time of a step on `threads` threads in execution `run`, if `others` steps of the plan
 * run on one thread.
 */
typedef uint64_t time_fn(uint32_t run, uint32_t step, uint32_t threads, uint32_t others);

struct tuned {
	uint32_t runs;			/* number of measured executions until tuning ended */
	uint32_t threads[STEPS];
};

/* Tunes a plan whose measurements begin after `wait` executions. */
static struct tuned tune_after(struct compiled *c, int wait, time_fn *time)
{
	struct tuned result = { 0 };
	struct tuning *t;

	for (int i = 0; i < wait; i++)
		assert_null(tuning_begin(c->tuning));
	while ((t = tuning_begin(c->tuning))) {
		uint32_t alone = 0;

		assert_null(tuning_begin(c->tuning));
		for (uint32_t i = 0; i < STEPS; i++)
			alone += tuning_threads(t, i, THREADS) == 1;
		for (uint32_t i = 0; i < STEPS; i++)
			tuning_add(t, i, time(result.runs, i, tuning_threads(t, i, THREADS),
					      alone));
		/* Tuning must not count a failed execution. */
		tuning_end(c, result.runs != 5);
		if (result.runs == 5) {
			t = tuning_begin(c->tuning);
			assert_non_null(t);
			for (uint32_t i = 0; i < STEPS; i++)
				tuning_add(t, i, time(5, i, tuning_threads(t, i, THREADS), alone));
			tuning_end(c, true);
		}
		result.runs++;
		assert_true(result.runs <= NN_PLAN_TUNING);
	}
	assert_true(tuning_is_done(c->tuning));
	for (uint32_t i = 0; i < STEPS; i++)
		result.threads[i] = c->steps[i].threads;
	return result;
}

static struct tuned tune(time_fn *time)
{
	struct compiled_step steps[STEPS] = { 0 };
	struct compiled c = { .steps = steps, .num_steps = STEPS, .threads = THREADS };
	struct tuned result;

	assert_true(tuning_create(&c));
	assert_false(tuning_is_done(c.tuning));
	result = tune_after(&c, NN_PLAN_HOT, time);
	tuning_free(c.tuning);
	return result;
}

/* Step 1 is faster on one thread, independent of the number of threads of the other steps. */
static uint64_t one_is_faster(uint32_t run, uint32_t step, uint32_t threads, uint32_t others)
{
	(void)run;
	(void)others;
	return step == 1 && threads == 1 ? 50 : 100 + (threads == 1);
}

/*
 * Step 1 is faster on one thread. If some steps run on one thread, the other steps must wake the
 * sleeping threads, so the whole plan is slower.
 */
static uint64_t together_is_slower(uint32_t run, uint32_t step, uint32_t threads, uint32_t others)
{
	return one_is_faster(run, step, threads, others) +
	       (threads > 1 && others && others < STEPS ? 40 : 0);
}

/* In the first executions step 1 seems faster on one thread, because the machine's speed varies. */
static uint64_t noise(uint32_t run, uint32_t step, uint32_t threads, uint32_t others)
{
	uint32_t mixed = (run * STEPS + step + 1) * 2654435761u;

	(void)others;
	mixed = (mixed ^ mixed >> 15) * 2246822519u;
	return 200 + (mixed ^ mixed >> 13) % 64 -
	       (step == 1 && threads == 1 && run < 16 ? 100 : 0);
}

static uint64_t all_are_faster(uint32_t run, uint32_t step, uint32_t threads, uint32_t others)
{
	(void)run;
	(void)step;
	(void)others;
	return threads == 1 ? 100 : 60;
}

/*
 * Step 1 is slower on several threads than on one thread in three of four executions, and as fast
 * in the fourth.
 */
static uint64_t threads_are_late(uint32_t run, uint32_t step, uint32_t threads, uint32_t others)
{
	uint32_t mixed = (run + 7) * 2654435761u;

	(void)others;
	mixed = (mixed ^ mixed >> 15) * 2246822519u;
	if (step != 1)
		return 100 + (threads == 1);
	return threads == 1 || run / 4 % 4 == 1 ? 50 + mixed % 8 : 150;
}

/*
 * Steps 0 and 1 are faster on one thread. Other programs interrupt two executions; the longer
 * interruption comes first in step 1, and last in step 0.
 */
static uint64_t interrupted(uint32_t run, uint32_t step, uint32_t threads, uint32_t others)
{
	(void)others;
	if (step == 2 || threads > 1)
		return 100 + (threads == 1);
	return run == 1 ? 60000 + 40000 * step : run == 3 ? 100000 - 40000 * step : 50;
}

static void test_keeps_what_is_mostly_faster(void **state)
{
	struct tuned t = tune(threads_are_late);

	(void)state;
	assert_int_equal(t.runs, NN_PLAN_TUNING);
	assert_memory_equal(t.threads, ((uint32_t[STEPS]){ 0, 1, 0 }), sizeof(t.threads));
}

static void test_keeps_what_is_faster(void **state)
{
	struct tuned t = tune(one_is_faster);

	(void)state;
	assert_int_equal(t.runs, NN_PLAN_TUNING);
	assert_memory_equal(t.threads, ((uint32_t[STEPS]){ 0, 1, 0 }), sizeof(t.threads));
}

static void test_keeps_what_was(void **state)
{
	static time_fn *const times[] = { together_is_slower, noise };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tuned t = tune(times[i]);

		assert_int_equal(t.runs, NN_PLAN_TUNING);
		assert_memory_equal(t.threads, ((uint32_t[STEPS]){ 0 }), sizeof(t.threads));
	}
}

static void test_ignores_interruptions(void **state)
{
	struct tuned t = tune(interrupted);

	(void)state;
	assert_int_equal(t.runs, NN_PLAN_TUNING);
	assert_memory_equal(t.threads, ((uint32_t[STEPS]){ 1, 1, 0 }), sizeof(t.threads));
}

/* If no step is faster on one thread, tuning ends without comparing whole plans. */
static void test_proposes_nothing(void **state)
{
	struct tuned t = tune(all_are_faster);

	(void)state;
	assert_true(t.runs < NN_PLAN_TUNING);
	assert_memory_equal(t.threads, ((uint32_t[STEPS]){ 0 }), sizeof(t.threads));
}

/*
 * A later tuning replaces the numbers of threads that an earlier tuning chose, even in a loaded
 * plan. Other programs may have disturbed the earlier tuning.
 */
static void test_tunes_again(void **state)
{
	static time_fn *const times[] = { one_is_faster, all_are_faster, one_is_faster, noise };
	static const uint8_t loaded[STEPS] = { 1, 1, 1 };
	struct compiled_step steps[STEPS] = { 0 };
	struct compiled c = { .steps = steps, .num_steps = STEPS, .threads = THREADS };

	(void)state;
	assert_true(tuning_create(&c));
	for (size_t i = 0; i < 4; i++) {
		struct tuned t = tune_after(&c, i ? NN_PLAN_AGAIN - 1 : NN_PLAN_HOT, times[i]);

		assert_int_equal(t.threads[1], i % 2 == 0);
	}
	assert_true(tuning_load(&c, loaded, STEPS));
	assert_memory_equal(tune_after(&c, NN_PLAN_AGAIN, all_are_faster).threads,
			    ((uint32_t[STEPS]){ 0 }), sizeof(uint32_t[STEPS]));
	tuning_free(c.tuning);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_is_faster),
		cmocka_unit_test(test_keeps_what_is_mostly_faster),
		cmocka_unit_test(test_keeps_what_was),
		cmocka_unit_test(test_ignores_interruptions),
		cmocka_unit_test(test_proposes_nothing),
		cmocka_unit_test(test_tunes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
