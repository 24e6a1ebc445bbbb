// SPDX-License-Identifier: MIT
/*
 * The broker: holds the engine node open and keeps sandboxed workers ready. Each client's context
 * gets its own worker, or is served by threads of the engine's process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sized.h"
#include "kit/api/engine.h"
#include "kit/api/log.h"
#include "kit/broker/backoff.h"
#include "kit/broker/broker.h"
#include "kit/broker/cgroup.h"
#include "kit/broker/contexts.h"
#include "kit/broker/limits.h"
#include "kit/broker/node.h"
#include "kit/broker/notify.h"
#include "kit/broker/reread.h"
#include "kit/broker/waiting.h"
#include "kit/worker/threads.h"

#define NEVER UINT64_MAX

/*
 * Time for which a worker may still run after the end of its context, before the broker kills it.
 */
#define GONE_GRACE_NS NS_PER_S

/*
 * Maximum number of workers that start at a time while a user without a worker waits. If every
 * waiting user already has a worker, only one worker starts at a time, because workers that start
 * together slow each other down.
 */
#define MAX_STARTING 2

/*
 * Maximum number of epoll events that the broker handles between two slow actions of do_one().
 */
#define MAX_EVENTS 64

/* Maximum time for which the broker waits for workers to end when the broker exits. */
#define END_MS 3000

enum watched {
	ON_ENGINE, ON_SIGNAL, ON_KEEPER, ON_EXIT, ON_CONTROL, ON_LOG, ON_CHANGES, ON_ANSWER
};

struct worker;

struct watch {
	enum watched what;
	struct worker *worker;
};

/* A DYING worker gets no session; the broker only waits until the worker's process has ended. */
enum worker_state { STARTING, IDLE, SERVING, DYING };

struct worker {
	struct worker *next;
	/* the worker's process; all fds in `process` are -1 if threads serve the client */
	struct spawned process;
	/* threads that serve the client; NULL if a process serves the client */
	struct thread_client *threads;
	struct cgroup_leaf leaf;
	enum worker_state state;
	bool has_plugins;
	bool has_cache;	/* true: the broker has passed the worker's socket to the cache's keeper */
	bool low;	/* SERVING only: all models of the client have low priority */
	uint32_t uid;			/* SERVING only: user id of the client */
	uint64_t context;
	uint64_t kill_at_ns;		/* time at which to kill the worker, or NEVER */
	bool killed;			/* true: the broker has killed the worker */
	struct log_relay log;
	struct watch on_exit, on_control, on_log;
	char name[80];			/* worker's name in the log */
};

struct broker {
	struct engine_options *options;
	int engine;
	int signals;
	int epoll;
	struct watch on_engine, on_signal, on_keeper, on_changes, on_answer;
	struct reread reread;
	struct cgroup cgroup;
	struct keeper keeper;
	struct spawner spawner;
	struct limits limits;
	struct waiting waiting;
	/* time at which to examine the waiting contexts next; NEVER: only after an epoll event */
	uint64_t look_at_ns;
	struct worker *workers;
	struct backoff starts;		/* backoff for failed starts of workers without plug-ins */
	uint64_t plugins_at_ns;		/* time before which no worker with plug-ins starts */
	bool ready;			/* true: the broker has reported that it is ready */
	bool stop;
	int exit_code;
};

static void stop(struct broker *b, int exit_code)
{
	b->stop = true;
	b->exit_code = exit_code;
}

static bool watch(struct broker *b, int fd, struct watch *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	if (!epoll_ctl(b->epoll, EPOLL_CTL_ADD, fd, &event))
		return true;
	log_error("epoll: %s", strerror(errno));
	return false;
}

/* ---- workers ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Removes *fd from epoll and closes *fd. Closing *fd is not enough: a new worker has a copy of *fd
 * until it calls execve(), and epoll would still report events of the copy.
 */
