/* SPDX-License-Identifier: MIT */
/*
 * Checks the requests by which libnnaccel imports files and images. The test program imitates the
 * kernel.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct nna_device *device;
static struct nn_error err;
static struct kept kept;

/* The last import requests of files and of images, and the error for image requests. */
static struct {
	struct nnaccel_pool_import import;
	struct nnaccel_pool_import image;
	int error;
	unsigned int imports;
	bool needs_device;		/* set if no CPU can map imported memory */
} asked;

static bool answer(unsigned long request, void *arg, int *result)
{
	bool is_image = false;

	if (request == NNACCEL_POOL_IMPORT) {
		asked.imports++;
		is_image = ((struct nnaccel_pool_import *)arg)->fourcc;
		*(is_image ? &asked.image : &asked.import) = *(struct nnaccel_pool_import *)arg;
	}
	*result = -1;
	errno = asked.error;
	if (request == NNACCEL_POOL_IMPORT && asked.needs_device && !asked.import.flags)
		errno = EOPNOTSUPP;
	else if (!is_image || !asked.error)
		return false;
	return true;
}

static int set_up(void **state)
{
	(void)state;
	kept = kept_now();
	memset(&asked, 0, sizeof(asked));
	err.message[0] = '\0';
	fake.is_on = true;
	fake.answer = answer;
	return nna_device_open(NULL, &device, &err);
}

static int tear_down(void **state)
{
	struct kept left;

	(void)state;
	nna_device_close(device);
	left = kept_now();
	fake.is_on = false;
	return kept_more(&kept, &left) || fake.live || fake.wrong;
}

static void test_files(void **state)
{
	static const struct {
		int prot;
		uint64_t offset, size;
		uint32_t asked_prot;
		uint64_t asked_offset, asked_length;
	} cases[] = {
		{ PROT_READ, 0, 1, NNACCEL_PROT_READ, 0, 1 },
		{ PROT_READ | PROT_WRITE, FAKE_PAGE, FAKE_PAGE, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE,
		  FAKE_PAGE, FAKE_PAGE },
		{ PROT_READ, FAKE_PAGE - 1, 2, NNACCEL_PROT_READ, 0, FAKE_PAGE + 1 },
		{ PROT_READ, 3 * FAKE_PAGE + 7, 10, NNACCEL_PROT_READ, 3 * FAKE_PAGE, 17 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_memory *memory;

		assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = 5,
						   .prot = cases[i].prot, .offset = cases[i].offset,
						   .length = cases[i].size), &memory, &err), NN_OK);
		assert_int_equal(asked.import.fd, 5);
		assert_int_equal(asked.import.prot, cases[i].asked_prot);
		assert_int_equal(asked.import.offset, cases[i].asked_offset);
		assert_int_equal(asked.import.length, cases[i].asked_length);
		assert_int_equal(nna_memory_size(memory), cases[i].size);
		nna_memory_free(memory);
	}
}

/*
 * If an import fails because no CPU can map the memory, the library imports the memory for devices
 * only.
 */
static void test_device_memory(void **state)
{
	struct nna_memory *memory;

	(void)state;
	asked.needs_device = true;
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = 5, .prot = PROT_READ,
					   .offset = FAKE_PAGE + 7, .length = 9), &memory,
					   &err), NN_OK);
	assert_int_equal(asked.imports, 2);
	assert_int_equal(asked.import.flags, NNACCEL_IMPORT_DEVICE);
	assert_int_equal(asked.import.offset, FAKE_PAGE);
	assert_int_equal(asked.import.length, 16);
	nna_memory_free(memory);
	asked.needs_device = false;
	assert_int_equal(nna_memory_import(device, NNA_SIZED(nna_file, .fd = 5, .prot = PROT_READ,
					   .length = 9), &memory, &err), NN_OK);
	assert_int_equal(asked.imports, 3);
	assert_int_equal(asked.import.flags, 0);
	nna_memory_free(memory);
}

