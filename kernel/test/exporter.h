/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The interface of the tests' exporter of dma-bufs; see exporter.c.
 */
#ifndef NNACCEL_TEST_EXPORTER_H
#define NNACCEL_TEST_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXPORTER_DEVICE		"nnaccel-exporter"
#define EXPORTER_NUM_PAGES	4

/*
 * How a buffer misbehaves: bits of EXPORTER_CREATE's and EXPORTER_REFUSE's argument. What blocks
 * goes on when its bit is cleared, when the file is closed, or when its task is killed.
 */
enum {
	EXPORTER_NO_MMAP = 1,
	EXPORTER_NO_BEGIN = 2,
	EXPORTER_NO_END = 4,
	EXPORTER_BEGIN_BLOCKS = 8,
	EXPORTER_END_BLOCKS = 16,
	/* Locks the reservation object and waits for the writers' fences there. */
	EXPORTER_END_WAITS_FOR_FENCES = 32,
	EXPORTER_BEGIN_WAITS_FOR_FENCES = 64,
};

/**
 * struct exporter_counts - What was done to a buffer so far
 * @begun: begin_cpu_access that succeeded, by direction: both, to the device, from it
 * @ended: end_cpu_access likewise
 * @fences: unsignalled fences in the reservation object now
 * @calls: calls of both, whatever became of them
 * @blocked: of these, those that have not returned
 * @to_cpu: how often a mapping of the test's device was given to the CPU; of all files
 * @to_device: the same, to the device
 */
struct exporter_counts {
	__u32 begun[3];
	__u32 ended[3];
	__u32 fences;
	__u32 calls;
	__u32 blocked;
	__u32 to_cpu;
	__u32 to_device;
};

/**
 * struct exporter_failures - What the next calls return, without doing anything
 * @error: errno; the kernel's own ones (ERESTARTSYS: 512) too
 * @begins: how many of begin_cpu_access
 * @ends: how many of end_cpu_access
 */
struct exporter_failures {
	__u32 error;
	__u32 begins;
	__u32 ends;
};

/* The file's one buffer, as a dma-buf fd; the file's last close takes its memory away. */
#define EXPORTER_CREATE	_IO(0xBA, 0)
/* From now on. */
#define EXPORTER_REFUSE	_IO(0xBA, 1)
#define EXPORTER_COUNTS	_IOR(0xBA, 2, struct exporter_counts)
/* Adds a fence of a reader (0) or a writer (1). */
#define EXPORTER_FENCE	_IO(0xBA, 3)
/* Signals the fences. */
#define EXPORTER_SIGNAL	_IO(0xBA, 4)
#define EXPORTER_FAIL	_IOW(0xBA, 5, struct exporter_failures)
/* Attaches the test's device to the dma-buf of the fd and maps it, until the file is closed. */
#define EXPORTER_ATTACH	_IO(0xBA, 6)

#endif /* NNACCEL_TEST_EXPORTER_H */
