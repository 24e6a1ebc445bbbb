/* SPDX-License-Identifier: MIT */
/*
 * A client that is served by threads of the engine's own process. Where an execution
 * is overdue, the kernel ends the session of a client here, as it kills a client's process; this
 * library is earlier, and answers.
 */
#ifndef NN_KIT_THREADS_H
#define NN_KIT_THREADS_H

#include <nnaccel/engine.h>

struct thread_client;

/*
 * Once, before any: makes the engine's extensions known, opens its files and calls its start().
 * False, with a log line.
 */
bool thread_clients_init(const struct nna_engine *engine);

/*
 * Serves a session, which is its own from now on, as is `cache`, the socket to the keeper (-1:
 * none). NULL, with a log line, where threads cannot be made. The name, for the log, is copied.
 */
struct thread_client *thread_client_start(const struct nna_engine *engine, int session, int cache,
					  const char *name);

/* A file that is readable once all of its threads have ended. */
int thread_client_file(const struct thread_client *client);

/* Has it end; what it executes comes first, but is not waited for longer than a second. */
void thread_client_stop(struct thread_client *client);

/* Once it has ended. */
void thread_client_free(struct thread_client *client);

/* The same for the broker, which is in programs without an engine, too. */
struct client_threads {
	bool (*init)(const struct nna_engine *engine);
	struct thread_client *(*start)(const struct nna_engine *engine, int session, int cache,
				       const char *name);
	int (*file)(const struct thread_client *client);
	void (*stop)(struct thread_client *client);
	void (*free)(struct thread_client *client);
};

extern const struct client_threads client_threads;

#endif /* NN_KIT_THREADS_H */
