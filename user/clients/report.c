/* SPDX-License-Identifier: MIT */
#include "clients/report.h"

#include <inttypes.h>

FILE *report_open(const char *path, const char *device)
{
	FILE *file = fopen(path, "we");

	if (file)
		fprintf(file, "device\t%s\n", device);
	return file;
}

/*
 * Writes a field of a line; replaces tabs and line ends, because names in models may contain any
 * character.
 */
static void put(FILE *file, const char *text)
{
	fputc('\t', file);
	if (!text || !*text)
		fputc('-', file);
	for (; text && *text; text++)
		fputc(*text == '\t' || *text == '\n' ? ' ' : *text, file);
}

void report_node(FILE *file, int part, const char *op, const char *name, uint64_t multiply_adds,
		 const char *why)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", part);
	fputs("node", file);
	put(file, part < 0 ? NULL : number);
	put(file, op);
	put(file, name);
	fprintf(file, "\t%" PRIu64, multiply_adds);
	put(file, why);
	fputc('\n', file);
}

void report_part(FILE *file, int number, const struct report_part *part)
{
	fprintf(file, "part\t%d\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", number, part->in, part->out,
		part->constants);
}
