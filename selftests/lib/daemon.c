// SPDX-License-Identifier: MIT
/*
 * Starts and stops nnacceld for the tests. Most tests stop nnacceld and act as the engine; other
 * tests start nnacceld.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "engine.h"

#define NAME "nnacceld"

/* Process id of the nnacceld that daemon_start() started, and that daemon_stop() reaps. */
static pid_t started;

/* Returns whether the process @pid is alive, and is nnacceld or one of its workers. */
static bool is_daemon(const char *pid)
{
	char path[300], comm[32] = "", state = 'Z';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%31[^)]) %c", comm, &state) != 2)
		state = 'Z';
	fclose(file);
	return state != 'Z' && !strncmp(comm, NAME, strlen(NAME));
}

/*
 * Sends a signal to nnacceld and its workers. Returns the number of processes that got the signal.
 */
static int signal_all(int signal)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (proc && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0 && is_daemon(entry->d_name))
			count += !kill(atoi(entry->d_name), signal);
	if (proc)
		closedir(proc);
	return count;
}

bool daemon_stop(void)
{
	if (!signal_all(SIGTERM))
		return true;
	while (signal_all(0)) {
		if (started > 0)
			waitpid(started, NULL, WNOHANG);
		usleep(10000);
	}
	return true;
}

/*
 * Executes nnacceld in this process, with its log in @log. The process gets SIGTERM when the test
 * that started it ends.
 */
static void daemon_exec(const struct stat *node, const char *option, int log)
{
	if (setgroups(0, NULL) || setresgid(node->st_gid, node->st_gid, node->st_gid) ||
	    setresuid(node->st_uid, node->st_uid, node->st_uid))
		_exit(127);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(log, STDERR_FILENO);
	execlp(NAME, NAME, option, NULL);
	_exit(127);
}

bool daemon_start(const char *option)
{
	int log[2];
	bool ready = false;
	struct stat node;
	char line[512];
	FILE *lines;

	if (stat(ENGINE_NODE, &node) || pipe2(log, O_CLOEXEC))
		return false;
	started = fork();
	if (started == 0)
		daemon_exec(&node, option, log[1]);
	close(log[1]);
	lines = started > 0 ? fdopen(log[0], "r") : NULL;
	/*
	 * Leave the pipe of nnacceld's log open, because nnacceld may write to the log at any time.
	 */
	while (lines && !ready && fgets(line, sizeof(line), lines)) {
		fprintf(stderr, "# %s", line);
		ready = strstr(line, "ready");
	}
	return ready;
}
