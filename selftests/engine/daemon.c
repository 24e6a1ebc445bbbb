// SPDX-License-Identifier: MIT
/*
 * Tests a running nnacceld as a client: workers start, are replaced after death, and end with the
 * context, and each user has a limit of workers.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nnaccel.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define WORKER "nnacceld-worker\n"
#define SESSION_FD 4
#define MAX_WORKERS 128

/*
 * WORKERS_PER_USER and FREE_CRASHES are defaults of nnacceld. Without NNACCEL_ALL, the tests allow
 * each user only FEW_WORKERS workers.
 */
#define WORKERS_PER_USER 64
#define FEW_WORKERS "6"
#define FREE_CRASHES 3

/*
 * Each test has its own user id, because limits that one test reaches would affect later tests of
 * the same user.
 */
enum { UID_CRASH = 5001, UID_MANY = 5002 };

static int query(int fd, uint32_t what, uint32_t *status)
{
	char answer[4096];
	struct nnaccel_query query = {
		.size = sizeof(query),
		.query = what,
		.data = (uintptr_t)answer,
		.data_size = sizeof(answer),
	};
	int error = xioctl(fd, NNACCEL_WORK_QUERY, &query);

	if (!error)
		*status = query.out_status;
	return error;
}

/*
 * Queries the device's description. Returns 0 or an errno, which is EIO if the engine's status is a
 * failure.
 */
static int ask(int fd)
{
	uint32_t status;
	int error = query(fd, NNACCEL_QUERY_DEVICE, &status);

	return error ? error : status == NNACCEL_STATUS_NONE ? 0 : EIO;
}

/* A worker without a session may have /dev/null in place of the session's file. */
static bool is_serving_worker(const char *pid)
{
	static const char session[] = "anon_inode:";
	char path[300], comm[32] = "", file[sizeof(session)] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, comm, sizeof(comm) - 1) < 0)
		comm[0] = '\0';
	close(fd);
	snprintf(path, sizeof(path), "/proc/%s/fd/%d", pid, SESSION_FD);
	return !strcmp(comm, WORKER) && readlink(path, file, sizeof(file) - 1) > 0 &&
	       !strcmp(file, session);
}

/* Lists the process ids of the workers that have a session. */
static int list_workers(pid_t *pids)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (proc && count < MAX_WORKERS && (entry = readdir(proc))) {
		if (atoi(entry->d_name) > 0 && is_serving_worker(entry->d_name))
			pids[count++] = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return count;
}

/* Returns a worker that is not in the list @before, or 0 if all workers are in the list. */
static pid_t new_worker(const pid_t *before, int num_before)
{
	pid_t now[MAX_WORKERS];
	int num_now = list_workers(now);

	for (int i = 0; i < num_now; i++) {
		bool known = false;

		for (int k = 0; k < num_before; k++)
			known |= now[i] == before[k];
		if (!known)
			return now[i];
	}
	return 0;
}

/* Opens a context of the device and waits until the context has a worker. */
static pid_t open_served(int *fd)
{
	pid_t before[MAX_WORKERS];
	int num_before = list_workers(before);

	*fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (*fd < 0 || ask(*fd))
		return 0;
	return new_worker(before, num_before);
}

static void wait_gone(pid_t pid)
{
	while (!kill(pid, 0))
		usleep(1000);
}

/*
 * Ends a worker by a signal, and waits until the process is gone. Returns false if the worker was
 * gone before the signal.
 */
static bool end_worker(pid_t pid, int signal)
{
	if (kill(pid, signal))
		return false;
	wait_gone(pid);
	return true;
}

static int workers_per_user(void)
{
	return how_often(WORKERS_PER_USER, atoi(FEW_WORKERS));
}

/* The tests share one nnacceld, which ends with this program. */
static bool started;

static void __attribute__((constructor)) start_daemon(void)
{
	started = !geteuid() && daemon_stop() &&
		  daemon_start(workers_per_user() == WORKERS_PER_USER ? NULL :
			       "--max-workers-per-user=" FEW_WORKERS);
}

FIXTURE(engine) {
	long long wait_ms;
	int fd;
};

FIXTURE_SETUP(engine)
{
	ASSERT_TRUE(started);
	/*
	 * Set a long limit for a call's wait for a worker, because workers start slowly on slow
	 * machines.
	 */
	self->wait_ms = param_set("engine_wait_ms", 100000);
	self->fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	/* Make sure that the fixture's context has a worker before a test looks for new workers. */
	ASSERT_EQ(ask(self->fd), 0);
}

FIXTURE_TEARDOWN(engine)
{
	close(self->fd);
	param_set("engine_wait_ms", self->wait_ms);
}

TEST_F(engine, answers)
{
	uint32_t status;

	ASSERT_EQ(ask(self->fd), 0);
	ASSERT_EQ(query(self->fd, 4711, &status), 0);
	EXPECT_EQ(status, NNACCEL_STATUS_INVALID_ARGUMENT);
}

TEST_F(engine, one_worker_for_each_context)
{
	pid_t first, second;
	int one, two;

	first = open_served(&one);
	second = open_served(&two);
	EXPECT_GT(first, 0);
	EXPECT_GT(second, 0);
	EXPECT_NE(first, second);
	EXPECT_EQ(close(one), 0);
	wait_gone(first);
	EXPECT_EQ(ask(two), 0);
	EXPECT_EQ(kill(second, 0), 0);
	close(two);
	wait_gone(second);
}

