// SPDX-License-Identifier: MIT
/*
 * The clients of an engine that is made of the kit: each has a process of its own, some of which are
 * kept ready, or threads of this one. Users have shares of them. nnacceld has a broker instead, which
 * has cgroups, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kit/backoff.h"
#include "kit/clients.h"
#include "kit/contexts.h"
#include "kit/log.h"
#include "kit/node.h"
#include "kit/notify.h"
#include "kit/threads.h"
#include "kit/waiting.h"

/* How long a client's process may outlive the client. */
#define GRACE_NS NS_PER_S

/* How long threads that serve clients are waited for in the end, and processes that were killed. */
#define END_NS (3 * NS_PER_S)
#define KILLED_NS (30 * NS_PER_S)

/* New clients of a user in a second, after LIMITS_BURST of them. */
#define RATE 8

/* What is polled besides the processes. */
enum { ON_ENGINE, ON_SIGNAL, ON_KEEPER, ON_CLIENTS };

/* Of each client: its end; of a process its log, and until it is ready its socket. */
enum { ON_EXIT, ON_LOG, ON_CONTROL, ON_COUNT };

/* A client, or a process that is kept ready for one. */
struct client {
	struct client *next;
	bool serves;			/* else it is nobody's yet */
	bool has_plugins;
	bool ready;			/* the process said so */
	bool killed;			/* by us */
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
	struct clients_options *options;
	struct spawner spawner;
	struct keeper keeper;
	int engine;
	int signals;
	struct client *list;
	unsigned int count;		/* in the list */
	struct limits limits;
	struct waiting waiting;
	uint64_t look_at_ns;		/* at those who wait; UINT64_MAX: when something happens */
	struct backoff starts;		/* of processes that are nobody's */
	struct pollfd *fds;
	size_t max_fds;
};

/*
 * Closes this end of a process's socket. If a copy of it stayed open here, the process would wait for
 * a keeper that has died.
 */
static void close_control(struct client *c)
{
	if (c->process.control >= 0)
		close(c->process.control);
	c->process.control = -1;
}

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
	close_control(c);
	close(c->process.log);
	free(c);
}

static void add_client(struct clients *cs, struct client *c)
{
	c->next = cs->list;
	cs->list = c;
	cs->count++;
}

static void kill_client(struct client *c)
{
	c->killed = true;
	spawned_kill(&c->process);
}

/* ---- starting ---- */

/* A process that is nobody's yet; NULL, with a log line: it cannot be started. */
static struct client *start_process(struct clients *cs, bool with_plugins)
{
	const struct spawn_plugins *plugins = with_plugins ? &cs->options->common.extensions.plugins :
							     NULL;
	struct client *c = calloc(1, sizeof(*c));

	if (!c || !spawn_worker(&cs->spawner, -1, plugins, &c->process)) {
		free(c);
		return NULL;
	}
	c->log.fd = c->process.log;
	c->has_plugins = with_plugins;
	c->session = -1;
	snprintf(c->name, sizeof(c->name), "process %d", (int)c->process.pid);
	add_client(cs, c);
	return c;
}

static unsigned int count_idle(const struct clients *cs)
{
	unsigned int count = 0;

	for (const struct client *c = cs->list; c; c = c->next)
		count += !c->serves && !c->killed;
	return count;
}

/* Starts processes until enough are kept ready; with plug-ins none is. */
static void refill(struct clients *cs)
{
	unsigned int idle = count_idle(cs);

	while (!cs->options->threads && idle < cs->options->common.idle && clock_ns() >= cs->starts.until_ns) {
		if (!start_process(cs, false)) {
			backoff_fail(&cs->starts, clock_ns());
			return;
		}
		idle++;
	}
}

/* One that is ready, if there is, one that starts, or a new one. */
static struct client *take_process(struct clients *cs, bool with_plugins)
{
	struct client *found = NULL;

	for (struct client *c = cs->list; c && !with_plugins; c = c->next)
		if (!c->serves && !c->killed && c->process.control >= 0 && (!found || c->ready))
			found = c;
	return found ? found : start_process(cs, with_plugins);
}

/* Another keeper knows none of the processes: those that there are do without. */
static void look_after_keeper(struct clients *cs)
{
	if (cs->spawner.options.cache && keeper_revive(&cs->keeper))
		log_info("another keeper: clients from now on have a cache again");
}

