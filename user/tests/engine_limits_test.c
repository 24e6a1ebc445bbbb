/* SPDX-License-Identifier: MIT */
/*
 * Tests the limits of workers: each user's share, the back-off after crashes, and the order of
 * waiting contexts. The test sets the time that the tested functions get.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kit/broker/backoff.h"
#include "kit/broker/limits.h"
#include "kit/broker/waiting.h"
#include "tests/between.h"
#include "tests/heap_blocks.h"

#define START (1000 * NS_PER_S)

#define RATE 10
#define PRICE (NS_PER_S / RATE)

static struct limits limits;
static struct waiting waiting;

static int reset(void **state)
{
	(void)state;
	return limits_init(&limits, 5, 2, RATE) ? 0 : -1;
}

/* Allows as many workers as nnacceld allows by default. */
static int reset_large(void **state)
{
	(void)state;
	return limits_init(&limits, 256, 64, RATE) ? 0 : -1;
}

static int clear(void **state)
{
	(void)state;
	waiting_clear(&waiting);
	limits_free(&limits);
	return 0;
}

/* Starts a worker that crashes at once; returns the back-off of the worker's user. */
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

/* The numbers of the test's users begin at 1, because limits do not apply to root. */
static void test_total_bound(void **state)
{
	(void)state;
	for (uint32_t uid = 1; uid <= 5; uid++)
		assert_int_equal(limits_acquire(&limits, uid, START), 0);
	assert_int_equal(limits_acquire(&limits, 6, START), EUSERS);
	limits_release(&limits, 1, false, START);
	assert_int_equal(limits_acquire(&limits, 6, START), 0);
}

/* Root gets a worker even if other users have as many workers as are allowed. */
static void test_root_is_not_refused(void **state)
{
	(void)state;
	for (uint32_t uid = 1; uid <= 5; uid++)
		assert_int_equal(limits_acquire(&limits, uid, START), 0);
	assert_int_equal(limits_acquire(&limits, 0, START), 0);
	assert_int_equal(limits_acquire(&limits, 0, START), 0);
	assert_int_equal(limits_acquire(&limits, 0, START), EUSERS);
	assert_int_equal(limits.workers, 5);
	limits_release(&limits, 0, false, START);
	assert_int_equal(limits.workers, 5);
}

/* If a few users each have as many workers as one user may have, other users still get workers. */
static void test_reserve(void **state)
{
	unsigned int had = 0;
	uint32_t uid;

	(void)state;
	for (uid = 1; uid <= 8; uid++)
		for (int i = 0; i < 64; i++)
			had += !limits_acquire(&limits, uid, START);
	assert_int_equal(had, 256 - 256 / 8 + 4);	/* 4: one worker each for users 5 to 8 */
	assert_int_equal(limits_acquire(&limits, 1, START), EUSERS);
	for (had = 0; !limits_acquire(&limits, uid, START); uid++)
		had++;
	assert_int_equal(had, 256 / 8 - 4);
}

/*
 * The last eighth of the workers is reserved for users without a worker. At least one worker is
 * reserved for users without a worker, unless only one worker is allowed.
 */
static void test_reserve_of_few(void **state)
{
	static const unsigned int cases[][2] = {
		{ 1, 1 }, { 2, 1 }, { 3, 2 }, { 8, 7 }, { 15, 14 }, { 16, 14 }, { 17, 15 },
	};
	struct limits few;
	unsigned int had;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(limits_init(&few, cases[i][0], 100, RATE));
		for (had = 0; !limits_acquire(&few, 5, START); had++)
			;
		assert_int_equal(had, cases[i][1]);
		/* Users without a worker get the reserved workers. */
		for (; !limits_acquire(&few, 6 + had, START); had++)
			;
		assert_int_equal(had, cases[i][0]);
		limits_free(&few);
	}
}

static void test_orderly_users_are_forgotten(void **state)
{
	(void)state;
	for (uint32_t uid = 0; uid < 3 * LIMITS_MAX_IDLE_USERS; uid++) {
		assert_int_equal(limits_acquire(&limits, uid, START), 0);
		limits_release(&limits, uid, false, START);
	}
	assert_int_equal(limits.workers, 0);
	/*
	 * After a second, the table has only the new user, and has forgotten all users whose
	 * workers have ended.
	 */
	assert_int_equal(limits_acquire(&limits, 7000000, START + NS_PER_S), 0);
	assert_int_equal(limits.num_users, 1);
	limits_release(&limits, 7000000, false, START + NS_PER_S);
	assert_int_equal(limits_acquire(&limits, 1, START + NS_PER_S), 0);
	limits_release(&limits, 1, false, START + NS_PER_S);
	for (uint32_t uid = 2; uid < limits.max_users; uid++)
		limits_log(&limits, uid, START + NS_PER_S, &(unsigned int){ 0 });
	assert_true(limits.num_users <= limits.max_users);
}

