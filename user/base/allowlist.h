/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that may use vendor extensions. What the library reads in it is against
 * accidents: who means to go round it can. Against that the engine goes by groups, and by those of
 * the lines that nobody but the system's managers can make true of a process.
 */
#ifndef NN_BASE_ALLOWLIST_H
#define NN_BASE_ALLOWLIST_H

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

/* A program. NULL means that a field is not known. The kernel tells all but script and name. */
struct allowlist_program {
	const char *path;	/* of its executable */
	const char *script;	/* of the file that the executable interprets */
	const char *cgroup;	/* its path, as /proc/self/cgroup has it */
	const char *label;	/* of its security module, as /proc/self/attr/current has it */
	const char *name;	/* that it gives itself */
};

/*
 * Returns whether a program may use extensions; *reason says why it may not. A line must name it, and it
 * must lie under a trusted prefix. If a program of the system runs the script of an application that is
 * listed by its name or label, the script must lie there. Reads the files if they changed. One
 * thread at a time.
 */
bool allowlist_admits(struct allowlist *allowlist, const struct allowlist_program *program,
		      const char **reason);

/*
 * Whether a line names what the system's service manager or the security module calls a program:
 * its service, which no user and no container below another service can name, or its label. Reads the list when it changed;
 * one that others than root or this process's user may write admits nobody. One thread at a time.
 */
bool allowlist_admits_service(struct allowlist *allowlist, const char *cgroup, const char *label);

#define ALLOWLIST_NAME_SIZE 256

/*
 * The name that the service manager gives what runs in a cgroup, by the innermost unit: the
 * application's id of a unit "app-[LAUNCHER-]ID[-RANDOM].scope" or "app-[LAUNCHER-]ID[@RANDOM].service",
 * whoever's it is, else the name of a service of the system's manager. False: it gives none.
 */
bool allowlist_unit_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

/*
 * The name of the system's service that a cgroup is of: the first unit of its path that is no
 * slice. False: it is none, but a scope or a user's.
 */
bool allowlist_service_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

void allowlist_free(struct allowlist *allowlist);

#endif /* NN_BASE_ALLOWLIST_H */
