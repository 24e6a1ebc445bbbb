/* SPDX-License-Identifier: MIT */
/*
 * Tuning (user/plan/run/tuning.c): one execution at a time measures, and has what the ones before it
 * wrote. Nobody measures once it is done.
 */
#define THREADS 2
#define WORDS 3
#define STORES 10
#include "memory.h"

#define BUSY 0
#define DONE 1
#define RUNS 2		/* plain: of whoever is busy */

#define MOST 2

#ifdef WITHOUT_ORDER
#define ORDER RELAXED
#else
#define ORDER ORDERED
#endif

byte measuring, measured;

active [THREADS] proctype execution()
{
	byte busy, done, runs, i;

	for (i : 1 .. 2) {
		load(_pid, DONE, RELAXED, done);
		if
		:: !done ->
			exchange(_pid, BUSY, 1, ORDER, busy);
			if
			:: !busy ->
				done = 0;
#ifndef WITHOUT_SECOND_LOOK
				load(_pid, DONE, ORDER, done);
#endif
				if
				:: !done ->
					measuring++;
					assert(measuring == 1);
					load(_pid, RUNS, RELAXED, runs);
					assert(runs == measured);
					assert(runs < MOST);
					measured++;
					store(_pid, RUNS, runs + 1, RELAXED);
					if
					:: runs + 1 == MOST -> store(_pid, DONE, 1, ORDER)
					:: else
					fi;
					measuring--
				:: else
				fi;
				store(_pid, BUSY, 0, ORDER)
			:: else
			fi
		:: else
		fi
	}
}
