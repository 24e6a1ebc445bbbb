/* SPDX-License-Identifier: MIT */
/*
 * Counts the plans in the engine's own cache, as files in nnacceld's state folder or as mappings of
 * a worker. Tests that include this header need root.
 */
#ifndef NN_TESTS_HAL_CACHED_H
#define NN_TESTS_HAL_CACHED_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/workers.h"

static inline int count_cached(void)
{
	const char *state = getenv("NNACCEL_STATE");
	const struct dirent *e;
	char path[256];
	int count = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/plans", state ? state : "/run/nnaccel-state");
	d = opendir(path);
	while (d && (e = readdir(d)))
		count += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return count;
}

/*
 * Waits until `count` plans are cached, because workers store plans only after they have answered
 * the client.
 */
static inline bool await_cached(int count)
{
	while (count_cached() < count)
		usleep(10000);
	return count_cached() == count;
}

/*
 * Returns the number of cached plans that the worker has mapped. Only one worker may have a client.
 */
static inline int count_mapped(void)
{
	char line[512];
	int count = 0;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)workers_find());
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f))
		count += strstr(line, "/plans/") != NULL;
	if (f)
		fclose(f);
	return count;
}

#endif /* NN_TESTS_HAL_CACHED_H */
