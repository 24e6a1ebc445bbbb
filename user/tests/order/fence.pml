/* SPDX-License-Identifier: MIT */
/*
 * The answer that a fence tells (kernel/fence.c): written, then the signal's bit is set, which is a
 * full barrier (the half of it before the bit is what counts); who saw the bit has smp_rmb() before it reads the answer.
 */
#define THREADS 2
#define WORDS 2
#define STORES 2
#include "memory.h"

#define ANSWER 0
#define SIGNALLED 1

active proctype signaller()
{
	byte old;

	store(0, ANSWER, 1, RELAXED);
#ifndef WITHOUT_SIGNAL_BARRIER
	barrier(0);
#endif
	exchange(0, SIGNALLED, 1, RELAXED, old)
}

active proctype asker()
{
	byte signalled, answer;

	load(1, SIGNALLED, RELAXED, signalled);
	if
	:: signalled ->
#ifndef WITHOUT_READ_BARRIER
		barrier(1);
#endif
		load(1, ANSWER, RELAXED, answer);
		assert(answer == 1)
	:: else
	fi
}
