/* SPDX-License-Identifier: MIT */
/*
 * Tests the rings of a burst in plain memory, as client and as worker, with complete packets,
 * hostile data, sleeps and wake-ups. The test passes malformed packets of every kind to the parsers
 * of requests and results.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/round.h"
#include "ring/packet.h"
#include "ring/regions.h"
#include "ring/ring.h"
#include "tests/heap_blocks.h"

#define MAX_CAPACITY 64
#define RESULT_DATUMS 5	/* number of datums in result_sample()'s packet without the message */

/* The rings and the status page of a burst, as client and worker see them. */
struct pair {
	struct nnaccel_burst_status status;
	void *memory[2];
	uint32_t doorbell;
	struct nn_ring client;
	struct nn_ring worker;
	struct nnaccel_datum in[MAX_CAPACITY];
};

static void pair_init(struct pair *p, uint32_t capacity, uint64_t spin_ns)
{
	struct nn_ring_map map;
	size_t bytes = round_up(nn_ring_bytes(capacity), 64);

	memset(p, 0, sizeof(*p));
	p->status.state = NNACCEL_BURST_ALIVE;
	for (int i = 0; i < 2; i++) {
		p->memory[i] = aligned_alloc(64, bytes);
		assert_non_null(p->memory[i]);
		memset(p->memory[i], 0, bytes);
	}
	map = (struct nn_ring_map){
		.status = &p->status, .mine = p->memory[0], .peer = p->memory[1],
		.doorbell = &p->doorbell, .lines = nn_ring_lines(capacity), .capacity = capacity,
	};
	assert_int_equal(nn_ring_init(&p->client, &map, spin_ns), NN_RING_OK);
	map.mine = p->memory[1];
	map.peer = p->memory[0];
	map.doorbell = NULL;
	assert_int_equal(nn_ring_init(&p->worker, &map, spin_ns), NN_RING_OK);
}

static void pair_free(struct pair *p)
{
	free(p->memory[0]);
	free(p->memory[1]);
}

static struct nnaccel_line *lines_of(struct pair *p, int ring)
{
	return (void *)((char *)p->memory[ring] + NNACCEL_RING_LINES);
}

static struct nnaccel_ring_control *control_of(struct pair *p, int ring)
{
	return p->memory[ring];
}

/* Makes a packet of `n` datums, each of which contains its index and `seed`. */
static void make_packet(struct nnaccel_datum *datums, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		datums[i] = (struct nnaccel_datum){ .kind = (uint8_t)(i + 1), .rank = (uint16_t)i };
		datums[i].u.words[1] = seed;
		datums[i].u.words[2] = i;
	}
	datums[0].u.request.size = n;
}

/*
 * An event that the test's clock_gettime() causes when a waiting thread reads the clock, after the
 * thread's last check and before its sleep.
 */
static struct {
	struct pair *of;
	bool dies;		/* kind of event: the burst dies, or the client sends a packet */
	int after;		/* number of readings of the clock before the event */
} at_clock;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	struct pair *p = at_clock.of;
	struct nnaccel_datum out[1];

	if (p && !at_clock.after--) {
		at_clock.of = NULL;
		make_packet(out, 1, 0);
		if (at_clock.dies)
			p->status.state = NNACCEL_BURST_DEAD;
		else
			assert_int_equal(nn_ring_try_send(&p->client, out, 1), NN_RING_OK);
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}

/* ---- transport ---- */

static void test_geometry(void **state)
{
	struct nn_ring_map map = { .lines = 1, .capacity = 4 };
	struct nn_ring ring;

	(void)state;
	assert_int_equal(nn_ring_lines(0), 0);
	assert_int_equal(nn_ring_lines(1), 1);
	assert_int_equal(nn_ring_lines(3), 1);
	assert_int_equal(nn_ring_lines(4), 2);
	assert_int_equal(nn_ring_lines(UINT32_MAX), UINT32_MAX / 3);
	assert_int_equal(nn_ring_bytes(1024), 256 + 342 * 64);
	assert_int_equal(nn_ring_init(&ring, &map, 0), NN_RING_BROKEN);
	map.capacity = 0;
	assert_int_equal(nn_ring_init(&ring, &map, 0), NN_RING_BROKEN);
	map.capacity = NNACCEL_BURST_MAX_CAPACITY + 1;
	map.lines = nn_ring_lines(map.capacity);
	assert_int_equal(nn_ring_init(&ring, &map, 0), NN_RING_BROKEN);
	map.capacity = NNACCEL_BURST_MAX_CAPACITY;
	map.lines = nn_ring_lines(map.capacity);
	assert_int_equal(nn_ring_init(&ring, &map, 0), NN_RING_OK);
	assert_int_equal(ring.waiter.budget_ns, 0);
	assert_int_equal(nn_ring_init(&ring, &map, 123), NN_RING_OK);
	assert_int_equal(ring.waiter.budget_ns, 123);
	map.lines++;
	assert_int_equal(nn_ring_init(&ring, &map, 0), NN_RING_BROKEN);
}

/* Without the kernel module, a client writes the status page. */
static struct {
	/* `later` replaces *status while the rings are mapped. */
	struct nnaccel_burst_status *status, later;
	size_t longest, shortest;	/* lengths of the mapped rings */
} hostile;

static void *map_hostile(const void *end, size_t length, int prot, uint64_t region)
{
	void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)prot;
	assert_ptr_not_equal(base, MAP_FAILED);
	if (region == NNACCEL_BURST_STATUS) {
		hostile.status = memcpy(base, end, sizeof(*hostile.status));
		return base;
	}
	*hostile.status = hostile.later;
	hostile.longest = length > hostile.longest ? length : hostile.longest;
	hostile.shortest = length < hostile.shortest ? length : hostile.shortest;
	return base;
}

/*
 * The worker uses no lines outside of the mapped rings, even if the client changes the status page
 * while the worker maps the rings.
 */
