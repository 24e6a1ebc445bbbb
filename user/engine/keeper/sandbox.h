/* SPDX-License-Identifier: MIT */
/* The keeper's sandbox. The keeper enters the sandbox before it reads messages of workers. */
#ifndef NN_ENGINE_KEEPER_SANDBOX_H
#define NN_ENGINE_KEEPER_SANDBOX_H

#include <stdbool.h>

/*
 * Drops privileges, also for threads that are created later. By Landlock, drops access to all files
 * except files in the folder and files that are already open. On a kernel without Landlock, writes
 * a log line and keeps access to files. Returns false, with a log line, on failure.
 */
bool sandbox_keep_folder(const char *folder);

/*
 * Forbids all system calls that the keeper does not make, in all threads. Returns false, with a log
 * line, on failure.
 */
bool sandbox_filter_calls(void);

#endif /* NN_ENGINE_KEEPER_SANDBOX_H */
