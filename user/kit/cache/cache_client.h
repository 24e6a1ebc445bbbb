/* SPDX-License-Identifier: MIT */
/*
 * A worker's connection to the keeper of the compilation cache. The connection serves one request
 * at a time. The connection uses the socket by which the worker exchanged messages with the broker
 * when the worker started.
 */
#ifndef NN_KIT_CACHE_CLIENT_H
#define NN_KIT_CACHE_CLIENT_H

#include <pthread.h>
#include <stdbool.h>

#include <nnaccel/engine.h>

#include "kit/cache/message.h"

struct cache_client {
	/* lock that a thread holds while it sends a request and waits for the answer */
	pthread_mutex_t lock;
	int socket;	/* socket to the keeper, or -1 if there is no keeper */
	uint32_t serial;	/* serial number of the last request */
};

/*
 * Initialises the client. `socket` is the connection to the keeper; -1 means that the worker has no
 * cache.
 */
bool cache_client_init(struct cache_client *client, int socket);

/*
 * Stores a hash under a token on disk. Returns NN_GENERAL_FAILURE if the keeper did not store the
 * hash.
 */
enum nn_status cache_client_store(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err);

/*
 * Asks the keeper for a hash. Returns NN_GENERAL_FAILURE unless `hash` was stored under `token` for
 * the client's user.
 */
enum nn_status cache_client_query(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err);

/* A mapped entry of the engine's own cache; the data part comes before the model part. */
struct cached_parts {
	void *base;		/* address of the mapping; NULL: no entry is mapped */
	size_t model_size, data_size;
	uint8_t hash[DIGEST_SIZE];	/* hash of the model part */
};

/*
 * Maps an entry of the engine's own cache; cached_parts_unmap() unmaps the entry. Returns
 * NN_GENERAL_FAILURE if no entry has the key `key`.
 */
enum nn_status cache_client_get(struct cache_client *client, const uint8_t *key,
				struct cached_parts *plan, struct nn_error *err);
void cached_parts_unmap(struct cached_parts *plan);

struct cache_entry {
	const uint8_t *key;
	/*
	 * true: the entry belongs to the engine's own store, and replaces an older entry with the
	 * same key
	 */
	bool is_own;
	/* sizes of the parts; data_size is a multiple of BLOB_PAGE */
	size_t model_size, data_size;
	/* Writes the entry's data part, followed by the model part, to `bytes`. */
	void (*write)(const struct cache_entry *entry, char *bytes);
};

/*
 * Stores an entry. Returns NN_GENERAL_FAILURE if a plan is already stored under the entry's key or
 * if the keeper fails. Returns NN_RESOURCE_EXHAUSTED_TRANSIENT if the client's user has stored too
 * much lately.
 */
enum nn_status cache_client_put(struct cache_client *client, const struct cache_entry *entry,
				struct nn_error *err);

void cache_client_drop(struct cache_client *client, const uint8_t *key);

#endif /* NN_KIT_CACHE_CLIENT_H */
