/* SPDX-License-Identifier: MIT */
/*
 * The log of libnnaccel and of the NNAPI's libneuralnetworks, which share it: lines on stderr, or
 * calls of a function of the program.
 */
#ifndef NNACCEL_LOG_H
#define NNACCEL_LOG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Each level includes the lines of the levels before it. */
enum nna_log_level {
	NNA_LOG_NONE = 0,
	NNA_LOG_NOTE = 1,	/* reason why a program computes on the CPU; logged once */
	NNA_LOG_ERROR = 2,	/* calls that fail; the default */
	NNA_LOG_WARN = 3,	/* missing or replaced parts */
	NNA_LOG_INFO = 4,	/* devices and plans */
};

/* Returns the name of a level, such as "error". Returns "none" for other numbers. */
const char *nna_log_level_name(enum nna_log_level level);

/* Receives a line without its newline. Any thread of the program calls it, several at a time. */
typedef void nna_log_fn(void *context, enum nna_log_level level, const char *line);

/*
 * Sends lines up to `level` to a function instead of stderr (NULL: to stderr again). Before the
 * first call, NNACCEL_LOG sets the level ("none" to "info", default "error"). A wrong value is
 * reported on stderr once. When this returns, other threads may still be in the previous function.
 * The function must not call functions that log. A forked child keeps its parent's function.
 */
void nna_log_set(nna_log_fn *fn, void *context, enum nna_log_level level);

/*
 * Keeps errors out of the log, for a caller that tolerates a failure. From now on the last line of
 * NNA_LOG_ERROR that calls of this thread cause goes to `line`, truncated to `size`. With NULL it
 * goes to the log again. Empties `line` first.
 */
void nna_log_keep_error(char *line, size_t size);

/* Writes a line, printf-like, if that level is wanted. */
void nna_log(enum nna_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_LOG_H */
