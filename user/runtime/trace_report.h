/* SPDX-License-Identifier: MIT */
/*
 * The report at a program's end: how often and where each part of a model ran, and how long the
 * part's operations took. Callers of these functions hold the lock of trace.c.
 */
#ifndef NN_RUNTIME_TRACE_REPORT_H
#define NN_RUNTIME_TRACE_REPORT_H

#include "runtime/trace.h"

/* Makes the sums of a new step; see trace_new_step(). */
struct trace_step *trace_report_new_step(const struct step *step, uint32_t number, uint32_t num_steps);

/* Adds an execution of a step; `in_place` says that the CPU replaced the step's device. */
void trace_report_add(struct trace_step *step, bool in_place, const struct trace_run *run, uint64_t ns,
		      int result);

/* Writes the report to standard error. */
void trace_report_print(void);

/* Removes the parent's sums in a forked child. */
void trace_report_forget(void);

#endif /* NN_RUNTIME_TRACE_REPORT_H */
