/* SPDX-License-Identifier: MIT */
/*
 * The engine's own store. nna_engine_store_get() and nna_engine_store_put() access the store by the
 * process's connection to the keeper.
 */
#ifndef NN_KIT_STORE_H
#define NN_KIT_STORE_H

#include "kit/cache/cache_client.h"

/* Sets the connection to the keeper; the connection must exist until the process ends. */
void store_open(struct cache_client *client);

#endif /* NN_KIT_STORE_H */
