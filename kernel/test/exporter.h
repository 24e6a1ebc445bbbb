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
 * @told: how often the importer that the file is was told to give a mapping back
 */
struct exporter_counts {
	__u32 begun[3];
	__u32 ended[3];
	__u32 fences;
	__u32 calls;
	__u32 blocked;
	__u32 to_cpu;
	__u32 to_device;
	__u32 told;
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
/* Signals them with the error EIO. */
#define EXPORTER_SIGNAL_ERROR	_IO(0xBA, 11)
#define EXPORTER_FAIL	_IOW(0xBA, 5, struct exporter_failures)
/* Attaches the test's device to the dma-buf of the fd and maps it, until the file is closed. */
#define EXPORTER_ATTACH	_IO(0xBA, 6)

/**
 * struct exporter_import - What the test's device is attached to
 * @fd: a dma-buf
 * @direction: how it is mapped: 0: both, 1: to the device, 2: from it
 * @dynamic: it can be told to give the mapping back
 */
struct exporter_import {
	__s32 fd;
	__u32 direction;
	__u32 dynamic;
};

/**
 * struct exporter_dma - A word that the test's device reads or writes
 * @offset: bytes into what it has mapped, a multiple of 4
 * @value: what it writes, or has read
 * @write: it writes
 */
struct exporter_dma {
	__u32 offset;
	__u32 value;
	__u32 write;
};

/* The same as EXPORTER_ATTACH, with a choice, also where no syncs can be counted. */
#define EXPORTER_IMPORT	_IOW(0xBA, 7, struct exporter_import)
/* Maps it anew. */
#define EXPORTER_REMAP	_IO(0xBA, 8)
#define EXPORTER_DMA	_IOWR(0xBA, 9, struct exporter_dma)
/* Ends the attachment. */
#define EXPORTER_DETACH	_IO(0xBA, 10)

#endif /* NNACCEL_TEST_EXPORTER_H */
