/* SPDX-License-Identifier: MIT */
/* Serves a session: fetches commands, executes each command, and commits the answers. */
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

struct due {
	struct due *next, **link;
	uint64_t at_ns;			/* deadline of the execution; 0: none */
	uint64_t cookie;
};

/*
 * State of a server in a process that serves several clients: the request to end its threads, and
 * the deadlines of its commands.
 */
struct shared {
	atomic_bool ended;
	atomic_bool revoked;	/* true: the threads can no longer write to the client's memory */
	int gone;	/* eventfd that becomes readable when the threads must end */
	pthread_mutex_t lock;
	struct due *due;		/* executions with a deadline; protected by `lock` */
	int changed;	/* eventfd, written after a new deadline and by thread_client_stop() */
};

struct server {
	const struct nna_engine *engine;
	int session;
	/* State in a process that serves several clients; NULL in a process for one client. */
	struct shared *shared;
	struct grants grants;
	struct cache_client cache;
	struct models models;
	struct tasks tasks;
	struct bursts bursts;
	struct buffers buffers;
};

/*
 * Initialises the server of a session. `cache` is the socket to the keeper of the compilation
 * cache, or -1.
 */
bool server_init(struct server *server, const struct nna_engine *engine, int session, int cache);

/*
 * Makes this process cache the plans of all clients, also of clients that do not request caching.
 */
void server_cache_all(void);

#define SERVER_MAX_THREADS 4

/* Returns the number of threads that should call server_run(), at most SERVER_MAX_THREADS. */
unsigned int server_threads(void);

/*
 * Attaches this process's address space to the session. Returns false on failure, with a log line
 * unless the context no longer exists.
 */
bool server_attach(struct server *server);

/*
 * Serves a session until its context is closed; several threads may call server_run(). At the end,
 * exits with status 0 or, if the session failed, with status 1 and a log line. In a process that
 * serves several clients, server_run() returns instead of exiting.
 */
void server_run(struct server *server);

/*
 * Returns the earliest deadline of a server's executions, or UINT64_MAX. Only a process that serves
 * several clients may call server_due_ns().
 */
uint64_t server_due_ns(struct server *server);

/*
 * Answers the executions whose deadline is before `before_ns`, because the threads that serve these
 * executions are late. First revokes the client's memory, so that the threads' results have no
 * effect. The kernel would end the session if an overdue execution had no answer; an old kernel
 * would kill the process.
 */
void server_answer_late(struct server *server, uint64_t before_ns);

/*
 * In a process that serves several clients, tells all threads of a server to end after their
 * current command.
 */
void server_end(struct server *server);

/*
 * Revokes the client's memory and the session from threads that do not end. Threads that do not end
 * continue with private memory, and their answers are lost. After server_abandon(), the kernel
 * fails the client's commands.
 */
void server_abandon(struct server *server);

/*
 * In a process that serves several clients, frees a server with its models, memory and session.
 * The caller must ensure that no thread of the server runs.
 */
void server_free(struct server *server);

#endif /* NN_KIT_SERVE_H */
