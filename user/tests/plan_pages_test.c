/* SPDX-License-Identifier: MIT */
/*
 * Tests large blocks of memory with each page size that a system may have. Extra pages that were
 * mapped for alignment must be unmapped immediately, and the block must be unmapped when it is
 * freed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/round.h"
#include "plan/run/pages.h"

#define HUGE_PAGE ((size_t)2 << 20)

static bool is_mapped(void *page)
{
	return !msync(page, 1, MS_ASYNC) || errno != ENOMEM;
}

static void check_block(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t rest = round_up(size, page) % HUGE_PAGE;
	const size_t taken = round_up(size, rest < HUGE_PAGE / 2 ? page : HUGE_PAGE);
	char *block = pages_alloc(size);

	assert_non_null(block);
	assert_int_equal((uintptr_t)block % (taken < HUGE_PAGE ? page : HUGE_PAGE), 0);
	memset(block, 1, size);
	assert_true(is_mapped(block + taken - page));
	/* Extra pages that were mapped to align a large block must already be unmapped. */
	if (taken >= HUGE_PAGE)
		assert_false(is_mapped(block + taken));
	pages_free(block, size);
	assert_false(is_mapped(block));
	assert_false(is_mapped(block + taken - page));
}

static void test_blocks(void **state)
{
	static const size_t sizes[] = {
		1, 4095, 4096, 4097, 16384, 65535, 65537, HUGE_PAGE / 2 - 1, HUGE_PAGE / 2,
		HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1,
		HUGE_PAGE + 4097, 3 * HUGE_PAGE - 4096, 3 * HUGE_PAGE + 20480,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		check_block(sizes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_blocks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
