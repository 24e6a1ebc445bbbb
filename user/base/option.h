/* SPDX-License-Identifier: MIT */
/* The options of a command in one table, from which both the parser and --help work. */
#ifndef NN_BASE_OPTION_H
#define NN_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit status of every command that is used wrongly. */
#define EXIT_USAGE 2

#define OPTION_FAULT 256

enum option_kind {
	OPTION_END,
	OPTION_FLAG,		/* a flag: its bool becomes true */
	OPTION_STOP,	/* a flag after which no further arguments are read: --help */
	OPTION_TEXT,		/* a text that is not empty: const char * */
	OPTION_UINT,		/* a number in [min, max]: unsigned int */
	OPTION_UINT64,		/* a number, multiplied by `unit` unless that is 0: uint64_t */
	OPTION_CALL,		/* a value that `take` converts */
};

/*
 * One option: a row of a table that OPTION_END ends. The option's value is stored at `offset` of
 * the caller's structure. The row "help" also stands for "-h".
 */
struct option_row {
	const char *name;	/* without "--" */
	const char *value;	/* name of the value in --help; NULL if the option has no value */
	/*
	 * Help text, with lines separated by '\n'. It is NULL if the text of the next row describes
	 * this option too.
	 */
	const char *help;
	enum option_kind kind;
	size_t offset;
	uint64_t min, max, unit;
	/*
	 * Returns false if the value is wrong. `text` is NULL if the option has no value. The error
	 * message is the text that the function wrote into `fault`, or "wrong value" if it wrote
	 * none.
	 */
	bool (*take)(void *into, const char *text, char fault[OPTION_FAULT]);
};

#define OPTION_AT(type, member) .offset = offsetof(type, member)

/* Makes a string of the number that a macro stands for, for `help`. */
#define OPTION_STRING_(text) #text
#define OPTION_STRING(macro) OPTION_STRING_(macro)

/*
 * Reads the options. Returns the index in `argv` of the first argument that is not an option, or -1
 * with a message in `fault`. Options and arguments may be mixed.
 */
int option_read(const struct option_row *rows, int argc, char **argv, void *into,
		char fault[OPTION_FAULT]);

/*
 * Writes options as words "--name=value" into `text`. option_read() reads the same values from
 * these words. Only flags that are true, texts that are not NULL, and numbers without a unit are
 * written. Returns the number of words, or -1 if they need more than `size` bytes.
 */
int option_write(const struct option_row *rows, const void *from, char *text, size_t size,
		 char **words);

/* Prints the lines of --help. */
void option_help(const struct option_row *rows);

/*
 * Returns the exit status of a program that has printed its help or version. If writing to standard
 * output failed, prints a line on standard error.
 */
int option_printed(const char *program);

/*
 * Prints "usage: ", the program and `text`: on standard output if the first argument is --help or -h,
 * otherwise on standard error. Returns the exit status.
 */
int option_usage(const char *program, const char *text, int argc, char **argv);

/*
 * Prints, as option_usage() does, that only an engine starts this program. Returns the exit status.
 */
int option_by_hand(const char *program, int argc, char **argv);

/* Reads a whole number. Returns false if `text` is not a number in [low, high]. */
bool option_number(const char *text, uint64_t low, uint64_t high, uint64_t *number);

#endif /* NN_BASE_OPTION_H */
