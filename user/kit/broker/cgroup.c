// SPDX-License-Identifier: MIT
/*
 * Cgroups (v2) for workers. A worker's cgroup limits memory and processes, and has a CPU weight.
 *
 *	The cgroup named broker contains the broker and the keeper.
 *	The cgroup idle/worker-N contains a worker without a user.
 *	The cgroup user-UID/worker-N contains a worker to which only the limits of its user apply.
 *	The cgroup user-UID/box-M has the memory limit of a client's own cgroup, and contains the
 *	workers of all clients in that cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/cgroup_path.h"
#include "kit/api/log.h"
#include "kit/broker/cgroup.h"
#include "kit/broker/client_memory.h"

#define BROKER_LEAF "broker"
#define IDLE "idle"
#define CONTROLLERS "+memory +pids +cpu"
/*
 * The only worker in a parent cgroup gets no CPU weight, because a CPU weight costs time at each
 * context switch to the worker.
 */
#define WITHOUT_WEIGHTS "+memory +pids"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static int put(int folder, const char *file, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes a control file; returns 0 or an errno. */
static int put(int folder, const char *file, const char *format, ...)
{
	char text[64];
	va_list args;
	ssize_t n;
	int fd;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = openat(folder, file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	n = write(fd, text, strlen(text));
	if (n >= 0)
		errno = 0;
	close(fd);
	return errno;
}

static bool is_cgroup2(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/*
 * Enables the controllers for children of the cgroup `base`. First moves the broker into a child
 * cgroup, because a cgroup that enables controllers for children must contain no process. Returns 0
 * or an errno.
 */
static int delegate(int base)
{
	int error;

	if (mkdirat(base, BROKER_LEAF, 0755) && errno != EEXIST)
		return errno;
	error = put(base, BROKER_LEAF "/cgroup.procs", "0");
	if (error) {
		unlinkat(base, BROKER_LEAF, AT_REMOVEDIR);
		return error;
	}
	error = put(base, "cgroup.subtree_control", CONTROLLERS);
	if (error) {
		put(base, "cgroup.procs", "0");
		unlinkat(base, BROKER_LEAF, AT_REMOVEDIR);
	}
	return error;
}

/*
 * Opens the cgroup that is to contain the workers' cgroups. A broker that runs as root in the root
 * cgroup makes a new cgroup, because the root cgroup belongs to the system.
 */
static int open_base(const char *own)
{
	char path[sizeof(CGROUP_MOUNT) + CGROUP_PATH_SIZE];
	int root, base;

	snprintf(path, sizeof(path), "%s%s", CGROUP_MOUNT, own);
	if (strcmp(own, "/"))
		return open(path, FOLDER_FLAGS);
	root = open(path, FOLDER_FLAGS);
	if (root < 0)
		return -1;
	errno = put(root, "cgroup.subtree_control", CONTROLLERS);
	if (errno || (mkdirat(root, "nnacceld", 0755) && errno != EEXIST))
		base = -1;
	else
		base = openat(root, "nnacceld", FOLDER_FLAGS);
	close(root);
	return base;
}

void cgroup_init(struct cgroup *cgroup, const struct cgroup_options *options)
{
	char own[CGROUP_PATH_SIZE];
	int error;

	*cgroup = (struct cgroup){ .base = -1, .options = *options };
	if (!is_cgroup2(CGROUP_MOUNT) || !cgroup_path_of("self", own, sizeof(own))) {
		log_info("no cgroups (v2) here: workers are bounded by resource limits only");
		return;
	}
	cgroup->base = open_base(own);
	error = cgroup->base < 0 ? errno : delegate(cgroup->base);
	if (!error) {
		log_info("workers get cgroups of their own below %s", own);
		return;
	}
	log_info("cgroup %s is not delegated (%s): workers are bounded by resource limits only",
		 own, strerror(error));
	if (cgroup->base >= 0)
		close(cgroup->base);
	cgroup->base = -1;
}

/*
 * Sets the memory limit, and the swap limit to 0 so that swap does not bypass the memory limit.
 * Returns 0 or an errno.
 */
static int set_memory(int fd, uint64_t bytes)
{
	int error = bytes ? put(fd, "memory.max", "%llu", (unsigned long long)bytes) : 0;

	if (!error)
		error = put(fd, "memory.swap.max", "0");
	/* A kernel without swap accounting has no file memory.swap.max. */
	return error == ENOENT ? 0 : error;
}

static int set_limits(int fd, uint64_t memory, unsigned int cpu_weight, unsigned int pids)
{
	int error = put(fd, "pids.max", "%u", pids);

	/* EINVAL means that the kernel's own limit of processes is lower than `pids`. */
	if (error == EINVAL)
		error = put(fd, "pids.max", "max");
	if (!error) {
		error = put(fd, "cpu.weight", "%u", cpu_weight);
		/* The file cpu.weight is missing if the parent cgroup does not use weights. */
		if (error == ENOENT)
			error = 0;
	}
	/*
	 * Turn off pressure accounting (PSI) for this cgroup, because each cgroup level with
	 * accounting costs time at each switch to and from a worker. The kernel still measures the
	 * pressure of the delegated cgroup, and so of the whole engine. Older kernels lack the file
	 * cgroup.pressure.
	 */
	put(fd, "cgroup.pressure", "0");
	return error ? error : set_memory(fd, memory);
}

/*
 * Makes a parent cgroup for workers. The workers' cgroups get CPU weights if `has_weights` is set
 * or the parent cgroup already exists. Sets the limits even if the cgroup already exists, because
 * an earlier broker may have died before it set limits. Returns 0 or an errno.
 */
static int make_group(const struct cgroup *cgroup, const char *name, uint64_t memory,
		      unsigned int workers, bool has_weights)
{
	const struct cgroup_options *options = &cgroup->options;
	bool is_new = !mkdirat(cgroup->base, name, 0755);
	int error, fd;

	if (!is_new && errno != EEXIST)
		return errno;
	fd = openat(cgroup->base, name, FOLDER_FLAGS);
	if (fd < 0)
		return errno;
	error = set_limits(fd, memory, options->user_cpu_weight, workers * options->max_pids);
	if (!error)
		error = put(fd, "cgroup.subtree_control",
			    is_new && !has_weights ? WITHOUT_WEIGHTS : CONTROLLERS);
	close(fd);
	if (error && is_new)
		unlinkat(cgroup->base, name, AT_REMOVEDIR);
	return error;
}

/*
 * Makes a worker's cgroup (a leaf) in the cgroup `folder`, and opens the leaf. Returns 0 or an
 * errno.
 */
static int make_leaf(struct cgroup *cgroup, const char *folder, struct cgroup_leaf *leaf)
{
	const struct cgroup_options *options = &cgroup->options;
	int error;

	/* Leaf cgroups of an earlier broker may still exist under names of the form worker-N. */
	do {
		snprintf(leaf->name, sizeof(leaf->name), "%.60s/worker-%u", folder,
			 cgroup->serial++);
	} while (mkdirat(cgroup->base, leaf->name, 0755) && errno == EEXIST);
	leaf->fd = openat(cgroup->base, leaf->name, FOLDER_FLAGS);
	error = leaf->fd < 0 ? errno :
		set_limits(leaf->fd, options->max_memory, options->cpu_weight, options->max_pids);
	if (!error)
		return 0;
	log_error("cgroup %s: %s", leaf->name, strerror(error));
	cgroup_leaf_close(leaf);
	cgroup_leaf_remove(cgroup, leaf);
	leaf->name[0] = '\0';
	return error;
}

bool cgroup_leaf_create(struct cgroup *cgroup, struct cgroup_leaf *leaf)
{
	int error;

	*leaf = (struct cgroup_leaf){ .fd = -1 };
	if (cgroup->base < 0)
		return true;
	/* The cgroup `idle` needs no memory limit, because each worker in it has its own limit. */
	error = make_group(cgroup, IDLE, 0, 1024, false);
	if (error) {
		log_error("cgroup " IDLE ": %s", strerror(error));
		return false;
	}
	return !make_leaf(cgroup, IDLE, leaf);
}

/*
 * Makes the parent cgroup of a client's worker: the user's cgroup, or a cgroup box-M in the user's
 * cgroup. Writes the path of the parent cgroup to `name`. Returns 0 or an errno.
 */
static int make_home(const struct cgroup *cgroup, uint32_t uid, const struct client_memory *client,
		     char name[64])
{
	const struct cgroup_options *options = &cgroup->options;
	const bool has_box = client->bytes != CLIENT_MEMORY_ALL &&
			     (!options->user_memory || client->bytes < options->user_memory);
	int error;

	snprintf(name, 64, "user-%u", uid);
	/*
	 * If a user's cgroup contains a cgroup box-M, all cgroups in the user's cgroup get CPU
	 * weights from the start.
	 */
	error = make_group(cgroup, name, options->user_memory, options->user_workers, has_box);
	if (error || !has_box)
		return error;
	snprintf(name, 64, "user-%u/box-%llu", uid, (unsigned long long)client->box);
	return make_group(cgroup, name, client->bytes, options->user_workers, false);
}

const char *cgroup_leaf_create_for(struct cgroup *cgroup, uint32_t uid, int engine,
				   uint64_t context, struct cgroup_leaf *leaf)
{
	struct client_memory client = { .bytes = CLIENT_MEMORY_ALL };
	const char *fault = NULL;
	char home[64];
	int error;

	*leaf = (struct cgroup_leaf){ .fd = -1 };
	if (cgroup->base < 0)
		return NULL;
	if (!cgroup->options.no_client_limit)
		fault = client_memory_find(CGROUP_MOUNT, engine, context, &client);
	if (fault)
		return fault;
	error = make_home(cgroup, uid, &client, home);
	if (!error)
		error = make_leaf(cgroup, home, leaf);
	if (!error)
		return NULL;
	log_error("cgroup %s: uid %u gets no worker: %s", home, uid, strerror(error));
	return "its user's cgroup cannot be made";
}

int cgroup_leaf_move(struct cgroup *cgroup, pid_t worker, struct cgroup_leaf *from,
		     struct cgroup_leaf *to)
{
	int error = to->name[0] ? put(to->fd, "cgroup.procs", "%d", (int)worker) : 0;

	if (error) {
		log_error("cgroup %s: worker %d cannot be moved there: %s", to->name, (int)worker,
			  strerror(error));
		return error;
	}
	cgroup_leaf_close(to);
	cgroup_leaf_remove(cgroup, from);
	*from = *to;
	*to = (struct cgroup_leaf){ .fd = -1 };
	return 0;
}

void cgroup_leaf_close(struct cgroup_leaf *leaf)
{
	if (leaf->fd >= 0)
		close(leaf->fd);
	leaf->fd = -1;
}

static void set_weight(const struct cgroup *cgroup, const char *name, unsigned int weight)
{
	char path[CGROUP_NAME_SIZE + 32];
	int error;

	snprintf(path, sizeof(path), "%s/cpu.weight", name);
	error = put(cgroup->base, path, "%u", weight ? weight : 1);
	if (error && error != ENOENT)
		log_warning("cgroup %s: cpu.weight: %s", name, strerror(error));
}

/* Returns the reduced weight of a worker or user whose models all have low priority. */
static unsigned int low_weight(const struct cgroup_options *options, unsigned int weight)
{
	if (options->low_cpu_weight >= options->cpu_weight)
		return weight;
	return weight * options->low_cpu_weight / options->cpu_weight;
}

void cgroup_leaf_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low)
{
	unsigned int weight = cgroup->options.cpu_weight;

	if (leaf->name[0])
		set_weight(cgroup, leaf->name, low ? low_weight(&cgroup->options, weight) : weight);
}

void cgroup_user_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low)
{
	unsigned int weight = cgroup->options.user_cpu_weight;
	char name[CGROUP_NAME_SIZE];

	if (!leaf->name[0])
		return;
	snprintf(name, sizeof(name), "%s", leaf->name);
	name[strcspn(name, "/")] = '\0';
	set_weight(cgroup, name, low ? low_weight(&cgroup->options, weight) : weight);
}

