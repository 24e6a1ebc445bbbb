/* SPDX-License-Identifier: MIT */
/*
 * The report at a program's end: how often each part of a model ran, where, and how long its operations took.
 * The lock of trace.c is held when these functions are called.
 */
#ifndef NN_RUNTIME_TRACE_REPORT_H
#define NN_RUNTIME_TRACE_REPORT_H

#include "runtime/trace.h"

/* The sums of a new step, as trace_new_step(). */
struct trace_step *trace_report_new_step(const struct step *step, uint32_t number, uint32_t num_steps);

/* Adds an execution of a step; `in_place` says that the CPU replaced the step's device. */
void trace_report_add(struct trace_step *step, bool in_place, const struct trace_run *run, uint64_t ns,
		      int result);

/* Writes the report to standard error. */
void trace_report_print(void);

/* Called in a forked child, because the parent's work is not the child's. */
void trace_report_forget(void);

#endif /* NN_RUNTIME_TRACE_REPORT_H */
