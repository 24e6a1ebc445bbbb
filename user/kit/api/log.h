/* SPDX-License-Identifier: MIT */
/*
 * Log lines. The broker writes its own log lines to stderr. The broker relays the log lines that
 * workers write to pipes, limits the number of relayed lines, and removes control characters.
 */
#ifndef NN_KIT_LOG_H
#define NN_KIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_ERROR = 0,
	LOG_WARNING = 1,
	LOG_INFO = 2,
	LOG_DEBUG = 3,
};

/* Sets the log level; less severe lines are dropped (default LOG_INFO). */
void log_set_level(enum log_level level);

/*
 * Sets the name with which log lines begin (default "nnacceld"). The string `name` must stay valid
 * for the life of the process.
 */
void log_set_name(const char *name);

/*
 * Passes log lines, without name and newline, to the function `sink` instead of standard error. Any
 * thread may call `sink`. The caller owns `data`.
 */
void log_set_sink(void (*sink)(void *data, enum log_level level, const char *line), void *data);

/*
 * After log_to_relay(), a log line begins with its level instead of the name, so that the broker
 * can relay the line.
 */
void log_to_relay(void);

/* Parses the log level "error", "warning", "info" or "debug"; returns false for any other name. */
bool log_parse_level(const char *name, enum log_level *level);

/* Writes one log line and adds the newline. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#define LOG_RELAY_LINE 640

/*
 * The reading end of the pipe to which a worker writes its log. The caller zeroes the structure and
 * sets `fd` to a non-blocking pipe.
 */
struct log_relay {
	int fd;
	size_t used;
	uint64_t window_start_ns;
	unsigned int window_lines;
	char line[LOG_RELAY_LINE];
};

/*
 * Reads a worker's log from the pipe, at most the pipe's capacity, and logs each line after the
 * prefix `name`. Returns false at the end of file.
 */
bool log_relay_read(struct log_relay *relay, const char *name, uint64_t now_ns);

#endif /* NN_KIT_LOG_H */
