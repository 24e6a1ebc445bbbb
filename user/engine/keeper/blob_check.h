/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the index and the files of plans are complete and match, without changing them.
 */
#ifndef NN_ENGINE_BLOB_CHECK_H
#define NN_ENGINE_BLOB_CHECK_H

#include <stdint.h>

#include "engine/keeper/cache_index.h"

struct blob_check;

/*
 * Reads the index of the plans, whose files are in `folder` (-1: no folder). Writes a line for each
 * fault to `report`, which must outlive the check. Returns NULL, with a log line, if the index or
 * memory is missing.
 */
struct blob_check *blob_check_begin(struct cache_index *index, int folder, int report);

/* Reads the files. Its time grows with their size, and it does not use the index. */
void blob_check_run(struct blob_check *check);

/*
 * Reports the faults that are still there, counts plans and faults, and frees the check. Up to
 * `in_flight` files may have no entry, because they are being written.
 */
void blob_check_end(struct blob_check *check, struct cache_index *index, uint64_t in_flight,
		    uint64_t *plans, uint64_t *faults);

#endif /* NN_ENGINE_BLOB_CHECK_H */
