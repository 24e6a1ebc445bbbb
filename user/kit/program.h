/* SPDX-License-Identifier: MIT */
/*
 * The programs that an engine's processes are.
 */
#ifndef NN_KIT_PROGRAM_H
#define NN_KIT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens `path`, or where that is NULL the program `name` beside this one, as in a build's folder,
 * or where `make install` puts it. Returns the O_PATH file, or -1 with errno.
 */
int program_open(const char *path, const char *name);

/*
 * Runs a program that program_open() opened with one argument, and reads what it writes into text,
 * which it ends with a NUL. False, and an empty text, where it fails or writes more.
 */
bool program_ask(int program, const char *argument, char *text, size_t size);

#endif /* NN_KIT_PROGRAM_H */
