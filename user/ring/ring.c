/* SPDX-License-Identifier: MIT */
/*
 * One end of a burst: sends and receives packets, waits for the other end, and wakes the other end.
 *
 * No wake-up is lost, because each end executes a full barrier between its write and its read.
 * Before an end sleeps, it sets its flag in `waiting`, and then reads the word on which it will
 * sleep; FUTEX_WAIT sleeps only if the word is unchanged. The other end first changes the word, and
 * then reads the flag to decide whether it must wake the sleeper. user/ring/model checks this
 * protocol.
 */
#include "base/clock.h"
#include "base/spin.h"
#include "ring/barrier.h"
#include "ring/ring.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

_Static_assert(sizeof(struct nnaccel_line) == 64, "a line is a cache line");
_Static_assert(sizeof(struct nnaccel_ring_control) == NNACCEL_RING_LINES, "lines follow it");
_Static_assert(offsetof(struct nnaccel_ring_control, consumed) == 64, "a cache line of its own");

/* Default of `slice_ns`, the longest sleep between two reads of the status page. */
#define SLICE_NS 100000000

/*
 * Number of checks for a packet at the begin of a wait, before the clock is read. A wait that ends
 * during these checks counts as BLIND_NS long, or is not counted if the mean wait is at most 2 *
 * BLIND_NS.
 */
#define BLIND_LOOKS 128
#define BLIND_NS 2000

/*
 * Number of cache lines that are prefetched after a packet's first line. Most packets fit into
 * CLAIMED_LINES + 1 cache lines.
 */
#define CLAIMED_LINES 2

/* Number of checks for a packet between two reads of the clock. */
#define LOOKS_PER_TIME 16

/* ---- words that another process reads or writes ---- */

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Prevents the compiler from reading the source of a copy a second time. */
static void copied(void)
{
	__asm__ volatile("" : : : "memory");
}

static void add(__u64 *counter, uint64_t value)
{
	__atomic_store_n(counter, *counter + value, __ATOMIC_RELAXED);
}

static void count(__u64 *counter)
{
	add(counter, 1);
}

/* Prefetches a line for writing, before a packet is written. */
static void claim(const struct nnaccel_line *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/*
 * Sleeps while *word is `value`, at most until until_ns; returns true if the sleep ended at
 * until_ns.
 */
static bool futex_wait(const uint32_t *word, uint32_t value, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S),
	};

	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, NULL,
		       FUTEX_BITSET_MATCH_ANY) && errno == ETIMEDOUT;
}

static void futex_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- geometry ---- */

uint32_t nn_ring_lines(uint32_t capacity)
{
	return capacity / NNACCEL_LINE_DATUMS + (capacity % NNACCEL_LINE_DATUMS != 0);
}

size_t nn_ring_bytes(uint32_t capacity)
{
	return NNACCEL_RING_LINES + nn_ring_lines(capacity) * sizeof(struct nnaccel_line);
}

static struct nnaccel_line *tx_line(const struct nn_ring *ring, uint32_t i)
{
	return (struct nnaccel_line *)((char *)ring->map.mine + NNACCEL_RING_LINES) + i;
}

static const struct nnaccel_line *rx_line(const struct nn_ring *ring, uint32_t i)
{
	return (const struct nnaccel_line *)((const char *)ring->map.peer + NNACCEL_RING_LINES) +
	       i;
}

/*
 * Advances the index of a line to the next line, and advances the lap number if the index returns
 * to the ring's beginning.
 */
