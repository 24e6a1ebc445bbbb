/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that may use vendor extensions. The check by the library prevents only
 * accidents, because a program can evade the library's check. The engine admits a client that is in
 * the extensions' group, or whose service or label is named by a line of the list. A process cannot
 * choose its own service or label.
 */
#ifndef NN_BASE_ALLOWLIST_H
#define NN_BASE_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * A file that the library reads again after the file has changed. The caller sets `path` and zeroes
 * all other fields of the file.
 */
struct allowlist_file {
	const char *path;
	bool known;			/* true if `exists` and `seen` are valid */
	bool exists;
	struct stat seen;
	char *text;			/* lines of the file, each terminated by a NUL */
	size_t size;
};

struct allowlist {
	/* The list of programs, one in each line; see Documentation/extensions.rst. */
	struct allowlist_file list;
	struct allowlist_file config;	/* see Documentation/extensions.rst */
};

/*
 * Known properties of a program; an unknown field is NULL. All fields of a program except `script`
 * and `name` come from the kernel.
 */
struct allowlist_program {
	const char *path;	/* path of the program's executable */
	const char *script;	/* script that the executable, an interpreter, runs */
	const char *cgroup;	/* path of the program's cgroup, as in /proc/self/cgroup */
	const char *label;	/* label of the security module, from /proc/self/attr/current */
	const char *name;	/* name that the program gives itself */
};

/*
 * Returns whether a program may use extensions; sets *reason to the reason why the program may not.
 * A line of the list must name the program, and the program's path must begin with a trusted
 * prefix, not with a system prefix. With the configuration "trust-app-name yes", a line may instead
 * have the name that the program gives itself. If an interpreter of the system runs a script of an
 * application listed by name or label, the script's path must begin with a trusted prefix. The
 * function reads the list and the configuration again if the files have changed. Only one thread at
 * a time may call allowlist_admits().
 */
bool allowlist_admits(struct allowlist *allowlist, const struct allowlist_program *program,
		      const char **reason);

/*
 * Returns whether a line of the list names the program's service or its label. The system's service
 * manager sets the service's name, so neither a user nor a container inside another service can
 * choose the name of a service. The security module sets the program's label.
 * The function allowlist_admits_service() reads the list again if the list's file has changed. No
 * program is admitted if users other than root and this process's user may write the list. Only one
 * thread at a time may call allowlist_admits_service().
 */
bool allowlist_admits_service(struct allowlist *allowlist, const char *cgroup, const char *label);

#define ALLOWLIST_NAME_SIZE 256

/*
 * Finds the name that the service manager gives to the innermost unit of a cgroup. The name of an
 * application is the part ID of its unit's name "app-[LAUNCHER-]ID[-RANDOM].scope" or
 * "app-[LAUNCHER-]ID[@RANDOM].service"; any service manager may run the unit. If the unit is not an
 * application, the name is that of a service of the system's service manager. Returns false if the
 * unit is neither an application nor a service of the system's service manager.
 */
bool allowlist_unit_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

/*
 * Finds the system's service to which a cgroup belongs: the first unit of the cgroup's path that is
 * not a slice. Returns false if the first unit that is not a slice is a scope or belongs to a user.
 */
bool allowlist_service_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

void allowlist_free(struct allowlist *allowlist);

#endif /* NN_BASE_ALLOWLIST_H */
