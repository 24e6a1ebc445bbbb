/* SPDX-License-Identifier: MIT */
/*
 * Tests the threads that share an execution's work: with short and long tasks, and after fork(). A
 * forked child has no threads of its parent, and starts its own helper threads.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
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

#define JOBS	8		/* maximum number of jobs that helpers can join at a time */
#define LONG_US 5000		/* time longer than threads_run() waits for a helper */
#define CHILD_S (unsigned int)scaled(60)	/* time after which a hanging process is killed */

static struct {
	atomic_uint inside;	/* number of running tasks that wait for `go` */
	atomic_bool go;
} blocked;

/*
 * After a job that waited long for a helper, jobs get no helpers for a while. Waits until the
 * library gives helpers to jobs again.
 */
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

/* A task that waits for a second task of the job, so a single thread would wait for ever. */
static void meet(void *arg, uint32_t task, uint32_t thread)
{
	atomic_uint *met = arg;

	(void)task;
	(void)thread;
	atomic_fetch_add(met, 1);
	while (*met < 2)
		sched_yield();
}

/* A task that takes much longer in a helper than in the calling thread. */
static void meet_and_stay(void *arg, uint32_t task, uint32_t thread)
{
	meet(arg, task, thread);
	if (thread)
		usleep(LONG_US);
}

static sigset_t masks[2];	/* blocked signals of the calling thread and the helper */

static void read_mask(void *arg, uint32_t task, uint32_t thread)
{
	meet(arg, task, thread);
	pthread_sigmask(SIG_BLOCK, NULL, &masks[thread]);
}

/*
 * After a thread has waited for a helper's long task, helpers still run tasks of the thread's next
 * job, and of more later jobs than can be open at once. Only helpers block signals.
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
	threads_run(read_mask, &met, 2, 2);
	assert_int_equal(met, 2);
	for (int i = 0; i < 16; i++) {
		met = 0;
		threads_run_long(meet, &met, 2, 2);
		assert_int_equal(met, 2);
	}
	alarm(0);
	assert_true(sigismember(&masks[1], SIGTERM) && sigismember(&masks[1], SIGUSR1));
	assert_false(sigismember(&masks[0], SIGTERM));
}

/* Numbers of tasks that the calling thread and the helpers ran. */
static struct {
	atomic_uint own, others;
} taken;

#define TASKS 1000

/*
 * A helper stays in its first task until all other tasks have ended. The calling thread stays in
 * its first task until a helper has joined.
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

/* Threads get a job's tasks one by one, so a slow thread runs fewer tasks. */
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
	uint32_t of_first, of_last;	/* threads that ran the first and the last task */
};

/*
 * A task in which the two threads of a job wait for each other, and which records the threads that
 * run the first and the last task.
 */
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

/*
 * The calling thread begins with the first task of a job, and a helper begins with the last task.
 */
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
	 * Wait until each thread that opened a job runs a task of this job, and until each helper
	 * runs a task.
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
