/* SPDX-License-Identifier: MIT */
/*
 * Messages between broker, workers, keeper and administrators: packets of one form on sockets,
 * which may carry a file. A worker never says who its user is.
 */
#ifndef NN_KIT_MESSAGE_H
#define NN_KIT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/digest.h"

#define CACHE_TOKEN_SIZE 32

/* Bytes of a kept plan's model part, which workers copy, and granule of its data part. */
#define BLOB_MAX_MODEL (UINT64_C(64) << 20)
#define BLOB_PAGE 4096

/* Each kind of message has one way: its sender, and who gets it. */
enum message_way {
	BROKER_TO_WORKER = 1,
	WORKER_TO_BROKER,
	BROKER_TO_KEEPER,
	WORKER_TO_KEEPER,
	ADMIN_TO_KEEPER,
	KEEPER_ANSWERS,
};

enum message_kind {
	/* A worker asks the keeper: */
	CACHE_STORE = 1,	/* note `hash` for `token`, durably */
	CACHE_QUERY = 2,	/* is `hash` noted for `token`? */
	/* and of the engine's own cache, where `token` is the key of an entry, */
	CACHE_GET = 3,		/* the entry: its file comes with the answer */
	CACHE_NEW = 4,		/* memory to write an entry of these sizes to comes with it */
	CACHE_DONE = 5,		/* that memory is written, and unmapped */
	CACHE_DROP = 6,		/* the entry is of no use */
	/* The keeper answers: */
	CACHE_YES = 11,		/* stored; known. GET: sizes, with the data part first, and `hash` */
	CACHE_NO,		/* not known */
	CACHE_FAILED,		/* the index or its disk */
	CACHE_LATER,		/* too many stores of this user */
	/* The broker tells a worker: */
	WORKER_GO = 21,		/* its user ids are mapped */
	WORKER_SESSION,		/* the session that it serves comes with this */
	/* and the worker the broker: */
	WORKER_READY,		/* it is sandboxed */
	/* The broker tells the keeper: */
	KEEPER_SERVE,		/* the socket of a worker of user `uid` comes with this */
	KEEPER_END,		/* end at once */
	/* An administrator asks the keeper: */
	CACHE_CLEAR = 100,	/* forget all of user `uid`, or of CACHE_ALL_USERS */
	CACHE_SHOW = 101,	/* a file with a report and model_size rows comes with the answer */
	/* A file with a line for each of data_size faults comes; model_size: plans looked at. */
	CACHE_CHECK = 102,
};

#define CACHE_ALL_USERS UINT64_MAX

/* Fields that a kind does not use are 0. */
struct message {
	uint32_t kind;			/* enum message_kind */
	uint32_t serial;		/* of a request, and of its answer */
	uint8_t token[CACHE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
	union {
		uint64_t model_size;
		uint64_t uid;
	};
	uint64_t data_size;
};

/* Copies `size` bytes. Returns false if they are no message of that way. */
bool message_parse(const void *bytes, size_t size, enum message_way way, struct message *message);

/* Sends one, with a file unless that is -1. Does not wait; false: errno says why. */
bool message_send(int socket, const struct message *message, int file);

/*
 * Receives one as recvmsg() with those flags. *file is the file that came with it, the caller's to
 * close, or -1. It gets the first number that is free. If several came, all are closed, and if `file`
 * is NULL, one is as well. Returns 1, 0 at the end of the socket, or -1 with errno. EPROTO: what came
 * is no message of that way.
 */
int message_receive(int socket, enum message_way way, int flags, struct message *message,
		    int *file);

#endif /* NN_KIT_MESSAGE_H */
