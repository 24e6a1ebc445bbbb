/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process that share the work of executions. The caller's thread opens a job
 * and runs tasks of the job. Idle helper threads join the job; helper threads without a job spin
 * for a moment, and then sleep. The caller's thread never waits for a helper that has not joined
 * the job. The caller's thread wakes a few sleeping helpers, and each helper wakes a few more.
 * Helpers whose CPU shares a last-level cache with the caller's CPU are woken first, then helpers
 * on the same CPU package. Helper threads are not bound to CPUs.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spin.h"
#include "plan/run/cpus.h"
#include "plan/run/domains.h"
#include "plan/internal.h"
#include "plan/run/threads.h"

#define MAX_HELPERS 255
#define MAX_JOBS 8		/* if MAX_JOBS jobs are open, new jobs get no helpers */
/* number of iterations of a spinning thread between two reads of the clock */
#define SPIN_TURNS 64
/* every job has fewer than MAX_TASKS tasks, so that the halves of job.next cannot overflow */
#define MAX_TASKS (1u << 31)

/*
 * Size of the stack of a helper thread. Kernels compiled without optimisation, as for fuzzers, need
 * a larger stack.
 */
#ifndef HELPER_STACK_SIZE
#define HELPER_STACK_SIZE (256 * 1024)
#endif

/*
 * A job. While `open` is false and `users` is 0, only the caller's thread, which set `taken`,
 * accesses the fields below `users`. A helper increments `users` before it reads `open`, so that
 * the caller's thread waits for the helper.
 */
struct job {
	_Atomic bool taken;
	_Atomic bool open;
	_Atomic uint32_t users;		/* number of helpers that use the job; a futex */
	_Atomic uint32_t slots;		/* number of helpers that have joined the job */
	/* lower half: tasks taken from the front; upper half: tasks taken from the end */
	_Atomic uint64_t next;
	_Atomic uint32_t unwoken;	/* number of helpers that may still be woken */
	struct domain near;		/* domain of the caller's CPU */
	uint32_t count;
	uint32_t max_users;
	threads_fn *fn;
	void *arg;
};

static struct {
	pthread_once_t once;
	uint32_t helpers;
	_Atomic uint32_t opened; /* number of jobs opened; a futex on which idle helpers sleep */
	_Atomic uint32_t sleepers;
	_Atomic uint64_t alone_until;	/* time until which jobs get no helpers */
	struct job jobs[MAX_JOBS];
} shared = { .once = PTHREAD_ONCE_INIT };

#define ANY UINT32_MAX		/* futex bit mask that matches every domain */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint32_t bits)
{
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, NULL, NULL, bits);
}

/*
 * Wakes up to `count` threads that wait on a futex with any of the bits `bits`. Returns `count`
 * minus the number of woken threads.
 */
static uint32_t futex_wake(_Atomic uint32_t *word, uint32_t count, uint32_t bits)
{
	long woken = syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL, bits);

	return woken > 0 ? count - (uint32_t)woken : count;
}

static uint64_t taken(uint64_t next)
{
	return (uint32_t)next + (next >> 32);
}

/*
 * Runs tasks of a job until no task is left. Threads with odd numbers take tasks from the end of
 * the list. Because a thread always takes tasks from the same end, the thread often gets the same
 * part of a tensor in each job, and finds this part in its cache.
 */
static void run_tasks(struct job *job, uint32_t thread)
{
	const bool from_end = thread % 2;
	uint64_t next;

	while (taken(next = atomic_fetch_add(&job->next, from_end ? UINT64_C(1) << 32 : 1)) < job->count)
		job->fn(job->arg, from_end ? job->count - 1 - (uint32_t)(next >> 32) : (uint32_t)next,
			thread);
}

static void wake_some(struct job *job)
{
	uint32_t left = atomic_load(&job->unwoken), woken;

	do {
		woken = left < THREADS_FAN_OUT ? left : THREADS_FAN_OUT;
		if (!woken || !atomic_load(&shared.sleepers))
			return;
	} while (!atomic_compare_exchange_weak(&job->unwoken, &left, left - woken));
	woken = futex_wake(&shared.opened, woken, job->near.bit);
	if (woken && job->near.package != job->near.bit)
		woken = futex_wake(&shared.opened, woken, job->near.package);
	if (woken && job->near.package != ANY)
		futex_wake(&shared.opened, woken, ANY);
}

/*
 * Joins a job and runs tasks of the job. Returns false if the job is not open, has no tasks left,
 * or already has max_users helpers. A helper leaves a job only when no task is left, so at most
 * max_users helpers ever join the job.
 */
static bool join(struct job *job)
{
	bool joined = false;

	if (!atomic_load(&job->open))
		return false;
	atomic_fetch_add(&job->users, 1);
	if (atomic_load(&job->open) &&
	    atomic_load(&job->users) <= job->max_users && taken(atomic_load(&job->next)) < job->count) {
		wake_some(job);
		run_tasks(job, atomic_fetch_add(&job->slots, 1) + 1);
		joined = true;
	}
	if (atomic_fetch_sub(&job->users, 1) == 1 && !atomic_load(&job->open))
		futex_wake(&job->users, 1, ANY);
	return joined;
}

