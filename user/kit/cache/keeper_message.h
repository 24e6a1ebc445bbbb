/* SPDX-License-Identifier: MIT */
/*
 * The messages of the keeper of the compilation cache: the broker starts it, and administrators
 * connect to a socket in its folder.
 */
#ifndef NN_KIT_KEEPER_MESSAGE_H
#define NN_KIT_KEEPER_MESSAGE_H

#include "kit/cache/message.h"

/* The file name of the keeper's program, and the argv[0] that it is started with. */
#define KEEPER_PROGRAM "nnaccel-keeper"
#define KEEPER_NAME "nnacceld-keeper"

/* The number of the broker's socket in a keeper. Files 0 to 2 are two empty ones and the log. */
#define KEEPER_BROKER_FD 3

#define KEEPER_SOCKET "keeper.sock"

/* The head of the report that CACHE_SHOW returns; rows follow. */
struct cache_report {
	char version[160];		/* version of the index; empty before the index exists */
};

struct cache_report_user {
	uint64_t uid;
	uint64_t tokens, hashes;
	uint64_t plans;
	uint64_t entries;		/* of engines' own stores */
	uint64_t bytes;			/* of both */
};

/* The rows, ordered by user as in the index. */
#define CACHE_REPORT_SQL \
	"SELECT uid, sum(tokens), sum(hashes), sum(plans), sum(entries), sum(bytes) FROM" \
	" (SELECT uid, count(DISTINCT token) AS tokens, count(*) AS hashes, 0 AS plans," \
	"  0 AS entries, 0 AS bytes FROM hash GROUP BY uid UNION ALL" \
	"  SELECT uid, 0, 0, sum(identity IS NULL), count(identity), sum(model_size + data_size)" \
	"  FROM plan GROUP BY uid)" \
	" GROUP BY uid ORDER BY uid"

#endif /* NN_KIT_KEEPER_MESSAGE_H */
