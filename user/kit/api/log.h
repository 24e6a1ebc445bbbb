/* SPDX-License-Identifier: MIT */
/*
 * Log lines. The broker writes its own lines to stderr. It relays the lines that workers write to
 * their pipes, limits their number, and removes control characters.
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

/* Sets the level; less severe lines are dropped (default LOG_INFO). */
void log_set_level(enum log_level level);

/* Sets the name with which lines begin (default "nnacceld"). The string must stay valid. */
void log_set_name(const char *name);

/*
 * Passes lines, without name and newline, to a function instead of standard error. The function is
 * called on any thread. `data` belongs to the caller.
 */
void log_set_sink(void (*sink)(void *data, enum log_level level, const char *line), void *data);

/* From now on, writes lines with their level and without a name, for a broker that relays them. */
void log_to_relay(void);

/* Parses "error", "warning", "info" or "debug"; returns false for anything else. */
bool log_parse_level(const char *name, enum log_level *level);

/* Writes one line and adds the newline. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#define LOG_RELAY_LINE 640

/*
 * The reading end of a worker's log. The caller zeroes the structure and sets `fd` to a
 * non-blocking pipe.
 */
struct log_relay {
	int fd;
	size_t used;
	uint64_t window_start_ns;
	unsigned int window_lines;
	char line[LOG_RELAY_LINE];
};

/*
 * Reads what is in the pipe, at most its capacity, and logs each line with `name` before it.
 * Returns false at the end of the pipe.
 */
bool log_relay_read(struct log_relay *relay, const char *name, uint64_t now_ns);

#endif /* NN_KIT_LOG_H */
