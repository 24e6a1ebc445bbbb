/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that may use vendor extensions. The library's check prevents accidents only,
 * because a program can evade it. The engine admits a client by its group, or by a line with its
 * service or label, which a process cannot choose itself.
 */
#ifndef NN_BASE_ALLOWLIST_H
#define NN_BASE_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * A file that the library reads again after a change. The caller sets the path and zeroes all other
 * fields.
 */
struct allowlist_file {
	const char *path;
	bool known;			/* the file was looked for; `exists` and `seen` are valid */
	bool exists;
	struct stat seen;
	char *text;			/* lines of the file, each with a NUL */
	size_t size;
};

struct allowlist {
	/* The list has one program in each line; see Documentation/extensions.rst. */
	struct allowlist_file list;
	struct allowlist_file config;	/* see Documentation/extensions.rst */
};

/*
 * A program. A field is NULL if it is not known. All fields except script and name come from the
 * kernel.
 */
struct allowlist_program {
	const char *path;	/* path of the program's executable */
	const char *script;	/* script that the executable interprets */
	const char *cgroup;	/* path of the program's cgroup, as in /proc/self/cgroup */
	const char *label;	/* label by the security module, as in /proc/self/attr/current */
	const char *name;	/* name that the program gives itself */
};

/*
 * Returns whether a program may use extensions; *reason says why it may not. A line must name the
 * program, and its path must begin with a trusted prefix. If an interpreter of the system runs a
 * script of an application listed by name or label, the script's path must begin with a trusted
 * prefix. Reads the files if they changed. Only one thread at a time may call this.
 */
bool allowlist_admits(struct allowlist *allowlist, const struct allowlist_program *program,
		      const char **reason);

/*
 * Returns whether a line names the program's service or its label. The system's service manager
 * sets the service's name, so neither a user nor a container inside another service can choose it.
 * The security module sets the label. Reads the list if it changed. Admits no program if users
 * other than root and this process's user may write the list. Only one thread at a time may call
 * this.
 */
bool allowlist_admits_service(struct allowlist *allowlist, const char *cgroup, const char *label);

#define ALLOWLIST_NAME_SIZE 256

/*
 * Finds the name that the service manager gives to the innermost unit of a cgroup. For
 * applications, this is the id in a unit's name "app-[LAUNCHER-]ID[-RANDOM].scope" or
 * "app-[LAUNCHER-]ID[@RANDOM].service" of any service manager. Otherwise it is the name of a
 * service of the system's manager. Returns false if there is no such name.
 */
bool allowlist_unit_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

/*
 * Finds the system's service that a cgroup belongs to: the first unit of its path that is not a
 * slice. Returns false if this unit is a scope or belongs to a user.
 */
bool allowlist_service_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

void allowlist_free(struct allowlist *allowlist);

#endif /* NN_BASE_ALLOWLIST_H */
