/* SPDX-License-Identifier: MIT */
/*
 * One end of a burst: writes one ring, reads one ring, waits for the other end, and wakes the other
 * end. Documentation/burst.rst describes the ABI of bursts. The ring library does not need the
 * kernel module.
 */
#ifndef NN_RING_RING_H
#define NN_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/nnaccel.h>

#include "ring/waiting.h"

/* The result of an operation on one end of a burst. */
enum nn_ring_result {
	NN_RING_OK = 0,
	NN_RING_AGAIN,		/* nothing done: no packet, no room for a packet, or timeout */
	NN_RING_TOO_BIG,	/* the packet has no datums, or is longer than the ring */
	NN_RING_BROKEN,		/* the sizes of the rings or data from the other end are invalid */
	NN_RING_DEAD,		/* the kernel has marked the burst dead in the status page */
};

/* Returns the name of a result, for messages; never NULL. */
const char *nn_ring_result_name(enum nn_ring_result result);

/*
 * The addresses of a burst's regions. `lines` and `capacity` were read once from the status page.
 * `doorbell` is the word through which the client wakes the worker of a parked burst; it is NULL in
 * the worker.
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
 * One end of a burst. Only one thread at a time may use an end, except that any thread may call
 * nn_ring_interrupt(). Callers may read and set `slice_ns`; between calls, callers may set the
 * budget of `waiter`. All other members of the structure are private.
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
	bool owes_wake;	/* true: lines were freed since the last check for a waiting sender */
	bool slept;			/* true: this end has slept during the current wait */
};

/*
 * Return the size in bytes of the region of a ring, not rounded to pages, and the ring's number of
 * lines. The ring has room for `capacity` datums.
 */
size_t nn_ring_bytes(uint32_t capacity);
uint32_t nn_ring_lines(uint32_t capacity);

/*
 * Initialises one end of a burst whose rings were not used yet. `spin_ns` is the longest time that
 * a wait spins; see nn_spin_budget(). Returns NN_RING_BROKEN if the sizes in `map` are wrong.
 */
enum nn_ring_result nn_ring_init(struct nn_ring *ring, const struct nn_ring_map *map,
				 uint64_t spin_ns);

/*
 * Sends a packet of `count` datums completely or not at all, and wakes the other end if the other
 * end sleeps. Returns NN_RING_OK, NN_RING_TOO_BIG, NN_RING_BROKEN, NN_RING_DEAD, or NN_RING_AGAIN
 * if there is not enough room.
 */
enum nn_ring_result nn_ring_try_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				     uint32_t count);

/*
 * Sends a packet like nn_ring_try_send(), but waits for room. Returns NN_RING_AGAIN at `until_ns`,
 * a CLOCK_MONOTONIC time; with NN_RING_FOREVER, waits until there is room or the burst is dead.
 */
#define NN_RING_FOREVER UINT64_MAX
enum nn_ring_result nn_ring_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				 uint32_t count, uint64_t until_ns);

/*
 * Copies the next packet out of the ring and sets *count to its number of datums; the caller parses
 * the copy. `datums` must have room for the ring's capacity. Returns NN_RING_OK, NN_RING_BROKEN,
 * NN_RING_AGAIN if the ring is empty, or NN_RING_DEAD if the ring is empty and the burst is dead.
 */
enum nn_ring_result nn_ring_try_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
					uint32_t *count);

/*
 * Receives a packet like nn_ring_try_receive(), but waits for the packet. ring->waiter decides when
 * the wait spins and when it sleeps. Returns NN_RING_AGAIN at the time `until_ns`, like
 * nn_ring_send().
 */
enum nn_ring_result nn_ring_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
				    uint32_t *count, uint64_t until_ns);

/* Returns whether nn_ring_try_receive() would find a packet or an invalid line. */
bool nn_ring_has_packet(const struct nn_ring *ring);

/* Returns whether the kernel has marked the burst dead. */
bool nn_ring_is_dead(const struct nn_ring *ring);

/*
 * Breaks the ring that this end writes: after the packets that were sent, each receive of the other
 * end returns NN_RING_BROKEN. An end calls nn_ring_break() if the end finds invalid data of the
 * other end.
 */
void nn_ring_break(struct nn_ring *ring);

/*
 * After the burst has died, wakes the thread that sleeps in nn_ring_receive() or nn_ring_send() on
 * this end; the function in which the thread sleeps returns NN_RING_DEAD. Any thread of the process
 * may call nn_ring_interrupt().
 */
void nn_ring_interrupt(struct nn_ring *ring);

/*
 * Only for workers. For each request of a parked burst, the client rings the doorbell of the
 * context. With parked ends, one thread can sleep on any number of bursts. If a packet has arrived
 * or the burst is dead, nn_ring_park() returns false and does not park the end. A parked end must
 * be unparked before its next use. The caller holds a lock while it parks an end and adds the end
 * to the sleeping thread's list.
 *
 * The sleeping thread first reads the doorbell: seen = nn_doorbell_read(doorbell). Holding the
 * lock, the sleeping thread then unparks each end for which nn_ring_has_packet() or
 * nn_ring_is_dead() is true, and passes the end to another thread. Finally the sleeping thread
 * releases the lock and calls nn_doorbell_wait(seen).
 */
bool nn_ring_park(struct nn_ring *ring);
void nn_ring_unpark(struct nn_ring *ring);

/* Returns the word of the doorbell that the worker has mapped. */
uint32_t nn_doorbell_read(const uint32_t *doorbell);

/* Sleeps while the word of the doorbell is `seen`, at most timeout_ns. May return early. */
void nn_doorbell_wait(const uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns);

/*
 * Add to counters of struct nnaccel_ring_control that only the caller knows: misses, fallbacks and
 * the time on the device.
 */
void nn_ring_count_miss(struct nn_ring *ring);
void nn_ring_count_fallback(struct nn_ring *ring);
void nn_ring_count_device(struct nn_ring *ring, uint64_t ns);

#endif /* NN_RING_RING_H */
