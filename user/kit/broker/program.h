/* SPDX-License-Identifier: MIT */
/*
 * Opens and runs the programs of an engine's processes.
 */
#ifndef NN_KIT_PROGRAM_H
#define NN_KIT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens `path`. If `path` is NULL, opens the program `name` in the folder of the running program
 * or, if missing there, in the folder of `make install`. Returns an O_PATH descriptor, or -1 with
 * errno.
 */
int program_open(const char *path, const char *name);

/*
 * Runs a program from program_open() with one argument, and reads the program's output into `text`,
 * with a NUL at the end. If the program fails or writes too much, returns false and an empty text.
 */
bool program_ask(int program, const char *argument, char *text, size_t size);

#endif /* NN_KIT_PROGRAM_H */
