/* SPDX-License-Identifier: MIT */
/*
 * Serving a session: fetches commands, has them done, commits the answers.
 */
#ifndef NN_KIT_SERVE_H
#define NN_KIT_SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/buffers.h"
#include "kit/bursts.h"
#include "kit/cache_client.h"
#include "kit/grants.h"
#include "kit/models.h"

/* A command under way that the kernel does not wait for endlessly. */
struct due {
	struct due *next, **link;
	uint64_t at_ns;			/* its deadline */
	uint64_t cookie;
};

/*
 * Of a server whose process is not its own: what ends its threads, and who has to know of what
 * they do.
 */
struct shared {
	atomic_bool ended;
	atomic_bool revoked;		/* what threads write no longer gets into the client's memory */
	int gone;			/* eventfd: readable once it ended */
	pthread_mutex_t lock;
	struct due *due;		/* under the lock */
	int changed;			/* eventfd: there is one that is due earlier */
};

struct server {
	const struct nna_engine *engine;
	int session;
	struct shared *shared;		/* NULL: the process serves this client alone */
	struct grants grants;
	struct cache_client cache;
	struct models models;
	struct bursts bursts;
	struct buffers buffers;
};

/*
 * Begins a server of a session. cache: the socket to the keeper of the compilation cache, -1: there
 * is none.
 */
bool server_init(struct server *server, const struct nna_engine *engine, int session, int cache);

#define SERVER_MAX_THREADS 4

/* How many threads server_run() is for: SERVER_MAX_THREADS at most. */
unsigned int server_threads(void);

/*
 * Binds the session to this address space; false where it cannot be: with a log line, but where
 * the context is gone.
 */
bool server_attach(struct server *server);

/*
 * Serves until the context is gone. Ends the process then: with 0, or where the
 * session fails, with 1 and a log line. Returns where the process is shared with others. Runs on
 * any number of threads.
 */
void server_run(struct server *server);

/* The earliest deadline of a command that is under way, UINT64_MAX: none. For a shared process. */
uint64_t server_due_ns(struct server *server);

/*
 * Answers, in the place of threads that have not, what was due before a time: once the client's
 * memory is out of their reach, and nothing that they compute counts as done. The kernel would end the session without an answer, and one that is
 * too old the process.
 */
void server_answer_late(struct server *server, uint64_t before_ns);

/* Has all threads of a server in a shared process end, each after what it does. */
void server_end(struct server *server);

/*
 * Takes the client's memory and the session out of threads that do not end: they go on with
 * memory of our own, and what they answer is lost. The kernel then fails the client's commands.
 */
void server_abandon(struct server *server);

/* Frees what a server of a shared process had, once no thread runs: models, memory, the session. */
void server_free(struct server *server);

#endif /* NN_KIT_SERVE_H */