static void advance(const struct nn_ring *ring, uint32_t *line, uint32_t *lap)
{
	if (++*line == ring->map.lines) {
		*line = 0;
		++*lap;
	}
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

enum nn_ring_result nn_ring_init(struct nn_ring *ring, const struct nn_ring_map *map,
				 uint64_t spin_ns)
{
	if (!map->capacity || map->capacity > NNACCEL_BURST_MAX_CAPACITY ||
	    map->lines != nn_ring_lines(map->capacity))
		return NN_RING_BROKEN;
	*ring = (struct nn_ring){ .map = *map, .slice_ns = SLICE_NS, .tx_lap = 1, .rx_lap = 1 };
	nn_waiter_init(&ring->waiter, spin_ns);
	return NN_RING_OK;
}

bool nn_ring_is_dead(const struct nn_ring *ring)
{
	return load(&ring->map.status->state) != NNACCEL_BURST_ALIVE;
}

const char *nn_ring_result_name(enum nn_ring_result result)
{
	switch (result) {
	case NN_RING_OK:
		return "success";
	case NN_RING_AGAIN:
		return "the ring has no packet yet";
	case NN_RING_TOO_BIG:
		return "the packet does not fit the ring";
	case NN_RING_BROKEN:
		return "the other end wrote invalid data";
	case NN_RING_DEAD:
		return "the burst is dead";
	}
	return "unknown result";
}

/* ---- waking ---- */

static void wake(struct nn_ring *ring, const uint32_t *word)
{
	futex_wake(word);
	count(&ring->map.mine->wakes);
}

/*
 * Wakes the other end by a futex call on the word on which the other end sleeps. `first` is the
 * sequence word of the sent packet, or NULL if the caller sent no packet and only freed lines of
 * the ring.
 */
static void wake_peer(struct nn_ring *ring, uint32_t waiting, const uint32_t *first)
{
	if (waiting & NNACCEL_WAIT_SPACE)
		wake(ring, &ring->map.mine->consumed);
	if (waiting & NNACCEL_WAIT_PACKET && first)
		wake(ring, first);
	if (waiting & NNACCEL_WAIT_DOORBELL && first && ring->map.doorbell) {
		__atomic_add_fetch(ring->map.doorbell, 1, __ATOMIC_SEQ_CST);
		wake(ring, ring->map.doorbell);
	}
}

/* Wakes the other end if it sleeps while it waits for a packet or for room. */
static inline void look_for_sleeper(struct nn_ring *ring, const uint32_t *first)
{
	uint32_t waiting;

	nn_ring_barrier();
	waiting = load(&ring->map.peer->waiting);
	ring->owes_wake = false;
	if (__builtin_expect(waiting != 0, 0))
		wake_peer(ring, waiting, first);
}

/* ---- sending ---- */

/*
 * Returns NN_RING_OK if `need` lines are free. Reads the other end's counter `consumed` only if
 * fewer than `need` lines are known to be free.
 */
static enum nn_ring_result find_room(struct nn_ring *ring, uint32_t need)
{
	uint32_t used = ring->tx_sent - ring->tx_freed;
	uint32_t freed;

	if (need <= ring->map.lines - used)
		return NN_RING_OK;
	freed = load(&ring->map.peer->consumed);
	if (ring->tx_sent - freed > used)
		return NN_RING_BROKEN;
	ring->tx_freed = freed;
	used = ring->tx_sent - freed;
	return need <= ring->map.lines - used ? NN_RING_OK : NN_RING_AGAIN;
}

/* Copies the first n datums of a line; a whole line, the usual case, is copied at once. */
static inline void copy_datums(struct nnaccel_datum *to, const struct nnaccel_datum *from,
			       uint32_t n)
{
	_Static_assert(NNACCEL_LINE_DATUMS == 3, "a line has three datums");
	if (n == NNACCEL_LINE_DATUMS) {
		memcpy(to, from, NNACCEL_LINE_DATUMS * sizeof(*to));
		return;
	}
	to[0] = from[0];
	if (n == 2)
		to[1] = from[1];
}

static inline void fill_line(struct nnaccel_line *line, const struct nnaccel_datum *datums,
			     uint32_t n)
{
	if (n < NNACCEL_LINE_DATUMS)
		memset(line->datums, 0, sizeof(line->datums));
	copy_datums(line->datums, datums, n);
}

/*
 * Writes the lines of a packet. The word `sequence` of a packet's first line is written last, so
 * that a receiver that reads the new value also sees the whole packet. The writes to the first line
 * of a packet follow each other directly, because the receiver polls the first line, and each read
 * between two writes costs time. Returns the address of the first line's sequence word.
 */
static const uint32_t *write_packet(struct nn_ring *ring, const struct nnaccel_datum *datums,
				    uint32_t n)
{
	struct nnaccel_line *first = tx_line(ring, ring->tx_line);
	uint32_t lap = ring->tx_lap;
	uint32_t in_first = min_u32(n, NNACCEL_LINE_DATUMS), done = in_first;

	advance(ring, &ring->tx_line, &ring->tx_lap);
	while (done < n) {
		struct nnaccel_line *line = tx_line(ring, ring->tx_line);
		uint32_t here = min_u32(n - done, NNACCEL_LINE_DATUMS);

		fill_line(line, datums + done, here);
		store(&line->sequence, ring->tx_lap);
		advance(ring, &ring->tx_line, &ring->tx_lap);
		done += here;
	}
	fill_line(first, datums, in_first);
	store(&first->sequence, lap);
	return &first->sequence;
}

enum nn_ring_result nn_ring_try_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				     uint32_t n)
{
	uint32_t need = nn_ring_lines(n);
	enum nn_ring_result result;

