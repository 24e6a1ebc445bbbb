/* SPDX-License-Identifier: MIT */
/*
 * Log lines: those of the broker on stderr, and those that it relays from its
 * workers' pipes, bounded and made harmless.
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

/* Lines above this level are not written; LOG_INFO until told. */
void log_set_level(enum log_level level);

/* The name that lines begin with; "nnacceld" until told. It stays the caller's. */
void log_set_name(const char *name);

/*
 * From now on lines go there instead of standard error, without name and end; from any thread.
 * `data` stays the caller's.
 */
void log_set_sink(void (*sink)(void *data, enum log_level level, const char *line), void *data);

/* From now on lines carry their level and no name: they go to a broker's relay. */
void log_to_relay(void);

/* "error", "warning", "info" or "debug"; false for anything else. */
bool log_parse_level(const char *name, enum log_level *level);

/* Writes one line; an end of line is added. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#define LOG_RELAY_LINE 640

/* The reading end of a worker's log. Zeroed but for fd, a non-blocking pipe. */
struct log_relay {
	int fd;
	size_t used;
	uint64_t window_start_ns;
	unsigned int window_lines;
	char line[LOG_RELAY_LINE];
};

/*
 * Reads what is there, at most a pipe's worth, and writes each line behind
 * `name`. Returns false at the end of the pipe.
 */
bool log_relay_read(struct log_relay *relay, const char *name, uint64_t now_ns);

#endif /* NN_KIT_LOG_H */
