/* SPDX-License-Identifier: MIT */
/*
 * A minimal ring without checks, as a comparison for a burst's rings. The minimal ring has a head
 * and a tail; the two processes at the ring spin and check nothing. A packet of the minimal ring
 * has as many words as a burst's packet of one small request.
 */
#ifndef NN_BENCH_BURST_LEAN_H
#define NN_BENCH_BURST_LEAN_H

#include <stdint.h>

#include <linux/nnaccel.h>

#define LEAN_DATUMS	256

struct lean_ring {
	_Alignas(64) uint32_t head;
	_Alignas(64) uint32_t tail;
	_Alignas(64) struct nnaccel_datum datums[LEAN_DATUMS];
};

/* Minimal rings for requests and for results. The caller puts the rings in zeroed shared memory. */
struct lean_rings {
	struct lean_ring requests, results;
};

/* Does the client's part of a round trip: sends a request and receives the result. */
void lean_trip(struct lean_rings *rings);

/*
 * Does the server's part of a round trip: receives a request, spins for the given time, and sends
 * the result.
 */
void lean_serve_one(struct lean_rings *rings, uint64_t work_ns);

#endif /* NN_BENCH_BURST_LEAN_H */