	if (!n || n > ring->map.capacity)
		return NN_RING_TOO_BIG;
	if (nn_ring_is_dead(ring))
		return NN_RING_DEAD;
	result = find_room(ring, need);
	if (result)
		return result;
	/* The packet is counted before it is visible, so that its receiver sees the new count. */
	count(&ring->map.mine->packets);
	look_for_sleeper(ring, write_packet(ring, datums, n));
	ring->tx_sent += need;
	return NN_RING_OK;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sleeps until the other end frees lines, at most until until_ns. */
static void sleep_for_room(struct nn_ring *ring, uint64_t until_ns)
{
	store(&ring->map.mine->waiting, NNACCEL_WAIT_SPACE);
	nn_ring_barrier();
	if (!nn_ring_is_dead(ring))
		futex_wait(&ring->map.peer->consumed, ring->tx_freed, until_ns);
	store(&ring->map.mine->waiting, 0);
	count(&ring->map.mine->sleeps);
}

enum nn_ring_result nn_ring_send(struct nn_ring *ring, const struct nnaccel_datum *datums,
				 uint32_t n, uint64_t until_ns)
{
	enum nn_ring_result result;
	uint64_t now;

	for (;;) {
		result = nn_ring_try_send(ring, datums, n);
		if (result != NN_RING_AGAIN)
			return result;
		if (ring->owes_wake)
			look_for_sleeper(ring, NULL);
		now = clock_ns();
		if (now >= until_ns)
			return NN_RING_AGAIN;
		sleep_for_room(ring, min_u64(now + ring->slice_ns, until_ns));
	}
}

/* ---- receiving ---- */

/* Returns whether the sequence word of the next line to read has changed since the previous lap. */
static bool line_changed(const struct nn_ring *ring)
{
	return load(&rx_line(ring, ring->rx_line)->sequence) != ring->rx_lap - 1;
}

bool nn_ring_has_packet(const struct nn_ring *ring)
{
	return line_changed(ring);
}

/*
 * Copies the packet that begins at line rx_line; the first line of the packet must have arrived.
 * Does not change *ring.
 */
static enum nn_ring_result read_packet(const struct nn_ring *ring, struct nnaccel_datum *datums,
				       uint32_t *size)
{
	const struct nnaccel_line *line = rx_line(ring, ring->rx_line);
	uint32_t at = ring->rx_line, lap = ring->rx_lap;
	uint32_t n, done;

	memcpy(datums, line->datums, sizeof(*datums));
	copied();
	n = datums->u.request.size;
	if (!n || n > ring->map.capacity)
		return NN_RING_BROKEN;
	done = min_u32(n, NNACCEL_LINE_DATUMS);
	if (done > 1)
		datums[1] = line->datums[1];
	if (done > 2)
		datums[2] = line->datums[2];
	while (done < n) {
		uint32_t here = min_u32(n - done, NNACCEL_LINE_DATUMS);

		advance(ring, &at, &lap);
		line = rx_line(ring, at);
		if (load(&line->sequence) != lap)
			return NN_RING_BROKEN;
		copy_datums(datums + done, line->datums, here);
		done += here;
	}
	copied();
	*size = n;
	return NN_RING_OK;
}

/*
 * Prefetches the lines of the next packet to send, because an answer or another packet usually
 * follows. The first line is not prefetched, because the other end reads the first line while
 * waiting for a packet.
 */
static void claim_lines(const struct nn_ring *ring)
{
	uint32_t at = ring->tx_line;

	for (int i = 0; i < CLAIMED_LINES; i++) {
		if (++at == ring->map.lines)
			at = 0;
		claim(tx_line(ring, at));
	}
}

/* Frees the lines of a received packet of n datums, so that the sender can use the lines again. */
static void free_lines(struct nn_ring *ring, uint32_t n)
{
	uint32_t lines = nn_ring_lines(n);
	uint32_t at = ring->rx_line + lines;

	if (at >= ring->map.lines) {
		at -= ring->map.lines;
		ring->rx_lap++;
	}
	__atomic_store_n(&ring->rx_line, at, __ATOMIC_RELAXED);
	ring->rx_taken += lines;
	store(&ring->map.mine->consumed, ring->rx_taken);
	ring->owes_wake = true;
}

enum nn_ring_result nn_ring_try_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
					uint32_t *size)
{
	uint32_t sequence = load(&rx_line(ring, ring->rx_line)->sequence);
	enum nn_ring_result result;

	if (sequence == ring->rx_lap - 1)
		return nn_ring_is_dead(ring) ? NN_RING_DEAD : NN_RING_AGAIN;
	if (sequence != ring->rx_lap)
		return NN_RING_BROKEN;
	result = read_packet(ring, datums, size);
	if (!result) {
		claim_lines(ring);
		free_lines(ring, *size);
	}
	return result;
}

