/* SPDX-License-Identifier: MIT */
/* Tests the threads of a process that believes that the machine has 300 CPUs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "plan/run/cpus.h"
#include "plan/run/domains.h"
#include "plan/run/threads.h"

#define CPUS	300
#define MOST	256		/* number of threads, including the calling thread */
#define TASKS	5000
#define JOBS	200
#define SLEEP_US 2000		/* time after which idle threads sleep */
#define NEAR	10		/* number of helpers in each domain */
#define HANG_S	(unsigned int)scaled(120)	/* time after which a hanging process is killed */

/* The following functions replace functions of the library. */
uint32_t cpus_usable(void)
{
	return CPUS;
}

void domains_start(void)
{
}

/*
 * NEAR of the 255 helper threads sleep in the caller's domain, and NEAR helper threads sleep in
 * another domain of the caller's package.
 */
static _Thread_local uint32_t domain;

struct domain domain_here(void)
{
	static atomic_uint helpers;

	if (!domain && gettid() == getpid()) {
		domain = 1;
	} else if (!domain) {
		/*
		 * Helpers in the caller's domain fall asleep last, so a library that ignores
		 * domains would wake these helpers last.
		 */
		uint32_t i = helpers++ % (MOST - 1);

		domain = i >= MOST - 1 - NEAR ? 1 : i >= MOST - 1 - 2 * NEAR ? 2 : 4;
	}
	return (struct domain){ domain, domain < 4 ? 3 : 4 };
}

static atomic_uint met, done[TASKS];
static atomic_bool seen[MOST];

/*
 * A task that waits until all threads run this task, which shows that the library woke each thread.
 */
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

static atomic_uint beyond, in_slot[MOST];

/*
 * A task that checks the number of its thread: the number is less than the number of threads at
 * `arg`, and differs from the numbers of all other running threads.
 */
static void number(void *arg, uint32_t task, uint32_t thread)
{
	const uint32_t threads = *(const uint32_t *)arg;

	(void)task;
	if (thread >= threads || atomic_fetch_add(&in_slot[thread], 1))
		atomic_fetch_add(&beyond, 1);
	sched_yield();
	if (thread < threads)
		atomic_fetch_sub(&in_slot[thread], 1);
}

/*
 * A plan has memory for as many threads as the process had when the plan was compiled. A child that
 * is forked after the compilation may have more helper threads.
 */
static void test_numbers_of_threads(void **state)
{
	(void)state;
	alarm(HANG_S);
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t threads = 2 + i % 7;

		threads_run_long(number, &threads, 64, threads);
		assert_int_equal(beyond, 0);
	}
	alarm(0);
}

static void count(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)thread;
	atomic_fetch_add(&done[task], 1);
}

/* Each task of a job runs once, in jobs of all sizes, and with helper threads asleep or awake. */
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

/* Returns the state of a thread as the kernel reports it; 'S' if the thread sleeps. */
static char state_of(const char *thread)
{
	char path[320], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state;
}

static bool all_sleep(void)
{
	DIR *threads = opendir("/proc/self/task");
	uint32_t asleep = 0;
	struct dirent *d;

	assert_non_null(threads);
	while ((d = readdir(threads)))
		asleep += d->d_name[0] != '.' && state_of(d->d_name) == 'S';
	closedir(threads);
	return asleep >= MOST - 1;
}

static struct {
	uint32_t threads;
	atomic_uint met, far[5];	/* threads, by domain */
} here;

static void meet_here(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)task;
	(void)thread;
	atomic_fetch_add(&here.far[domain_here().bit], 1);
	atomic_fetch_add(&here.met, 1);
	while (here.met < here.threads)
		sched_yield();
}

/*
 * A job wakes threads in the caller's domain first, then threads in the caller's package, and then
 * threads in other packages.
 */
static void test_near_first(void **state)
{
	static const struct {
		uint32_t threads, domain, package, others;
	} cases[] = {
		{ 3, 3, 0, 0 },
		{ 1 + NEAR, 1 + NEAR, 0, 0 },
		{ 1 + 2 * NEAR, 1 + NEAR, NEAR, 0 },
		{ 6 + 2 * NEAR, 1 + NEAR, NEAR, 5 },
	};

	(void)state;
	alarm(HANG_S);
	threads_start();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		while (!all_sleep())
			usleep(SLEEP_US);
		memset(&here, 0, sizeof(here));
		here.threads = cases[i].threads;
		threads_run_long(meet_here, NULL, here.threads, here.threads);
		assert_int_equal(here.far[1], cases[i].domain);
		assert_int_equal(here.far[2], cases[i].package);
		assert_int_equal(here.far[4], cases[i].others);
	}
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near_first),
		cmocka_unit_test(test_all_are_woken),
		cmocka_unit_test(test_each_task_once),
		cmocka_unit_test(test_numbers_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
