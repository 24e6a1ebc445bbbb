/* SPDX-License-Identifier: MIT */
/*
 * Contexts that wait for a worker, or for their refusal. This file does no I/O.
 */
#ifndef NN_KIT_WAITING_H
#define NN_KIT_WAITING_H

#include "kit/broker/limits.h"

/* Maximum wait of a context whose user had many new workers lately. Then the context is refused. */
#define WAITING_MAX_NS UINT64_C(2000000000)

/* Which waiting contexts may get a worker. */
enum waiting_whom {
	WAITING_ALL,
	WAITING_MODEST,			/* contexts whose user had few new workers lately */
	/*
	 * of these, contexts that are their user's only one or have waited for WAITING_GIVES_WAY_NS
	 */
	WAITING_ALONE,
};

/*
 * Time for which a context of a user with several contexts lets users with a single one go first.
 */
#define WAITING_GIVES_WAY_NS NS_PER_S

struct waiter {
	struct waiter *next;
	uint64_t context;
	uint32_t uid, pid;
	bool with_plugins;
	/* the context's user already has a served context; set by the caller */
	bool is_second;
	uint64_t since_ns;
	int error;			/* 0, or the errno with which the context is refused */
	const char *reason;		/* reason for the log; NULL to log the errno */
	uint64_t refuse_at_ns;		/* when the context is refused */
};

/* Waiting contexts in order of arrival. A zeroed structure is empty. */
struct waiting {
	struct waiter *first;
};

/* Adds a context; returns false if out of memory. */
bool waiting_add(struct waiting *waiting, const struct waiter *waiter);

/* Removes a context; does nothing if the context does not wait. */
void waiting_remove(struct waiting *waiting, uint64_t context);
void waiting_clear(struct waiting *waiting);

/*
 * Returns the context of `whom`, with or without plug-ins, that is to be served next, or NULL.
 * Users with the fewest workers come first; among these, the user that got its last worker longest
 * ago.
 */
struct waiter *waiting_pick(const struct waiting *waiting, struct limits *limits,
			    bool with_plugins, enum waiting_whom whom, uint64_t now_ns);

/* Returns how many contexts may be served now, with or without plug-ins. */
unsigned int waiting_count(const struct waiting *waiting, struct limits *limits,
			   bool with_plugins, uint64_t now_ns);

/*
 * Decides to refuse the contexts that limits_ask() gives no worker. Returns when to call it again,
 * or UINT64_MAX for never.
 */
uint64_t waiting_judge(struct waiting *waiting, struct limits *limits, uint64_t now_ns);

/* Sets the error with which a context is refused, and when. */
void waiting_refuse(struct waiter *waiter, struct limits *limits, int error, uint64_t now_ns);

/* Refuses all contexts that wait for a worker with plug-ins, or all that wait for one without. */
void waiting_refuse_all(struct waiting *waiting, struct limits *limits, bool with_plugins,
			int error, uint64_t now_ns);

/* Returns a context whose refusal is due, or NULL. */
struct waiter *waiting_refused(const struct waiting *waiting, uint64_t now_ns);

#endif /* NN_KIT_WAITING_H */