/* One that died soon after its start is not started again at once: then for a client that comes later. */
static bool pass_to_keeper(struct clients *cs, int socket, uint32_t uid)
{
	if (cs->keeper.socket < 0)
		look_after_keeper(cs);
	return keeper_pass(&cs->keeper, socket, uid);
}

/* The threads' end of a socket to the keeper; -1: they have no cache. */
static int connect_to_keeper(struct clients *cs, const struct client *c)
{
	int ends[2];

	if (!cs->spawner.options.cache || !spawn_control(ends))
		return -1;
	if (pass_to_keeper(cs, ends[0], c->uid)) {
		close(ends[0]);
		return ends[1];
	}
	log_warning("%s: without a cache", c->name);
	close(ends[0]);
	close(ends[1]);
	return -1;
}

static struct client *start_threads(struct clients *cs, const struct waiter *waiter, int session)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c) {
		close(session);
		return NULL;
	}
	c->uid = waiter->uid;
	snprintf(c->name, sizeof(c->name), "client %llu (uid %u)",
		 (unsigned long long)waiter->context, waiter->uid);
	c->session = -1;
	c->threads = thread_client_start(cs->options->engine, session, connect_to_keeper(cs, c),
					 c->name);
	if (!c->threads) {
		free(c);
		return NULL;
	}
	add_client(cs, c);
	return c;
}

/* Passes a ready process its session, and its socket to the keeper, which alone has it then. */
static void hand_over(struct clients *cs, struct client *c)
{
	if (!spawned_pass_session(&c->process, c->session))
		kill_client(c);
	else if (cs->spawner.options.cache && !pass_to_keeper(cs, c->process.control, c->uid))
		log_warning("%s: without a cache", c->name);
	close_control(c);
	close(c->session);
	c->session = -1;
}

static struct client *assign_process(struct clients *cs, const struct waiter *waiter, int session)
{
	struct client *c = take_process(cs, waiter->with_plugins);

	if (!c) {
		close(session);
		return NULL;
	}
	c->uid = waiter->uid;
	c->session = session;
	snprintf(c->name, sizeof(c->name), "client %d (uid %u)", (int)c->process.pid, c->uid);
	if (c->ready)
		hand_over(cs, c);
	return c;
}

/* ---- those who wait ---- */

/* False: what serves it cannot be started. */
static bool serve_waiter(struct clients *cs, const struct waiter *waiter)
{
	int session = context_session(cs->engine, waiter->context);
	struct client *c;

	if (session < 0)
		return true;
	if (limits_acquire(&cs->limits, waiter->uid, clock_ns())) {
		close(session);
		return false;
	}
	c = cs->options->threads ? start_threads(cs, waiter, session) :
				   assign_process(cs, waiter, session);
	if (!c) {
		limits_release(&cs->limits, waiter->uid, false, clock_ns());
		return false;
	}
	c->serves = true;
	c->context = waiter->context;
	log_debug("%s: process %u%s", c->name, waiter->pid,
		  waiter->with_plugins ? ", with extensions" : "");
	return true;
}

static void serve_waiting(struct clients *cs, bool with_plugins)
{
	struct waiter *waiter;

	while ((waiter = waiting_pick(&cs->waiting, &cs->limits, with_plugins, WAITING_ALL,
				      clock_ns()))) {
		if (!serve_waiter(cs, waiter)) {
			waiting_refuse_all(&cs->waiting, &cs->limits, with_plugins, EAGAIN,
					   clock_ns());
			return;
		}
		waiting_remove(&cs->waiting, waiter->context);
	}
}

/* Serves or refuses who can be. */
static void look_at_waiting(struct clients *cs)
{
	waiting_judge(&cs->waiting, &cs->limits, clock_ns());
	serve_waiting(cs, false);
	serve_waiting(cs, true);
	cs->look_at_ns = contexts_refuse(cs->engine, &cs->waiting, &cs->limits);
}

/* ---- the kernel's events ---- */

static void client_new(struct clients *cs, const struct nnaccel_engine_next *next)
{
	const struct waiter waiter = {
		.context = next->out_context,
		.uid = next->out_uid,
		.pid = next->out_pid,
		.with_plugins = extensions_admit(&cs->options->common.extensions, cs->engine,
						 next->out_context),
		.since_ns = clock_ns(),
	};

	if (!waiting_add(&cs->waiting, &waiter))
		log_error("context %llu: out of memory", (unsigned long long)waiter.context);
}

