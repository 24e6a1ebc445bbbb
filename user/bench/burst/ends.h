/* SPDX-License-Identifier: MIT */
/*
 * Client and worker of a burst without the module: two processes use user/ring in shared memory,
 * with all checks and the search for slots.
 */
#ifndef NN_BENCH_BURST_ENDS_H
#define NN_BENCH_BURST_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"
#include "ring/packet.h"
#include "ring/ring.h"

#define CAPACITY	1024
#define SLOTS		16
#define ELEMENTS	16	/* number of elements in each tensor of the small model */

/* Each request of the benchmark has two inputs and an output of known shape, in two pools. */
#define INPUTS		2
#define OUTPUTS		1
#define POOLS		2
#define POOL_BYTES	4096

/* Prints a message with errno, and exits. */
__attribute__((noreturn)) void die(const char *what);

/* Prints the message of `err` and exits if `status` is not NN_OK. */
void check(enum nn_status status, const struct nn_error *err);

/* Returns memory that this process shares with its forked children. */
void *shared(size_t size);

struct burst_memory {
	struct nnaccel_burst_status *status;
	struct nnaccel_ring_control *requests, *results;
	uint32_t *doorbell;
};

struct burst_memory burst_memory_create(void);

struct burst_end {
	struct nn_ring ring;
	struct nnaccel_datum datums[CAPACITY];
	struct nnaccel_arg args[INPUTS + OUTPUTS];
	struct nnaccel_shape shapes[OUTPUTS];
	uint32_t slots[POOLS];
};

void burst_end_init(struct burst_end *end, const struct burst_memory *m, bool is_client,
		    uint64_t spin_ns);

/* A slot of the burst, and the length of the slot's memory. */
struct place {
	uint32_t slot;
	uint64_t length;
};

/*
 * Does the worker's part of a round trip: receives a request, runs the plan, and answers. Without a
 * plan the worker waits for `work_ns` instead of running a plan.
 */
void burst_serve_one(struct burst_end *end, const struct place *places,
		     const struct nn_plan *plan, uint64_t work_ns);

/* Spins for the given time instead of sleeping. */
void work(uint64_t ns);

/* The client's. */
void burst_send(struct burst_end *end);
void burst_receive(struct burst_end *end);
void burst_trip(struct burst_end *end);

#endif /* NN_BENCH_BURST_ENDS_H */