static void test_hostile_status(void **state)
{
	const uint32_t most = NNACCEL_BURST_MAX_CAPACITY, lines = nn_ring_lines(most);
	const uint32_t bytes = (uint32_t)nn_ring_bytes(most), page = (uint32_t)sysconf(_SC_PAGESIZE);
	const struct {
		struct nnaccel_burst_status first, later;
		bool is_good;
	} cases[] = {
		{ { 1, lines, most, bytes, 0 }, { 1, 1, 1, 1, 0 }, true },
		{ { 1, 1, 3, page, 0 }, { 1, lines, most, bytes, 0 }, true },
		{ { 1, lines, most, bytes - 1, 0 }, { 1, lines, most, bytes, 0 }, false },
		{ { 1, lines, most, 0, 0 }, { 1, lines, most, bytes, 0 }, false },
		{ { 1, 0, UINT32_MAX, bytes, 0 }, { 1, lines, most, bytes, 0 }, false },
		{ { 1, 2, 3, bytes, 0 }, { 1, 1, 3, bytes, 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nnaccel_burst_status *first = &cases[i].first;
		struct nn_rings rings = { .status = { NULL, 0 } };
		struct nn_ring_map map;
		struct nn_ring ring;
		bool is_good;

		hostile.later = cases[i].later;
		hostile.longest = 0;
		hostile.shortest = SIZE_MAX;
		is_good = nn_rings_map(&rings, map_hostile, first, false, &map) &&
			  nn_ring_init(&ring, &map, 0) == NN_RING_OK;
		assert_int_equal(is_good, cases[i].is_good);
		if (is_good) {
			assert_int_equal(ring.map.capacity, first->capacity);
			assert_int_equal(hostile.longest, round_up(first->ring_bytes, page));
			assert_int_equal(hostile.shortest, hostile.longest);
		}
		nn_rings_unmap(&rings);
	}
}

/* nn_ring_result_name() returns a different name for each result. */
static void test_names(void **state)
{
	(void)state;
	for (int a = NN_RING_OK; a <= NN_RING_DEAD + 1; a++)
		for (int b = NN_RING_OK; b < a; b++)
			assert_string_not_equal(nn_ring_result_name(a), nn_ring_result_name(b));
}

/*
 * Sends packets of every length through rings of every small capacity, so many packets that the
 * rings wrap.
 */
static void test_packets_arrive_whole(void **state)
{
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;
	uint32_t n;

	(void)state;
	for (uint32_t capacity = 1; capacity <= 16; capacity++) {
		pair_init(&p, capacity, 0);
		for (uint32_t i = 0; i < 200; i++) {
			uint32_t length = i % capacity + 1;

			make_packet(out, length, i);
			assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_AGAIN);
			assert_int_equal(nn_ring_try_send(&p.client, out, length), NN_RING_OK);
			assert_true(nn_ring_has_packet(&p.worker));
			memset(p.in, 0xa5, sizeof(p.in));
			assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
			assert_int_equal(n, length);
			assert_memory_equal(p.in, out, length * sizeof(*out));
			assert_int_equal(((uint8_t *)&p.in[length])[0], 0xa5);
		}
		assert_int_equal(control_of(&p, 0)->packets, 200);
		assert_int_equal(control_of(&p, 0)->wakes, 0);
		pair_free(&p);
	}
}

/* A line that a packet does not fill must not contain data of an older packet. */
static void test_rest_of_a_line(void **state)
{
	static const struct nnaccel_datum zeroes[NNACCEL_LINE_DATUMS];
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 9, 1);
	for (uint32_t length = 1; length <= 9; length++) {
		uint32_t lines = nn_ring_lines(length), rest = 3 * lines - length;

		memset(lines_of(&p, 0), 0xee, nn_ring_bytes(9) - NNACCEL_RING_LINES);
		p.client.tx_line = 0;
		out[0].u.request.size = length;
		assert_int_equal(nn_ring_try_send(&p.client, out, length), NN_RING_OK);
		assert_memory_equal(&lines_of(&p, 0)[lines - 1].datums[3 - rest], zeroes,
				    rest * sizeof(*zeroes));
		p.worker.rx_line = 0;
		p.worker.rx_lap = p.client.tx_lap - (lines == 3);
		assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
		assert_memory_equal(p.in, out, length * sizeof(*out));
	}
	pair_free(&p);
}

static void test_full_ring(void **state)
{
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 9, 0);
	assert_int_equal(nn_ring_try_send(&p.client, out, 0), NN_RING_TOO_BIG);
	assert_int_equal(nn_ring_try_send(&p.client, out, 10), NN_RING_TOO_BIG);
	make_packet(out, 4, 1);
	assert_int_equal(nn_ring_try_send(&p.client, out, 4), NN_RING_OK);
	/*
	 * Only one line of the ring is free, so the sender writes no part of a packet of two lines.
	 */
	assert_int_equal(nn_ring_try_send(&p.client, out, 4), NN_RING_AGAIN);
	assert_int_equal(lines_of(&p, 0)[2].sequence, 0);
	assert_int_equal(nn_ring_send(&p.client, out, 4, clock_ns() + 1000000), NN_RING_AGAIN);
	make_packet(out, 3, 2);
	assert_int_equal(nn_ring_try_send(&p.client, out, 3), NN_RING_OK);
	assert_int_equal(nn_ring_try_send(&p.client, out, 3), NN_RING_AGAIN);
	assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
	assert_int_equal(n, 4);
	make_packet(out, 6, 3);
	assert_int_equal(nn_ring_try_send(&p.client, out, 6), NN_RING_OK);
	assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
	assert_int_equal(n, 3);
	assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
	assert_int_equal(n, 6);
	assert_memory_equal(p.in, out, 6 * sizeof(*out));
	pair_free(&p);
}

/* The rings still work after their counters of lines and laps overflow. */
static void test_counts_wrap(void **state)
{
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 0);
	p.client.tx_sent = p.client.tx_freed = p.worker.rx_taken = UINT32_MAX - 2;
	control_of(&p, 1)->consumed = UINT32_MAX - 2;
	p.client.tx_lap = p.worker.rx_lap = UINT32_MAX;
	for (int i = 0; i < 3; i++)
		lines_of(&p, 0)[i].sequence = UINT32_MAX - 1;
	for (uint32_t i = 0; i < 20; i++) {
		make_packet(out, 7, i);
		assert_int_equal(nn_ring_try_send(&p.client, out, 7), NN_RING_OK);
		assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_AGAIN);
		assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
		assert_memory_equal(p.in, out, 7 * sizeof(*out));
	}
	pair_free(&p);
}

/* ---- a hostile peer ---- */

static void test_hostile_sequence(void **state)
{
	static const uint32_t values[] = { 2, 3, 0x80000000, UINT32_MAX };
	struct pair p;
	uint32_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		pair_init(&p, 9, 0);
		lines_of(&p, 0)[0].sequence = values[i];
		assert_true(nn_ring_has_packet(&p.worker));
		assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_BROKEN);
		assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, NN_RING_FOREVER),
				 NN_RING_BROKEN);
		pair_free(&p);
	}
}

static void test_hostile_size(void **state)
{
	static const uint32_t values[] = { 0, 10, 0x55555555, 0x80000000, UINT32_MAX };
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;
	uint32_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		pair_init(&p, 9, 0);
		make_packet(out, 9, 0);
		assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_OK);
		lines_of(&p, 0)[0].datums[0].u.request.size = values[i];
		assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_BROKEN);
		pair_free(&p);
	}
}

/* The first line of a hostile packet states more lines than were written. */
static void test_hostile_length(void **state)
{
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 9, 0);
	assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_OK);
	lines_of(&p, 0)[2].sequence = 0;
	assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_BROKEN);
	pair_free(&p);
}

static void test_hostile_consumed(void **state)
{
	static const uint32_t values[] = { 4, 0x80000000, UINT32_MAX };
	struct nnaccel_datum out[MAX_CAPACITY];
	struct pair p;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		pair_init(&p, 9, 0);
		make_packet(out, 9, 0);
		assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_OK);
		control_of(&p, 1)->consumed = values[i];
		assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_BROKEN);
		assert_int_equal(nn_ring_send(&p.client, out, 9, NN_RING_FOREVER), NN_RING_BROKEN);
		pair_free(&p);
	}
}

/*
 * If the peer writes an invalid value to the word `waiting`, a sender still sends its packet, and
 * only makes system calls for wake-ups that are not needed.
 */
static void test_hostile_waiting(void **state)
{
	struct nnaccel_datum out[1];
	struct pair p;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 1, 0);
	control_of(&p, 0)->waiting = UINT32_MAX;
	control_of(&p, 1)->waiting = UINT32_MAX;
	assert_int_equal(nn_ring_try_send(&p.worker, out, 1), NN_RING_OK);
	assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_OK);
	assert_int_equal(p.doorbell, 1);
	pair_free(&p);
}

