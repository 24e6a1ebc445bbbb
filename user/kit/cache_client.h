/* SPDX-License-Identifier: MIT */
/*
 * A worker's way to the keeper of the compilation cache: one request at a time,
 * on the socket that first was the broker's.
 */
#ifndef NN_KIT_CACHE_CLIENT_H
#define NN_KIT_CACHE_CLIENT_H

#include <pthread.h>
#include <stdbool.h>

#include <nnaccel/engine.h>

#include "kit/message.h"

struct cache_client {
	pthread_mutex_t lock;	/* held from a request to its answer; protects the rest */
	int socket;		/* -1: there is no keeper, or none any more */
	uint32_t serial;	/* of the last request */
};

/* socket -1: a worker without a cache. */
bool cache_client_init(struct cache_client *client, int socket);

/* Notes a hash durably. NN_GENERAL_FAILURE: it is not noted. */
enum nn_status cache_client_store(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err);

/* NN_GENERAL_FAILURE: the hash was not noted for this token and this client's user. */
enum nn_status cache_client_query(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err);

/* What the engine's own cache has of a prepared model, mapped: the data part, then the model part. */
struct kept_parts {
	void *base;		/* NULL: none */
	size_t model_size, data_size;
	uint8_t hash[DIGEST_SIZE];	/* of the model part */
};

/* NN_GENERAL_FAILURE: there is none. kept_parts_unmap() ends it. */
enum nn_status cache_client_get(struct cache_client *client, const uint8_t *key,
				struct kept_parts *plan, struct nn_error *err);
void kept_parts_unmap(struct kept_parts *plan);

/* Has a plan kept, unless it is or cannot be. NN_GENERAL_FAILURE: it is not. */
enum nn_status cache_client_keep(struct cache_client *client, const uint8_t *key,
				 const struct nna_engine *engine,
				 const struct nna_engine_image *image, struct nn_error *err);

/* What was kept is of no use. */
void cache_client_drop(struct cache_client *client, const uint8_t *key);

#endif /* NN_KIT_CACHE_CLIENT_H */
