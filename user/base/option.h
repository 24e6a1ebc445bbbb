/* SPDX-License-Identifier: MIT */
/* The options of a command as one table, which the parser and --help use. */
#ifndef NN_BASE_OPTION_H
#define NN_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wrong usage: the exit status of all commands. */
#define EXIT_USAGE 2

#define OPTION_FAULT 256

enum option_kind {
	OPTION_END,
	OPTION_FLAG,		/* a bool, which becomes true */
	OPTION_STOP,	/* like OPTION_FLAG, and the following arguments are not read: --help */
	OPTION_TEXT,		/* a const char * that is not empty */
	OPTION_UINT,		/* an unsigned int in [min, max] */
	OPTION_UINT64,		/* a uint64_t, times `unit` (0: 1) */
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
	 * message is what it writes into `fault`, or "wrong value".
	 */
	bool (*take)(void *into, const char *text, char fault[OPTION_FAULT]);
};

#define OPTION_AT(type, member) .offset = offsetof(type, member)

/* A number of a macro as text, for `help`. */
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
 * Says that only an engine starts this program: on standard output for --help and -h, otherwise on standard
 * error. Returns the exit status.
 */
int option_by_hand(const char *program, int argc, char **argv);

/* Reads a whole number. Returns false if `text` is not one in [low, high]. */
bool option_number(const char *text, uint64_t low, uint64_t high, uint64_t *number);

#endif /* NN_BASE_OPTION_H */
