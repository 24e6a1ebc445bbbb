/* SPDX-License-Identifier: MIT */
/*
 * Takes the samples of a soak: the module's counters, the kernel's memory, and the engine's
 * processes.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "summary.h"
#include "tests/soak/soak.h"

#define CGROUP "/sys/fs/cgroup/nnacceld/"

/*
 * The sampled values, with the allowed growth of each value. The module's gauges may not grow:
 * after a round, each gauge must have the value that it had before the round.
 */
const struct soak_value soak_values[SOAK_VALUES] = {
	{ "contexts", 0, 0 },
	{ "models", 0, 0 },
	{ "commands", 0, 0 },
	{ "pool-KiB", 0, 0 },
	{ "slab-KiB", 5, 2048 },		/* SUnreclaim */
	/*
	 * Memory of the engine's cgroup, which may change because the number of idle workers may
	 * differ by one.
	 */
	{ "engine-KiB", 5, 8192 },
	{ "engine-threads", 20, 64 },		/* including idle workers */
	{ "broker-fds", 0, 8 },
	{ "keeper-fds", 0, 8 },
	{ "broker-KiB", 10, 1024 },		/* private memory */
	{ "keeper-KiB", 10, 1024 },
	{ "open-files", 0, 64 },		/* number of open files of the machine */
};

/* Returns the number after the word `name` in a file, or -1 if `name` is missing. */
static long long number_in(const char *path, const char *name)
{
	size_t length = strlen(name);
	long long value = -1;
	char line[256];
	FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && strchr(": \t", line[length]))
			value = atoll(line + length + 1);
	if (file)
		fclose(file);
	return value;
}

static long long first_in(const char *path)
{
	long long value = -1;
	FILE *file = fopen(path, "re");

	if (file && fscanf(file, "%lld", &value) != 1)
		value = -1;
	if (file)
		fclose(file);
	return value;
}

/*
 * Returns whether a process has the name `name`, which is the last part of the path in the
 * process's first argument.
 */
static bool is_named(const char *pid, const char *name)
{
	char path[300], text[256] = "";
	const char *last;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fread(text, 1, sizeof(text) - 1, file))
		text[0] = '\0';
	fclose(file);
	last = strrchr(text, '/');
	return !strcmp(last ? last + 1 : text, name);
}

/*
 * Returns whether the parent of a process also has the name `name`. A forked process keeps its
 * parent's name until it sets its own name.
 */
static bool is_copy(const char *pid, const char *name)
{
	char path[300], parent[16];

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	snprintf(parent, sizeof(parent), "%lld", number_in(path, "PPid"));
	return is_named(parent, name);
}

/*
 * Returns the id of a process with the name `name`, or 0 if there is no such process; `turn`
 * selects one of several processes.
 */
static pid_t find(const char *name, unsigned int turn)
{
	pid_t found[256] = { 0 };
	unsigned int count = 0;
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (count < 256 && entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_named(entry->d_name, name) && !is_copy(entry->d_name, name))
			found[count++] = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	return count ? found[turn % count] : 0;
}

bool soak_kill(const char *name)
{
	pid_t pid = find(name, (unsigned int)rand());

	return pid > 0 && !kill(pid, SIGKILL);
}

static long long fds_of(pid_t pid)
{
	char path[64];
	long long count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!pid || !dir)
		return -1;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static long long memory_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return pid ? number_in(path, "RssAnon") : -1;
}

static long long bytes_to_kib(long long bytes)
{
	return bytes < 0 ? -1 : bytes / 1024;
}

void soak_sample(struct soak_sample *sample)
{
	pid_t broker = find("nnacceld", 0), keeper = find("nnacceld-keeper", 0);
	long long anon = number_in(CGROUP "memory.stat", "anon");
	long long kernel = number_in(CGROUP "memory.stat", "kernel");

	*sample = (struct soak_sample){ .values = {
		summary_get(-1, "contexts"), summary_get(-1, "models"), summary_get(-1, "commands"),
		bytes_to_kib(summary_get(-1, "pool-bytes")),
		number_in("/proc/meminfo", "SUnreclaim"),
		anon < 0 ? -1 : bytes_to_kib(anon + (kernel > 0 ? kernel : 0)),
		first_in(CGROUP "pids.current"),
		fds_of(broker), fds_of(keeper), memory_of(broker), memory_of(keeper),
		first_in("/proc/sys/fs/file-nr"),
	} };
}