/*
 * Expected numbers of wake-ups for packets and for freed lines, depending on the peer's word
 * `waiting`.
 */
static const struct {
	uint32_t waiting;
	uint64_t client_sends, worker_sends, frees;
} wakes[] = {
	{ 0, 0, 0, 0 }, { NNACCEL_WAIT_SPACE, 1, 1, 1 }, { NNACCEL_WAIT_PACKET, 1, 1, 0 },
	/*
	 * The client wakes a parked worker through the doorbell; the worker never uses the
	 * doorbell.
	 */
	{ NNACCEL_WAIT_DOORBELL, 1, 0, 0 }, { UINT32_MAX, 3, 2, 1 },
};

static void test_wakes(void **state)
{
	struct nnaccel_datum out[1];
	struct pair p;
	uint32_t n;

	(void)state;
	make_packet(out, 1, 0);
	for (size_t i = 0; i < sizeof(wakes) / sizeof(wakes[0]); i++) {
		pair_init(&p, 9, 0);
		control_of(&p, 0)->waiting = wakes[i].waiting;
		assert_int_equal(nn_ring_try_send(&p.worker, out, 1), NN_RING_OK);
		assert_int_equal(control_of(&p, 1)->wakes, wakes[i].worker_sends);
		control_of(&p, 0)->waiting = 0;
		control_of(&p, 1)->waiting = wakes[i].waiting;
		assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_OK);
		assert_int_equal(control_of(&p, 0)->wakes, wakes[i].client_sends);
		assert_int_equal(p.doorbell, !!(wakes[i].waiting & NNACCEL_WAIT_DOORBELL));
		/*
		 * The peer is woken for freed lines only at the next send or wait, and only once.
		 */
		assert_int_equal(nn_ring_try_receive(&p.client, p.in, &n), NN_RING_OK);
		assert_int_equal(control_of(&p, 0)->wakes, wakes[i].client_sends);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(nn_ring_receive(&p.client, p.in, &n, 0), NN_RING_AGAIN);
			assert_int_equal(control_of(&p, 0)->wakes,
					 wakes[i].client_sends + wakes[i].frees);
		}
		pair_free(&p);
	}
}

/*
 * A sender that must wait for room first wakes its peer, because the peer may wait for lines that
 * the sender has freed in the peer's ring.
 */
static void test_owed_to_a_full_ring(void **state)
{
	struct nnaccel_datum out[3];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 3, 0);
	make_packet(out, 3, 0);
	assert_int_equal(nn_ring_try_send(&p.worker, out, 3), NN_RING_OK);
	assert_int_equal(nn_ring_try_send(&p.client, out, 3), NN_RING_OK);
	assert_int_equal(nn_ring_try_receive(&p.client, p.in, &n), NN_RING_OK);
	control_of(&p, 1)->waiting = NNACCEL_WAIT_SPACE;
	assert_int_equal(nn_ring_send(&p.client, out, 3, 0), NN_RING_AGAIN);
	assert_int_equal(control_of(&p, 0)->wakes, 1);
	assert_int_equal(nn_ring_send(&p.client, out, 3, 0), NN_RING_AGAIN);
	assert_int_equal(control_of(&p, 0)->wakes, 1);
	pair_free(&p);
}

/* Client and worker each count their sleeps, spins and wake-ups in their own ring. */
static void test_counts(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, 9, 0);
	for (uint32_t i = 1; i < 3; i++) {
		nn_ring_count_miss(&p.worker);
		assert_int_equal(control_of(&p, 1)->misses, i);
		assert_int_equal(control_of(&p, 1)->fallbacks, i - 1);
		nn_ring_count_fallback(&p.worker);
		assert_int_equal(control_of(&p, 1)->fallbacks, i);
	}
	nn_ring_count_device(&p.worker, 5);
	nn_ring_count_device(&p.worker, 0);
	nn_ring_count_device(&p.worker, UINT64_C(1) << 33);
	assert_int_equal(control_of(&p, 1)->device_ns, (UINT64_C(1) << 33) + 5);
	assert_int_equal(control_of(&p, 0)->misses + control_of(&p, 0)->fallbacks, 0);
	assert_int_equal(control_of(&p, 0)->device_ns, 0);
	pair_free(&p);
}

/*
 * If the worker breaks its ring, the client receives the packets that arrived before the break, and
 * then NN_RING_BROKEN.
 */
static void test_given_up(void **state)
{
	struct nnaccel_datum out[1];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 1, 0);
	assert_int_equal(nn_ring_try_send(&p.worker, out, 1), NN_RING_OK);
	control_of(&p, 0)->waiting = NNACCEL_WAIT_PACKET;
	nn_ring_break(&p.worker);
	assert_int_equal(control_of(&p, 1)->wakes, 1);
	assert_int_equal(nn_ring_receive(&p.client, p.in, &n, NN_RING_FOREVER), NN_RING_OK);
	assert_int_equal(nn_ring_receive(&p.client, p.in, &n, NN_RING_FOREVER), NN_RING_BROKEN);
	pair_free(&p);
}

static void test_dead(void **state)
{
	struct nnaccel_datum out[1];
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 1000000);
	make_packet(out, 1, 0);
	assert_int_equal(nn_ring_try_send(&p.worker, out, 1), NN_RING_OK);
	p.status.state = NNACCEL_BURST_DEAD;
	assert_true(nn_ring_is_dead(&p.client));
	/* The client can still read the packet that arrived before the burst died. */
	assert_int_equal(nn_ring_receive(&p.client, p.in, &n, NN_RING_FOREVER), NN_RING_OK);
	assert_int_equal(nn_ring_receive(&p.client, p.in, &n, NN_RING_FOREVER), NN_RING_DEAD);
	assert_int_equal(nn_ring_send(&p.client, out, 1, NN_RING_FOREVER), NN_RING_DEAD);
	assert_false(nn_ring_park(&p.worker));
	pair_free(&p);
}

/* ---- waiting ---- */

static void test_time_is_up(void **state)
{
	struct nnaccel_datum out[9];
	uint64_t until_ns, sleeps;
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 100000);
	p.client.slice_ns = 3600 * NS_PER_S;
	for (int i = 0; i < 3; i++) {
		until_ns = clock_ns() + 2000000;
		assert_int_equal(nn_ring_receive(&p.client, p.in, &n, until_ns), NN_RING_AGAIN);
		assert_true(clock_ns() >= until_ns);
	}
	assert_int_equal(control_of(&p, 0)->waiting, 0);
	assert_int_equal(control_of(&p, 0)->sleeps + control_of(&p, 0)->spins, 3);
	/* A wait for room in a full ring ends at the wait's timeout. */
	make_packet(out, 9, 0);
	assert_int_equal(nn_ring_send(&p.client, out, 9, 0), NN_RING_OK);
	sleeps = control_of(&p, 0)->sleeps;
	until_ns = clock_ns() + 2000000;
	assert_int_equal(nn_ring_send(&p.client, out, 9, until_ns), NN_RING_AGAIN);
	assert_true(clock_ns() >= until_ns);
	assert_in_range(control_of(&p, 0)->sleeps - sleeps, 1, 3);
	assert_int_equal(control_of(&p, 0)->waiting, 0);
	pair_free(&p);
}

static void *receive_thread(void *data)
{
	struct pair *p = data;
	uint32_t n;

	return (void *)(uintptr_t)nn_ring_receive(&p->worker, p->in, &n, NN_RING_FOREVER);
}

