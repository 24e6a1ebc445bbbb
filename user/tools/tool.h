/* SPDX-License-Identifier: MIT */
/*
 * What the commands of the `nnaccel` tool share.
 */
#ifndef NN_TOOLS_TOOL_H
#define NN_TOOLS_TOOL_H

#include <stdint.h>

#include <nnaccel/nnaccel.h>

/* Exit statuses. */
enum {
	TOOL_OK = 0,
	TOOL_FAILED = 1,
	TOOL_USAGE = 2,
};

/* The commands: argv[0] is the command's name. Each returns an exit status. */
int tool_info(int argc, char **argv);
int tool_demo(int argc, char **argv);
int tool_demo_camera(int argc, char **argv);
int tool_stat(int argc, char **argv);
int tool_cache(int argc, char **argv);
int tool_cdi(int argc, char **argv);
int tool_doctor(int argc, char **argv);

/* Tells on the standard error what failed; returns TOOL_FAILED. */
int tool_fail(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells of a wrong option or argument and of --help; returns TOOL_USAGE. */
int tool_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads a whole number in [low, high]; false where `text` is none. */
bool tool_number(const char *text, uint64_t low, uint64_t high, uint64_t *number);

/* Prints a JSON string; what is no UTF-8 in it becomes U+FFFD. */
void tool_json_string(const char *text);

/*
 * Makes text that somebody else chose fit for a terminal: bytes that are no UTF-8, characters
 * that control the terminal and those that change the direction of writing become '?'.
 */
void tool_make_plain(char *text);

/* "CPU" for NN_DEVICE_CPU, and so on. */
const char *tool_device_type(uint32_t type);

#endif /* NN_TOOLS_TOOL_H */
