/* SPDX-License-Identifier: MIT */
/*
 * nnacceld as a process of the tests: most take its place and stop it, one
 * starts it.
 */
#ifndef SELFTESTS_DAEMON_H
#define SELFTESTS_DAEMON_H

#include <stdbool.h>

/** daemon_stop() - Stops an nnacceld that runs; false: one still does. */
bool daemon_stop(void);

/** daemon_start() - Starts the nnacceld of PATH as the engine node's owner; @option may be NULL. */
bool daemon_start(const char *option);

#endif
