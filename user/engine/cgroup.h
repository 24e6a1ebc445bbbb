/* SPDX-License-Identifier: MIT */
/*
 * A cgroup (v2) for each worker, where the broker's own cgroup was delegated to
 * it: bounds of memory and processes, and a weight of CPU time.
 */
#ifndef NN_ENGINE_CGROUP_H
#define NN_ENGINE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup_options {
	uint64_t max_memory;		/* bytes, 0: unbounded */
	unsigned int cpu_weight;	/* 1 to 10000 */
	unsigned int max_pids;
};

#define CGROUP_NAME_SIZE 32

/* A worker's cgroup. */
struct cgroup_leaf {
	char name[CGROUP_NAME_SIZE];	/* empty: none */
	int fd;				/* its folder; closed by cgroup_leaf_close() */
};

struct cgroup {
	int base;			/* the delegated folder, -1: none */
	unsigned int serial;
	struct cgroup_options options;
};

/*
 * Moves the broker into a leaf of its own cgroup and lets the controllers into
 * the others. Where that is not possible, says why, leaves everything as it was
 * and makes every later call do nothing.
 */
void cgroup_init(struct cgroup *cgroup, const struct cgroup_options *options);

/* Makes a leaf. False, with a log line, where there are cgroups but not another. */
bool cgroup_leaf_create(struct cgroup *cgroup, struct cgroup_leaf *leaf);
void cgroup_leaf_close(struct cgroup_leaf *leaf);

/* True when the kernel killed the leaf's worker for want of memory. */
bool cgroup_leaf_was_oom(const struct cgroup *cgroup, const struct cgroup_leaf *leaf);

/* Removes a leaf whose worker is gone. */
void cgroup_leaf_remove(const struct cgroup *cgroup, const struct cgroup_leaf *leaf);

#endif /* NN_ENGINE_CGROUP_H */