bool cgroup_leaf_was_oom(const struct cgroup *cgroup, const struct cgroup_leaf *leaf)
{
	char path[CGROUP_NAME_SIZE + 32], text[512];
	const char *count;
	ssize_t n;
	int fd;

	if (!leaf->name[0])
		return false;
	snprintf(path, sizeof(path), "%s/memory.events", leaf->name);
	fd = openat(cgroup->base, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	count = strstr(text, "oom_kill ");
	return count && atoi(count + strlen("oom_kill ")) > 0;
}

void cgroup_leaf_remove(const struct cgroup *cgroup, const struct cgroup_leaf *leaf)
{
	char name[CGROUP_NAME_SIZE];

	if (!leaf->name[0])
		return;
	if (unlinkat(cgroup->base, leaf->name, AT_REMOVEDIR))
		log_warning("cgroup %s cannot be removed: %s", leaf->name, strerror(errno));
	snprintf(name, sizeof(name), "%s", leaf->name);
	/*
	 * Ignore the error: the kernel refuses to remove a parent cgroup that still contains leaves
	 * of other workers.
	 */
	for (char *end; (end = strrchr(name, '/'));) {
		*end = '\0';
		if (strcmp(name, IDLE) && unlinkat(cgroup->base, name, AT_REMOVEDIR))
			break;
	}
}
