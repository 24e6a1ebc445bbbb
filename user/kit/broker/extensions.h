/* SPDX-License-Identifier: MIT */
/*
 * Determines which plug-ins of the configured folder are valid, and which clients get workers with
 * plug-ins.
 */
#ifndef NN_KIT_EXTENSIONS_H
#define NN_KIT_EXTENSIONS_H

#include "base/allowlist.h"
#include "kit/broker/spawn.h"

struct extensions {
	const char *folder;	/* folder of plug-ins; NULL if plug-ins are disabled */
	/* whether `folder` is the default folder, which need not exist */
	bool is_default;
	const char *group;		/* group whose members get extensions: a name or number */
	bool has_group;			/* true: the group exists, and `gid` is the group's id */
	gid_t gid;
	/* services and labels; their processes also get extensions outside the group */
	struct allowlist list;
	struct spawn_plugins plugins;
	char *files[NNA_ENGINE_MAX_PLUGINS + 1];
};

/*
 * Looks for plug-ins in the folder and probes each plug-in in a new sandboxed process, which first
 * loads all plug-ins that were found valid. Logs which plug-ins are rejected and why. Returns
 * false, with a log line, if the folder is unusable.
 */
bool extensions_find(struct extensions *extensions, const struct spawner *spawner);
void extensions_free(struct extensions *extensions);

/*
 * Returns whether the process that opened a context gets extensions. A process gets extensions if
 * it is a member of the group or if the list contains its service or label. The function
 * extensions_find() looks up the group in advance, because a directory service may answer slowly.
 */
bool extensions_admit(struct extensions *extensions, int engine, uint64_t context);

#endif /* NN_KIT_EXTENSIONS_H */
