/* SPDX-License-Identifier: MIT */
/*
 * Tests which memory QEMU's "edu" PCI device can reach by DMA, through the user-space driver of the
 * device's engine. The script scripts/guest/edu runs this test while no engine uses the device.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "examples/edu-engine/device.h"

#define PAGE 4096u

static struct edu edu;
static uint8_t *from, *to;

static struct edu_limit soon(void)
{
	return (struct edu_limit){ edu_now_ns() + 20000000000ull, -1 };
}

static uint8_t *page(uint8_t value)
{
	uint8_t *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	memset(at, value, PAGE);
	return at;
}

static int set_up(void **state)
{
	(void)state;
	from = page(0x11);
	to = page(0x22);
	return edu_open(&edu, NULL) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	edu_close(&edu);
	munmap(from, PAGE);
	munmap(to, PAGE);
	return 0;
}

/* Makes the device copy a page by DMA; the device reaches only memory that the test mapped. */
static void move(uint64_t to_iova, uint64_t from_iova)
{
	const struct edu_limit limit = soon();

	assert_int_equal(edu_copy(&edu, to_iova, from_iova, PAGE, &limit), EDU_DONE);
}

static void test_writable(void **state)
{
	uint64_t in, out;

	(void)state;
	assert_true(edu_map(&edu, from, PAGE, false, &in));
	assert_true(edu_map(&edu, to, PAGE, true, &out));
	move(out, in);
	assert_memory_equal(to, from, PAGE);
	assert_true(in <= EDU_DMA_MASK && out <= EDU_DMA_MASK);
}

/* The IOMMU stops a write to read-only memory, but the device reports success. */
static void test_read_only(void **state)
{
	uint64_t in, out;

	(void)state;
	assert_true(edu_map(&edu, from, PAGE, false, &in));
	assert_true(edu_map(&edu, to, PAGE, false, &out));
	move(out, in);
	assert_int_equal(to[0], 0x22);
	assert_int_equal(to[PAGE - 1], 0x22);
}

static void test_unmapped(void **state)
{
	uint64_t in, out;

	(void)state;
	assert_true(edu_map(&edu, from, PAGE, false, &in));
	assert_true(edu_map(&edu, to, PAGE, true, &out));
	edu_unmap(&edu, out);
	move(out, in);
	assert_int_equal(to[0], 0x22);
	assert_int_equal(to[PAGE - 1], 0x22);
}

/*
 * Without bus mastering, the device can neither access memory nor raise interrupts; a reset makes
 * memory accesses and interrupts possible again.
 */
static void test_stopped(void **state)
{
	const struct edu_limit limit = { edu_now_ns() + 500000000, -1 };
	uint64_t in, out;

	(void)state;
	assert_true(edu_map(&edu, from, PAGE, false, &in));
	assert_true(edu_map(&edu, to, PAGE, true, &out));
	assert_true(edu_set_master(&edu, false));
	assert_int_equal(edu_copy(&edu, out, in, PAGE, &limit), EDU_LATE);
	assert_int_equal(edu.resets, 1);
	assert_int_equal(to[0], 0x22);
	move(out, in);
	assert_memory_equal(to, from, PAGE);
}

/* Freed device addresses are reused, and all addresses lie in the device's address range. */
static void test_addresses(void **state)
{
	uint64_t a, b, c, large = EDU_DMA_MASK + 1;

	(void)state;
	assert_true(edu_map(&edu, from, PAGE, false, &a));
	assert_true(edu_map(&edu, to, PAGE, false, &b));
	assert_int_equal(b, a + PAGE);
	edu_unmap(&edu, a);
	assert_true(edu_map(&edu, from, PAGE, false, &c));
	assert_int_equal(c, a);
	assert_false(edu_map(&edu, from, large, false, &c));
	assert_int_equal(errno, ENOSPC);
	/* Memory that the process has not mapped cannot be pinned. */
	munmap(from, PAGE);
	assert_false(edu_map(&edu, from, PAGE, false, &c));
	assert_int_equal(errno, EFAULT);
	from = page(0x11);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_writable),
		TEST(test_read_only),
		TEST(test_unmapped),
		TEST(test_stopped),
		TEST(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
