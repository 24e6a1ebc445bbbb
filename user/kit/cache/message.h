/* SPDX-License-Identifier: MIT */
/*
 * Messages between broker, workers, keeper and administrators. All messages are packets of one
 * format on sockets, and may carry a file. A worker's messages to the keeper never contain the
 * worker's user id; the broker sends the user id to the keeper.
 */
#ifndef NN_KIT_MESSAGE_H
#define NN_KIT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/cache/digest.h"

#define CACHE_TOKEN_SIZE 32

/*
 * BLOB_MAX_MODEL is the maximum size of a cached plan's model part, which workers copy. BLOB_PAGE
 * is the alignment of a cached plan's data part.
 */
#define BLOB_MAX_MODEL (UINT64_C(64) << 20)
#define BLOB_PAGE 4096

/* The direction of a message: its sender and its receiver. */
enum message_way {
	BROKER_TO_WORKER = 1,
	WORKER_TO_BROKER,
	BROKER_TO_KEEPER,
	WORKER_TO_KEEPER,
	ADMIN_TO_KEEPER,
	KEEPER_ANSWERS,
};

enum message_kind {
	/* Requests of a worker to the keeper: */
	CACHE_STORE = 1,	/* store `hash` for `token` on disk */
	CACHE_QUERY = 2,	/* ask whether `hash` is stored for `token` */
	/*
	 * Requests of a worker to the engine's own cache, where `token` contains the key of an
	 * entry:
	 */
	CACHE_GET = 3,		/* get the entry; the answer carries the entry's file */
	CACHE_NEW = 4,		/* get memory for a new entry whose sizes the message contains */
	CACHE_DONE = 5,		/* the worker has written and unmapped the entry's memory */
	CACHE_DROP = 6,		/* remove the entry from the cache */
	CACHE_NEW_OWN = 7,	/* get memory for a new entry of the engine's own store */
	/* Answers of the keeper: */
	/*
	 * The request succeeded; for CACHE_QUERY: the hash is stored. The answer to CACHE_GET
	 * contains the entry's hash, sizes and file; the file begins with the data part.
	 */
	CACHE_YES = 11,
	CACHE_NO,		/* the hash or entry does not exist */
	CACHE_FAILED,		/* the keeper's index or its disk failed */
	CACHE_LATER,		/* the worker's user stores entries too often */
	/* Messages of the broker to a worker: */
	WORKER_GO = 21,		/* the broker has mapped the worker's user ids */
	WORKER_SESSION,		/* serve the session whose file this message carries */
	/* Messages of a worker to the broker: */
	WORKER_READY,		/* the worker is sandboxed and ready for a session */
	/* Messages of the broker to the keeper: */
	KEEPER_SERVE,		/* serve user `uid` on the socket that this message carries */
	KEEPER_END,		/* the keeper must end immediately */
	/* Requests of an administrator to the keeper: */
	CACHE_CLEAR = 100,	/* remove all entries of user `uid`, or of CACHE_ALL_USERS */
	/* get a file with a report; the answer's model_size is the report's number of rows */
	CACHE_SHOW = 101,
	/*
	 * Check all plans, and get a file with a line for each fault. The answer's data_size is the
	 * number of faults, and the answer's model_size is the number of plans checked.
	 */
	CACHE_CHECK = 102,
};

#define CACHE_ALL_USERS UINT64_MAX

/* A message. Fields that the message's kind does not use are 0. */
struct message {
	uint32_t kind;			/* enum message_kind */
	uint32_t serial;		/* serial number of a request and of its answer */
	uint8_t token[CACHE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
	union {
		uint64_t model_size;
		uint64_t uid;
	};
	uint64_t data_size;
};

/*
 * Parses `size` bytes as a message. Returns false unless the bytes are a valid message of direction
 * `way`.
 */
bool message_parse(const void *bytes, size_t size, enum message_way way, struct message *message);

/*
 * Sends a message without waiting, together with `file` unless `file` is -1. Returns false with
 * errno on failure.
 */
bool message_send(int socket, const struct message *message, int file);

/*
 * Receives a message by recvmsg() with `flags`. Sets *file to the descriptor of the message's file,
 * which the caller closes, or to -1 if the message has no file. The received file gets the lowest
 * free descriptor. If the message has several files, or if `file` is NULL, all received files are
 * closed. Returns 1 for a message, 0 at the end of the stream, or -1 with errno; errno is EPROTO
 * for an invalid message.
 */
int message_receive(int socket, enum message_way way, int flags, struct message *message,
		    int *file);

#endif /* NN_KIT_MESSAGE_H */