static void unwatch_and_close(struct broker *b, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(b->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close_fd(fd);
}

/* Returns an fd that becomes readable when the worker has ended. */
static int end_of(const struct broker *b, const struct worker *w)
{
	return w->threads ? b->options->threads->file(w->threads) : w->process.pidfd;
}

static void worker_free(struct broker *b, struct worker *w)
{
	if (w->threads) {
		epoll_ctl(b->epoll, EPOLL_CTL_DEL, end_of(b, w), NULL);
		b->options->threads->free(w->threads);
	}
	unwatch_and_close(b, &w->process.pidfd);
	unwatch_and_close(b, &w->process.control);
	unwatch_and_close(b, &w->process.log);
	cgroup_leaf_remove(&b->cgroup, &w->leaf);
	free(w);
}

static void unlink_worker(struct broker *b, struct worker *w)
{
	struct worker **link = &b->workers;

	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
}

/*
 * Sets the CPU weights of a user and its workers. A worker has the low weight while all its models
 * have low priority. A user has the low weight while all its workers have the low weight. Models of
 * high priority do not raise a CPU weight above the configured weight.
 */
static void update_weights(struct broker *b, uint32_t uid)
{
	const struct worker *one = NULL;
	bool low = true;

	for (const struct worker *w = b->workers; w; w = w->next) {
		if (w->state != SERVING || w->uid != uid)
			continue;
		one = w;
		low = low && w->low;
		cgroup_leaf_set_low(&b->cgroup, &w->leaf, w->low);
	}
	if (one)
		cgroup_user_set_low(&b->cgroup, &one->leaf, low);
}

/*
 * Reaps a dead worker and returns its exit status in the format of waitid(). If threads serve the
 * client, returns the status of a normal exit, because a crash in a thread ends the whole process.
 */
static siginfo_t reap(struct worker *w)
{
	siginfo_t info = { .si_code = CLD_EXITED };

	while (!w->threads && waitid(P_PIDFD, (id_t)w->process.pidfd, &info, WEXITED) &&
	       errno == EINTR)
		;
	return info;
}

static void start_failed(struct broker *b, bool with_plugins)
{
	if (with_plugins) {
		b->plugins_at_ns = clock_ns() + NS_PER_S;
	} else if (b->ready) {
		backoff_fail(&b->starts, clock_ns());
	} else {
		log_error("no worker can be started");
		stop(b, EXIT_FAILURE);
	}
}

static bool watch_worker(struct broker *b, struct worker *w)
{
	w->on_exit = (struct watch){ ON_EXIT, w };
	w->on_control = (struct watch){ ON_CONTROL, w };
	w->on_log = (struct watch){ ON_LOG, w };
	return watch(b, end_of(b, w), &w->on_exit) &&
	       (w->threads || (watch(b, w->process.control, &w->on_control) &&
			       watch(b, w->process.log, &w->on_log)));
}

/* Creates the structure of a worker, without a process or threads yet. */
static struct worker *worker_new(void)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (w) {
		w->process = (struct spawned){ .pidfd = -1, .control = -1, .log = -1 };
		w->leaf.fd = -1;
		w->kill_at_ns = NEVER;
	}
	return w;
}

static void add_worker(struct broker *b, struct worker *w)
{
	w->log.fd = w->process.log;
	w->next = b->workers;
	b->workers = w;
}

static void worker_start(struct broker *b, bool with_plugins)
{
	const struct spawn_plugins *plugins = with_plugins ? &b->options->extensions.plugins : NULL;
	struct worker *w = worker_new();
	struct spawned process;
	bool started = false;

	if (w && cgroup_leaf_create(&b->cgroup, &w->leaf)) {
		started = spawn_worker(&b->spawner, w->leaf.fd, plugins, &process);
		cgroup_leaf_close(&w->leaf);
	}
	if (started) {
		w->process = process;
		started = watch_worker(b, w);
		if (!started) {
			spawned_kill(&w->process);
			reap(w);
		}
	}
	if (!started) {
		if (w)
			worker_free(b, w);
		start_failed(b, with_plugins);
		return;
	}
	w->state = STARTING;
	w->has_plugins = with_plugins;
	snprintf(w->name, sizeof(w->name), "worker %d", (int)w->process.pid);
	add_worker(b, w);
	log_debug("%s: started", w->name);
}

