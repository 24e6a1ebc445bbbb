/* SPDX-License-Identifier: MIT */
/*
 * The file that lists the claimed nodes: see clients/report.h.
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
	bool deferred;		/* shapes are known only when it runs */
	bool dequantises;		/* compilation dequantises its weights */
	uint64_t work;
	int part;			/* number of its part, for the report; -1: none */
	/* why TensorFlow Lite computes it; NULL: claimed, or out of memory */
	char *why;
};

/* Returns whether a list, which may be NULL, has the number. */
bool list_has(const struct tfl_ints *list, int number);

/*
 * Writes the report on `count` nodes. The nodes in `lists` are claimed; lists[1] has the deferred
 * ones.
 */
void report_graph(struct tfl_context *context, const struct delegate *delegate, struct candidate *nodes,
		  int count, struct tfl_ints *const lists[2]);

#endif /* NN_TFLITE_REPORT_H */
