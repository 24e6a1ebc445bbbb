/* SPDX-License-Identifier: MIT */
/*
 * Who may have a worker: the bounds and the back-off, with a clock of our own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/limits.h"

#define SECOND UINT64_C(1000000000)
#define START (1000 * SECOND)

static struct limits limits;

static int reset(void **state)
{
	(void)state;
	limits = (struct limits){ .max_workers = 5, .max_workers_per_user = 2 };
	return 0;
}

/* A worker for a user that crashes at once; returns the back-off. */
static uint64_t crash(uint32_t uid, uint64_t now)
{
	assert_int_equal(limits_acquire(&limits, uid, now), 0);
	return limits_release(&limits, uid, true, now);
}

static void test_user_bound(void **state)
{
	(void)state;
	assert_int_equal(limits_acquire(&limits, 1000, START), 0);
	assert_int_equal(limits_acquire(&limits, 1000, START), 0);
	assert_int_equal(limits_acquire(&limits, 1000, START), EUSERS);
	assert_int_equal(limits_acquire(&limits, 1001, START), 0);
	assert_int_equal(limits_release(&limits, 1000, false, START), 0);
	assert_int_equal(limits_acquire(&limits, 1000, START), 0);
}

static void test_total_bound(void **state)
{
	(void)state;
	for (uint32_t uid = 0; uid < 5; uid++)
		assert_int_equal(limits_acquire(&limits, uid, START), 0);
	assert_int_equal(limits_acquire(&limits, 5, START), EUSERS);
	limits_release(&limits, 0, false, START);
	assert_int_equal(limits_acquire(&limits, 5, START), 0);
}

static void test_orderly_users_are_forgotten(void **state)
{
	(void)state;
	for (uint32_t uid = 0; uid < 3 * LIMITS_MAX_USERS; uid++) {
		assert_int_equal(limits_acquire(&limits, uid, START), 0);
		limits_release(&limits, uid, false, START);
	}
	assert_int_equal(limits.workers, 0);
	assert_true(limits.num_users <= 1);
}

static void test_table_is_bounded(void **state)
{
	uint32_t uid;

	(void)state;
	for (uid = 0; uid < LIMITS_MAX_USERS; uid++)
		crash(uid, START);
	assert_int_equal(limits_acquire(&limits, uid, START), EUSERS);
	assert_int_equal(limits_acquire(&limits, 0, START), 0);
	assert_int_equal(limits_acquire(&limits, uid, START + LIMITS_FORGIVE_NS), 0);
}

static void test_backoff_doubles(void **state)
{
	uint64_t now = START, delay = LIMITS_FIRST_DELAY_NS;

	(void)state;
	for (int i = 0; i < LIMITS_FREE_CRASHES; i++)
		assert_int_equal(crash(1000, now), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(crash(1000, now), delay);
		assert_int_equal(limits_acquire(&limits, 1000, now), EAGAIN);
		assert_int_equal(limits_acquire(&limits, 1000, now + delay - 1), EAGAIN);
		now += delay;
		delay = delay * 2 < LIMITS_LAST_DELAY_NS ? delay * 2 : LIMITS_LAST_DELAY_NS;
	}
}

static void test_backoff_is_per_user(void **state)
{
	(void)state;
	for (int i = 0; i <= LIMITS_FREE_CRASHES; i++)
		crash(1000, START);
	assert_int_equal(limits_acquire(&limits, 1000, START), EAGAIN);
	assert_int_equal(limits_acquire(&limits, 1001, START), 0);
}

static void test_forgiven(void **state)
{
	(void)state;
	for (int i = 0; i <= LIMITS_FREE_CRASHES; i++)
		crash(1000, START);
	assert_int_equal(crash(1000, START + LIMITS_FORGIVE_NS), 0);
	assert_int_equal(limits.users[0].crashes, 1);
}

/* A long-lived worker's crash counts from the crash, not from its start. */
static void test_old_crashes_do_not_add_up(void **state)
{
	uint64_t now = START;

	(void)state;
	for (int i = 0; i < 3 * LIMITS_FREE_CRASHES; i++) {
		assert_int_equal(crash(1000, now), 0);
		now += LIMITS_FORGIVE_NS;
	}
}

static void test_unmatched_release(void **state)
{
	(void)state;
	assert_int_equal(limits_release(&limits, 1000, true, START), 0);
	assert_int_equal(limits.workers, 0);
	assert_int_equal(limits_acquire(&limits, 1000, START), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_user_bound, reset),
		cmocka_unit_test_setup(test_total_bound, reset),
		cmocka_unit_test_setup(test_orderly_users_are_forgotten, reset),
		cmocka_unit_test_setup(test_table_is_bounded, reset),
		cmocka_unit_test_setup(test_backoff_doubles, reset),
		cmocka_unit_test_setup(test_backoff_is_per_user, reset),
		cmocka_unit_test_setup(test_forgiven, reset),
		cmocka_unit_test_setup(test_old_crashes_do_not_add_up, reset),
		cmocka_unit_test_setup(test_unmatched_release, reset),
	};

	return cmocka_run_group_tests_name("engine limits", tests, NULL, NULL);
}
