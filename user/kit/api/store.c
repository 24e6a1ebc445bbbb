// SPDX-License-Identifier: MIT
/*
 * The engine's own store: the keeper process stores entries under hashes of keys that the engine
 * chooses.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kit/api/store.h"

static _Atomic(struct cache_client *) connection;

void store_open(struct cache_client *client)
{
	atomic_store(&connection, client);
}

/*
 * Finds the connection to the keeper, and computes an entry's key as the hash of the engine's key.
 * The hash never equals the key of a saved plan.
 */
static enum nn_status begin(const void *key, size_t size, struct cache_client **client,
			    uint8_t hash[DIGEST_SIZE], struct nn_error *err)
{
	static const char domain[] = "nna_engine_store";
	struct evp_md_ctx_st *context;

	*client = atomic_load(&connection);
	if (!*client || (*client)->socket < 0)
		return nn_fail(err, NN_GENERAL_FAILURE, "this process has no store");
	context = digest_begin();
	digest_add(context, domain, sizeof(domain));
	digest_add(context, key, size);
	return digest_end(context, hash) ? NN_OK : nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
}

enum nn_status nna_engine_store_get(const void *key, size_t key_size, void **data, size_t *size,
				    struct nn_error *err)
{
	uint8_t hash[DIGEST_SIZE], found[DIGEST_SIZE];
	struct cache_client *client;
	struct cached_parts entry;
	enum nn_status status = begin(key, key_size, &client, hash, err);

	*data = NULL;
	*size = 0;
	if (!status)
		status = cache_client_get(client, hash, &entry, err);
	if (status)
		return status;
	*data = malloc(entry.model_size);
	if (*data) {
		memcpy(*data, (const char *)entry.base + entry.data_size, entry.model_size);
		*size = entry.model_size;
	}
	cached_parts_unmap(&entry);
	if (!*data)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	if (digest(*data, *size, found) && !memcmp(found, entry.hash, sizeof(found)))
		return NN_OK;
	free(*data);
	*data = NULL;
	*size = 0;
	cache_client_drop(client, hash);
	return nn_fail(err, NN_GENERAL_FAILURE, "the entry is damaged");
}

/* An entry of the engine's own store, with its contents. */
struct own {
	struct cache_entry entry;
	const void *data;
};

static void write_own(const struct cache_entry *entry, char *bytes)
{
	memcpy(bytes, ((const struct own *)entry)->data, entry->model_size);
}

enum nn_status nna_engine_store_put(const void *key, size_t key_size, const void *data, size_t size,
				    struct nn_error *err)
{
	uint8_t hash[DIGEST_SIZE];
	const struct own own = {
		.entry = { .key = hash, .is_own = true, .model_size = size, .write = write_own },
		.data = data,
	};
	struct cache_client *client;
	enum nn_status status;

	if (!size || size > NNA_ENGINE_MAX_STORED)
		return nn_fail(err, NN_INVALID_ARGUMENT, "an entry of %zu bytes, must have 1 to %d",
			       size, NNA_ENGINE_MAX_STORED);
	status = begin(key, key_size, &client, hash, err);
	return status ? status : cache_client_put(client, &own.entry, err);
}

_Static_assert(NNA_ENGINE_MAX_STORED == BLOB_MAX_MODEL, "the keeper takes as much");
