/* SPDX-License-Identifier: MIT */
/*
 * Serves a session: fetches commands, executes them, and commits the answers.
 */
#ifndef NN_KIT_SERVE_H
#define NN_KIT_SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/burst/bursts.h"
#include "kit/cache/cache_client.h"
#include "kit/session/buffers.h"
#include "kit/session/grants.h"
#include "kit/session/models.h"
#include "kit/session/tasks.h"

/* A command in progress with a deadline. */
struct due {
	struct due *next, **link;
	uint64_t at_ns;			/* deadline of the command */
	uint64_t cookie;
};

/*
 * State of a server in a process that serves several clients: the request to end its threads, and
 * the deadlines of its commands.
 */
struct shared {
	atomic_bool ended;
	atomic_bool revoked;		/* writes of threads no longer reach the client's memory */
	int gone;	/* eventfd that becomes readable when the threads must end */
	pthread_mutex_t lock;
	struct due *due;		/* commands with a deadline; protected by the lock */
	int changed;	/* eventfd that reports a new deadline, or thread_client_stop() */
};

struct server {
	const struct nna_engine *engine;
	int session;
	/* State of a shared process; NULL if the process serves only this client. */
	struct shared *shared;
	struct grants grants;
	struct cache_client cache;
	struct models models;
	struct tasks tasks;
	struct bursts bursts;
	struct buffers buffers;
};

/*
 * Initialises a server of a session. `cache` is the socket to the keeper of the compilation cache,
 * or -1.
 */
bool server_init(struct server *server, const struct nna_engine *engine, int session, int cache);

/* Makes this process cache plans of all clients, also of those that do not ask for it. */
void server_cache_all(void);

#define SERVER_MAX_THREADS 4

/* Returns the number of threads that should call server_run(), at most SERVER_MAX_THREADS. */
unsigned int server_threads(void);

/*
 * Attaches this address space to the session. Returns false on failure, with a log line unless the
 * context is gone.
 */
bool server_attach(struct server *server);

/*
 * Serves until the context is gone; several threads may call this. Then ends the process with
 * status 0 or, if the session failed, with 1 and a log line. In a process that serves several
 * clients, returns instead.
 */
void server_run(struct server *server);

/* Returns the earliest deadline of a server's commands, or UINT64_MAX. For a shared process. */
uint64_t server_due_ns(struct server *server);

/*
 * Answers, in place of late threads, the commands that were due before a time. First takes the
 * client's memory from the threads, so that their results have no effect. Without an answer the
 * kernel would end the session, and an old kernel would kill the process.
 */
void server_answer_late(struct server *server, uint64_t before_ns);

/* Tells all threads of a server in a shared process to end, each after its current command. */
void server_end(struct server *server);

/*
 * Takes the client's memory and the session from threads that do not end. These threads continue
 * with private memory, and their answers are lost. The kernel then fails the client's commands.
 */
void server_abandon(struct server *server);

/*
 * Frees a server of a shared process with its models, memory and session. No thread of it may run.
 */
void server_free(struct server *server);

#endif /* NN_KIT_SERVE_H */
