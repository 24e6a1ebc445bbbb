/* SPDX-License-Identifier: MIT */
/*
 * Makes allocations fail on demand; the linker's --wrap replaces the functions that allocate.
 */
#define _GNU_SOURCE
#include "tests/failing/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/failing/kept.h"

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__real_realloc(void *memory, size_t size);

static struct failing own;
static struct failing *_Atomic mine = &own;

/* A mapped file that determines, for each process of the engine, which allocations fail. */
static struct failing *others;

bool failing_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *map = __real_mmap(NULL, FAILING_COUNT * sizeof(struct failing), PROT_READ | PROT_WRITE,
				MAP_SHARED, fd, 0);

	close(fd);
	others = map == MAP_FAILED ? NULL : map;
	return others;
}

static struct failing *find(enum failing_who who)
{
	return who == FAILING_SELF ? &own : others + who;
}

void failing_obey(enum failing_who who, const char *path)
{
	if (failing_open(path))
		mine = find(who);
}

void failing_begin(enum failing_who who, unsigned int number, bool lasting)
{
	struct failing *f = find(who);

	atomic_store(&f->failures, 0);
	atomic_store(&f->is_lasting, lasting);
	atomic_store(&f->countdown, number);
}

unsigned int failing_end(enum failing_who who)
{
	struct failing *f = find(who);

	atomic_store(&f->countdown, 0);
	return atomic_load(&f->failures);
}

static bool fails(void)
{
	struct failing *f = mine;
	unsigned int left = atomic_load(&f->countdown), next;

	do {
		if (!left)
			return false;
		next = left == 1 && atomic_load(&f->is_lasting) ? 1 : left - 1;
	} while (!atomic_compare_exchange_weak(&f->countdown, &left, next));
	if (left > 1)
		return false;
	atomic_fetch_add(&f->failures, 1);
	errno = ENOMEM;
	return true;
}

/*
 * Some linkers apply --wrap also to undefined symbols of shared libraries, and then need wrappers
 * with default visibility. At run time, shared libraries call the C library's functions instead of
 * the wrappers.
 */
#define SEEN __attribute__((visibility("default")))

/* If the call succeeds (`got` is not a failure), kept.c records the object `made`. */
#define FAILING(type, name, params, args, failed, made)	\
	type __real_##name params;				\
	SEEN type __wrap_##name params;				\
	type __wrap_##name params				\
	{							\
		type got;					\
								\
		if (fails())					\
			return failed;				\
		got = __real_##name args;			\
		made;						\
		return got;					\
	}

#define BLOCK kept_add(got, KEPT_MEMORY)

FAILING(void *, malloc, (size_t size), (size), NULL, BLOCK)
FAILING(void *, calloc, (size_t count, size_t size), (count, size), NULL, BLOCK)
FAILING(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL, BLOCK)
FAILING(char *, strdup, (const char *text), (text), NULL, BLOCK)
FAILING(FILE *, open_memstream, (char **text, size_t *size), (text, size), NULL, )
FAILING(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, )
FAILING(void *, mmap, (void *at, size_t size, int prot, int flags, int fd, off_t offset),
	(at, size, prot, flags, fd, offset), MAP_FAILED,
	if (got != MAP_FAILED && !(flags & MAP_FIXED)) kept_mapped(size))
FAILING(int, memfd_create, (const char *name, unsigned int flags), (name, flags), -1, )
FAILING(int, eventfd, (unsigned int count, int flags), (count, flags), -1, )
FAILING(int, epoll_create1, (int flags), (flags), -1, )
FAILING(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attributes,
	void *(*start)(void *), void *argument), (thread, attributes, start, argument), EAGAIN,
	if (!got) kept_add((const void *)*thread, KEPT_THREADS))

/*
 * Remove the old block from kept.c's table before recording the new block, because both blocks may
 * have the same address.
 */
static void *resize(void *memory, size_t size)
{
	void *got;

	if (fails())
		return NULL;
	kept_remove(memory, KEPT_MEMORY);
	got = __real_realloc(memory, size);
	kept_add(got ? got : memory, KEPT_MEMORY);
	return got;
}

SEEN void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	return resize(memory, size);
}

SEEN void *__wrap_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
	return resize(memory, count * size);
}
