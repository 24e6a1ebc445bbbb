/* SPDX-License-Identifier: MIT */
/*
 * The library that `nnaccel run` loads into a program: the library's settings and messages, and
 * access to the functions that the library replaces.
 */
#ifndef NN_RUN_H
#define NN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_EXPORT __attribute__((visibility("default")))

/* The tool `nnaccel run` sets the following variables in the environment. */
#define RUN_DEVICE "NNACCEL_RUN_DEVICE"	/* name of the device; if unset, the library does nothing */
/* if set, a model that cannot use the device fails to load */
#define RUN_REQUIRE "NNACCEL_RUN_REQUIRE"
/*
 * if set, prints why models do not run on the device and, at the program's end, the numbers of runs
 */
#define RUN_REPORT "NNACCEL_RUN_REPORT"
#define RUN_STATE "NNACCEL_RUN_STATE"		/* the tool's file for messages: /proc/PID/fd/N */

/* The device's name. If the device's name is NULL, the library does nothing. */
const char *run_device(void);

/* Returns whether the environment has the variable `name`. */
bool run_set(const char *name);

/* Prints "nnaccel run: ..." to standard error, and records that a message was printed. */
void run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Records that a plug-in runs a model, so that no message is needed at the program's end. The
 * plug-in itself reports how much of the model it runs.
 */
void run_reached(void);

/*
 * Finds the path of a plug-in in the directory of this library; returns false if the path is too
 * long.
 */
bool run_plugin(const char *name, char *path, size_t size);

const char *run_base_name(const char *path);

/*
 * Returns the original function `name`, which the caller would call if this library were not
 * loaded. The search for the original function covers the caller's file and its libraries, then the
 * program, then functions that dlsym() found earlier. NULL: not found.
 */
void *run_real(const void *caller, const char *name);

/* Stores a text under the address of a runtime's object. Returns false if memory runs out. */
bool run_note(const void *object, const char *text);
void run_forget(const void *object);
/* Reads the text that run_note() stored for an object; returns false if the object has no text. */
bool run_noted(const void *object, char *text, size_t size);

/* If RUN_REPORT is set, begins to count the runs of a session or interpreter. */
void run_count_from(const void *object, const char *runtime, const char *model);
/* Counts a run that began at time `begin` of clock_ns(). */
void run_count(const void *object, uint64_t begin);

#endif /* NN_RUN_H */
