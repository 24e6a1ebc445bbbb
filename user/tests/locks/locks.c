/* SPDX-License-Identifier: MIT */
/*
 * Ends the program if it unlocks a lock that no thread holds, or destroys a held lock. The C
 * library does not report misuse of locks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITER 2U	/* bit of a rwlock's __readers that is set while a writer holds it */
#define READER 8U

static int is_locked(const pthread_mutex_t *lock)
{
	return lock->__data.__lock != 0;
}

static int is_taken(const pthread_rwlock_t *lock)
{
	return lock->__data.__readers & WRITER || lock->__data.__readers >= READER;
}

#define CHECKED(name, type, wrong)						\
	__attribute__((visibility("default"))) int name(type *lock)		\
	{									\
		static int (*next)(type *lock);					\
										\
		if (wrong) {							\
			fputs(#name ": " #wrong "\n", stderr);			\
			abort();						\
		}								\
		if (!next)							\
			*(void **)&next = dlsym(RTLD_NEXT, #name);		\
		return next(lock);						\
	}

CHECKED(pthread_mutex_unlock, pthread_mutex_t, !is_locked(lock))
CHECKED(pthread_mutex_destroy, pthread_mutex_t, is_locked(lock))
CHECKED(pthread_rwlock_unlock, pthread_rwlock_t, !is_taken(lock))
CHECKED(pthread_rwlock_destroy, pthread_rwlock_t, is_taken(lock))
