// SPDX-License-Identifier: MIT
/*
 * OPENER of the engine node: a context's opener counts as alive while one of the opener's threads
 * has the address space in which the context was opened.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

FIXTURE(opener) {
	struct summary before;
	int broker;
	int sockets[2];
	pid_t pid;
	int fd;
	uint64_t context;
};

FIXTURE_SETUP(opener)
{
	self->fd = -1;
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, self->sockets), 0);
}

FIXTURE_TEARDOWN(opener)
{
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
	}
	close(self->sockets[0]);
	close(self->sockets[1]);
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Opens a context that wants a worker, and passes the context to the test. */
static bool open_and_pass(int socket)
{
	int fd = device_open();

	return fd >= 0 && send_file(socket, fd);
}

/*
 * Receives the file of a context from the process that opened the context, so that the context
 * outlives the process.
 */
static bool receive_context(FIXTURE_DATA(opener) *self)
{
	struct nnaccel_engine_next next;

	self->fd = receive_file(self->sockets[0]);
	if (self->fd < 0 || broker_next(self->broker, 0, &next) ||
	    next.out_event != NNACCEL_ENGINE_NEW || next.out_pid != (uint32_t)self->pid)
		return false;
	self->context = next.out_context;
	return true;
}

/* Returns the opener's process id, 0 if the opener is dead, or a negative errno. */
static int opener_of(const FIXTURE_DATA(opener) *self)
{
	struct nnaccel_engine_opener arg = {
		.size = sizeof(arg),
		.context = self->context,
		.out_member = POISON,
		.out_lives = POISON,
		.out_pid = POISON,
	};
	int error = xioctl(self->broker, NNACCEL_ENGINE_OPENER, &arg);

	if (error)
		return arg.out_lives == POISON && arg.out_pid == POISON ? -error : -EPROTO;
	return arg.out_lives == !!arg.out_pid ? (int)arg.out_pid : -EPROTO;
}

/* Waits until the opener is dead. */
static bool opener_ends(const FIXTURE_DATA(opener) *self)
{
	while (opener_of(self) == self->pid)
		poll(NULL, 0, 10);
	return opener_of(self) == 0;
}

TEST_F(opener, lives)
{
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
	EXPECT_EQ(opener_of(self), getpid());
	/* The opener of a context does not change if a child process inherits the file. */
	EXPECT_EQ(in_child(close, self->fd), 0);
	EXPECT_EQ(opener_of(self), getpid());
}

TEST_F(opener, dies)
{
	self->pid = fork();
	ASSERT_GE(self->pid, 0);
	if (!self->pid) {
		if (open_and_pass(self->sockets[1]))
			pause();
		_exit(1);
	}
	ASSERT_TRUE(receive_context(self));
	EXPECT_EQ(opener_of(self), self->pid);
	/*
	 * A killed process first loses its address space; its process id becomes free when the
	 * parent reaps the process.
	 */
	EXPECT_EQ(kill(self->pid, SIGKILL), 0);
	EXPECT_TRUE(opener_ends(self));
	EXPECT_EQ(waitpid(self->pid, NULL, 0), self->pid);
	self->pid = 0;
	EXPECT_EQ(opener_of(self), 0);
}

/* After execve() the opener has the same process id, but another program. */
TEST_F(opener, executes)
{
	self->pid = fork();
	ASSERT_GE(self->pid, 0);
	if (!self->pid) {
		char byte;

		if (open_and_pass(self->sockets[1]) && read(self->sockets[1], &byte, 1) == 1)
			execlp("sleep", "sleep", "600", NULL);
		_exit(1);
	}
	ASSERT_TRUE(receive_context(self));
	EXPECT_EQ(opener_of(self), self->pid);
	ASSERT_EQ(write(self->sockets[0], "", 1), 1);
	EXPECT_TRUE(opener_ends(self));
	EXPECT_EQ(kill(self->pid, 0), 0);
}

/* A second process that shares the opener's address space does not count as the opener. */
TEST_F(opener, leaves_a_twin)
{
	_Atomic pid_t *twin = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				   -1, 0);

	ASSERT_NE(twin, MAP_FAILED);
	self->pid = fork();
	ASSERT_GE(self->pid, 0);
	if (!self->pid) {
		if (!open_and_pass(self->sockets[1]))
			_exit(1);
		/* The test kills the opener while the opener waits for its vfork() child. */
		if (!syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)) {
			*twin = (pid_t)syscall(SYS_getpid);
			for (;;)
				pause();
		}
		_exit(1);
	}
	ASSERT_TRUE(receive_context(self));
	while (!*twin)
		poll(NULL, 0, 10);
	ASSERT_GT(*twin, 0);
	EXPECT_EQ(opener_of(self), self->pid);
	EXPECT_EQ(kill(self->pid, SIGKILL), 0);
	EXPECT_TRUE(opener_ends(self));
	EXPECT_EQ(kill(*twin, SIGKILL), 0);
	munmap((void *)twin, PAGE);
}

static void *wait_for_ever(void *unused)
{
	pause();
	return unused;
}

TEST_F(opener, without_its_first_thread)
{
	char state = 0;

	self->pid = fork();
	ASSERT_GE(self->pid, 0);
	if (!self->pid) {
		pthread_t thread;

		if (!open_and_pass(self->sockets[1]) ||
		    pthread_create(&thread, NULL, wait_for_ever, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	ASSERT_TRUE(receive_context(self));
	while (state != 'Z') {
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", self->pid);
		file = fopen(path, "r");
		ASSERT_NE(file, NULL);
		ASSERT_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		fclose(file);
		poll(NULL, 0, 10);
	}
	EXPECT_EQ(opener_of(self), self->pid);
}

TEST_F(opener, untold)
{
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
	self->context = (uint64_t)summary_get(self->fd, "nnaccel-client-id");
	EXPECT_EQ(opener_of(self), -ENOENT);
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
	EXPECT_EQ(opener_of(self), getpid());
	close(self->fd);
	EXPECT_EQ(opener_of(self), -ENOENT);
	close(self->broker);
	self->fd = device_open();
	self->broker = broker_open();
	self->context = (uint64_t)summary_get(self->fd, "nnaccel-client-id");
	EXPECT_EQ(opener_of(self), -ENOENT);
}

TEST_F(opener, refusals)
{
	struct nnaccel_engine_opener good;
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_engine_opener, flags, 1, EINVAL),
		REFUSE(struct nnaccel_engine_opener, context, 0, ENOENT),
		REFUSE(struct nnaccel_engine_opener, context, UINT64_MAX, ENOENT),
	};

	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
	good = (struct nnaccel_engine_opener){ .size = sizeof(good), .context = self->context };
	EXPECT_EQ(check_structure(self->broker, NNACCEL_ENGINE_OPENER, &good, sizeof(good), 0,
				  true), 0);
	EXPECT_EQ(check_refusals(self->broker, NNACCEL_ENGINE_OPENER, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
}

TEST_HARNESS_MAIN
