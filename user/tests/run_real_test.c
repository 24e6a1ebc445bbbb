/* SPDX-License-Identifier: MIT */
/*
 * Tests the dlsym() that the library of `nnaccel run` defines, and how this library finds a
 * runtime's functions. The library of `nnaccel run` serves as the runtime, because the library
 * exports functions with the names of a runtime's functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/run.h"

#define RUNTIME "../lib/libnnaccel_run.so"
/* The name of a library that can be unloaded, and the name of a function in this library. */
#define OTHER "libpng16.so.16"
#define OF_OTHER "png_create_read_struct"

/*
 * Functions of the test program that have the names of a runtime's functions; the linker finds the
 * test program's functions first.
 */
#define FUNCTION(name) void name(void); void name(void) { }
#include "run/functions.def"
#undef FUNCTION

static const struct {
	const char *name;
	void *ours;
} functions[] = {
#define FUNCTION(name) { #name, (void *)name },
#include "run/functions.def"
#undef FUNCTION
};

const char *run_device(void)
{
	return getenv(RUN_DEVICE);
}

static void *runtime;

/* Returns the function that dlsym() finds if `nnaccel run` has no device. */
static void *true_of(void *library, const char *name)
{
	void *found;

	unsetenv(RUN_DEVICE);
	found = dlsym(library, name);
	setenv(RUN_DEVICE, "npu", 1);
	return found;
}

static int set_up(void **state)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(RUNTIME));

	(void)state;
	assert_true(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, RUNTIME);
	runtime = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return !runtime;
}

/* Without a device, a program gets the runtime's original function by dlsym(). */
static void test_no_device(void **state)
{
	(void)state;
	unsetenv(RUN_DEVICE);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(runtime, functions[i].name);

		assert_non_null(found);
		assert_ptr_not_equal(found, functions[i].ours);
		/*
		 * No object that follows the test program in the search order defines the function.
		 */
		assert_null(run_real((const void *)set_up, functions[i].name));
	}
}

static void test_device(void **state)
{
	void *other = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);

	(void)state;
	assert_non_null(other);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const char *name = functions[i].name;
		void *theirs = true_of(runtime, name);

		/*
		 * dlsym() finds no runtime's function by another library's handle or by RTLD_NEXT.
		 */
		assert_null(dlsym(other, name));
		assert_null(dlsym(RTLD_NEXT, name));
		assert_null(run_real((const void *)set_up, name));
		assert_ptr_equal(dlsym(runtime, name), functions[i].ours);
		assert_ptr_equal(run_real((const void *)set_up, name), theirs);
		assert_null(dlsym(other, name));
		assert_ptr_equal(run_real((const void *)set_up, name), theirs);
	}
	/* `nnaccel run` never replaces functions with other names than the runtime's. */
	assert_ptr_equal(dlsym(runtime, "_exit"), true_of(runtime, "_exit"));
	assert_ptr_not_equal(dlsym(runtime, "_exit"), NULL);
	assert_null(dlsym(runtime, "OrtGetApiBases"));
	assert_null(dlsym(runtime, "TfLite"));
	assert_ptr_equal(dlsym(other, OF_OTHER), true_of(other, OF_OTHER));
	assert_null(run_real((const void *)set_up, OF_OTHER));
	assert_null(run_real((const void *)set_up, "TfLiteNothing"));
	dlclose(other);
}

/*
 * Another library that calls dlsym() gets the result that it would get without `nnaccel run`, and
 * can be unloaded.
 */
static void test_caller(void **state)
{
	void *other = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL), *of_other = true_of(other, OF_OTHER);
	const char *name = "OrtSessionOptionsAppendExecutionProvider_CPU";
	void *theirs = true_of(runtime, name);

	(void)state;
	assert_non_null(theirs);
	assert_ptr_equal(run_real(theirs, name), theirs);
	assert_non_null(of_other);
	assert_ptr_equal(run_real(of_other, OF_OTHER), of_other);
	dlclose(other);
	assert_null(dlopen(OTHER, RTLD_NOW | RTLD_NOLOAD));
	/* If the caller's address belongs to no loaded object, run_real() finds no function. */
	assert_null(run_real(NULL, OF_OTHER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_caller),
	};

	return cmocka_run_group_tests_name("run real", tests, set_up, NULL);
}
