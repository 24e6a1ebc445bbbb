// SPDX-License-Identifier: MIT
/*
 * nnacceld under adverse conditions. The tests kill nnacceld during its start, when it opens the
 * n-th file, for each n or for each fourth n. The tests run nnacceld with a log that is not read,
 * and with SIGCHLD ignored.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness.h"

/* Number of the system call that the C library's epoll_wait() makes. */
#ifdef SYS_epoll_wait
#define EPOLL_WAIT_NR SYS_epoll_wait
#else
#define EPOLL_WAIT_NR SYS_epoll_pwait
#endif

FIXTURE(broker) {
	pid_t pid;
	FILE *log;
};

FIXTURE_SETUP(broker)
{
	int broker = broker_open();

	ASSERT_GE(broker, 0);
	close(broker);
}

FIXTURE_TEARDOWN(broker)
{
	if (self->log)
		fclose(self->log);
}

/* Starts nnacceld with a pipe for its log. */
static void start(struct __test_metadata *_metadata, FIXTURE_DATA(broker) *self,
		  void (*on_child)(int))
{
	int ends[2];

	ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
	self->pid = fork();
	ASSERT_GE(self->pid, 0);
	if (!self->pid) {
		signal(SIGCHLD, on_child);
		dup2(ends[1], STDERR_FILENO);
		execlp("nnacceld", "nnacceld", "--log-level=debug", NULL);
		_exit(127);
	}
	close(ends[1]);
	self->log = fdopen(ends[0], "r");
	ASSERT_NE(self->log, NULL);
}

static void kill_broker(FIXTURE_DATA(broker) *self)
{
	int status;

	kill(self->pid, SIGKILL);
	waitpid(self->pid, &status, 0);
}

/* Reads nnacceld's log until a worker is ready, and returns the worker's process id, or 0. */
static pid_t await_worker(FILE *log)
{
	char line[1024];
	int pid;

	while (fgets(line, sizeof(line), log)) {
		if (sscanf(line, "nnacceld: worker %d: ready", &pid) == 1)
			return pid;
		fprintf(stderr, "# %s", line);
	}
	return 0;
}

/*
 * Waits until no broker is registered as ENGINE_NAME. Returns false if opening a broker fails with
 * an error other than EBUSY.
 */
static bool node_becomes_free(void)
{
	int broker;

	while ((broker = broker_open_as(ENGINE_NAME, NULL)) < 0) {
		if (errno != EBUSY)
			return false;
		poll(NULL, 0, 10);
	}
	close(broker);
	return true;
}

/*
 * Continues a traced nnacceld until it has opened @files files after its first fork. Returns false
 * if nnacceld waits for events before it has opened @files files.
 */
static bool step(pid_t pid, int files)
{
	struct __ptrace_syscall_info info;
	bool cloned = false;
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD))
		return false;
	while (files) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == EPOLL_WAIT_NR)
			return false;
		cloned = cloned || info.entry.nr == SYS_clone3;
		files -= cloned && info.entry.nr == SYS_openat;
	}
	return true;
}

TEST_F(broker, killed_at_start)
{
	bool starting = true;

	for (int files = 1; starting; files += how_often(1, 4)) {
		self->pid = fork();
		ASSERT_GE(self->pid, 0);
		if (!self->pid) {
			dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			execlp("nnacceld", "nnacceld", NULL);
			_exit(127);
		}
		starting = step(self->pid, files);
		kill_broker(self);
		ASSERT_TRUE(node_becomes_free())
			TH_LOG("killed as it opened file %d", files);
	}
}

TEST_F(broker, log_not_read)
{
	struct nnaccel_query query;
	uint8_t answer[4096];
	int fd;

	start(_metadata, self, SIG_DFL);
	ASSERT_GT(await_worker(self->log), 0);
	fclose(self->log);
	self->log = NULL;
	fd = device_open();
	ASSERT_GE(fd, 0);
	query_init(&query, NNACCEL_QUERY_DEVICE, answer, sizeof(answer));
	EXPECT_EQ(xioctl(fd, NNACCEL_WORK_QUERY, &query), 0);
	close(fd);
	EXPECT_EQ(kill(self->pid, SIGTERM), 0);
	EXPECT_EQ(waitpid(self->pid, &fd, 0), self->pid);
	EXPECT_TRUE(WIFEXITED(fd) && !WEXITSTATUS(fd));
}

TEST_F(broker, children_ignored)
{
	char line[1024] = "", want[64];
	pid_t worker;

	start(_metadata, self, SIG_IGN);
	worker = await_worker(self->log);
	ASSERT_GT(worker, 0);
	snprintf(want, sizeof(want), "worker %d: killed by signal 9", worker);
	EXPECT_EQ(kill(worker, SIGKILL), 0);
	while (fgets(line, sizeof(line), self->log) && !strstr(line, "killed by"))
		;
	EXPECT_NE(strstr(line, want), NULL)
		TH_LOG("%s", line);
	kill_broker(self);
}

TEST_HARNESS_MAIN
