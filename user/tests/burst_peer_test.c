/* SPDX-License-Identifier: MIT */
/*
 * Tests the client's end of a burst (user/ring) against a worker's end that was written from
 * Documentation/burst.rst alone. The worker's end answers each request with the shapes that the
 * request contains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring/packet.h"
#include "ring/ring.h"

/* ---- the independent end: bytes at offsets, as the page has them ---- */

enum { LINE = 64, FIRST_LINE = 256, DATUM = 20, PER_LINE = 3 };
enum { WAITING = 0, CONSUMED = 64 };
enum { REQUEST = 1, OUTPUT = 4, OUTPUT_DIMENSION = 5, RESULT = 8, SHAPE = 9, SHAPE_DIMENSION = 10,
       TIMING = 11, MESSAGE = 12 };
enum { SUFFICIENT = 1, ALIVE = 1, WAIT_PACKET = 1, WAIT_SPACE = 2, NOT_MEASURED = 0xff };

struct peer {
	unsigned char *mine;
	unsigned char *theirs;
	const uint32_t *state;
	uint32_t lines;
	uint32_t capacity;
	uint32_t in_line, in_lap, out_line, out_lap;
	unsigned char in[64 * DATUM], out[64 * DATUM];
};

static uint32_t *word(unsigned char *ring, size_t offset)
{
	return (uint32_t *)(void *)(ring + offset);
}

static uint32_t get(const unsigned char *datums, uint32_t datum, uint32_t offset)
{
	uint32_t value;

	memcpy(&value, datums + datum * DATUM + offset, sizeof(value));
	return value;
}

static void step(const struct peer *p, uint32_t *line, uint32_t *lap)
{
	if (++*line == p->lines) {
		*line = 0;
		++*lap;
	}
}

/* Waits for a packet from the client; returns false if the burst is dead. */
static int await_packet(struct peer *p)
{
	uint32_t *sequence = word(p->theirs, FIRST_LINE + p->in_line * LINE);

	while (__atomic_load_n(sequence, __ATOMIC_ACQUIRE) != p->in_lap) {
		struct timespec slice = { 0, 50000000 };

		__atomic_store_n(word(p->mine, WAITING), WAIT_PACKET, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(p->state, __ATOMIC_ACQUIRE) != ALIVE)
			return 0;
		syscall(SYS_futex, sequence, FUTEX_WAIT, p->in_lap - 1, &slice, NULL, 0);
		__atomic_store_n(word(p->mine, WAITING), 0, __ATOMIC_RELAXED);
	}
	return 1;
}

static uint32_t take(struct peer *p)
{
	uint32_t count = 0, size = 1, lines = 0;

	while (count < size) {
		unsigned char *line = p->theirs + FIRST_LINE + p->in_line * LINE;

		if (__atomic_load_n(word(line, 0), __ATOMIC_ACQUIRE) != p->in_lap)
			abort();
		for (uint32_t i = 0; i < PER_LINE && count < size; i++, count++) {
			memcpy(p->in + count * DATUM, line + 4 + i * DATUM, DATUM);
			if (count == 0)
				size = get(p->in, 0, 4);
			if (size == 0 || size > p->capacity)
				abort();
		}
		step(p, &p->in_line, &p->in_lap);
		lines++;
	}
	__atomic_add_fetch(word(p->mine, CONSUMED), lines, __ATOMIC_RELEASE);
	return size;
}

