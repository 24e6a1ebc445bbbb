// SPDX-License-Identifier: MIT
/*
 * Signals, job control stops, a tracer and the cgroup freezer interrupt calls that wait for the
 * engine. Each interrupted call must continue, and the engine must get each command once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporters.h"
#include "harness.h"
#include "signals.h"

#define FREEZER "/sys/fs/cgroup/nnaccel-wait"

FIXTURE(wait) {
	struct summary before;
	struct served s;
	uint32_t input;
	uint32_t output;
	uint32_t model;
	union command cmd;
};

FIXTURE_SETUP(wait)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->input = pool_alloc(self->s.fd, PAGE);
	self->output = pool_alloc(self->s.fd, PAGE);
	self->model = served_prepare(&self->s, self->input);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(wait)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/*
 * Makes a call in a second thread, interrupts the call before and after the worker's fetch, and
 * then answers the call's command.
 */
static int disturbed(FIXTURE_DATA(wait) *self, unsigned long request, void *arg)
{
	struct async async;
	union command more;

	if (!async_start(&async, self->s.fd, request, arg))
		return ENOMEM;
	await_commands(self->s.fd, 1);
	for (int i = 0; i < 3; i++)
		if (!disturb(async.thread))
			return ETIMEDOUT;
	if (session_fetch(self->s.session, 0, &self->cmd))
		return EPROTO;
	for (int i = 0; i < 3; i++)
		if (!disturb(async.thread))
			return ETIMEDOUT;
	/* The worker must get the command of the interrupted call only once. */
	if (session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &more) != EAGAIN)
		return EEXIST;
	if (session_answer(self->s.session, &self->cmd))
		return EPROTO;
	return async_wait(&async);
}

TEST_F(wait, signal_with_and_without_restart)
{
	const int flags[] = { SA_RESTART, 0 };
	struct execution e;

	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(handle(SIGUSR1, count_signal, flags[i]));
		execution_init(&e, self->model, self->input, self->output);
		EXPECT_EQ(disturbed(self, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
		EXPECT_EQ(e.cmd.out_status, NNACCEL_STATUS_NONE);
		EXPECT_EQ(e.cmd.out_num_shapes, 1);
		EXPECT_EQ(e.shape.dims[0], 1);
			EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), i + 1);
	}
}

TEST_F(wait, each_call)
{
	uint8_t supported[4];
	struct nnaccel_prepare_cached cached;
	struct nnaccel_supported supports;
	struct nnaccel_burst_create burst;
	struct nnaccel_prepare prepare;
	struct nnaccel_cache_save save;
	struct saved saved;
	struct nnaccel_query query;
	struct allocation alloc;
	uint32_t answer;

	ASSERT_TRUE(handle(SIGUSR1, count_signal, 0));
	query_init(&query, 1, &answer, sizeof(answer));
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_QUERY, &query), 0);
	EXPECT_EQ(answer, 1);
	supported_init(&supports, self->input, 1, supported, 4);
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_SUPPORTED, &supports), 0);
	EXPECT_EQ(supported[3], 1);
	prepare_init(&prepare, self->input, 1);
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_PREPARE, &prepare), 0);
	EXPECT_NE(prepare.out_model, 0);
	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	EXPECT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
	prepare_cached_init(&cached, &saved, self->input, 1, 0, 0);
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_PREPARE_CACHED, &cached), 0);
	EXPECT_NE(cached.out_model, 0);
	cache_save_init(&save, &saved, cached.out_model, self->input, PAGE, 0, 0);
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_CACHE_SAVE, &save), 0);
	allocation_init(&alloc, self->model, 16);
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_BUFFER_ALLOC, &alloc.cmd), 0);
	EXPECT_NE(alloc.cmd.out_buffer, 0);
	EXPECT_EQ(object_destroy(self->s.fd, alloc.cmd.out_buffer), 0);
	EXPECT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	burst_init(&burst, self->model, 0);
	EXPECT_EQ(disturbed(self, NNACCEL_WORK_BURST, &burst), 0);
	EXPECT_GE(burst.out_fd, 0);
	close(burst.out_fd);
}

