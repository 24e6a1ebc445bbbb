/* SPDX-License-Identifier: MIT */
/*
 * Operations that have a filter or move windows over images. Each function adds an operation that
 * suits the graph. If no operation suits the graph, the function returns false, and unused operands
 * may remain in the graph.
 */
#ifndef NN_VECTORS_WINDOWS_H
#define NN_VECTORS_WINDOWS_H

#include <stdbool.h>

bool add_conv(void);
bool add_grouped(void);

/* Adds TRANSPOSE_CONV_2D with explicit padding, or with the shape of the output as an input. */
bool add_transposed(void);

bool add_depthwise(void);
bool add_fully_connected(void);

/* add_pool() adds a pooling operation of any kind, and add_max_pool() adds MAX_POOL_2D. */
bool add_pool(void);
bool add_max_pool(void);

#endif /* NN_VECTORS_WINDOWS_H */
