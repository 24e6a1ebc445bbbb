/* SPDX-License-Identifier: MIT */
/*
 * The common log of libnnaccel and of the NNAPI's libneuralnetworks. The log's lines go to stderr,
 * or to a function of the program.
 */
#ifndef NNACCEL_LOG_H
#define NNACCEL_LOG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Each log level includes the lines of all levels with lower numbers. */
enum nna_log_level {
	NNA_LOG_NONE = 0,
	NNA_LOG_NOTE = 1,	/* reason why a program computes on the CPU; logged once */
	NNA_LOG_ERROR = 2,	/* calls that fail; the default level */
	NNA_LOG_WARN = 3,	/* problems that the library works around */
	NNA_LOG_INFO = 4,	/* devices and plans */
};

/* Returns the name of a level, such as "error"; "none" for a number that is no level. */
const char *nna_log_level_name(enum nna_log_level level);

/*
 * Receives a line of the log without its newline. Several threads may call the program's log
 * function at a time.
 */
typedef void nna_log_fn(void *context, enum nna_log_level level, const char *line);

/*
 * Sends lines up to `level` to the function `fn`, or to stderr if `fn` is NULL. Before the first
 * call of nna_log_set(), NNACCEL_LOG sets the level ("none" to "info", default "error"). A wrong
 * value of NNACCEL_LOG is reported on stderr once. When nna_log_set() returns, other threads may
 * still run the previous function. The function `fn` must not call functions that log. A forked
 * child inherits its parent's log function.
 */
void nna_log_set(nna_log_fn *fn, void *context, enum nna_log_level level);

/*
 * Keeps errors of this thread out of the log, for a caller that tolerates a failure. After
 * nna_log_keep_error(), the calling thread's lines of NNA_LOG_ERROR go to `line`, truncated to
 * `size`; each new line replaces the previous line. If `line` is NULL, the thread's errors go to
 * the log again. A call of nna_log_keep_error() first empties `line`.
 */
void nna_log_keep_error(char *line, size_t size);

/* Writes a line, printf-like, if the log includes lines of `level`. */
void nna_log(enum nna_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_LOG_H */
