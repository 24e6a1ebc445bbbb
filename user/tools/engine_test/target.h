/* SPDX-License-Identifier: MIT */
/*
 * The engine under test: a device of the module, or a program that this process starts as its own
 * engine.
 */
#ifndef NN_TOOLS_ENGINE_TEST_TARGET_H
#define NN_TOOLS_ENGINE_TEST_TARGET_H

#include <sys/types.h>

#include <nnaccel/nnaccel.h>

struct target {
	const char *path;		/* path of the device, or of the program's socket */
	char *const *program;		/* argv of the engine's program, or NULL */
	/* Time limit of a call in seconds (0: no limit); a longer call counts as hanging. */
	unsigned int limit_s;
	char folder[64], socket[96];
	/* Process of the engine's program, which leads a process group; 0 without a program. */
	pid_t pid;
	/* NULL if the device is not open, as after the engine's death */
	struct nna_device *device;
};

/*
 * Starts the engine's program, if there is one, and opens the device. On failure, returns false and
 * writes the reason to err.
 */
bool target_start(struct target *t, struct nn_error *err);
void target_stop(struct target *t);

/* Kills the engine's program, and all processes that the program started. */
void target_kill(struct target *t);

/*
 * Restarts the engine's program after its death; returns whether the engine then serves a client.
 */
bool target_recover(struct target *t);

/*
 * Limits the time of calls until target_unguard(), which returns whether the calls exceeded the
 * limit. At the time limit, the engine's program is killed, so that the calls return. If this
 * process did not start the engine, this process ends with a message at the time limit.
 */
void target_guard(struct target *t, const char *what);
/*
 * Limits the time of a series of calls until target_unguard() to ten times the limit of one call.
 */
void target_guard_many(struct target *t, const char *what);
bool target_unguard(struct target *t);

/*
 * Returns the memory, files and threads of the engine program's processes; 0 if /proc cannot be
 * read.
 */
struct usage {
	uint64_t bytes;			/* size of the memory in bytes */
	uint32_t files, threads;
};
struct usage target_usage(const struct target *t);

#endif /* NN_TOOLS_ENGINE_TEST_TARGET_H */
