/* SPDX-License-Identifier: MIT */
/*
 * The loop of the keeper's process. It answers workers, whose sockets the broker passes
 * to it, from the index and the store of plans.
 */
#ifndef NN_ENGINE_KEEPER_LOOP_H
#define NN_ENGINE_KEEPER_LOOP_H

#include <stdbool.h>

#include "engine/keeper/blob_store.h"
#include "engine/keeper/cache_index.h"

struct keep;

/*
 * Starts the threads. `plans` NULL: none are kept. `listener`: where administrators connect,
 * -1: nowhere. NULL, with a log line: it cannot be.
 */
struct keep *keep_begin(int broker, int listener, struct cache_index *index,
			struct blob_store *plans);

/* Serves until the broker ends it, or is gone. It finishes the work that it began. */
void keep_run(struct keep *keep);

#endif /* NN_ENGINE_KEEPER_LOOP_H */
