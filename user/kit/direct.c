// SPDX-License-Identifier: MIT
/*
 * Serving clients at a socket, without the module.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/direct.h"
#include "base/packet.h"
#include "kit/direct.h"
#include "kit/keeper.h"
#include "kit/log.h"
#include "kit/process.h"
#include "kit/session.h"
#include "kit/threads.h"

/* A client may take this long to say who it is. */
static const struct timeval greeting = { .tv_sec = 1 };

/* A client is a process or threads. */
struct client {
	pid_t pid;
	struct thread_client *threads;	/* NULL: a process */
};

struct host {
	const struct engine_options *options;
	struct keeper keeper;
	int listener, signals;		/* -1: none */
	struct client *clients;		/* [max] */
	struct pollfd *fds;		/* of the signals, the listener, and each client's threads */
	unsigned int count, max;
	unsigned int number;		/* of the next client */
};

/* The socket gets its name once it listens. */
static bool listen_at(struct host *h, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s~", path);

	errno = ENAMETOOLONG;
	if (n < (int)sizeof(address.sun_path)) {
		unlink(address.sun_path);
		h->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (h->listener >= 0 &&
		    !bind(h->listener, (struct sockaddr *)&address, sizeof(address)) &&
		    !listen(h->listener, SOMAXCONN) && !rename(address.sun_path, path))
			return true;
	}
	log_error("--direct=%s: %s", path, strerror(errno));
	return false;
}

static bool take_signals(struct host *h)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	if (!sigprocmask(SIG_BLOCK, &set, NULL))
		h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (h->signals < 0)
		log_error("signals: %s", strerror(errno));
	return h->signals >= 0;
}

/* ---- clients ---- */

/* The client's socket to the keeper, or -1. */
static int open_cache(struct host *h)
{
	int ends[2];
	bool passed;

	if (h->keeper.socket < 0 || !spawn_control(ends))
		return -1;
	passed = keeper_pass(&h->keeper, ends[0], getuid());
	close(ends[0]);
	if (passed)
		return ends[1];
	close(ends[1]);
	return -1;
}

__attribute__((noreturn)) static void run_process(const struct host *h, int commands, int memory,
						  int cache)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close(h->listener);
	if (!session_begin_direct(commands, memory))
		_exit(EXIT_FAILURE);
	worker_serve(h->options->engine, commands, cache);
}

/* Serves a client if it can. Its sockets are no longer the caller's. */
static void serve(struct host *h, int commands, int memory)
{
	struct client *c = &h->clients[h->count];
	int cache = open_cache(h);
	char name[32];

	*c = (struct client){ .pid = 0 };
	snprintf(name, sizeof(name), "client %u", h->number++);
	if (h->options->threads) {
		c->threads = session_begin_direct(commands, memory) ?
			h->options->threads->start(h->options->engine, commands, cache, name) : NULL;
	} else {
		c->pid = fork();
		if (!c->pid)
			run_process(h, commands, memory, cache);
		close(commands);
		close(memory);
		if (cache >= 0)
			close(cache);
	}
	if (c->threads || c->pid > 0)
		h->count++;
}

static void greet(struct host *h, int commands)
{
	struct direct_message hello;
	int memory = -1;

	setsockopt(commands, SOL_SOCKET, SO_RCVTIMEO, &greeting, sizeof(greeting));
	if (packet_receive(commands, &hello, sizeof(hello), MSG_CMSG_CLOEXEC, &memory) ==
	    sizeof(hello) && hello.kind == DIRECT_HELLO && memory >= 0) {
		hello.error = h->count < h->max ? 0 : EUSERS;
		if (packet_send(commands, &hello, sizeof(hello), -1) && !hello.error) {
			serve(h, commands, memory);
			return;
		}
	}
	if (memory >= 0)
		close(memory);
	close(commands);
}

static void remove_client(struct host *h, unsigned int i)
{
	if (h->clients[i].threads)
		h->options->threads->free(h->clients[i].threads);
	h->clients[i] = h->clients[--h->count];
}

static void reap(struct host *h)
{
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < h->count;) {
		pid = h->clients[i].pid;
		if (!pid || waitpid(pid, &status, WNOHANG) != pid) {
			i++;
			continue;
		}
		if (WIFSIGNALED(status))
			log_warning("the process of a client: killed by signal %d", WTERMSIG(status));
		remove_client(h, i);
	}
}

/* ---- the loop ---- */

static void loop(struct host *h)
{
	struct signalfd_siginfo info = { 0 };
	unsigned int count;
	int commands;

	for (;;) {
		h->fds[0] = (struct pollfd){ .fd = h->signals, .events = POLLIN };
		h->fds[1] = (struct pollfd){ .fd = h->listener, .events = POLLIN };
		count = h->count;
		for (unsigned int i = 0; i < count; i++)
			h->fds[2 + i] = (struct pollfd){
				.fd = h->clients[i].threads ?
				      h->options->threads->file(h->clients[i].threads) : -1,
				.events = POLLIN,
			};
		if (poll(h->fds, 2 + count, -1) < 0 && errno != EINTR)
			return;
		while (read(h->signals, &info, sizeof(info)) == sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				return;
		for (unsigned int i = count; i--;)
			if (h->fds[2 + i].revents)
				remove_client(h, i);
		reap(h);
		while ((commands = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
			greet(h, commands);
	}
}

int direct_run(const struct engine_options *options)
{
	struct host h = {
		.options = options, .listener = -1, .signals = -1, .number = 1,
		.max = options->max < options->max_per_user ? options->max : options->max_per_user,
	};
	bool runs;

	h.clients = calloc(h.max, sizeof(*h.clients));
	h.fds = calloc(h.max + 2, sizeof(*h.fds));
	keeper_start(&h.keeper, &options->keeper);
	runs = h.clients && h.fds && take_signals(&h) &&
	       (!options->threads || options->threads->init(options->engine)) &&
	       listen_at(&h, options->direct);
	if (runs)
		loop(&h);
	if (h.listener >= 0) {
		close(h.listener);
		unlink(options->direct);
	}
	/* Threads end with the process. */
	for (unsigned int i = 0; i < h.count; i++)
		if (h.clients[i].pid)
			kill(h.clients[i].pid, SIGKILL);
	keeper_stop(&h.keeper);
	free(h.clients);
	free(h.fds);
	return runs ? EXIT_SUCCESS : EXIT_FAILURE;
}
