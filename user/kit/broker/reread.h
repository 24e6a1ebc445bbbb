/* SPDX-License-Identifier: MIT */
/*
 * Reacts to changes in the folder of plug-ins and in the system's groups. A separate process
 * examines the folder and the groups again, so the broker does not wait. New workers then get the
 * valid plug-ins.
 */
#ifndef NN_KIT_REREAD_H
#define NN_KIT_REREAD_H

#include "kit/broker/extensions.h"

/* Maximum size of the process's answer, which has a line for each file. */
#define REREAD_MAX (NNA_ENGINE_MAX_PLUGINS * 256 + 16)

struct reread {
	/* inotify file that becomes readable after a change; -1 if nothing is watched. */
	int changes;
	int groups;	/* inotify watch of the folder that has the file of groups */
	int answer;	/* pipe with the answer of a running process, for poll(); otherwise -1 */
	pid_t pid;
	/* When to start the process, some time after the last change; 0 if there was no change. */
	uint64_t at_ns;
	size_t size;
	char text[REREAD_MAX];
};

/* Watches the folder, if it exists. Changes before this call are not noticed. */
void reread_init(struct reread *reread, const struct extensions *extensions);

/* Takes note of changes, after reread->changes became readable. */
void reread_changed(struct reread *reread);

/*
 * Starts an examining process if reread->at_ns has come. Returns true if the caller must poll
 * reread->answer.
 */
bool reread_start(struct reread *reread, const struct extensions *extensions,
		  const struct spawner *spawner);

/*
 * Reads a part of the answer. If this completes the answer, updates the extensions and returns
 * true; the caller then closes reread->answer and sets it to -1.
 */
bool reread_read(struct reread *reread, struct extensions *extensions);

void reread_end(struct reread *reread);

#endif /* NN_KIT_REREAD_H */
