/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that may use vendor extensions. The library's check prevents accidents only,
 * because a program can evade it. The engine checks groups instead, and the lines whose conditions
 * only the system's managers can set for a process.
 */
#ifndef NN_BASE_ALLOWLIST_H
#define NN_BASE_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A file that is read again when it changes. All fields except the path begin as zero. */
struct allowlist_file {
	const char *path;
	bool known;			/* the file was searched; its state is valid */
	bool exists;
	struct stat seen;
	char *text;			/* lines of the file, each terminated */
	size_t size;
};

struct allowlist {
	/* One program in each line; see Documentation/extensions.rst. */
	struct allowlist_file list;
	struct allowlist_file config;	/* see Documentation/extensions.rst */
};

/*
 * A program. NULL means that a field is not known. The kernel reports all fields except script and
 * name.
 */
struct allowlist_program {
	const char *path;	/* of its executable */
	const char *script;	/* script that the executable interprets */
	const char *cgroup;	/* path of its cgroup, as in /proc/self/cgroup */
	const char *label;	/* label of its security module, as in /proc/self/attr/current */
	const char *name;	/* name that the program gives itself */
};

/*
 * Returns whether a program may use extensions; *reason says why it may not. A line must name it,
 * and it must lie under a trusted prefix. If a program of the system runs the script of an
 * application that is listed by its name or label, the script must lie under such a prefix. Reads
 * the files if they changed. Only one thread at a time may call this.
 */
bool allowlist_admits(struct allowlist *allowlist, const struct allowlist_program *program,
		      const char **reason);

/*
 * Returns whether a line names the program's service or its label. The system's service manager
 * names the service, which no user and no container below another service can choose. The security
 * module sets the label. Reads the list if it changed. A list that others than root or this
 * process's user may write admits no program. Only one thread at a time may call this.
 */
bool allowlist_admits_service(struct allowlist *allowlist, const char *cgroup, const char *label);

#define ALLOWLIST_NAME_SIZE 256

/*
 * Finds the name that the service manager gives to the innermost unit of a cgroup. It is the
 * application's id of a unit "app-[LAUNCHER-]ID[-RANDOM].scope" or
 * "app-[LAUNCHER-]ID[@RANDOM].service" of any manager, or otherwise the name of a service of the
 * system's manager. Returns false if there is no such name.
 */
bool allowlist_unit_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

/*
 * Finds the system's service that a cgroup belongs to: the first unit of its path that is not a
 * slice. Returns false if that is a scope or a user's unit.
 */
bool allowlist_service_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE]);

void allowlist_free(struct allowlist *allowlist);

#endif /* NN_BASE_ALLOWLIST_H */
