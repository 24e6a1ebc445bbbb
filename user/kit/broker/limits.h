/* SPDX-License-Identifier: MIT */
/*
 * Limits of each user: number of workers, new workers per time, and crashes. The kernel identifies
 * the user: subordinate ids are one user. Plain state without I/O; the caller passes the time.
 */
#ifndef NN_KIT_LIMITS_H
#define NN_KIT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * Number of users without workers that are remembered; beyond that, the one seen longest ago is
 * forgotten.
 */
#define LIMITS_MAX_IDLE_USERS 1024

/* Number of crashes without a delay; each further one doubles the first delay. */
#define LIMITS_FREE_CRASHES 3
#define LIMITS_FIRST_DELAY_NS NS_PER_S
#define LIMITS_LAST_DELAY_NS UINT64_C(64000000000)

/* Crashes are forgotten after this time without another. */
#define LIMITS_FORGIVE_NS UINT64_C(300000000000)

/*
 * Number of new workers that a user may have at once; afterwards the rate per second applies. A
 * user that has used half of this is no longer modest.
 */
#define LIMITS_BURST 64

/*
 * Number of refusals that a user gets at once; further ones are sent at this interval, and at the
 * latest after LIMITS_LAST_REFUSAL_NS.
 */
#define LIMITS_REFUSALS 32
#define LIMITS_REFUSAL_NS UINT64_C(100000000)
#define LIMITS_LAST_REFUSAL_NS UINT64_C(2000000000)

/* Minimum time between two logged refusals of a user. */
#define LIMITS_LOG_NS UINT64_C(10000000000)

/* Returned by limits_ask(): a worker is possible soon, after many new workers lately. */
#define LIMITS_LATER (-1)

struct limits_user {
	uint32_t uid;
	unsigned int workers;
	unsigned int crashes;		/* in a row */
	uint64_t last_crash_ns;
	uint64_t until_ns;	/* the user gets no worker before this time, after crashes */
	/* when the burst of new workers is available again in full */
	uint64_t starts_paid_ns;
	uint64_t refusals_paid_ns;	/* when the full number of refusals is available again */
	uint64_t logged_ns;		/* time of the last logged refusal */
	unsigned int unlogged;		/* refusals since */
	uint64_t served_ns;		/* time of its last new worker */
	uint64_t seen_ns;
};

struct limits {
	unsigned int max_workers;	/* limit of the workers of all users except root */
	unsigned int max_workers_per_user;
	unsigned int starts_per_s;	/* new workers of a user per second after its burst */
	unsigned int workers;		/* number of workers that count towards max_workers */
	unsigned int num_users, max_users;
	struct limits_user *users;
};

/* Returns false if out of memory. */
bool limits_init(struct limits *limits, unsigned int max_workers,
		 unsigned int max_workers_per_user, unsigned int starts_per_s);
void limits_free(struct limits *limits);

/*
 * Returns whether a user may have one more worker now: 0, EUSERS if it has too many, EAGAIN if it
 * is too early after crashes, or LIMITS_LATER with *later_ns. The last eighth of all workers is
 * reserved for users without one. Root does not count towards the total.
 */
int limits_ask(struct limits *limits, uint32_t uid, uint64_t now_ns, uint64_t *later_ns);

/* Counts a worker for a user if limits_ask() allows it; returns the same values. */
int limits_acquire(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Releases a worker. Returns for how long the user gets no new worker: 0, unless the user's workers
 * crashed too often.
 */
uint64_t limits_release(struct limits *limits, uint32_t uid, bool crashed, uint64_t now_ns);

/* Returns the number of a user's workers. */
unsigned int limits_workers(const struct limits *limits, uint32_t uid);

/* Returns when a user got its last worker; 0 if it never got one or is forgotten. */
uint64_t limits_served_ns(const struct limits *limits, uint32_t uid);

/* Returns whether a user had few new workers lately, so that it may get the last idle worker. */
bool limits_is_modest(const struct limits *limits, uint32_t uid, uint64_t now_ns);

/* Returns how long to wait before a user is refused: 0 unless it was refused often lately. */
uint64_t limits_refuse(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Returns whether to log a refusal, and in *unlogged how many were not logged since the user's last
 * line.
 */
bool limits_log(struct limits *limits, uint32_t uid, uint64_t now_ns, unsigned int *unlogged);

#endif /* NN_KIT_LIMITS_H */
