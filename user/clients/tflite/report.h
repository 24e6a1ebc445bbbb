/* SPDX-License-Identifier: MIT */
/*
 * The file that lists the claimed nodes: see clients/report.h.
 */
#ifndef NN_TFLITE_REPORT_H
#define NN_TFLITE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/tflite/delegate.h"

/* A node of the plan. */
struct candidate {
	int index;
	const struct tfl_node *node;
	int32_t code;
	bool taken;
	bool can_be_deferred;	/* TensorFlow Lite's kernels can compute the node at run time */
	bool deferred;		/* shapes are known only when it runs */
	bool dequantises;		/* compilation converts its weights to float32 */
	uint64_t work;
	int part;			/* for the report; -1: none */
	/* the reason to leave it; NULL: claimed, or out of memory */
	char *why;
};

/* Returns whether a list, which may be NULL, has the number. */
bool list_has(const struct tfl_ints *list, int number);

/* Writes the file of `count` nodes; those of the lists, one of them deferred ones, are claimed. */
void report_graph(struct tfl_context *context, const struct delegate *delegate, struct candidate *nodes,
		  int count, struct tfl_ints *const lists[2]);

#endif /* NN_TFLITE_REPORT_H */
