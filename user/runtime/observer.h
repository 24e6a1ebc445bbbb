/* SPDX-License-Identifier: MIT */
/*
 * One observer of compilations and executions that end: the diagnostics of the support library.
 */
#ifndef NN_RUNTIME_OBSERVER_H
#define NN_RUNTIME_OBSERVER_H

#include "runtime/execution.h"

struct observer {
	void (*compiled)(const ANeuralNetworksCompilation *compilation, int result, uint64_t ns);
	/* On the thread that ends it; execution->result is known. */
	void (*executed)(const ANeuralNetworksExecution *execution, uint64_t ns);
};

/* From now on its functions are called; NULL: none are. It stays the caller's. */
void observer_set(const struct observer *observer);

/* Tell it, if there is one. */
void observer_compiled(const ANeuralNetworksCompilation *compilation, int result, uint64_t begin_ns);
void observer_executed(const ANeuralNetworksExecution *execution);

#endif /* NN_RUNTIME_OBSERVER_H */
