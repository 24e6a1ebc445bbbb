// SPDX-License-Identifier: MIT
/*
 * Maps the regions of a burst for one end of the burst: the client or the worker.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/round.h"
#include "ring/regions.h"

bool nn_region_map(struct nn_region *region, nn_region_mapper *mapper, const void *end,
		   uint64_t which, size_t length, int prot)
{
	const size_t whole = round_up(length, (size_t)sysconf(_SC_PAGESIZE));
	void *base = mapper(end, whole, prot, which);

	if (base != MAP_FAILED)
		*region = (struct nn_region){ base, whole };
	return base != MAP_FAILED;
}

void nn_region_unmap(struct nn_region *region)
{
	if (region->base)
		munmap(region->base, region->length);
	region->base = NULL;
}

bool nn_rings_map(struct nn_rings *rings, nn_region_mapper *mapper, const void *end, bool is_client,
		  struct nn_ring_map *map)
{
	const int mine = PROT_READ | PROT_WRITE, peer = PROT_READ;
	const struct nnaccel_burst_status *status;
	uint32_t bytes;

	if (!nn_region_map(&rings->status, mapper, end, NNACCEL_BURST_STATUS, sizeof(*status), peer))
		return false;
	status = rings->status.base;
	bytes = __atomic_load_n(&status->ring_bytes, __ATOMIC_RELAXED);
	*map = (struct nn_ring_map){
		.status = status,
		.lines = __atomic_load_n(&status->lines, __ATOMIC_RELAXED),
		.capacity = __atomic_load_n(&status->capacity, __ATOMIC_RELAXED),
	};
	errno = EINVAL;
	if (bytes < nn_ring_bytes(map->capacity) ||
	    !nn_region_map(&rings->requests, mapper, end, NNACCEL_BURST_REQUESTS, bytes,
			   is_client ? mine : peer) ||
	    !nn_region_map(&rings->results, mapper, end, NNACCEL_BURST_RESULTS, bytes,
			   is_client ? peer : mine))
		return false;
	map->mine = is_client ? rings->requests.base : rings->results.base;
	map->peer = is_client ? rings->results.base : rings->requests.base;
	return true;
}

void nn_rings_unmap(struct nn_rings *rings)
{
	nn_region_unmap(&rings->status);
	nn_region_unmap(&rings->requests);
	nn_region_unmap(&rings->results);
}
