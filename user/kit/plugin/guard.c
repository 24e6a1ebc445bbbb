// SPDX-License-Identifier: MIT
/*
 * Time limits for calls of plug-in functions. One thread watches all calls in progress, and sleeps
 * while there is no call. The thread of an overdue call may still write to the client's results, so
 * a signal stops the overdue thread before the client is notified. If the plug-in blocks the signal
 * that stops its thread, the worker ends without notifying the client.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <nnaccel/engine.h>

#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/plugin/guard.h"
#include "kit/worker/worker.h"

/* Time limit within which the signal must have stopped the thread of an overdue call. */
#define STOP_NS (NS_PER_S / 2)

/*
 * A call of a plug-in's function that has not returned yet, stored in the caller's struct
 * nna_engine_call.
 */
struct guard_call {
	struct guard_call *next, **link;
	const char *extension;
	const char *function;
	struct guard_job *job;
	pthread_t thread;
	uint64_t due_ns;
};

_Static_assert(sizeof(struct guard_call) <= sizeof(struct nna_engine_call) &&
	       _Alignof(struct guard_call) <= _Alignof(struct nna_engine_call),
	       "a call fits into what its caller has");

static struct {
	/* time limit of a call in seconds; 0 if calls are not watched */
	unsigned int bound_s;
	pthread_mutex_t lock;
	pthread_cond_t begun;
	bool sleeps;	/* true: the watching thread waits for a call; protected by the lock */
	struct guard_call *calls;	/* list of calls in progress; `lock` protects it */
	sem_t stopped;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct guard_job *current_job;

static struct timespec to_time(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

/* A signal handler that never returns, and so stops the interrupted thread for ever. */
static void on_stop(int signal)
{
	static uint32_t never;

	(void)signal;
	sem_post(&guard.stopped);
	for (;;)
		syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static bool stop(const struct guard_call *call)
{
	const struct timespec until = to_time(clock_ns() + STOP_NS);
	int error;

	if (pthread_kill(call->thread, SIGUSR1))
		return false;
	do {
		error = sem_clockwait(&guard.stopped, CLOCK_MONOTONIC, &until) ? errno : 0;
	} while (error == EINTR);
	return !error;
}

/*
 * Ends the worker. The function end_worker() does not call malloc(), because the stopped thread may
 * hold malloc()'s lock.
 */
__attribute__((noreturn)) static void end_worker(const struct guard_call *call)
{
	char reason[256];

	snprintf(reason, sizeof(reason), "%.64s of extension %.128s did not return within %u s: "
		 "its worker ends", call->function, call->extension, guard.bound_s);
	log_error("%s", reason);
	if (call->job && stop(call))
		call->job->fail(call->job, reason);
	_exit(WORKER_EXIT_OVERDUE);
}

/* Returns the call in progress with the earliest deadline, or NULL. */
static const struct guard_call *find_first(void)
{
	const struct guard_call *first = guard.calls;

	for (const struct guard_call *call = first; call; call = call->next)
		if (call->due_ns < first->due_ns)
			first = call;
	return first;
}

/* The main function of the watching thread, which sleeps while there is no call. */
static void *watch_calls(void *arg)
{
	const struct guard_call *first;
	struct timespec until;

	(void)arg;
	pthread_mutex_lock(&guard.lock);
	for (;;) {
		first = find_first();
		guard.sleeps = !first;
		if (!first) {
			pthread_cond_wait(&guard.begun, &guard.lock);
		} else if (clock_ns() >= first->due_ns) {
			end_worker(first);
		} else {
			until = to_time(first->due_ns);
			pthread_cond_timedwait(&guard.begun, &guard.lock, &until);
		}
	}
	return NULL;
}

int guard_start(unsigned int bound_s)
{
	const struct sigaction action = { .sa_handler = on_stop };
	pthread_condattr_t attributes;
	pthread_t thread;
	int error;

	if (sem_init(&guard.stopped, 0, 0) || sigaction(SIGUSR1, &action, NULL))
		return errno;
	error = pthread_condattr_init(&attributes);
	if (!error)
		error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (!error)
		error = pthread_cond_init(&guard.begun, &attributes);
	guard.bound_s = bound_s;
	return error ? error : pthread_create(&thread, NULL, watch_calls, NULL);
}

void guard_set_job(struct guard_job *job)
{
	current_job = job;
}

void nna_engine_call_begin(struct nna_engine_call *memory, const char *extension,
			   const char *function)
{
	struct guard_call *call = (struct guard_call *)memory;

	if (!guard.bound_s)
		return;
	*call = (struct guard_call){
		.extension = extension,
		.function = function,
		.job = current_job,
		.thread = pthread_self(),
		.due_ns = clock_ns() + guard.bound_s * NS_PER_S,
		.link = &guard.calls,
	};
	pthread_mutex_lock(&guard.lock);
	call->next = guard.calls;
	if (call->next)
		call->next->link = &call->next;
	guard.calls = call;
	if (guard.sleeps) {
		guard.sleeps = false;
		pthread_cond_signal(&guard.begun);
	}
	pthread_mutex_unlock(&guard.lock);
}

/*
 * If any call is overdue, nna_engine_call_end() blocks on the lock, because the watching thread
 * holds the lock until the worker ends.
 */
void nna_engine_call_end(struct nna_engine_call *memory)
{
	struct guard_call *call = (struct guard_call *)memory;

	if (!guard.bound_s)
		return;
	pthread_mutex_lock(&guard.lock);
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	pthread_mutex_unlock(&guard.lock);
}