/* Makes the worker expect a packet so soon that the worker spins instead of sleeping. */
static void begin_to_spin(struct pair *p)
{
	pair_init(p, 9, 3600 * NS_PER_S);
	for (int i = 0; i < 32; i++)
		nn_waiter_learn(&p->worker.waiter, 3000, false);
	assert_true(nn_waiter_plan(&p->worker.waiter).spin_ns == 3600 * NS_PER_S);
}

static void check_spun(struct pair *p, uint64_t spins)
{
	assert_int_equal(control_of(p, 1)->spins, spins);
	assert_int_equal(control_of(p, 1)->sleeps, 0);
	assert_int_equal(control_of(p, 0)->wakes, 0);
}

static void test_spins(void **state)
{
	struct nnaccel_datum out[1];
	uint64_t until_ns;
	pthread_t thread;
	struct pair p;
	void *result;
	uint32_t n;

	(void)state;
	make_packet(out, 1, 0);
	begin_to_spin(&p);
	until_ns = clock_ns() + 2000000;
	assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, until_ns), NN_RING_AGAIN);
	assert_true(clock_ns() >= until_ns);
	check_spun(&p, 1);
	pair_free(&p);
	for (int dies = 0; dies < 2; dies++) {
		begin_to_spin(&p);
		assert_int_equal(pthread_create(&thread, NULL, receive_thread, &p), 0);
		usleep(1000);
		if (dies)
			__atomic_store_n(&p.status.state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
		else
			assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_OK);
		pthread_join(thread, &result);
		assert_int_equal((uintptr_t)result, dies ? NN_RING_DEAD : NN_RING_OK);
		assert_true(control_of(&p, 1)->spins <= 1);
		check_spun(&p, control_of(&p, 1)->spins);
		pair_free(&p);
	}
}

static void await_word(const uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		usleep(100);
}

static void test_sleeper_is_woken(void **state)
{
	struct nnaccel_datum out[1];
	pthread_t thread;
	struct pair p;
	void *result;

	(void)state;
	pair_init(&p, 9, 0);
	p.worker.slice_ns = 3600 * NS_PER_S;
	assert_int_equal(pthread_create(&thread, NULL, receive_thread, &p), 0);
	await_word(&control_of(&p, 1)->waiting, NNACCEL_WAIT_PACKET);
	make_packet(out, 1, 0);
	assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_OK);
	pthread_join(thread, &result);
	assert_int_equal((uintptr_t)result, NN_RING_OK);
	assert_int_equal(control_of(&p, 0)->wakes, 1);
	assert_int_equal(control_of(&p, 1)->sleeps, 1);
	pair_free(&p);
}

static void *send_thread(void *data)
{
	struct pair *p = data;
	struct nnaccel_datum out[9];

	make_packet(out, 9, 0);
	return (void *)(uintptr_t)nn_ring_send(&p->client, out, 9, NN_RING_FOREVER);
}

/*
 * A sleeping thread notices that the burst is dead only when nn_ring_interrupt() wakes it. The test
 * interrupts repeatedly, because an interrupt may come before the thread sleeps.
 */
static void test_sleeper_sees_death(void **state)
{
	struct nnaccel_datum out[9];
	pthread_t thread;
	struct pair p;
	void *result;

	(void)state;
	make_packet(out, 9, 0);
	for (int sends = 0; sends < 2; sends++) {
		struct nn_ring *end = sends ? &p.client : &p.worker;

		pair_init(&p, 9, 0);
		if (sends)
			assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_OK);
		end->slice_ns = 3600 * NS_PER_S;
		assert_int_equal(pthread_create(&thread, NULL, sends ? send_thread : receive_thread,
						&p), 0);
		await_word(&control_of(&p, !sends)->waiting,
			   sends ? NNACCEL_WAIT_SPACE : NNACCEL_WAIT_PACKET);
		__atomic_store_n(&p.status.state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
		while (pthread_tryjoin_np(thread, &result)) {
			nn_ring_interrupt(end);
			usleep(1000);
		}
		assert_int_equal((uintptr_t)result, NN_RING_DEAD);
		pair_free(&p);
	}
}

/*
 * A waiting thread neither sleeps nor continues to spin if the burst died after the thread's last
 * check.
 */
static void test_dies_before_sleep(void **state)
{
	enum { SLEEPS, SPINS, SENDS, WAYS };
	struct nnaccel_datum out[9];
	struct pair p;
	uint32_t n;

	(void)state;
	make_packet(out, 9, 0);
	for (int way = SLEEPS; way < WAYS; way++) {
		if (way == SPINS)
			begin_to_spin(&p);
		else
			pair_init(&p, 9, 0);
		p.client.slice_ns = p.worker.slice_ns = 3600 * NS_PER_S;
		if (way == SENDS)
			assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_OK);
		at_clock.of = &p;
		at_clock.dies = true;
		at_clock.after = way == SPINS ? 2 : 0;
		if (way == SENDS)
			assert_int_equal(nn_ring_send(&p.client, out, 9, NN_RING_FOREVER),
					 NN_RING_DEAD);
		else
			assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, NN_RING_FOREVER),
					 NN_RING_DEAD);
		assert_null(at_clock.of);
		assert_int_equal(control_of(&p, 1)->sleeps, 0);
		pair_free(&p);
	}
}

static void expect_long(struct nn_waiter *waiter)
{
	for (int i = 0; i < 64; i++)
		nn_waiter_learn(waiter, 1500000, true);
	assert_true(nn_waiter_plan(waiter).sleep_ns > 1000000);
}

/*
 * A worker that expects a packet at a later time sleeps until shortly before this time, and
 * measures how late it wakes.
 */
static void test_tail(void **state)
{
	uint64_t until_ns, late_ns;
	struct pair p;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 200000);
	p.worker.slice_ns = 3600 * NS_PER_S;
	expect_long(&p.worker.waiter);
	late_ns = p.worker.waiter.late_ns;
	/*
	 * The worker does not update `late_ns` if a packet comes or the wait times out before the
	 * worker sleeps.
	 */
	at_clock.of = &p;
	at_clock.dies = false;
	at_clock.after = 1;
	assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, NN_RING_FOREVER), NN_RING_OK);
	assert_null(at_clock.of);
	assert_int_equal(p.worker.waiter.late_ns, late_ns);
	expect_long(&p.worker.waiter);
	until_ns = clock_ns() + 1000;
	assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, until_ns), NN_RING_AGAIN);
	assert_true(clock_ns() >= until_ns);
	assert_int_equal(p.worker.waiter.late_ns, late_ns);
	/*
	 * Repeat the wait, because a wait that is delayed before its sleep does not update
	 * `late_ns`.
	 */
	for (int i = 0; i < 1000 && p.worker.waiter.late_ns == late_ns; i++) {
		expect_long(&p.worker.waiter);
		until_ns = clock_ns() + 2000000;
		assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, until_ns), NN_RING_AGAIN);
		assert_true(clock_ns() >= until_ns);
	}
	assert_int_not_equal(p.worker.waiter.late_ns, late_ns);
	pair_free(&p);
}

