/* SPDX-License-Identifier: MIT */
/*
 * The file that the option `report` writes for nnaccel explain. The report lists which nodes of a
 * model a plug-in claims. Tabs separate the fields of a line. A field that has no value is "-".
 *
 *   device NAME
 *   node PART OPERATOR NAME MULTIPLY-ADDS REASON
 *   part NUMBER BYTES-IN BYTES-OUT CONSTANT-BYTES
 */
#ifndef NN_CLIENTS_REPORT_H
#define NN_CLIENTS_REPORT_H

#include <stdint.h>
#include <stdio.h>

/*
 * Bytes that go into and out of a part in one run, and bytes of the part's constants on the device.
 */
struct report_part {
	uint64_t in, out, constants;
};

/* Truncates and opens the report; returns NULL on failure. */
FILE *report_open(const char *path, const char *device);

/*
 * Writes a node's line to the report. If the runtime computes the node, `part` is -1 and `why` is
 * the reason.
 */
void report_node(FILE *file, int part, const char *op, const char *name, uint64_t multiply_adds,
		 const char *why);
void report_part(FILE *file, int number, const struct report_part *part);

#endif /* NN_CLIENTS_REPORT_H */
