/* SPDX-License-Identifier: MIT */
/*
 * Common functions for tests of libnnaccel through the module: open the device for each test, and
 * print the message of a failing call.
 */
#ifndef NN_TESTS_HAL_FIXTURE_H
#define NN_TESTS_HAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>

static struct nna_device *device;
static struct nn_error err;

static inline int set_up(void **state)
{
	(void)state;
	err.message[0] = 0;
	if (!nna_device_open(NULL, &device, &err))
		return 0;
	print_error("%s\n", err.message);
	return -1;
}

static inline int tear_down(void **state)
{
	(void)state;
	nna_device_close(device);
	return 0;
}

/* Fails the test with the message of the failed call, unless `status` is NN_OK. */
static inline void check(enum nn_status status)
{
	if (status)
		print_error("%s: %s\n", nna_status_name(status), err.message);
	assert_int_equal(status, NN_OK);
}

#endif /* NN_TESTS_HAL_FIXTURE_H */