static void test_sleeper_for_room_is_woken(void **state)
{
	struct nnaccel_datum out[9];
	pthread_t thread;
	struct pair p;
	void *result;
	uint32_t n;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 9, 0);
	assert_int_equal(nn_ring_try_send(&p.client, out, 9), NN_RING_OK);
	p.client.slice_ns = p.worker.slice_ns = 3600 * NS_PER_S;
	assert_int_equal(pthread_create(&thread, NULL, send_thread, &p), 0);
	await_word(&control_of(&p, 0)->waiting, NNACCEL_WAIT_SPACE);
	assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
	/* The worker's wake-up of the client is deferred until the worker's next send or wait. */
	assert_int_equal(nn_ring_receive(&p.worker, p.in, &n, NN_RING_FOREVER), NN_RING_OK);
	pthread_join(thread, &result);
	assert_int_equal((uintptr_t)result, NN_RING_OK);
	assert_true(control_of(&p, 0)->sleeps > 0);
	assert_int_equal(control_of(&p, 0)->waiting, 0);
	pair_free(&p);
}

static void test_parked_end_rings(void **state)
{
	struct nnaccel_datum out[1];
	uint32_t n, seen;
	struct pair p;

	(void)state;
	pair_init(&p, 9, 0);
	make_packet(out, 1, 0);
	seen = nn_doorbell_read(&p.doorbell);
	assert_true(nn_ring_park(&p.worker));
	assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_OK);
	assert_int_not_equal(nn_doorbell_read(&p.doorbell), seen);
	/* The doorbell's word has changed, so nn_doorbell_wait() does not sleep. */
	nn_doorbell_wait(&p.doorbell, seen, 3600 * NS_PER_S);
	assert_true(nn_ring_has_packet(&p.worker));
	nn_ring_unpark(&p.worker);
	/* nn_ring_park() fails if the worker has a packet to read. */
	assert_false(nn_ring_park(&p.worker));
	assert_int_equal(control_of(&p, 1)->waiting, 0);
	assert_int_equal(nn_ring_try_receive(&p.worker, p.in, &n), NN_RING_OK);
	assert_int_equal(nn_ring_try_send(&p.client, out, 1), NN_RING_OK);
	assert_int_equal(p.doorbell, seen + 1);
	pair_free(&p);
}

static struct nn_wait_plan plan_after(uint64_t budget_ns, const uint64_t *took, size_t n)
{
	struct nn_waiter waiter;

	nn_waiter_init(&waiter, budget_ns);
	for (size_t i = 0; i < 64; i++)
		nn_waiter_learn(&waiter, took[i % n],
				took[i % n] > nn_waiter_plan(&waiter).spin_ns);
	return nn_waiter_plan(&waiter);
}

static void test_plans(void **state)
{
	const uint64_t fast[] = { 2000 }, slow[] = { 1500000 }, long_one[] = { 150000000 };
	const uint64_t wild[] = { 5000, 3000000, 900000 };
	struct nn_wait_plan plan;
	struct nn_waiter waiter;

	(void)state;
	/* A waiter without measurements plans to sleep. */
	nn_waiter_init(&waiter, 200000);
	plan = nn_waiter_plan(&waiter);
	assert_int_equal(plan.spin_ns, 0);
	/* A waiter that expects the next packet within microseconds plans to spin immediately. */
	plan = plan_after(200000, fast, 1);
	assert_int_equal(plan.sleep_ns, 0);
	assert_int_equal(plan.spin_ns, 200000);
	/*
	 * A waiter with long and steady waits plans to sleep first, and to spin around the expected
	 * time.
	 */
	plan = plan_after(200000, slow, 1);
	assert_true(plan.sleep_ns > 1000000 && plan.sleep_ns < 1500000);
	assert_true(plan.spin_ns > 1500000);
	assert_int_equal(plan.spin_ns - plan.sleep_ns, 1500000 / 4);
	/* A waiter spins for at most 2.5 times its spin budget. */
	plan = plan_after(200000, long_one, 1);
	assert_true(plan.sleep_ns > 140000000);
	assert_int_equal(plan.spin_ns - plan.sleep_ns, 500000);
	/* A waiter whose waits vary too much plans to sleep. */
	plan = plan_after(200000, wild, 3);
	assert_int_equal(plan.spin_ns, 0);
	/* No spinning allowed. */
	plan = plan_after(0, fast, 1);
	assert_int_equal(plan.spin_ns, 0);
	plan = plan_after(0, slow, 1);
	assert_int_equal(plan.spin_ns, 0);
}

/* After one long pause, a waiter still expects the next waits to be short. */
static void test_pause_is_forgotten(void **state)
{
	struct nn_waiter waiter;

	(void)state;
	nn_waiter_init(&waiter, 200000);
	for (int i = 0; i < 32; i++)
		nn_waiter_learn(&waiter, 3000, false);
	nn_waiter_learn(&waiter, 3600 * NS_PER_S, true);
	for (int i = 0; i < 8; i++)
		nn_waiter_learn(&waiter, 3000, false);
	assert_int_equal(nn_waiter_plan(&waiter).spin_ns, 200000);
}

/* Returns how often the waiter plans to sleep without spinning before it first plans to spin. */
static int sleeps_before_probe(struct nn_waiter *waiter)
{
	int sleeps = 0;

	while (!nn_waiter_plan(waiter).spin_ns && sleeps < 10000) {
		nn_waiter_learn(waiter, ++sleeps % 2 ? 90000 : 300000, true);
		assert_int_equal(nn_waiter_plan(waiter).sleep_ns, 0);
	}
	return sleeps;
}

/*
 * A waiter that plans only sleeps sometimes tries a spin. Trial spins become rarer until a trial
 * succeeds.
 */
static void test_probes(void **state)
{
	struct nn_waiter waiter;
	int before, sleeps;

	(void)state;
	nn_waiter_init(&waiter, 200000);
	before = sleeps_before_probe(&waiter);
	for (int i = 0; i < 4; i++) {
		nn_waiter_learn(&waiter, 300000, true);
		assert_int_equal(nn_waiter_plan(&waiter).spin_ns, 0);
		sleeps = sleeps_before_probe(&waiter);
		assert_true(sleeps > before && sleeps <= 1024);
		before = sleeps;
	}
	nn_waiter_learn(&waiter, 2000, false);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(nn_waiter_plan(&waiter).spin_ns, 200000);
		nn_waiter_learn(&waiter, 2000, false);
	}
	/* A waiter that may not spin never tries a spin. */
	nn_waiter_init(&waiter, 0);
	assert_int_equal(sleeps_before_probe(&waiter), 10000);
}

/*
 * If other processes delayed a waiter, the waiter plans to sleep for the next 8 waits. After each
 * further delay, the waiter plans to sleep for twice as many waits, up to 1024. A delay by other
 * processes does not change the waiter's mean times.
 */
static void test_held_up(void **state)
{
	struct nn_waiter waiter;
	uint64_t mean_ns;
	int waits;

	(void)state;
	nn_waiter_init(&waiter, 200000);
	for (int i = 0; i < 32; i++)
		nn_waiter_learn(&waiter, 3000, false);
	mean_ns = waiter.mean_ns;
	for (int most = 8; most <= 2048; most *= 2) {
		nn_waiter_held_up(&waiter);
		nn_waiter_learn(&waiter, 4000000, false);
		for (waits = 0; !nn_waiter_plan(&waiter).spin_ns; waits++)
			nn_waiter_learn(&waiter, 100000, true);
		assert_int_equal(waits, most < 1024 ? most : 1024);
	}
	assert_int_equal(waiter.mean_ns, mean_ns);
	/* After seven quick waits, the waiter again sleeps for only 8 waits after a delay. */
	for (int i = 0; i < 7; i++)
		nn_waiter_learn(&waiter, 3000, false);
	nn_waiter_held_up(&waiter);
	nn_waiter_learn(&waiter, 4000000, false);
	for (waits = 0; !nn_waiter_plan(&waiter).spin_ns; waits++)
		nn_waiter_learn(&waiter, 100000, true);
	assert_int_equal(waits, 8);
}

