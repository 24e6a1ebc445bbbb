/* SPDX-License-Identifier: MIT */
/*
 * Looks whether the index and the files of plans are whole and belong together, without
 * changing any of it.
 */
#ifndef NN_ENGINE_BLOB_CHECK_H
#define NN_ENGINE_BLOB_CHECK_H

#include <stdint.h>

#include "engine/keeper/cache_index.h"

struct blob_check;

/*
 * Reads the index and what it says of plans, whose files are in `folder` (-1: there are none). A
 * line of each fault is written to `report`, which outlives it. NULL, with a log line: there is no
 * index or no memory.
 */
struct blob_check *blob_check_begin(struct cache_index *index, int folder, int report);

/* Reads the files: takes as long as they are large, and needs the index no more. */
void blob_check_run(struct blob_check *check);

/*
 * Tells of what is wrong and still there. Of files without an entry `in_flight` may be there:
 * they are being written. Counts plans and faults, and frees it.
 */
void blob_check_end(struct blob_check *check, struct cache_index *index, uint64_t in_flight,
		    uint64_t *plans, uint64_t *faults);

#endif /* NN_ENGINE_BLOB_CHECK_H */
