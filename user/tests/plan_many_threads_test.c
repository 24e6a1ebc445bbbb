/* SPDX-License-Identifier: MIT */
/*
 * The threads of a process as on a machine of 300 CPUs, whatever this one has.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/run/cpus.h"
#include "plan/run/threads.h"

#define CPUS	300
#define MOST	256		/* threads, the caller's included */
#define TASKS	5000
#define JOBS	200
#define SLEEP_US 2000		/* after which idle threads sleep */
#define HANG_S	120		/* after which one that hangs is killed */

/* In place of the library's. */
uint32_t cpus_usable(void)
{
	return CPUS;
}

static atomic_uint met, done[TASKS];
static atomic_bool seen[MOST];

/* Ends when all threads are in it: each was woken. */
static void meet(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)task;
	assert_true(thread < MOST);
	assert_false(atomic_exchange(&seen[thread], true));
	atomic_fetch_add(&met, 1);
	while (met < MOST)
		sched_yield();
}

static void test_all_are_woken(void **state)
{
	(void)state;
	assert_int_equal(threads_start(), MOST);
	alarm(HANG_S);
	for (int i = 0; i < 3; i++) {
		usleep(SLEEP_US);
		met = 0;
		for (int k = 0; k < MOST; k++)
			seen[k] = false;
		threads_run_long(meet, NULL, MOST, MOST);
		assert_int_equal(met, MOST);
	}
	alarm(0);
}

static void count(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)thread;
	atomic_fetch_add(&done[task], 1);
}

/* Jobs of all sizes, of threads that are asleep or awake: each task is run once. */
static void test_each_task_once(void **state)
{
	(void)state;
	alarm(HANG_S);
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t tasks = 1 + i * 7919 % TASKS;

		if (i % 16 == 0)
			usleep(SLEEP_US);
		threads_run_long(count, NULL, tasks, 1 + i % MOST);
		for (uint32_t k = 0; k < tasks; k++)
			assert_int_equal(atomic_exchange(&done[k], 0), 1);
	}
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_woken),
		cmocka_unit_test(test_each_task_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
