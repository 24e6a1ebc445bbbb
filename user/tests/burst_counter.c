/* SPDX-License-Identifier: MIT */
/*
 * Counters of this process's contexts and bursts, which the kernel shows in the fdinfo of open
 * files.
 */
#include "tests/burst_counter.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number in line `name` of a file's fdinfo; -1 if the line is missing. */
static long fd_counter(const char *fd, const char *name)
{
	char path[64], line[128];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", fd);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = atol(line + strlen(name) + 1);
	fclose(file);
	return value;
}

long burst_counter(const char *name, int *fd)
{
	DIR *files = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	long sum = 0, value;

	while (files && (entry = readdir(files))) {
		if (fd_counter(entry->d_name, "nnaccel-burst") < 0)
			continue;
		value = fd_counter(entry->d_name, name);
		if (value < 0)
			sum = LONG_MIN;
		sum += value;
		if (fd)
			*fd = atoi(entry->d_name);
	}
	if (files)
		closedir(files);
	return sum;
}

long context_counter(const char *name)
{
	DIR *files = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	long sum = 0, value;

	while (files && (entry = readdir(files))) {
		value = fd_counter(entry->d_name, name);
		sum += value > 0 ? value : 0;
	}
	if (files)
		closedir(files);
	return sum;
}
