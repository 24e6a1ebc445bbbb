/* SPDX-License-Identifier: MIT */
/*
 * The cgroup (version 2) of a process.
 */
#ifndef NN_BASE_CGROUP_PATH_H
#define NN_BASE_CGROUP_PATH_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The folder where cgroups are mounted, to which paths of cgroups are relative. */
#define CGROUP_MOUNT "/sys/fs/cgroup"

/* Size of the longest path that the kernel reports, with the terminating zero. */
#define CGROUP_PATH_SIZE 4096

/*
 * Finds the path of a process's cgroup, which begins with "/". `process` is a process id or "self".
 * Returns false if cgroups of version 2 or the process do not exist, or if `path` is too small.
 */
static inline bool cgroup_path_of(const char *process, char *path, size_t size)
{
	char line[4200], name[64];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%s/cgroup", process);
	file = fopen(name, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strncmp(line, "0::/", 4) &&
			(size_t)snprintf(path, size, "%s", line + 3) < size;
	}
	if (file)
		fclose(file);
	return found;
}

#endif /* NN_BASE_CGROUP_PATH_H */
