// SPDX-License-Identifier: MIT
/*
 * Who may have a worker: bounds in all and per user, and the back-off from a
 * user whose workers crash. Plain state; the caller tells the time.
 */
#include <errno.h>
#include <stddef.h>

#include "engine/limits.h"

static bool is_forgiven(const struct limits_user *user, uint64_t now_ns)
{
	return !user->crashes || now_ns - user->last_crash_ns >= LIMITS_FORGIVE_NS;
}

/* Forgets users of whom nothing need be known. */
static void sweep(struct limits *limits, uint64_t now_ns)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < limits->num_users; i++) {
		struct limits_user *user = &limits->users[i];

		if (is_forgiven(user, now_ns))
			user->crashes = 0;
		if (user->workers || user->crashes)
			limits->users[kept++] = *user;
	}
	limits->num_users = kept;
}

static struct limits_user *find(struct limits *limits, uint32_t uid)
{
	for (unsigned int i = 0; i < limits->num_users; i++) {
		if (limits->users[i].uid == uid)
			return &limits->users[i];
	}
	return NULL;
}

static struct limits_user *add(struct limits *limits, uint32_t uid)
{
	struct limits_user *user;

	if (limits->num_users == LIMITS_MAX_USERS)
		return NULL;
	user = &limits->users[limits->num_users++];
	*user = (struct limits_user){ .uid = uid };
	return user;
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
	struct limits_user *user;

	sweep(limits, now_ns);
	user = find(limits, uid);
	if (user && now_ns < user->until_ns)
		return EAGAIN;
	if (limits->workers >= limits->max_workers)
		return EUSERS;
	if (user && user->workers >= limits->max_workers_per_user)
		return EUSERS;
	if (!user)
		user = add(limits, uid);
	if (!user)
		return EUSERS;
	user->workers++;
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
