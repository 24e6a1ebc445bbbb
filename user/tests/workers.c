/* SPDX-License-Identifier: MIT */
/*
 * The engine's workers, as a test that is root sees them in /proc.
 */
#define _GNU_SOURCE
#include "tests/workers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Times 10 ms that workers of clients that are gone may take to go. */
#define TRIES 1000

/* Whether a process is a worker that serves a session. */
static bool is_busy_worker(const char *pid)
{
	char path[288], text[64] = "";
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0 || !strstr(text, "nnacceld-worker"))
		return false;
	snprintf(path, sizeof(path), "/proc/%s/fd/4", pid);
	size = readlink(path, text, sizeof(text) - 1);
	return size > 0 && (text[size] = 0, strstr(text, "nnaccel"));
}

/* How many there are, and one of them. */
static int scan(pid_t *found)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_busy_worker(entry->d_name)) {
			*found = atoi(entry->d_name);
			count++;
		}
	}
	if (proc)
		closedir(proc);
	return count;
}

pid_t workers_find(void)
{
	pid_t found = -1;

	for (int i = 0; i < TRIES; i++) {
		if (scan(&found) == 1)
			return found;
		usleep(10000);
	}
	return -1;
}

bool workers_kill(void)
{
	pid_t worker = workers_find();

	return worker > 0 && !kill(worker, SIGKILL);
}
