// SPDX-License-Identifier: MIT
/*
 * The clients of an engine that is made of the kit: each has a process of its own, or threads of
 * this one, which are started when the kernel tells of the client. nnacceld has a broker instead, which keeps processes ready
 * and shares them out among users.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "base/clock.h"
#include "kit/clients.h"
#include "kit/log.h"
#include "kit/node.h"
#include "kit/notify.h"
#include "kit/threads.h"

/* How long a client's process may outlive the client. */
#define GRACE_NS NS_PER_S

/* How long threads that serve clients are waited for in the end. */
#define END_NS (3 * NS_PER_S)

/* What is polled besides the processes. */
enum { ON_ENGINE, ON_SIGNAL, ON_KEEPER, ON_CLIENTS };

/* Of each client: its end; of a process its log, and until it is ready its socket. */
enum { ON_EXIT, ON_LOG, ON_CONTROL, ON_COUNT };

struct client {
	struct client *next;
	uint64_t context;
	uint32_t uid;
	int session;			/* until the process is ready for it; else -1 */
	uint64_t kill_at_ns;		/* 0: not */
	struct thread_client *threads;	/* NULL: it has a process */
	struct spawned process;
	struct log_relay log;
	char name[64];
};

struct clients {
	const struct clients_options *options;
	struct spawner spawner;
	struct keeper keeper;
	int engine;
	int signals;
	struct client *list;
	unsigned int count;
};

static void close_client(struct client *c)
{
	if (c->threads) {
		thread_client_free(c->threads);
		free(c);
		return;
	}
	if (c->session >= 0)
		close(c->session);
	close(c->process.pidfd);
	close(c->process.control);
	close(c->process.log);
	free(c);
}

/* ---- the kernel's events ---- */

static void refuse(const struct clients *cs, uint64_t context, int error)
{
	struct nnaccel_engine_refuse refusal = {
		.size = sizeof(refusal),
		.error = (uint32_t)error,
		.context = context,
	};

	/* ENOENT: the client is gone. */
	if (ioctl(cs->engine, NNACCEL_ENGINE_REFUSE, &refusal) && errno != ENOENT)
		log_error("context %llu: cannot be refused: %s", (unsigned long long)context,
			  strerror(errno));
}

/* -1: the client is gone, or something else is wrong. */
static int get_session(const struct clients *cs, uint64_t context)
{
	struct nnaccel_engine_session session = {
		.size = sizeof(session),
		.flags = NNACCEL_SESSION_CLOEXEC,
		.context = context,
	};

	return ioctl(cs->engine, NNACCEL_ENGINE_SESSION, &session) ? -1 : session.out_fd;
}

static bool start_process(struct clients *cs, struct client *c)
{
	if (!spawn_worker(&cs->spawner, -1, NULL, &c->process))
		return false;
	c->log.fd = c->process.log;
	snprintf(c->name, sizeof(c->name), "client %d (uid %u)", (int)c->process.pid, c->uid);
	c->session = get_session(cs, c->context);
	if (c->session < 0)
		spawned_kill(&c->process);
	return true;
}

/* The threads' end of a socket to the keeper; -1: they have no cache. */
static int connect_to_keeper(struct clients *cs, const struct client *c)
{
	int ends[2];

	if (!cs->spawner.options.cache || !spawn_control(ends))
		return -1;
	if (keeper_pass(&cs->keeper, ends[0], c->uid)) {
		close(ends[0]);
		return ends[1];
	}
	log_warning("%s: without a cache", c->name);
	close(ends[0]);
	close(ends[1]);
	return -1;
}

static bool start_threads(struct clients *cs, struct client *c)
{
	int session = get_session(cs, c->context);

	if (session < 0)
		return false;
	snprintf(c->name, sizeof(c->name), "client %llu (uid %u)", (unsigned long long)c->context,
		 c->uid);
	c->session = -1;
	c->threads = thread_client_start(cs->options->engine, session, connect_to_keeper(cs, c),
					 !cs->spawner.options.no_slot_cache, c->name);
	return c->threads;
}

