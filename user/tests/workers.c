/* SPDX-License-Identifier: MIT */
/* Finds the engine's workers in /proc, as root. */
#define _GNU_SOURCE
#include "../../selftests/lib/runner.h"
#include "tests/workers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Maximum time, in units of 10 ms, that the test waits for the end of the workers of ended clients.
 */
#define TRIES scaled(1000)

/*
 * Reads the beginning of a process's file in /proc as text. Returns false if the file does not
 * exist.
 */
static bool read_file(const char *pid, const char *name, char text[64])
{
	char path[288];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, 63);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	return size > 0;
}

/* Returns true if a process is a worker that serves a session. */
static bool is_busy_worker(const char *pid)
{
	char path[288], text[64];
	ssize_t size;

	if (!read_file(pid, "cmdline", text) || !strstr(text, "nnacceld-worker"))
		return false;
	snprintf(path, sizeof(path), "/proc/%s/fd/4", pid);
	size = readlink(path, text, sizeof(text) - 1);
	return size > 0 && (text[size] = 0, strstr(text, "nnaccel"));
}

static bool is_keeper(const char *pid)
{
	char text[64];

	return read_file(pid, "comm", text) && !strcmp(text, "nnacceld-keeper\n");
}

/*
 * Returns the number of processes for which is_such() is true, and stores one of these processes in
 * *found.
 */
static int scan(bool (*is_such)(const char *pid), pid_t *found)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_such(entry->d_name)) {
			*found = atoi(entry->d_name);
			count++;
		}
	}
	if (proc)
		closedir(proc);
	return count;
}

/* Returns the CPU time of a thread in ns, or -1 if the thread is gone. */
static int64_t thread_time(pid_t process, pid_t thread)
{
	long long time = -1;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)process, (int)thread);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%lld", &time) != 1)
		time = -1;
	fclose(file);
	return time;
}

/*
 * Returns the sum of the CPU times of a process's threads. If `busiest` is not NULL, stores the
 * thread with the most CPU time in *busiest.
 */
static int64_t sum_times(pid_t process, pid_t *busiest)
{
	int64_t sum = -1, most = -1, time;
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		time = entry->d_name[0] == '.' ? -1 : thread_time(process, atoi(entry->d_name));
		if (time < 0)
			continue;
		sum = sum < 0 ? time : sum + time;
		if (time > most && busiest)
			*busiest = atoi(entry->d_name);
		most = time > most ? time : most;
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

pid_t workers_busiest_thread(pid_t worker)
{
	pid_t busiest = -1;

	sum_times(worker, &busiest);
	return busiest;
}

int64_t workers_cpu_time(pid_t worker)
{
	return sum_times(worker, NULL);
}

/* Returns true if a process's command line begins with `program` and contains `argument`. */
static bool has_argument(const char *pid, const char *program, const char *argument)
{
	char path[288], text[1024] = "";
	const char *name;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	name = strrchr(text, '/') ? strrchr(text, '/') + 1 : text;
	if (strcmp(name, program))
		return false;
	for (const char *at = text; at < text + size; at += strlen(at) + 1)
		if (!strcmp(at, argument))
			return true;
	return false;
}

bool workers_have_option(const char *option)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (proc && (entry = readdir(proc)))
		found |= entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			 has_argument(entry->d_name, "nnacceld", option);
	if (proc)
		closedir(proc);
	return found;
}

pid_t workers_find(void)
{
	pid_t found = -1;

	for (unsigned long long i = TRIES; i; i--) {
		if (scan(is_busy_worker, &found) == 1)
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

pid_t workers_find_keeper(void)
{
	pid_t pid;

	return scan(is_keeper, &pid) == 1 ? pid : -1;
}
