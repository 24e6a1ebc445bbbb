/* SPDX-License-Identifier: MIT */
/* Finds the files of the device that clients have open, in /proc. */
#ifndef NN_TOOLS_CLIENTS_H
#define NN_TOOLS_CLIENTS_H

#include <stdbool.h>
#include <stdio.h>

#define CLIENT_NAME_SIZE 16

/* A function that is called for one file of a process, with the file's fdinfo at the beginning. */
typedef void client_file_fn(void *arg, const char *pid, FILE *fdinfo);

/* Calls `fn` for all files of the device that this user may see; returns false without /proc. */
bool clients_each_file(client_file_fn *fn, void *arg);

/* Returns the name of a process, or "". */
void clients_read_name(const char *pid, char name[CLIENT_NAME_SIZE + 1]);

#endif /* NN_TOOLS_CLIENTS_H */
