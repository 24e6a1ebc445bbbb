/* SPDX-License-Identifier: MIT */
/* Reacts to changes in the folder of plug-ins and in the system's groups. */
#ifndef NN_KIT_REREAD_H
#define NN_KIT_REREAD_H

#include "kit/broker/extensions.h"

/* Maximum size of the examining process's answer, which has a line for each valid plug-in. */
#define REREAD_MAX (NNA_ENGINE_MAX_PLUGINS * 256 + 16)

struct reread {
	/* inotify fd that becomes readable after a change; -1 if no folder is watched. */
	int changes;
	int groups;	/* inotify watch of the folder that contains GROUPS_FILE */
	int answer;	/* pipe with the examining process's answer, or -1 */
	pid_t pid;
	/*
	 * Time at which to start the examining process, some time after the last change; 0 if there
	 * was no change.
	 */
	uint64_t at_ns;
	size_t size;
	char text[REREAD_MAX];
};

/*
 * Watches the folder of plug-ins, if the folder exists. Changes of the folder before reread_init()
 * are not noticed.
 */
void reread_init(struct reread *reread, const struct extensions *extensions);

/* Reads the changes after reread->changes became readable, and sets reread->at_ns. */
void reread_changed(struct reread *reread);

/*
 * Starts an examining process if the present time is reread->at_ns or later. Returns true if the
 * caller must poll reread->answer.
 */
bool reread_start(struct reread *reread, const struct extensions *extensions,
		  const struct spawner *spawner);

/*
 * Reads a part of the examining process's answer. When the answer is complete, updates the
 * extensions and returns true; the caller then closes reread->answer and sets reread->answer to -1.
 */
bool reread_read(struct reread *reread, struct extensions *extensions);

void reread_end(struct reread *reread);

#endif /* NN_KIT_REREAD_H */
