/* SPDX-License-Identifier: MIT */
/*
 * Notifies the observer when compilations and executions end.
 */
#include "runtime/observer.h"

#include "base/clock.h"
#include "runtime/trace.h"

static _Atomic(const struct observer *) current;

void observer_set(const struct observer *observer)
{
	current = observer;
	if (observer)
		__atomic_fetch_or(&trace_watches, WATCH_OBSERVER, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&trace_watches, ~WATCH_OBSERVER, __ATOMIC_RELAXED);
}

/*
 * Returns the nanoseconds since begin_ns; UINT64_MAX if begin_ns is 0, which means that no observer
 * was set then.
 */
static uint64_t since(uint64_t begin_ns)
{
	return begin_ns ? clock_ns() - begin_ns : UINT64_MAX;
}

void observer_compiled(const ANeuralNetworksCompilation *compilation, int result, uint64_t begin_ns)
{
	const struct observer *observer = current;

	if (observer)
		observer->compiled(compilation, result, since(begin_ns));
}

void observer_executed(const ANeuralNetworksExecution *execution)
{
	const struct observer *observer = current;

	if (observer)
		observer->executed(execution, since(execution->started_ns));
}
