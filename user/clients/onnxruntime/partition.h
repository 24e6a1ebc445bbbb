/* SPDX-License-Identifier: MIT */
/*
 * Which nodes of a graph the device computes, and in which parts: nodes that it can, that no path
 * through another node parts, and that are worth the moving of data.
 */
#ifndef NN_ORT_PARTITION_H
#define NN_ORT_PARTITION_H

#include "clients/device.h"
#include "graph.h"
#include "options.h"

struct partitions {
	uint32_t count;
	int32_t *of;			/* of each node; -1: ONNX Runtime's */
	char **why;			/* why it is; NULL: it is taken, or there was no memory */
	uint32_t node_count;
};

/* Returns false where there is no memory. */
bool partition(const struct graph *graph, const struct options *options,
	       const struct devices *devices, struct partitions *partitions);
void partitions_free(struct partitions *partitions);

#endif
