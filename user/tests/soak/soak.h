/* SPDX-License-Identifier: MIT */
/*
 * Common declarations of the soak test: client processes, counters that clients and the soak
 * program share, and samples.
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

/* The state of a client process, in memory that it shares with the soak program. */
struct soak_client {
	atomic_ullong executions;
	atomic_uint models;		/* number of models whose executions all succeeded */
	atomic_uint refused;		/* number of calls that failed and were allowed to fail */
	atomic_uint cached;		/* number of models that were loaded from the cache */
	atomic_ullong longest_ns;	/* longest time of a preparation or execution */
	char refusal[200];		/* reason of the last allowed failure */
	char message[600];		/* reason of the client's unexpected end */
};

struct soak {
	atomic_bool stop;
	bool disturbed;	/* true: calls may fail, because the engine is killed or lacks resources */
	/*
	 * One of `kill_one_in` executions kills the executing client; 0: no execution kills a
	 * client.
	 */
	unsigned int kill_one_in;
	char folder[64];		/* folder of cache files */
	struct soak_client clients[SOAK_KINDS];
};

extern const char *const soak_kinds[SOAK_KINDS];

/*
 * Runs this process as a client of kind `kind` until soak.stop is set, and then ends the process.
 */
_Noreturn void soak_client(struct soak *soak, enum soak_kind kind, uint64_t seed);

/*
 * Kills a process of the engine (nnacceld, the keeper or a worker) by its name. Returns false if no
 * process with the name runs.
 */
bool soak_kill(const char *name);

/* ---- kills ---- */

struct kills_options {
	unsigned int spacing_ms;	/* time between two kills; 0: no kills */
	/*
	 * Number of processes of each kind (keeper, worker, client, broker) to kill; 0: no fixed
	 * number.
	 */
	unsigned int wanted;
	const char *restart;		/* command that starts the engine, or NULL */
};

void kills_begin(const struct kills_options *options);

/*
 * Kills a process of the engine or a client if the next kill is due. The array `clients` has the
 * process id of each kind of client, or 0 if no client of the kind runs. Returns false if the
 * engine no longer serves clients.
 */
bool kills_step(const pid_t *clients, unsigned long long executions);

/*
 * Handles the end of a child process of the soak program. Returns false if the child was the start
 * command and the engine did not start.
 */
bool kills_ended(pid_t pid, int status, unsigned long long executions);

/*
 * kills_starting() returns whether the start command is running. The function kills_done() returns
 * whether all wanted kills have happened.
 */
bool kills_starting(void);
bool kills_done(void);

/* Prints how many processes of each kind were killed. */
void kills_tell(void);

/* ---- samples ---- */

#define SOAK_VALUES 12

struct soak_sample {
	long long values[SOAK_VALUES];	/* -1: the machine does not report the value */
};

/*
 * A sampled value. The value may grow by `percent` or by `slack`, whichever is more, between two
 * rounds.
 */
struct soak_value {
	const char *name;
	unsigned int percent;
	long long slack;
};

extern const struct soak_value soak_values[SOAK_VALUES];

void soak_sample(struct soak_sample *sample);

#endif /* NN_TESTS_SOAK_SOAK_H */
