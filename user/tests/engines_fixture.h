/* SPDX-License-Identifier: MIT */
/* Starts more engines for a test: processes of nnacceld with other names. */
#ifndef NN_TESTS_ENGINES_FIXTURE_H
#define NN_TESTS_ENGINES_FIXTURE_H

#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUM_OTHERS 2

static const char *const others[NUM_OTHERS] = { "test-second", "test-third" };
static pid_t other_pids[NUM_OTHERS];

/*
 * Starts an engine, without a cgroup, as the user that owns the engine node. The function
 * start_other() reads the engine's log until the log says that the engine is ready.
 */
static inline bool start_other(int i)
{
	struct stat node;
	char name[64], line[512];
	bool ready = false;
	FILE *log;
	int ends[2];

	snprintf(name, sizeof(name), "--name=%s", others[i]);
	if (stat("/dev/nnaccel-engine", &node) || pipe(ends))
		return false;
	other_pids[i] = fork();
	if (!other_pids[i]) {
		if (setgroups(0, NULL) || setresgid(node.st_gid, node.st_gid, node.st_gid) ||
		    setresuid(node.st_uid, node.st_uid, node.st_uid))
			_exit(127);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execlp("nnacceld", "nnacceld", name, "--no-cache", NULL);
		_exit(127);
	}
	close(ends[1]);
	log = fdopen(ends[0], "r");
	while (log && !ready && fgets(line, sizeof(line), log)) {
		printf("# %s", line);
		ready = strstr(line, "ready");
	}
	/*
	 * The pipe of the engine's log stays open, so that the engine can continue to write the
	 * log.
	 */
	return ready;
}

static inline void stop_other(int i, int signal)
{
	if (other_pids[i] <= 0)
		return;
	kill(other_pids[i], signal);
	waitpid(other_pids[i], NULL, 0);
	other_pids[i] = 0;
}

static inline int start_others(void **state)
{
	(void)state;
	for (int i = 0; i < NUM_OTHERS; i++)
		if (!start_other(i))
			return -1;
	return 0;
}

static inline int stop_others(void **state)
{
	(void)state;
	for (int i = 0; i < NUM_OTHERS; i++)
		stop_other(i, SIGTERM);
	return 0;
}

#endif /* NN_TESTS_ENGINES_FIXTURE_H */