/*
 * Interrupts a buffer copy that the worker makes. After the copy the worker must get the notice
 * that the copy's staging pool is freed.
 */
static int disturbed_copy(FIXTURE_DATA(wait) *self, struct nnaccel_buffer_copy *copy)
{
	int ret = disturbed(self, NNACCEL_WORK_BUFFER_COPY, copy);

	if (ret || copy->out_status != NNACCEL_STATUS_NONE)
		return ret ?: EIO;
	ret = session_fetch(self->s.session, 0, &self->cmd);
	return self->cmd.head.kind == NNACCEL_DO_FORGET_GRANT ? ret : EPROTO;
}

/*
 * Allocates a buffer whose layout only the worker can convert, so that the worker makes each copy
 * of the buffer.
 */
static uint32_t converted_buffer(struct __test_metadata *_metadata, FIXTURE_DATA(wait) *self)
{
	const uint32_t layout = NNACCEL_LAYOUT_ENGINE;
	struct allocation alloc;
	struct async async;

	allocation_init(&alloc, self->model, 16);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &alloc.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie, NNACCEL_STATUS_NONE,
				 &layout, sizeof(layout), NULL), 0);
	ASSERT_EQ(async_wait(&async), 0);
	return alloc.cmd.out_buffer;
}

/* The worker copies a buffer from and to memory of the client and pools of each kind. */
TEST_F(wait, copy)
{
	struct nnaccel_buffer_copy copy = {
		.size = sizeof(copy),
		.flags = NNACCEL_COPY_IN,
		.length = 4,
		.data = (uintptr_t)"data",
	};
	const int file = file_new(PAGE);
	uint32_t pools[3] = { self->output };
	struct exporter_counts counts;
	struct exporter other;
	struct async async;
	char *bytes;

	ASSERT_GE(file, 0);
	bytes = map_shared(file, PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(bytes, NULL);
	memset(bytes, 'x', PAGE);
	ASSERT_EQ(pool_import(self->s.fd, file, PROT_READ | PROT_WRITE, 0, PAGE, &pools[1]), 0);
	ASSERT_TRUE(exporter_open(&other, 0));
	ASSERT_EQ(pool_import(self->s.fd, other.buffer, PROT_READ | PROT_WRITE, 0, PAGE, &pools[2]),
		  0);
	copy.buffer = converted_buffer(_metadata, self);
	ASSERT_TRUE(handle(SIGUSR1, count_signal, 0));
	EXPECT_EQ(disturbed_copy(self, &copy), 0);
	copy.data = 0;
	copy.offset = 3;
	for (int i = 0; i < 3; i++) {
		copy.pool = pools[i];
		copy.flags = NNACCEL_COPY_IN | NNACCEL_COPY_POOL;
		EXPECT_EQ(disturbed_copy(self, &copy), 0);
		copy.flags = NNACCEL_COPY_OUT | NNACCEL_COPY_POOL;
		EXPECT_EQ(disturbed_copy(self, &copy), 0);
	}
	/*
	 * The copy from the buffer writes the worker's bytes into the pool, and no bytes before or
	 * after the range.
	 */
	EXPECT_EQ(memcmp(bytes, "xxx\0\0\0\0xxx", 10), 0);
	/*
	 * A copy's access to a pool must end even if the worker reports that the copy has failed.
	 */
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_GENERAL_FAILURE, NULL, 0, NULL), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(copy.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	counts = exporter_counts(&other);
	/*
	 * A copy from a buffer to a pool accesses the pool only after the worker has converted the
	 * buffer's layout without error.
	 */
	EXPECT_EQ(counts.begun[0], 1);
	EXPECT_EQ(counts.begun[2], 1);
	EXPECT_EQ(memcmp(counts.begun, counts.ended, sizeof(counts.begun)), 0);
	exporter_close(&other);
	munmap(bytes, PAGE);
	close(file);
}

static int gone_fd;
static uint32_t gone_buffer;

static void free_buffer(int signal)
{
	handled++;
	object_destroy(gone_fd, gone_buffer);
}

/*
 * If a buffer is freed during an interrupted copy, the buffer's memory exists until the copy ends.
 */
TEST_F(wait, copy_of_what_is_gone)
{
	struct nnaccel_buffer_copy copy = {
		.size = sizeof(copy),
		.flags = NNACCEL_COPY_IN,
		.length = 4,
		.data = (uintptr_t)"data",
	};
	struct async async;

	gone_fd = self->s.fd;
	gone_buffer = copy.buffer = converted_buffer(_metadata, self);
	ASSERT_TRUE(handle(SIGUSR1, free_buffer, 0));
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_BUFFER_COPY, &copy));
	await_commands(self->s.fd, 1);
	ASSERT_TRUE(disturb(async.thread));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 0);
}

