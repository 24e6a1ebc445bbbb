// SPDX-License-Identifier: MIT
/* The broker itself loads no plug-in. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "base/cgroup_path.h"
#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/broker/contexts.h"
#include "kit/broker/extensions.h"

/*
 * Time limit of a process that probes a plug-in. The probing process sets an alarm that ends the
 * process 2 s before the time limit, unless the plug-in blocks the alarm.
 */
#define PATIENCE_NS ((WORKER_PROBE_S + 2) * NS_PER_S)

/* ---- files ---- */

/*
 * Rejects a plug-in's file that users other than root and the broker's user can change, because
 * workers execute the file. Returns the reason of a rejection, or NULL.
 */
static const char *distrust(const struct stat *st)
{
	if (st->st_uid && st->st_uid != geteuid())
		return "it is owned by another user than root";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "others than its owner may write to it";
	return NULL;
}

static int is_plugin_name(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 3 && !strcmp(entry->d_name + length - 3, ".so");
}

static const char *distrust_file(const char *folder, const char *file)
{
	char path[4096];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
		return "its path is too long";
	if (lstat(path, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "it is not a regular file";
	return distrust(&st);
}

/* ---- probing ---- */

enum probed { SOUND, REFUSED, WAITS };

/* Waits until a process that loads plug-ins has ended, and relays its log. */
static siginfo_t await_probe(struct spawned *process, const char *name)
{
	struct log_relay relay = { .fd = process->log };
	uint64_t end_ns = clock_ns() + PATIENCE_NS;
	siginfo_t info = { 0 };

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = process->pidfd, .events = POLLIN },
			{ .fd = relay.fd, .events = POLLIN },
		};

		if (clock_ns() >= end_ns) {
			spawned_kill(process);
			end_ns = UINT64_MAX;
		}
		poll(fds, 2, clock_ms_until(end_ns));
		if (fds[1].revents && !log_relay_read(&relay, name, clock_ns()))
			relay.fd = -1;
		if (fds[0].revents)
			break;
	}
	waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED);
	if (relay.fd >= 0)
		log_relay_read(&relay, name, clock_ns());
	close(process->pidfd);
	close(process->control);
	close(process->log);
	return info;
}

/*
 * Starts a process that loads all plug-ins of a list, to test whether the last plug-in of the list
 * is valid.
 */
static enum probed probe(const struct spawner *spawner, const struct spawn_plugins *list,
				bool last_round)
{
	const char *file = list->files[list->count - 1];
	struct spawn_plugins plugins = *list;
	struct spawned process;
	siginfo_t info;
	char name[96];

	plugins.probe = true;
	snprintf(name, sizeof(name), "extension %.60s", file);
	if (!spawn_worker(spawner, -1, &plugins, &process))
		return REFUSED;
	info = await_probe(&process, name);
	if (info.si_code != CLD_EXITED) {
		log_warning("%s: refused: its process was ended by signal %d (%s)%s", name,
			    info.si_status, strsignal(info.si_status),
			    info.si_status == SIGSYS ? ": a system call that is not allowed" : "");
		return REFUSED;
	}
	if (info.si_status == WORKER_EXIT_WAITS && !last_round)
		return WAITS;
	if (info.si_status)
		log_warning("%s: refused%s", name,
			    info.si_status == WORKER_EXIT_SLOW ? ": it took too long" : "");
	else
		log_info("%s: accepted", name);
	return info.si_status ? REFUSED : SOUND;
}

/*
 * Probes each plug-in file of the list `left` once. A file that needs a missing extension stays in
 * `left`. Returns the number of files that stay.
 */
static unsigned int try_all(struct extensions *e, const struct spawner *spawner,
			    struct dirent **left, unsigned int count, bool last_round)
{
	struct spawn_plugins *list = &e->plugins;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < count; i++) {
		enum probed result = REFUSED;

		if (list->count == NNA_ENGINE_MAX_PLUGINS) {
			log_warning("extension %s: refused: there are already %d", left[i]->d_name,
				    NNA_ENGINE_MAX_PLUGINS);
		} else {
			e->files[list->count++] = left[i]->d_name;
			result = probe(spawner, list, last_round);
			e->files[--list->count] = NULL;
		}
		if (result == SOUND) {
			e->files[list->count] = strdup(left[i]->d_name);
			if (e->files[list->count])
				list->count++;
			else
				log_error("extension %s: no memory to load it", left[i]->d_name);
		}
		if (result == WAITS)
			left[kept++] = left[i];
		else
			free(left[i]);
	}
	return kept;
}

