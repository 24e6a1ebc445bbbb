// SPDX-License-Identifier: MIT
/*
 * A cgroup (v2) for each worker, where the broker's own cgroup was delegated to
 * it: bounds of memory and processes, and a weight of CPU time.
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

#include "engine/cgroup.h"
#include "engine/log.h"

#define MOUNT "/sys/fs/cgroup"
#define BROKER_LEAF "broker"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static int put(int folder, const char *file, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes a control file; 0 or an errno. */
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

/* The broker's cgroup, "/" and so on; false where there is no v2. */
static bool own_path(char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;
	char line[1024];

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strncmp(line, "0::/", 4) &&
			(size_t)snprintf(path, size, "%s", line + 3) < size;
	}
	if (file)
		fclose(file);
	return found;
}

static bool is_cgroup2(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/*
 * Controllers can be let into leaves only where no process is in the folder
 * itself, so the broker moves into a leaf first. 0 or an errno.
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
	error = put(base, "cgroup.subtree_control", "+memory +pids +cpu");
	if (error) {
		put(base, "cgroup.procs", "0");
		unlinkat(base, BROKER_LEAF, AT_REMOVEDIR);
	}
	return error;
}

/*
 * Opens the folder to delegate from. The root cgroup belongs to the machine:
 * a broker that runs there, as root, makes a folder of its own.
 */
static int open_base(const char *own)
{
	char path[1200];
	int root, base;

	snprintf(path, sizeof(path), "%s%s", MOUNT, own);
	if (strcmp(own, "/"))
		return open(path, FOLDER_FLAGS);
	root = open(path, FOLDER_FLAGS);
	if (root < 0)
		return -1;
	errno = put(root, "cgroup.subtree_control", "+memory +pids +cpu");
	if (errno || (mkdirat(root, "nnacceld", 0755) && errno != EEXIST))
		base = -1;
	else
		base = openat(root, "nnacceld", FOLDER_FLAGS);
	close(root);
	return base;
}

void cgroup_init(struct cgroup *cgroup, const struct cgroup_options *options)
{
	char own[1024];
	int error;

	*cgroup = (struct cgroup){ .base = -1, .options = *options };
	if (!is_cgroup2(MOUNT) || !own_path(own, sizeof(own))) {
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

static int set_limits(const struct cgroup_options *options, int fd)
{
	int error = put(fd, "pids.max", "%u", options->max_pids);

	if (!error)
		error = put(fd, "cpu.weight", "%u", options->cpu_weight);
	if (!error && options->max_memory)
		error = put(fd, "memory.max", "%llu", (unsigned long long)options->max_memory);
	return error;
}

bool cgroup_leaf_create(struct cgroup *cgroup, struct cgroup_leaf *leaf)
{
	int error;

	leaf->name[0] = '\0';
	leaf->fd = -1;
	if (cgroup->base < 0)
		return true;
	/* Names of an earlier broker may still be in use. */
	do {
		snprintf(leaf->name, sizeof(leaf->name), "worker-%u", cgroup->serial++);
	} while (mkdirat(cgroup->base, leaf->name, 0755) && errno == EEXIST);
	leaf->fd = openat(cgroup->base, leaf->name, FOLDER_FLAGS);
	error = leaf->fd < 0 ? errno : set_limits(&cgroup->options, leaf->fd);
	if (!error)
		return true;
	log_error("cgroup %s: %s", leaf->name, strerror(error));
	cgroup_leaf_close(leaf);
	cgroup_leaf_remove(cgroup, leaf);
	return false;
}

void cgroup_leaf_close(struct cgroup_leaf *leaf)
{
	if (leaf->fd >= 0)
		close(leaf->fd);
	leaf->fd = -1;
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
	if (leaf->name[0] && unlinkat(cgroup->base, leaf->name, AT_REMOVEDIR))
		log_warning("cgroup %s cannot be removed: %s", leaf->name, strerror(errno));
}
