/* SPDX-License-Identifier: MIT */
/*
 * A graph of random operations.
 */
#ifndef NN_VECTORS_OPERATIONS_H
#define NN_VECTORS_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes a new graph from the seed of random_start(). */
void make_graph(void);

/*
 * Does the same as make_graph(), but only with allowed operations. Returns false if the graph has
 * no operation.
 */
bool make_graph_of(bool (*may_have)(int32_t code));

#endif /* NN_VECTORS_OPERATIONS_H */
