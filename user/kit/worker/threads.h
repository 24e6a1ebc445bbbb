/* SPDX-License-Identifier: MIT */
/*
 * Serves a client by threads of the engine's own process. If an execution is overdue, the kernel
 * would end the client's session. This library answers before that.
 */
#ifndef NN_KIT_THREADS_H
#define NN_KIT_THREADS_H

#include <nnaccel/engine.h>

struct thread_client;

/*
 * Prepares the process, once: registers the engine's extensions, opens its files and calls its
 * start(). `cache` is the socket of the engine's own store, or -1. Returns false, with a log line,
 * on failure.
 */
bool thread_clients_init(const struct nna_engine *engine, int cache);

/*
 * Serves a session and owns it from now on, as well as `cache`, the socket to the keeper (-1:
 * none). Returns NULL, with a log line, if threads cannot be created. The name, for the log, is
 * copied.
 */
struct thread_client *thread_client_start(const struct nna_engine *engine, int session, int cache,
					  const char *name);

/* Returns a file that becomes readable when all of its threads have ended. */
int thread_client_file(const struct thread_client *client);

/* Tells the client to end; waits at most a second for its current execution. */
void thread_client_stop(struct thread_client *client);

/* Frees a client that has ended. */
void thread_client_free(struct thread_client *client);

/* Functions of this file for the broker, which is also in programs without an engine. */
struct client_threads {
	bool (*init)(const struct nna_engine *engine, int cache);
	struct thread_client *(*start)(const struct nna_engine *engine, int session, int cache,
				       const char *name);
	int (*file)(const struct thread_client *client);
	void (*stop)(struct thread_client *client);
	void (*free)(struct thread_client *client);
};

extern const struct client_threads client_threads;

#endif /* NN_KIT_THREADS_H */
