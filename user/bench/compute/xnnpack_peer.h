/* SPDX-License-Identifier: MIT */
/* Common code of the files that call XNNPACK: a graph with one input. */
#ifndef NN_BENCH_XNNPACK_PEER_H
#define NN_BENCH_XNNPACK_PEER_H

#include <xnnpack.h>

#include "subject.h"

/*
 * The external id of the network's input. The ids of the outputs follow the input's id, in the
 * network's order.
 */
#define PEER_IN 0

/* Ends the program if a call of XNNPACK failed. */
void xnn_must(enum xnn_status status, const char *what);

xnn_subgraph_t peer_begin(uint32_t num_outputs);

/*
 * Makes a runtime of the graph, with memory for the network's input and outputs; frees the graph.
 */
struct subject peer_end(xnn_subgraph_t g, uint32_t threads, const struct net *net);

#endif /* NN_BENCH_XNNPACK_PEER_H */