/*
 * If the table of users with crashed workers is full, the table forgets the user with the oldest
 * crash.
 */
static void test_table_forgets_the_oldest(void **state)
{
	uint32_t uid;

	(void)state;
	assert_int_equal(limits_acquire(&limits, 7000000, START), 0);
	for (int i = 0; i < LIMITS_FREE_CRASHES; i++)
		crash(1, START);
	for (uid = 2; uid < 5000; uid++)
		crash(uid, START + uid);
	assert_true(limits.num_users <= limits.max_users);
	assert_int_equal(limits_acquire(&limits, uid, START + uid), 0);
	/* The table of users never forgets a user whose worker still runs. */
	assert_int_equal(limits_workers(&limits, 7000000), 1);
	/*
	 * The table of users has forgotten the crashes of user 1, the oldest user without a
	 * worker.
	 */
	assert_int_equal(crash(1, START + uid), 0);
	assert_int_equal(crash(1, START + uid), 0);
}

/* The rate of a user's new contexts is limited, even if the user closes contexts. */
static void test_rate(void **state)
{
	uint64_t now = START, later = 0;
	int had = 0;

	(void)state;
	while (!limits_acquire(&limits, 1000, now)) {
		limits_release(&limits, 1000, false, now);
		assert_true(++had <= LIMITS_BURST);
	}
	assert_int_equal(had, LIMITS_BURST);
	assert_int_equal(limits_ask(&limits, 1000, now, &later), LIMITS_LATER);
	assert_int_equal(later, now + PRICE);
	assert_int_equal(limits_acquire(&limits, 1001, now), 0);
	for (had = 0; now < START + 10 * NS_PER_S; now += NS_PER_S / 1000) {
		if (!limits_acquire(&limits, 1000, now)) {
			limits_release(&limits, 1000, false, now);
			had++;
		}
	}
	assert_between(had, 10 * RATE - 1, 10 * RATE);
}

static void test_modesty(void **state)
{
	(void)state;
	assert_true(limits_is_modest(&limits, 1000, START));
	for (int i = 0; i < LIMITS_BURST / 2; i++) {
		assert_true(limits_is_modest(&limits, 1000, START));
		assert_int_equal(limits_acquire(&limits, 1000, START), 0);
		limits_release(&limits, 1000, false, START);
	}
	assert_false(limits_is_modest(&limits, 1000, START));
	assert_true(limits_is_modest(&limits, 1000, START + PRICE));
}

/* If a user requests a worker at once after each refusal, the delay of the refusals increases. */
static void test_refusals_slow_down(void **state)
{
	uint64_t delay = 0, last = 0;

	(void)state;
	for (int i = 0; i <= LIMITS_REFUSALS; i++)
		assert_int_equal(limits_refuse(&limits, 1000, START), 0);
	for (int i = 0; i < 100; i++) {
		delay = limits_refuse(&limits, 1000, START);
		assert_true(delay > last || delay == LIMITS_LAST_REFUSAL_NS);
		last = delay;
	}
	assert_int_equal(delay, LIMITS_LAST_REFUSAL_NS);
	assert_int_equal(limits_refuse(&limits, 1001, START), 0);
	assert_int_equal(limits_refuse(&limits, 1000, START + 100 * NS_PER_S), 0);
}

static void test_refusals_are_logged_seldom(void **state)
{
	unsigned int unlogged = 77;

	(void)state;
	assert_true(limits_log(&limits, 1000, START, &unlogged));
	assert_int_equal(unlogged, 0);
	for (int i = 0; i < 1000; i++)
		assert_false(limits_log(&limits, 1000, START + LIMITS_LOG_NS - 1, &unlogged));
	assert_true(limits_log(&limits, 1001, START + 1, &unlogged));
	assert_true(limits_log(&limits, 1000, START + LIMITS_LOG_NS, &unlogged));
	assert_int_equal(unlogged, 1000);
}

