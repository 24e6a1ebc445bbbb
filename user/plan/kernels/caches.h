/* SPDX-License-Identifier: MIT */
/*
 * What kernels take the caches of a CPU for. They are the same for every CPU;
 * `compute --calibrate` shows them beside what the machine has.
 */
#ifndef NN_PLAN_KERNELS_CACHES_H
#define NN_PLAN_KERNELS_CACHES_H

/* Bytes that stay in the first level while others pass: half of one of 48 KiB. */
#define NN_NEAR_BYTES (24 * 1024)

/* Bytes of input of a task: part of a second level. */
#define NN_BLOCK_BYTES (256 * 1024)

#endif /* NN_PLAN_KERNELS_CACHES_H */
