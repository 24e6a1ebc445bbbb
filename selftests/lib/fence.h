/* SPDX-License-Identifier: MIT */
/*
 * Executions with a file for the result, and fences of simulated hardware, by sw_sync if available.
 * Functions return 0 or an errno, unless their comments say otherwise.
 */
#ifndef SELFTESTS_FENCE_H
#define SELFTESTS_FENCE_H

#include <linux/nnaccel.h>
#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/** file_start() - Submits an execution; @dependency may be -1; returns a file, or -1 and errno. */
int file_start(int fd, uint32_t model, uint32_t pool, int dependency);

/** file_start_until() - Submits an execution with a deadline, 0: none. */
int file_start_until(int fd, uint32_t model, uint32_t pool, int dependency, uint64_t deadline_ns);

/**
 * file_end() - Waits for the end of an execution and fetches its answer
 *
 * Returns 0, the errno with which the execution failed, or EPROTO if the execution's status is not
 * NONE.
 */
int file_end(int fd, int file);

/** file_cancel() - Ends an execution by the id that its file shows. */
int file_cancel(int fd, int file);

/** execution_fence() - Gets the fence that the engine committed for an execution with a file. */
int execution_fence(int fd, int file, int *fence);

/** fence_status() - Returns a sync_file's state: 0: pending, 1: signalled, -errno: failed. */
int fence_status(int fence);

/** timeline_open() - Creates a timeline of sw_sync; -1: the kernel has none. */
int timeline_open(void);

/** timeline_fence() - Returns a fence that signals when the timeline reaches @value, or -1. */
int timeline_fence(int timeline, uint32_t value);

/** timeline_advance() - Advances a timeline by 1; close() signals pending fences with an error. */
int timeline_advance(int timeline);

#endif
