/* SPDX-License-Identifier: MIT */
/*
 * Tests the number of CPUs that cpu.max allows, in folders that look like cgroups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/run/cpus.h"

static char root[] = "/tmp/nnaccel-cpus-XXXXXX";

static void set_max(const char *path, const char *text)
{
	char file[128];
	FILE *f;

	snprintf(file, sizeof(file), "%s%s/cpu.max", root, path);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_cpu_max(void **state)
{
	static const struct {
		const char *above, *own;	/* NULL: no file */
		uint32_t cpus;
	} cases[] = {
		{ NULL, NULL, UINT32_MAX },
		{ "max 100000\n", "max 100000\n", UINT32_MAX },
		{ NULL, "400000 100000\n", 4 },
		{ NULL, "399999 100000\n", 3 },
		{ NULL, "50000 100000\n", 1 },
		{ "200000 100000\n", "400000 100000\n", 2 },
		{ "400000 50000\n", "max 100000\n", 8 },
		{ NULL, "100000 0\n", UINT32_MAX },
		{ NULL, "", UINT32_MAX },
		{ NULL, "many", UINT32_MAX },
		{ NULL, "18446744073709551615 1\n", UINT32_MAX },
	};
	char file[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(file, sizeof(file), "%s/a/cpu.max", root);
		unlink(file);
		snprintf(file, sizeof(file), "%s/a/b/cpu.max", root);
		unlink(file);
		if (cases[i].above)
			set_max("/a", cases[i].above);
		if (cases[i].own)
			set_max("/a/b", cases[i].own);
		assert_int_equal(cpus_of_cgroup(root, "/a/b"), cases[i].cpus);
	}
	assert_int_equal(cpus_of_cgroup(root, "/"), UINT32_MAX);
	assert_int_equal(cpus_of_cgroup(root, "/gone"), UINT32_MAX);
}

static void test_own(void **state)
{
	long online = sysconf(_SC_NPROCESSORS_CONF);

	(void)state;
	assert_true(cpus_usable() >= 1 && cpus_usable() <= (uint32_t)online);
}

static int make_folders(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/a", root);
	if (mkdir(path, 0700))
		return -1;
	snprintf(path, sizeof(path), "%s/a/b", root);
	return mkdir(path, 0700);
}

static int remove_folders(void **state)
{
	static const char *const files[] = { "/a/b/cpu.max", "/a/cpu.max", "/a/b", "/a", "" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i]);
		remove(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_max),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