/*
 * If a timed sleep ends later than expected, the waiter's expected delay grows immediately. If a
 * timed sleep ends earlier than expected, the expected delay shrinks gradually.
 */
static void test_late(void **state)
{
	struct nn_waiter waiter;
	uint64_t late_ns;

	(void)state;
	nn_waiter_init(&waiter, 200000);
	for (int i = 0; i < 4; i++)
		nn_waiter_learn_late(&waiter, 150000);
	assert_true(waiter.late_ns > 140000 && waiter.late_ns <= 150000);
	late_ns = waiter.late_ns;
	for (int i = 0; i < 4; i++)
		nn_waiter_learn_late(&waiter, 10000);
	assert_true(waiter.late_ns < late_ns && waiter.late_ns > late_ns / 2);
	for (int i = 0; i < 100; i++)
		nn_waiter_learn_late(&waiter, 10 * NS_PER_S);
	assert_true(waiter.late_ns > 999000 && waiter.late_ns <= 1000000);
}

/*
 * Simulates a wait for a packet that comes after `comes_ns`. Returns the time that waking up takes,
 * or 0 if the waiter spins.
 */
static uint64_t simulate_wait(struct nn_waiter *waiter, uint64_t comes_ns, uint32_t *random)
{
	bool slept = comes_ns > nn_waiter_plan(waiter).spin_ns;
	uint64_t wake_ns = 0;

	*random = *random * 1664525 + 1013904223;
	if (slept)
		wake_ns = 60000 + (*random >> 8) % 130000;
	nn_waiter_learn(waiter, comes_ns + wake_ns, slept);
	return wake_ns;
}

/*
 * If client and worker sleep only because waking the peer takes time, client and worker soon stay
 * awake.
 */
static void test_no_sleep_for_sleeps_sake(void **state)
{
	uint64_t client_ns, worker_ns = 0;
	struct nn_waiter client, worker;
	uint32_t random = 1;
	int sleeps = 0;

	(void)state;
	nn_waiter_init(&client, 200000);
	nn_waiter_init(&worker, 200000);
	for (int i = 0; i < 64; i++) {
		nn_waiter_learn(&client, i % 2 ? 90000 : 300000, true);
		nn_waiter_learn(&worker, i % 2 ? 90000 : 300000, true);
	}
	for (int i = 0; i < 10000; i++) {
		client_ns = simulate_wait(&client, worker_ns + 1000, &random);
		worker_ns = simulate_wait(&worker, client_ns + 500, &random);
		sleeps += i >= 1000 && (client_ns || worker_ns);
	}
	assert_int_equal(sleeps, 0);
}

static void test_budget(void **state)
{
	(void)state;
	setenv("NNACCEL_SPIN_US", "7", 1);
	assert_int_equal(nn_spin_budget(-1, true), 0);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		assert_int_equal(nn_spin_budget(-1, false), 7000);
		assert_int_equal(nn_spin_budget(30, false), 7000);
		setenv("NNACCEL_SPIN_US", "99999999999999999999", 1);
		assert_int_equal(nn_spin_budget(30, false), 100000000);
		setenv("NNACCEL_SPIN_US", "much", 1);
		assert_int_equal(nn_spin_budget(30, false), 30000);
		setenv("NNACCEL_SPIN_US", "7x", 1);
		assert_int_equal(nn_spin_budget(30, false), 30000);
		unsetenv("NNACCEL_SPIN_US");
		assert_int_equal(nn_spin_budget(0, false), 0);
		assert_int_equal(nn_spin_budget(-1, false), NN_SPIN_DEFAULT_US * 1000);
	}
	unsetenv("NNACCEL_SPIN_US");
}

/* ---- packets ---- */

#define MAX_ARGS 8
#define MAX_SLOTS 4

struct request_room {
	struct nn_request request;
	struct nnaccel_arg args[MAX_ARGS];
	uint32_t slots[MAX_SLOTS];
};

static void request_init(struct request_room *room)
{
	memset(room, 0, sizeof(*room));
	room->request = (struct nn_request){
		.args = room->args, .slots = room->slots,
		.max_args = MAX_ARGS, .max_slots = MAX_SLOTS,
	};
}

/* Makes a sample request with an input, an omitted input, and an output with dimensions. */
static void request_sample(struct request_room *room)
{
	request_init(room);
	room->request.num_inputs = 2;
	room->request.num_outputs = 1;
	room->request.num_slots = 2;
	room->request.measure = true;
	room->args[0] = (struct nnaccel_arg){ .pool = 1, .offset = 64, .length = UINT32_MAX };
	room->args[1] = (struct nnaccel_arg){ .flags = NNACCEL_ARG_NO_VALUE };
	room->args[2] = (struct nnaccel_arg){ .length = 16, .rank = 2, .dims = { 2, 0 } };
	room->slots[0] = 0x1001;
	room->slots[1] = 7;
}

static void test_request_round_trip(void **state)
{
	struct nnaccel_datum datums[MAX_CAPACITY];
	struct request_room in, out;
	uint32_t n;

	(void)state;
	request_sample(&in);
	request_init(&out);
	memset(out.args, 0xa5, sizeof(out.args));
	n = nn_request_encode(&in.request, datums, MAX_CAPACITY);
	assert_int_equal(n, 1 + 3 + 2 + 2 + 1);
	assert_null(nn_request_parse(datums, n, &out.request));
	assert_int_equal(out.request.num_inputs, 2);
	assert_int_equal(out.request.num_outputs, 1);
	assert_int_equal(out.request.num_slots, 2);
	assert_true(out.request.measure);
	assert_memory_equal(out.args, in.args, 3 * sizeof(in.args[0]));
	assert_memory_equal(out.slots, in.slots, 2 * sizeof(in.slots[0]));
	for (uint32_t room = 0; room < n; room++)
		assert_int_equal(nn_request_encode(&in.request, datums, room), 0);

	in.request.measure = false;
	n = nn_request_encode(&in.request, datums, MAX_CAPACITY);
	assert_null(nn_request_parse(datums, n, &out.request));
	assert_false(out.request.measure);

	in.args[0].offset = 1ULL << 32;
	assert_int_equal(nn_request_encode(&in.request, datums, MAX_CAPACITY), 0);
	in.args[0].offset = 0;
	in.args[0].length = 1ULL << 32;
	assert_int_equal(nn_request_encode(&in.request, datums, MAX_CAPACITY), 0);
	in.args[0].length = 0;
	in.args[0].rank = NNACCEL_MAX_RANK + 1;
	assert_int_equal(nn_request_encode(&in.request, datums, MAX_CAPACITY), 0);
}

