/* SPDX-License-Identifier: MIT */
/*
 * A device without the kernel module: this process does the module's work, and talks to an engine
 * that was started with --direct. See base/direct.h.
 *
 * A device without the module supports synchronous work, memory in files, buffers and bursts.
 * Fenced executions, io_uring, images and dma-bufs return EOPNOTSUPP.
 */
#ifndef NN_HAL_DIRECT_H
#define NN_HAL_DIRECT_H

#include <stddef.h>
#include <stdint.h>

struct direct;

/*
 * Returns a device for the engine's socket `path`, without connecting yet. Returns NULL with errno
 * on failure.
 */
struct direct *direct_open(const char *path);
void direct_close(struct direct *d);

/* Replaces ioctl() of a device. Returns 0, or -1 with errno. */
int direct_call(struct direct *d, unsigned long request, void *arg);

/* Replace ioctl(), mmap() and close() of a burst's file; `burst` is the number of the file. */
int direct_burst_call(struct direct *d, int burst, unsigned long request, void *arg);
void *direct_burst_map(struct direct *d, int burst, size_t length, int prot, uint64_t offset);
void direct_burst_close(struct direct *d, int burst);

#endif /* NN_HAL_DIRECT_H */
