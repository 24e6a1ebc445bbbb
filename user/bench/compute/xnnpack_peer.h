/* SPDX-License-Identifier: MIT */
/*
 * What the files that call XNNPACK share: a graph of one input and one output.
 */
#ifndef NN_BENCH_XNNPACK_PEER_H
#define NN_BENCH_XNNPACK_PEER_H

#include <xnnpack.h>

#include "subject.h"

/* External ids of the graph's input and output. */
enum { PEER_IN, PEER_OUT };

/* Ends the program where XNNPACK did not do what it was asked. */
void xnn_must(enum xnn_status status, const char *what);

xnn_subgraph_t peer_begin(void);

/* A runtime of the graph, which it frees, with memory for its input and output. */
struct subject peer_end(xnn_subgraph_t g, uint32_t threads, size_t in_bytes, size_t out_bytes,
			enum net_type type);

#endif /* NN_BENCH_XNNPACK_PEER_H */
