/* SPDX-License-Identifier: MIT */
/* The log: the function or stream that receives lines, and the level. */
#define _GNU_SOURCE
#include <nnaccel/log.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/engine_model.h>

static const char *const names[] = {
	[NNA_LOG_NONE] = "none",
	[NNA_LOG_NOTE] = "note",
	[NNA_LOG_ERROR] = "error",
	[NNA_LOG_WARN] = "warn",
	[NNA_LOG_INFO] = "info",
};

#define NUM_LEVELS (sizeof(names) / sizeof(names[0]))

static void write_to_stderr(void *context, enum nna_log_level level, const char *line)
{
	(void)context;
	/* Write a line with one call, so that lines of several threads do not mix. */
	fprintf(stderr, "nnaccel: %s: %s\n", nna_log_level_name(level), line);
}

/*
 * The function that gets the lines of the log. A struct sink is never freed, because another thread
 * may still use a sink that was replaced.
 */
struct sink {
	nna_log_fn *fn;
	void *context;
	enum nna_log_level level;
	struct sink *older;
};

static struct sink first = { .fn = write_to_stderr, .level = NNA_LOG_ERROR };
static _Atomic(struct sink *) current;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose_level(void)
{
	const char *name = secure_getenv("NNACCEL_LOG");
	size_t i = 0;

	while (name && i < NUM_LEVELS && strcmp(name, names[i]))
		i++;
	if (name && i < NUM_LEVELS)
		first.level = (enum nna_log_level)i;
	else if (name && name[0])
		fprintf(stderr, "nnaccel: error: NNACCEL_LOG: no level is named \"%.32s\" (none, note, "
			"error, warn, info): %s is used\n", name, names[first.level]);
	atomic_store(&current, &first);
}

/* A buffer that receives the errors of this thread's calls in place of the log. */
static _Thread_local struct {
	char *line;			/* buffer for errors; NULL if errors go to the log */
	size_t size;
} kept;

static struct sink *get_sink(void)
{
	pthread_once(&once, choose_level);
	return atomic_load_explicit(&current, memory_order_acquire);
}

const char *nna_log_level_name(enum nna_log_level level)
{
	return (size_t)level < NUM_LEVELS ? names[level] : names[NNA_LOG_NONE];
}

void nna_log_set(nna_log_fn *fn, void *context, enum nna_log_level level)
{
	struct sink *sink = malloc(sizeof(*sink)), *before = get_sink();

	if (!sink)
		return;
	*sink = (struct sink){ fn ? fn : write_to_stderr, context, level, before };
	while (!atomic_compare_exchange_weak(&current, &sink->older, sink))
		;
}

void nna_log_keep_error(char *line, size_t size)
{
	if (line && size)
		line[0] = '\0';
	kept.line = line;
	kept.size = size;
}

void nna_log(enum nna_log_level level, const char *format, ...)
{
	const struct sink *sink = get_sink();
	char line[NN_MESSAGE_SIZE + 128];
	va_list args;

	bool is_kept = level == NNA_LOG_ERROR && kept.line;

	if (level == NNA_LOG_NONE || (level > sink->level && !is_kept))
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (is_kept)
		snprintf(kept.line, kept.size, "%s", line);
	else
		sink->fn(sink->context, level, line);
}
