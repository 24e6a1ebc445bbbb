/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of this process: whether it can have touched frames, and
 * what it was handed of them.
 */
#ifndef NN_CAMERA_OUTSIDE_H
#define NN_CAMERA_OUTSIDE_H

#include <stdint.h>

/* Mappings of these dma-bufs, or of cameras, in /proc/self/maps; -1: it cannot be read. */
int outside_mapped_frames(const int *buffers, int count);

/* Bytes that it read and wrote by system calls so far, of /proc/self/io; -1: not told. */
int64_t outside_moved_bytes(void);

/* Memories that workers had to ask the kernel for, of the bursts' fdinfo; -1: there is none. */
int64_t outside_slot_resolves(void);

#endif /* NN_CAMERA_OUTSIDE_H */
