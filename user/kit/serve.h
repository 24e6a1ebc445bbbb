/* SPDX-License-Identifier: MIT */
/*
 * Serving a session: fetches commands, has them done, commits the answers.
 */
#ifndef NN_KIT_SERVE_H
#define NN_KIT_SERVE_H

#include "kit/bursts.h"
#include "kit/cache_client.h"
#include "kit/grants.h"
#include "kit/models.h"

struct server {
	const struct nna_engine *engine;
	int session;
	uint64_t features;	/* NNACCEL_FEATURE_*, of the module */
	struct grants grants;
	struct cache_client cache;
	struct models models;
	struct bursts bursts;
};

/*
 * cache_slots: bursts keep their memory mapped between executions. cache: the
 * socket to the keeper of the compilation cache, -1: there is none.
 */
bool server_init(struct server *server, const struct nna_engine *engine, int session,
		 bool cache_slots, int cache);

/* Binds the session to this address space; false, with a log line, where it cannot be. */
bool server_attach(struct server *server);

/*
 * Serves until the context is gone, then ends the process: with 0, or where the
 * session fails, with 1 and a log line. Runs on any number of threads.
 */
__attribute__((noreturn)) void server_run(struct server *server);

#endif /* NN_KIT_SERVE_H */
