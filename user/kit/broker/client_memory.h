/* SPDX-License-Identifier: MIT */
/*
 * The memory limit of a client: the smallest memory.max among its process's cgroup and all parents
 * of that cgroup.
 */
#ifndef NN_KIT_CLIENT_MEMORY_H
#define NN_KIT_CLIENT_MEMORY_H

#include <stdint.h>

/* The client has no memory limit. */
#define CLIENT_MEMORY_ALL UINT64_MAX

struct client_memory {
	uint64_t bytes;
	uint64_t box;		/* inode number of the cgroup with the limit `bytes` */
};

/*
 * Reads the memory limit of the process that opened a context of `engine`; cgroups are mounted at
 * `mount`. Returns NULL, or the reason why the limit is unknown.
 */
const char *client_memory_find(const char *mount, int engine, uint64_t context,
			       struct client_memory *memory);

#endif /* NN_KIT_CLIENT_MEMORY_H */
