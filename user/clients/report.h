/* SPDX-License-Identifier: MIT */
/*
 * The file of the option `report`: the nodes of a model that a plug-in claims, for nnaccel explain.
 * Tabs separate the fields of a line. A field that has no value is "-".
 *
 *   device NAME
 *   node PART OPERATOR NAME MULTIPLY-ADDS REASON
 *   part NUMBER BYTES-IN BYTES-OUT CONSTANT-BYTES
 */
#ifndef NN_CLIENTS_REPORT_H
#define NN_CLIENTS_REPORT_H

#include <stdint.h>
#include <stdio.h>

/* A part's traffic in one run, and its constants on the device. */
struct report_part {
	uint64_t in, out, constants;
};

/* Truncates and opens the file; returns NULL on failure. */
FILE *report_open(const char *path, const char *device);

/* Writes a node. If the node is left to the runtime, `part` is -1 and `why` not NULL. */
void report_node(FILE *file, int part, const char *op, const char *name, uint64_t multiply_adds,
		 const char *why);
void report_part(FILE *file, int number, const struct report_part *part);

#endif /* NN_CLIENTS_REPORT_H */