static void client_gone(struct clients *cs, uint64_t context)
{
	for (struct client *c = cs->list; c; c = c->next)
		if (c->serves && c->context == context && !c->threads)
			c->kill_at_ns = clock_ns() + GRACE_NS;
	waiting_remove(&cs->waiting, context);
}

/* False: the engine node is of no use any longer. */
static bool take_event(struct clients *cs)
{
	struct nnaccel_engine_next next;
	int told = context_next(cs->engine, cs->options->common.device, &next);

	if (told > 0 && next.out_event == NNACCEL_ENGINE_NEW)
		client_new(cs, &next);
	else if (told > 0 && next.out_event == NNACCEL_ENGINE_GONE)
		client_gone(cs, next.out_context);
	return told >= 0;
}

/* ---- the processes ---- */

static void process_said(struct clients *cs, struct client *c)
{
	if (!spawned_is_ready(&c->process)) {
		/* Its end, which its pidfd tells of, is as good as its own. */
		close_control(c);
		spawned_kill(&c->process);
		return;
	}
	c->ready = true;
	cs->starts.failures = 0;
	if (c->session >= 0)
		hand_over(cs, c);
}

/* Whether it crashed: a SIGKILL is ours, or an administrator's. */
static bool log_end(const struct client *c)
{
	siginfo_t info = { 0 };

	waitid(P_PIDFD, (id_t)c->process.pidfd, &info, WEXITED);
	if (info.si_code != CLD_EXITED && info.si_status != SIGKILL)
		log_warning("%s: ended by signal %d (%s)%s", c->name, info.si_status,
			    strsignal(info.si_status),
			    info.si_status == SIGSYS ? ": a system call that is not allowed" : "");
	else if (info.si_code == CLD_EXITED && info.si_status)
		log_warning("%s: ended with status %d", c->name, info.si_status);
	return !c->killed && info.si_status != (info.si_code == CLD_EXITED ? 0 : SIGKILL);
}

/* What had a client is its user's no longer. */
static void client_ended(struct clients *cs, const struct client *c)
{
	bool crashed = !c->threads && log_end(c);
	uint64_t delay_ns = 0;

	if (c->serves)
		delay_ns = limits_release(&cs->limits, c->uid, crashed, clock_ns());
	else if (!c->killed)
		backoff_fail(&cs->starts, clock_ns());
	if (delay_ns)
		log_warning("uid %u: its processes crash: it gets none for %llu s", c->uid,
			    (unsigned long long)(delay_ns / NS_PER_S));
}

/* What poll() says of a process; true: it has ended. */
static bool look_at_client(struct clients *cs, struct client *c, const struct pollfd *fds)
{
	if (c->threads)
		return fds[ON_EXIT].revents;
	if (fds[ON_LOG].revents && !log_relay_read(&c->log, c->name, clock_ns()))
		c->log.fd = -1;
	if (fds[ON_CONTROL].revents)
		process_said(cs, c);
	if (c->kill_at_ns && clock_ns() >= c->kill_at_ns)
		kill_client(c);
	if (fds[ON_EXIT].revents && c->log.fd >= 0)
		log_relay_read(&c->log, c->name, clock_ns());
	return fds[ON_EXIT].revents;
}

static void look_at_clients(struct clients *cs, const struct pollfd *fds)
{
	struct client **link = &cs->list, *c;

	while ((c = *link)) {
		if (look_at_client(cs, c, fds)) {
			*link = c->next;
			cs->count--;
			client_ended(cs, c);
			close_client(c);
		} else {
			link = &c->next;
		}
		fds += ON_COUNT;
	}
}

/* ---- the loop ---- */

/* Room for all that is polled. */
static bool make_room(struct clients *cs)
{
	size_t wanted = ON_CLIENTS + ON_COUNT * (size_t)cs->count;
	struct pollfd *fds;

	if (wanted <= cs->max_fds)
		return true;
	fds = realloc(cs->fds, 2 * wanted * sizeof(*fds));
	if (!fds) {
		log_error("out of memory");
		return false;
	}
	cs->fds = fds;
	cs->max_fds = 2 * wanted;
	return true;
}

