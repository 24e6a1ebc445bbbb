/* SPDX-License-Identifier: MIT */
/* Options of a command: one table describes them for the parser and for --help. */
#ifndef NN_BASE_OPTION_H
#define NN_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit status of a command with wrong options or arguments. */
#define EXIT_USAGE 2

#define OPTION_FAULT 256

enum option_kind {
	OPTION_END,
	OPTION_FLAG,		/* a flag, which sets a bool */
	OPTION_STOP,	/* a flag that ends the parsing: --help */
	OPTION_TEXT,		/* a text that is not empty: const char * */
	OPTION_UINT,		/* a number in [min, max]: unsigned int */
	OPTION_UINT64,		/* a number, multiplied by `unit` unless `unit` is 0: uint64_t */
	OPTION_CALL,		/* a value that take() converts */
};

/*
 * One option: a row of a table that OPTION_END ends. The parser stores the option's value at
 * `offset` of the caller's structure. The row "help" also defines the option "-h".
 */
struct option_row {
	const char *name;	/* without "--" */
	const char *value;	/* name of the value in --help; NULL if the option has no value */
	/*
	 * Help text, with lines separated by '\n'. The help text is NULL if the next row's help
	 * text describes this option, too.
	 */
	const char *help;
	enum option_kind kind;
	size_t offset;
	uint64_t min, max, unit;
	/*
	 * Converts the option's value; returns false if the value is not allowed. `into` is at `offset`
	 * of the caller's structure. `text` is NULL if the option has no value. The error message is the text that take() wrote into `fault`, or
	 * "wrong value" if take() wrote none.
	 */
	bool (*take)(void *into, const char *text, char fault[OPTION_FAULT]);
};

#define OPTION_AT(type, member) .offset = offsetof(type, member)

/* Expands to the value of a macro as a string, for the help text. */
#define OPTION_STRING_(text) #text
#define OPTION_STRING(macro) OPTION_STRING_(macro)

/*
 * Reads the options of a command line, where options and arguments may be mixed. Returns the index
 * in `argv` of the first argument that is not an option, or -1 with a message in `fault`.
 */
int option_read(const struct option_row *rows, int argc, char **argv, void *into,
		char fault[OPTION_FAULT]);

/*
 * Writes options as words "--name=value" into `text`, from which option_read() reads the same
 * values. The function writes a word for each flag that is true, each text that is not NULL, and
 * each number; numbers must not have a unit. Rows of other kinds get no word. Returns the number of
 * words, or -1 if the words need more than `size` bytes.
 */
int option_write(const struct option_row *rows, const void *from, char *text, size_t size,
		 char **words);

/* Prints the lines of --help for the table `rows`. */
void option_help(const struct option_row *rows);

/*
 * Returns the exit status of a program that has printed its help or version. If writing to standard
 * output failed, prints a line on standard error.
 */
int option_printed(const char *program);

/*
 * Prints a usage line with the program's name and `text`. The usage line goes to standard output if
 * the program's first argument is --help or -h, otherwise to standard error. Returns the program's
 * exit status.
 */
int option_usage(const char *program, const char *text, int argc, char **argv);

/*
 * Prints, like option_usage(), a line that says that only an engine starts this program. Returns
 * the program's exit status.
 */
int option_by_hand(const char *program, int argc, char **argv);

/* Reads a whole number. Returns false if `text` is not a number in [low, high]. */
bool option_number(const char *text, uint64_t low, uint64_t high, uint64_t *number);

/*
 * Reads whole numbers that commas separate into `list`. Returns their count, or 0 if `text` is not a
 * list of 1 to `room` numbers in [low, high].
 */
unsigned int option_list(const char *text, unsigned int low, unsigned int high, unsigned int *list,
			 unsigned int room);

#endif /* NN_BASE_OPTION_H */
