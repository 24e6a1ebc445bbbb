/* SPDX-License-Identifier: MIT */
/*
 * Tests the table of a burst's slots. Until a slot is removed, any thread finds the slot, even
 * while threads add and remove other slots.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hal/slots.h"
#include "tests/failing/kept.h"

#define COUNT	1000
#define ROUNDS	20000
#define LIVE	8	/* number of memories that have a slot at the same time */

/* The address of each element of `places` stands for a memory. The addresses are equally spaced. */
static char places[COUNT][112];

static const struct nna_memory *memory(int i)
{
	return (const struct nna_memory *)(const void *)places[i];
}

static void assert_slot(const struct nna_slots *slots, int i, uint32_t expected)
{
	uint32_t slot = ~expected;

	assert_true(nna_slots_find(slots, memory(i), &slot));
	assert_int_equal(slot, expected);
}

static void test_nothing_is_there(void **state)
{
	struct nna_slots slots;
	uint32_t slot = 7;

	(void)state;
	nna_slots_init(&slots);
	assert_false(nna_slots_find(&slots, memory(0), &slot));
	assert_false(nna_slots_remove(&slots, memory(0), &slot));
	assert_true(nna_slots_add(&slots, memory(1), 5));
	assert_false(nna_slots_find(&slots, memory(0), &slot));
	assert_false(nna_slots_remove(&slots, memory(0), &slot));
	assert_int_equal(slot, 7);
	nna_slots_destroy(&slots);
}

static void test_many(void **state)
{
	struct nna_slots slots;
	uint32_t slot;

	(void)state;
	nna_slots_init(&slots);
	for (int i = 0; i < COUNT; i++) {
		assert_true(nna_slots_add(&slots, memory(i), (uint32_t)i + 100));
		assert_slot(&slots, i / 2, (uint32_t)i / 2 + 100);
	}
	for (int i = 0; i < COUNT; i += 2) {
		assert_true(nna_slots_remove(&slots, memory(i), &slot));
		assert_int_equal(slot, i + 100);
		assert_false(nna_slots_remove(&slots, memory(i), &slot));
		assert_false(nna_slots_find(&slots, memory(i), &slot));
	}
	for (int i = 1; i < COUNT; i += 2)
		assert_slot(&slots, i, (uint32_t)i + 100);
	for (int i = 0; i < COUNT; i += 2)
		assert_true(nna_slots_add(&slots, memory(i), (uint32_t)i + 5000));
	for (int i = 0; i < COUNT; i++)
		assert_slot(&slots, i, (uint32_t)i + (i % 2 ? 100 : 5000));
	nna_slots_destroy(&slots);
}

/*
 * The slot table must not grow if many memories are used one after another, but few at the same
 * time.
 */
static void test_come_and_go(void **state)
{
	struct nna_slots slots;
	uint32_t slot;

	(void)state;
	nna_slots_init(&slots);
	for (int i = 0; i < ROUNDS; i++) {
		if (i >= LIVE) {
			assert_true(nna_slots_remove(&slots, memory((i - LIVE) % COUNT), &slot));
			assert_int_equal(slot, i - LIVE);
		}
		assert_true(nna_slots_add(&slots, memory(i % COUNT), (uint32_t)i));
		for (int k = i < LIVE ? 0 : i - LIVE + 1; k <= i; k++)
			assert_slot(&slots, k % COUNT, (uint32_t)k);
		assert_true(slots.count <= slots.taken && 2 * slots.taken <= slots.size);
	}
	assert_true(slots.size <= 8 * LIVE);
	assert_int_equal(slots.count, LIVE);
	nna_slots_destroy(&slots);
}

/* Frees memories on another thread while the test's thread executes on other memories. */
static void *remove_second_half(void *data)
{
	uint32_t slot;

	for (int i = COUNT / 2; i < COUNT; i++)
		while (!nna_slots_remove(data, memory(i), &slot))
			;
	return NULL;
}

static void test_removed_meanwhile(void **state)
{
	struct nna_slots slots;
	pthread_t thread;

	(void)state;
	nna_slots_init(&slots);
	assert_int_equal(pthread_create(&thread, NULL, remove_second_half, &slots), 0);
	for (int i = 0; i < COUNT / 2; i++) {
		assert_true(nna_slots_add(&slots, memory(i), (uint32_t)i));
		assert_true(nna_slots_add(&slots, memory(COUNT / 2 + i), (uint32_t)i));
		for (int k = 0; k <= i; k++)
			assert_slot(&slots, k, (uint32_t)k);
	}
	pthread_join(thread, NULL);
	assert_int_equal(slots.count, COUNT / 2);
	nna_slots_destroy(&slots);
}

/* Numbers of memory blocks and locks in use before a test. */
static struct kept kept;

static int begin(void **state)
{
	(void)state;
	kept = kept_now();
	return 0;
}

static int end(void **state)
{
	struct kept left = kept_now();
	const char *more = kept_more(&kept, &left);

	(void)state;
	if (more)
		print_error("not given back: %s\n", more);
	return more != NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_there),
		TEST(test_many),
		TEST(test_come_and_go),
		TEST(test_removed_meanwhile),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_slots", tests, NULL, NULL);
}
