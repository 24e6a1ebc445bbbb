// SPDX-License-Identifier: MIT
/* One thread watches the session's end and deadlines; the other threads serve commands. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kit/api/device.h"
#include "kit/api/files.h"
#include "kit/api/log.h"
#include "kit/api/store.h"
#include "kit/cache/digest.h"
#include "kit/session/serve.h"
#include "kit/session/session.h"
#include "kit/worker/threads.h"

/*
 * Time for which a client's threads may continue after the client's end, or after
 * thread_client_stop().
 */
#define GRACE_NS NS_PER_S

#define MAX_THREADS (SERVER_MAX_THREADS + BURST_WATCHERS + TASK_THREADS)

struct thread_client {
	struct server server;
	struct shared shared;
	int cache;			/* socket to the keeper, or -1 */
	/* eventfd that reports that all threads except the watching thread have ended */
	int ended;
	atomic_bool stopped;		/* thread_client_stop() was called */
	pthread_t looking;
	pthread_t threads[MAX_THREADS];
	unsigned int num_threads;
	pthread_mutex_t lock;
	pthread_cond_t one_ended;
	unsigned int running;		/* number of running threads; protected by `lock` */
	char name[64];
};

bool thread_clients_init(const struct nna_engine *engine, int cache)
{
	static struct cache_client own;

	if (!digest_init() || !device_register_extensions(engine) || !files_open(engine) ||
	    !cache_client_init(&own, cache))
		return false;
	store_open(&own);
	if (!engine->start || engine->start(engine))
		return true;
	log_error("the engine does not start");
	return false;
}

/* ---- the serving threads ---- */

static void leave(struct thread_client *c)
{
	pthread_mutex_lock(&c->lock);
	c->running--;
	pthread_cond_signal(&c->one_ended);
	pthread_mutex_unlock(&c->lock);
}

static void *command_thread(void *arg)
{
	struct thread_client *c = arg;

	server_run(&c->server);
	leave(c);
	return NULL;
}

static void *watching_thread(void *arg)
{
	struct thread_client *c = arg;

	bursts_watch(&c->server.bursts);
	leave(c);
	return NULL;
}

static void *task_thread(void *arg)
{
	struct thread_client *c = arg;

	tasks_run(&c->server.tasks);
	leave(c);
	return NULL;
}

static bool start(struct thread_client *c, unsigned int count, void *(*body)(void *arg))
{
	for (unsigned int i = 0; i < count; i++) {
		pthread_mutex_lock(&c->lock);
		c->running++;
		pthread_mutex_unlock(&c->lock);
		errno = pthread_create(&c->threads[c->num_threads], NULL, body, c);
		if (errno) {
			log_error("%s: threads: %s", c->name, strerror(errno));
			leave(c);
			return false;
		}
		c->num_threads++;
	}
	return true;
}

/* ---- the watching thread ---- */

/*
 * Returns the delay from an execution's deadline to the time at which the library answers the
 * overdue execution. The returned time is half the time after which the kernel ends the session, or
 * an old kernel kills the process.
 */
static uint64_t answer_grace_ns(void)
{
	FILE *file = fopen("/sys/module/nnaccel/parameters/kill_grace_ms", "re");
	unsigned int ms = 1000;

	if (file) {
		if (fscanf(file, "%u", &ms) != 1)
			ms = 1000;
		fclose(file);
	}
	return ms * UINT64_C(1000000) / 2;
}

/*
 * Waits for the session's end. Returns false if an execution is overdue; the caller must then
 * immediately revoke the session from the threads that serve it.
 */
static bool await_end(struct thread_client *c)
{
	struct pollfd fds[] = {
		{ .fd = c->server.session },
		{ .fd = c->shared.changed, .events = POLLIN },
		{ .fd = c->shared.gone, .events = POLLIN },
	};
	const uint64_t grace_ns = answer_grace_ns();
	eventfd_t count;

	while (!atomic_load(&c->stopped)) {
		uint64_t due_ns = server_due_ns(&c->server);

		if (due_ns != UINT64_MAX)
			due_ns += grace_ns;
		if (due_ns <= clock_ns()) {
			log_warning("%s: an execution is overdue: its session ends", c->name);
			return false;
		}
		poll(fds, 3, clock_ms_until(due_ns));
		if (fds[1].revents)
			eventfd_read(c->shared.changed, &count);
		if (fds[0].revents & POLLERR) {
			log_warning("%s: an execution is overdue: the kernel ended its session",
				    c->name);
			return false;
		}
		if (fds[0].revents || fds[2].revents)
			break;
	}
	return true;
}

