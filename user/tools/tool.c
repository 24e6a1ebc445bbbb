/* SPDX-License-Identifier: MIT */
/*
 * Messages and parsing for the commands of the `nnaccel` tool.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <android/NeuralNetworks.h>

#include "tool.h"

int tool_fail(const char *command, const char *format, ...)
{
	char text[1024];
	va_list args;

	fflush(stdout);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The reason of a failure may contain text of a worker, which is not trusted. */
	tool_make_plain(text);
	fprintf(stderr, "nnaccel %s: %s\n", command, text);
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

int tool_options(const struct tool_command *command, int argc, char **argv, void *into,
		 const char **action)
{
	char fault[OPTION_FAULT];
	int first = option_read(command->options, argc, argv, into, fault);

	if (first < 0)
		return tool_usage(command->name, "%s", fault);
	if (*((const bool *)into + command->help)) {
		printf("usage: nnaccel %s\n", command->about);
		option_help(command->options);
		fputs(command->more ? command->more : "", stdout);
		return TOOL_OK;
	}
	if (argc - first > command->has_action)
		return tool_usage(command->name, "unexpected argument %s",
				  argv[first + command->has_action]);
	if (command->has_action)
		*action = argv[first];
	return TOOL_GO_ON;
}

const char *tool_find_device(const char *wanted, char *known, size_t size)
{
	const char *found = NULL;
	uint32_t count = 0;

	known[0] = '\0';
	ANeuralNetworks_getDeviceCount(&count);
	for (uint32_t i = 0; i < count && !found; i++) {
		ANeuralNetworksDevice *device;
		const char *name;
		int32_t type;

		if (ANeuralNetworks_getDevice(i, &device) || ANeuralNetworksDevice_getName(device, &name) ||
		    ANeuralNetworksDevice_getType(device, &type))
			continue;
		if (wanted ? !strcmp(wanted, name) : type != ANEURALNETWORKS_DEVICE_CPU)
			found = name;
		snprintf(known + strlen(known), size - strlen(known), "%s%s", *known ? ", " : "", name);
	}
	return found;
}

bool tool_plugins(const char *plugin, char folder[PATH_MAX])
{
	char path[PATH_MAX];
	Dl_info info;

	if (dladdr((const void *)ANeuralNetworks_getDeviceCount, &info) && realpath(info.dli_fname, folder)) {
		*strrchr(folder, '/') = '\0';
		if (snprintf(path, sizeof(path), "%s/%s", folder, plugin) < PATH_MAX && !access(path, R_OK))
			return true;
	}
	strcpy(folder, NN_PLUGIN_DIR);
	return snprintf(path, sizeof(path), "%s/%s", folder, plugin) < PATH_MAX && !access(path, R_OK);
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

/*
 * Returns the first character of a text, and sets *length to the character's number of bytes.
 * Returns -1 if the bytes are invalid UTF-8, or encode a surrogate or a character beyond U+10FFFF,
 * or are overlong.
 */
static long decode_utf8(const char *text, unsigned int *length)
{
	const unsigned char *s = (const unsigned char *)text;
	static const long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	long code;

	*length = 1;
	if (s[0] < 0x80)
		return s[0];
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return -1;
	*length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	code = s[0] & (0x7f >> *length);
	for (unsigned int i = 1; i < *length; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			*length = 1;
			return -1;
		}
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code >= least[*length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff))
		return code;
	*length = 1;
	return -1;
}

void tool_json_string(const char *text)
{
	unsigned int length;
	long code;

	putchar('"');
	for (; *text; text += length) {
		code = decode_utf8(text, &length);
		if (code == '"' || code == '\\')
			printf("\\%c", (int)code);
		else if (code < 0)
			fputs("\\ufffd", stdout);
		else if (code < ' ' || code == 0x7f)
			printf("\\u%04lx", (unsigned long)code);
		else
			printf("%.*s", (int)length, text);
	}
	putchar('"');
}

/*
 * Returns whether a character is safe: no control character, no end of a line, and no mark of the
 * direction of writing.
 */
static bool is_plain(long code)
{
	return code >= ' ' && (code < 0x7f || code > 0x9f) && code != 0x61c &&
	       (code < 0x200e || code > 0x200f) && (code < 0x2028 || code > 0x202e) &&
	       (code < 0x2066 || code > 0x2069) && code != 0xfeff;
}

void tool_make_plain(char *text)
{
	unsigned int length;
	char *to = text;

	for (; *text; text += length) {
		if (is_plain(decode_utf8(text, &length))) {
			memmove(to, text, length);
			to += length;
		} else {
			*to++ = '?';
		}
	}
	*to = '\0';
}
