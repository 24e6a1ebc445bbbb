/* SPDX-License-Identifier: MIT */
/*
 * What the broker, and administrators, say to the keeper of the compilation cache. The broker
 * passes workers' sockets with the user's id; an administrator connects to a socket in the
 * keeper's folder and sends packets of the form of workers' requests (cache_message.h).
 */
#ifndef NN_KIT_KEEPER_MESSAGE_H
#define NN_KIT_KEEPER_MESSAGE_H

#include "kit/cache_message.h"

/* The program, and argv[0] of a keeper. */
#define KEEPER_PROGRAM "nnaccel-keeper"
#define KEEPER_NAME "nnacceld-keeper"

/* What the broker says to end a keeper at once; what it passes are user ids and files. */
#define KEEP_END UINT32_MAX

/* Files that a keeper has, besides an empty input and output and its log. */
#define KEEPER_BROKER_FD 3

#define KEEPER_SOCKET "keeper.sock"

/* An administrator's requests: forget all of a user, model_size, or of all users; */
#define CACHE_CLEAR 100
#define CACHE_ALL_USERS UINT64_MAX

/* and tell what each user has: a file comes with the answer, a report and model_size rows. */
#define CACHE_SHOW 101

/*
 * Or look whether index and plans are whole: a file comes with the answer, a line of text for each of
 * data_size faults; model_size: plans that were looked at.
 */
#define CACHE_CHECK 102

struct cache_report {
	char version[160];		/* that the index is good for; empty: none yet */
};

struct cache_report_user {
	uint64_t uid;
	uint64_t tokens, hashes;
	uint64_t plans, plan_bytes;
};

/* The rows, in the order of users, as the index has them. */
#define CACHE_REPORT_SQL \
	"SELECT uid, sum(tokens), sum(hashes), sum(plans), sum(bytes) FROM" \
	" (SELECT uid, count(DISTINCT token) AS tokens, count(*) AS hashes, 0 AS plans," \
	"  0 AS bytes FROM hash GROUP BY uid UNION ALL" \
	"  SELECT uid, 0, 0, count(*), sum(model_size + data_size) FROM plan GROUP BY uid)" \
	" GROUP BY uid ORDER BY uid"

/* As cache_request_parse(), of an administrator. */
bool cache_admin_parse(const void *data, size_t size, struct cache_request *request);

#endif /* NN_KIT_KEEPER_MESSAGE_H */
