/* SPDX-License-Identifier: MIT */
/*
 * What a thread executes, for the functions of <nnaccel/engine.h> that an engine calls meanwhile.
 */
#ifndef NN_KIT_RUNNING_H
#define NN_KIT_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/buffers.h"
#include "kit/grants.h"

struct running {
	const struct grants *grants;
	struct mapping **pools;
	struct buffer **buffers;	/* of each pool, or NULL */
	uint32_t num_pools;
	bool may_have_fence;
	int fence;			/* that the engine gave, or -1 */
};

/* From now on this thread executes that; NULL: nothing. */
void running_set(struct running *running);

/* From now on nna_engine_gone_file() is that on this thread; -1 until told. */
void running_set_gone(int file);

/* The command for which this thread prepares a model, for nna_engine_progress(); cookie 0: none. */
void running_set_preparation(int session, uint64_t cookie);

#endif /* NN_KIT_RUNNING_H */
