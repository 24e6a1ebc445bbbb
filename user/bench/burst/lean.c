/* SPDX-License-Identifier: MIT */
/*
 * The lean ring.
 */
#include "base/spin.h"
#include "bench/burst/ends.h"
#include "bench/burst/lean.h"

#define REQUEST_DATUMS	7
#define RESULT_DATUMS	5

static void lean_send(struct lean_ring *ring, const struct nnaccel_datum *datums, uint32_t count)
{
	uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	while (LEAN_DATUMS - (head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) < count)
		spin_pause();
	for (uint32_t i = 0; i < count; i++)
		ring->datums[(head + i) % LEAN_DATUMS] = datums[i];
	__atomic_store_n(&ring->head, head + count, __ATOMIC_RELEASE);
}

static void lean_receive(struct lean_ring *ring, struct nnaccel_datum *datums, uint32_t count)
{
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

	while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail < count)
		;
	for (uint32_t i = 0; i < count; i++)
		datums[i] = ring->datums[(tail + i) % LEAN_DATUMS];
	__atomic_store_n(&ring->tail, tail + count, __ATOMIC_RELEASE);
}

void lean_trip(struct lean_rings *rings)
{
	struct nnaccel_datum datums[REQUEST_DATUMS] = { { .kind = 1 } };

	lean_send(&rings->requests, datums, REQUEST_DATUMS);
	lean_receive(&rings->results, datums, RESULT_DATUMS);
}

void lean_serve_one(struct lean_rings *rings, uint64_t work_ns)
{
	struct nnaccel_datum datums[REQUEST_DATUMS];

	lean_receive(&rings->requests, datums, REQUEST_DATUMS);
	work(work_ns);
	lean_send(&rings->results, datums, RESULT_DATUMS);
}
