/* SPDX-License-Identifier: MIT */
/*
 * Packed weights are compared byte by byte, because the packed form depends on shapes by rules that
 * only the kernels contain.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/fingerprint.h"
#include "plan/run/heap.h"
#include "plan/run/pages.h"
#include "plan/run/weights.h"

/*
 * Weights of at least this size have their own pages, or huge pages if the system has huge pages.
 */
#define IN_PAGES ((size_t)64 << 10)

struct packed {
	struct packed *next;
	uint64_t hash;
	size_t size;
	uint32_t users;
	void *packed;
};

struct weights {
	pthread_mutex_t lock;		/* protects all other fields of the store */
	struct packed *first;
	uint64_t bytes;
};

struct weights *weights_create(void)
{
	struct weights *w = calloc(1, sizeof(*w));

	if (w)
		pthread_mutex_init(&w->lock, NULL);
	return w;
}

void weights_free(struct weights *weights)
{
	if (weights)
		pthread_mutex_destroy(&weights->lock);
	free(weights);
}

void *weights_alloc(size_t size)
{
	return size < IN_PAGES ? heap_alloc(NULL, size) : pages_alloc(size);
}

void weights_release(void *packed, size_t size)
{
	if (size < IN_PAGES)
		heap_free(NULL, packed);
	else
		pages_free(packed, size);
}

static struct packed *find(struct weights *w, const struct packed *wanted)
{
	struct packed *k = w->first;

	while (k && (k->hash != wanted->hash || k->size != wanted->size ||
		     memcmp(k->packed, wanted->packed, k->size)))
		k = k->next;
	return k;
}

const void *weights_share(struct weights *weights, void *packed, size_t size)
{
	struct packed *own = malloc(sizeof(*own)), *k;
	const void *used;

	if (!own) {
		weights_release(packed, size);
		return NULL;
	}
	*own = (struct packed){ .hash = nn_fingerprint64(packed, size), .size = size,
			      .packed = packed };
	pthread_mutex_lock(&weights->lock);
	k = find(weights, own);
	if (!k) {
		k = own;
		k->next = weights->first;
		weights->first = k;
		weights->bytes += size;
	}
	k->users++;
	used = k->packed;
	pthread_mutex_unlock(&weights->lock);
	if (k != own) {
		weights_release(packed, size);
		free(own);
	}
	return used;
}

void weights_drop(struct weights *weights, const void *packed)
{
	struct packed **link, *k;

	pthread_mutex_lock(&weights->lock);
	link = &weights->first;
	while ((*link)->packed != packed)
		link = &(*link)->next;
	k = *link;
	if (--k->users) {
		k = NULL;
	} else {
		*link = k->next;
		weights->bytes -= k->size;
	}
	pthread_mutex_unlock(&weights->lock);
	if (k)
		weights_release(k->packed, k->size);
	free(k);
}

uint64_t weights_bytes(struct weights *weights)
{
	uint64_t bytes;

	pthread_mutex_lock(&weights->lock);
	bytes = weights->bytes;
	pthread_mutex_unlock(&weights->lock);
	return bytes;
}
