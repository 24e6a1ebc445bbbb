/* SPDX-License-Identifier: MIT */
/*
 * Bursts: executions of one compilation, one at a time. A burst's resources stay allocated from one
 * execution to the next.
 */
#ifndef NN_RUNTIME_BURST_H
#define NN_RUNTIME_BURST_H

#include <stdatomic.h>

#include "runtime/compilation.h"

struct ANeuralNetworksBurst {
	const ANeuralNetworksCompilation *compilation;
	atomic_flag busy;

	/* The following fields may only be used by the thread that holds the burst's lock. */
	/* A request for each step, which has a channel if the step's device supports channels. */
	struct request *requests;
	ANeuralNetworksMemory *temporaries;	/* temporary operands; NULL until needed */
	struct arena arena;
};

/* Locks a burst; returns false if another execution has locked it. */
bool burst_try_lock(ANeuralNetworksBurst *burst);
void burst_unlock(ANeuralNetworksBurst *burst);

#endif /* NN_RUNTIME_BURST_H */
