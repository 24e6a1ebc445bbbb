// SPDX-License-Identifier: MIT
/* Reads the memory limit of a client; see client_memory.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup_path.h"
#include "kit/broker/client_memory.h"
#include "kit/broker/contexts.h"

/*
 * Maximum number of attempts to read the limit; an attempt fails if the process moves to another
 * cgroup.
 */
#define MAX_MOVES 8

#define UNKNOWN "the memory limit of its cgroup is not known: "

/*
 * Reads the memory limit of one cgroup. Returns false if the cgroup no longer exists or its limit
 * cannot be read.
 */
static bool read_limit(const char *path, uint64_t *bytes, uint64_t *number)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file = folder < 0 ? -1 : openat(folder, "memory.max", O_RDONLY | O_CLOEXEC);
	bool known = folder >= 0 && file < 0 && errno == ENOENT;
	struct stat st = { 0 };
	char text[32] = "", *end;

	*bytes = CLIENT_MEMORY_ALL;
	if (file >= 0) {
		known = read(file, text, sizeof(text) - 1) > 0 && !fstat(folder, &st);
		close(file);
		*bytes = strtoull(text, &end, 10);
		if (end == text)
			*bytes = CLIENT_MEMORY_ALL;	/* the file memory.max contains "max" */
		else if (!*bytes)
			/* 1 instead of 0, because set_memory() treats 0 as no limit */
			*bytes = 1;
	}
	if (folder >= 0)
		close(folder);
	*number = st.st_ino;
	return known;
}

/* Finds the smallest memory limit among a cgroup and its parents, up to the root. */
static bool read_least(const char *mount, const char *cgroup, struct client_memory *memory)
{
	char path[PATH_MAX + CGROUP_PATH_SIZE];
	const size_t top = strlen(mount);
	uint64_t bytes, number;

	*memory = (struct client_memory){ .bytes = CLIENT_MEMORY_ALL };
	snprintf(path, sizeof(path), "%s%s", mount, strcmp(cgroup, "/") ? cgroup : "");
	for (;;) {
		if (!read_limit(path, &bytes, &number))
			return false;
		if (bytes < memory->bytes)
			*memory = (struct client_memory){ bytes, number };
		if (strlen(path) <= top)
			return true;
		*strrchr(path, '/') = '\0';
	}
}

const char *client_memory_find(const char *mount, int engine, uint64_t context,
			       struct client_memory *memory)
{
	char process[16], cgroup[CGROUP_PATH_SIZE], later_cgroup[CGROUP_PATH_SIZE];
	uint32_t pid, later;
	bool known;

	if (!context_opener(engine, context, &pid))
		return UNKNOWN "the process that opened it has ended or executed another "
		       "program";
	if (!pid)
		return UNKNOWN "its process is outside of nnacceld's PID namespace; see "
		       "--no-client-limit";
	snprintf(process, sizeof(process), "%u", pid);
	for (int moves = 0; moves < MAX_MOVES; moves++) {
		if (!cgroup_path_of(process, cgroup, sizeof(cgroup)))
			return UNKNOWN "/proc does not tell the cgroup of its process; see "
			       "--no-client-limit";
		if (!strcmp(cgroup, "/..") || !strncmp(cgroup, "/../", 4))
			return UNKNOWN "its cgroup is outside of nnacceld's cgroup namespace; see "
			       "--no-client-limit";
		known = read_least(mount, cgroup, memory);
		/* The process may have moved to another cgroup while the limits were read. */
		if (!cgroup_path_of(process, later_cgroup, sizeof(later_cgroup)) ||
		    strcmp(cgroup, later_cgroup))
			continue;
		if (!known)
			return UNKNOWN "memory.max of its cgroup, or of one above, cannot be read";
		if (!context_opener(engine, context, &later) || later != pid)
			return UNKNOWN "the process that opened it ended meanwhile";
		return NULL;
	}
	return UNKNOWN "its process was moved between cgroups meanwhile";
}
