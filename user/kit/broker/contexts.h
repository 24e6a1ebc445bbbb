/* SPDX-License-Identifier: MIT */
/* Handles contexts that the engine node reports: each context gets a session or is refused. */
#ifndef NN_KIT_CONTEXTS_H
#define NN_KIT_CONTEXTS_H

#include <linux/nnaccel.h>

#include "kit/broker/waiting.h"

/*
 * Fetches the next event of the engine node. Returns 1 with *next, 0 if there is no event, or -1,
 * with a log line, if the node at `device` is unusable.
 */
int context_next(int node, const char *device, struct nnaccel_engine_next *next);

/*
 * Makes the session of a context. The caller closes the session. Returns -1 if the context no
 * longer exists or the ioctl fails.
 */
int context_session(int node, uint64_t context);

/*
 * Gets the id of the process that opened a context. Sets *pid to 0 if the process is outside
 * nnacceld's PID namespace. Returns false if the process has ended or executed another program, or
 * if the module cannot report the process. A caller that reads /proc/PID calls context_opener()
 * before and after reading. If the two calls set the same *pid, the data that was read belongs to
 * the process that opened the context.
 */
bool context_opener(int node, uint64_t context, uint32_t *pid);

/*
 * Refuses the waiting contexts whose deadline (refuse_at_ns) has passed. Returns the time at which
 * the caller must call the function again; UINT64_MAX means after the next event.
 */
uint64_t contexts_refuse(int node, struct waiting *waiting, struct limits *limits);

#endif /* NN_KIT_CONTEXTS_H */
