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
	bool dequantises;		/* compilation converts its weights to float32 */
	uint64_t work;
	/* the reason to leave the node; NULL if it is claimed, or if memory ran out */
	char *why;
};

/* Writes the file of `count` nodes; those of the list are claimed. */
void report_graph(struct tfl_context *context, const struct delegate *delegate, const struct candidate *nodes,
		  int count, const struct tfl_ints *taken);

#endif /* NN_TFLITE_REPORT_H */