static unsigned int count_workers(const struct broker *b, bool with_plugins,
				  enum worker_state state)
{
	unsigned int count = 0;

	for (const struct worker *w = b->workers; w; w = w->next)
		count += w->has_plugins == with_plugins && w->state == state;
	return count;
}

/*
 * Returns whether a waiting context or the reserve of idle workers needs a new worker. The broker
 * keeps a reserve only of workers without plug-ins.
 */
static bool wants_start(struct broker *b, bool with_plugins)
{
	const uint64_t now = clock_ns();
	unsigned int idle = count_workers(b, with_plugins, IDLE);
	unsigned int starting = count_workers(b, with_plugins, STARTING);
	unsigned int waiting = waiting_count(&b->waiting, &b->limits, with_plugins, now);
	bool alone = waiting_pick(&b->waiting, &b->limits, with_plugins, WAITING_ALONE, now);

	return !b->options->threads &&
	       idle + starting < waiting + (with_plugins ? 0 : b->options->idle) &&
	       starting < (alone ? MAX_STARTING : 1) &&
	       now >= (with_plugins ? b->plugins_at_ns : b->starts.until_ns);
}

/* Refuses all waiting contexts if no worker can start within the contexts' maximum waiting time. */
static void refuse_hopeless(struct broker *b, bool with_plugins)
{
	const uint64_t now = clock_ns();
	uint64_t start_at_ns = with_plugins ? b->plugins_at_ns : b->starts.until_ns;

	if (!count_workers(b, with_plugins, IDLE) && !count_workers(b, with_plugins, STARTING) &&
	    start_at_ns > now + (with_plugins ? 0 : WAITING_MAX_NS))
		waiting_refuse_all(&b->waiting, &b->limits, with_plugins, EAGAIN, now);
}

/*
 * A worker's end by SIGKILL counts as a crash only if memory ran out. While memory suffices, only
 * an administrator, the broker or the kernel module (for an overdue execution) sends SIGKILL.
 */
static bool is_crash(const struct broker *b, const struct worker *w, const siginfo_t *info)
{
	if (w->killed)
		return false;
	if (info->si_code == CLD_EXITED)
		return info->si_status != 0;
	return info->si_status != SIGKILL || cgroup_leaf_was_oom(&b->cgroup, &w->leaf);
}

static void log_exit(const struct broker *b, const struct worker *w, const siginfo_t *info)
{
	if (info->si_code != CLD_EXITED)
		log_warning("%s: killed by signal %d (%s)%s", w->name, info->si_status,
			    strsignal(info->si_status),
			    info->si_status == SIGSYS ? ": a system call that is not allowed" :
			    cgroup_leaf_was_oom(&b->cgroup, &w->leaf) ? ": out of memory" : "");
	else if (info->si_status)
		log_warning("%s: ended with %d", w->name, info->si_status);
	else
		log_debug("%s: ended", w->name);
}

static void worker_exited(struct broker *b, struct worker *w)
{
	siginfo_t info = reap(w);
	bool crashed = is_crash(b, w, &info);
	uint64_t delay_ns;

	log_relay_read(&w->log, w->name, clock_ns());
	if (!w->killed)
		log_exit(b, w, &info);
	if (w->state == SERVING) {
		delay_ns = limits_release(&b->limits, w->uid, crashed, clock_ns());
		if (delay_ns)
			log_warning("uid %u: its workers crash: it gets no new ones for %llu s",
				    w->uid, (unsigned long long)(delay_ns / NS_PER_S));
	} else if (!w->killed && (w->has_plugins || w->state == STARTING ||
				  (w->state == IDLE && crashed))) {
		start_failed(b, w->has_plugins);
	}
	unlink_worker(b, w);
	if (w->state == SERVING)
		update_weights(b, w->uid);
	worker_free(b, w);
}

/*
 * Lets a worker continue without a cache after the broker failed to pass the worker's socket to the
 * keeper.
 */
