/* SPDX-License-Identifier: MIT */
/*
 * Starts and stops nnacceld for the tests. Most tests stop nnacceld and act as the engine; other
 * tests start nnacceld.
 */
#ifndef SELFTESTS_DAEMON_H
#define SELFTESTS_DAEMON_H

#include <stdbool.h>

/** daemon_stop() - Stops a running nnacceld; returns false if it still runs. */
bool daemon_stop(void);

/** daemon_start() - Starts nnacceld from PATH as the engine node's owner; @option may be NULL. */
bool daemon_start(const char *option);

#endif