/* ---- those who wait ---- */

static void add(uint64_t context, uint32_t uid)
{
	const struct waiter waiter = { .context = context, .uid = uid, .since_ns = START };

	assert_true(waiting_add(&waiting, &waiter));
}

/* Serves the next waiting context, and returns the context's number; 0 if no context waits. */
static uint64_t serve(enum waiting_whom whom)
{
	const struct waiter *waiter = waiting_pick(&waiting, &limits, false, whom, START);
	uint64_t context = waiter ? waiter->context : 0;

	if (!waiter)
		return 0;
	assert_int_equal(limits_acquire(&limits, waiter->uid, START), 0);
	waiting_remove(&waiting, context);
	return context;
}

/* If 30 contexts of a user wait, a later context of another user is served second. */
static void test_users_take_turns(void **state)
{
	(void)state;
	for (uint64_t context = 1; context <= 30; context++)
		add(context, 1000);
	add(100, 1001);
	add(101, 1001);
	assert_int_equal(waiting_count(&waiting, &limits, false, START), 32);
	assert_int_equal(waiting_count(&waiting, &limits, true, START), 0);
	assert_int_equal(serve(WAITING_ALL), 1);
	assert_int_equal(serve(WAITING_ALL), 100);
	assert_int_equal(serve(WAITING_ALL), 2);
	assert_int_equal(serve(WAITING_ALL), 101);
	assert_int_equal(serve(WAITING_ALL), 3);
	waiting_remove(&waiting, 4);
	assert_int_equal(serve(WAITING_ALL), 5);
}

/* Short-lived workers give a user no advantage: the user who was served last must wait longest. */
static void test_short_turns(void **state)
{
	(void)state;
	for (uint64_t context = 1; context <= 3; context++)
		add(context, 1000);
	assert_int_equal(serve(WAITING_ALL), 1);
	limits_release(&limits, 1000, false, START);
	add(4, 1001);
	assert_int_equal(serve(WAITING_ALL), 4);
	limits_release(&limits, 1001, false, START);
	assert_int_equal(serve(WAITING_ALL), 2);
}

/* A user who recently had many workers does not get the last idle worker. */
static void test_the_modest_first(void **state)
{
	(void)state;
	for (int i = 0; i < LIMITS_BURST / 2; i++) {
		assert_int_equal(limits_acquire(&limits, 1000, START), 0);
		limits_release(&limits, 1000, false, START);
	}
	add(1, 1000);
	assert_int_equal(serve(WAITING_MODEST), 0);
	add(2, 1001);
	assert_int_equal(serve(WAITING_MODEST), 2);
	assert_int_equal(serve(WAITING_ALL), 1);
}

/*
 * Some idle workers are reserved for users who have only one context, counting served and waiting
 * contexts.
 */
static void test_the_alone_first(void **state)
{
	(void)state;
	add(1, 1000);
	add(2, 1000);
	assert_int_equal(serve(WAITING_ALONE), 0);
	add(3, 1001);
	waiting.first->next->next->is_second = true;
	assert_int_equal(serve(WAITING_ALONE), 0);
	add(4, 1002);
	assert_int_equal(serve(WAITING_ALONE), 4);
	assert_int_equal(serve(WAITING_MODEST), 1);
	/* A context that will be refused does not count as a second context of its user. */
	add(5, 1000);
	waiting.first->error = EUSERS;
	assert_int_equal(serve(WAITING_ALONE), 5);
}

/* Contexts of users for whom no worker is reserved wait only for a limited time. */
static void test_waited_long(void **state)
{
	(void)state;
	add(1, 1000);
	add(2, 1000);
	assert_null(waiting_pick(&waiting, &limits, false, WAITING_ALONE,
				 START + WAITING_GIVES_WAY_NS - 1));
	assert_non_null(waiting_pick(&waiting, &limits, false, WAITING_ALONE,
				     START + WAITING_GIVES_WAY_NS));
}

/*
 * After failed starts of workers, the engine waits 1 s, 2 s, 4 s, up to 64 s until the next start.
 */
static void test_tries_again(void **state)
{
	static const unsigned int seconds[] = { 1, 2, 4, 8, 16, 32, 64, 64, 64 };
	struct backoff starts = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		backoff_fail(&starts, START + i);
		assert_int_equal(starts.until_ns, START + i + seconds[i] * NS_PER_S);
	}
	starts.failures = 0;
	backoff_fail(&starts, START);
	assert_int_equal(starts.until_ns, START + NS_PER_S);
}

