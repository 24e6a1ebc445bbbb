/* SPDX-License-Identifier: MIT */
/*
 * The report at a program's end: how often and on which device each step of a model ran, and how
 * long the step's operations took. All callers of trace_report_ functions hold the lock of trace.c.
 */
#ifndef NN_RUNTIME_TRACE_REPORT_H
#define NN_RUNTIME_TRACE_REPORT_H

#include "runtime/trace.h"

/* Makes the report's sums for a new step, as trace_new_step() describes. */
struct trace_step *trace_report_new_step(const struct step *step, uint32_t model, uint32_t number,
					 uint32_t num_steps);

/* Adds an execution of a step; `in_place` is true if the CPU replaced the step's device. */
void trace_report_add(struct trace_step *step, bool in_place, const struct trace_run *run, uint64_t ns,
		      int result);

void trace_report_print(void);

/* Removes, in a forked child, the sums of the parent's executions. */
void trace_report_forget(void);

#endif /* NN_RUNTIME_TRACE_REPORT_H */
