/* SPDX-License-Identifier: MIT */
/*
 * The command line of the examples.
 */
#ifndef NN_EXAMPLES_USAGE_H
#define NN_EXAMPLES_USAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ends the program if the first argument is --help or -h (exit status 0), or if there are more than
 * `most` arguments or another option (exit status 2).
 */
static inline void check_usage(int argc, char **argv, int most, const char *usage)
{
	const int is_help = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));

	if (!is_help && argc <= most + 1 && (argc == 1 || argv[1][0] != '-'))
		return;
	fprintf(is_help ? stdout : stderr, "usage: %s\n", usage);
	if (is_help && fflush(stdout)) {
		fputs("the usage could not be written\n", stderr);
		exit(1);
	}
	exit(is_help ? 0 : 2);
}

#endif /* NN_EXAMPLES_USAGE_H */