/*
 * A wait for the engine does not restart its time limit, even if a signal interrupts the wait every
 * millisecond.
 */
TEST_F(wait, stress_by_signals)
{
	const struct itimerval often = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	long long old = param_set("engine_wait_ms", 500);
	struct nnaccel_query query;
	uint32_t answer;
	int fd;

	ASSERT_TRUE(handle(SIGALRM, count_signal, 0));
	fd = device_open();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	query_init(&query, 1, &answer, sizeof(answer));
	EXPECT_EQ(xioctl(fd, NNACCEL_WORK_QUERY, &query), ETIMEDOUT);
	/* At least one signal was handled; the exact number depends on the speed of the machine. */
	EXPECT_GT(handled, 0);
	ASSERT_EQ(setitimer(ITIMER_REAL, &(struct itimerval){}, NULL), 0);
	close(fd);
	EXPECT_EQ(param_set("engine_wait_ms", old), 500);
}

TEST_F(wait, deadline)
{
	const struct itimerval often = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	struct execution e;

	ASSERT_TRUE(handle(SIGALRM, count_signal, SA_RESTART));
	execution_init(&e, self->model, self->input, self->output);
	e.cmd.deadline_ns = now_ns() + 300000000;
	ASSERT_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ETIME);
	ASSERT_EQ(setitimer(ITIMER_REAL, &(struct itimerval){}, NULL), 0);
	EXPECT_GE(now_ns(), e.cmd.deadline_ns);
}

static struct execution nested;
static int nested_fd, nested_error;

static void execute_nested(int signal)
{
	if (!handled++)
		nested_error = xioctl(nested_fd, NNACCEL_WORK_EXECUTE, &nested.cmd);
}

TEST_F(wait, in_a_handler)
{
	struct execution e;
	struct async async;

	ASSERT_TRUE(handle(SIGUSR1, execute_nested, 0));
	execution_init(&e, self->model, self->input, self->output);
	execution_init(&nested, self->model, self->input, self->output);
	nested_fd = self->s.fd;
	nested_error = -1;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	await_commands(self->s.fd, 1);
	ASSERT_TRUE(disturb(async.thread));
	await_commands(self->s.fd, 2);
	/*
	 * Interrupt the call in the handler of SIGUSR1 by SIGUSR2, because SIGUSR1 is blocked in
	 * its own handler.
	 */
	ASSERT_TRUE(handle(SIGUSR2, count_signal, 0));
	ASSERT_EQ(pthread_kill(async.thread, SIGUSR2), 0);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(nested_error, 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 2);
}

/* A thread that unshares its fd table and then exits does not cancel the process's executions. */
static void *unshare_files(void *data)
{
	return unshare(CLONE_FILES) ? data : NULL;
}

