/* SPDX-License-Identifier: MIT */
/*
 * One end of a burst: the ring that this end writes, the ring that it reads, and how it waits for
 * and wakes the other end. Documentation/burst.rst describes the ABI. Nothing here needs the kernel
 * module.
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
	NN_RING_AGAIN,		/* no packet or no room for one; or the time is up */
	NN_RING_TOO_BIG,	/* the packet is longer than the ring, or has no datum */
	NN_RING_BROKEN,		/* the rings' sizes or the other end's data are invalid */
	NN_RING_DEAD,		/* the status page says that the burst is dead */
};

/* Returns the name of a result, for messages; never NULL. */
const char *nn_ring_result_name(enum nn_ring_result result);

/*
 * The addresses of a burst's regions. `lines` and `capacity` were read once from the status page.
 * `doorbell` is the word by which the client wakes the worker of a parked burst; it is NULL in the
 * worker.
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
 * may read and set `slice_ns`, and may set the budget of `waiter` between calls. All other members
 * are private.
 */
struct nn_ring {
	struct nn_ring_map map;
	struct nn_waiter waiter;	/* waits for packets */
	uint64_t slice_ns;		/* longest sleep between two reads of the status page */
	uint32_t tx_line;	/* first line of the next packet to send, as an index in the ring */
	uint32_t tx_lap;
	uint32_t tx_sent;		/* lines sent */
	/* number of sent lines that the other end is known to have read */
	uint32_t tx_freed;
	uint32_t rx_line;	/* first line of the next packet to read, as an index in the ring */
	uint32_t rx_lap;
	uint32_t rx_taken;		/* lines read */
	bool owes_wake;	/* lines were freed since this end last checked for a waiting sender */
	bool slept;			/* this end has slept during the current wait */
};

/*
 * For a ring of `capacity` datums: bytes of its region, not rounded to pages, and number of lines.
 */
size_t nn_ring_bytes(uint32_t capacity);
uint32_t nn_ring_lines(uint32_t capacity);

/*
 * Initialises one end of a burst whose rings are unused. `spin_ns` is the longest spin of a wait,
 * see nn_spin_budget(). Returns NN_RING_BROKEN if the map's sizes are wrong.
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
 * at which it returns AGAIN; with NN_RING_FOREVER it waits until there is room or the burst is
 * dead.
 */
#define NN_RING_FOREVER UINT64_MAX
enum nn_ring_result nn_ring_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				 uint32_t count, uint64_t until_ns);

/*
 * Copies the next packet out of the ring, `*count` datums; the caller parses the copy. `datums` has
 * room for the ring's capacity. Returns OK, BROKEN, AGAIN if the ring is empty, or DEAD if the ring
 * is empty and the burst is dead.
 */
enum nn_ring_result nn_ring_try_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
					uint32_t *count);

/*
 * Does the same as nn_ring_try_receive(), but waits: it spins and sleeps as ring->waiter has
 * learned. `until_ns` is as in nn_ring_send().
 */
enum nn_ring_result nn_ring_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
				    uint32_t *count, uint64_t until_ns);

/* Returns whether nn_ring_try_receive() would find a packet, or an invalid line. */
bool nn_ring_has_packet(const struct nn_ring *ring);

/* Returns whether the kernel has marked the burst dead. */
bool nn_ring_is_dead(const struct nn_ring *ring);

/*
 * Ends the burst: from now on, calls of the other end return BROKEN. For an end that found invalid
 * data of the other end.
 */
void nn_ring_break(struct nn_ring *ring);

/*
 * After the burst died, wakes the thread that sleeps in nn_ring_receive() or nn_ring_send() on this
 * end; the function returns DEAD in that thread. Any thread of the process may call it.
 */
void nn_ring_interrupt(struct nn_ring *ring);

/*
 * Only for workers. The client of a parked burst rings the context's doorbell for each request. So
 * one thread can sleep on any number of bursts. nn_ring_park() returns false, and does not park the
 * end, if a packet has arrived or the burst is dead. A parked end must be unparked before its next
 * use. The caller parks an end and adds it to the list of the sleeping thread under one lock.
 *
 * The sleeping thread first calls seen = nn_doorbell_read(). Under the lock, it then unparks each
 * end for which nn_ring_has_packet() or nn_ring_is_dead() is true, and hands the end to another
 * thread. Finally it calls nn_doorbell_wait(seen) without the lock.
 */
bool nn_ring_park(struct nn_ring *ring);
void nn_ring_unpark(struct nn_ring *ring);

/* Returns the doorbell's word in the worker's mapping. */
uint32_t nn_doorbell_read(const uint32_t *doorbell);

/* Sleeps while the doorbell's word is `seen`, at most timeout_ns. May return early. */
void nn_doorbell_wait(const uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns);

/* Count events that only the caller knows; see struct nnaccel_ring_control. */
void nn_ring_count_miss(struct nn_ring *ring);
void nn_ring_count_fallback(struct nn_ring *ring);
void nn_ring_count_device(struct nn_ring *ring, uint64_t ns);

#endif /* NN_RING_RING_H */
