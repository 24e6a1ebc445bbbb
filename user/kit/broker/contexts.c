// SPDX-License-Identifier: MIT
/* Handles contexts that the engine node reports: each context gets a session or is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kit/api/log.h"
#include "kit/broker/contexts.h"

int context_next(int node, const char *device, struct nnaccel_engine_next *next)
{
	*next = (struct nnaccel_engine_next){
		.size = sizeof(*next),
		.flags = NNACCEL_ENGINE_NONBLOCK,
	};
	if (!ioctl(node, NNACCEL_ENGINE_NEXT, next))
		return 1;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	log_error("%s: %s%s", device, strerror(errno),
		  errno == ENODEV ? " (the hardware lost its driver or was removed)" : "");
	return -1;
}

int context_session(int node, uint64_t context)
{
	struct nnaccel_engine_session session = {
		.size = sizeof(session),
		.flags = NNACCEL_SESSION_CLOEXEC,
		.context = context,
	};

	if (!ioctl(node, NNACCEL_ENGINE_SESSION, &session))
		return session.out_fd;
	if (errno != ENOENT)
		log_error("context %llu: cannot open its session: %s", (unsigned long long)context,
			  strerror(errno));
	return -1;
}

bool context_opener(int node, uint64_t context, uint32_t *pid)
{
	struct nnaccel_engine_opener opener = { .size = sizeof(opener), .context = context };

	if (ioctl(node, NNACCEL_ENGINE_OPENER, &opener) || !opener.out_lives)
		return false;
	*pid = opener.out_pid;
	return true;
}

/*
 * Refuses a context with the errno waiter->error. Logs the refusal, unless many contexts of the
 * user were refused lately.
 */
static void refuse(int node, struct limits *limits, const struct waiter *waiter)
{
	struct nnaccel_engine_refuse refuse = {
		.size = sizeof(refuse),
		.error = (uint32_t)waiter->error,
		.context = waiter->context,
	};
	const char *reason = waiter->error == EUSERS ? "too many workers" : "no worker for now";
	char more[48] = "";
	unsigned int unlogged;

	if (limits_log(limits, waiter->uid, clock_ns(), &unlogged)) {
		if (unlogged)
			snprintf(more, sizeof(more), "; so were %u since the last such line",
				 unlogged);
		log_info("context %llu of process %u, uid %u: refused: %s%s",
			 (unsigned long long)waiter->context, waiter->pid, waiter->uid,
			 waiter->reason ? waiter->reason : reason, more);
	}
	/* ENOENT means that the context no longer exists. */
	if (ioctl(node, NNACCEL_ENGINE_REFUSE, &refuse) && errno != ENOENT)
		log_error("context %llu: cannot be refused: %s",
			  (unsigned long long)waiter->context, strerror(errno));
}

uint64_t contexts_refuse(int node, struct waiting *waiting, struct limits *limits)
{
	const struct waiter *waiter;

	while ((waiter = waiting_refused(waiting, clock_ns()))) {
		refuse(node, limits, waiter);
		waiting_remove(waiting, waiter->context);
	}
	return waiting_judge(waiting, limits, clock_ns());
}
