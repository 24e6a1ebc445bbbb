/* SPDX-License-Identifier: MIT */
/*
 * Contexts that wait for a worker, or for being told that they get none. Plain state.
 */
#ifndef NN_KIT_WAITING_H
#define NN_KIT_WAITING_H

#include "kit/limits.h"

/* Longest wait of a context whose user had many workers lately; then it is refused. */
#define WAITING_MAX_NS UINT64_C(2000000000)

/* Whom a worker may be given to. */
enum waiting_whom {
	WAITING_ALL,
	WAITING_MODEST,			/* users that had few workers lately */
	WAITING_ALONE,			/* of these, whose only context it is, or waited long */
};

/* How long a context gives way to those who are alone. */
#define WAITING_GIVES_WAY_NS NS_PER_S

struct waiter {
	struct waiter *next;
	uint64_t context;
	uint32_t uid, pid;
	bool with_plugins;
	bool is_second;			/* another context of its user's is served, the caller says */
	uint64_t since_ns;
	int error;			/* 0, or what it is refused with, */
	const char *reason;		/* for the log; NULL: what the error says */
	uint64_t refuse_at_ns;		/* at that time */
};

/* First come, first. Zeroed: none wait. */
struct waiting {
	struct waiter *first;
};

/* False: there is no memory. */
bool waiting_add(struct waiting *waiting, const struct waiter *waiter);

/* Takes a context out; nothing if it does not wait. */
void waiting_remove(struct waiting *waiting, uint64_t context);
void waiting_clear(struct waiting *waiting);

/*
 * The one to be served next with or without plug-ins, of `whom`, NULL: nobody. Users with the
 * fewest workers come first, and of these the one that got its last worker longest ago.
 */
struct waiter *waiting_pick(const struct waiting *waiting, struct limits *limits,
			    bool with_plugins, enum waiting_whom whom, uint64_t now_ns);

/* How many may be served now, with or without plug-ins. */
unsigned int waiting_count(const struct waiting *waiting, struct limits *limits,
			   bool with_plugins, uint64_t now_ns);

/*
 * Has those wait for a refusal who will get no worker: see limits_ask(). Returns the first
 * moment at which something is to be looked at again, UINT64_MAX: none.
 */
uint64_t waiting_judge(struct waiting *waiting, struct limits *limits, uint64_t now_ns);

/* Has one wait for a refusal. */
void waiting_refuse(struct waiter *waiter, struct limits *limits, int error, uint64_t now_ns);

/* Has all those wait for a refusal who want a worker with or without plug-ins. */
void waiting_refuse_all(struct waiting *waiting, struct limits *limits, bool with_plugins,
			int error, uint64_t now_ns);

/* One whose refusal is due; NULL: nobody. */
struct waiter *waiting_refused(const struct waiting *waiting, uint64_t now_ns);

#endif /* NN_KIT_WAITING_H */