/* Tests the largest packet that the parser accepts, with the largest rank. */
static void test_largest_request(void **state)
{
	struct nnaccel_datum datums[256];
	struct request_room in, out;
	uint32_t n;

	(void)state;
	request_init(&in);
	request_init(&out);
	in.request.num_inputs = MAX_ARGS - 3;
	in.request.num_outputs = 3;
	in.request.num_slots = MAX_SLOTS;
	for (uint32_t i = 0; i < MAX_ARGS; i++) {
		in.args[i] = (struct nnaccel_arg){
			.pool = i % MAX_SLOTS, .offset = UINT32_MAX, .length = UINT32_MAX - i,
			.rank = NNACCEL_MAX_RANK,
		};
		for (uint32_t k = 0; k < NNACCEL_MAX_RANK; k++)
			in.args[i].dims[k] = 10 * i + k;
	}
	for (uint32_t i = 0; i < MAX_SLOTS; i++)
		in.slots[i] = UINT32_MAX - i;
	n = nn_request_encode(&in.request, datums, 256);
	assert_int_equal(n, 2 + MAX_ARGS * (1 + NNACCEL_MAX_RANK) + MAX_SLOTS);
	assert_null(nn_request_parse(datums, n, &out.request));
	assert_memory_equal(out.args, in.args, sizeof(in.args));
	assert_memory_equal(out.slots, in.slots, sizeof(in.slots));
	out.request.max_args--;
	assert_non_null(nn_request_parse(datums, n, &out.request));
	out.request.max_args++;
	out.request.max_slots--;
	assert_non_null(nn_request_parse(datums, n, &out.request));
}

/* A test case changes one field of one datum in a sample packet. */
struct change {
	const char *name;
	uint32_t datum;
	size_t offset;
	size_t size;
	uint32_t value;
};

#define CHANGE(_datum, _field, _value) \
	{ #_datum "." #_field " = " #_value, _datum, offsetof(struct nnaccel_datum, _field), \
	  sizeof(((struct nnaccel_datum *)0)->_field), _value }

static void apply(struct nnaccel_datum *datums, const struct change *change)
{
	memcpy((char *)&datums[change->datum] + change->offset, &change->value, change->size);
}

/*
 * The sample request has the datums 0 head, 1 input, 2 omitted input, 3 output, 4 and 5 dimensions
 * of the output, 6 and 7 slots, 8 measure.
 */
static const struct change bad_requests[] = {
	CHANGE(0, kind, 0), CHANGE(0, kind, NNACCEL_DATUM_RESULT), CHANGE(0, kind, 255),
	CHANGE(0, flags, 1), CHANGE(0, rank, 1),
	CHANGE(0, u.request.size, 0), CHANGE(0, u.request.size, 8), CHANGE(0, u.request.size, 10),
	CHANGE(0, u.request.num_inputs, 1), CHANGE(0, u.request.num_inputs, 3),
	CHANGE(0, u.request.num_inputs, MAX_ARGS + 1), CHANGE(0, u.request.num_inputs, UINT32_MAX),
	CHANGE(0, u.request.num_outputs, 0), CHANGE(0, u.request.num_outputs, 2),
	CHANGE(0, u.request.num_outputs, UINT32_MAX - 1),
	CHANGE(0, u.request.num_pools, 1), CHANGE(0, u.request.num_pools, 3),
	CHANGE(0, u.request.num_pools, UINT32_MAX),
	CHANGE(1, kind, NNACCEL_DATUM_OUTPUT), CHANGE(1, flags, 2), CHANGE(1, flags, 0x81),
	CHANGE(1, flags, NNACCEL_ARG_NO_VALUE), CHANGE(1, rank, 1),
	CHANGE(1, rank, NNACCEL_MAX_RANK + 1), CHANGE(1, rank, UINT16_MAX),
	CHANGE(1, u.operand.pool, 2), CHANGE(1, u.operand.pool, UINT32_MAX),
	CHANGE(1, u.operand.__reserved, 1),
	CHANGE(2, rank, 1), CHANGE(2, u.operand.pool, 1), CHANGE(2, u.operand.offset, 1),
	CHANGE(2, u.operand.length, 1), CHANGE(2, u.operand.__reserved, 1),
	CHANGE(3, kind, NNACCEL_DATUM_INPUT), CHANGE(3, rank, 0), CHANGE(3, rank, 1),
	CHANGE(3, rank, 3),
	CHANGE(4, kind, NNACCEL_DATUM_INPUT_DIMENSION), CHANGE(4, flags, 1), CHANGE(4, rank, 1),
	CHANGE(4, u.words[1], 1), CHANGE(4, u.words[2], 1), CHANGE(5, u.words[3], 1), CHANGE(5, kind, NNACCEL_DATUM_SLOT),
	CHANGE(6, kind, NNACCEL_DATUM_MEASURE), CHANGE(6, u.words[2], 1), CHANGE(7, rank, 1),
	CHANGE(8, kind, NNACCEL_DATUM_TIMING), CHANGE(8, u.value, 2), CHANGE(8, u.words[1], 1),
	CHANGE(8, flags, 1),
};

static void test_malformed_requests(void **state)
{
	struct nnaccel_datum datums[MAX_CAPACITY];
	struct request_room room;
	uint32_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_requests) / sizeof(bad_requests[0]); i++) {
		request_sample(&room);
		n = nn_request_encode(&room.request, datums, MAX_CAPACITY);
		apply(datums, &bad_requests[i]);
		if (!nn_request_parse(datums, n, &room.request))
			fail_msg("%s was taken", bad_requests[i].name);
	}
	/*
	 * The parser refuses a request that lacks its last datums, even if the request states the
	 * smaller size.
	 */
	request_sample(&room);
	n = nn_request_encode(&room.request, datums, MAX_CAPACITY);
	for (uint32_t length = 1; length < n; length++) {
		datums[0].u.request.size = length;
		assert_non_null(nn_request_parse(datums, length, &room.request));
	}
	datums[0].u.request.size = n + 1;
	datums[n] = datums[n - 1];
	assert_non_null(nn_request_parse(datums, n + 1, &room.request));
}

static char result_message[NN_RESULT_MESSAGE];

static void result_sample(struct nn_result *result, struct nnaccel_shape *shapes)
{
	strcpy(result_message, "input 1: too large");
	memset(shapes, 0, 2 * sizeof(*shapes));
	shapes[0] = (struct nnaccel_shape){ NNACCEL_SHAPE_SUFFICIENT, 1, { 5 } };
	*result = (struct nn_result){
		.status = NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, .num_outputs = 2,
		.device_ns = 0x123456789abcULL, .driver_ns = NNACCEL_TIME_NONE,
		.shapes = shapes, .max_outputs = 2, .message = result_message,
	};
}

static void test_result_round_trip(void **state)
{
	struct nnaccel_datum datums[MAX_CAPACITY];
	struct nnaccel_shape shapes[2], got_shapes[2];
	char message[NN_RESULT_MESSAGE];
	struct nn_result result, got = { .shapes = got_shapes, .max_outputs = 2,
					 .message = message };
	uint32_t n;

	(void)state;
	result_sample(&result, shapes);
	memset(got_shapes, 0xa5, sizeof(got_shapes));
	n = nn_result_encode(&result, datums, MAX_CAPACITY);
	assert_int_equal(n, RESULT_DATUMS + 2);
	assert_null(nn_result_parse(datums, n, &got));
	assert_int_equal(got.status, result.status);
	assert_int_equal(got.num_outputs, 2);
	assert_true(got.device_ns == result.device_ns && got.driver_ns == result.driver_ns);
	assert_memory_equal(got_shapes, shapes, sizeof(shapes));
	assert_string_equal(message, result_message);
	for (uint32_t room = 0; room < RESULT_DATUMS; room++)
		assert_int_equal(nn_result_encode(&result, datums, room), 0);
	result.message = NULL;
	assert_int_equal(nn_result_encode(&result, datums, MAX_CAPACITY), RESULT_DATUMS);
	assert_null(nn_result_parse(datums, RESULT_DATUMS, &got));
	assert_string_equal(message, "");
	/* Test packets of results with each status, and with an output of the largest rank. */
	shapes[1].rank = NNACCEL_MAX_RANK;
	for (uint32_t i = 0; i < NNACCEL_MAX_RANK; i++)
		shapes[1].dims[i] = 7 + i;
	for (uint32_t i = 0; i <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT; i++) {
		result.status = i;
		n = nn_result_encode(&result, datums, MAX_CAPACITY);
		assert_int_equal(n, RESULT_DATUMS + NNACCEL_MAX_RANK);
		assert_null(nn_result_parse(datums, n, &got));
		assert_int_equal(got.status, i);
		assert_memory_equal(got_shapes, shapes, sizeof(shapes));
	}
	shapes[0].rank = NNACCEL_MAX_RANK + 1;
	assert_int_equal(nn_result_encode(&result, datums, MAX_CAPACITY), 0);
}

