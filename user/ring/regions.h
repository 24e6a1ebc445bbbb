/* SPDX-License-Identifier: MIT */
/*
 * Maps the regions of a burst for one end of the burst: the client or the worker.
 */
#ifndef NN_RING_REGIONS_H
#define NN_RING_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/ring.h"

struct nn_region {
	void *base;		/* NULL: not mapped */
	size_t length;		/* in whole pages */
};

/*
 * Maps one region, for example NNACCEL_BURST_STATUS; returns MAP_FAILED and sets errno on failure.
 */
typedef void *nn_region_mapper(const void *end, size_t length, int prot, uint64_t region);

bool nn_region_map(struct nn_region *region, nn_region_mapper *mapper, const void *end,
		   uint64_t which, size_t length, int prot);
void nn_region_unmap(struct nn_region *region);

/* The regions that both ends of a burst map. */
struct nn_rings {
	struct nn_region status, requests, results;
};

/*
 * Maps the rings of a burst, for the client, who writes requests, or for the worker, who writes
 * results. Reads each size of the rings once from the status page, which the client can write if
 * there is no kernel module; nn_ring_init() must check the sizes in *map. The function
 * nn_rings_map() does not set the member `doorbell` of *map. Returns false and sets errno on
 * failure, for example to EINVAL if the rings are too short for their capacity; nn_rings_unmap()
 * must be called even after a failure.
 */
bool nn_rings_map(struct nn_rings *rings, nn_region_mapper *mapper, const void *end, bool is_client,
		  struct nn_ring_map *map);
void nn_rings_unmap(struct nn_rings *rings);

#endif /* NN_RING_REGIONS_H */
