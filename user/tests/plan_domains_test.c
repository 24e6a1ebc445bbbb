/* SPDX-License-Identifier: MIT */
/*
 * Tests how domains of CPUs are read from folders that look like /sys/devices/system/cpu.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "plan/run/domains.h"
#include "tests/heap_blocks.h"

#define CPUS 8

static char root[] = "/tmp/nnaccel-domains-XXXXXX";

/* Writes a file of a CPU, and makes the folders of the file's path. */
static void put(const char *machine, uint32_t cpu, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/cpu%u/%s", root, machine, cpu, name);
	for (char *at = strchr(path + sizeof(root), '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The contents of a CPU's files in sysfs; NULL stands for a missing file. */
struct cpu {
	const char *second, *third;	/* CPUs that share the cache of level 2 or 3 */
	const char *package, *siblings;
};

struct machine {
	const char *name;
	struct cpu cpus[CPUS];
	uint32_t count;			/* number of domains; 0 if files are missing or invalid */
	uint32_t bits[CPUS], packages[CPUS];
};

static const struct machine machines[] = {
	{ "two-packages", {
		{ "0,4", "0-1,4-5", "0", "0-1,4-5" }, { "1,5", "0-1,4-5", "0", "0-1,4-5" },
		{ "2,6", "2-3,6-7", "1", "2-3,6-7" }, { "3,7", "2-3,6-7", "1", "2-3,6-7" },
		{ "0,4", "0-1,4-5", "0", "0-1,4-5" }, { "1,5", "0-1,4-5", "0", "0-1,4-5" },
		{ "2,6", "2-3,6-7", "1", "2-3,6-7" }, { "3,7", "2-3,6-7", "1", "2-3,6-7" } },
	  2, { 1, 1, 2, 2, 1, 1, 2, 2 }, { 1, 1, 2, 2, 1, 1, 2, 2 } },
	/* The machine has two packages with two domains (chiplets) each. */
	{ "chiplets", {
		{ "0", "0-1", "0", "0-3" }, { "1", "0-1", "0", "0-3" },
		{ "2", "2-3", "0", "0-3" }, { "3", "2-3", "0", "0-3" },
		{ "4", "4-5", "1", "4-7" }, { "5", "4-5", "1", "4-7" },
		{ "6", "6-7", "1", "4-7" }, { "7", "6-7", "1", "4-7" } },
	  4, { 1, 1, 2, 2, 4, 4, 8, 8 }, { 3, 3, 3, 3, 12, 12, 12, 12 } },
	/*
	 * The machine has fast cores with two threads, and slow cores in groups of four. All cores
	 * share the last-level cache.
	 */
	{ "hybrid", {
		{ "0-1", "0-7", "0", "0-7" }, { "0-1", "0-7", "0", "0-7" },
		{ "2-3", "0-7", "0", "0-7" }, { "2-3", "0-7", "0", "0-7" },
		{ "4-7", "0-7", "0", "0-7" }, { "4-7", "0-7", "0", "0-7" },
		{ "4-7", "0-7", "0", "0-7" }, { "4-7", "0-7", "0", "0-7" } },
	  1, { 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1 } },
	/*
	 * The machines "clusters" and "alone" have no third-level cache. In "clusters", groups of
	 * four CPUs share a cache; in "alone", CPUs share only their package.
	 */
	{ "clusters", {
		{ "0-3", NULL, "0", "0-7" }, { "0-3", NULL, "0", "0-7" },
		{ "0-3", NULL, "0", "0-7" }, { "0-3", NULL, "0", "0-7" },
		{ "4-7", NULL, "0", "0-7" }, { "4-7", NULL, "0", "0-7" },
		{ "4-7", NULL, "0", "0-7" }, { "4-7", NULL, "0", "0-7" } },
	  2, { 1, 1, 1, 1, 2, 2, 2, 2 }, { 3, 3, 3, 3, 3, 3, 3, 3 } },
	{ "alone", {
		{ "0", NULL, "0", "0-3" }, { "1", NULL, "0", "0-3" },
		{ "2", NULL, "0", "0-3" }, { "3", NULL, "0", "0-3" },
		{ "4", NULL, "1", "4-7" }, { "5", NULL, "1", "4-7" },
		{ "6", NULL, "1", "4-7" }, { "7", NULL, "1", "4-7" } },
	  2, { 1, 1, 1, 1, 2, 2, 2, 2 }, { 1, 1, 1, 1, 2, 2, 2, 2 } },
	/*
	 * The list of the CPUs that share CPU 0's cache has more CPUs than exist, and the other
	 * CPUs have no cache.
	 */
	{ "beyond", {
		{ NULL, "0-999", "-1", NULL }, },
	  1, { 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "untold", { { NULL, NULL, "0", NULL } }, 0, { 0 }, { 0 } },
	{ "damaged", { { NULL, "x", "0", "7-" } }, 0, { 0 }, { 0 } },
	/* The list of the CPUs that share CPU 0's cache does not contain CPU 0. */
	{ "odd", { { NULL, "1-7", "0", NULL } }, 0, { 0 }, { 0 } },
};

static void make(const struct machine *m)
{
	for (uint32_t i = 0; i < CPUS; i++) {
		const struct cpu *c = &m->cpus[i];

		if (c->second)
			put(m->name, i, "cache/index2/shared_cpu_list", c->second);
		if (c->third)
			put(m->name, i, "cache/index3/shared_cpu_list", c->third);
		if (c->package)
			put(m->name, i, "topology/physical_package_id", c->package);
		if (c->siblings)
			put(m->name, i, "topology/package_cpus_list", c->siblings);
	}
}

static void test_machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct machine *m = &machines[i];
		struct domains d;
		char path[64];

		make(m);
		snprintf(path, sizeof(path), "%s/%s", root, m->name);
		if (domains_read(&d, path, CPUS) != !!m->count || d.count != m->count)
			fail_msg("%s: %u domains", m->name, d.count);
		for (uint32_t k = 0; d.of && k < CPUS; k++)
			if (d.domains[d.of[k]].bit != m->bits[k] ||
			    d.domains[d.of[k]].package != m->packages[k])
				fail_msg("%s: CPU %u", m->name, k);
		free(d.of);
	}
}

/* If a machine has more domains than a mask has bits, domain 33 has the same bit as domain 1. */
static void test_many(void **state)
{
	struct domains d;
	char path[64];

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		char two[16];

		snprintf(two, sizeof(two), "%u-%u", 2 * i, 2 * i + 1);
		put("many", 2 * i, "cache/index3/shared_cpu_list", two);
		put("many", 2 * i, "topology/physical_package_id", "0");
	}
	snprintf(path, sizeof(path), "%s/many", root);
	assert_true(domains_read(&d, path, 80));
	assert_int_equal(d.count, 40);
	assert_int_equal(d.domains[d.of[65]].bit, 1);
	assert_int_equal(d.domains[d.of[65]].package, UINT32_MAX);
	free(d.of);
}

/* Checks the machine that runs the test: the domain of each CPU belongs to the CPU's package. */
static void test_own(void **state)
{
	struct domain d;

	(void)state;
	domains_start();
	d = domain_here();
	assert_true(d.bit && (d.package & d.bit) == d.bit);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_machines),
		heap_unit_test(test_many),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
