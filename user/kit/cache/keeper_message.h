/* SPDX-License-Identifier: MIT */
/*
 * Constants for the start of the compilation cache's keeper, and for requests of administrators to
 * a socket in the keeper's folder.
 */
#ifndef NN_KIT_KEEPER_MESSAGE_H
#define NN_KIT_KEEPER_MESSAGE_H

#include "kit/cache/message.h"

/* KEEPER_PROGRAM is the file name of the keeper's program, and KEEPER_NAME is its argv[0]. */
#define KEEPER_PROGRAM "nnaccel-keeper"
#define KEEPER_NAME "nnacceld-keeper"

/*
 * The descriptor of the broker's socket in a keeper's process. In a keeper's process, descriptors 0
 * and 1 are empty files, and descriptor 2 is the log.
 */
#define KEEPER_BROKER_FD 3

#define KEEPER_SOCKET "keeper.sock"

/* The header of the report that CACHE_SHOW returns. The report's rows follow the header. */
struct cache_report {
	/* version of the keeper's index; empty before the index exists */
	char version[160];
};

struct cache_report_user {
	uint64_t uid;
	uint64_t tokens, hashes;
	uint64_t plans;
	uint64_t entries;		/* number of entries of engines' own stores */
	uint64_t bytes;			/* size of all plans and entries in bytes */
};

/* The SQL query for the rows of a report, ordered by user. */
#define CACHE_REPORT_SQL \
	"SELECT uid, sum(tokens), sum(hashes), sum(plans), sum(entries), sum(bytes) FROM" \
	" (SELECT uid, count(DISTINCT token) AS tokens, count(*) AS hashes, 0 AS plans," \
	"  0 AS entries, 0 AS bytes FROM hash GROUP BY uid UNION ALL" \
	"  SELECT uid, 0, 0, sum(identity IS NULL), count(identity), sum(model_size + data_size)" \
	"  FROM plan GROUP BY uid)" \
	" GROUP BY uid ORDER BY uid"

#endif /* NN_KIT_KEEPER_MESSAGE_H */
