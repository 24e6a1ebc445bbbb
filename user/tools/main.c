/* SPDX-License-Identifier: MIT */
/*
 * nnaccel: shows what an nnaccel device is and what it can do.
 */
#include <stdio.h>
#include <string.h>

#include "tool.h"
#include "version.h"

static const struct {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "info", "what the module, the device and its engine say of themselves", tool_info },
	{ "stat", "what each client of the device does, redrawn as it goes", tool_stat },
	{ "cache", "what the engine's compilation cache holds, and emptying it", tool_cache },
	{ "doctor", "what is wrong with the installation, and what to do", tool_doctor },
	{ "run", "runs a program, and its models on the device", tool_run },
	{ "explain", "which operations of a model the device takes, and why not", tool_explain },
	{ "bench", "measures a model on the device and on the CPU of its runtime", tool_bench },
	{ "engine-test", "what is wrong with an engine, for its author", tool_engine_test },
	{ "cdi", "the devices as containers are given them", tool_cdi },
	{ "demo", "runs a trained network on pictures of digits, on the device", tool_demo },
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int help(FILE *to)
{
	fprintf(to, "usage: nnaccel COMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < NUM_COMMANDS; i++)
		fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\nnnaccel COMMAND --help tells the options of a command;\n"
		"nnaccel --version tells the version.\n"
		"Exit status: 0 success, 1 failure, 2 wrong usage.\n");
	return to == stdout ? TOOL_OK : TOOL_USAGE;
}

/* Returns the status of the command, or that of a failure if standard output could not be written. */
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