static bool join_any(void)
{
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		if (join(&shared.jobs[i]))
			return true;
	return false;
}

/* Waits until `opened` differs from `seen`: spins for a moment, then sleeps. */
static void wait_for_job(uint32_t seen)
{
	uint64_t start = clock_ns();

	do {
		for (uint32_t i = 0; i < SPIN_TURNS; i++) {
			if (atomic_load(&shared.opened) != seen)
				return;
			spin_pause();
		}
	} while (clock_ns() - start < THREADS_SPIN_NS);
	atomic_fetch_add(&shared.sleepers, 1);
	while (atomic_load(&shared.opened) == seen)
		futex_wait(&shared.opened, seen, domain_here().bit);
	atomic_fetch_sub(&shared.sleepers, 1);
}

static void *helper_main(void *arg)
{
	(void)arg;
	for (;;) {
		uint32_t seen = atomic_load(&shared.opened);

		if (!join_any())
			wait_for_job(seen);
	}
	return NULL;
}

/*
 * In a forked child, forgets the helpers and jobs of the parent. The child process has no helpers
 * and later creates its own. The jobs belong to threads that do not exist in the child process.
 */
static void forget(void)
{
	static const pthread_once_t not_yet = PTHREAD_ONCE_INIT;

	memset(shared.jobs, 0, sizeof(shared.jobs));
	shared.once = not_yet;
	shared.helpers = 0;
	shared.sleepers = 0;
	shared.alone_until = 0;
}

static void start(void)
{
	static bool is_registered;
	pthread_attr_t attributes;
	sigset_t all, before;
	uint32_t count;

	if (!is_registered && pthread_atfork(NULL, NULL, forget))
		return;
	is_registered = true;
	if (pthread_attr_init(&attributes))
		return;
	count = cpus_usable() - 1;
	domains_start();
	pthread_attr_setstacksize(&attributes, HELPER_STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* Helpers block all signals, which the application's own threads should receive. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (shared.helpers < count && shared.helpers < MAX_HELPERS) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, helper_main, NULL))
			break;
		shared.helpers++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

uint32_t threads_start(void)
{
	pthread_once(&shared.once, start);
	return shared.helpers + 1;
}

static struct job *take_job(void)
{
	for (uint32_t i = 0; i < MAX_JOBS; i++)
		if (!atomic_exchange(&shared.jobs[i].taken, true))
			return &shared.jobs[i];
	return NULL;
}

/*
 * Closes a job and waits until all its helpers have left. Returns how long the caller waited for
 * the helpers.
 */
static uint64_t close_job(struct job *job)
{
	uint64_t start = 0, waited;
	uint32_t users;

	atomic_store(&job->open, false);
	for (uint32_t turn = 0; (users = atomic_load(&job->users)); turn++) {
		spin_pause();
		if (turn % SPIN_TURNS)
			continue;
		if (!start)
			start = clock_ns();
		else if (clock_ns() - start > THREADS_SPIN_NS)
			futex_wait(&job->users, users, ANY);
	}
	waited = start ? clock_ns() - start : 0;
	atomic_store(&job->taken, false);
	return waited;
}

static bool is_shared(uint32_t count, uint32_t threads)
{
	return count > 1 && count < MAX_TASKS && threads > 1 && threads_start() > 1 &&
	       (!atomic_load(&shared.alone_until) || clock_ns() >= atomic_load(&shared.alone_until));
}

/* Runs all tasks. Returns how long the caller waited for helpers at the end of the job. */
static uint64_t run(threads_fn *fn, void *arg, uint32_t count, uint32_t threads)
{
	struct job *job = is_shared(count, threads) ? take_job() : NULL;

	if (!job) {
		for (uint32_t task = 0; task < count; task++)
			fn(arg, task, 0);
		return 0;
	}
	job->fn = fn;
	job->arg = arg;
	job->count = count;
	job->max_users = (threads < count ? threads : count) - 1;
	job->near = domain_here();
	atomic_store(&job->unwoken, job->max_users);
	atomic_store(&job->slots, 0);
	atomic_store(&job->next, 0);
	atomic_store(&job->open, true);
	atomic_fetch_add(&shared.opened, 1);
	wake_some(job);
	run_tasks(job, 0);
	return close_job(job);
}

void threads_run(threads_fn *fn, void *arg, uint32_t count, uint32_t threads)
{
	if (run(fn, arg, count, threads) > THREADS_LATE_NS)
		atomic_store(&shared.alone_until, clock_ns() + THREADS_ALONE_NS);
}

void threads_run_long(threads_fn *fn, void *arg, uint32_t count, uint32_t threads)
{
	run(fn, arg, count, threads);
}
