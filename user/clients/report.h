/* SPDX-License-Identifier: MIT */
/*
 * The file that the option `report` names: which nodes of a model a plug-in takes, for nnaccel explain.
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

/* A part's traffic of one run, and what stays on the device. */
struct report_part {
	uint64_t in, out, constants;
};

/* Empties the file. NULL: it cannot be opened. */
FILE *report_open(const char *path, const char *device);

/* `part` is -1, and `why` not NULL, if the node is left to the runtime. */
void report_node(FILE *file, int part, const char *op, const char *name, uint64_t multiply_adds,
		 const char *why);
void report_part(FILE *file, int number, const struct report_part *part);

#endif /* NN_CLIENTS_REPORT_H */
