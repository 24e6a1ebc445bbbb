/* SPDX-License-Identifier: MIT */
/*
 * Cgroups (v2) for workers. If the broker may make cgroups in its own cgroup, each worker gets a
 * cgroup inside its user's cgroup.
 */
#ifndef NN_KIT_CGROUP_H
#define NN_KIT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_options {
	uint64_t max_memory;		/* memory limit of a worker in bytes; 0 for no limit */
	uint64_t user_memory;	/* memory limit of all workers of a user in bytes; 0 for no limit */
	/* CPU weight of a worker among the workers of its user, 1 to 10000. */
	unsigned int cpu_weight;
	/* CPU weight of a worker while all its models have low priority */
	unsigned int low_cpu_weight;
	unsigned int user_cpu_weight;	/* CPU weight of a user's workers among all users */
	unsigned int max_pids;		/* maximum number of processes and threads of a worker */
	unsigned int user_workers;	/* number of workers that a user may have */
	/* true: ignore the memory limit of the client's own cgroup */
	bool no_client_limit;
};

#define CGROUP_NAME_SIZE 80

struct cgroup_leaf {
	/* path below the delegated cgroup; "" if the worker has no cgroup */
	char name[CGROUP_NAME_SIZE];
	int fd;	/* descriptor of the cgroup's directory; cgroup_leaf_close() closes it */
};

struct cgroup {
	int base;			/* descriptor of the delegated cgroup's directory, or -1 */
	unsigned int serial;
	struct cgroup_options options;
};

/*
 * Enables the controllers for the cgroups of workers, after moving the broker into a cgroup of its
 * own. If the controllers cannot be enabled, logs the reason and leaves the broker in its cgroup;
 * the other functions of this header then do nothing for `cgroup`.
 */
void cgroup_init(struct cgroup *cgroup, const struct cgroup_options *options);

/*
 * Makes a cgroup leaf for a worker that has no user yet. Returns false, with a log line, if cgroups
 * are in use but the leaf cannot be made.
 */
bool cgroup_leaf_create(struct cgroup *cgroup, struct cgroup_leaf *leaf);
void cgroup_leaf_close(struct cgroup_leaf *leaf);

/*
 * Makes a leaf in a user's cgroup for the client that opened a context of `engine`. If the memory
 * limit of the client's own cgroup is below the option user_memory, the workers of all clients in
 * that cgroup share the lower limit. The leaf's limit does not follow later changes of the client's
 * own limit. Returns NULL, or the reason why the client gets no worker.
 */
const char *cgroup_leaf_create_for(struct cgroup *cgroup, uint32_t uid, int engine,
				   uint64_t context, struct cgroup_leaf *leaf);

/*
 * Moves a worker from the cgroup leaf *from to the leaf *to. After the move, *from describes the
 * new leaf. Returns 0, or an errno with a log line. The errno is ESRCH if the worker has died;
 * after any other errno the worker stays in its old leaf.
 */
int cgroup_leaf_move(struct cgroup *cgroup, pid_t worker, struct cgroup_leaf *from,
		     struct cgroup_leaf *to);

/*
 * Reduces the CPU weight of a worker among the workers of its user, or restores the weight. Does
 * nothing while the user has only one worker, so the caller must call the function again after a
 * second worker got a leaf. The function cgroup_user_set_low() changes the weight of a user among
 * all users; `leaf` is any leaf of the user.
 */
void cgroup_leaf_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low);
void cgroup_user_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low);

/* Returns whether the kernel killed the leaf's worker for lack of memory. */
bool cgroup_leaf_was_oom(const struct cgroup *cgroup, const struct cgroup_leaf *leaf);

void cgroup_leaf_remove(const struct cgroup *cgroup, const struct cgroup_leaf *leaf);

#endif /* NN_KIT_CGROUP_H */
