// SPDX-License-Identifier: MIT
/* Limits of each user: number of workers, new workers per time, and crashes. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kit/broker/limits.h"

bool limits_init(struct limits *limits, unsigned int max_workers,
		 unsigned int max_workers_per_user, unsigned int starts_per_s)
{
	*limits = (struct limits){
		.max_workers = max_workers,
		.max_workers_per_user = max_workers_per_user,
		.starts_per_s = starts_per_s,
		/* Users with a worker, including root, always have an entry in the table. */
		.max_users = max_workers + 1 + LIMITS_MAX_IDLE_USERS,
	};
	limits->users = calloc(limits->max_users, sizeof(*limits->users));
	return limits->users;
}

void limits_free(struct limits *limits)
{
	free(limits->users);
	limits->users = NULL;
}

/* ---- the table ---- */

static bool is_forgiven(const struct limits_user *user, uint64_t now_ns)
{
	return !user->crashes || now_ns - user->last_crash_ns >= LIMITS_FORGIVE_NS;
}

/*
 * Returns whether a user's entry can be removed, because a new entry of the user would have the
 * same effect.
 */
static bool is_blank(const struct limits_user *user, uint64_t now_ns)
{
	return !user->workers && !user->crashes && user->starts_paid_ns <= now_ns &&
	       user->refusals_paid_ns <= now_ns && !user->unlogged &&
	       (!user->logged_ns || now_ns - user->logged_ns >= LIMITS_LOG_NS);
}

static void sweep(struct limits *limits, uint64_t now_ns)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < limits->num_users; i++) {
		struct limits_user *user = &limits->users[i];

		if (is_forgiven(user, now_ns))
			user->crashes = 0;
		if (!is_blank(user, now_ns))
			limits->users[kept++] = *user;
	}
	limits->num_users = kept;
}

static struct limits_user *find(const struct limits *limits, uint32_t uid)
{
	for (unsigned int i = 0; i < limits->num_users; i++) {
		if (limits->users[i].uid == uid)
			return &limits->users[i];
	}
	return NULL;
}

/*
 * Returns the user without workers that was seen longest ago. A full table always contains a user
 * without workers.
 */
static struct limits_user *oldest(struct limits *limits)
{
	struct limits_user *found = NULL;

	for (unsigned int i = 0; i < limits->num_users; i++) {
		struct limits_user *user = &limits->users[i];

		if (!user->workers && (!found || user->seen_ns < found->seen_ns))
			found = user;
	}
	return found;
}

/* Returns a user's entry in the table; adds the entry if necessary. */
static struct limits_user *get(struct limits *limits, uint32_t uid, uint64_t now_ns)
{
	struct limits_user *user = find(limits, uid);

	if (!user) {
		sweep(limits, now_ns);
		user = limits->num_users < limits->max_users ?
		       &limits->users[limits->num_users++] : oldest(limits);
		*user = (struct limits_user){ .uid = uid };
	}
	user->seen_ns = now_ns;
	return user;
}

/* ---- token buckets, stored as the time when the bucket is full again ---- */

static uint64_t price_ns(const struct limits *limits)
{
	return NS_PER_S / limits->starts_per_s;
}

/* Returns how many ns pass until a token bucket is full again. */
static uint64_t debt_ns(uint64_t paid_ns, uint64_t now_ns)
{
	return paid_ns > now_ns ? paid_ns - now_ns : 0;
}

/* ---- queries ---- */

static bool is_full(const struct limits *limits, uint32_t uid, unsigned int workers)
{
	unsigned int reserve = limits->max_workers / 8;

	if (!uid)
		return false;
	if (!reserve && limits->max_workers > 1)
		reserve = 1;
	return limits->workers >= limits->max_workers - (workers ? reserve : 0);
}