static void give_up_cache(struct broker *b, struct worker *w)
{
	log_warning("%s: has no compilation cache", w->name);
	w->has_cache = false;
	unwatch_and_close(b, &w->process.control);
}

/*
 * Passes a worker's socket to the keeper. Restarts a dead keeper first, unless the keeper was
 * started too recently.
 */
static bool pass_to_keeper(struct broker *b, const struct worker *w)
{
	if (b->keeper.socket < 0 && keeper_revive(&b->keeper))
		watch(b, b->keeper.pidfd, &b->on_keeper);
	return keeper_pass(&b->keeper, w->process.control, w->uid);
}

/* Passes a worker's socket and user id to the keeper, and removes the socket from epoll. */
static void hand_over(struct broker *b, struct worker *w)
{
	if (!b->spawner.options.cache) {
		unwatch_and_close(b, &w->process.control);
		return;
	}
	w->has_cache = pass_to_keeper(b, w);
	if (w->has_cache)
		epoll_ctl(b->epoll, EPOLL_CTL_DEL, w->process.control, NULL);
	else
		give_up_cache(b, w);
}

/*
 * After the old keeper's end, starts a new keeper and passes the workers' sockets to the new
 * keeper, so that workers stay connected.
 */
static void keeper_ended(struct broker *b)
{
	epoll_ctl(b->epoll, EPOLL_CTL_DEL, b->keeper.pidfd, NULL);
	if (keeper_revive(&b->keeper))
		watch(b, b->keeper.pidfd, &b->on_keeper);
	for (struct worker *w = b->workers; w; w = w->next)
		if (w->has_cache && !keeper_pass(&b->keeper, w->process.control, w->uid))
			give_up_cache(b, w);
}

static void set_ready(struct broker *b)
{
	if (b->ready)
		return;
	b->ready = true;
	log_info("ready");
	notify_ready();
}

static void worker_said(struct broker *b, struct worker *w)
{
	/*
	 * If the worker has ended, the control socket has no message, and the pidfd reports the
	 * end.
	 */
	if (!spawned_is_ready(&w->process)) {
		epoll_ctl(b->epoll, EPOLL_CTL_DEL, w->process.control, NULL);
		return;
	}
	if (w->state == STARTING)
		w->state = IDLE;
	b->starts.failures = 0;
	log_debug("%s: ready", w->name);
	set_ready(b);
}

/* ---- contexts ---- */

/*
 * Moves a ready worker to a cgroup leaf of a context's user, and passes the context's session to
 * this worker. If the worker has died, tries the next ready worker. A living worker that cannot be
 * moved to the cgroup leaf stays ready. Returns NULL if no worker got the session.
 */
static struct worker *pass_session(struct broker *b, int session, const struct waiter *waiter,
				   struct cgroup_leaf *leaf)
{
	int error = 0;

	for (struct worker *w = b->workers; w && (!error || error == ESRCH); w = w->next) {
		if (w->state != IDLE || w->has_plugins != waiter->with_plugins)
			continue;
		error = cgroup_leaf_move(&b->cgroup, w->process.pid, &w->leaf, leaf);
		if (error && error != ESRCH)
			continue;
		if (!error && spawned_pass_session(&w->process, session))
			return w;
		w->state = DYING;
		spawned_kill(&w->process);	/* kill the worker unless it is already dead */
		/* The killed worker owns the cgroup leaf, so the next worker needs a new leaf. */
		if (!error && cgroup_leaf_create_for(&b->cgroup, waiter->uid, b->engine,
						     waiter->context, leaf))
			break;
	}
	return NULL;
}

/*
 * Assigns a worker to a context. Makes the cgroup before the session: a session that no worker gets
 * would be lost, but a cgroup can be removed. Returns NULL if the context gets no worker now. Sets
 * waiter->reason if the context will never get a worker.
 */
static struct worker *give_worker(struct broker *b, struct waiter *waiter)
{
	struct worker *w = NULL;
	struct cgroup_leaf leaf;
	int session;

