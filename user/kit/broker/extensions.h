/* SPDX-License-Identifier: MIT */
/*
 * The engine's side of extensions: which plug-ins of the configured folder are valid, and which
 * clients get workers that load them. This process loads no plug-in itself.
 */
#ifndef NN_KIT_EXTENSIONS_H
#define NN_KIT_EXTENSIONS_H

#include "base/allowlist.h"
#include "kit/broker/spawn.h"

struct extensions {
	const char *folder;	/* folder from the options, or the default; NULL without plug-ins */
	bool is_default;		/* the folder may be missing, because it is the default */
	const char *group;		/* name or number */
	bool has_group;			/* the group exists, and its id is */
	gid_t gid;
	/* services and labels that are admitted without the group */
	struct allowlist list;
	struct spawn_plugins plugins;
	char *files[NNA_ENGINE_MAX_PLUGINS + 1];
};

/*
 * Looks for plug-ins and probes each in a sandboxed process of its own, after the valid ones before
 * it; logs which are rejected and why. Returns false, with a log line, if the folder is unusable.
 */
bool extensions_find(struct extensions *extensions, const struct spawner *spawner);
void extensions_free(struct extensions *extensions);

/*
 * Returns whether the opener of a context gets extensions: it is in the group, or the list names
 * its service or its label. Directories of groups may be slow, so extensions_find() reads the
 * group.
 */
bool extensions_admit(struct extensions *extensions, int engine, uint64_t context);

#endif /* NN_KIT_EXTENSIONS_H */
