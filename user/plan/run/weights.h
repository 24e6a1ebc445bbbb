/* SPDX-License-Identifier: MIT */
/*
 * A store of packed weights for several plans of one model. Equal packed weights are stored once.
 */
#ifndef NN_PLAN_WEIGHTS_H
#define NN_PLAN_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

struct weights;

/* Makes an empty store of packed weights; NULL if memory runs out. */
struct weights *weights_create(void);

/* Frees a store after all plans that use the store's weights; NULL is allowed. */
void weights_free(struct weights *weights);

/*
 * Returns uninitialised memory for packed weights, aligned for kernels; NULL if memory runs out.
 * `size` must not be 0.
 */
void *weights_alloc(size_t size);
/* Frees packed weights that were not given to weights_share(); accepts NULL. */
void weights_release(void *packed, size_t size);

/*
 * Gives packed weights to the store, which then owns the weights. Returns `packed`, or equal
 * weights that were stored before; the caller may use the result until weights_drop(). Returns NULL
 * if memory runs out. Several threads may call weights_share() concurrently.
 */
const void *weights_share(struct weights *weights, void *packed, size_t size);
void weights_drop(struct weights *weights, const void *packed);

uint64_t weights_bytes(struct weights *weights);

#endif /* NN_PLAN_WEIGHTS_H */
