/* SPDX-License-Identifier: MIT */
/*
 * What the keeper's process does: it answers workers, whose sockets the broker passes
 * to it, from the index and the store of plans.
 */
#ifndef NN_ENGINE_KEEP_H
#define NN_ENGINE_KEEP_H

#include <stdbool.h>

#include "engine/blob_store.h"
#include "engine/cache_index.h"

/* What the broker says to end a keeper at once; what it passes are user ids and files. */
#define KEEP_END UINT32_MAX

/*
 * Serves until the broker says so, or is gone with all workers. `plans` NULL: none are
 * kept. False, with a log line: it cannot begin.
 */
bool keep_run(int broker, struct cache_index *index, struct blob_store *plans);

#endif /* NN_ENGINE_KEEP_H */
