/* SPDX-License-Identifier: MIT */
/*
 * One observer of finished compilations and executions, for the diagnostics of the support library.
 */
#ifndef NN_RUNTIME_OBSERVER_H
#define NN_RUNTIME_OBSERVER_H

#include "runtime/execution.h"

struct observer {
	void (*compiled)(const ANeuralNetworksCompilation *compilation, int result, uint64_t ns);
	/*
	 * Called on the thread that ends an execution, after the thread has set execution->result.
	 */
	void (*executed)(const ANeuralNetworksExecution *execution, uint64_t ns);
};

/*
 * Sets the observer, whose functions later compilations and executions call; NULL removes the
 * observer. The caller still owns *observer.
 */
void observer_set(const struct observer *observer);

void observer_compiled(const ANeuralNetworksCompilation *compilation, int result, uint64_t begin_ns);
void observer_executed(const ANeuralNetworksExecution *execution);

#endif /* NN_RUNTIME_OBSERVER_H */
