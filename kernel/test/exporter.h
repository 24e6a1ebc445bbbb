/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The interface of the exporter of dma-bufs for tests; see exporter.c. */
#ifndef NNACCEL_TEST_EXPORTER_H
#define NNACCEL_TEST_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Name of the exporter's node, of the test's hardware on the bus "platform", and of its driver. */
#define EXPORTER_DEVICE		"nnaccel-exporter"
#define EXPORTER_NUM_PAGES	4

/*
 * Failures of a buffer: bits of the arguments of EXPORTER_CREATE and EXPORTER_REFUSE. A blocked
 * call continues when its failure bit is cleared, the exporter's file is closed, or the caller is
 * killed.
 */
enum {
	EXPORTER_NO_MMAP = 1,
	EXPORTER_NO_BEGIN = 2,
	EXPORTER_NO_END = 4,
	EXPORTER_BEGIN_BLOCKS = 8,
	EXPORTER_END_BLOCKS = 16,
	/*
	 * The end of a CPU access locks the reservation object and waits for the fences of writers.
	 */
	EXPORTER_END_WAITS_FOR_FENCES = 32,
	EXPORTER_BEGIN_WAITS_FOR_FENCES = 64,
};

/**
 * struct exporter_counts - Counters of a buffer
 * @begun: successful calls of begin_cpu_access, by direction: both, to the device, from
 *	the device
 * @ended: successful calls of end_cpu_access, by direction
 * @fences: unsignalled fences in the reservation object
 * @calls: calls of begin_cpu_access and end_cpu_access, with any result
 * @blocked: calls that have not returned
 * @to_cpu: syncs for the CPU of all mappings of the test's device, of all files
 * @to_device: syncs of these mappings for the device
 * @told: how often the importer of the file was notified to give up a mapping
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
 * struct exporter_failures - Errors that the exporter's next calls return at once
 * @error: errno, also the kernel's own ones (ERESTARTSYS is 512)
 * @begins: number of calls of begin_cpu_access that fail
 * @ends: number of calls of end_cpu_access that fail
 */
struct exporter_failures {
	__u32 error;
	__u32 begins;
	__u32 ends;
};

/* Creates a buffer and returns the buffer's fd; closing the exporter's file frees the buffer. */
#define EXPORTER_CREATE	_IO(0xBA, 0)
/* Replaces the failure bits that EXPORTER_CREATE set. */
#define EXPORTER_REFUSE	_IO(0xBA, 1)
#define EXPORTER_COUNTS	_IOR(0xBA, 2, struct exporter_counts)
/* Adds a fence of a reader (0) or a writer (1). */
#define EXPORTER_FENCE	_IO(0xBA, 3)
#define EXPORTER_SIGNAL	_IO(0xBA, 4)
/* Signals all added fences with an error, such as EIO. */
#define EXPORTER_SIGNAL_ERROR	_IO(0xBA, 11)
#define EXPORTER_FAIL	_IOW(0xBA, 5, struct exporter_failures)
/*
 * Attaches the test's device to a dma-buf and maps the dma-buf, until the exporter's file is
 * closed.
 */
#define EXPORTER_ATTACH	_IO(0xBA, 6)

/**
 * struct exporter_import - An attachment of the test's device
 * @fd: the dma-buf
 * @direction: direction of the mapping: 0 both, 1 to the device, 2 from the
 *	device
 * @dynamic: the importer is dynamic: it can be notified to give up its mapping
 */
struct exporter_import {
	__s32 fd;
	__u32 direction;
	__u32 dynamic;
};

/**
 * struct exporter_dma - A word that the test's device reads or writes
 * @offset: bytes into the mapping, a multiple of 4
 * @value: the value to write, or the value that was read
 * @write: write instead of read
 */
struct exporter_dma {
	__u32 offset;
	__u32 value;
	__u32 write;
};

/*
 * Attaches the test's device as EXPORTER_ATTACH does, but with options, and even if syncs cannot be
 * counted.
 */
#define EXPORTER_IMPORT	_IOW(0xBA, 7, struct exporter_import)
/* Unmaps the attachment of the test's device and maps it again. */
#define EXPORTER_REMAP	_IO(0xBA, 8)
#define EXPORTER_DMA	_IOWR(0xBA, 9, struct exporter_dma)
#define EXPORTER_DETACH	_IO(0xBA, 10)

#endif /* NNACCEL_TEST_EXPORTER_H */
