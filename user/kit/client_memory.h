/* SPDX-License-Identifier: MIT */
/*
 * The memory limit of a client: the least memory.max of its process's cgroup and of those above it.
 */
#ifndef NN_KIT_CLIENT_MEMORY_H
#define NN_KIT_CLIENT_MEMORY_H

#include <stdint.h>

/* Nothing bounds the client. */
#define CLIENT_MEMORY_ALL UINT64_MAX

struct client_memory {
	uint64_t bytes;
	uint64_t box;		/* which cgroup has that limit, by its number */
};

/*
 * Reads the limit of the process that opened a context of `engine`; cgroups are mounted at `mount`.
 * Returns NULL, or what is missing: then the limit is not known, and the client may have any.
 */
const char *client_memory_find(const char *mount, int engine, uint64_t context,
			       struct client_memory *memory);

#endif /* NN_KIT_CLIENT_MEMORY_H */
