// SPDX-License-Identifier: MIT
/*
 * Processes that a test starts: children that run one function, processes that receive files, and
 * children that run in steps.
 */
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "process.h"

static int await_exit(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

bool become_user(uid_t uid, gid_t gid)
{
	struct stat node;

	return !stat(DEVICE, &node) && !setgroups(1, &node.st_gid) && !setresgid(gid, gid, gid) &&
	       !setresuid(uid, uid, uid);
}

int in_child(int (*act)(int fd), int fd)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(act(fd));
	return await_exit(pid);
}

static sigjmp_buf before_read;

static void on_bus_error(int signal)
{
	siglongjmp(before_read, signal);
}

bool bus_error(const volatile char *at)
{
	const struct sigaction action = { .sa_handler = on_bus_error };
	struct sigaction old;
	volatile bool failed = true;

	sigaction(SIGBUS, &action, &old);
	if (!sigsetjmp(before_read, 1)) {
		*at;
		failed = false;
	}
	sigaction(SIGBUS, &old, NULL);
	return failed;
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

int receive_file(int socket)
{
	char byte;
	union control control;
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

bool send_file(int socket, int fd)
{
	char byte = 0;
	union control control = {};
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1;
}

bool stranger_start(struct stranger *stranger, int (*act)(int fd))
{
	int pair[2], fd;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return false;
	stranger->pid = fork();
	if (stranger->pid == 0) {
		close(pair[0]);
		fd = receive_file(pair[1]);
		_exit(fd < 0 ? 255 : act(fd));
	}
	close(pair[1]);
	stranger->socket = pair[0];
	return stranger->pid > 0;
}

int stranger_pass(struct stranger *stranger, int fd)
{
	bool sent = send_file(stranger->socket, fd);
	int result;

	close(stranger->socket);
	result = await_exit(stranger->pid);
	return sent ? result : -1;
}

bool actor_start(struct actor *actor, void (*act)(struct actor *self, void *data), void *data)
{
	int said[2], go[2];

	if (pipe(said) || pipe(go))
		return false;
	actor->pid = fork();
	if (actor->pid == 0) {
		close(said[0]);
		close(go[1]);
		act(&(struct actor){ .said = said[1], .go = go[0] }, data);
		_exit(0);
	}
	close(said[1]);
	close(go[0]);
	actor->said = said[0];
	actor->go = go[1];
	return actor->pid > 0;
}

void actor_reached(struct actor *self)
{
	char byte = 0;

	if (write(self->said, &byte, 1) != 1 || read(self->go, &byte, 1) != 1)
		_exit(1);
}

bool actor_await(struct actor *actor)
{
	char byte;

	return read(actor->said, &byte, 1) == 1;
}

void actor_go(struct actor *actor)
{
	char byte = 0;

	if (write(actor->go, &byte, 1) != 1)
		kill(actor->pid, SIGKILL);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)(t.tv_nsec / 1000);
}

unsigned long long actor_killed_ago(const struct actor *actor)
{
	return now_us() - actor->killed_us;
}

void actor_kill(struct actor *actor)
{
	actor->killed_us = now_us();
	kill(actor->pid, SIGKILL);
	waitpid(actor->pid, NULL, 0);
	close(actor->said);
	close(actor->go);
}
