/* SPDX-License-Identifier: MIT */
/*
 * A store of packed weights, for several plans of one model. Equal packed weights are stored once.
 */
#ifndef NN_PLAN_WEIGHTS_H
#define NN_PLAN_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

struct weights;

/* Makes an empty store; NULL if memory runs out. */
struct weights *weights_create(void);

/* Frees a store, of which no weights may be in use; NULL is fine. */
void weights_free(struct weights *weights);

/*
 * Returns memory for packed weights, aligned as kernels need it and not initialised; NULL if memory
 * runs out. `size` must not be 0.
 */
void *weights_alloc(size_t size);
void weights_release(void *packed, size_t size); /* for weights that are not shared; NULL is fine */

/*
 * Takes over packed weights. Returns these, or equal ones that were stored before, for the caller
 * to use until weights_drop(). Returns NULL if memory runs out. Threads may call it concurrently.
 */
const void *weights_share(struct weights *weights, void *packed, size_t size);
void weights_drop(struct weights *weights, const void *packed);

/* Returns the bytes of all weights in the store. */
uint64_t weights_bytes(struct weights *weights);

#endif /* NN_PLAN_WEIGHTS_H */
