/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cgroup_path.h"
#include "plan/run/cpus.h"

/* More CPUs than any Linux kernel supports. */
#define MOST_CPUS 65536

static uint32_t cpus_of_affinity(void)
{
	uint32_t count = 1;

	for (int room = CPU_SETSIZE; room <= MOST_CPUS; room *= 2) {
		size_t size = CPU_ALLOC_SIZE(room);
		cpu_set_t *cpus = CPU_ALLOC(room);
		bool told = cpus && !sched_getaffinity(0, size, cpus);

		if (told)
			count = (uint32_t)CPU_COUNT_S(size, cpus);
		CPU_FREE(cpus);
		if (told)
			break;
	}
	return count;
}

/*
 * Returns the number of CPUs that a cgroup's file cpu.max allows; the file's text is "QUOTA PERIOD"
 * or "max PERIOD".
 */
static uint32_t cpus_of_quota(const char *file)
{
	unsigned long long quota, period;
	FILE *f = fopen(file, "re");
	uint32_t cpus = UINT32_MAX;

	if (!f)
		return cpus;
	if (fscanf(f, "%llu %llu", &quota, &period) == 2 && period && quota / period < cpus)
		cpus = quota / period ? (uint32_t)(quota / period) : 1;
	fclose(f);
	return cpus;
}

uint32_t cpus_of_cgroup(const char *root, const char *path)
{
	char folder[PATH_MAX], file[PATH_MAX + 16];
	uint32_t least = UINT32_MAX;
	size_t end = strlen(root);

	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", root, path) >= sizeof(folder))
		return least;
	for (;;) {
		char *slash;
		uint32_t cpus;

		snprintf(file, sizeof(file), "%s/cpu.max", folder);
		cpus = cpus_of_quota(file);
		least = cpus < least ? cpus : least;
		slash = strrchr(folder + end, '/');
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Returns UINT32_MAX for cgroups of version 1, which have no file cpu.max. */
static uint32_t cpus_of_own_cgroup(void)
{
	char path[PATH_MAX];

	return cgroup_path_of("self", path, sizeof(path)) ? cpus_of_cgroup(CGROUP_MOUNT, path) :
							    UINT32_MAX;
}

uint32_t cpus_usable(void)
{
	uint32_t cpus = cpus_of_affinity(), paid = cpus_of_own_cgroup();

	return cpus < paid ? cpus : paid;
}
