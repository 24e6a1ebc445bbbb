/* SPDX-License-Identifier: MIT */
/*
 * The keeper's sandbox, which it enters before it reads messages of workers.
 */
#ifndef NN_ENGINE_KEEPER_SANDBOX_H
#define NN_ENGINE_KEEPER_SANDBOX_H

#include <stdbool.h>

/*
 * Privileges, and by Landlock all files but those in the folder and those that are open. Counts
 * for threads that are made later. False, with a log line; where the kernel has no Landlock that
 * part is left out, with a log line.
 */
bool sandbox_keep_folder(const char *folder);

/* All system calls that the keeper does not make, in all threads. False, with a log line. */
bool sandbox_filter_calls(void);

#endif /* NN_ENGINE_KEEPER_SANDBOX_H */
