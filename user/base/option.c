/* SPDX-License-Identifier: MIT */
/*
 * Parses options by a table, and prints the table as help.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"

#define MAX_ROWS 64

/*
 * getopt_long() returns FIRST_ROW for the first row of the table, and the following numbers for the
 * following rows.
 */
#define FIRST_ROW 256

bool option_number(const char *text, uint64_t low, uint64_t high, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && !*end && *number >= low && *number <= high;
}

unsigned int option_list(const char *text, unsigned int low, unsigned int high, unsigned int *list,
			 unsigned int room)
{
	unsigned int count = 0;

	for (;; text++) {
		const size_t length = strcspn(text, ",");
		char number[16] = "";
		uint64_t value;

		if (count == room || length >= sizeof(number))
			return 0;
		memcpy(number, text, length);
		if (!option_number(number, low, high, &value))
			return 0;
		list[count++] = (unsigned int)value;
		text += length;
		if (!*text)
			return count;
	}
}

/* Stores an option's value in the caller's structure; returns false if the value is not allowed. */
static bool take(const struct option_row *row, const char *text, char *into,
		 char fault[OPTION_FAULT])
{
	uint64_t number;

	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_STOP:
		*(bool *)(into + row->offset) = true;
		return true;
	case OPTION_TEXT:
		*(const char **)(into + row->offset) = text;
		return text[0];
	case OPTION_UINT:
		if (!option_number(text, row->min, row->max, &number))
			return false;
		*(unsigned int *)(into + row->offset) = (unsigned int)number;
		return true;
	case OPTION_UINT64:
		if (!option_number(text, row->min, row->max, &number))
			return false;
		*(uint64_t *)(into + row->offset) = number * (row->unit ? row->unit : 1);
		return true;
	default:
		return row->take(into + row->offset, text, fault);
	}
}

/* Writes that an option is unknown, and lists all options if the list fits into `fault`. */
static void tell_options(const struct option_row *rows, const char *word, char fault[OPTION_FAULT])
{
	int length = snprintf(fault, OPTION_FAULT, "wrong option %.100s", word), used = length;

	for (const char *before = " (there are"; rows->kind != OPTION_END && used < OPTION_FAULT; rows++, before = ",")
		used += snprintf(fault + used, (size_t)(OPTION_FAULT - used), "%s --%s", before, rows->name);
	if (used < OPTION_FAULT - 1)
		strcpy(fault + used, ")");
	else
		fault[length] = '\0';
}

/*
 * Writes that an option is unknown or, if an abbreviation is ambiguous, the options that begin with
 * it.
 */
static void explain(const struct option_row *rows, const char *word, char fault[OPTION_FAULT])
{
	const struct option_row *const all = rows;
	const int length = (int)strcspn(word, "=");
	bool is_long = length > 2 && !strncmp(word, "--", 2);
	int candidates = 0, used;

	used = snprintf(fault, OPTION_FAULT, "%.*s is ambiguous:", length, word);
	for (; rows->kind != OPTION_END && is_long && used < OPTION_FAULT; rows++) {
		if (strncmp(rows->name, word + 2, (size_t)length - 2))
			continue;
		if (!rows->name[length - 2]) {
			snprintf(fault, OPTION_FAULT, "%.*s must not have a value", length, word);
			return;
		}
		candidates++;
		used += snprintf(fault + used, (size_t)(OPTION_FAULT - used), " --%s", rows->name);
	}
	if (candidates < 2)
		tell_options(all, word, fault);
}

/* Writes what is wrong with a value that take() rejected without writing a reason. */
static void tell_value(const struct option_row *row, const char *text, char fault[OPTION_FAULT])
{
	char most[32] = "";

	if (row->max < UINT64_MAX)
		snprintf(most, sizeof(most), " to %" PRIu64, row->max);
	if (row->kind == OPTION_UINT || row->kind == OPTION_UINT64)
		snprintf(fault, OPTION_FAULT, "--%s: '%.100s' is not a number from %" PRIu64 "%s",
			 row->name, text, row->min, most);
	else if (row->kind == OPTION_TEXT)
		snprintf(fault, OPTION_FAULT, "--%s needs a value", row->name);
	else
		snprintf(fault, OPTION_FAULT, "--%s: wrong value '%.100s'", row->name, text);
}

