/* SPDX-License-Identifier: MIT */
/*
 * Counts the objects that a program has not released; the linker's --wrap replaces the functions
 * that acquire and release objects.
 */
#define _GNU_SOURCE
#include "tests/failing/kept.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/open_files.h"

#define MOST (1U << 17)		/* size of the hash table of objects; a power of two */
#define PAGE 4096

/*
 * An object that was not released, or a lock that is held; `times` counts how often the lock is
 * held.
 */
struct thing {
	const void *what;
	enum kept_kind kind;
	unsigned int times;
};

static struct thing things[MOST];
static struct kept kept;
static bool is_on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

static void enter(void)
{
	__real_pthread_mutex_lock(&lock);
}

static void leave(void)
{
	__real_pthread_mutex_unlock(&lock);
}

/*
 * Runs before all other constructors, so that fork() calls enter() after the fork() handlers of
 * other constructors, whose locks kept.c must still record.
 */
__attribute__((constructor(101))) static void register_fork(void)
{
	pthread_atfork(enter, leave, leave);
}

void kept_start(void)
{
	is_on = true;
}

static uint32_t home(const void *what, enum kept_kind kind)
{
	return (uint32_t)(((uintptr_t)what >> 3) * 0x9e3779b97f4a7c15u >> 40) + kind;
}

/* Returns the entry of an object in the hash table, or a free entry if the object has no entry. */
static struct thing *find(const void *what, enum kept_kind kind)
{
	uint32_t i = home(what, kind) % MOST;

	while (things[i].what && (things[i].what != what || things[i].kind != kind))
		i = (i + 1) % MOST;
	return &things[i];
}

/*
 * Frees an entry of the hash table. Inserts the entries after the freed entry again, because find()
 * stops at a free entry.
 */
static void vacate(struct thing *place)
{
	uint32_t at = (uint32_t)(place - things);

	place->what = NULL;
	for (uint32_t i = (at + 1) % MOST; things[i].what; i = (i + 1) % MOST) {
		struct thing moved = things[i];

		things[i].what = NULL;
		*find(moved.what, moved.kind) = moved;
	}
}

void kept_add(const void *what, enum kept_kind kind)
{
	struct thing *thing;

	if (!is_on || !what)
		return;
	enter();
	thing = find(what, kind);
	if (!thing->what)
		*thing = (struct thing){ what, kind, 0 };
	else if (kind != KEPT_HELD)
		kept.counts[kind]--;
	thing->times++;
	kept.counts[kind]++;
	leave();
}

void kept_remove(const void *what, enum kept_kind kind)
{
	struct thing *thing;

	if (!is_on || !what)
		return;
	enter();
	thing = find(what, kind);
	if (thing->what) {
		kept.counts[kind]--;
		if (kind != KEPT_HELD || !--thing->times)
			vacate(thing);
	} else if (kind != KEPT_MEMORY) {
		kept.counts[KEPT_WRONG]++;
	}
	leave();
}

static void count_map(size_t size, bool is_more)
{
	size_t bytes = (size + PAGE - 1) / PAGE * PAGE;

	if (!is_on)
		return;
	enter();
	kept.counts[KEPT_MAPS] += is_more ? bytes : -bytes;
	leave();
}

void kept_mapped(size_t size)
{
	count_map(size, true);
}

struct kept kept_now(void)
{
	int files = count_files();
	struct kept now;

	enter();
	now = kept;
	leave();
	now.counts[KEPT_FILES] = (unsigned long)files;
	return now;
}

const char *kept_more(const struct kept *before, const struct kept *after)
{
	static const char *const names[] = {
#define KEPT_NAME(kind, name) name,
		KEPT_KINDS(KEPT_NAME)
	};

	for (int i = 0; i < KEPT_COUNT; i++)
		if (before->counts[i] < after->counts[i])
			return names[i];
	return NULL;
}

/* ---- what is wrapped ---- */

/*
 * Record an object after the call that makes the object; remove the object before the call that
 * frees the object.
 */
#define WRAPPED(type, name, params, args, before, after)			\
	type __real_##name params;						\
	__attribute__((visibility("default"))) type __wrap_##name params;	\
	type __wrap_##name params						\
	{									\
		type result;							\
										\
		before;								\
		result = __real_##name args;					\
		after;								\
		return result;							\
	}

#define BEGINS(name, params, args, kind, what) \
	WRAPPED(int, name, params, args, , if (!result) kept_add(what, kind))
#define ENDS(name, params, args, kind, what) \
	WRAPPED(int, name, params, args, kept_remove(what, kind), )

BEGINS(pthread_mutex_init, (pthread_mutex_t *m, const pthread_mutexattr_t *a), (m, a), KEPT_LOCKS, m)
BEGINS(pthread_mutex_lock, (pthread_mutex_t *m), (m), KEPT_HELD, m)
BEGINS(pthread_mutex_trylock, (pthread_mutex_t *m), (m), KEPT_HELD, m)
ENDS(pthread_mutex_unlock, (pthread_mutex_t *m), (m), KEPT_HELD, m)
ENDS(pthread_mutex_destroy, (pthread_mutex_t *m), (m), KEPT_LOCKS, m)
BEGINS(pthread_rwlock_init, (pthread_rwlock_t *l, const pthread_rwlockattr_t *a), (l, a), KEPT_LOCKS, l)
BEGINS(pthread_rwlock_rdlock, (pthread_rwlock_t *l), (l), KEPT_HELD, l)
BEGINS(pthread_rwlock_wrlock, (pthread_rwlock_t *l), (l), KEPT_HELD, l)
ENDS(pthread_rwlock_unlock, (pthread_rwlock_t *l), (l), KEPT_HELD, l)
ENDS(pthread_rwlock_destroy, (pthread_rwlock_t *l), (l), KEPT_LOCKS, l)
BEGINS(pthread_cond_init, (pthread_cond_t *c, const pthread_condattr_t *a), (c, a), KEPT_CONDITIONS, c)
ENDS(pthread_cond_destroy, (pthread_cond_t *c), (c), KEPT_CONDITIONS, c)
WRAPPED(int, pthread_cond_wait, (pthread_cond_t *c, pthread_mutex_t *m), (c, m),
	kept_remove(m, KEPT_HELD), kept_add(m, KEPT_HELD))
ENDS(pthread_join, (pthread_t thread, void **result_of), (thread, result_of), KEPT_THREADS,
     (const void *)thread)
WRAPPED(int, munmap, (void *at, size_t size), (at, size), , if (!result) count_map(size, false))

void __real_free(void *memory);
__attribute__((visibility("default"))) void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	kept_remove(memory, KEPT_MEMORY);
	__real_free(memory);
}
