/* SPDX-License-Identifier: MIT */
/*
 * The system calls that a worker may make. Any other ends the process.
 */
#ifndef NN_KIT_FILTER_H
#define NN_KIT_FILTER_H

#include <stdbool.h>

/* Loads the filter into every thread of the process. */
bool filter_load(void);

/*
 * The same for a process that is yet to load shared objects: it may open files for
 * reading, execute what they hold, and call filter_load() afterwards.
 */
bool filter_load_for_plugins(void);

#endif /* NN_KIT_FILTER_H */
