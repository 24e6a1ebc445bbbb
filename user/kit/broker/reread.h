/* SPDX-License-Identifier: MIT */
/*
 * Reacts to changes in the folder of plug-ins. A process of the broker's own examines it again,
 * however slow that is, and new workers get the valid plug-ins.
 */
#ifndef NN_KIT_REREAD_H
#define NN_KIT_REREAD_H

#include "kit/broker/extensions.h"

/* Longest answer: a line for each file. */
#define REREAD_MAX (NNA_ENGINE_MAX_PLUGINS * 256 + 16)

struct reread {
	/* Watches for changes, ready for reading after one; -1 without watches. */
	int changes;
	int groups;			/* the watch of the folder with the system's groups */
	int answer;	/* answer of a running examination, ready for poll(); otherwise -1 */
	pid_t pid;
	/* When to examine, once changes have settled; 0 if there is nothing to examine. */
	uint64_t at_ns;
	size_t size;
	char text[REREAD_MAX];
};

/* Watches the folder, if it exists. Earlier changes are not noticed. */
void reread_init(struct reread *reread, const struct extensions *extensions);

/* Notes changes. */
void reread_changed(struct reread *reread);

/*
 * Starts an examining process if it is time. Returns true if the caller must poll reread->answer.
 */
bool reread_start(struct reread *reread, const struct extensions *extensions,
		  const struct spawner *spawner);

/*
 * Reads a part of the answer. Returns true if the answer is complete and the extensions are
 * updated; the caller then closes reread->answer and sets it to -1.
 */
bool reread_read(struct reread *reread, struct extensions *extensions);

void reread_end(struct reread *reread);

#endif /* NN_KIT_REREAD_H */
