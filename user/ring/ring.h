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

/* The result of a call on an end. */
enum nn_ring_result {
	NN_RING_OK = 0,
	NN_RING_AGAIN,		/* no packet, no room for one, or the time is up */
	NN_RING_TOO_BIG,	/* the packet is longer than the ring, or has no datum */
	NN_RING_BROKEN,		/* the other end's data cannot be a ring */
	NN_RING_DEAD,		/* the status page says that the burst is dead */
};

/* Name of a result, for messages; never NULL. */
const char *nn_ring_result_name(enum nn_ring_result result);

/*
 * The addresses of a burst's regions. `lines` and `capacity` are the status page's, read once. The
 * client rings `doorbell`; it is NULL at the worker.
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
 * One end of a burst. Only one thread at a time uses it, except for nn_ring_interrupt(). Callers
 * may use `slice_ns`, and may set the budget of `waiter` between calls; other members are private.
 */
struct nn_ring {
	struct nn_ring_map map;
	struct nn_waiter waiter;	/* for packets */
	uint64_t slice_ns;		/* longest sleep between two looks at the status page */
	uint32_t tx_line;		/* line of the next packet to send, counted over all laps */
	uint32_t tx_lap;
	uint32_t tx_sent;		/* lines sent */
	uint32_t tx_freed;	/* number of sent lines that the other end is known to have read */
	uint32_t rx_line;		/* line of the next packet to read, counted over all laps */
	uint32_t rx_lap;
	uint32_t rx_taken;		/* lines read */
	bool owes_wake;			/* freed lines since the last check for a waiting sender */
	bool slept;			/* the current wait has slept */
};

/* Bytes of a region with a ring of this many datums, not rounded to pages; its lines. */
size_t nn_ring_bytes(uint32_t capacity);
uint32_t nn_ring_lines(uint32_t capacity);

/*
 * Begins an end on unused rings. `spin_ns` is the longest spin of a wait, see nn_spin_budget().
 * Returns NN_RING_BROKEN if the map's sizes are wrong.
 */
enum nn_ring_result nn_ring_init(struct nn_ring *ring, const struct nn_ring_map *map,
				 uint64_t spin_ns);

/*
 * Sends a packet of `count` datums whole or not at all, and wakes the other end if it sleeps.
 * Returns OK, TOO_BIG, BROKEN, DEAD, or AGAIN if there is no room.
 */
enum nn_ring_result nn_ring_try_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				     uint32_t count);

/*
 * Does the same as nn_ring_try_send(), but waits for room. `until_ns` is the CLOCK_MONOTONIC time
 * at which it returns AGAIN; with NN_RING_FOREVER it returns only if the burst dies.
 */
#define NN_RING_FOREVER UINT64_MAX
enum nn_ring_result nn_ring_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				 uint32_t count, uint64_t until_ns);

/*
 * Copies the next packet out of the ring, `*count` datums; the caller parses the copy. `datums` has
 * room for the ring's capacity. Returns OK, BROKEN, AGAIN if the ring is empty, or DEAD if it is empty
 * and no packet will come.
 */
enum nn_ring_result nn_ring_try_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
					uint32_t *count);

/*
 * Does the same as nn_ring_try_receive(), but waits: it spins and sleeps as ring->waiter has
 * learned. `until_ns` is as for sending.
 */
enum nn_ring_result nn_ring_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
				    uint32_t *count, uint64_t until_ns);

/* Returns whether nn_ring_try_receive() would find a packet, or a line that breaks the ring. */
bool nn_ring_has_packet(const struct nn_ring *ring);

/* Returns whether the kernel has marked the burst dead. */
bool nn_ring_is_dead(const struct nn_ring *ring);

/*
 * Ends the burst: calls of the other end return BROKEN from now on. An end calls it if it found
 * wrong data of the other end.
 */
void nn_ring_break(struct nn_ring *ring);

/*
 * Wakes the thread that sleeps in nn_ring_receive() or nn_ring_send() on this end, after the burst
 * died; the call returns DEAD. Any thread of the process may call it.
 */
void nn_ring_interrupt(struct nn_ring *ring);

/*
 * Only for workers. While a burst is parked, its client rings the context's doorbell, so that one
 * thread can sleep on any number of bursts. nn_ring_park() returns false if a packet arrived
 * meanwhile or the burst is dead; then the end is not parked. A parked end must be unparked before
 * its next use. The caller parks an end and adds it to the thread's list under one lock.
 *
 * The thread first calls seen = nn_doorbell_read(). Under that lock it then unparks each end for
 * which nn_ring_has_packet() or nn_ring_is_dead() is true, and hands it to another thread. Finally
 * it calls nn_doorbell_wait(seen) without the lock.
 */
bool nn_ring_park(struct nn_ring *ring);
void nn_ring_unpark(struct nn_ring *ring);

/* Returns the doorbell's word in the worker's mapping. */
uint32_t nn_doorbell_read(const uint32_t *doorbell);

/* Sleeps while the word is `seen`, at most timeout_ns; may return early. */
void nn_doorbell_wait(const uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns);

/* Counters that only the user of the end knows; see struct nnaccel_ring_control. */
void nn_ring_count_miss(struct nn_ring *ring);
void nn_ring_count_fallback(struct nn_ring *ring);
void nn_ring_count_device(struct nn_ring *ring, uint64_t ns);

#endif /* NN_RING_RING_H */
