/* SPDX-License-Identifier: MIT */
/*
 * Operations whose constants lie in memory that cannot be reached.
 */
#ifndef NN_RUNTIME_REACHABLE_H
#define NN_RUNTIME_REACHABLE_H

#include "runtime/model.h"

/*
 * Denies, in supported[], the operations of the main subgraph that use a constant in a pool that is
 * out of reach, be it in a subgraph that they execute. OUT_OF_MEMORY.
 */
int graph_deny_unreachable(const struct graph *graph, const bool *unreachable, bool *supported,
			   struct nn_error *err);

#endif /* NN_RUNTIME_REACHABLE_H */
