/* SPDX-License-Identifier: MIT */
/*
 * The system calls that a worker may make. Any other ends the process.
 */
#ifndef NN_ENGINE_FILTER_H
#define NN_ENGINE_FILTER_H

#include <stdbool.h>

/* Loads the filter into every thread of the process. */
bool filter_load(void);

#endif /* NN_ENGINE_FILTER_H */
