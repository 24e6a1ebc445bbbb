/* SPDX-License-Identifier: MIT */
/*
 * Writes the file that lists the claimed nodes; see clients/report.h.
 */
#ifndef NN_TFLITE_REPORT_H
#define NN_TFLITE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/tflite/delegate.h"

/* A node of the execution plan. */
struct candidate {
	int index;
	const struct tfl_node *node;
	int32_t code;
	bool taken;
	bool can_be_deferred;	/* TensorFlow Lite's kernels can compute the node at run time */
	bool deferred;		/* whether the node's shapes are known only when the node runs */
	bool dequantises;		/* compilation dequantises the node's weights */
	uint64_t work;
	int part;			/* number of the node's part, for the report; or -1 */
	/*
	 * why TensorFlow Lite computes the node; NULL if the node is claimed, or if memory ran out
	 */
	char *why;
};

/* Returns whether a list, which may be NULL, has the number. */
bool list_has(const struct tfl_ints *list, int number);

/*
 * Writes the report on `count` nodes. The nodes of a model's other subgraphs follow the nodes of
 * its first graph. The two lists in `lists` contain the claimed nodes: lists[1] the deferred nodes,
 * and lists[0] all other claimed nodes.
 */
void report_graph(struct tfl_context *context, struct delegate *delegate, struct candidate *nodes,
		  int count, struct tfl_ints *const lists[2]);

#endif /* NN_TFLITE_REPORT_H */
