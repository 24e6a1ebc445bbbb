/* SPDX-License-Identifier: MIT */
/*
 * The engine's side of extensions: which files of the configured folder are sound
 * plug-ins, and which clients get processes that have them. It loads none itself.
 */
#ifndef NN_KIT_EXTENSIONS_H
#define NN_KIT_EXTENSIONS_H

#include "base/allowlist.h"
#include "kit/spawn.h"

struct extensions {
	const char *folder;		/* from the options, or the default; NULL: none */
	bool is_default;		/* then it may be missing */
	const char *group;		/* name or number */
	bool has_group;			/* it was found, and is */
	gid_t gid;
	struct allowlist list;		/* of services and labels that get them without the group */
	struct spawn_plugins plugins;
	char *files[NNA_ENGINE_MAX_PLUGINS + 1];
};

/*
 * Looks for plug-ins and has each loaded by a sandboxed process of its own, behind
 * those found sound before it; says in the log which are refused and why. False,
 * with a log line, where the folder itself cannot be used.
 */
bool extensions_find(struct extensions *extensions, const struct spawner *spawner);
void extensions_free(struct extensions *extensions);

/*
 * Whether the opener of a context that the engine node told of gets extensions: it is in the
 * group, or the list names its service or its label. Groups may be in a directory that answers
 * slowly: extensions_find() asked it.
 */
bool extensions_admit(struct extensions *extensions, int engine, uint64_t context);

#endif /* NN_KIT_EXTENSIONS_H */
