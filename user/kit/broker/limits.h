/* SPDX-License-Identifier: MIT */
/*
 * Limits of each user: number of workers, new workers per time, and crashes. The kernel reports the
 * user of a context; all subordinate ids of a user count as that user. The functions of limits.h do
 * no I/O; their callers pass the current time.
 */
#ifndef NN_KIT_LIMITS_H
#define NN_KIT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * Maximum number of remembered users without workers. If a new user would exceed
 * LIMITS_MAX_IDLE_USERS, the user seen longest ago is forgotten.
 */
#define LIMITS_MAX_IDLE_USERS 1024

/*
 * Number of crashes that do not delay a user's next worker. The next crash causes a delay of
 * LIMITS_FIRST_DELAY_NS, and each further crash doubles the delay, up to LIMITS_LAST_DELAY_NS.
 */
#define LIMITS_FREE_CRASHES 3
#define LIMITS_FIRST_DELAY_NS NS_PER_S
#define LIMITS_LAST_DELAY_NS UINT64_C(64000000000)

/* Time without a new crash after which a user's crashes are forgotten. */
#define LIMITS_FORGIVE_NS UINT64_C(300000000000)

/*
 * Number of new workers that a user may get at once. A user that has had LIMITS_BURST workers gets
 * more workers only at the rate `starts_per_s`. A user that has used half of LIMITS_BURST does not
 * count as modest; see limits_is_modest().
 */
#define LIMITS_BURST 64

/*
 * Number of refusals that a user gets without delay. After LIMITS_REFUSALS refusals, each refusal
 * is sent LIMITS_REFUSAL_NS after the previous refusal, but is delayed by at most
 * LIMITS_LAST_REFUSAL_NS.
 */
#define LIMITS_REFUSALS 32
#define LIMITS_REFUSAL_NS UINT64_C(100000000)
#define LIMITS_LAST_REFUSAL_NS UINT64_C(2000000000)

/* Minimum time between two logged refusals of a user. */
#define LIMITS_LOG_NS UINT64_C(10000000000)

/* Result of limits_ask(): the user had many new workers lately, and may get another worker soon. */
#define LIMITS_LATER (-1)

struct limits_user {
	uint32_t uid;
	unsigned int workers;
	unsigned int crashes;		/* number of crashes in a row */
	uint64_t last_crash_ns;
	uint64_t until_ns;	/* time until which the user gets no worker, due to crashes */
	/* time at which the user may again have LIMITS_BURST new workers at once */
	uint64_t starts_paid_ns;
	/* time at which the user may again get LIMITS_REFUSALS refusals without delay */
	uint64_t refusals_paid_ns;
	uint64_t logged_ns;		/* time of the last logged refusal */
	unsigned int unlogged;		/* number of unlogged refusals after logged_ns */
	uint64_t served_ns;		/* time at which the user got the last worker */
	uint64_t seen_ns;
};

struct limits {
	unsigned int max_workers;	/* maximum number of workers of all users except root */
	unsigned int max_workers_per_user;
	/*
	 * number of new workers that a user may get per second, after LIMITS_BURST new workers at
	 * once
	 */
	unsigned int starts_per_s;
	unsigned int workers;		/* present workers that count towards max_workers */
	unsigned int num_users, max_users;
	struct limits_user *users;
};

/* Returns false if out of memory. */
bool limits_init(struct limits *limits, unsigned int max_workers,
		 unsigned int max_workers_per_user, unsigned int starts_per_s);
void limits_free(struct limits *limits);

/*
 * Returns 0 if a user may have one more worker now. Returns EUSERS if there are too many workers,
 * EAGAIN if the user's workers crashed too recently, or LIMITS_LATER with the time of the next try
 * in *later_ns. The last eighth of max_workers is reserved for users without a worker. Workers of
 * root do not count towards max_workers.
 */
int limits_ask(struct limits *limits, uint32_t uid, uint64_t now_ns, uint64_t *later_ns);

/*
 * Calls limits_ask() and returns its result; if the result is 0, adds one to the user's number of
 * workers.
 */
int limits_acquire(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Records that a user's worker has ended. Returns the time in ns for which the user gets no new
 * worker: 0 unless the user's workers crashed too often.
 */
uint64_t limits_release(struct limits *limits, uint32_t uid, bool crashed, uint64_t now_ns);

unsigned int limits_workers(const struct limits *limits, uint32_t uid);

/* Returns when a user got its last worker, or 0 if the user never got a worker or was forgotten. */
uint64_t limits_served_ns(const struct limits *limits, uint32_t uid);

/*
 * Returns whether a user had few new workers lately, so that the user may get one of the last idle
 * workers.
 */
bool limits_is_modest(const struct limits *limits, uint32_t uid, uint64_t now_ns);

/* Returns the delay of a user's next refusal in ns: 0 unless the user was refused often lately. */
uint64_t limits_refuse(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Returns whether to log a refusal. Sets *unlogged to the number of the user's refusals since the
 * last refusal that was logged.
 */
bool limits_log(struct limits *limits, uint32_t uid, uint64_t now_ns, unsigned int *unlogged);

#endif /* NN_KIT_LIMITS_H */