static void test_too_many_are_refused(void **state)
{
	const struct waiter *waiter;

	(void)state;
	for (uint64_t context = 1; context <= 64; context++) {
		add(context, 1000);
		assert_int_equal(serve(WAITING_ALL), context);
	}
	add(65, 1000);
	add(66, 1001);
	assert_int_equal(waiting_judge(&waiting, &limits, START), START);
	waiter = waiting_refused(&waiting, START);
	assert_non_null(waiter);
	assert_int_equal(waiter->context, 65);
	assert_int_equal(waiter->error, EUSERS);
	waiting_remove(&waiting, 65);
	assert_null(waiting_refused(&waiting, START));
	assert_int_equal(serve(WAITING_ALL), 66);
}

/* A user that started too many workers lately waits a limited time for one more worker. */
static void test_too_fast_is_later(void **state)
{
	const struct waiter *waiter;

	(void)state;
	for (int i = 0; i < LIMITS_BURST; i++) {
		assert_int_equal(limits_acquire(&limits, 1000, START), 0);
		limits_release(&limits, 1000, false, START);
	}
	add(1, 1000);
	assert_int_equal(serve(WAITING_ALL), 0);
	assert_int_equal(waiting_judge(&waiting, &limits, START), START + PRICE);
	assert_null(waiting_refused(&waiting, START));
	for (int i = 0; i < LIMITS_BURST; i++)
		limits_acquire(&limits, 1000, START + PRICE);
	waiting_judge(&waiting, &limits, START + WAITING_MAX_NS - 1);
	assert_null(waiting_refused(&waiting, START + WAITING_MAX_NS - 1));
	/*
	 * A context that has waited WAITING_MAX_NS is refused if its user still starts workers too
	 * often.
	 */
	for (int i = 0; i < LIMITS_BURST; i++) {
		limits_acquire(&limits, 1000, START + WAITING_MAX_NS);
		limits_release(&limits, 1000, false, START + WAITING_MAX_NS);
	}
	waiting_judge(&waiting, &limits, START + WAITING_MAX_NS);
	waiter = waiting_refused(&waiting, START + WAITING_MAX_NS);
	assert_non_null(waiter);
	assert_int_equal(waiter->error, EAGAIN);
}

static void test_all_are_refused(void **state)
{
	(void)state;
	add(1, 1000);
	add(2, 1001);
	waiting_refuse_all(&waiting, &limits, true, EAGAIN, START);
	assert_null(waiting_refused(&waiting, START));
	waiting_refuse_all(&waiting, &limits, false, EAGAIN, START);
	for (uint64_t context = 1; context <= 2; context++) {
		const struct waiter *waiter = waiting_refused(&waiting, START);

		assert_non_null(waiter);
		assert_int_equal(waiter->context, context);
		waiting_remove(&waiting, context);
	}
	assert_null(waiting.first);
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

/* Crashes that are LIMITS_FORGIVE_NS apart cause no back-off. */
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

#define SMALL(test) cmocka_unit_test_setup_teardown(test, reset, clear)
#define LARGE(test) cmocka_unit_test_setup_teardown(test, reset_large, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SMALL(test_user_bound),
		SMALL(test_total_bound),
		SMALL(test_root_is_not_refused),
		LARGE(test_reserve),
		heap_unit_test(test_reserve_of_few),
		SMALL(test_orderly_users_are_forgotten),
		SMALL(test_table_forgets_the_oldest),
		LARGE(test_rate),
		LARGE(test_modesty),
		SMALL(test_refusals_slow_down),
		SMALL(test_refusals_are_logged_seldom),
		LARGE(test_users_take_turns),
		LARGE(test_short_turns),
		LARGE(test_the_modest_first),
		LARGE(test_the_alone_first),
		LARGE(test_waited_long),
		heap_unit_test(test_tries_again),
		LARGE(test_too_many_are_refused),
		LARGE(test_too_fast_is_later),
		LARGE(test_all_are_refused),
		SMALL(test_backoff_doubles),
		SMALL(test_backoff_is_per_user),
		SMALL(test_forgiven),
		SMALL(test_old_crashes_do_not_add_up),
		SMALL(test_unmatched_release),
	};

	return cmocka_run_group_tests_name("engine limits", tests, NULL, NULL);
}
