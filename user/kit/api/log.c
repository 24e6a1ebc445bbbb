// SPDX-License-Identifier: MIT
/* Log lines. The broker writes its own log lines to stderr, and relays the log lines of workers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit/api/log.h"

/* Maximum number of lines that a worker may log in a time window, and the window's length. */
#define WINDOW_NS UINT64_C(10000000000)
#define WINDOW_LINES 50

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

static enum log_level threshold = LOG_INFO;
static bool relayed;
static const char *log_name = "nnacceld";
static void (*log_sink)(void *data, enum log_level level, const char *line);
static void *log_data;

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_set_name(const char *name)
{
	log_name = name;
}

void log_set_sink(void (*sink)(void *data, enum log_level level, const char *line), void *data)
{
	log_data = data;
	log_sink = sink;
}

/*
 * A process whose log lines the broker relays does not limit its lines, because the broker limits
 * the number of relayed lines.
 */
void log_to_relay(void)
{
	log_sink = NULL;
	relayed = true;
}

bool log_parse_level(const char *name, enum log_level *level)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
		if (!strcmp(name, level_names[i])) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[1024];
	size_t length;
	va_list args;

	if (level > threshold)
		return;
	if (log_sink)
		line[0] = '\0';
	else if (relayed)
		snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		snprintf(line, sizeof(line), "%.64s: %s", log_name,
			 level == LOG_ERROR ? "error: " : level == LOG_WARNING ? "warning: " : "");
	length = strlen(line);
	va_start(args, format);
	vsnprintf(line + length, sizeof(line) - 1 - length, format, args);
	va_end(args);
	if (log_sink) {
		log_sink(log_data, level, line);
		return;
	}
	length = strlen(line);
	line[length++] = '\n';
	/* Ignore errors of write(), because logging must not stop the program. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

/*
 * Removes the level from the beginning of a line, and returns the level. A log line without a level
 * comes from a library that aborts the process.
 */
static enum log_level take_level(const char **line)
{
	const char *s = *line;

	if (s[0] != '<' || s[1] < '0' || s[1] > '0' + LOG_DEBUG || s[2] != '>')
		return LOG_WARNING;
	*line += 3;
	return (enum log_level)(s[1] - '0');
}

static void relay_line(struct log_relay *relay, const char *name, uint64_t now_ns)
{
	const char *line = relay->line;
	enum log_level level;

	relay->line[relay->used] = '\0';
	relay->used = 0;
	if (now_ns - relay->window_start_ns >= WINDOW_NS) {
		relay->window_start_ns = now_ns;
		relay->window_lines = 0;
	}
	if (++relay->window_lines > WINDOW_LINES) {
		if (relay->window_lines == WINDOW_LINES + 1)
			log_warning("%s logs too much: lines are dropped", name);
		return;
	}
	for (char *c = relay->line; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	level = take_level(&line);
	log_line(level, "%s: %s", name, line);
}

bool log_relay_read(struct log_relay *relay, const char *name, uint64_t now_ns)
{
	char chunk[4096];
	ssize_t n;

	/*
	 * Read at most the 64 KiB that a pipe holds, because reading more would delay other
	 * workers' lines.
	 */
	for (int round = 0; round < 16; round++) {
		n = read(relay->fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++) {
			if (chunk[i] != '\n')
				relay->line[relay->used++] = chunk[i] ? chunk[i] : '?';
			if (chunk[i] == '\n' || relay->used == sizeof(relay->line) - 1)
				relay_line(relay, name, now_ns);
		}
		if (round == 15)
			return true;
	}
	if (relay->used)
		relay_line(relay, name, now_ns);
	return false;
}
