/* SPDX-License-Identifier: MIT */
/*
 * Reads the kernel's counters of this process. The counters show whether the process can have read
 * frames, and how many files with frames the workers received.
 */
#ifndef NN_CAMERA_OUTSIDE_H
#define NN_CAMERA_OUTSIDE_H

#include <stdint.h>

/*
 * Returns the number of mappings of the given dma-bufs or of cameras in /proc/self/maps; -1 if
 * /proc/self/maps cannot be read.
 */
int outside_mapped_frames(const int *buffers, int count);

/*
 * Returns the number of bytes that this process has moved by system calls, from /proc/self/io; -1
 * if the number is unknown.
 */
int64_t outside_moved_bytes(void);

/*
 * Returns how often workers have fetched a memory of a burst from the kernel, from the fdinfo of
 * bursts; -1 if there is no burst.
 */
int64_t outside_slot_resolves(void);

#endif /* NN_CAMERA_OUTSIDE_H */