	waiter->reason = cgroup_leaf_create_for(&b->cgroup, waiter->uid, b->engine, waiter->context,
						&leaf);
	if (waiter->reason)
		return NULL;
	session = context_session(b->engine, waiter->context);
	if (session >= 0) {
		w = pass_session(b, session, waiter, &leaf);
		close(session);
	}
	cgroup_leaf_close(&leaf);
	cgroup_leaf_remove(&b->cgroup, &leaf);
	if (!w)
		return NULL;
	snprintf(w->name, sizeof(w->name), "worker %d (uid %u, context %llu)",
		 (int)w->process.pid, waiter->uid, (unsigned long long)waiter->context);
	return w;
}

/* Starts threads that serve a context, and passes the threads a socket to the keeper. */
static struct worker *start_threads(struct broker *b, struct waiter *waiter)
{
	int session = context_session(b->engine, waiter->context), ends[2] = { -1, -1 };
	struct worker *w = session < 0 ? NULL : worker_new();

	if (!w) {
		close_fd(&session);
		return NULL;
	}
	w->uid = waiter->uid;
	snprintf(w->name, sizeof(w->name), "client %llu (uid %u)",
		 (unsigned long long)waiter->context, waiter->uid);
	if (b->spawner.options.cache && spawn_control(ends)) {
		w->process.control = ends[0];
		w->has_cache = pass_to_keeper(b, w);
		if (!w->has_cache) {
			give_up_cache(b, w);
			close_fd(&ends[1]);
		}
	}
	w->threads = b->options->threads->start(b->options->engine, session, ends[1], w->name);
	if (w->threads && watch_worker(b, w)) {
		add_worker(b, w);
		return w;
	}
	if (w->threads)
		b->options->threads->stop(w->threads);
	worker_free(b, w);
	waiter->reason = "threads cannot be started";
	return NULL;
}

static void serve_waiter(struct broker *b, struct waiter *waiter)
{
	struct worker *w;

	if (limits_acquire(&b->limits, waiter->uid, clock_ns()))
		return;
	w = b->options->threads ? start_threads(b, waiter) : give_worker(b, waiter);
	if (!w) {
		limits_release(&b->limits, waiter->uid, false, clock_ns());
		if (waiter->reason)
			waiting_refuse(waiter, &b->limits, EAGAIN, clock_ns());
		return;
	}
	w->state = SERVING;
	w->uid = waiter->uid;
	w->context = waiter->context;
	log_debug("%s: serves process %u%s", w->name, waiter->pid,
		  w->has_plugins ? ", with extensions" : "");
	update_weights(b, w->uid);
	if (!w->threads)
		hand_over(b, w);
}

/* Marks each waiting context whose user has another context that a worker already serves. */
static void mark_seconds(struct broker *b)
{
	for (struct waiter *waiter = b->waiting.first; waiter; waiter = waiter->next) {
		const struct worker *w = b->workers;

		while (w && (w->state != SERVING || w->uid != waiter->uid ||
			     w->kill_at_ns != NEVER))
			w = w->next;
		waiter->is_second = w;
	}
}

/*
 * Returns which contexts may get a worker while `ready` workers are idle. Only users that had few
 * new workers lately (see limits_is_modest()) may use the reserve of idle workers. Only users with
 * a single context may use the last half of the reserve. A user that opens many contexts has to
 * wait for new workers, while other users get idle workers.
 */
static enum waiting_whom whom_to_serve(const struct broker *b, bool with_plugins,
				       unsigned int ready)
{
	const unsigned int kept = b->options->idle;

	if (with_plugins || ready > kept || b->options->threads)
		return WAITING_ALL;
	return ready > (kept + 1) / 2 ? WAITING_MODEST : WAITING_ALONE;
}

/* Assigns a ready worker to a waiting context; returns false if no context can get a worker. */
static bool serve_one(struct broker *b, bool with_plugins)
{
	unsigned int ready = count_workers(b, with_plugins, IDLE);
	struct waiter *waiter = !ready && !b->options->threads ? NULL :
		waiting_pick(&b->waiting, &b->limits, with_plugins,
			     whom_to_serve(b, with_plugins, ready), clock_ns());

	if (!waiter)
		return false;
	serve_waiter(b, waiter);
	if (!waiter->error)
		waiting_remove(&b->waiting, waiter->context);
	return true;
}

