/* SPDX-License-Identifier: MIT */
/*
 * Two processes wait for each other many times: they sleep, spin and then sleep, or wait for the
 * doorbell, with random delays. A sleeping thread continues only when the other process wakes it,
 * so after a lost wake-up an alarm ends the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "ring/ring.h"

#define ROUNDS how_often(500000, 100000)
#define CAPACITY 9
#define HOUR_NS 3600000000000ULL
#define PATIENCE_S (unsigned int)scaled(500)

struct shared {
	struct nnaccel_burst_status status;
	uint32_t doorbell;
	_Alignas(64) char rings[2][4096];
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/*
 * Delays the calling process for a random time. Delays are mostly short, so that the two processes
 * often act at the same time.
 */
static void delay(uint32_t *random)
{
	uint32_t n = next_random(random);

	n = n % 64 ? n % 256 : n % 16384;
	while (n--)
		__asm__ volatile("" : : : "memory");
}

static void begin(struct nn_ring *ring, struct shared *shared, int mine)
{
	const struct nn_ring_map map = {
		.status = &shared->status,
		.mine = (void *)shared->rings[mine], .peer = (void *)shared->rings[!mine],
		.doorbell = mine ? NULL : &shared->doorbell,
		.lines = nn_ring_lines(CAPACITY), .capacity = CAPACITY,
	};

	if (nn_ring_init(ring, &map, 0))
		abort();
	ring->slice_ns = HOUR_NS;
}

/*
 * Sets how long the next wait spins: not at all, for a short time, or so long that the wait hardly
 * ever sleeps.
 */
static void vary(struct nn_ring *ring, uint32_t *random)
{
	static const uint64_t budgets[] = { 0, 0, 1000, 20000 };

	nn_waiter_init(&ring->waiter, budgets[next_random(random) % 4]);
	nn_waiter_learn(&ring->waiter, 300, false);
}

/*
 * Receives the next packet, sometimes after waiting for the doorbell; returns false if the burst is
 * dead.
 */
static bool take(struct nn_ring *ring, struct shared *shared, struct nnaccel_datum *datums,
		 uint32_t *random)
{
	uint32_t n, seen;

	if (next_random(random) % 4 == 0 && nn_ring_park(ring)) {
		for (;;) {
			seen = nn_doorbell_read(&shared->doorbell);
			if (nn_ring_has_packet(ring) || nn_ring_is_dead(ring))
				break;
			nn_doorbell_wait(&shared->doorbell, seen, HOUR_NS);
		}
		nn_ring_unpark(ring);
	}
	vary(ring, random);
	return nn_ring_receive(ring, datums, &n, NN_RING_FOREVER) == NN_RING_OK;
}

static void serve(struct shared *shared)
{
	struct nnaccel_datum datums[CAPACITY];
	uint32_t random = 2;
	struct nn_ring ring;

	begin(&ring, shared, 1);
	for (int i = ROUNDS; i; i--) {
		if (!take(&ring, shared, datums, &random))
			_exit(1);
		delay(&random);
		datums[0].u.words[0] = 3;
		if (nn_ring_send(&ring, datums, 3, NN_RING_FOREVER))
			_exit(2);
		delay(&random);
	}
	_exit(0);
}

static void test_waits(void **state)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct nnaccel_ring_control *client, *worker;
	struct nnaccel_datum datums[CAPACITY] = { { .kind = NNACCEL_DATUM_REQUEST } };
	const uint32_t rounds = (uint32_t)ROUNDS;
	uint32_t random = 1, n;
	struct nn_ring ring;
	int status;
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(shared, MAP_FAILED);
	shared->status.state = NNACCEL_BURST_ALIVE;
	pid = fork();
	assert_true(pid >= 0);
	alarm(PATIENCE_S);
	if (!pid)
		serve(shared);
	begin(&ring, shared, 0);
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t size = i % CAPACITY + 1;

		datums[0].u.request.size = size;
		datums[size - 1].u.words[2] = i;
		delay(&random);
		assert_int_equal(nn_ring_send(&ring, datums, size, NN_RING_FOREVER), NN_RING_OK);
		vary(&ring, &random);
		assert_int_equal(nn_ring_receive(&ring, datums, &n, NN_RING_FOREVER), NN_RING_OK);
		assert_int_equal(n, 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	alarm(0);
	client = ring.map.mine;
	worker = ring.map.peer;
	printf("# %u waits; sleeps: client %llu, worker %llu; wakes: client %llu, worker %llu\n",
	       2 * rounds, client->sleeps, worker->sleeps, client->wakes, worker->wakes);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
