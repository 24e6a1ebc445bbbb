// SPDX-License-Identifier: MIT
/*
 * Clients' memory for the device's DMA. A region of memory is pinned from its first use until the
 * library calls forget_region().
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

struct pinned {
	struct pinned *next;
	void *base;
	uint64_t iova;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pinned *list;

/*
 * Returns the link to a region's entry; the link is NULL if the region has no entry. The caller
 * holds the lock of the list.
 */
static struct pinned **find(const void *base)
{
	struct pinned **link = &list;

	while (*link && (*link)->base != base)
		link = &(*link)->next;
	return link;
}

static enum nn_status pin(struct edu *edu, const struct nna_engine_region *region,
			  struct pinned **made, struct nn_error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct pinned *p = calloc(1, sizeof(*p));

	if (!p)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	if (!edu_map(edu, region->base, (region->length + page - 1) & ~(page - 1),
		     region->is_writable, &p->iova)) {
		free(p);
		return nn_fail(err, errno == ENOSPC || errno == ENOMEM ?
			       NN_RESOURCE_EXHAUSTED_TRANSIENT : NN_GENERAL_FAILURE,
			       "the device cannot reach the memory: %s", strerror(errno));
	}
	p->base = region->base;
	p->next = list;
	list = p;
	*made = p;
	return NN_OK;
}

enum nn_status edu_memory_reach(struct edu *edu, struct nna_engine_execution *execution,
				const void *data, uint64_t *at, struct nn_error *err)
{
	struct nna_engine_region region;
	enum nn_status status = NN_OK;
	struct pinned *p;

	if (!nna_engine_region_of(execution, data, &region))
		return nn_fail(err, NN_INVALID_ARGUMENT, "an argument is a formatted image");
	pthread_mutex_lock(&lock);
	p = *find(region.base);
	if (!p)
		status = pin(edu, &region, &p, err);
	if (!status)
		*at = p->iova + (uint64_t)((const char *)data - (const char *)region.base);
	pthread_mutex_unlock(&lock);
	return status;
}

void edu_memory_forget(struct edu *edu, const struct nna_engine_region *region)
{
	struct pinned **link, *p;

	pthread_mutex_lock(&lock);
	link = find(region->base);
	p = *link;
	if (p) {
		*link = p->next;
		edu_unmap(edu, p->iova);
		free(p);
	}
	pthread_mutex_unlock(&lock);
}
