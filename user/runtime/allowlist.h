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
	struct allowlist_file list;	/* a line each: an absolute path, or a name with a dot */
	struct allowlist_file config;	/* see Documentation/extensions.rst */
};

/*
 * Whether a program may use extensions: `path` of its executable (NULL: not
 * known), `name` that it gives itself (NULL: none). *reason says why it may not.
 * Reads the files when they changed. One thread at a time.
 */
bool allowlist_admits(struct allowlist *allowlist, const char *path, const char *name,
		      const char **reason);

void allowlist_free(struct allowlist *allowlist);

#endif /* NN_RUNTIME_ALLOWLIST_H */