static void client_new(struct clients *cs, const struct nnaccel_engine_next *next)
{
	struct client *c = cs->count < cs->options->max ? calloc(1, sizeof(*c)) : NULL;

	if (c) {
		c->context = next->out_context;
		c->uid = next->out_uid;
	}
	if (!c || !(cs->options->threads ? start_threads(cs, c) : start_process(cs, c))) {
		refuse(cs, next->out_context, EUSERS);
		free(c);
		return;
	}
	c->next = cs->list;
	cs->list = c;
	cs->count++;
	log_debug("%s: process %u", c->name, next->out_pid);
}

static void client_gone(struct clients *cs, uint64_t context)
{
	for (struct client *c = cs->list; c; c = c->next)
		if (c->context == context && !c->threads)
			c->kill_at_ns = clock_ns() + GRACE_NS;
}

/* False: the engine node is of no use any longer. */
static bool take_event(struct clients *cs)
{
	struct nnaccel_engine_next next = {
		.size = sizeof(next),
		.flags = NNACCEL_ENGINE_NONBLOCK,
	};

	if (ioctl(cs->engine, NNACCEL_ENGINE_NEXT, &next)) {
		if (errno == EAGAIN || errno == EINTR)
			return true;
		log_error("%s: %s", cs->options->device, strerror(errno));
		return false;
	}
	if (next.out_event == NNACCEL_ENGINE_NEW)
		client_new(cs, &next);
	else if (next.out_event == NNACCEL_ENGINE_GONE)
		client_gone(cs, next.out_context);
	return true;
}

/* ---- the processes ---- */

/* A process that says that it is ready gets its session, and the keeper its socket. */
static void hand_over(struct clients *cs, struct client *c)
{
	char byte;

	if (recv(c->process.control, &byte, 1, MSG_DONTWAIT) != 1 || byte != WORKER_READY ||
	    !spawned_pass_session(&c->process, c->session))
		spawned_kill(&c->process);
	else if (cs->spawner.options.cache && !keeper_pass(&cs->keeper, c->process.control, c->uid))
		log_warning("%s: without a cache", c->name);
	close(c->session);
	c->session = -1;
}

static void client_ended(const struct client *c)
{
	siginfo_t info = { 0 };

	waitid(P_PIDFD, (id_t)c->process.pidfd, &info, WEXITED);
	if (info.si_code != CLD_EXITED && info.si_status != SIGKILL)
		log_warning("%s: ended by signal %d (%s)%s", c->name, info.si_status,
			    strsignal(info.si_status),
			    info.si_status == SIGSYS ? ": a system call that is not allowed" : "");
	else if (info.si_code == CLD_EXITED && info.si_status)
		log_warning("%s: ended with status %d", c->name, info.si_status);
}

/* What poll() says of a process; true: it has ended. */
static bool look_at_client(struct clients *cs, struct client *c, const struct pollfd *fds)
{
	if (c->threads)
		return fds[ON_EXIT].revents;
	if (fds[ON_LOG].revents && !log_relay_read(&c->log, c->name, clock_ns()))
		c->log.fd = -1;
	if (fds[ON_CONTROL].revents && c->session >= 0)
		hand_over(cs, c);
	if (c->kill_at_ns && clock_ns() >= c->kill_at_ns)
		spawned_kill(&c->process);
	if (!fds[ON_EXIT].revents)
		return false;
	if (c->log.fd >= 0)
		log_relay_read(&c->log, c->name, clock_ns());
	client_ended(c);
	return true;
}

static void look_at_clients(struct clients *cs, const struct pollfd *fds)
{
	struct client **link = &cs->list, *c;

	while ((c = *link)) {
		if (look_at_client(cs, c, fds)) {
			*link = c->next;
			cs->count--;
			close_client(c);
		} else {
			link = &c->next;
		}
		fds += ON_COUNT;
	}
}

/* ---- the loop ---- */