/*
 * Does one slow action: moves a process between cgroups, or creates a process with namespaces.
 * Between two slow actions the broker handles all events, so that a new context waits for at most
 * one slow action. Returns false if no slow action is needed.
 */
static bool do_one(struct broker *b)
{
	for (int with_plugins = 0; with_plugins < 2; with_plugins++)
		if (serve_one(b, with_plugins))
			return true;
	for (int with_plugins = 0; with_plugins < 2; with_plugins++) {
		if (wants_start(b, with_plugins)) {
			worker_start(b, with_plugins);
			return true;
		}
	}
	return false;
}

/*
 * Serves one waiting context or starts one worker. Refuses the waiting contexts that will get no
 * worker.
 */
static void look_at_waiting(struct broker *b)
{
	bool more;

	waiting_judge(&b->waiting, &b->limits, clock_ns());
	mark_seconds(b);
	more = do_one(b);
	for (int with_plugins = 0; with_plugins < 2; with_plugins++)
		refuse_hopeless(b, with_plugins);
	b->look_at_ns = contexts_refuse(b->engine, &b->waiting, &b->limits);
	if (more)
		b->look_at_ns = 0;
}

static void context_new(struct broker *b, const struct nnaccel_engine_next *next)
{
	const struct waiter waiter = {
		.context = next->out_context,
		.uid = next->out_uid,
		.pid = next->out_pid,
		.with_plugins = extensions_admit(&b->options->extensions, b->engine,
						 next->out_context),
		.since_ns = clock_ns(),
	};

	if (!waiting_add(&b->waiting, &waiter))
		log_error("context %llu: out of memory", (unsigned long long)waiter.context);
}

/*
 * A worker ends by itself after the client has closed the context. If the worker does not end in
 * time, the broker kills it.
 */
static void context_gone(struct broker *b, const struct nnaccel_engine_next *next)
{
	for (struct worker *w = b->workers; w; w = w->next) {
		if (w->state == SERVING && w->context == next->out_context && !w->threads)
			w->kill_at_ns = clock_ns() + GONE_GRACE_NS;
	}
	waiting_remove(&b->waiting, next->out_context);
}

static void context_priority(struct broker *b, const struct nnaccel_engine_next *next)
{
	for (struct worker *w = b->workers; w; w = w->next) {
		if (w->state != SERVING || w->context != next->out_context)
			continue;
		log_debug("%s: priority %u", w->name, next->out_priority);
		w->low = next->out_priority == NNACCEL_PRIORITY_LOW;
		update_weights(b, w->uid);
	}
}

static void engine_told(struct broker *b)
{
	struct nnaccel_engine_next next;
	int told = context_next(b->engine, b->options->device, &next);

	if (told < 0)
		stop(b, EXIT_FAILURE);
	if (told <= 0)
		return;
	if (next.out_event == NNACCEL_ENGINE_NEW)
		context_new(b, &next);
	else if (next.out_event == NNACCEL_ENGINE_GONE)
		context_gone(b, &next);
	else if (next.out_event == NNACCEL_ENGINE_PRIORITY)
		context_priority(b, &next);
}

/* ---- the loop ---- */

/*
 * Kills the workers whose time limit kill_at_ns is over. Returns the time until the next timed
 * action in ms, or -1.
 */
static int run_timers(struct broker *b)
{
	uint64_t now = clock_ns(), next = NEVER;

	for (struct worker *w = b->workers; w; w = w->next) {
		if (w->kill_at_ns <= now) {
			log_info("%s: killed: it outlived its context", w->name);
			w->kill_at_ns = NEVER;
			w->killed = true;
			spawned_kill(&w->process);
		}
		if (w->kill_at_ns < next)
			next = w->kill_at_ns;
	}
	if (b->starts.until_ns > now && b->starts.until_ns < next)
		next = b->starts.until_ns;
	if (b->plugins_at_ns > now && b->plugins_at_ns < next)
		next = b->plugins_at_ns;
	if (b->look_at_ns < next)
		next = b->look_at_ns > now ? b->look_at_ns : now;
	if (b->reread.at_ns > now && b->reread.at_ns < next)
		next = b->reread.at_ns;
	return clock_ms_until(next);
}

