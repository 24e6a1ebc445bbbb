/* SPDX-License-Identifier: MIT */
/*
 * Chooses the nodes of a graph that the device computes, and groups the chosen nodes in parts. No
 * path between two nodes of a part goes through a node outside of the part. A part's work must
 * outweigh the cost of its data transfers.
 */
#ifndef NN_ORT_PARTITION_H
#define NN_ORT_PARTITION_H

#include "clients/device.h"
#include "graph.h"
#include "options.h"

struct partitions {
	uint32_t count;
	int32_t *of;			/* part of each node; -1 if ONNX Runtime computes it */
	char **why;	/* why a node is not claimed; NULL if claimed, or if memory ran out */
	uint32_t node_count;
};

/* Partitions a graph; returns false if out of memory. */
bool partition(const struct graph *graph, const struct options *options,
	       const struct devices *devices, struct partitions *partitions);
void partitions_free(struct partitions *partitions);

/* Returns the multiply-adds of a node, in which an unknown dimension counts as 1. */
uint64_t multiply_adds(const struct graph *graph, const struct node *node);

/*
 * Lists the claimed nodes in a file (see clients/report.h); after a write error the file is
 * incomplete. Appends parts to a file that already has `others` parts, and numbers the new parts
 * from `others` on; with -1, begins a new file.
 */
void report_graph(const char *path, const struct graph *graph, const struct partitions *partitions,
		  const struct devices *devices, int others);

#endif
