/* SPDX-License-Identifier: MIT */
/*
 * Ends a program that unlocks what is not locked: the C library takes that for good. Linked into tests of
 * engines and of the keeper.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int (*next)(pthread_mutex_t *mutex);

	if (!mutex->__data.__lock) {
		fputs("a mutex is unlocked that is not locked\n", stderr);
		abort();
	}
	*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	return next(mutex);
}