void nn_ring_break(struct nn_ring *ring)
{
	struct nnaccel_line *next = tx_line(ring, ring->tx_line);

	store(&next->sequence, ring->tx_lap + 1);
	look_for_sleeper(ring, &next->sequence);
}

/* ---- waiting ---- */

/*
 * Checks for a packet without reading the clock. Between checks the thread pauses, because each
 * check transfers the cache line that the other end will write next, which delays the other end.
 */
static bool look_blindly(const struct nn_ring *ring)
{
	for (int i = 0; i < BLIND_LOOKS; i++) {
		if (line_changed(ring))
			return true;
		spin_pause();
	}
	return false;
}

/* Checks for a packet up to LOOKS_PER_TIME times; returns true if a packet arrived. */
static bool look(const struct nn_ring *ring)
{
	for (int i = 0; i < LOOKS_PER_TIME; i++) {
		if (line_changed(ring))
			return true;
		spin_pause();
	}
	return false;
}

/* Spins until a packet arrives, the burst is dead, or the time is until_ns. */
static void spin(struct nn_ring *ring, uint64_t now_ns, uint64_t until_ns)
{
	bool found;

	do {
		uint64_t last_ns = now_ns;

		found = look(ring);
		now_ns = clock_ns();
		if (now_ns - last_ns >= NN_HELD_UP_NS)
			nn_waiter_held_up(&ring->waiter);
	} while (!found && !nn_ring_is_dead(ring) && now_ns < until_ns);
}

/*
 * Sleeps until a packet arrives, at most until until_ns; returns true if the sleep ended at
 * until_ns.
 */
static bool sleep_for_packet(struct nn_ring *ring, uint64_t until_ns)
{
	bool late = false;

	store(&ring->map.mine->waiting, NNACCEL_WAIT_PACKET);
	nn_ring_barrier();
	if (!nn_ring_is_dead(ring)) {
		late = futex_wait(&rx_line(ring, ring->rx_line)->sequence, ring->rx_lap - 1,
				  until_ns);
		ring->slept = true;
	}
	store(&ring->map.mine->waiting, 0);
	return late;
}

/*
 * Makes one step of a wait that began at start_ns: sleeps or spins, as nn_waiter_plan() has
 * planned.
 */
