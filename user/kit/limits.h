/* SPDX-License-Identifier: MIT */
/*
 * Who may have a worker: each user's share of workers, of new workers per time and of crashes.
 * A user is whom the kernel names: subordinate ids are one user. Plain state; the caller tells
 * the time.
 */
#ifndef NN_KIT_LIMITS_H
#define NN_KIT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Users without workers that are remembered; beyond that the one seen longest ago is forgotten. */
#define LIMITS_MAX_IDLE_USERS 1024

/* Crashes that are forgiven at once; each further one doubles the first delay. */
#define LIMITS_FREE_CRASHES 3
#define LIMITS_FIRST_DELAY_NS NS_PER_S
#define LIMITS_LAST_DELAY_NS UINT64_C(64000000000)

/* A user whose workers did not crash for so long starts anew. */
#define LIMITS_FORGIVE_NS UINT64_C(300000000000)

/*
 * New workers that a user may have at once, before it gets as many in a second as the rate
 * allows. A user that has taken half of them is no longer modest.
 */
#define LIMITS_BURST 64

/*
 * Refusals of a user that are told at once; beyond that they are told at this distance, but none
 * later than the last.
 */
#define LIMITS_REFUSALS 32
#define LIMITS_REFUSAL_NS UINT64_C(100000000)
#define LIMITS_LAST_REFUSAL_NS UINT64_C(2000000000)

/* A user's refusals are logged once in this time. */
#define LIMITS_LOG_NS UINT64_C(10000000000)

/* limits_ask(): not yet, but soon: the user had many new workers lately. */
#define LIMITS_LATER (-1)

struct limits_user {
	uint32_t uid;
	unsigned int workers;
	unsigned int crashes;		/* in a row */
	uint64_t last_crash_ns;
	uint64_t until_ns;		/* no worker before that, after crashes */
	uint64_t starts_paid_ns;	/* when all new workers of the burst are there again */
	uint64_t refusals_paid_ns;	/* the same of refusals */
	uint64_t logged_ns;		/* when a refusal was logged */
	unsigned int unlogged;		/* refusals since */
	uint64_t served_ns;		/* when it got its last worker */
	uint64_t seen_ns;
};

struct limits {
	unsigned int max_workers;	/* of all users but root */
	unsigned int max_workers_per_user;
	unsigned int starts_per_s;	/* new workers of a user, when its burst is used up */
	unsigned int workers;		/* that count towards max_workers */
	unsigned int num_users, max_users;
	struct limits_user *users;
};

/* False: there is no memory for the table. */
bool limits_init(struct limits *limits, unsigned int max_workers,
		 unsigned int max_workers_per_user, unsigned int starts_per_s);
void limits_free(struct limits *limits);

/*
 * Whether a user may have one more worker now. 0; EUSERS: too many workers; EAGAIN: too early
 * after crashes; LIMITS_LATER: from *later_ns on. The last eighth of all workers is for users
 * who have none, and root does not count towards the workers of all.
 */
int limits_ask(struct limits *limits, uint32_t uid, uint64_t now_ns, uint64_t *later_ns);

/* Counts a worker for a user, who may have it: what limits_ask() says. */
int limits_acquire(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Ends what limits_acquire() began. Returns for how long the user gets no
 * worker, 0 unless this was one crash too many.
 */
uint64_t limits_release(struct limits *limits, uint32_t uid, bool crashed, uint64_t now_ns);

/* Workers of a user. */
unsigned int limits_workers(const struct limits *limits, uint32_t uid);

/* When a user got its last worker; 0: never, or so long ago that it is forgotten. */
uint64_t limits_served_ns(const struct limits *limits, uint32_t uid);

/* Whether a user had few new workers lately, so that the last idle worker may be its. */
bool limits_is_modest(const struct limits *limits, uint32_t uid, uint64_t now_ns);

/* A user is to be refused: after how long, 0 unless it was refused much lately. */
uint64_t limits_refuse(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Whether a refusal is to be logged, and how many were not since the last line of the user.
 */
bool limits_log(struct limits *limits, uint32_t uid, uint64_t now_ns, unsigned int *unlogged);

#endif /* NN_KIT_LIMITS_H */
