/* SPDX-License-Identifier: MIT */
/*
 * Cache sizes that kernels assume for every CPU. `compute --calibrate` prints the assumed sizes
 * next to the actual sizes of the CPU.
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
 * Bytes of one way of the first-level cache. A way is as large as a page, so that a CPU can find
 * the cache set of a virtual address without translating the address. If the distance between rows
 * is a multiple of a page, the rows begin in the same cache set, which has one line in each way.
 */
#define NN_WAY_BYTES 4096
#define NN_WAYS 8

/*
 * Returns how many rows that begin `stride` bytes apart can be in the first-level cache at once;
 * SIZE_MAX means that any number of rows can.
 */
static inline size_t nn_near_rows(size_t stride)
{
	return stride % NN_WAY_BYTES ? SIZE_MAX : NN_WAYS;
}

/* Number of bytes of input that one task reads; they fit in a part of the second-level cache. */
#define NN_BLOCK_BYTES (256 * 1024)

#endif /* NN_PLAN_KERNELS_CACHES_H */