/* ---- the folder ---- */

/*
 * Removes from a list of plug-ins the files that distrust_file() rejects. Returns the number of
 * files that stay in the list.
 */
static unsigned int drop_distrusted(const char *folder, struct dirent **found, int count)
{
	unsigned int kept = 0;

	for (int i = 0; i < count; i++) {
		const char *reason = distrust_file(folder, found[i]->d_name);

		if (reason) {
			log_warning("extension %s: refused: %s", found[i]->d_name, reason);
			free(found[i]);
		} else {
			found[kept++] = found[i];
		}
	}
	return kept;
}

static bool check_folder(const struct extensions *e)
{
	const char *reason = NULL;
	struct stat st;

	if (stat(e->folder, &st))
		reason = strerror(errno);
	else if (!S_ISDIR(st.st_mode))
		reason = "it is not a folder";
	else
		reason = distrust(&st);
	if (!reason)
		return true;
	if (e->is_default && errno == ENOENT)
		log_debug("extensions: %s: %s", e->folder, reason);
	else
		log_error("extensions: %s: %s", e->folder, reason);
	return false;
}

static void find_group(struct extensions *e)
{
	const struct group *group = getgrnam(e->group);
	char *end;

	if (group) {
		e->gid = group->gr_gid;
		e->has_group = true;
		return;
	}
	e->gid = (gid_t)strtoul(e->group, &end, 10);
	e->has_group = end != e->group && !*end;
}

bool extensions_find(struct extensions *e, const struct spawner *spawner)
{
	struct dirent **found;
	unsigned int left, before;
	int count;

	e->plugins = (struct spawn_plugins){ .folder = e->folder, .files = e->files };
	errno = 0;
	if (!check_folder(e))
		return e->is_default;
	if (spawner->options.isolation == ISOLATE_NONE) {
		log_warning("extensions: none, as workers have no namespaces");
		return true;
	}
	count = scandir(e->folder, &found, is_plugin_name, alphasort);
	if (count < 0) {
		log_error("extensions: %s: %s", e->folder, strerror(errno));
		return false;
	}
	left = drop_distrusted(e->folder, found, count);
	do {
		before = left;
		left = try_all(e, spawner, found, left, false);
	} while (left && left < before);
	try_all(e, spawner, found, left, true);
	free(found);
	find_group(e);
	if (e->plugins.count && !e->has_group)
		log_warning("extensions: there is no group %s: only services and labels of %s get them",
			    e->group, e->list.list.path);
	return true;
}

void extensions_free(struct extensions *e)
{
	while (e->plugins.count)
		free(e->files[--e->plugins.count]);
	allowlist_free(&e->list);
}

static bool is_in_group(const struct extensions *e, int engine, uint64_t context)
{
	struct nnaccel_engine_opener arg = {
		.size = sizeof(arg),
		.context = context,
		.gid = e->gid,
	};

	if (!e->has_group)
		return false;
	if (!ioctl(engine, NNACCEL_ENGINE_OPENER, &arg))
		return arg.out_member;
	if (errno != ENOENT)
		log_error("context %llu: its groups are not known: %s",
			  (unsigned long long)context, strerror(errno));
	return false;
}

/* Reads a file of /proc as a line; returns NULL on failure. */
static const char *read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/*
 * Returns whether the allowlist contains the label or the service of the process that opened the
 * context. Returns false if the process ended while its label and service were read.
 */
static bool is_listed(struct extensions *e, int engine, uint64_t context)
{
	uint32_t pid, later;
	char process[16], path[64], cgroup[4096], line[512];
	const char *label;
	bool has_cgroup, listed;

	if (!context_opener(engine, context, &pid) || !pid)
		return false;
	snprintf(process, sizeof(process), "%u", pid);
	snprintf(path, sizeof(path), "/proc/%u/attr/current", pid);
	has_cgroup = cgroup_path_of(process, cgroup, sizeof(cgroup)) && !strstr(cgroup, "/..");
	label = read_line(path, line, sizeof(line));
	listed = allowlist_admits_service(&e->list, has_cgroup ? cgroup : NULL, label);
	return listed && context_opener(engine, context, &later) && later == pid;
}

bool extensions_admit(struct extensions *e, int engine, uint64_t context)
{
	return e->plugins.count && (is_in_group(e, engine, context) ||
				    is_listed(e, engine, context));
}
