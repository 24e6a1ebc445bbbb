// SPDX-License-Identifier: MIT
/* Serves clients at a Unix socket, without the kernel module. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/direct.h"
#include "base/packet.h"
#include "kit/api/log.h"
#include "kit/broker/direct.h"
#include "kit/broker/keeper.h"
#include "kit/broker/node.h"
#include "kit/session/session.h"
#include "kit/worker/process.h"
#include "kit/worker/threads.h"

/* Time limit for a client's first packet. */
static const struct timeval greeting = { .tv_sec = 1 };

/* Time limit for the end of all clients' threads and processes when this process ends. */
#define END_NS (3 * NS_PER_S)

/* A client, and the threads or the process that serve the client. */
struct client {
	struct thread_client *threads;	/* NULL if a process serves the client */
	int pidfd;	/* pidfd of the client's process; -1 if threads serve the client */
};

struct host {
	const struct engine_options *options;
	struct keeper keeper;
	int listener, signals;	/* listening socket and signalfd; -1 if not open */
	struct client *clients;		/* array of `max` clients */
	/*
	 * The fds for poll(): the signals, the listener, and for each client an fd that reports the
	 * client's end.
	 */
	struct pollfd *fds;
	unsigned int count, max;
	unsigned int number;		/* number of the next client */
};

/* Opens the socket for clients. Renames the socket to `path` only after the socket listens. */
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

/* ---- clients ---- */

/* Makes a client's connection to the keeper; returns its socket, or -1. */
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
	/* Close the client process's copy of the descriptor that locks the cache's folder. */
	if (h->keeper.claim >= 0)
		close(h->keeper.claim);
	if (!session_begin_direct(commands, memory))
		_exit(EXIT_FAILURE);
	worker_serve(h->options->engine, commands, cache);
}

/* Starts a process that serves the client; returns its pidfd, or -1. */
static int start_process(const struct host *h, int commands, int memory, int cache)
{
	pid_t pid = fork();
	int pidfd;

	if (!pid)
		run_process(h, commands, memory, cache);
	close(commands);
	close(memory);
	if (cache >= 0)
		close(cache);
	pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		log_error("cannot start the process of a client: %s", strerror(errno));
	if (pid > 0 && pidfd < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return pidfd;
}

/*
 * Starts threads or a process that serve a client, if possible. Takes ownership of the client's
 * sockets even if the start fails.
 */
static void serve(struct host *h, int commands, int memory)
{
	struct client *c = &h->clients[h->count];
	int cache = open_cache(h);
	char name[32];

	*c = (struct client){ .pidfd = -1 };
	snprintf(name, sizeof(name), "client %u", h->number++);
	if (!h->options->threads)
		c->pidfd = start_process(h, commands, memory, cache);
	else if (session_begin_direct(commands, memory))
		c->threads = h->options->threads->start(h->options->engine, commands, cache, name);
	if (c->threads || c->pidfd >= 0)
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

/* Returns the fd that becomes readable when the client has ended. */
static int end_of(const struct host *h, const struct client *c)
{
	return c->threads ? h->options->threads->file(c->threads) : c->pidfd;
}

static void remove_client(struct host *h, unsigned int i)
{
	struct client *c = &h->clients[i];
	siginfo_t info = { .si_code = CLD_EXITED };

	if (c->threads) {
		h->options->threads->free(c->threads);
	} else {
		waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED);
		if (info.si_code != CLD_EXITED)
			log_warning("the process of a client: killed by signal %d", info.si_status);
		close(c->pidfd);
	}
	*c = h->clients[--h->count];
}

/*
 * Ends all clients. A thread or process that does not end in time ends when the calling process
 * exits.
 */
static void end_clients(struct host *h)
{
	uint64_t end_ns = clock_ns() + END_NS;

	for (unsigned int i = 0; i < h->count; i++) {
		if (h->clients[i].threads)
			h->options->threads->stop(h->clients[i].threads);
		else
			syscall(SYS_pidfd_send_signal, h->clients[i].pidfd, SIGKILL, NULL, 0);
	}
	for (unsigned int i = h->count; i--;) {
		struct pollfd ended = { .fd = end_of(h, &h->clients[i]), .events = POLLIN };

		if (poll(&ended, 1, clock_ms_until(end_ns)) == 1)
			remove_client(h, i);
	}
}

/* ---- the loop ---- */

static void loop(struct host *h)
{
	unsigned int count;
	int commands;

	for (;;) {
		h->fds[0] = (struct pollfd){ .fd = h->signals, .events = POLLIN };
		h->fds[1] = (struct pollfd){ .fd = h->listener, .events = POLLIN };
		count = h->count;
		for (unsigned int i = 0; i < count; i++)
			h->fds[2 + i] = (struct pollfd){
				.fd = end_of(h, &h->clients[i]), .events = POLLIN,
			};
		if ((poll(h->fds, 2 + count, -1) < 0 && errno != EINTR) || h->fds[0].revents)
			return;
		for (unsigned int i = count; i--;)
			if (h->fds[2 + i].revents)
				remove_client(h, i);
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
	h.signals = node_open_signals();
	runs = h.clients && h.fds && h.signals >= 0 && !h.keeper.is_taken &&
	       (!options->threads ||
		options->threads->init(options->engine, keeper_connect(&h.keeper))) &&
	       listen_at(&h, options->direct);
	if (runs)
		loop(&h);
	if (h.listener >= 0) {
		close(h.listener);
		unlink(options->direct);
	}
	end_clients(&h);
	keeper_stop(&h.keeper);
	free(h.clients);
	free(h.fds);
	return runs ? EXIT_SUCCESS : EXIT_FAILURE;
}
