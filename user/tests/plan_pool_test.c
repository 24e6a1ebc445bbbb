/* SPDX-License-Identifier: MIT */
/*
 * The threads that share the work of executions, in a process that forks: the child has none of its
 * parent's, and makes its own.
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

#include "plan/pool.h"

#define JOBS	8		/* as many as can be shared at a time */
#define CHILD_S 60		/* after which one that hangs is killed */

static struct {
	atomic_uint inside;	/* tasks of blocked jobs */
	atomic_bool go;
} blocked;

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
	pool_run(block, arg, 2, 2);
	return NULL;
}

/* Each task waits for the other: one thread alone never ends. */
static void meet(void *arg, uint32_t task, uint32_t thread)
{
	atomic_uint *met = arg;

	(void)task;
	(void)thread;
	atomic_fetch_add(met, 1);
	while (*met < 2)
		sched_yield();
}

static void test_forked_child(void **state)
{
	pthread_t threads[JOBS];
	atomic_uint met = 0;
	int status;
	pid_t child;

	(void)state;
	if (pool_start() < 2)
		skip();
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_job, NULL), 0);
	/* Each opener is in a task of its own job, and all helpers are in some. */
	while (blocked.inside < JOBS + pool_start() - 1)
		sched_yield();
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(CHILD_S);
		pool_run(meet, &met, 2, 2);
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
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forked_child) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
