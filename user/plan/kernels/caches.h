/* SPDX-License-Identifier: MIT */
/*
 * The sizes of a CPU's caches that kernels assume. They are the same for every CPU; `compute
 * --calibrate` shows them beside the machine's own.
 */
#ifndef NN_PLAN_KERNELS_CACHES_H
#define NN_PLAN_KERNELS_CACHES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that stay in the first-level cache while others pass: half of a cache of 48 KiB. */
#define NN_NEAR_BYTES (24 * 1024)

/*
 * Bytes of a way of the first-level cache. A way is as large as a page, so that addresses need not
 * be translated first. Rows whose distance is a multiple of a page compete for the same set, which
 * has a line for each way.
 */
#define NN_WAY_BYTES 4096
#define NN_WAYS 8

/* Rows `stride` bytes apart of which a line each stays in the first level. */
static inline size_t nn_near_rows(size_t stride)
{
	return stride % NN_WAY_BYTES ? SIZE_MAX : NN_WAYS;
}

/* Bytes of input of a task: part of a second level. */
#define NN_BLOCK_BYTES (256 * 1024)

#endif /* NN_PLAN_KERNELS_CACHES_H */
