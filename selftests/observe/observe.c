// SPDX-License-Identifier: MIT
/*
 * What the module tells an administrator: commands with age and state, trace
 * events, and a line in the kernel's log when it kills a worker.
 */
#include <fcntl.h>
#include <sys/klog.h>
#include <unistd.h>

#include "harness.h"

#define COMMANDS	"/sys/kernel/debug/nnaccel/commands"
#define TRACING		"/sys/kernel/tracing/"
#define READ_ALL	3	/* of syslog(2) */

FIXTURE(observe) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	union command cmd;
};

FIXTURE_SETUP(observe)
{
	int broker = broker_open();

	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, PAGE);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(observe)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Whether a file has a line with both texts. */
static bool file_has(const char *path, const char *one, const char *other)
{
	FILE *file = fopen(path, "re");
	bool found = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, one) && strstr(line, other);
	if (file)
		fclose(file);
	return found;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

TEST_F(observe, commands)
{
	struct execution e;
	struct async async;
	char mine[32];

	snprintf(mine, sizeof(mine), "%lld ", summary_get(self->s.fd, "nnaccel-client-id"));
	EXPECT_FALSE(file_has(COMMANDS, mine, " execute "));
	execution_init(&e, self->model, self->pool, self->pool);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_EXECUTE, &e.cmd));
	await_commands(self->s.fd, 1);
	EXPECT_TRUE(file_has(COMMANDS, mine, " execute queued "));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_TRUE(file_has(COMMANDS, mine, " execute in-flight "));
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_FALSE(file_has(COMMANDS, mine, " execute "));
}

TEST_F(observe, events)
{
	struct execution e;
	int fence;

	if (!write_file(TRACING "events/nnaccel/enable", "1"))
		SKIP(return, "no tracefs");
	write_file(TRACING "trace", "\n");
	ASSERT_EQ(served_start(&self->s), 0);
	fence = fence_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(fence, 0);
	EXPECT_EQ(fence_await(fence), 1);
	close(fence);
	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.deadline_ns = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_EXECUTE, &e.cmd), ETIME);
	write_file(TRACING "events/nnaccel/enable", "0");
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_fence_create", "status=NONE error=0"));
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_fence_signal", "status=NONE error=0"));
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_command_end", "kind=EXECUTE"));
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_command_end",
			     "state=DONE status=NONE error=0"));
	write_file(TRACING "trace", "\n");
}

/* Fails all that its client asks for, and says so by its end. */
TEST_F(observe, end_of_a_command_that_nobody_took)
{
	int fence;

	if (!write_file(TRACING "events/nnaccel/nnaccel_command_end/enable", "1"))
		SKIP(return, "no tracefs");
	write_file(TRACING "trace", "\n");
	fence = fence_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(fence, 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(fence_await(fence), -EPIPE);
	close(fence);
	write_file(TRACING "events/nnaccel/nnaccel_command_end/enable", "0");
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_command_end", "error=-32"));
	write_file(TRACING "trace", "\n");
}

/* A worker that prepares a model, fetches an execution and never answers. */
static void never_answer(struct actor *self, void *data)
{
	int session = *(int *)data;
	static union command cmd;

	if (session_attach(session) || session_fetch(session, 0, &cmd) ||
	    session_answer(session, &cmd) || session_fetch(session, 0, &cmd))
		_exit(1);
	pause();
}

static bool log_has(const char *text)
{
	static char log[1 << 20];
	int size = klogctl(READ_ALL, log, sizeof(log) - 1);

	if (size < 0)
		return false;
	log[size] = 0;
	return strstr(log, text);
}

TEST_F(observe, log_of_a_kill)
{
	long long grace = param_set("kill_grace_ms", 50);
	struct nnaccel_prepare prepare;
	struct actor worker;
	long long sessions;
	struct execution e;
	uint64_t context;
	int fd, session;
	char line[128];

	fd = device_open();
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	ASSERT_TRUE(actor_start(&worker, never_answer, &session));
	close(session);
	prepare_init(&prepare, pool_alloc(fd, PAGE), 1);
	ASSERT_EQ(xioctl(fd, NNACCEL_PREPARE, &prepare), 0);
	execution_init(&e, prepare.out_model, prepare.wire_pool, prepare.wire_pool);
	e.cmd.deadline_ns = deadline_soon();
	sessions = summary_get(-1, "sessions");
	EXPECT_EQ(xioctl(fd, NNACCEL_EXECUTE, &e.cmd), ETIME);
	snprintf(line, sizeof(line), "nnaccel: worker %d of context %llu killed", worker.pid,
		 (unsigned long long)context);
	EXPECT_TRUE(summary_becomes(-1, "sessions", sessions - 1));
	EXPECT_TRUE(log_has(line));
	actor_kill(&worker);
	close(fd);
	param_set("kill_grace_ms", grace);
}

TEST_HARNESS_MAIN
