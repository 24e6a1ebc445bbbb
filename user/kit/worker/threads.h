/* SPDX-License-Identifier: MIT */
/*
 * Serves a client by threads of the engine's own process. The kernel ends the session of a client
 * with an overdue execution. The library answers an overdue execution before the kernel ends the
 * session.
 */
#ifndef NN_KIT_THREADS_H
#define NN_KIT_THREADS_H

#include <nnaccel/engine.h>

struct thread_client;

/*
 * Prepares the process: registers the engine's extensions, opens the engine's files and calls the
 * engine's function start(). The process must call thread_clients_init() once. `cache` is the
 * socket of the engine's own store, or -1. Returns false, with a log line, on failure.
 */
bool thread_clients_init(const struct nna_engine *engine, int cache);

/*
 * Serves a session by new threads. Takes ownership of the session and of `cache`, the socket to the
 * keeper of the cache (-1: no keeper). Returns NULL, with a log line, if threads cannot be created.
 * Copies `name`, the client's name in the log.
 */
struct thread_client *thread_client_start(const struct nna_engine *engine, int session, int cache,
					  const char *name);

/* Returns an fd that becomes readable when all threads of the client have ended. */
int thread_client_file(const struct thread_client *client);

/*
 * Tells the client's threads to end. After thread_client_stop(), an execution in progress may take
 * at most one second.
 */
void thread_client_stop(struct thread_client *client);

/* Frees a client whose threads have ended. */
void thread_client_free(struct thread_client *client);

/*
 * Pointers to the functions of threads.c. The broker needs pointers, because some programs contain
 * the broker but not threads.c.
 */
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
