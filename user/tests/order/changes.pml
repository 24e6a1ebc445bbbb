/* SPDX-License-Identifier: MIT */
/*
 * A command that waits for a worker (nnaccel_engine_lock_session() of kernel/engine.c): it reads
 * the number of changes, looks under the lock, and sleeps while the number is what it was. Whoever
 * attaches a worker counts a change after that, and wakes it. Checked: it does not sleep for good.
 */
#define THREADS 2
#define WORDS 2
#define STORES 2
#include "memory.h"

#define WORKER 0
#define CHANGES 1

bool queued;		/* on the wait queue, until it is woken */

active proctype waiter()
{
	byte changes, now, worker;

	do
	::
#ifndef WITHOUT_FIRST_READ
	   load(0, CHANGES, RELAXED, changes);
#endif
	   lock(0);
	   load(0, WORKER, RELAXED, worker);
	   unlock(0);
	   if
	   :: worker -> break
	   :: else
	   fi;
#ifdef WITHOUT_FIRST_READ
	   load(0, CHANGES, RELAXED, changes);
#endif
	   /* wait_event(): on the queue, which is a full barrier, and a look. */
	   queued = true;
#ifndef WITHOUT_QUEUE_BARRIER
	   barrier(0);
#endif
	   load(0, CHANGES, RELAXED, now);
	   if
	   :: now == changes -> !queued
	   :: else -> queued = false
	   fi
	od
}

active proctype attach()
{
	byte old;

	lock(1);
	store(1, WORKER, 1, RELAXED);
	unlock(1);
#ifndef WITHOUT_CHANGE
	add(1, CHANGES, 1, RELAXED, old);
#endif
#ifndef WITHOUT_WAKE
	/* The queue's lock is a full barrier against the sleeper's. */
	barrier(1);
	queued = false
#endif
}
