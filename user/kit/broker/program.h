/* SPDX-License-Identifier: MIT */
/*
 * Programs of an engine's processes.
 */
#ifndef NN_KIT_PROGRAM_H
#define NN_KIT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens `path`. If that is NULL, opens the program `name` beside this one, as in a build's folder,
 * or where `make install` puts it. Returns the O_PATH file, or -1 with errno.
 */
int program_open(const char *path, const char *name);

/*
 * Runs a program from program_open() with one argument, and reads its output into text, with a NUL
 * at the end. Returns false, and an empty text, if it fails or writes more.
 */
bool program_ask(int program, const char *argument, char *text, size_t size);

#endif /* NN_KIT_PROGRAM_H */