static int fill_polled(const struct clients *cs, struct pollfd *fds)
{
	int timeout_ms = -1;

	fds[ON_ENGINE] = (struct pollfd){ .fd = cs->engine, .events = POLLIN };
	fds[ON_SIGNAL] = (struct pollfd){ .fd = cs->signals, .events = POLLIN };
	fds[ON_KEEPER] = (struct pollfd){ .fd = cs->keeper.pidfd, .events = POLLIN };
	fds += ON_CLIENTS;
	for (const struct client *c = cs->list; c; c = c->next, fds += ON_COUNT) {
		fds[ON_EXIT] = (struct pollfd){
			.fd = c->threads ? thread_client_file(c->threads) : c->process.pidfd,
			.events = POLLIN,
		};
		fds[ON_LOG] = (struct pollfd){
			.fd = c->threads ? -1 : c->log.fd,
			.events = POLLIN,
		};
		fds[ON_CONTROL] = (struct pollfd){
			.fd = c->session >= 0 ? c->process.control : -1,
			.events = POLLIN,
		};
		if (c->kill_at_ns)
			timeout_ms = 100;
	}
	return timeout_ms;
}

/* Another keeper knows none of the processes: those that there are do without. */
static void look_after_keeper(struct clients *cs)
{
	if (cs->spawner.options.cache && keeper_revive(&cs->keeper))
		log_info("another keeper: clients from now on have a cache again");
}

static int serve(struct clients *cs)
{
	struct pollfd *fds = calloc(ON_CLIENTS + ON_COUNT * (size_t)cs->options->max, sizeof(*fds));
	int exit_code = EXIT_FAILURE;

	if (!fds) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	for (;;) {
		int timeout_ms = notify_alive(fill_polled(cs, fds));

		if (poll(fds, ON_CLIENTS + ON_COUNT * cs->count, timeout_ms) < 0 && errno != EINTR)
			break;
		look_at_clients(cs, fds + ON_CLIENTS);
		if (fds[ON_KEEPER].revents)
			look_after_keeper(cs);
		if (fds[ON_ENGINE].revents && !take_event(cs))
			break;
		if (fds[ON_SIGNAL].revents) {
			exit_code = EXIT_SUCCESS;
			break;
		}
	}
	free(fds);
	return exit_code;
}

static bool open_all(struct clients *cs)
{
	const struct clients_options *o = cs->options;

	cs->signals = node_open_signals();
	cs->engine = cs->signals < 0 ? -1 : node_open(o->device, o->name, o->version, o->type);
	return cs->engine >= 0;
}

/* A client whose threads do not end ends with this process. */
static void end_clients(struct clients *cs)
{
	const uint64_t end_ns = clock_ns() + END_NS;

	for (struct client *c = cs->list; c; c = c->next) {
		if (c->threads)
			thread_client_stop(c->threads);
		else
			spawned_kill(&c->process);
	}
	while (cs->list) {
		struct client *c = cs->list;
		struct pollfd ended = {
			.fd = c->threads ? thread_client_file(c->threads) : c->process.pidfd,
			.events = POLLIN,
		};

		cs->list = c->next;
		if (!c->threads)
			waitid(P_PIDFD, (id_t)c->process.pidfd, &(siginfo_t){ 0 }, WEXITED);
		else if (poll(&ended, 1, clock_ms_until(end_ns)) != 1)
			continue;
		close_client(c);
	}
}

int clients_serve(const struct clients_options *options)
{
	struct clients cs = { .options = options, .spawner = options->spawner, .engine = -1,
			      .signals = -1 };
	int exit_code = EXIT_FAILURE;

	if ((!options->threads || thread_clients_init(options->engine)) && open_all(&cs) &&
	    (options->threads || spawner_init(&cs.spawner))) {
		cs.spawner.options.cache = keeper_start(&cs.keeper, &options->keeper);
		log_info("ready");
		notify_ready();
		exit_code = serve(&cs);
		end_clients(&cs);
		keeper_stop(&cs.keeper);
	}
	if (cs.engine >= 0)
		close(cs.engine);
	if (cs.signals >= 0)
		close(cs.signals);
	return exit_code;
}
