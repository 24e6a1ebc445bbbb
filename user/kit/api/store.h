/* SPDX-License-Identifier: MIT */
/*
 * The engine's own store, which nna_engine_store_get() and nna_engine_store_put() use by this
 * process' connection to the keeper.
 */
#ifndef NN_KIT_STORE_H
#define NN_KIT_STORE_H

#include "kit/cache/cache_client.h"

/* Sets the connection, which stays for the life of the process. */
void store_open(struct cache_client *client);

#endif /* NN_KIT_STORE_H */