/* Returns the ms until there is something to do, -1: something has to happen. */
static int fill_polled(const struct clients *cs)
{
	uint64_t next_ns = cs->look_at_ns;
	struct pollfd *fds = cs->fds;

	fds[ON_ENGINE] = (struct pollfd){ .fd = cs->engine, .events = POLLIN };
	fds[ON_SIGNAL] = (struct pollfd){ .fd = cs->signals, .events = POLLIN };
	fds[ON_KEEPER] = (struct pollfd){ .fd = cs->keeper.pidfd, .events = POLLIN };
	fds += ON_CLIENTS;
	for (const struct client *c = cs->list; c; c = c->next, fds += ON_COUNT) {
		const bool is_process = !c->threads;

		fds[ON_EXIT] = (struct pollfd){
			.fd = is_process ? c->process.pidfd : thread_client_file(c->threads),
			.events = POLLIN,
		};
		fds[ON_LOG] = (struct pollfd){ .fd = is_process ? c->log.fd : -1, .events = POLLIN };
		fds[ON_CONTROL] = (struct pollfd){
			.fd = is_process && !c->ready ? c->process.control : -1,
			.events = POLLIN,
		};
		if (c->kill_at_ns && !c->killed && c->kill_at_ns < next_ns)
			next_ns = c->kill_at_ns;
	}
	if (cs->starts.until_ns > clock_ns() && cs->starts.until_ns < next_ns)
		next_ns = cs->starts.until_ns;
	return clock_ms_until(next_ns);
}

static int serve(struct clients *cs)
{
	for (;;) {
		int timeout_ms;

		look_at_waiting(cs);
		refill(cs);
		if (!make_room(cs))
			return EXIT_FAILURE;
		timeout_ms = notify_alive(fill_polled(cs));
		if (poll(cs->fds, ON_CLIENTS + ON_COUNT * cs->count, timeout_ms) < 0) {
			if (errno == EINTR)
				continue;
			log_error("poll: %s", strerror(errno));
			return EXIT_FAILURE;
		}
		look_at_clients(cs, cs->fds + ON_CLIENTS);
		if (cs->fds[ON_KEEPER].revents)
			look_after_keeper(cs);
		if (cs->fds[ON_ENGINE].revents && !take_event(cs))
			return EXIT_FAILURE;
		if (cs->fds[ON_SIGNAL].revents)
			return EXIT_SUCCESS;
	}
}

static bool open_all(struct clients *cs)
{
	const struct clients_options *o = cs->options;

	/* Threads that the engine makes when it starts block the signals only if this one does. */
	cs->signals = node_open_signals();
	if (cs->signals < 0 || (o->threads && !thread_clients_init(o->engine)))
		return false;
	cs->engine = node_open(o->common.device, o->common.name, o->version, o->type);
	return cs->engine >= 0;
}

/* A client that does not end in time is left: threads end with this process, a worker when it can. */
static void end_clients(struct clients *cs)
{
	const uint64_t start_ns = clock_ns();

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
		if (poll(&ended, 1, clock_ms_until(start_ns + (c->threads ? END_NS : KILLED_NS))) != 1) {
			if (!c->threads)
				log_warning("worker %d does not end", (int)c->process.pid);
			continue;
		}
		if (!c->threads)
			waitid(P_PIDFD, (id_t)c->process.pidfd, &(siginfo_t){ 0 }, WEXITED);
		close_client(c);
	}
}

int clients_serve(struct clients_options *options)
{
	struct engine_options *common = &options->common;
	struct clients cs = { .options = options, .spawner = common->spawner, .engine = -1,
			      .signals = -1 };
	int exit_code = EXIT_FAILURE;

	cs.spawner.program = -1;
	if (!limits_init(&cs.limits, common->max, common->max_per_user, RATE)) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	if (!options->threads)
		spawn_raise_files(common->max + common->max_per_user + common->idle);
	if (open_all(&cs) && (options->threads || spawner_init(&cs.spawner)) &&
	    (!common->extensions.folder || extensions_find(&common->extensions, &cs.spawner))) {
		cs.spawner.options.cache = keeper_start(&cs.keeper, &common->keeper);
		log_info("ready");
		notify_ready();
		exit_code = serve(&cs);
		end_clients(&cs);
		keeper_stop(&cs.keeper);
	}
	extensions_free(&common->extensions);
	waiting_clear(&cs.waiting);
	limits_free(&cs.limits);
	free(cs.fds);
	if (cs.engine >= 0)
		close(cs.engine);
	if (cs.signals >= 0)
		close(cs.signals);
	if (cs.spawner.program >= 0)
		close(cs.spawner.program);
	return exit_code;
}
