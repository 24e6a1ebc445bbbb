/* SPDX-License-Identifier: MIT */
/*
 * Tests the time limits of calls into plug-ins. Each test case runs in a separate process, because
 * a call that exceeds its time limit ends the process.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <nnaccel/engine.h>

#include "kit/plugin/guard.h"
#include "kit/worker/worker.h"

#define BOUND_S 1
#define LONG_US 1500000

static struct nna_engine_call a, b, c;
static int told;			/* pipe that receives messages for clients */
static volatile unsigned long turns;	/* counter that a thread increases until the thread stops */

static void begin(struct nna_engine_call *call, const char *function)
{
	nna_engine_call_begin(call, "com.example", function);
}

static void tell(struct guard_job *job, const char *reason)
{
	const unsigned long before = turns;

	(void)job;
	usleep(20000);
	dprintf(told, "%s%s", reason, turns == before ? "" : ", and the thread goes on");
}

static struct guard_job job = { tell };

/* Without guard_start(), calls into plug-ins have no time limit. */
static void no_guard(void)
{
	begin(&a, "a");
	usleep(LONG_US);
	nna_engine_call_end(&a);
}

static void start(void)
{
	assert_int_equal(guard_start(BOUND_S), 0);
}

static void ended(void)
{
	start();
	begin(&a, "a");
	begin(&b, "b");
	begin(&c, "c");
	nna_engine_call_end(&b);
	nna_engine_call_end(&c);
	nna_engine_call_end(&a);
	begin(&b, "b");
	usleep(20000);
	nna_engine_call_end(&b);
	usleep(LONG_US);
}

static void overdue(void)
{
	start();
	guard_set_job(&job);
	begin(&a, "a");
	for (;;)
		turns++;
}

static void without_job(void)
{
	start();
	guard_set_job(&job);
	guard_set_job(NULL);
	begin(&a, "a");
	for (;;)
		pause();
}

/* The thread that checks the time limits sleeps until a call begins. */
static void second(void)
{
	start();
	guard_set_job(&job);
	begin(&a, "a");
	begin(&b, "b");
	nna_engine_call_end(&a);
	usleep(20000);
	begin(&c, "c");
	for (;;)
		pause();
}

#define OVERDUE(function) #function " of extension com.example did not return within 1 s: its worker ends"

static const struct {
	const char *name;
	void (*body)(void);
	int status;
	const char *told;
} cases[] = {
	{ "no guard", no_guard, 0, "" },
	{ "ended", ended, 0, "" },
	{ "overdue", overdue, WORKER_EXIT_OVERDUE, OVERDUE(a) },
	{ "without a job", without_job, WORKER_EXIT_OVERDUE, "" },
	{ "the second", second, WORKER_EXIT_OVERDUE, OVERDUE(b) },
};

#define COUNT (sizeof(cases) / sizeof(cases[0]))

static void test_calls(void **state)
{
	int ends[COUNT][2], status;
	pid_t children[COUNT];
	char text[512];
	ssize_t size;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(pipe(ends[i]), 0);
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			told = ends[i][1];
			cases[i].body();
			_exit(0);
		}
		close(ends[i][1]);
	}
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		size = read(ends[i][0], text, sizeof(text) - 1);
		text[size] = '\0';
		close(ends[i][0]);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != cases[i].status || strcmp(text, cases[i].told))
			fail_msg("%s: status %#x, \"%s\"", cases[i].name, (unsigned int)status, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests_name("engine guard", tests, NULL, NULL);
}