TEST_F(wait, files_of_a_thread)
{
	pthread_t thread;
	void *failed;
	int fence;

	fence = file_start(self->s.fd, self->model, self->input, -1);
	ASSERT_GE(fence, 0);
	ASSERT_EQ(pthread_create(&thread, NULL, unshare_files, self), 0);
	pthread_join(thread, &failed);
	ASSERT_EQ(failed, NULL);
	EXPECT_FALSE(file_readable(fence, 0));
	/*
	 * A thread that unshares its fd table and continues does not cancel the process's
	 * executions.
	 */
	ASSERT_EQ(unshare(CLONE_FILES), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
}

/* ---- other processes ---- */

static void be_client(struct actor *self, void *data)
{
	struct nnaccel_prepare prepare;
	struct execution e;
	uint32_t pool;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = device_open();
	pool = pool_alloc(fd, PAGE);
	prepare_init(&prepare, pool, 1);
	if (xioctl(fd, NNACCEL_WORK_PREPARE, &prepare))
		_exit(3);
	execution_init(&e, prepare.out_model, pool, pool);
	_exit(xioctl(fd, NNACCEL_WORK_EXECUTE, &e.cmd) || e.cmd.out_status ||
	      summary_get(fd, "nnaccel-executions") != 1);
}

FIXTURE(client) {
	struct summary before;
	int broker;
	int session;
	struct actor client;
	union command cmd;
};

/* Starts a client process, and fetches the client's execution as the worker does. */
FIXTURE_SETUP(client)
{
	struct nnaccel_engine_next next;

	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_TRUE(actor_start(&self->client, be_client, NULL));
	ASSERT_EQ(broker_next(self->broker, 0, &next), 0);
	ASSERT_EQ(broker_session(self->broker, next.out_context, &self->session), 0);
	ASSERT_EQ(session_attach(self->session), 0);
	ASSERT_EQ(session_fetch(self->session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->session, &self->cmd), 0);
	ASSERT_EQ(session_fetch(self->session, 0, &self->cmd), 0);
	ASSERT_EQ(self->cmd.head.kind, NNACCEL_DO_EXECUTE);
	/* Give the client time to fall asleep in its call. */
	usleep(50000);
}

FIXTURE_TEARDOWN(client)
{
	if (self->client.pid > 0)
		actor_kill(&self->client);
	close(self->session);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Answers the client's only execution, and returns the client's exit status. */
static int finish(FIXTURE_DATA(client) *self)
{
	union command more;
	int status;

	if (session_fetch(self->session, NNACCEL_FETCH_NONBLOCK, &more) != EAGAIN)
		return -1;
	if (session_answer(self->session, &self->cmd))
		return -2;
	if (waitpid(self->client.pid, &status, 0) != self->client.pid || !WIFEXITED(status))
		return -3;
	self->client.pid = -1;
	return WEXITSTATUS(status);
}

TEST_F(client, can_be_stopped)
{
	int status;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(kill(self->client.pid, i == 1 ? SIGTSTP : SIGSTOP), 0);
		ASSERT_EQ(waitpid(self->client.pid, &status, WUNTRACED), self->client.pid);
		EXPECT_TRUE(WIFSTOPPED(status));
		ASSERT_EQ(kill(self->client.pid, SIGCONT), 0);
		ASSERT_EQ(waitpid(self->client.pid, &status, WCONTINUED), self->client.pid);
		EXPECT_TRUE(WIFCONTINUED(status));
		usleep(10000);
	}
	EXPECT_EQ(finish(self), 0);
}

TEST_F(client, is_answered_while_stopped)
{
	int status;

	ASSERT_EQ(kill(self->client.pid, SIGSTOP), 0);
	ASSERT_EQ(waitpid(self->client.pid, &status, WUNTRACED), self->client.pid);
	ASSERT_EQ(session_answer(self->session, &self->cmd), 0);
	ASSERT_EQ(kill(self->client.pid, SIGCONT), 0);
	ASSERT_EQ(waitpid(self->client.pid, &status, 0), self->client.pid);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
	self->client.pid = -1;
}

TEST_F(client, can_be_traced)
{
	int status;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(ptrace(PTRACE_SEIZE, self->client.pid, NULL, NULL), 0);
		ASSERT_EQ(ptrace(PTRACE_INTERRUPT, self->client.pid, NULL, NULL), 0);
		ASSERT_EQ(waitpid(self->client.pid, &status, 0), self->client.pid);
		EXPECT_TRUE(WIFSTOPPED(status));
		ASSERT_EQ(ptrace(PTRACE_DETACH, self->client.pid, NULL, NULL), 0);
		usleep(10000);
	}
	EXPECT_EQ(finish(self), 0);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * Waits until cgroup.events reports that all processes are frozen (@frozen is 1), or that some
 * processes are not frozen (@frozen is 0).
 */
static void await_frozen(int frozen)
{
	char text[256], want[16];
	ssize_t n;
	int fd;

	snprintf(want, sizeof(want), "frozen %d", frozen);
	do {
		usleep(1000);
		fd = open(FREEZER "/cgroup.events", O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
	} while (!strstr(text, want));
}

TEST_F(client, can_be_frozen)
{
	char pid[16];

	if (mkdir(FREEZER, 0755) && errno != EEXIST)
		SKIP(return, "a cgroup (v2) cannot be created");
	snprintf(pid, sizeof(pid), "%d", self->client.pid);
	ASSERT_TRUE(put(FREEZER "/cgroup.procs", pid));
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(put(FREEZER "/cgroup.freeze", "1"));
		await_frozen(1);
		ASSERT_TRUE(put(FREEZER "/cgroup.freeze", "0"));
		await_frozen(0);
		usleep(10000);
	}
	EXPECT_EQ(finish(self), 0);
	while (rmdir(FREEZER))
		usleep(10000);
}

TEST_F(client, can_be_killed)
{
	actor_kill(&self->client);
	self->client.pid = -1;
	EXPECT_EQ(session_fetch(self->session, 0, &self->cmd), ESHUTDOWN);
}

/* ---- time ---- */

#define AHEAD_S 1000

/*
 * Executes a model with a deadline in a time namespace whose clock is AHEAD_S seconds ahead of the
 * host's clock.
 */
static int execute_ahead(uint64_t deadline_ns)
{
	struct served s;
	struct execution e;
	struct async async;
	union command cmd;
	uint32_t pool, model;
	int64_t off;

	if (served_open(&s))
		return 2;
	pool = pool_alloc(s.fd, PAGE);
	model = served_prepare(&s, pool);
	/*
	 * The second iteration tests that the greatest possible deadline, UINT64_MAX, does not
	 * overflow.
	 */
	for (int last = 0; last < 2; last++) {
		execution_init(&e, model, pool, pool);
		e.cmd.deadline_ns = last ? UINT64_MAX : now_ns() + deadline_ns;
		if (!async_start(&async, s.fd, NNACCEL_WORK_EXECUTE, &e.cmd) ||
		    session_fetch(s.session, 0, &cmd))
			return 3;
		/*
		 * The worker gets a deadline of the client's clock, because worker and client have
		 * the same time namespace.
		 */
		off = (int64_t)(e.cmd.deadline_ns - cmd.head.deadline_ns);
		if (session_answer(s.session, &cmd) || async_wait(&async) || off < 0 ||
		    off > (last ? 1000000000 : 0))
			return 4;
	}
	/* A deadline earlier than the host's boot has passed, so the execution fails with ETIME. */
	for (int first = 0; first < 2; first++) {
		e.cmd.deadline_ns = first ? 1 : now_ns();
		if (xioctl(s.fd, NNACCEL_WORK_EXECUTE, &e.cmd) != ETIME)
			return 5;
	}
	served_close(&s);
	return 0;
}

TEST(time_namespace)
{
	static const int offsets[] = { AHEAD_S, -1 };
	struct summary before;
	int status, broker;
	char text[64];
	pid_t pid;

	broker = broker_open();
	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&before));
	for (int i = 0; i < 2; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			if (unshare(CLONE_NEWTIME))
				_exit(77);
			snprintf(text, sizeof(text), "monotonic %d 0\n", offsets[i]);
			if (!put("/proc/self/timens_offsets", text))
				_exit(78);
			pid = fork();
			if (!pid)
				_exit(execute_ahead(UINT64_C(60000000000)));
			_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
			      WEXITSTATUS(status) : 79);
		}
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_TRUE(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77)
			SKIP(return, "this kernel lacks time namespaces");
		EXPECT_EQ(WEXITSTATUS(status), 0);
	}
	EXPECT_TRUE(summary_settles(&before));
}

TEST_HARNESS_MAIN
