/* SPDX-License-Identifier: MIT */
/* The file that tells which nodes are taken: see clients/report.h. */
#ifndef NN_ORT_REPORT_H
#define NN_ORT_REPORT_H

#include "partition.h"

/* Writes the file; what cannot be written is missing there. */
void report_graph(const char *path, const struct graph *graph, const struct partitions *partitions,
		  const struct devices *devices);

#endif
