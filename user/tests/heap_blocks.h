/* SPDX-License-Identifier: MIT */
/*
 * Counts the heap blocks in use, so that a test can compare the numbers before and after the test.
 * Only one file of a program may include heap_blocks.h. In builds with a sanitizer, which has a
 * separate heap, this header counts no blocks.
 */
#ifndef NN_TESTS_HEAP_BLOCKS_H
#define NN_TESTS_HEAP_BLOCKS_H

#include <stdatomic.h>
#include <stdlib.h>

static atomic_long heap_blocks;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if !defined(__SANITIZE_ADDRESS__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *block);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	void *block = __libc_malloc(size);

	atomic_fetch_add(&heap_blocks, block != NULL);
	return block;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	void *block = __libc_calloc(count, size);

	atomic_fetch_add(&heap_blocks, block != NULL);
	return block;
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
	void *larger = __libc_realloc(block, size);

	atomic_fetch_add(&heap_blocks, !block && larger);
	return larger;
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t align, size_t size)
{
	void *block = __libc_memalign(align, size);

	atomic_fetch_add(&heap_blocks, block != NULL);
	return block;
}

__attribute__((visibility("default"))) void free(void *block)
{
	atomic_fetch_sub(&heap_blocks, block != NULL);
	__libc_free(block);
}
#endif

/* Defines a cmocka test that must free all heap blocks that the test allocates. */
#define heap_unit_test(test) cmocka_unit_test_setup_teardown(test, heap_begin, heap_end)

static inline int heap_begin(void **state)
{
	*state = (void *)heap_blocks;
	return 0;
}

static inline int heap_end(void **state)
{
	return heap_blocks != (long)*state;
}

#endif /* NN_TESTS_HEAP_BLOCKS_H */
