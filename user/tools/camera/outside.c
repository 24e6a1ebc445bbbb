/* SPDX-License-Identifier: MIT */
/*
 * Reads the kernel's counters of this process from /proc.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "outside.h"

/* Returns whether a line of /proc/self/maps describes a mapping of one of the `buffers`. */
static bool is_of(const char *line, const int *buffers, int count)
{
	unsigned long inode;
	struct stat st;

	if (strstr(line, "/dev/video"))
		return true;
	if (!strstr(line, " /dmabuf:") || sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
		return false;
	for (int i = 0; i < count; i++)
		if (!fstat(buffers[i], &st) && st.st_ino == inode)
			return true;
	return false;
}

int outside_mapped_frames(const int *buffers, int count)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4400];
	int mapped = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		mapped += is_of(line, buffers, count);
	fclose(f);
	return mapped;
}

/*
 * Returns the sum of the values of all lines named `name` in a file; -1 if no line has the name.
 */
static int64_t sum(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	int64_t total = -1, value;
	size_t n = strlen(name);
	char line[256];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && sscanf(line + n, ": %" SCNd64, &value) == 1)
			total = (total < 0 ? 0 : total) + value;
	fclose(f);
	return total;
}

int64_t outside_moved_bytes(void)
{
	int64_t in = sum("/proc/self/io", "rchar"), out = sum("/proc/self/io", "wchar");

	return in < 0 || out < 0 ? -1 : in + out;
}

int64_t outside_slot_resolves(void)
{
	DIR *folder = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	int64_t total = -1;
	char path[300];

	while (folder && (entry = readdir(folder))) {
		int64_t one;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		one = entry->d_name[0] == '.' ? -1 : sum(path, "nnaccel-slot-resolves");
		if (one >= 0)
			total = (total < 0 ? 0 : total) + one;
	}
	if (folder)
		closedir(folder);
	return total;
}
