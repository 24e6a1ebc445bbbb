/* SPDX-License-Identifier: MIT */
/* The options of a command as one table, which the parser and --help use. */
#ifndef NN_BASE_OPTION_H
#define NN_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit status of all commands for wrong usage. */
#define EXIT_USAGE 2

#define OPTION_FAULT 256

enum option_kind {
	OPTION_END,
	OPTION_FLAG,		/* a flag: its bool becomes true */
	OPTION_STOP,	/* a flag that ends the reading of arguments: --help */
	OPTION_TEXT,		/* a text that is not empty: const char * */
	OPTION_UINT,		/* a number in [min, max]: unsigned int */
	OPTION_UINT64,		/* a number times `unit` (0: 1): uint64_t */
	OPTION_CALL,		/* a value that `take` converts */
};

/*
 * One option: a row of a table that OPTION_END ends. Its value is stored `offset` bytes into the
 * caller's structure. "-h" is the row "help".
 */
struct option_row {
	const char *name;	/* without "--" */
	const char *value;	/* name of the value in --help; NULL if the option has no value */
	/* Help text; '\n' separates its lines. It is NULL if the next row's text covers both. */
	const char *help;
	enum option_kind kind;
	size_t offset;
	uint64_t min, max, unit;
	/*
	 * Returns false if the value is wrong. `text` is NULL if the option has no value. The
	 * message is then the text that the function wrote into `fault`, or "wrong value".
	 */
	bool (*take)(void *into, const char *text, char fault[OPTION_FAULT]);
};

#define OPTION_AT(type, member) .offset = offsetof(type, member)

/* Makes a text of a macro's number, for `help`. */
#define OPTION_STRING_(text) #text
#define OPTION_STRING(macro) OPTION_STRING_(macro)

/*
 * Reads the options. Returns the index in `argv` of the first argument that is not an option, or -1
 * with a message in `fault`. Options and arguments may be mixed.
 */
int option_read(const struct option_row *rows, int argc, char **argv, void *into,
		char fault[OPTION_FAULT]);

/*
 * Writes values as words "--name=value" in `text`, from which option_read() reads the same values.
 * Rows of these kinds have a word: flags that are true, texts that are not NULL, and numbers
 * without a unit. Returns the number of words, or -1 if they need more than `size` bytes.
 */
int option_write(const struct option_row *rows, const void *from, char *text, size_t size,
		 char **words);

/* Prints the lines of --help. */
void option_help(const struct option_row *rows);

/*
 * Returns the exit status of a program whose help or version was printed. If standard output cannot be
 * written, prints a line on standard error.
 */
int option_printed(const char *program);

/*
 * Prints "usage: ", the program and `text`: on standard output if the first argument is --help or -h,
 * otherwise on standard error. Returns the exit status.
 */
int option_usage(const char *program, const char *text, int argc, char **argv);

/* Says as option_usage() does that only an engine starts this program. Returns the exit status. */
int option_by_hand(const char *program, int argc, char **argv);

/* Reads a whole number. Returns false if `text` is not a number in [low, high]. */
bool option_number(const char *text, uint64_t low, uint64_t high, uint64_t *number);

#endif /* NN_BASE_OPTION_H */
