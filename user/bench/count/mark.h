/* SPDX-License-Identifier: MIT */
/*
 * Marks in a program: the instructions between two marks are counted. A mark is a system call
 * without effect.
 */
#ifndef NN_BENCH_MARK_H
#define NN_BENCH_MARK_H

#include <unistd.h>

#define MARK (-0x6e6e)		/* an id that no process has */
#define MARK_CALL_ARM64 155	/* getpgid() */

static inline void mark_count(void)
{
	(void)!getpgid(MARK);
}

#endif /* NN_BENCH_MARK_H */
