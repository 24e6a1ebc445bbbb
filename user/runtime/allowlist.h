/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that may use vendor extensions, against accidents: who
 * means to go round it can. Against that the engine goes by groups.
 */
#ifndef NN_RUNTIME_ALLOWLIST_H
#define NN_RUNTIME_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A file that is read again when it changes. Zeroed but for the path. */
struct allowlist_file {
	const char *path;
	bool known;			/* it was looked for: */
	bool exists;
	struct stat seen;
	char *text;			/* its lines, each terminated */
	size_t size;
};

struct allowlist {
	struct allowlist_file list;	/* a line each; see Documentation/extensions.rst */
	struct allowlist_file config;	/* see Documentation/extensions.rst */
};

/* What is known of a program; NULL: that is not. The kernel tells all but the name. */
struct allowlist_program {
	const char *path;	/* of its executable */
	const char *cgroup;	/* its path, as /proc/self/cgroup has it */
	const char *label;	/* of its security module, as /proc/self/attr/current has it */
	const char *name;	/* that it gives itself */
};

/*
 * Whether a program may use extensions. *reason says why it may not. Reads the files
 * when they changed. One thread at a time.
 */
bool allowlist_admits(struct allowlist *allowlist, const struct allowlist_program *program,
		      const char **reason);

#define ALLOWLIST_NAME_SIZE 256

/*
 * The name that the service manager gives what runs in a cgroup, by the innermost unit: the
 * application's id of a unit "app-[LAUNCHER-]ID[-RANDOM].scope" or "app-[LAUNCHER-]ID[@RANDOM].service",
 * whoever's it is, else the name of a service of the system's manager. False: it gives none.
 */
bool allowlist_unit_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

void allowlist_free(struct allowlist *allowlist);

#endif /* NN_RUNTIME_ALLOWLIST_H */
