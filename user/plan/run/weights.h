/* SPDX-License-Identifier: MIT */
/*
 * Packed weights that several plans of one model use: what is packed alike is kept once.
 */
#ifndef NN_PLAN_WEIGHTS_H
#define NN_PLAN_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

struct weights;

/* An empty store; NULL: out of memory. */
struct weights *weights_create(void);

/* No weights may be in use; NULL is fine. */
void weights_free(struct weights *weights);

/* Memory to pack in, as kernels want it, of unknown content; NULL: out of memory. Size is not 0. */
void *weights_alloc(size_t size);
void weights_release(void *packed, size_t size);	/* that was not kept; NULL is fine */

/*
 * Takes over packed weights. Returns them, or equal ones that were stored before, for the caller
 * to use until weights_drop(). NULL: no memory. Any number of threads at a time.
 */
const void *weights_keep(struct weights *weights, void *packed, size_t size);
void weights_drop(struct weights *weights, const void *packed);

/* Bytes of all that is kept. */
uint64_t weights_bytes(struct weights *weights);

#endif /* NN_PLAN_WEIGHTS_H */
