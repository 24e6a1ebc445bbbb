/* SPDX-License-Identifier: MIT */
/* Finds, in /proc, the files of the device that clients have open. */
#ifndef NN_TOOLS_CLIENTS_H
#define NN_TOOLS_CLIENTS_H

#include <stdbool.h>
#include <stdio.h>

#define CLIENT_NAME_SIZE 16

/*
 * Type of a function that gets one open file of a process; reading `fdinfo` starts at the file's
 * beginning.
 */
typedef void client_file_fn(void *arg, const char *pid, FILE *fdinfo);

/*
 * Calls `fn` for each open file of the device that this user may see; returns false if /proc is
 * missing.
 */
bool clients_each_file(client_file_fn *fn, void *arg);

/* Sets `name` to the name of a process, or to "" if the name cannot be read. */
void clients_read_name(const char *pid, char name[CLIENT_NAME_SIZE + 1]);

#endif /* NN_TOOLS_CLIENTS_H */
