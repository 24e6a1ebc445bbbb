/* SPDX-License-Identifier: MIT */
/*
 * The common part of the soak: the clients, the counters that they share with the program that
 * watches them, and the samples that this program takes.
 */
#ifndef NN_TESTS_SOAK_SOAK_H
#define NN_TESTS_SOAK_SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum soak_kind {
	SOAK_SYNC, SOAK_MEASURED, SOAK_FENCED, SOAK_URING, SOAK_BURST, SOAK_SLEEPY_BURST,
	SOAK_BUFFERS, SOAK_CACHED, SOAK_EXTENSION, SOAK_FRAMES, SOAK_KINDS,
};

/* The state of a client, in shared memory. */
struct soak_client {
	atomic_ullong executions;
	atomic_uint models;		/* number of models whose executions all succeeded */
	atomic_uint refused;		/* number of failed calls that were allowed to fail */
	atomic_uint cached;		/* number of models that came from the cache */
	atomic_ullong longest_ns;	/* of any preparation or execution, even failed */
	char refusal[200];		/* the reason of the last allowed failure */
	char message[600];		/* reason of an unexpected end */
};

struct soak {
	atomic_bool stop;
	bool disturbed;	/* calls may fail: the engine is killed or lacks resources */
	/* One execution in this many kills its client; 0 for no kills. */
	unsigned int kill_one_in;
	char folder[64];		/* of cache files */
	struct soak_client clients[SOAK_KINDS];
};

extern const char *const soak_kinds[SOAK_KINDS];

/*
 * Runs this process as a client of kind `kind` until soak.stop is set, and then ends the process.
 */
_Noreturn void soak_client(struct soak *soak, enum soak_kind kind, uint64_t seed);

/*
 * Kills a process of the engine: "nnacceld", its keeper or a worker. Returns false if no such
 * process runs.
 */
bool soak_kill(const char *name);

/* ---- kills ---- */

struct kills_options {
	unsigned int spacing_ms;	/* time between two kills; 0 for no kills */
	/*
	 * This many keepers, workers, clients and brokers are killed, each; 0 for no fixed number.
	 */
	unsigned int wanted;
	const char *restart;		/* a command that returns when the engine is ready, or NULL */
};

void kills_begin(const struct kills_options *options);

/*
 * Kills those parts whose next kill is due. `clients` has the process id of each kind of client, or
 * 0. Returns false if the engine no longer serves.
 */
bool kills_step(const pid_t *clients, unsigned long long executions);

/*
 * Handles the end of a child of the program. Returns false if the child was the start command and
 * the engine did not start.
 */
bool kills_ended(pid_t pid, int status, unsigned long long executions);

/*
 * Return whether the start command is running, and whether the wanted number of kills is reached.
 */
bool kills_starting(void);
bool kills_done(void);

/* Prints what died. */
void kills_tell(void);

/* ---- samples ---- */

#define SOAK_VALUES 12

struct soak_sample {
	long long values[SOAK_VALUES];	/* -1 if this machine does not report it */
};

/*
 * A sampled value. Between two samples at rest it may grow by `percent`, or by `slack` if that is
 * more.
 */
struct soak_value {
	const char *name;
	unsigned int percent;
	long long slack;
};

extern const struct soak_value soak_values[SOAK_VALUES];

void soak_sample(struct soak_sample *sample);

#endif /* NN_TESTS_SOAK_SOAK_H */
