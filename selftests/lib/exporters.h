/* SPDX-License-Identifier: MIT */
/*
 * Exporters of dma-bufs for the tests: the module nnaccel_exporter and the kernel's drivers.
 * Functions return an fd, or -1 and errno.
 */
#ifndef SELFTESTS_EXPORTERS_H
#define SELFTESTS_EXPORTERS_H

#include <exporter.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct exporter - An fd of the module nnaccel_exporter, and an fd of a dma-buf that this module
 * exports
 */
struct exporter {
	int fd;
	int buffer;
};

/** exporter_open() - Opens an exporter with a buffer; @refused: EXPORTER_NO_*. */
bool exporter_open(struct exporter *e, unsigned long refused);

/** exporter_close() - Closes both fds, if they are open. */
void exporter_close(struct exporter *e);

/** exporter_counts() - Reads the counters of the buffer; on failure all bytes are 0xff. */
struct exporter_counts exporter_counts(const struct exporter *e);

/** module_load() - Loads a module of the running kernel; false: the kernel lacks the module. */
bool module_load(const char *name, const char *options);

/** driver_open() - Opens the first device in a folder that @is_it accepts; -1: none. */
int driver_open(const char *folder, const char *prefix, bool (*is_it)(int fd));

/** vgem_open() - Opens vgem's node; -1: this kernel has no vgem. */
int vgem_open(void);

/** vgem_buffer() - Creates a dma-buf of vgem; @handle: out: the buffer's handle in vgem. */
int vgem_buffer(int vgem, uint64_t length, uint32_t *handle);

/** vgem_fence() - Adds a pending fence to vgem's buffer; @flags: 1: writer; error: 0 and errno. */
uint32_t vgem_fence(int vgem, uint32_t handle, uint32_t flags);

/** vgem_signal() - Signals a fence of vgem; returns 0 or an errno. */
int vgem_signal(int vgem, uint32_t fence);

/** buffer_sync() - Begins or ends an access of the CPU, DMA_BUF_SYNC_*; returns 0 or an errno. */
int buffer_sync(int buffer, uint64_t flags);

/** buffer_fence() - Returns the fences of a dma-buf as a sync_file, or -1. */
int buffer_fence(int buffer);

/** exporter_lend_fence() - Puts the exporter's pending fences on another dma-buf as a writer's. */
bool exporter_lend_fence(const struct exporter *e, int buffer);

/** heap_buffer() - Creates a dma-buf of the system heap. */
int heap_buffer(uint64_t length);

/** udmabuf_buffer() - Creates a dma-buf of the first pages of @file. */
int udmabuf_buffer(int file, uint64_t length);

#endif