/*
 * The kernel's import request contains each field of the image. The list of planes ends before the
 * first plane whose stride is 0.
 */
static void test_images(void **state)
{
	struct nna_memory *memory;

	(void)state;
	for (uint32_t planes = 0; planes <= NNACCEL_MAX_PLANES - 1; planes++) {
		struct nna_format format = {
			.size = sizeof(format), .fourcc = 0x3231564e, .width = 30, .height = 20,
			.stride = 40, .offset = 50, .modifier = 60,
		};

		for (uint32_t k = 0; k < NNACCEL_MAX_PLANES - 1; k++) {
			format.planes[k].fd = (int)(7 + 3 * k);
			format.planes[k].stride = k == planes ? 0 : 8;
			format.planes[k].offset = 9 + 3 * k;
		}
		assert_int_equal(nna_memory_import_formatted(device, 5, PROT_READ | PROT_WRITE, &format,
							     &memory, &err), NN_OK);
		assert_int_equal(asked.image.fd, 5);
		assert_int_equal(asked.image.prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
		assert_int_equal(asked.image.fourcc, 0x3231564e);
		assert_int_equal(asked.image.width, 30);
		assert_int_equal(asked.image.height, 20);
		assert_int_equal(asked.image.stride, 40);
		assert_int_equal(asked.image.offset, 50);
		assert_int_equal(asked.image.modifier, 60);
		for (uint32_t k = 0; k < NNACCEL_MAX_PLANES - 1; k++) {
			assert_int_equal(asked.image.planes[k].stride, k < planes ? 8 : 0);
			assert_int_equal(asked.image.planes[k].fd, k < planes ? 7 + 3 * k : 0);
			assert_int_equal(asked.image.planes[k].offset, k < planes ? 9 + 3 * k : 0);
		}
		assert_int_equal(nna_memory_size(memory), FAKE_PAGE);
		assert_null(nna_memory_map(memory, &err));
		assert_non_null(strstr(err.message, "the memory was imported"));
		nna_memory_free(memory);
	}
}

static void test_refused_images(void **state)
{
	static const struct {
		int error;
		uint32_t fourcc;
		uint64_t modifier;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ EINVAL, 1, 0, NN_INVALID_ARGUMENT,
		  "image: the kernel refused the call: a value or range is invalid" },
		{ EOPNOTSUPP, 0x34325241, 0, NN_GENERAL_FAILURE,
		  "image: the format AR24 (0x34325241) or the kind of file is not supported" },
		{ EOPNOTSUPP, 0x7f1f20c1, 0, NN_GENERAL_FAILURE,
		  "image: the format A ?? (0x7f1f20c1) or the kind of file is not supported" },
		{ 0, 0, 0, NN_GENERAL_FAILURE,
		  "image: the format \?\?\?\? (0x00000000) or the kind of file is not supported" },
		{ EOPNOTSUPP, 1, 0x123, NN_GENERAL_FAILURE,
		  "image: the modifier 0x123 is not linear" },
		{ EACCES, 1, 0, NN_GENERAL_FAILURE,
		  "image: the file or memory does not permit the access" },
		{ EBADF, 1, 0, NN_INVALID_ARGUMENT, "image: the file descriptor is not open" },
		{ EDQUOT, 1, 0, NN_RESOURCE_EXHAUSTED_TRANSIENT,
		  "image: the limit of device memory of this client or this user is reached" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct nna_format format = {
			.size = sizeof(format), .fourcc = cases[i].fourcc, .modifier = cases[i].modifier,
		};
		struct nna_memory *memory;

		asked.error = cases[i].error;
		assert_int_equal(nna_memory_import_formatted(device, 5, PROT_READ, &format, &memory, &err),
				 cases[i].status);
		assert_string_equal(err.message, cases[i].message);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files),
		TEST(test_device_memory),
		TEST(test_images),
		TEST(test_refused_images),
	};

	kept_start();
	return cmocka_run_group_tests_name("libnnaccel_memory", tests, NULL, NULL);
}
