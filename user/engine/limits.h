/* SPDX-License-Identifier: MIT */
/*
 * Who may have a worker: bounds in all and per user, and the back-off from a
 * user whose workers crash. Plain state; the caller tells the time.
 */
#ifndef NN_ENGINE_LIMITS_H
#define NN_ENGINE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* Users that are remembered at a time. */
#define LIMITS_MAX_USERS 1024

/* Crashes that are forgiven at once; each further one doubles the first delay. */
#define LIMITS_FREE_CRASHES 3
#define LIMITS_FIRST_DELAY_NS UINT64_C(1000000000)
#define LIMITS_LAST_DELAY_NS UINT64_C(64000000000)

/* A user whose workers did not crash for so long starts anew. */
#define LIMITS_FORGIVE_NS UINT64_C(300000000000)

struct limits_user {
	uint32_t uid;
	unsigned int workers;
	unsigned int crashes;		/* in a row */
	uint64_t last_crash_ns;
	uint64_t until_ns;		/* no worker before that */
};

/* Zeroed but for the two bounds. */
struct limits {
	unsigned int max_workers;
	unsigned int max_workers_per_user;
	unsigned int workers;
	unsigned int num_users;
	struct limits_user users[LIMITS_MAX_USERS];
};

/*
 * Counts a worker for a user. 0, EUSERS: too many workers; EAGAIN: too early
 * after crashes.
 */
int limits_acquire(struct limits *limits, uint32_t uid, uint64_t now_ns);

/*
 * Ends what limits_acquire() began. Returns for how long the user gets no
 * worker, 0 unless this was one crash too many.
 */
uint64_t limits_release(struct limits *limits, uint32_t uid, bool crashed, uint64_t now_ns);

#endif /* NN_ENGINE_LIMITS_H */
