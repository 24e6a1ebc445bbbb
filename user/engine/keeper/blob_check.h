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
 * Begins a check: reads the index of the plans. The plans' files are in `folder`; -1 means that
 * there is no folder. The check writes a line for each fault to the file `report`, which must stay
 * open until the end. Returns NULL, with a log line, if the index cannot be read or memory runs
 * out.
 */
struct blob_check *blob_check_begin(struct cache_index *index, int folder, int report);

/*
 * Reads the files of all plans, without using the index. Takes time proportional to the size of the
 * files.
 */
void blob_check_run(struct blob_check *check);

/*
 * Reports those faults that still exist in the index, counts plans and faults, and frees the check.
 * Up to `in_flight` files without an entry are not reported, because these files are still being
 * written.
 */
void blob_check_end(struct blob_check *check, struct cache_index *index, uint64_t in_flight,
		    uint64_t *plans, uint64_t *faults);

#endif /* NN_ENGINE_BLOB_CHECK_H */
