/* SPDX-License-Identifier: MIT */
/*
 * Messages and parsing for the commands of the `nnaccel` tool.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool.h"

int tool_fail(const char *command, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "nnaccel %s: ", command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return TOOL_FAILED;
}

int tool_usage(const char *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "nnaccel %s: ", command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; see nnaccel %s --help\n", command);
	return TOOL_USAGE;
}

bool tool_number(const char *text, uint64_t low, uint64_t high, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && !*end && *number >= low && *number <= high;
}

const char *tool_device_type(uint32_t type)
{
	static const char *const names[] = {
		[NN_DEVICE_OTHER] = "other",
		[NN_DEVICE_CPU] = "CPU",
		[NN_DEVICE_GPU] = "GPU",
		[NN_DEVICE_ACCELERATOR] = "accelerator",
	};

	if (type < NN_DEVICE_OTHER || type > NN_DEVICE_ACCELERATOR)
		return "unknown";
	return names[type];
}

void tool_json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}
