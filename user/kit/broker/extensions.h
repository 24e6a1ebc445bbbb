/* SPDX-License-Identifier: MIT */
/*
 * Extensions in the broker: which plug-ins of the configured folder are valid, and which clients
 * get workers with plug-ins. The broker itself loads no plug-in.
 */
#ifndef NN_KIT_EXTENSIONS_H
#define NN_KIT_EXTENSIONS_H

#include "base/allowlist.h"
#include "kit/broker/spawn.h"

struct extensions {
	const char *folder;	/* folder of plug-ins; NULL if plug-ins are off */
	bool is_default;		/* the folder may be missing, because it is the default */
	const char *group;		/* group whose members get extensions: a name or number */
	bool has_group;			/* the group exists, and the next field is its id */
	gid_t gid;
	/* services and labels whose processes are admitted without the group */
	struct allowlist list;
	struct spawn_plugins plugins;
	char *files[NNA_ENGINE_MAX_PLUGINS + 1];
};

/*
 * Looks for plug-ins and probes each of them: a new sandboxed process loads the plug-ins found
 * valid so far, then this one. Logs which plug-ins are rejected and why. Returns false, with a log
 * line, if the folder is unusable.
 */
bool extensions_find(struct extensions *extensions, const struct spawner *spawner);
void extensions_free(struct extensions *extensions);

/*
 * Returns whether the opener of a context gets extensions, because it is in the group or the list
 * names its service or label. The group is looked up by extensions_find(), because a directory
 * service may answer slowly.
 */
bool extensions_admit(struct extensions *extensions, int engine, uint64_t context);

#endif /* NN_KIT_EXTENSIONS_H */
