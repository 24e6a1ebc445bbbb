/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/round.h"
#include "plan/run/pages.h"

#define HUGE_PAGE ((size_t)2 << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Rounds the size of a block up to whole pages, which have 4, 16 or 64 KiB. If at least half of the
 * last huge page is used, rounds up to whole huge pages, whose size is a multiple of every page
 * size.
 */
static size_t in_pages(size_t size)
{
	size = round_up(size ? size : 1, (size_t)sysconf(_SC_PAGESIZE));
	return size % HUGE_PAGE < HUGE_PAGE / 2 ? size : round_up(size, HUGE_PAGE);
}

/*
 * Returns memory that begins on a huge page boundary. Maps one huge page more than the block needs,
 * and unmaps the memory before and after the block.
 */
static void *map_aligned(size_t size)
{
	char *base = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (base == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)base % HUGE_PAGE;
	if (before)
		munmap(base, before);
	munmap(base + before + size, HUGE_PAGE - before);
	madvise(base + before, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
	return base + before;
}

void *pages_alloc(size_t size)
{
	void *memory;

	size = in_pages(size);
	if (size >= HUGE_PAGE)
		return map_aligned(size);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void *pages_alloc_all(size_t size)
{
	void *memory = pages_alloc(size);

	/*
	 * If the kernel does not support MADV_POPULATE_WRITE, each page is allocated when it is
	 * first written.
	 */
	if (memory)
		madvise(memory, in_pages(size), MADV_POPULATE_WRITE);
	return memory;
}

void *pages_zeros(size_t size)
{
	void *memory = mmap(NULL, in_pages(size), PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void pages_free(void *memory, size_t size)
{
	if (memory)
		munmap(memory, in_pages(size));
}
