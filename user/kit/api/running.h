/* SPDX-License-Identifier: MIT */
/*
 * The execution of each thread, for functions of <nnaccel/engine.h> that an engine calls meanwhile.
 */
#ifndef NN_KIT_RUNNING_H
#define NN_KIT_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/session/buffers.h"
#include "kit/session/grants.h"

struct running {
	const struct grants *grants;
	struct mapping **pools;
	struct buffer **buffers;	/* buffer of each pool, or NULL */
	uint32_t num_pools;
	bool may_have_fence;
	int fence;			/* fence from the engine, or -1 */
};

/* Sets the execution of this thread; NULL: none. */
void running_set(struct running *running);

/* Sets the file that nna_engine_gone_file() returns on this thread (default -1). */
void running_set_gone(int file);

/*
 * Sets the command for which this thread prepares a model, for nna_engine_progress(); cookie 0:
 * none.
 */
void running_set_preparation(int session, uint64_t cookie);

#endif /* NN_KIT_RUNNING_H */
