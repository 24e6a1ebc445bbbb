/* SPDX-License-Identifier: MIT */
/*
 * The tested engine.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/nnaccel.h>
#include <nnaccel/engine_model.h>

#include "base/clock.h"
#include "tools/engine_test/target.h"

/* Time limit from the start of an engine's program until the program serves clients. */
#define START_NS (20 * NS_PER_S)

/* ---- calls that hang ---- */

static struct {
	/* process group to kill at the time limit; 0: this process ends instead */
	volatile sig_atomic_t group;
	volatile sig_atomic_t expired;
	const char *volatile what;
} guard;

static void on_alarm(int signal)
{
	static const char text[] = "nnaccel engine-test: the engine hangs: ";
	const char *what = guard.what;

	(void)signal;
	guard.expired = 1;
	if (guard.group) {
		kill(-guard.group, SIGKILL);
		return;
	}
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
	    write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

static void begin_guard(struct target *t, const char *what, unsigned int limit_s)
{
	if (!limit_s)
		return;
	guard.group = t->pid;
	guard.what = what;
	guard.expired = 0;
	alarm(limit_s);
}

void target_guard(struct target *t, const char *what)
{
	begin_guard(t, what, t->limit_s);
}

void target_guard_many(struct target *t, const char *what)
{
	begin_guard(t, what, 10 * t->limit_s);
}

bool target_unguard(struct target *t)
{
	if (!t->limit_s)
		return false;
	alarm(0);
	return guard.expired;
}

/* ---- the program ---- */

__attribute__((noreturn)) static void execute(const struct target *t)
{
	char direct[128], state[128], *argv[64];
	int argc = 0;

	while (t->program[argc] && argc < 60) {
		argv[argc] = t->program[argc];
		argc++;
	}
	snprintf(direct, sizeof(direct), "--direct=%s", t->socket);
	snprintf(state, sizeof(state), "--state=%s", t->folder);
	argv[argc++] = direct;
	argv[argc++] = state;
	argv[argc] = NULL;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execvp(argv[0], argv);
	fprintf(stderr, "nnaccel engine-test: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static bool start_program(struct target *t, struct nn_error *err)
{
	uint64_t until_ns = clock_ns() + START_NS;

	unlink(t->socket);
	t->pid = fork();
	if (!t->pid)
		execute(t);
	if (t->pid < 0)
		return !nn_fail(err, NN_GENERAL_FAILURE, "fork: %s", strerror(errno));
	setpgid(t->pid, t->pid);
	while (access(t->socket, F_OK)) {
		if (waitpid(t->pid, NULL, WNOHANG) == t->pid) {
			t->pid = 0;
			return !nn_fail(err, NN_GENERAL_FAILURE, "%s does not serve", t->program[0]);
		}
		if (clock_ns() > until_ns) {
			target_kill(t);
			return !nn_fail(err, NN_GENERAL_FAILURE, "%s did not make its socket",
					t->program[0]);
		}
		usleep(2000);
	}
	return true;
}

/*
 * Returns whether the library finds an engine; the library notices the end of an engine only after
 * some time.
 */
static bool is_attached(struct target *t)
{
	struct nna_context_info info = { .size = sizeof(info) };
	struct nn_error err = { "" };

	return t->device && !nna_device_get_context_info(t->device, &info, &err) &&
	       info.engine == NNACCEL_ENGINE_ATTACHED;
}

void target_kill(struct target *t)
{
	if (t->pid <= 0)
		return;
	kill(-t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	t->pid = 0;
	for (int i = 0; i < 5000 && is_attached(t); i++)
		usleep(1000);
}

bool target_start(struct target *t, struct nn_error *err)
{
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &action, NULL);
	if (t->program && !t->folder[0]) {
		strcpy(t->folder, "/tmp/nnaccel-engine-XXXXXX");
		if (!mkdtemp(t->folder))
			return !nn_fail(err, NN_GENERAL_FAILURE, "%s: %s", t->folder, strerror(errno));
		snprintf(t->socket, sizeof(t->socket), "%s/socket", t->folder);
		t->path = t->socket;
	}
	if (t->program && !t->pid && !start_program(t, err))
		return false;
	return t->device || !nna_device_open(t->path, &t->device, err);
}

bool target_recover(struct target *t)
{
	struct nn_device_info info = { .size = sizeof(info) };
	uint64_t until_ns = clock_ns() + START_NS;
	struct nn_error err = { "" };
	enum nn_status status = NN_GENERAL_FAILURE;

	do {
		/* A killed program may take some time to end. */
		if (t->pid && waitpid(t->pid, NULL, WNOHANG) == t->pid) {
			kill(-t->pid, SIGKILL);
			t->pid = 0;
		}
		/*
		 * The program may not start while processes of the killed program still end, because
		 * they lock the folder of state.
		 */
		if (target_start(t, &err)) {
			target_guard(t, "asked what it is");
			status = nna_device_get_info(t->device, &info, &err);
			if (target_unguard(t))
				target_kill(t);
		}
		/* After crashes of workers, the broker may refuse workers for some time. */
		if (status)
			usleep(100000);
	} while (status && clock_ns() < until_ns);
	return !status;
}

static void remove_folder(const char *path)
{
	char child[512];
	struct dirent *entry;
	DIR *folder = opendir(path);

	while (folder && (entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		if (unlink(child) && errno == EISDIR)
			remove_folder(child);
	}
	if (folder)
		closedir(folder);
	rmdir(path);
}

void target_stop(struct target *t)
{
	if (t->device)
		nna_device_close(t->device);
	t->device = NULL;
	target_kill(t);
	if (t->folder[0])
		remove_folder(t->folder);
}

/* ---- what it uses ---- */

static uint32_t count_files(const char *process)
{
	struct dirent *entry;
	char path[300];
	uint32_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%s/fd", process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

/*
 * Reads the numbers of a process's pages and threads. Returns whether the process belongs to the
 * process group.
 */
static bool read_stat(const char *process, pid_t group, long *pages, int *threads)
{
	char path[300], line[1024], *rest;
	bool is_read;
	int its = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", process);
	file = fopen(path, "re");
	/*
	 * In the file stat, count fields after the last bracket, because the process's name may
	 * contain any byte.
	 */
	rest = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	is_read = rest && sscanf(rest + 1, " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				 "%*d %d %*d %*u %*u %ld", &its, threads, pages) == 3;
	if (file)
		fclose(file);
	return is_read && its == group;
}

struct usage target_usage(const struct target *t)
{
	struct usage sum = { 0 };
	struct dirent *entry;
	DIR *folder = t->pid ? opendir("/proc") : NULL;

	while (folder && (entry = readdir(folder))) {
		long pages = 0;
		int threads = 0;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !read_stat(entry->d_name, t->pid, &pages, &threads))
			continue;
		sum.threads += (uint32_t)threads;
		sum.bytes += (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
		sum.files += count_files(entry->d_name);
	}
	if (folder)
		closedir(folder);
	return sum;
}
