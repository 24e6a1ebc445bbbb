/* SPDX-License-Identifier: MIT */
/* nnaccel: the command-line tool, which runs the command that its first argument names. */
#include <stdio.h>
#include <string.h>

#include "tool.h"
#include "version.h"

static const struct {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "info", "shows devices, limits and prepared models", tool_info },
	{ "stat", "shows live counters for each client", tool_stat },
	{ "cache", "shows, checks and clears the compilation cache", tool_cache },
	{ "doctor", "finds what is wrong with the installation, and what to do", tool_doctor },
	{ "run", "runs a program with its models on the device", tool_run },
	{ "explain", "shows which operations of a model the device takes, and why not", tool_explain },
	{ "bench", "measures a model on the device and on the CPU of its runtime", tool_bench },
	{ "engine-test", "tests an engine, for its author", tool_engine_test },
	{ "cdi", "describes the devices for containers (CDI)", tool_cdi },
	{ "demo", "runs a trained network on images of digits, on the device", tool_demo },
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int help(FILE *to)
{
	fprintf(to, "usage: nnaccel COMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < NUM_COMMANDS; i++)
		fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\nnnaccel COMMAND --help lists the options of a command,\n"
		"nnaccel --version prints the version.\n"
		"Exit status: 0 success, 1 failure, 2 wrong usage.\n");
	return to == stdout ? TOOL_OK : TOOL_USAGE;
}

/* Returns the command's status, or TOOL_FAILED if standard output could not be written. */
static int finish(const char *command, int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return tool_fail(command, "the output could not be written");
}

int main(int argc, char **argv)
{
	char help_option[] = "--help", *help_of_command[] = { argv[0], NULL, help_option, NULL };

	if (argc < 2)
		return help(stderr);
	if (!strcmp(argv[1], "--version")) {
		puts("nnaccel " NNACCEL_VERSION);
		return finish("version", TOOL_OK);
	}
	if (!strcmp(argv[1], "help") && argc > 2) {
		help_of_command[1] = argv[2];
		argv = help_of_command;
		argc = 3;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return finish("help", help(stdout));
	for (size_t i = 0; i < NUM_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return finish(argv[1], commands[i].run(argc - 1, argv + 1));
	fprintf(stderr, "nnaccel: no command '%s'; see nnaccel --help\n", argv[1]);
	return TOOL_USAGE;
}
