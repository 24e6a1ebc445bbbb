/* SPDX-License-Identifier: MIT */
/*
 * The words of a burst's ring (user/ring/ring.c) where loads are late too; user/ring/model has the
 * waiting. A line is written, its sequence is stored; the reader has the line before it says that it
 * was consumed, and only then it is written again. That store's release is late_wait(); the writer's
 * acquire of it orders a load before stores that depend on it, which no machine turns round.
 */
#define THREADS 2
#define WORDS 3
#define STORES 4
#define LATE_THREAD 1
#include "memory.h"

#define LINE 0
#define SEQUENCE 1
#define CONSUMED 2

#define PACKETS 3

#ifdef WITHOUT_SEQUENCE_RELEASE
#define SEQUENCE_RELEASE RELAXED
#else
#define SEQUENCE_RELEASE ORDERED
#endif
#ifdef WITHOUT_SEQUENCE_ACQUIRE
#define SEQUENCE_ACQUIRE RELAXED
#else
#define SEQUENCE_ACQUIRE ORDERED
#endif

active proctype writer()
{
	byte i, consumed;

	for (i : 1 .. PACKETS) {
		do
		:: load(0, CONSUMED, RELAXED, consumed);
#ifdef WITHOUT_ROOM_CHECK
		   break
#endif
		   if
		   :: consumed == i - 1 -> break
		   :: else
		   fi
		od;
		store(0, LINE, i, RELAXED);
		store(0, SEQUENCE, i, SEQUENCE_RELEASE)
	}
}

active proctype reader()
{
	byte i, sequence, line;

	for (i : 1 .. PACKETS) {
		do
		:: load(1, SEQUENCE, SEQUENCE_ACQUIRE, sequence);
		   if
		   :: sequence == i -> break
		   :: else
		   fi
		od;
		load(1, LINE, RELAXED, line);
		assert(line == i);
		/* Another datum of the line, which may be read until the release. */
		late_load(LINE);
#ifndef WITHOUT_CONSUMED_RELEASE
		late_wait();
#endif
		store(1, CONSUMED, i, RELAXED);
		late_wait();
		assert(late_value == i)
	}
}
