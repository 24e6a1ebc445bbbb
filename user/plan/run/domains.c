/* SPDX-License-Identifier: MIT */
/*
 * Reads from files of /sys which CPUs share a last-level cache.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/run/domains.h"

#define MAX_CACHES 8		/* maximum number of caches of a CPU in /sys */
#define UNKNOWN UINT8_MAX	/* stands for "no domain"; larger than any domain's index */

static FILE *open_of(const char *root, uint32_t cpu, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/cpu%u/%s", root, cpu, name) >= sizeof(path))
		return NULL;
	return fopen(path, "re");
}

/*
 * Puts the CPUs of a list such as "0-7,16-23" in a domain; returns the number of CPUs. CPUs with
 * numbers of at least num_cpus are ignored.
 */
static uint32_t assign(struct domains *d, FILE *list, uint8_t domain)
{
	unsigned int first, last;
	uint32_t count = 0;

	while (fscanf(list, "%u", &first) == 1) {
		int next = fgetc(list);

		last = first;
		if (next == '-') {
			if (fscanf(list, "%u", &last) != 1)
				break;
			next = fgetc(list);
		}
		for (unsigned int i = first; i <= last && i < d->num_cpus; i++) {
			d->of[i] = domain;
			count++;
		}
		if (next != ',')
			break;
	}
	return count;
}

static uint32_t assign_file(struct domains *d, const char *root, uint32_t cpu, const char *name,
			    uint8_t domain)
{
	FILE *f = open_of(root, cpu, name);
	uint32_t count = 0;

	if (f) {
		count = assign(d, f, domain);
		fclose(f);
	}
	return count;
}

/*
 * Puts a CPU in a domain with the CPUs that share its last-level cache, or else with the CPUs of
 * its package. Returns false if /sys lists neither the CPUs of the cache nor those of the package.
 */
static bool assign_near(struct domains *d, const char *root, uint32_t cpu, uint8_t domain)
{
	uint32_t count = 0;

	for (uint32_t i = MAX_CACHES; i && !count; i--) {
		char name[48];

		snprintf(name, sizeof(name), "cache/index%u/shared_cpu_list", i - 1);
		count = assign_file(d, root, cpu, name, domain);
	}
	if (count < 2)
		count = assign_file(d, root, cpu, "topology/package_cpus_list", domain);
	return count && d->of[cpu] == domain;
}

static uint32_t package_of(const char *root, uint32_t cpu)
{
	FILE *f = open_of(root, cpu, "topology/physical_package_id");
	int package;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &package) != 1)
		package = 0;
	fclose(f);
	return (uint32_t)package;
}

bool domains_read(struct domains *d, const char *root, uint32_t num_cpus)
{
	uint32_t packages[UNKNOWN];
	bool known = true;

	*d = (struct domains){ .num_cpus = num_cpus, .of = malloc(num_cpus) };
	for (uint32_t cpu = 0; d->of && cpu < num_cpus; cpu++)
		d->of[cpu] = UNKNOWN;
	for (uint32_t cpu = 0; d->of && known && cpu < num_cpus; cpu++) {
		if (d->of[cpu] != UNKNOWN)
			continue;
		known = d->count < UNKNOWN && assign_near(d, root, cpu, (uint8_t)d->count);
		if (known)
			packages[d->count++] = package_of(root, cpu);
	}
	if (!d->of || !known) {
		free(d->of);
		*d = (struct domains){ 0 };
		return false;
	}
	for (uint32_t i = 0; i < d->count; i++) {
		d->domains[i].bit = UINT32_C(1) << i % 32;
		for (uint32_t k = 0; k < d->count; k++)
			if (packages[k] == packages[i])
				d->domains[i].package |= UINT32_C(1) << k % 32;
	}
	return true;
}

static struct domains own;

void domains_start(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!own.of && cpus > 1)
		domains_read(&own, "/sys/devices/system/cpu", (uint32_t)cpus);
}

uint32_t domains_count(void)
{
	return own.count;
}

struct domain domain_here(void)
{
	static const struct domain all = { UINT32_MAX, UINT32_MAX };
	int cpu = own.count > 1 ? sched_getcpu() : -1;

	return cpu >= 0 && (uint32_t)cpu < own.num_cpus ? own.domains[own.of[cpu]] : all;
}
