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
 * Starts the threads. If `plans` is NULL, no plans are cached. `listener` is the socket for
 * administrators, or -1. Returns NULL, with a log line, on failure.
 */
struct keep *keep_begin(int broker, int listener, struct cache_index *index,
			struct blob_store *plans);

/* Serves until the broker ends the process or exits. Finishes the work that it began. */
void keep_run(struct keep *keep);

#endif /* NN_ENGINE_KEEPER_LOOP_H */
