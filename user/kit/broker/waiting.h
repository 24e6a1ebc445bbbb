/* SPDX-License-Identifier: MIT */
/*
 * Keeps a list of contexts that wait for a worker, or for their refusal. The functions of waiting.h
 * do no I/O.
 */
#ifndef NN_KIT_WAITING_H
#define NN_KIT_WAITING_H

#include "kit/broker/limits.h"

/* Time after which a waiting context is refused if its user had many new workers lately. */
#define WAITING_MAX_NS UINT64_C(2000000000)

/* The set of waiting contexts that may get a worker. */
enum waiting_whom {
	WAITING_ALL,
	WAITING_MODEST,			/* contexts whose user had few new workers lately */
	/*
	 * Contexts of WAITING_MODEST. If a user has several contexts, only the contexts that have
	 * waited for WAITING_GIVES_WAY_NS belong to the set.
	 */
	WAITING_ALONE,
};

/*
 * For WAITING_GIVES_WAY_NS after its arrival, a context of a user with several contexts waits
 * behind contexts of users with a single context.
 */
#define WAITING_GIVES_WAY_NS NS_PER_S

struct waiter {
	struct waiter *next;
	uint64_t context;
	uint32_t uid, pid;
	bool with_plugins;
	/* true if a worker serves another context of the same user; set by the caller */
	bool is_second;
	uint64_t since_ns;
	/* errno with which the context is refused; 0 if the context is not refused */
	int error;
	const char *reason;		/* reason of the refusal for the log; NULL: log the errno */
	uint64_t refuse_at_ns;		/* time at which the context is refused */
};

/* Waiting contexts in order of arrival. A zeroed struct waiting is an empty list. */
struct waiting {
	struct waiter *first;
};

/* Adds a waiting context to the list; returns false if out of memory. */
bool waiting_add(struct waiting *waiting, const struct waiter *waiter);

/* Removes a waiting context; does nothing if the context is not in the list. */
void waiting_remove(struct waiting *waiting, uint64_t context);
void waiting_clear(struct waiting *waiting);

/*
 * Returns the context to serve next, or NULL. Considers only contexts of the set `whom` whose field
 * with_plugins equals the parameter `with_plugins`. Users with the fewest workers are served first.
 * If several users have equally few workers, the user that got its last worker longest ago is
 * served first.
 */
struct waiter *waiting_pick(const struct waiting *waiting, struct limits *limits,
			    bool with_plugins, enum waiting_whom whom, uint64_t now_ns);

/* Returns how many contexts that wait for a worker with (or without) plug-ins may be served now. */
unsigned int waiting_count(const struct waiting *waiting, struct limits *limits,
			   bool with_plugins, uint64_t now_ns);

/*
 * Marks for refusal the contexts to which limits_ask() denies a worker. Returns the time for the
 * next call of waiting_judge(), or UINT64_MAX if no call is needed.
 */
uint64_t waiting_judge(struct waiting *waiting, struct limits *limits, uint64_t now_ns);

/* Sets the error with which a context is refused, and the time of the refusal. */
void waiting_refuse(struct waiter *waiter, struct limits *limits, int error, uint64_t now_ns);

/*
 * Refuses all contexts that wait for a worker with plug-ins or, if `with_plugins` is false, for a
 * worker without plug-ins.
 */
void waiting_refuse_all(struct waiting *waiting, struct limits *limits, bool with_plugins,
			int error, uint64_t now_ns);

/* Returns a context whose refusal is due (see refuse_at_ns), or NULL. */
struct waiter *waiting_refused(const struct waiting *waiting, uint64_t now_ns);

#endif /* NN_KIT_WAITING_H */
