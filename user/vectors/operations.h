/* SPDX-License-Identifier: MIT */
/*
 * Makes graphs of random operations.
 */
#ifndef NN_VECTORS_OPERATIONS_H
#define NN_VECTORS_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes a new graph in `g` from the seed of random_start(). */
void make_graph(void);

/*
 * Makes a new graph of only those operations that may_have() allows. Returns false if the graph has
 * no operation.
 */
bool make_graph_of(bool (*may_have)(int32_t code));

#endif /* NN_VECTORS_OPERATIONS_H */