static void give(struct peer *p, uint32_t size)
{
	uint32_t *first = word(p->mine, FIRST_LINE + p->out_line * LINE), lap = p->out_lap;
	uint32_t waiting;

	for (uint32_t i = 0; i < size; i += PER_LINE) {
		unsigned char *line = p->mine + FIRST_LINE + p->out_line * LINE;
		uint32_t here = size - i < PER_LINE ? size - i : PER_LINE;

		memset(line + 4, 0, PER_LINE * DATUM);
		memcpy(line + 4, p->out + i * DATUM, here * DATUM);
		if (i)
			__atomic_store_n(word(line, 0), p->out_lap, __ATOMIC_RELAXED);
		step(p, &p->out_line, &p->out_lap);
	}
	__atomic_store_n(first, lap, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	waiting = __atomic_load_n(word(p->theirs, WAITING), __ATOMIC_RELAXED);
	if (waiting & WAIT_PACKET)
		syscall(SYS_futex, first, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (waiting & WAIT_SPACE)
		syscall(SYS_futex, word(p->mine, CONSUMED), FUTEX_WAKE, 1, NULL, NULL, 0);
}

static uint32_t append(struct peer *p, uint32_t at, uint8_t kind, uint8_t flags, uint16_t rank,
		       const uint32_t *words)
{
	unsigned char *datum = p->out + at * DATUM;

	datum[0] = kind;
	datum[1] = flags;
	memcpy(datum + 2, &rank, sizeof(rank));
	memcpy(datum + 4, words, 16);
	return at + 1;
}

static uint32_t answer(struct peer *p, uint32_t size)
{
	uint32_t words[4] = { 0 }, n = 1;
	uint16_t rank;

	for (uint32_t i = 1; i < size; i++) {
		if (p->in[i * DATUM] == OUTPUT) {
			memcpy(&rank, p->in + i * DATUM + 2, sizeof(rank));
			n = append(p, n, SHAPE, SUFFICIENT, rank, words);
		} else if (p->in[i * DATUM] == OUTPUT_DIMENSION) {
			uint32_t dimension[4] = { get(p->in, i, 4) };

			n = append(p, n, SHAPE_DIMENSION, 0, 0, dimension);
		}
	}
	memset(words, NOT_MEASURED, sizeof(words));
	n = append(p, n, TIMING, 0, 0, words);
	memcpy(words, "neither more nor", sizeof(words));
	n = append(p, n, MESSAGE, 0, 0, words);
	memcpy(words, " less\0\0\0\0\0\0\0\0\0\0", sizeof(words));
	n = append(p, n, MESSAGE, 0, 0, words);
	append(p, 0, RESULT, 0, 0, (uint32_t[4]){ n, 0, get(p->in, 0, 12), 0 });
	return n;
}

static void *work(void *data)
{
	struct peer *p = data;

	while (await_packet(p))
		give(p, answer(p, take(p)));
	return NULL;
}

/* ---- the test ---- */

#define CAPACITY 32
#define ROUNDS 2000
#define OUTPUTS 3

static void execute(struct nn_ring *ring, uint32_t round)
{
	struct nnaccel_datum datums[CAPACITY];
	struct nnaccel_arg args[1 + OUTPUTS] = { { .length = 4 } };
	struct nnaccel_shape shapes[OUTPUTS];
	uint32_t slot = round, n;
	const struct nn_request request = {
		.num_inputs = 1, .num_outputs = round % (OUTPUTS + 1), .num_slots = 1,
		.args = args, .slots = &slot,
	};
	char message[NN_RESULT_MESSAGE];
	struct nn_result result = { .shapes = shapes, .max_outputs = OUTPUTS,
				    .message = message };

	for (uint32_t i = 0; i < request.num_outputs; i++) {
		args[1 + i].rank = (round + i) % 5;
		for (uint32_t d = 0; d < args[1 + i].rank; d++)
			args[1 + i].dims[d] = round + d;
	}
	n = nn_request_encode(&request, datums, CAPACITY);
	assert_int_not_equal(n, 0);
	assert_int_equal(nn_ring_send(ring, datums, n, NN_RING_FOREVER), NN_RING_OK);
	assert_int_equal(nn_ring_receive(ring, datums, &n, NN_RING_FOREVER), NN_RING_OK);
	assert_null(nn_result_parse(datums, n, &result));
	assert_int_equal(result.status, NNACCEL_STATUS_NONE);
	assert_int_equal(result.num_outputs, request.num_outputs);
	assert_true(result.device_ns == NNACCEL_TIME_NONE);
	assert_string_equal(message, "neither more nor less");
	for (uint32_t i = 0; i < result.num_outputs; i++) {
		assert_int_equal(shapes[i].flags, NNACCEL_SHAPE_SUFFICIENT);
		assert_int_equal(shapes[i].rank, args[1 + i].rank);
		assert_memory_equal(shapes[i].dims, args[1 + i].dims, sizeof(shapes[i].dims));
	}
}

static void test_independent_end(void **state)
{
	static _Alignas(64) unsigned char rings[2][FIRST_LINE + 11 * LINE];
	struct nnaccel_burst_status status = { .state = NNACCEL_BURST_ALIVE };
	struct peer peer = {
		.mine = rings[1], .theirs = rings[0], .state = &status.state,
		.lines = 11, .capacity = CAPACITY, .in_lap = 1, .out_lap = 1,
	};
	const struct nn_ring_map map = {
		.status = &status, .mine = (void *)rings[0], .peer = (void *)rings[1],
		.lines = 11, .capacity = CAPACITY,
	};
	struct nn_ring ring;
	pthread_t thread;

	(void)state;
	assert_int_equal(nn_ring_init(&ring, &map, 20000), NN_RING_OK);
	assert_int_equal(pthread_create(&thread, NULL, work, &peer), 0);
	for (uint32_t round = 0; round < ROUNDS; round++)
		execute(&ring, round);
	__atomic_store_n(&status.state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_independent_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
