/* SPDX-License-Identifier: MIT */
/*
 * Contexts that the engine node tells of: each gets a session, or is refused.
 */
#ifndef NN_KIT_CONTEXTS_H
#define NN_KIT_CONTEXTS_H

#include <linux/nnaccel.h>

#include "kit/waiting.h"

/*
 * What the engine node tells next. 1: *next is it; 0: nothing; -1, with a log line: the node at
 * `device` is of no use any longer.
 */
int context_next(int node, const char *device, struct nnaccel_engine_next *next);

/* A session of a context, the caller's to close; -1: it is gone, or something else is wrong. */
int context_session(int node, uint64_t context);

/*
 * Tells the process that opened a context, 0 where nnacceld's PID namespace has no number for it.
 * False: the process has ended or executed another program, or the module cannot say. If this
 * call gives the same answer before and after /proc is read, all that was read is of that process.
 */
bool context_opener(int node, uint64_t context, uint32_t *pid);

/*
 * Refuses those whose refusal is due. Returns when those who wait are to be looked at again,
 * UINT64_MAX: when something happens.
 */
uint64_t contexts_refuse(int node, struct waiting *waiting, struct limits *limits);

#endif /* NN_KIT_CONTEXTS_H */
