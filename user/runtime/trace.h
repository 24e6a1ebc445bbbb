/* SPDX-License-Identifier: MIT */
/*
 * Writes events of preparations and executions to the file that NNACCEL_TRACE names. With
 * NNACCEL_REPORT, prints sums of the executions' times to standard error at the program's end.
 */
#ifndef NN_RUNTIME_TRACE_H
#define NN_RUNTIME_TRACE_H

#include <nnaccel/execution.h>

#include "runtime/device.h"

/* Flags that enable the trace, the report, and the observer's calls (observer.h). */
enum { WATCH_EVENTS = 1, WATCH_REPORT = 2, WATCH_OBSERVER = 4 };

/*
 * Set of enabled WATCH_ flags. If no flag is enabled, which is usual, tracing costs an execution
 * only one branch.
 */
extern int trace_watches __attribute__((visibility("hidden")));

static inline bool trace_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&trace_watches, __ATOMIC_RELAXED), 0);
}

static inline bool trace_wants(int what)
{
	return __atomic_load_n(&trace_watches, __ATOMIC_RELAXED) & what;
}

/*
 * At the first call trace_start() reads the environment variables. No event is traced or reported
 * before the first trace_start().
 */
void trace_start(void);

/*
 * Write the begin and the end of an event of this thread. `format` produces members of a JSON
 * object; its string arguments must need no JSON escapes.
 */
void trace_begin(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void trace_end(const char *name, int result);
void trace_instant(const char *name, const char *reason);

/*
 * Write the begin and the end of an event, which may be on different threads. The call
 * trace_async_begin() returns the number for trace_async_end(), or 0 if no trace is written.
 */
uint64_t trace_async_begin(const char *name);
void trace_async_end(const char *name, uint64_t number, int result);

void trace_flush(void);

/*
 * Times of an execution, which the device fills in through struct request. Times are of
 * CLOCK_MONOTONIC; an unknown time is 0.
 */
struct trace_run {
	uint64_t submitted_ns;	/* time of the execution's submission to another process */
	uint64_t answered_ns;
	uint64_t engine_begin_ns;	/* time at which the engine began to compute */
	uint64_t engine_end_ns;
	uint64_t copied_in;		/* bytes */
	uint64_t copied_out;
	struct nn_times times;		/* times of operations */
};

/* Sums of a step's times, for the report, which are never freed. */
struct trace_step;
struct step;

/* Returns the number of a new model for the report. */
uint32_t trace_new_model(void);

/*
 * Returns the sums of a new step of a model for the report; NULL if no report is wanted or memory
 * runs out.
 */
struct trace_step *trace_new_step(const struct step *step, uint32_t model, uint32_t number,
				  uint32_t num_steps);

/*
 * Executes a request of a step, or of the whole model if `step` is NULL, and records the execution
 * for the trace and the report. `prepared` is a model prepared for the step's device or the CPU.
 */
int trace_execute(const struct step *step, struct prepared *prepared, struct request *request,
		  struct nn_error *err);

#endif /* NN_RUNTIME_TRACE_H */