/* Kills starting and idle workers with plug-ins, because the plug-ins have changed. */
static void drop_old_plugins(struct broker *b)
{
	for (struct worker *w = b->workers; w; w = w->next) {
		if (!w->has_plugins || (w->state != STARTING && w->state != IDLE))
			continue;
		w->state = DYING;
		w->killed = true;
		spawned_kill(&w->process);
	}
	b->plugins_at_ns = 0;
}

static void dispatch(struct broker *b, const struct watch *what)
{
	struct worker *w = what->worker;
	struct signalfd_siginfo info;

	switch (what->what) {
	case ON_ENGINE:
		engine_told(b);
		break;
	case ON_SIGNAL:
		if (read(b->signals, &info, sizeof(info)) == sizeof(info))
			log_info("%s: ending", strsignal((int)info.ssi_signo));
		stop(b, EXIT_SUCCESS);
		break;
	case ON_KEEPER:
		keeper_ended(b);
		break;
	case ON_EXIT:
		worker_exited(b, w);
		break;
	case ON_CONTROL:
		worker_said(b, w);
		break;
	case ON_CHANGES:
		reread_changed(&b->reread);
		break;
	case ON_ANSWER:
		if (reread_read(&b->reread, &b->options->extensions)) {
			unwatch_and_close(b, &b->reread.answer);
			drop_old_plugins(b);
		}
		break;
	case ON_LOG:
		if (!log_relay_read(&w->log, w->name, clock_ns()))
			epoll_ctl(b->epoll, EPOLL_CTL_DEL, w->process.log, NULL);
		break;
	}
}

static void take_events(struct broker *b, int timeout_ms)
{
	struct epoll_event event;
	int n = 1;

	/*
	 * Handles one event at a time, because an event's handler may free the object of another
	 * event.
	 */
	for (int i = 0; i < MAX_EVENTS && n == 1 && !b->stop; i++) {
		n = epoll_wait(b->epoll, &event, 1, i ? 0 : timeout_ms);
		if (n == 1)
			dispatch(b, event.data.ptr);
	}
	if (n < 0 && errno != EINTR) {
		log_error("epoll: %s", strerror(errno));
		stop(b, EXIT_FAILURE);
	}
}

static void loop(struct broker *b)
{
	while (!b->stop) {
		look_at_waiting(b);
		if (reread_start(&b->reread, &b->options->extensions, &b->spawner))
			watch(b, b->reread.answer, &b->on_answer);
		take_events(b, notify_alive(run_timers(b)));
	}
}

/*
 * Ends all workers. Waits only for a limited time, because a worker that accesses its client's
 * memory may hang.
 */
static void end_workers(struct broker *b)
{
	uint64_t end_ns = clock_ns() + END_MS * UINT64_C(1000000);
	struct worker *w;

	for (w = b->workers; w; w = w->next) {
		if (w->threads)
			b->options->threads->stop(w->threads);
		else
			spawned_kill(&w->process);
	}
	while ((w = b->workers)) {
		struct pollfd ended = { .fd = end_of(b, w), .events = POLLIN };

		b->workers = w->next;
		if (poll(&ended, 1, clock_ms_until(end_ns)) == 1) {
			reap(w);
			log_relay_read(&w->log, w->name, clock_ns());
		} else {
			log_warning("%s: does not end", w->name);
			w->leaf.name[0] = '\0';
			w->threads = NULL;	/* the threads end when this process exits */
		}
		worker_free(b, w);
	}
}

static void start_keeper(struct broker *b)
{
	b->spawner.options.cache = keeper_start(&b->keeper, &b->options->keeper);
	b->on_keeper.what = ON_KEEPER;
}

