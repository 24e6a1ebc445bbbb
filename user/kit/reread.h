/* SPDX-License-Identifier: MIT */
/*
 * Changes of the folder of plug-ins: a process of the broker's own looks at it anew, as
 * slowly as plug-ins may be, and what it finds sound is what new workers get.
 */
#ifndef NN_KIT_REREAD_H
#define NN_KIT_REREAD_H

#include "kit/extensions.h"

/* Longest answer: a line for each file. */
#define REREAD_MAX (NNA_ENGINE_MAX_PLUGINS * 256 + 16)

struct reread {
	int changes;			/* to be polled: something changed; -1: nobody looks */
	int groups;			/* the watch of the folder with the system's groups */
	int answer;			/* to be polled: while a process is at it; else -1 */
	pid_t pid;
	uint64_t at_ns;			/* when to look, once changes have settled; 0: never */
	size_t size;
	char text[REREAD_MAX];
};

/* Watches the folder, where it is one. What changed before is not noticed. */
void reread_init(struct reread *reread, const struct extensions *extensions);

/* Takes note of changes. */
void reread_changed(struct reread *reread);

/* Where it is time, starts a process that looks. True: then there is an answer to be polled. */
bool reread_start(struct reread *reread, const struct extensions *extensions,
		  const struct spawner *spawner);

/*
 * Reads of the answer. True: it was the last of it, and the extensions are those found; then
 * reread->answer is to be closed, and to be -1.
 */
bool reread_read(struct reread *reread, struct extensions *extensions);

void reread_end(struct reread *reread);

#endif /* NN_KIT_REREAD_H */
