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

/* What a buffer does not do: bits of EXPORTER_CREATE's and EXPORTER_REFUSE's argument. */
enum {
	EXPORTER_NO_MMAP = 1,
	EXPORTER_NO_BEGIN = 2,
	EXPORTER_NO_END = 4,
};

/**
 * struct exporter_counts - What was done to a buffer so far
 * @begun: begin_cpu_access, by direction: both, to the device, from it
 * @ended: end_cpu_access likewise
 * @fences: unsignalled fences in the reservation object now
 */
struct exporter_counts {
	__u32 begun[3];
	__u32 ended[3];
	__u32 fences;
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

#endif /* NNACCEL_TEST_EXPORTER_H */