/*
 * nnacceld assumes that an administrator has sent SIGKILL to a worker, so the user's next worker
 * starts without a delay.
 */
TEST_F(engine, killed_worker_is_replaced)
{
	pid_t worker;
	int fd;

	for (int i = 0; i < how_often(3 * FREE_CRASHES + 2, FREE_CRASHES + 1); i++) {
		worker = open_served(&fd);
		ASSERT_GT(worker, 0);
		ASSERT_TRUE(end_worker(worker, SIGKILL));
		EXPECT_EQ(ask(fd), 0);
		close(fd);
	}
}

/* A worker that SIGSTOP has stopped is killed soon after the worker's context has ended. */
TEST_F(engine, stuck_worker_is_killed)
{
	pid_t worker;
	int fd;

	worker = open_served(&fd);
	ASSERT_GT(worker, 0);
	ASSERT_EQ(kill(worker, SIGSTOP), 0);
	close(fd);
	wait_gone(worker);
}

/* Runs @act in a child with its own user id; returns the child's exit code. */
static int as_user(uid_t uid, int (*act)(const int *fds, int count), const int *fds, int count)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!become_user(uid, uid))
			_exit(200);
		_exit(act(fds, count));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 201;
	return WEXITSTATUS(status);
}

/* Opens a context, gets a worker for the context, notifies the parent and waits. */
static int be_served(const int *fds, int count)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	int error = fd < 0 ? errno : ask(fd);
	char byte = (char)error;

	if (write(fds[0], &byte, 1) != 1 || error)
		return error;
	return read(fds[1], &byte, 1) == 1 ? 0 : 202;
}

/* Crashes a worker of the user @uid; returns the errno of the user's next call. */
static int crash_once(uid_t uid)
{
	pid_t before[MAX_WORKERS], child, worker;
	int num_before = list_workers(before);
	int tell[2], go[2], status;
	char byte = 0;

	if (pipe(tell) || pipe(go))
		return 203;
	child = fork();
	if (child == 0)
		_exit(as_user(uid, be_served, (int[]){ tell[1], go[0] }, 2));
	close(tell[1]);
	if (child < 0 || read(tell[0], &byte, 1) != 1)
		byte = 99;
	worker = byte ? 0 : new_worker(before, num_before);
	/* SIGBUS is the only signal besides SIGKILL and SIGSTOP that a worker does not block. */
	if (worker && !end_worker(worker, SIGBUS))
		byte = 98;
	if (!byte && !worker)
		byte = 97;
	if (write(go[1], &byte, 1) != 1)
		byte = 96;
	waitpid(child, &status, 0);
	close(tell[0]);
	close(go[0]);
	close(go[1]);
	return byte;
}

TEST_F(engine, crash_loop_backs_off)
{
	for (int i = 0; i <= FREE_CRASHES; i++)
		ASSERT_EQ(crash_once(UID_CRASH), 0);
	/* Repeat the crash, because the broker notices a worker's death a moment later. */
	while (crash_once(UID_CRASH) != EAGAIN)
		;
	EXPECT_EQ(ask(self->fd), 0);
}

/*
 * Opens up to @count contexts until the engine refuses a context. Returns the number of contexts
 * that got a worker before the engine refused a context, 254 if no context was refused, or 255
 * after another error.
 */
static int open_many(const int *fds, int count)
{
	for (int opened = 0; opened < count; opened++) {
		int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
		int error = fd < 0 ? errno : ask(fd);

		if (error)
			return error == EUSERS ? opened : 255;
	}
	return 254;
}

TEST_F(engine, workers_of_a_user_are_limited)
{
	const int limit = workers_per_user();

	EXPECT_EQ(as_user(UID_MANY, open_many, NULL, limit + 1), limit);
	EXPECT_EQ(ask(self->fd), 0);
}

/*
 * Returns the process id of the nnacceld that this program started. The search checks the parent,
 * because a new child of nnacceld has the name nnacceld for a moment.
 */
static pid_t find_broker(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && (entry = readdir(proc))) {
		char path[300], comm[32] = "", state;
		int parent = 0;
		FILE *stat;

		if (atoi(entry->d_name) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		stat = fopen(path, "re");
		if (stat && fscanf(stat, "%*d (%31[^)]) %c %d", comm, &state, &parent) == 3 &&
		    state != 'Z' && parent == getppid() && !strcmp(comm, "nnacceld"))
			found = atoi(entry->d_name);
		if (stat)
			fclose(stat);
	}
	if (proc)
		closedir(proc);
	return found;
}

/*
 * After the broker is killed, a new broker serves contexts with new workers. This test must run
 * last, because it kills the nnacceld of all tests. The killed broker stays a zombie, because its
 * parent does not wait for it.
 */
TEST_F(engine, workers_end_with_the_broker)
{
	pid_t broker = find_broker(), worker;
	int fd;

	worker = open_served(&fd);
	ASSERT_GT(worker, 0);
	ASSERT_GT(broker, 0);
	ASSERT_EQ(kill(broker, SIGKILL), 0);
	while (find_broker())
		usleep(1000);
	wait_gone(worker);
	ASSERT_TRUE(daemon_start(NULL));
	EXPECT_EQ(ask(fd), 0);
	EXPECT_EQ(ask(self->fd), 0);
	close(fd);
}

TEST_HARNESS_MAIN
