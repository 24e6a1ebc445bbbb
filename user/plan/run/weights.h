/* SPDX-License-Identifier: MIT */
/*
 * Packed weights that several plans of one model use: equal ones are stored once.
 */
#ifndef NN_PLAN_WEIGHTS_H
#define NN_PLAN_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

struct weights;

/* Makes an empty store; NULL if memory runs out. */
struct weights *weights_create(void);

/* No weights may be in use; NULL is fine. */
void weights_free(struct weights *weights);

/*
 * Returns memory to pack into, aligned as kernels need it, with any content; NULL if memory runs
 * out. `size` is not 0.
 */
void *weights_alloc(size_t size);
void weights_release(void *packed, size_t size);	/* which was not shared; NULL is fine */

/*
 * Takes over packed weights. Returns them, or equal ones that were stored before, for the caller to
 * use until weights_drop(). NULL if memory runs out. Any number of threads may call it at a time.
 */
const void *weights_share(struct weights *weights, void *packed, size_t size);
void weights_drop(struct weights *weights, const void *packed);

/* Bytes of all that is shared. */
uint64_t weights_bytes(struct weights *weights);

#endif /* NN_PLAN_WEIGHTS_H */
