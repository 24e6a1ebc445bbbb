/* SPDX-License-Identifier: MIT */
/*
 * Fences of the tests: fenced executions, sync_files, and the fences of sw_sync
 * where the kernel has it. Functions return 0 or an errno, unless they say otherwise.
 */
#ifndef SELFTESTS_FENCE_H
#define SELFTESTS_FENCE_H

#include <linux/nnaccel.h>
#include <stdbool.h>
#include <stdint.h>

#include "device.h"

#define MAX_WAITS 8

/** struct fenced - An EXECUTE_FENCED, and what it points to */
struct fenced {
	struct nnaccel_execute_fenced cmd;
	struct execution execution;
	int32_t waits[MAX_WAITS];
};

/** fenced_init() - Fills in all, without anything to wait for. */
void fenced_init(struct fenced *f, uint32_t model, uint32_t input, uint32_t output);

/** fenced_wait_for() - One more fence to wait for. */
void fenced_wait_for(struct fenced *f, int fence);

/** fence_start() - Submits an execution that waits for a fence, -1: for none; its fence, or -1. */
int fence_start(int fd, uint32_t model, uint32_t pool, int fence);

/** fence_info() - Asks for an execution's result. */
int fence_info(int fd, int fence, struct nnaccel_fence_info *info);

/** fence_error() - FENCE_INFO's out_error, or -1. */
int fence_error(int fd, int fence);

/** fence_status() - A sync_file's state: 0: not signalled; 1: signalled; -errno: with an error. */
int fence_status(int fence);

/** fence_await() - Waits until it has signalled, then as fence_status(). */
int fence_await(int fence);

/** fence_merge() - A sync_file of two, or -1. */
int fence_merge(int a, int b);

/** timeline_open() - A timeline of sw_sync, or -1: there is none. */
int timeline_open(void);

/** timeline_fence() - A fence that signals when the timeline is at @value, or -1. */
int timeline_fence(int timeline, uint32_t value);

/** timeline_advance() - Moves the timeline on by 1; closing it signals the rest with an error. */
int timeline_advance(int timeline);

#endif
