/* SPDX-License-Identifier: MIT */
/*
 * How a program marks where its instructions are counted: a system call that does nothing.
 */
#ifndef NN_BENCH_MARK_H
#define NN_BENCH_MARK_H

#include <unistd.h>

#define MARK (-0x6e6e)		/* no process group has this number */
#define MARK_CALL_ARM64 155	/* getpgid() */

static inline void mark_count(void)
{
	(void)!getpgid(MARK);
}

#endif /* NN_BENCH_MARK_H */
