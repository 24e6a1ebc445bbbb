/* SPDX-License-Identifier: MIT */
/*
 * Measures bursts through the module and the engine.
 */
#ifndef NN_BENCH_BURST_MODULE_H
#define NN_BENCH_BURST_MODULE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers of rounds and of samples in a round, for measuring the first execution after idle time.
 */
#define IDLE_NS		UINT64_C(10000000)
#define IDLE_ROUNDS	15
#define IDLE_TURN	10

struct idle_samples {
	double ns[IDLE_ROUNDS * IDLE_TURN];
	size_t count;
};

/* Print the times of executions through the module, and the executions' numbers of instructions. */
int bench_by_time(void);
int bench_by_instructions(void);

#endif /* NN_BENCH_BURST_MODULE_H */