int option_read(const struct option_row *rows, int argc, char **argv, void *into,
		char fault[OPTION_FAULT])
{
	struct option list[MAX_ROWS + 1] = { { 0 } };
	int found;
	size_t count = 0;

	for (; rows[count].kind != OPTION_END && count < MAX_ROWS; count++)
		list[count] = (struct option){
			rows[count].name, rows[count].value ? required_argument : no_argument,
			NULL, FIRST_ROW + (int)count,
		};
	opterr = 0;
	optind = 0;	/* makes getopt_long() begin again at the first argument */
	while ((found = getopt_long(argc, argv, ":h", list, NULL)) != -1) {
		const struct option_row *row;

		for (size_t i = 0; i < count && found == 'h'; i++)
			if (!strcmp(rows[i].name, "help"))
				found = FIRST_ROW + (int)i;

		if (found < FIRST_ROW) {
			if (found == ':')
				snprintf(fault, OPTION_FAULT, "%s needs a value", argv[optind - 1]);
			else
				explain(rows, found == 'h' ? "-h" : argv[optind - 1], fault);
			return -1;
		}
		row = &rows[found - FIRST_ROW];
		fault[0] = '\0';
		if (!take(row, optarg, into, fault)) {
			if (!fault[0])
				tell_value(row, optarg, fault);
			return -1;
		}
		if (row->kind == OPTION_STOP)
			return argc;
	}
	return optind;
}

int option_write(const struct option_row *rows, const void *from, char *text, size_t size,
		 char **words)
{
	int count = 0, length;

	for (; rows->kind != OPTION_END; rows++) {
		const void *at = (const char *)from + rows->offset;
		const char *value = rows->kind == OPTION_TEXT ? *(const char *const *)at : NULL;

		if (value)
			length = snprintf(text, size, "--%s=%s", rows->name, value);
		else if (rows->kind == OPTION_UINT || rows->kind == OPTION_UINT64)
			length = snprintf(text, size, "--%s=%" PRIu64, rows->name,
					  rows->kind == OPTION_UINT ? *(const unsigned int *)at :
								      *(const uint64_t *)at);
		else if (rows->kind == OPTION_FLAG && *(const bool *)at)
			length = snprintf(text, size, "--%s", rows->name);
		else
			continue;
		if ((size_t)length >= size)
			return -1;
		words[count++] = text;
		text += length + 1;
		size -= (size_t)length + 1;
	}
	return count;
}

static int width_of(const struct option_row *row)
{
	return (int)(strlen("--") + strlen(row->name) + (row->value ? 1 + strlen(row->value) : 0));
}

void option_help(const struct option_row *rows)
{
	int widest = 0;

	for (const struct option_row *row = rows; row->kind != OPTION_END; row++)
		if (row->help && width_of(row) > widest)
			widest = width_of(row);
	for (const struct option_row *row = rows; row->kind != OPTION_END; row++) {
		const char *line = row->help, *end;

		printf("%s--%s", row != rows && !row[-1].help ? ", " : "  ", row->name);
		if (row->value)
			printf(" %s", row->value);
		if (!line)
			continue;
		for (int gap = widest + 2 - width_of(row); *line; gap = widest + 4) {
			end = strchr(line, '\n');
			if (!end)
				end = line + strlen(line);
			printf("%*s%.*s\n", gap, "", (int)(end - line), line);
			line = end + (*end == '\n');
		}
		if (!row->help[0])
			putchar('\n');
	}
}

int option_printed(const char *program)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_SUCCESS;
	fprintf(stderr, "%s: the output could not be written\n", program);
	return EXIT_FAILURE;
}

int option_usage(const char *program, const char *text, int argc, char **argv)
{
	const bool is_help = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));

	fprintf(is_help ? stdout : stderr, "usage: %s%s\n", program, text);
	return is_help ? option_printed(program) : EXIT_USAGE;
}

int option_by_hand(const char *program, int argc, char **argv)
{
	return option_usage(program, "\nAn engine starts this program for itself. Do not start it by hand; "
			    "start the engine, such as nnacceld.", argc, argv);
}
