/* SPDX-License-Identifier: MIT */
/*
 * The file that tells which nodes are taken: see clients/report.h.
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
	bool dequantises;		/* its weights become float32 when it is compiled */
	uint64_t work;
	char *why;			/* it is left; NULL: it is taken, or there was no memory */
};

/* Writes the file of `count` nodes, of which those of the list are taken. */
void report_graph(struct tfl_context *context, const struct delegate *delegate, const struct candidate *nodes,
		  int count, const struct tfl_ints *taken);

#endif /* NN_TFLITE_REPORT_H */
