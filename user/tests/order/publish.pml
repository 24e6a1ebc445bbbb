/* SPDX-License-Identifier: MIT */
/*
 * A pointer that is published once: what is behind it was written before. So do the plan of a lazy
 * one (user/plan/run/lazy.c), the engines of the module (kernel/device.c), the engine of a file
 * (kernel/engine.c), the queue of accesses of a context (kernel/access.c), the end of a command and
 * its answer (kernel/command.c), and the number of devices and the end of a burst (kernel/burst.c).
 */
#define THREADS 3
#define WORDS 2
#define STORES 2
#include "memory.h"

#define CONTENTS 0
#define POINTER 1

#ifdef WITHOUT_RELEASE
#define RELEASE RELAXED
#else
#define RELEASE ORDERED
#endif
#ifdef WITHOUT_ACQUIRE
#define ACQUIRE RELAXED
#else
#define ACQUIRE ORDERED
#endif

active proctype writer()
{
	store(0, CONTENTS, 1, RELAXED);
	store(0, POINTER, 1, RELEASE)
}

active [2] proctype reader()
{
	byte pointer, contents;

	load(_pid, POINTER, ACQUIRE, pointer);
	if
	:: pointer ->
		load(_pid, CONTENTS, RELAXED, contents);
		assert(contents == 1)
	:: else
	fi
}
