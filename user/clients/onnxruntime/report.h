/* SPDX-License-Identifier: MIT */
/* The file that lists the claimed nodes: see clients/report.h. */
#ifndef NN_ORT_REPORT_H
#define NN_ORT_REPORT_H

#include "partition.h"

/* Writes the file; write errors leave it incomplete. */
void report_graph(const char *path, const struct graph *graph, const struct partitions *partitions,
		  const struct devices *devices);

#endif
