/* SPDX-License-Identifier: MIT */
/*
 * One end of a burst: a ring that it writes, a ring that it reads, and how it waits for and wakes
 * the other end. The ABI is in Documentation/burst.rst; nothing here needs the module.
 */
#ifndef NN_RING_RING_H
#define NN_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/nnaccel.h>

#include "ring/waiting.h"

/* What a call on an end came to. */
enum nn_ring_result {
	NN_RING_OK = 0,
	NN_RING_AGAIN,		/* no packet is there, or no room for one; or time is up */
	NN_RING_TOO_BIG,	/* the packet is longer than the ring, or has no datum */
	NN_RING_BROKEN,		/* what the other end wrote cannot be a ring: give the burst up */
	NN_RING_DEAD,		/* the status page says that the burst is dead */
};

/* Name of a result, for messages; never NULL. */
const char *nn_ring_result_name(enum nn_ring_result result);

/*
 * Where the regions of a burst are mapped. `lines` and `capacity` are the status page's, read
 * once. `doorbell` is for the client, which rings it; NULL at the worker.
 */
struct nn_ring_map {
	const struct nnaccel_burst_status *status;
	struct nnaccel_ring_control *mine;
	const struct nnaccel_ring_control *peer;
	uint32_t *doorbell;
	uint32_t lines;
	uint32_t capacity;
};

/*
 * One end. Used by one thread at a time, but for nn_ring_interrupt(). All members are private but
 * `waiter`, whose budget may be set between calls, and `slice_ns`.
 */
struct nn_ring {
	struct nn_ring_map map;
	struct nn_waiter waiter;	/* for packets */
	uint64_t slice_ns;		/* longest sleep between two looks at the status page */
	uint32_t tx_line;		/* where the next packet goes, and which time round */
	uint32_t tx_lap;
	uint32_t tx_sent;		/* lines sent */
	uint32_t tx_freed;		/* of these, lines that the other end is known to have read */
	uint32_t rx_line;		/* where the next packet will be, and which time round */
	uint32_t rx_lap;
	uint32_t rx_taken;		/* lines read */
	bool owes_wake;			/* read lines since it last looked who waits for room */
	bool slept;			/* the wait that goes on has slept */
};

/* Bytes of a region with a ring of this many datums, not rounded to pages; its lines. */
size_t nn_ring_bytes(uint32_t capacity);
uint32_t nn_ring_lines(uint32_t capacity);

/*
 * Begins an end on rings that nobody has used yet. spin_ns: longest spin of a wait, see
 * nn_spin_budget(). NN_RING_BROKEN where the map's sizes make no ring.
 */
enum nn_ring_result nn_ring_init(struct nn_ring *ring, const struct nn_ring_map *map,
				 uint64_t spin_ns);

/*
 * Sends a packet of `count` datums whole or not at all, and wakes the other end where it sleeps.
 * OK; AGAIN: no room; TOO_BIG; BROKEN; DEAD.
 */
enum nn_ring_result nn_ring_try_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				     uint32_t count);

/*
 * The same, but waits for room. until_ns: CLOCK_MONOTONIC time at which it gives up with AGAIN;
 * NN_RING_FOREVER: when the burst dies only.
 */
#define NN_RING_FOREVER UINT64_MAX
enum nn_ring_result nn_ring_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				 uint32_t count, uint64_t until_ns);

/*
 * Takes the next packet: copies it out of the ring, `*count` datums of it; the caller parses the
 * copy. `datums` has room for the ring's capacity. OK; AGAIN: none there; BROKEN; DEAD: none
 * there, and none will come.
 */
enum nn_ring_result nn_ring_try_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
					uint32_t *count);

/* The same, but waits: spins and sleeps as ring->waiter has learned. until_ns: as in send. */
enum nn_ring_result nn_ring_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
				    uint32_t *count, uint64_t until_ns);

/* True where nn_ring_try_receive() would find a packet, or a line that breaks the ring. */
bool nn_ring_has_packet(const struct nn_ring *ring);

/* True once the kernel has marked the burst dead. */
bool nn_ring_is_dead(const struct nn_ring *ring);

/*
 * Gives the burst up: whatever the other end receives or waits for is BROKEN from now on. For an
 * end that cannot follow the other one any more.
 */
void nn_ring_break(struct nn_ring *ring);

/*
 * Wakes whoever sleeps in nn_ring_receive() or nn_ring_send() on this end, from any thread of the
 * process, after the burst died: they return DEAD.
 */
void nn_ring_interrupt(struct nn_ring *ring);

/*
 * Worker only. A burst is parked while the context's doorbell stands for it: one thread sleeps on
 * any number of them. nn_ring_park() is true where the end is now parked; false where a packet
 * arrived meanwhile (or the burst is dead): it stays awake. nn_ring_unpark() before it is used
 * again. Who parks an end adds it to the thread's list under one lock with parking it.
 *
 * The thread: seen = nn_doorbell_read(); under that lock, for each end of the list: where
 * nn_ring_has_packet() or nn_ring_is_dead(), unpark it and hand it to a thread of its own; without
 * the lock, nn_doorbell_wait(seen).
 */
bool nn_ring_park(struct nn_ring *ring);
void nn_ring_unpark(struct nn_ring *ring);

/* The doorbell's word, as the worker has it mapped. */
uint32_t nn_doorbell_read(const uint32_t *doorbell);

/* Sleeps while the word is `seen`, at most timeout_ns; may return early. */
void nn_doorbell_wait(const uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns);

/* Counters that only the user of the end knows; see struct nnaccel_ring_control. */
void nn_ring_count_miss(struct nn_ring *ring);
void nn_ring_count_fallback(struct nn_ring *ring);

#endif /* NN_RING_RING_H */