/*
 * Returns whether the processes or threads that serve clients can use memory that no CPU can map.
 */
static bool takes_device_memory(const struct engine_options *o)
{
	return o->engine && o->engine->takes_device_memory &&
	       (o->threads || engine_permissions(o->engine) & NNA_ENGINE_MAY_USE_DRIVERS);
}

/*
 * Opens the engine node. Blocks SIGTERM and SIGINT before threads of the engine start, because
 * threads inherit the signal mask. Starts the keeper before the engine, because a starting engine
 * may access its own store in the keeper.
 */
static bool open_engine(struct broker *b)
{
	const struct engine_options *o = b->options;
	const struct nna_engine *e = o->engine;

	b->signals = node_open_signals();
	if (b->signals < 0)
		return false;
	if (o->threads) {
		start_keeper(b);
		if (b->keeper.is_taken || !o->threads->init(o->engine, keeper_connect(&b->keeper)))
			return false;
	}
	b->engine = node_open(o->device, o->name, o->version, o->type,
			      takes_device_memory(o) ? NNACCEL_ENGINE_DEVICE_POOLS : 0,
			      e && HAS_FIELD(e, hardware) ? e->hardware : NULL);
	return b->engine >= 0;
}

/* Initialises the spawner, unless the caller has already initialised it. */
static bool open_workers(struct broker *b)
{
	if (b->options->threads || b->spawner.program >= 0)
		return true;
	return spawner_init(&b->spawner) &&
	       (!b->options->extensions.folder ||
		extensions_find(&b->options->extensions, &b->spawner));
}

static bool open_loop(struct broker *b)
{
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (b->epoll < 0) {
		log_error("epoll: %s", strerror(errno));
		return false;
	}
	b->on_engine.what = ON_ENGINE;
	b->on_signal.what = ON_SIGNAL;
	b->on_changes.what = ON_CHANGES;
	b->on_answer.what = ON_ANSWER;
	if (b->reread.changes >= 0 && !watch(b, b->reread.changes, &b->on_changes))
		return false;
	return watch(b, b->engine, &b->on_engine) && watch(b, b->signals, &b->on_signal);
}

static void run(struct broker *b)
{
	const struct engine_options *o = b->options;

	if (o->cgroup)
		cgroup_init(&b->cgroup, o->cgroup);
	if (!o->threads)
		start_keeper(b);
	/*
	 * Report readiness now if the engine is written with libnnaccel-engine, because such an
	 * engine may never have an idle worker.
	 */
	if (o->engine)
		set_ready(b);
	if (!b->keeper.is_taken &&
	    (!b->spawner.options.cache || watch(b, b->keeper.pidfd, &b->on_keeper)))
		loop(b);
	/*
	 * Close the engine node before workers end, so that clients learn that no new worker will
	 * prepare their models again.
	 */
	close_fd(&b->engine);
	end_workers(b);
}

int broker_run(struct engine_options *options)
{
	struct broker b = {
		.options = options,
		.spawner = options->spawner,
		.cgroup.base = -1,
		.keeper = { .program = -1, .claim = -1, .pidfd = -1, .socket = -1, .own = -1 },
		.engine = -1,
		.signals = -1,
		.epoll = -1,
		.look_at_ns = NEVER,
		.exit_code = EXIT_FAILURE,
	};

	if (!limits_init(&b.limits, options->max, options->max_per_user, options->rate)) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	if (!options->threads)
		spawn_raise_files(options->max + options->max_per_user + options->idle +
				  MAX_STARTING);
	reread_init(&b.reread, &options->extensions);
	if (open_engine(&b) && open_loop(&b) && open_workers(&b))
		run(&b);
	keeper_stop(&b.keeper);
	reread_end(&b.reread);
	extensions_free(&options->extensions);
	close_fd(&b.epoll);
	close_fd(&b.signals);
	close_fd(&b.engine);
	if (b.spawner.program != options->spawner.program)
		close_fd(&b.spawner.program);
	waiting_clear(&b.waiting);
	limits_free(&b.limits);
	return b.exit_code;
}
