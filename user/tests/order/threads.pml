/* SPDX-License-Identifier: MIT */
/*
 * Jobs of the threads that execute plans (user/plan/run/threads.c): an opener has two jobs in the
 * same place, one after the other, and a helper joins where it can. Checked: what a helper reads of
 * a job is that job's, the opener writes to a job when nobody is at it, every task's result is there
 * when a job was closed, and the opener does not sleep for good.
 */
#define THREADS 2
#define WORDS 6
#define STORES 14
#include "memory.h"

#define ARGUMENT 0	/* of a job; plain, as results are */
#define RESULT(task) (1 + task)
#define OPEN 3
#define USERS 4
#define NEXT 5

#define TASKS 2
#define JOBS 2
#define TRIES 2

#define OPENER 0
#define HELPER 1

byte job;		/* which it is now */
byte inside;		/* whether the helper is at it */
bool asleep;		/* the opener, on USERS */

#ifdef WITHOUT_OPEN_ORDER
#define STORE_OPEN(with) store(OPENER, OPEN, with, RELAXED)
#else
#ifdef WITHOUT_CLOSE_BARRIER
#define STORE_OPEN(with) store(OPENER, OPEN, with, ORDERED)
#else
#define STORE_OPEN(with) sc_store(OPENER, OPEN, with)
#endif
#endif
#ifdef WITHOUT_CLOSE_BARRIER
#define LOAD_USERS(into) load(OPENER, USERS, ORDERED, into)
#else
#ifdef WITHOUT_USERS_ACQUIRE
#define LOAD_USERS(into) barrier(OPENER); load(OPENER, USERS, RELAXED, into)
#else
#define LOAD_USERS(into) sc_load(OPENER, USERS, into)
#endif
#endif
#ifdef WITHOUT_JOIN_BARRIER
#define ADD_USER(into) add(HELPER, USERS, 1, ORDERED, into)
#define LOAD_OPEN(into) load(HELPER, OPEN, ORDERED, into)
#else
#define ADD_USER(into) sc_add(HELPER, USERS, 1, into)
#define LOAD_OPEN(into) sc_load(HELPER, OPEN, into)
#endif
#ifdef WITHOUT_USERS_RELEASE
#define END_USER(into) add(HELPER, USERS, -1, RELAXED, into)
#else
#define END_USER(into) sc_add(HELPER, USERS, -1, into)
#endif

inline run_tasks(thread)
{
	do
	:: add(thread, NEXT, 1, RELAXED, task);
	   if
	   :: task < TASKS ->
		load(thread, ARGUMENT, RELAXED, argument);
		assert(argument == job);
		store(thread, RESULT(task), argument, RELAXED)
	   :: else -> break
	   fi
	od
}

active proctype opener()
{
	byte task, argument, users, result;

	do
	:: job < JOBS ->
		assert(!inside);
		job++;
		store(OPENER, ARGUMENT, job, RELAXED);
		store(OPENER, NEXT, 0, RELAXED);
		STORE_OPEN(1);
		run_tasks(OPENER);
		/* close_job() */
		STORE_OPEN(0);
		do
		:: LOAD_USERS(users);
		   if
		   :: !users -> break
		   :: else ->
			atomic {
				if
#ifdef WITHOUT_COMPARE
				:: true -> asleep = true
#else
				:: words[USERS].stores[words[USERS].last].value == users ->
					asleep = true
				:: else
#endif
				fi
			}
			!asleep
		   fi
		od;
		for (task : 0 .. TASKS - 1) {
			load(OPENER, RESULT(task), RELAXED, result);
			assert(result == job)
		}
	:: else -> break
	od
}

active proctype helper()
{
	byte task, argument, open, users, tries;

	for (tries : 1 .. TRIES) {
		LOAD_OPEN(open);
		if
		:: open ->
			ADD_USER(users);
#ifndef WITHOUT_SECOND_LOOK
			LOAD_OPEN(open);
#endif
			if
			:: open ->
				inside = 1;
				run_tasks(HELPER);
				inside = 0
			:: else
			fi;
			END_USER(users);
			open = 1;
			if
			:: users == 1 ->
				LOAD_OPEN(open);
#ifndef WITHOUT_LAST_WAKE
				if
				:: !open -> asleep = false
				:: else
				fi
#endif
			:: else
			fi
		:: else
		fi
	}
}
