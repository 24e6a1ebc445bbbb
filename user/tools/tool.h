/* SPDX-License-Identifier: MIT */
/* Functions that all commands of the `nnaccel` tool use. */
#ifndef NN_TOOLS_TOOL_H
#define NN_TOOLS_TOOL_H

#include <limits.h>
#include <stdint.h>

#include <nnaccel/nnaccel.h>

#include "base/option.h"

enum {
	TOOL_OK = 0,
	TOOL_FAILED = 1,
	TOOL_USAGE = EXIT_USAGE,
};

/* The description of a command, from which its --help and its parser of options are made. */
struct tool_command {
	const char *name;
	const char *about;		/* text that --help prints before the options */
	const char *more;		/* text that --help prints after the options, or NULL */
	const struct option_row *options;
	size_t help;			/* offset of the member of *into that --help sets to true */
	bool has_action;		/* true if the command accepts an argument */
};

/* Result of tool_options() if the command must run; all other results are exit statuses. */
#define TOOL_GO_ON (-1)

/* The commands: argv[0] is the command's name. Each command returns an exit status. */
int tool_info(int argc, char **argv);
int tool_demo(int argc, char **argv);
int tool_demo_camera(int argc, char **argv);
int tool_stat(int argc, char **argv);
int tool_cache(int argc, char **argv);
int tool_cdi(int argc, char **argv);
int tool_doctor(int argc, char **argv);
int tool_run(int argc, char **argv);
int tool_explain(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_engine_test(int argc, char **argv);

/* Prints to standard error why a command failed; returns TOOL_FAILED. */
int tool_fail(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports a wrong option or argument, refers the user to --help, and returns TOOL_USAGE. */
int tool_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads a command's options into *into, and sets *action to the command's argument or to NULL. The
 * pointer `action` may be NULL if the command takes no argument. Returns TOOL_GO_ON or an exit
 * status.
 */
int tool_options(const struct tool_command *command, int argc, char **argv, void *into,
		 const char **action);

/* Prints a JSON string; bytes that are not UTF-8 become U+FFFD. */
void tool_json_string(const char *text);

/*
 * Makes untrusted text safe for a terminal. Bytes that are not UTF-8, and characters that control
 * the terminal or the direction of writing, become '?'.
 */
void tool_make_plain(char *text);

/* The name of the CPU device, which always exists. */
#define TOOL_CPU "nnapi-reference"

/*
 * Returns the name of the NNAPI device `wanted` or, if `wanted` is NULL, of the first device that
 * is not the CPU. If the device does not exist, returns NULL, and writes the names of existing
 * devices to `known`.
 */
const char *tool_find_device(const char *wanted, char *known, size_t size);

/*
 * Finds the folder of a plug-in for inference runtimes: the folder of libneuralnetworks.so (as in a
 * build folder), or else the installation's folder. If neither of the two folders has the plug-in,
 * returns false, and sets `folder` to the installation's folder.
 */
bool tool_plugins(const char *plugin, char folder[PATH_MAX]);

const char *tool_device_type(uint32_t type);

#endif /* NN_TOOLS_TOOL_H */
