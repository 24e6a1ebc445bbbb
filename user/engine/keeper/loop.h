/* SPDX-License-Identifier: MIT */
/*
 * The main loop of the keeper's process. The loop receives the sockets of workers from the broker,
 * and answers requests of workers by the index and the store of plans.
 */
#ifndef NN_ENGINE_KEEPER_LOOP_H
#define NN_ENGINE_KEEPER_LOOP_H

#include <stdbool.h>

#include "engine/keeper/blob_store.h"
#include "engine/keeper/cache_index.h"

struct keep;

/*
 * Starts the keeper's threads. `plans` is NULL if no plans are cached. `listener` is the socket for
 * administrators, or -1. Returns NULL, with a log line, on failure.
 */
struct keep *keep_begin(int broker, int listener, struct cache_index *index,
			struct blob_store *plans);

/*
 * Serves requests until the broker exits or tells the keeper to end. Before keep_run() returns, it
 * finishes the requests in progress.
 */
void keep_run(struct keep *keep);

#endif /* NN_ENGINE_KEEPER_LOOP_H */
