/* SPDX-License-Identifier: MIT */
/*
 * Tests the threads that share the work of executions: tasks of any length, and fork(), after which
 * the child has none of its parent's threads and starts its own.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "plan/run/threads.h"

#define JOBS	8		/* maximum number of jobs that are shared at a time */
#define LONG_US 5000		/* longer than threads_run() waits for a helper */
#define CHILD_S (unsigned int)scaled(60)	/* time after which a hanging process is killed */

static struct {
	atomic_uint inside;	/* number of tasks of blocked jobs */
	atomic_bool go;
} blocked;

/* Waits until jobs get helpers again, which they do not after a job that waited long for one. */
static int end_alone(void **state)
{
	(void)state;
	return usleep(THREADS_ALONE_NS / 1000 + 1);
}

static void block(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)task;
	(void)thread;
	atomic_fetch_add(&blocked.inside, 1);
	while (!blocked.go)
		sched_yield();
}

static void *open_job(void *arg)
{
	threads_run(block, arg, 2, 2);
	return NULL;
}

/* Each of two tasks waits for the other one, so a single thread would wait for ever. */
static void meet(void *arg, uint32_t task, uint32_t thread)
{
	atomic_uint *met = arg;

	(void)task;
	(void)thread;
	atomic_fetch_add(met, 1);
	while (*met < 2)
		sched_yield();
}

/* The helper's task is much longer than the caller's. */
static void meet_and_stay(void *arg, uint32_t task, uint32_t thread)
{
	meet(arg, task, thread);
	if (thread)
		usleep(LONG_US);
}

/*
 * After a caller has waited for a helper's long task, helpers still take tasks of this caller's
 * next job.
 */
static void test_long_tasks(void **state)
{
	atomic_uint met = 0;

	(void)state;
	if (threads_start() < 2)
		skip();
	alarm(CHILD_S);
	threads_run_long(meet_and_stay, &met, 2, 2);
	assert_int_equal(met, 2);
	met = 0;
	threads_run(meet, &met, 2, 2);
	assert_int_equal(met, 2);
	alarm(0);
}

/* Numbers of tasks that the caller and the helpers took. */
static struct {
	atomic_uint own, others;
} taken;

#define TASKS 1000

/*
 * A helper stays in its first task until all other tasks are done. The caller stays in its first
 * task until a helper has joined.
 */
static void stay_in_first(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)task;
	if (thread) {
		atomic_fetch_add(&taken.others, 1);
		while (taken.own + taken.others < TASKS)
			sched_yield();
		return;
	}
	while (!taken.others)
		sched_yield();
	atomic_fetch_add(&taken.own, 1);
}

/* Threads take tasks one by one, so a slow thread executes fewer tasks. */
static void test_slow_thread(void **state)
{
	(void)state;
	if (threads_start() < 2)
		skip();
	alarm(CHILD_S);
	threads_run_long(stay_in_first, NULL, TASKS, threads_start());
	alarm(0);
	assert_int_equal(taken.own + taken.others, TASKS);
	assert_true(taken.others < threads_start());
}

struct ends {
	atomic_uint met, ran;
	uint32_t of_first, of_last;	/* threads that ran these tasks */
};

/* The threads meet in their first task. */
static void note_ends(void *arg, uint32_t task, uint32_t thread)
{
	struct ends *ends = arg;

	meet(&ends->met, task, thread);
	if (!task)
		ends->of_first = thread;
	if (task == TASKS - 1)
		ends->of_last = thread;
	atomic_fetch_add(&ends->ran, 1);
}

/* The caller begins at the first task, and a helper at the last one. */
static void test_ends(void **state)
{
	struct ends ends = { .of_first = 1 };

	(void)state;
	if (threads_start() < 2)
		skip();
	alarm(CHILD_S);
	threads_run_long(note_ends, &ends, TASKS, 2);
	alarm(0);
	assert_int_equal(ends.ran, TASKS);
	assert_int_equal(ends.of_first, 0);
	assert_int_equal(ends.of_last, 1);
}

static void test_forked_child(void **state)
{
	pthread_t threads[JOBS];
	atomic_uint met = 0;
	int status;
	pid_t child;

	(void)state;
	if (threads_start() < 2)
		skip();
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_job, NULL), 0);
	/*
	 * Waits until each thread that opened a job runs a task of this job, and each helper runs a
	 * task.
	 */
	while (blocked.inside < JOBS + threads_start() - 1)
		sched_yield();
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(CHILD_S);
		threads_run(meet, &met, 2, 2);
		_exit(met == 2 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	blocked.go = true;
	for (int i = 0; i < JOBS; i++)
		pthread_join(threads[i], NULL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_long_tasks, end_alone),
		cmocka_unit_test_setup(test_slow_thread, end_alone),
		cmocka_unit_test_setup(test_ends, end_alone),
		cmocka_unit_test_setup(test_forked_child, end_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
