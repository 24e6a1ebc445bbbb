/* SPDX-License-Identifier: MIT */
/*
 * The sizes of a CPU's caches that kernels assume. Kernels assume the same sizes on every CPU.
 * `compute --calibrate` shows these sizes beside the actual ones.
 */
#ifndef NN_PLAN_KERNELS_CACHES_H
#define NN_PLAN_KERNELS_CACHES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that stay in the first-level cache while other data is streamed: half of a cache of 48 KiB.
 */
#define NN_NEAR_BYTES (24 * 1024)

/*
 * Bytes of a way of the first-level cache. A way is as large as a page, so a CPU can find the set
 * before it translates the address. Rows whose distance is a multiple of a page share one set,
 * which has a line for each way.
 */
#define NN_WAY_BYTES 4096
#define NN_WAYS 8

/* Returns how many rows, `stride` bytes apart, can each have a line in the first-level cache. */
static inline size_t nn_near_rows(size_t stride)
{
	return stride % NN_WAY_BYTES ? SIZE_MAX : NN_WAYS;
}

/* Bytes of a task's input: a part of the second-level cache. */
#define NN_BLOCK_BYTES (256 * 1024)

#endif /* NN_PLAN_KERNELS_CACHES_H */