/* Waits for a client's threads to end. Returns false if a thread still runs at until_ns. */
static bool await_threads(struct thread_client *c, uint64_t until_ns)
{
	struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
	int error = 0;
	bool ended;

	pthread_mutex_lock(&c->lock);
	while (c->running && !error) {
		if (until_ns == UINT64_MAX)
			pthread_cond_wait(&c->one_ended, &c->lock);
		else
			error = pthread_cond_clockwait(&c->one_ended, &c->lock, CLOCK_MONOTONIC,
						       &until);
	}
	ended = !c->running;
	pthread_mutex_unlock(&c->lock);
	return ended;
}

static void *look(void *arg)
{
	struct thread_client *c = arg;
	bool in_time = await_end(c);

	if (!in_time)
		server_answer_late(&c->server, clock_ns());
	server_end(&c->server);
	if (!in_time || !await_threads(c, clock_ns() + GRACE_NS)) {
		if (in_time)
			log_warning("%s: the client has ended, but not the engine's function",
				    c->name);
		server_abandon(&c->server);
	}
	await_threads(c, UINT64_MAX);
	for (unsigned int i = 0; i < c->num_threads; i++)
		pthread_join(c->threads[i], NULL);
	server_free(&c->server);
	eventfd_write(c->ended, 1);
	return NULL;
}

/* ---- a client ---- */

static bool init(struct thread_client *c, const struct nna_engine *engine, int session, int cache)
{
	c->cache = cache;
	c->ended = eventfd(0, EFD_CLOEXEC);
	c->shared.gone = eventfd(0, EFD_CLOEXEC);
	c->shared.changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->ended < 0 || c->shared.gone < 0 || c->shared.changed < 0 ||
	    pthread_mutex_init(&c->lock, NULL) || pthread_cond_init(&c->one_ended, NULL) ||
	    pthread_mutex_init(&c->shared.lock, NULL) ||
	    !server_init(&c->server, engine, session, cache))
		return false;
	c->server.shared = &c->shared;
	c->server.grants.gone = c->shared.gone;
	return true;
}

static void close_files(const struct thread_client *c)
{
	const int files[] = { c->ended, c->shared.gone, c->shared.changed, c->cache };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] >= 0)
			close(files[i]);
}

static void free_client(struct thread_client *c)
{
	close_files(c);
	pthread_mutex_destroy(&c->shared.lock);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->one_ended);
	free(c);
}

struct thread_client *thread_client_start(const struct nna_engine *engine, int session, int cache,
					  const char *name)
{
	unsigned int commands = server_threads();
	struct thread_client *c = calloc(1, sizeof(*c));

	if (c && !init(c, engine, session, cache)) {
		log_error("%s: %s", name, strerror(errno));
		c->cache = -1;
		close_files(c);
		free(c);
		c = NULL;
	}
	if (!c) {
		session_close(session);
		if (cache >= 0)
			close(cache);
		return NULL;
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	/* If the start of a client fails, threads that were already started end by themselves. */
	if (!server_attach(&c->server) || !start(c, commands, command_thread) ||
	    !start(c, BURST_WATCHERS, watching_thread) || !start(c, TASK_THREADS, task_thread))
		atomic_store(&c->stopped, true);
	errno = pthread_create(&c->looking, NULL, look, c);
	if (!errno)
		return c;
	log_error("%s: threads: %s", c->name, strerror(errno));
	atomic_store(&c->stopped, true);
	look(c);
	free_client(c);
	return NULL;
}

int thread_client_file(const struct thread_client *c)
{
	return c->ended;
}

void thread_client_stop(struct thread_client *c)
{
	atomic_store(&c->stopped, true);
	eventfd_write(c->shared.changed, 1);
}

void thread_client_free(struct thread_client *c)
{
	pthread_join(c->looking, NULL);
	free_client(c);
}

const struct client_threads client_threads = {
	thread_clients_init, thread_client_start, thread_client_file, thread_client_stop,
	thread_client_free,
};