int limits_ask(struct limits *limits, uint32_t uid, uint64_t now_ns, uint64_t *later_ns)
{
	const struct limits_user *user = find(limits, uid);
	uint64_t debt, most = price_ns(limits) * (LIMITS_BURST - 1);

	if (user && now_ns < user->until_ns && !is_forgiven(user, now_ns))
		return EAGAIN;
	if (is_full(limits, uid, user ? user->workers : 0))
		return EUSERS;
	if (!user)
		return 0;
	if (user->workers >= limits->max_workers_per_user)
		return EUSERS;
	debt = debt_ns(user->starts_paid_ns, now_ns);
	if (debt <= most)
		return 0;
	*later_ns = now_ns + debt - most;
	return LIMITS_LATER;
}

static uint64_t delay_after(unsigned int crashes)
{
	uint64_t delay = LIMITS_FIRST_DELAY_NS;

	if (crashes <= LIMITS_FREE_CRASHES)
		return 0;
	for (unsigned int n = LIMITS_FREE_CRASHES + 1; n < crashes; n++) {
		delay *= 2;
		if (delay >= LIMITS_LAST_DELAY_NS)
			return LIMITS_LAST_DELAY_NS;
	}
	return delay;
}

int limits_acquire(struct limits *limits, uint32_t uid, uint64_t now_ns)
{
	uint64_t later_ns;
	int error = limits_ask(limits, uid, now_ns, &later_ns);
	struct limits_user *user;

	if (error)
		return error;
	user = get(limits, uid, now_ns);
	user->workers++;
	user->served_ns = now_ns;
	user->starts_paid_ns = now_ns + debt_ns(user->starts_paid_ns, now_ns) + price_ns(limits);
	if (uid)
		limits->workers++;
	return 0;
}

uint64_t limits_release(struct limits *limits, uint32_t uid, bool crashed, uint64_t now_ns)
{
	struct limits_user *user = find(limits, uid);
	uint64_t delay;

	if (!user || !user->workers)
		return 0;
	user->workers--;
	user->seen_ns = now_ns;
	if (uid)
		limits->workers--;
	if (!crashed)
		return 0;
	if (is_forgiven(user, now_ns))
		user->crashes = 0;
	user->crashes++;
	user->last_crash_ns = now_ns;
	delay = delay_after(user->crashes);
	user->until_ns = now_ns + delay;
	return delay;
}

unsigned int limits_workers(const struct limits *limits, uint32_t uid)
{
	const struct limits_user *user = find(limits, uid);

	return user ? user->workers : 0;
}

uint64_t limits_served_ns(const struct limits *limits, uint32_t uid)
{
	const struct limits_user *user = find(limits, uid);

	return user ? user->served_ns : 0;
}

bool limits_is_modest(const struct limits *limits, uint32_t uid, uint64_t now_ns)
{
	const struct limits_user *user = find(limits, uid);

	return !user || debt_ns(user->starts_paid_ns, now_ns) < price_ns(limits) * LIMITS_BURST / 2;
}

/* ---- refusals ---- */

uint64_t limits_refuse(struct limits *limits, uint32_t uid, uint64_t now_ns)
{
	struct limits_user *user = get(limits, uid, now_ns);
	uint64_t debt = debt_ns(user->refusals_paid_ns, now_ns);
	uint64_t burst = LIMITS_REFUSALS * LIMITS_REFUSAL_NS;
	uint64_t delay = debt > burst ? debt - burst : 0;

	if (delay >= LIMITS_LAST_REFUSAL_NS)
		return LIMITS_LAST_REFUSAL_NS;
	user->refusals_paid_ns = now_ns + debt + LIMITS_REFUSAL_NS;
	return delay;
}

bool limits_log(struct limits *limits, uint32_t uid, uint64_t now_ns, unsigned int *unlogged)
{
	struct limits_user *user = get(limits, uid, now_ns);

	if (user->logged_ns && now_ns - user->logged_ns < LIMITS_LOG_NS) {
		user->unlogged++;
		return false;
	}
	*unlogged = user->unlogged;
	user->unlogged = 0;
	user->logged_ns = now_ns;
	return true;
}
