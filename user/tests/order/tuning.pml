/* SPDX-License-Identifier: MIT */
/*
 * Tuning (user/plan/run/tuning.c): one execution at a time measures, and has what the ones before it
 * wrote. Nobody measures once it is done, and who saves the plan then has what the last one set.
 */
#define THREADS 3
#define WORDS 4
#define STORES 10
#include "memory.h"

#define BUSY 0
#define DONE 1
#define RUNS 2		/* plain: of whoever is busy */
#define STEPS 3		/* threads of steps: what is saved */

#define MOST 2

#ifdef WITHOUT_BUSY_ACQUIRE
#define TAKE_BUSY RELAXED
#else
#define TAKE_BUSY ORDERED
#endif
#ifdef WITHOUT_BUSY_RELEASE
#define GIVE_BUSY RELAXED
#else
#define GIVE_BUSY ORDERED
#endif
#ifdef WITHOUT_DONE_ACQUIRE
#define LOOK_DONE RELAXED
#else
#define LOOK_DONE ORDERED
#endif
#ifdef WITHOUT_DONE_RELEASE
#define SET_DONE RELAXED
#else
#define SET_DONE ORDERED
#endif

byte measuring, measured;

active [2] proctype execution()
{
	byte busy, done, runs, i;

	for (i : 1 .. 2) {
		load(_pid, DONE, RELAXED, done);
		if
		:: !done ->
			exchange(_pid, BUSY, 1, TAKE_BUSY, busy);
			if
			:: !busy ->
				done = 0;
#ifndef WITHOUT_SECOND_LOOK
				load(_pid, DONE, RELAXED, done);
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
					:: runs + 1 == MOST ->
						store(_pid, STEPS, 1, RELAXED);
						store(_pid, DONE, 1, SET_DONE)
					:: else
					fi;
					measuring--
				:: else
				fi;
				store(_pid, BUSY, 0, GIVE_BUSY)
			:: else
			fi
		:: else
		fi
	}
}

active proctype saver()
{
	byte done, steps;

	load(2, DONE, LOOK_DONE, done);
	if
	:: done ->
		load(2, STEPS, RELAXED, steps);
		assert(steps == 1)
	:: else
	fi
}
