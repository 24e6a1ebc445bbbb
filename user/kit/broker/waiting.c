// SPDX-License-Identifier: MIT
/* Keeps a list of contexts that wait for a worker, or for their refusal. */
#include <errno.h>
#include <stdlib.h>

#include "kit/broker/waiting.h"

bool waiting_add(struct waiting *waiting, const struct waiter *waiter)
{
	struct waiter **link = &waiting->first, *new = malloc(sizeof(*new));

	if (!new)
		return false;
	*new = *waiter;
	new->next = NULL;
	while (*link)
		link = &(*link)->next;
	*link = new;
	return true;
}

void waiting_remove(struct waiting *waiting, uint64_t context)
{
	struct waiter **link = &waiting->first, *waiter;

	while (*link && (*link)->context != context)
		link = &(*link)->next;
	waiter = *link;
	if (!waiter)
		return;
	*link = waiter->next;
	free(waiter);
}

void waiting_clear(struct waiting *waiting)
{
	while (waiting->first)
		waiting_remove(waiting, waiting->first->context);
}

/* Returns whether the user's limits allow serving a context now. */
static bool is_wanted(const struct waiter *waiter, struct limits *limits, bool with_plugins,
		      uint64_t now_ns)
{
	uint64_t later_ns;

	return !waiter->error && waiter->with_plugins == with_plugins &&
	       !limits_ask(limits, waiter->uid, now_ns, &later_ns);
}

/* Returns whether another context of the waiter's user is waiting. */
static bool has_company(const struct waiting *waiting, const struct waiter *waiter)
{
	const struct waiter *w = waiting->first;

	while (w && (w == waiter || w->uid != waiter->uid || w->error))
		w = w->next;
	return w;
}

static bool is_one_of(const struct waiting *waiting, const struct waiter *waiter,
		      const struct limits *limits, enum waiting_whom whom, uint64_t now_ns)
{
	if (whom == WAITING_ALONE && now_ns - waiter->since_ns < WAITING_GIVES_WAY_NS &&
	    (waiter->is_second || has_company(waiting, waiter)))
		return false;
	return whom == WAITING_ALL || limits_is_modest(limits, waiter->uid, now_ns);
}

struct waiter *waiting_pick(const struct waiting *waiting, struct limits *limits,
			    bool with_plugins, enum waiting_whom whom, uint64_t now_ns)
{
	struct waiter *found = NULL;
	unsigned int least = 0;
	uint64_t longest_ago_ns = 0;

	for (struct waiter *w = waiting->first; w; w = w->next) {
		unsigned int workers = limits_workers(limits, w->uid);
		uint64_t served_ns = limits_served_ns(limits, w->uid);

		if (!is_wanted(w, limits, with_plugins, now_ns) ||
		    !is_one_of(waiting, w, limits, whom, now_ns))
			continue;
		if (!found || workers < least ||
		    (workers == least && served_ns < longest_ago_ns)) {
			found = w;
			least = workers;
			longest_ago_ns = served_ns;
		}
	}
	return found;
}

unsigned int waiting_count(const struct waiting *waiting, struct limits *limits,
			   bool with_plugins, uint64_t now_ns)
{
	unsigned int count = 0;

	for (const struct waiter *w = waiting->first; w; w = w->next)
		count += is_wanted(w, limits, with_plugins, now_ns);
	return count;
}

void waiting_refuse(struct waiter *waiter, struct limits *limits, int error, uint64_t now_ns)
{
	waiter->error = error;
	waiter->refuse_at_ns = now_ns + limits_refuse(limits, waiter->uid, now_ns);
}

uint64_t waiting_judge(struct waiting *waiting, struct limits *limits, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX, later_ns;

	for (struct waiter *w = waiting->first; w; w = w->next) {
		int error = w->error ? 0 : limits_ask(limits, w->uid, now_ns, &later_ns);

		if (error == LIMITS_LATER && now_ns - w->since_ns >= WAITING_MAX_NS)
			error = EAGAIN;
		if (error == LIMITS_LATER) {
			if (later_ns > w->since_ns + WAITING_MAX_NS)
				later_ns = w->since_ns + WAITING_MAX_NS;
			if (later_ns < next_ns)
				next_ns = later_ns;
			continue;
		}
		if (error)
			waiting_refuse(w, limits, error, now_ns);
		if (w->error && w->refuse_at_ns < next_ns)
			next_ns = w->refuse_at_ns;
	}
	return next_ns;
}

void waiting_refuse_all(struct waiting *waiting, struct limits *limits, bool with_plugins,
			int error, uint64_t now_ns)
{
	for (struct waiter *w = waiting->first; w; w = w->next)
		if (!w->error && w->with_plugins == with_plugins)
			waiting_refuse(w, limits, error, now_ns);
}

struct waiter *waiting_refused(const struct waiting *waiting, uint64_t now_ns)
{
	struct waiter *w = waiting->first;

	while (w && (!w->error || w->refuse_at_ns > now_ns))
		w = w->next;
	return w;
}
