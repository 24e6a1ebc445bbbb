/* SPDX-License-Identifier: MIT */
/*
 * The keeper's sandbox, which it enters before it reads messages of workers.
 */
#ifndef NN_ENGINE_KEEPER_SANDBOX_H
#define NN_ENGINE_KEEPER_SANDBOX_H

#include <stdbool.h>

/*
 * Drops privileges, and by Landlock the access to all files except the folder and files that are
 * open. It applies to later threads too. Returns false, with a log line, on failure. A kernel
 * without Landlock skips that part, with a log line.
 */
bool sandbox_keep_folder(const char *folder);

/*
 * Forbids all system calls that the keeper does not make, in all threads. Returns false, with a log
 * line, on failure.
 */
bool sandbox_filter_calls(void);

#endif /* NN_ENGINE_KEEPER_SANDBOX_H */
