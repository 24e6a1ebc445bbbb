/* SPDX-License-Identifier: MIT */
/* Finds, in /proc, the files of the device that clients have open. */
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "clients.h"

void clients_read_name(const char *pid, char name[CLIENT_NAME_SIZE + 1])
{
	char path[64];
	FILE *file;

	name[0] = 0;
	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(name, CLIENT_NAME_SIZE + 1, file))
		name[strcspn(name, "\n")] = 0;
	fclose(file);
}

/* Returns whether an open file may be an nnaccel device, by the name of the file alone. */
static bool is_candidate(const char *pid, const char *fd)
{
	char path[64], target[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid, fd);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return false;
	target[size] = 0;
	return strstr(target, "nnaccel");
}

static void show_process(const char *pid, client_file_fn *fn, void *arg)
{
	struct dirent *entry;
	char path[64];
	DIR *files;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	files = opendir(path);
	while (files && (entry = readdir(files))) {
		if (!is_candidate(pid, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/fdinfo/%.20s", pid, entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		fn(arg, pid, file);
		fclose(file);
	}
	if (files)
		closedir(files);
}

bool clients_each_file(client_file_fn *fn, void *arg)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	if (!processes)
		return false;
	while ((entry = readdir(processes)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			show_process(entry->d_name, fn, arg);
	closedir(processes);
	return true;
}