static void wait_step(struct nn_ring *ring, const struct nn_wait_plan *plan, uint64_t start_ns,
		      uint64_t until_ns)
{
	uint64_t now = clock_ns(), took = now - start_ns;
	uint64_t tail_ns = start_ns + plan->sleep_ns;
	uint64_t slice_ns = min_u64(now + ring->slice_ns, until_ns);

	if (took < plan->sleep_ns && tail_ns <= slice_ns) {
		if (sleep_for_packet(ring, tail_ns))
			nn_waiter_learn_late(&ring->waiter, clock_ns() - tail_ns);
	} else if (took >= plan->sleep_ns && took < plan->spin_ns) {
		spin(ring, now, min_u64(start_ns + plan->spin_ns, until_ns));
	} else {
		sleep_for_packet(ring, slice_ns);
	}
}

static void count_wait(struct nn_ring *ring)
{
	count(ring->slept ? &ring->map.mine->sleeps : &ring->map.mine->spins);
}

static enum nn_ring_result wait_by_clock(struct nn_ring *ring, struct nnaccel_datum *datums,
					 uint32_t *size, uint64_t until_ns)
{
	struct nn_wait_plan plan = nn_waiter_plan(&ring->waiter);
	uint64_t start_ns = clock_ns();
	enum nn_ring_result result;

	ring->slept = false;
	for (;;) {
		wait_step(ring, &plan, start_ns, until_ns);
		result = nn_ring_try_receive(ring, datums, size);
		if (result != NN_RING_AGAIN)
			break;
		if (until_ns != NN_RING_FOREVER && clock_ns() >= until_ns)
			break;
	}
	nn_waiter_learn(&ring->waiter, clock_ns() - start_ns, ring->slept);
	count_wait(ring);
	return result;
}

enum nn_ring_result nn_ring_receive(struct nn_ring *ring, struct nnaccel_datum *datums,
				    uint32_t *size, uint64_t until_ns)
{
	enum nn_ring_result result = nn_ring_try_receive(ring, datums, size);
	struct nn_wait_plan plan;

	if (result != NN_RING_AGAIN)
		return result;
	if (ring->owes_wake)
		look_for_sleeper(ring, NULL);
	plan = nn_waiter_plan(&ring->waiter);
	if (!plan.sleep_ns && plan.spin_ns && look_blindly(ring)) {
		result = nn_ring_try_receive(ring, datums, size);
		if (ring->waiter.mean_ns > 2 * BLIND_NS)
			nn_waiter_learn(&ring->waiter, BLIND_NS, false);
		count(&ring->map.mine->spins);
		return result;
	}
	return wait_by_clock(ring, datums, size, until_ns);
}

void nn_ring_interrupt(struct nn_ring *ring)
{
	uint32_t at = __atomic_load_n(&ring->rx_line, __ATOMIC_RELAXED);

	futex_wake(&rx_line(ring, at)->sequence);
	futex_wake(&ring->map.peer->consumed);
}

/* ---- the doorbell ---- */

bool nn_ring_park(struct nn_ring *ring)
{
	store(&ring->map.mine->waiting, NNACCEL_WAIT_DOORBELL);
	look_for_sleeper(ring, NULL);
	if (!line_changed(ring) && !nn_ring_is_dead(ring))
		return true;
	nn_ring_unpark(ring);
	return false;
}

void nn_ring_unpark(struct nn_ring *ring)
{
	store(&ring->map.mine->waiting, 0);
}

uint32_t nn_doorbell_read(const uint32_t *doorbell)
{
	return load(doorbell);
}

void nn_doorbell_wait(const uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns)
{
	futex_wait(doorbell, seen, clock_ns() + timeout_ns);
}

void nn_ring_count_miss(struct nn_ring *ring)
{
	count(&ring->map.mine->misses);
}

void nn_ring_count_fallback(struct nn_ring *ring)
{
	count(&ring->map.mine->fallbacks);
}

void nn_ring_count_device(struct nn_ring *ring, uint64_t ns)
{
	add(&ring->map.mine->device_ns, ns);
}
