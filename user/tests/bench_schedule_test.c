/* SPDX-License-Identifier: MIT */
/*
 * Tests the model that predicts the time of a plan's execution on several threads, with invented
 * tasks whose expected times were computed by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/compute/schedule_model.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define MANY 1000000.0	/* ns until an idle thread sleeps; longer than any simulated execution */

static const double equal[8] = { 10, 10, 10, 10, 10, 10, 10, 10 };
static const double long_first[] = { 40, 10, 10, 10, 10 };
static const double long_last[] = { 10, 10, 10, 10, 40 };
static const double alone[] = { 100 };
static const double none[64];

/* Tests one step with different tasks, without costs of sharing the tasks among threads. */
static void test_sharing(void **state)
{
	static const struct schedule_costs free_of_cost = { .spin = MANY, .fan_out = 256 };
	static const struct {
		const char *name;
		struct schedule_step step;
		uint32_t threads;
		double ns;
	} cases[] = {
		{ "one thread", { equal, 8 }, 1, 80 },
		{ "two threads", { equal, 8 }, 2, 40 },
		{ "a remainder", { equal, 8 }, 3, 30 },
		{ "a task each", { equal, 8 }, 8, 10 },
		{ "more threads than tasks", { equal, 8 }, 64, 10 },
		{ "the longest task first", { long_first, 5 }, 2, 40 },
		{ "the longest task last", { long_last, 5 }, 2, 60 },
		{ "one task", { alone, 1 }, 64, 100 },
		{ "no task", { none, 0 }, 64, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		double ns = schedule_run(&cases[i].step, 1, cases[i].threads, &free_of_cost);

		if (ns != cases[i].ns)
			fail_msg("%s: %g ns", cases[i].name, ns);
	}
}

/* A step begins only when the slowest thread has finished the previous step. */
static void test_steps_follow(void **state)
{
	static const struct schedule_costs free_of_cost = { .spin = MANY, .fan_out = 256 };
	const struct schedule_step steps[] = {
		{ long_last, 5 }, { alone, 1 }, { equal, 8 },
	};

	(void)state;
	assert_true(schedule_run(steps, 3, 2, &free_of_cost) == 60 + 100 + 40);
	assert_true(schedule_run(steps, 3, 4, &free_of_cost) == 50 + 100 + 20);
}

static void test_costs(void **state)
{
	const struct schedule_step shared = { equal, 8 }, single = { alone, 1 };
	struct schedule_costs costs = { .spin = MANY, .fan_out = 256 };

	(void)state;
	costs.open = 3;
	assert_true(schedule_run(&shared, 1, 8, &costs) == 13);
	/* A plan on one thread has no costs of sharing tasks. */
	assert_true(schedule_run(&shared, 1, 1, &costs) == 80);
	assert_true(schedule_run(&single, 1, 8, &costs) == 100);
	/*
	 * A thread needs `notice` ns to see another thread's write: helper threads see the step's
	 * begin late, and the caller sees the helpers' end late.
	 */
	costs.notice = 2;
	assert_true(schedule_run(&shared, 1, 8, &costs) == 3 + 2 + 10 + 2);
	/* The threads take task numbers one after another; taking a number lasts `take` ns. */
	costs = (struct schedule_costs){ .take = 1, .spin = MANY, .fan_out = 256 };
	assert_true(schedule_run(&shared, 1, 8, &costs) == 8 + 10);
	assert_true(schedule_run(&(struct schedule_step){ none, 64 }, 1, 64, &costs) == 64);
}

/* Each thread that wakes up wakes four further sleeping threads. */
static void test_waking(void **state)
{
	static const struct schedule_costs costs = {
		.wake = 100, .wake_call = 1, .spin = -1, .fan_out = 4,
	};
	static double tasks[21];
	const struct schedule_step step = { tasks, LENGTH(tasks) };
	const struct schedule_step two[] = { { equal, 8 }, { alone, 1 } };
	struct schedule_costs spinning = { .wake = 1000, .spin = 99, .fan_out = 4 };

	(void)state;
	for (size_t i = 0; i < LENGTH(tasks); i++)
		tasks[i] = 1000;
	/*
	 * The caller wakes four threads, which wake sixteen more threads; so the sixteen threads
	 * begin after two wake-up times.
	 */
	assert_true(schedule_run(&step, 1, 21, &costs) == 1000 + 2 * 100);
	assert_true(schedule_run(&step, 1, 5, &costs) == 1 + 5 * 1000);
	/*
	 * The helper threads fall asleep while the caller alone runs the second step, of one task.
	 * In the next execution, the caller finishes the first step before the helper threads have
	 * woken up.
	 */
	assert_true(schedule_run(two, 2, 8, &spinning) == 80 + 100);
	spinning.wake = 200;
	spinning.spin = 5000;
	assert_true(schedule_run(two, 2, 8, &spinning) < 80 + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_steps_follow),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_waking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
