/* SPDX-License-Identifier: MIT */
/*
 * Bursts: executions of one compilation, one at a time. Their resources stay allocated from one
 * execution to the next.
 */
#ifndef NN_RUNTIME_BURST_H
#define NN_RUNTIME_BURST_H

#include <stdatomic.h>

#include "runtime/compilation.h"

struct ANeuralNetworksBurst {
	const ANeuralNetworksCompilation *compilation;
	atomic_flag busy;

	/* The thread that holds the lock owns the fields below. */
	/* The request of each step, with a channel if the step's device has one. */
	struct request *requests;
	ANeuralNetworksMemory *temporaries;	/* NULL until a run needs them */
	struct arena arena;
};

/* Returns false if another execution holds the burst. */
bool burst_try_lock(ANeuralNetworksBurst *burst);
void burst_unlock(ANeuralNetworksBurst *burst);

#endif /* NN_RUNTIME_BURST_H */