/*
 * The encoder truncates a message to the room in the packet, and to the maximum length of a
 * message.
 */
static void test_result_message(void **state)
{
	struct nnaccel_datum datums[MAX_CAPACITY];
	struct nnaccel_shape shapes[2];
	char message[NN_RESULT_MESSAGE], longest[NN_RESULT_MESSAGE + 1];
	struct nn_result result;
	uint32_t n;

	(void)state;
	result_sample(&result, shapes);
	for (size_t length = 0; length <= NNACCEL_MAX_MESSAGE + 1; length++) {
		memset(longest, 'x', length);
		longest[length] = '\0';
		result.message = longest;
		n = nn_result_encode(&result, datums, MAX_CAPACITY);
		assert_true(n <= RESULT_DATUMS + NNACCEL_MAX_MESSAGE / 16);
		result.message = message;
		assert_null(nn_result_parse(datums, n, &result));
		longest[NNACCEL_MAX_MESSAGE] = '\0';
		assert_string_equal(message, longest);
	}
	assert_int_equal(nn_result_encode(&result, datums, RESULT_DATUMS + 1), RESULT_DATUMS + 1);
	assert_null(nn_result_parse(datums, RESULT_DATUMS + 1, &result));
	assert_int_equal(strlen(message), 16);
	for (n = RESULT_DATUMS + 1; n <= RESULT_DATUMS + NNACCEL_MAX_MESSAGE / 16; n++)
		datums[n] = datums[RESULT_DATUMS];
	datums[0].u.result.size = n;
	assert_non_null(nn_result_parse(datums, n, &result));
}

/*
 * The sample result has the datums 0 head, 1 shape, 2 dimension of this shape, 3 shape, 4 timing, 5
 * and 6 message.
 */
static const struct change bad_results[] = {
	CHANGE(0, kind, NNACCEL_DATUM_REQUEST), CHANGE(0, flags, 1), CHANGE(0, rank, 1),
	CHANGE(0, u.result.size, 0), CHANGE(0, u.result.size, 4), CHANGE(0, u.result.size, 6),
	CHANGE(0, u.result.size, 8), CHANGE(0, u.result.status, 9),
	CHANGE(0, u.result.status, UINT32_MAX),
	CHANGE(0, u.result.num_outputs, 0), CHANGE(0, u.result.num_outputs, 1),
	CHANGE(0, u.result.num_outputs, 3), CHANGE(0, u.result.num_outputs, UINT32_MAX),
	CHANGE(0, u.result.__reserved, 1),
	CHANGE(1, kind, NNACCEL_DATUM_OUTPUT), CHANGE(1, flags, 2), CHANGE(1, rank, 0),
	CHANGE(1, rank, 2), CHANGE(1, rank, NNACCEL_MAX_RANK + 1), CHANGE(1, u.words[0], 1),
	CHANGE(1, u.words[1], 1), CHANGE(1, u.words[2], 1), CHANGE(1, u.words[3], 1),
	CHANGE(2, kind, NNACCEL_DATUM_OUTPUT_DIMENSION), CHANGE(2, flags, 1),
	CHANGE(2, u.words[1], 1), CHANGE(2, u.words[2], 1), CHANGE(2, u.words[3], 1),
	CHANGE(3, kind, NNACCEL_DATUM_TIMING), CHANGE(3, rank, 1),
	CHANGE(4, kind, NNACCEL_DATUM_SHAPE), CHANGE(4, flags, 1), CHANGE(4, rank, 1),
	CHANGE(5, kind, NNACCEL_DATUM_TIMING), CHANGE(5, flags, 1), CHANGE(5, rank, 1),
	CHANGE(5, u.text[0], 0), CHANGE(5, u.text[15], 0), CHANGE(6, u.text[0], 0),
	CHANGE(6, u.text[15], 1), CHANGE(6, kind, 13),
};

static void test_malformed_results(void **state)
{
	struct nnaccel_datum datums[MAX_CAPACITY];
	struct nnaccel_shape shapes[2];
	struct nn_result result;
	uint32_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_results) / sizeof(bad_results[0]); i++) {
		result_sample(&result, shapes);
		n = nn_result_encode(&result, datums, MAX_CAPACITY);
		apply(datums, &bad_results[i]);
		if (!nn_result_parse(datums, n, &result))
			fail_msg("%s was taken", bad_results[i].name);
	}
	result_sample(&result, shapes);
	n = nn_result_encode(&result, datums, MAX_CAPACITY);
	for (uint32_t length = 1; length < RESULT_DATUMS; length++) {
		datums[0].u.result.size = length;
		assert_non_null(nn_result_parse(datums, length, &result));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_geometry),
		heap_unit_test(test_hostile_status),
		heap_unit_test(test_names),
		heap_unit_test(test_packets_arrive_whole),
		heap_unit_test(test_rest_of_a_line),
		heap_unit_test(test_full_ring),
		heap_unit_test(test_counts_wrap),
		heap_unit_test(test_hostile_sequence),
		heap_unit_test(test_hostile_size),
		heap_unit_test(test_hostile_length),
		heap_unit_test(test_hostile_consumed),
		heap_unit_test(test_hostile_waiting),
		heap_unit_test(test_wakes),
		heap_unit_test(test_owed_to_a_full_ring),
		heap_unit_test(test_counts),
		heap_unit_test(test_given_up),
		heap_unit_test(test_dead),
		heap_unit_test(test_time_is_up),
		cmocka_unit_test(test_spins),
		heap_unit_test(test_sleeper_is_woken),
		heap_unit_test(test_sleeper_sees_death),
		heap_unit_test(test_dies_before_sleep),
		heap_unit_test(test_tail),
		heap_unit_test(test_sleeper_for_room_is_woken),
		heap_unit_test(test_parked_end_rings),
		heap_unit_test(test_plans),
		heap_unit_test(test_pause_is_forgotten),
		heap_unit_test(test_probes),
		heap_unit_test(test_held_up),
		heap_unit_test(test_late),
		heap_unit_test(test_no_sleep_for_sleeps_sake),
		cmocka_unit_test(test_budget),
		heap_unit_test(test_request_round_trip),
		heap_unit_test(test_largest_request),
		heap_unit_test(test_malformed_requests),
		heap_unit_test(test_result_round_trip),
		heap_unit_test(test_result_message),
		heap_unit_test(test_malformed_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
