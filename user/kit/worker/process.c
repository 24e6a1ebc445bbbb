// SPDX-License-Identifier: MIT
/*
 * The worker: the sandboxed process that serves one client's session.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kit/api/device.h"
#include "kit/api/files.h"
#include "kit/api/store.h"
#include "kit/cache/digest.h"
#include "kit/cache/message.h"
#include "kit/plugin/guard.h"
#include "kit/session/serve.h"
#include "kit/worker/filter.h"
#include "kit/worker/process.h"
#include "kit/worker/sandbox.h"

struct worker {
	struct server server;
	/*
	 * All threads wait at the barrier twice: first until all threads are created, then until
	 * the session is attached.
	 */
	pthread_barrier_t barrier;
};

__attribute__((noreturn)) static void fail(const char *what)
{
	log_error("worker set-up: %s: %s", what, strerror(errno));
	_exit(WORKER_EXIT_FAILURE);
}

static void await_session(struct worker *w)
{
	pthread_barrier_wait(&w->barrier);
	pthread_barrier_wait(&w->barrier);
}

static void *command_thread(void *arg)
{
	struct worker *w = arg;

	await_session(w);
	server_run(&w->server);
	return NULL;
}

static void *watching_thread(void *arg)
{
	struct worker *w = arg;

	await_session(w);
	bursts_watch(&w->server.bursts);
	return NULL;
}

static void *task_thread(void *arg)
{
	struct worker *w = arg;

	await_session(w);
	tasks_run(&w->server.tasks);
	return NULL;
}

static void start(struct worker *w, unsigned int count, void *(*body)(void *arg))
{
	pthread_t thread;

	for (unsigned int i = 0; i < count; i++) {
		errno = pthread_create(&thread, NULL, body, w);
		if (errno)
			fail("threads");
	}
}

/*
 * Starts all threads of the worker. The worker must call start_threads() before the filter forbids
 * new threads. The calling thread is one of the threads that serve commands.
 */
static void start_threads(const struct nna_engine *engine, struct worker *w)
{
	unsigned int commands = server_threads();

	if (engine->start && !engine->start(engine))
		fail("the engine");
	errno = pthread_barrier_init(&w->barrier, NULL, commands + BURST_WATCHERS + TASK_THREADS);
	if (errno)
		fail("barrier");
	start(w, commands - 1, command_thread);
	start(w, BURST_WATCHERS, watching_thread);
	start(w, TASK_THREADS, task_thread);
	pthread_barrier_wait(&w->barrier);
}

/*
 * Receives the session from the broker. Returns false if the broker has ended; an idle worker must
 * end with the broker.
 */
static bool receive_session(void)
{
	struct message message;
	int n, fd;

	do {
		n = message_receive(WORKER_CONTROL_FD, BROKER_TO_WORKER, 0, &message, &fd);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n <= 0)
		return false;
	if (fd < 0)
		fail("the broker's message has no session");
	if (fd != WORKER_SESSION_FD)
		fail("the session's file has an unexpected number");
	return true;
}

/*
 * Loads plug-ins. Returns the result of loading the last plug-in, because the other plug-ins were
 * already found valid.
 */
static enum nna_engine_plugin load_plugins(const struct nna_engine *engine, char *const *files)
{
	enum nna_engine_plugin result = NNA_ENGINE_PLUGIN_LOADED;
	char path[512];

	for (; *files; files++) {
		struct nn_error err = { "" };
		struct nna_engine_call call;

		snprintf(path, sizeof(path), SANDBOX_PLUGINS "/%s", *files);
		nna_engine_call_begin(&call, *files, "loading");
		result = engine->load_plugin(engine, path, &err);
		nna_engine_call_end(&call);
		if (result != NNA_ENGINE_PLUGIN_LOADED)
			log_warning("%s: %s", *files, err.message);
	}
	return result;
}

/*
 * Loads libm for plug-ins while the process can still open files. If libm is missing, only plug-ins
 * that need libm fail to load.
 */
static void load_libm(void)
{
	if (!dlopen("libm.so.6", RTLD_NOW))
		log_debug("%s", dlerror());
}

static void on_alarm(int signal)
{
	(void)signal;
	_exit(WORKER_EXIT_SLOW);
}

/*
 * Loads plug-ins in the sandbox. The constructors of plug-ins may make a few system calls that are
 * forbidden later.
 */
static void add_plugins(const struct nna_engine *engine, char *const *files, bool probe)
{
	enum nna_engine_plugin result;

	/*
	 * Install a handler for SIGALRM, because the first process of a PID namespace ignores
	 * signals without a handler.
	 */
	if (probe && signal(SIGALRM, on_alarm) != SIG_ERR)
		alarm(WORKER_PROBE_S);
	sandbox_seal_for_plugins(engine);
	result = load_plugins(engine, files);
	if (probe)
		_exit(result == NNA_ENGINE_PLUGIN_LOADED ? 0 :
		      result == NNA_ENGINE_PLUGIN_WAITS ? WORKER_EXIT_WAITS : WORKER_EXIT_REFUSED);
}

void worker_serve(const struct nna_engine *engine, int session, int cache)
{
	struct worker w;

	if (!files_open(engine))
		_exit(WORKER_EXIT_FAILURE);
	if (!server_init(&w.server, engine, session, cache) || !digest_init())
		fail("server");
	w.server.models.lazy = false;
	if (!device_register_extensions(engine))
		_exit(WORKER_EXIT_FAILURE);
	start_threads(engine, &w);
	store_open(&w.server.cache);
	if (!server_attach(&w.server))
		_exit(WORKER_EXIT_FAILURE);
	pthread_barrier_wait(&w.barrier);
	server_run(&w.server);
	_exit(0);
}

void worker_main(const struct nna_engine *engine, int argc, char **argv)
{
	struct worker_options options = { .plugins = NULL };
	const struct message ready = { .kind = WORKER_READY };
	char fault[OPTION_FAULT];
	struct worker w;
	int first = argc < 2 ? -1 : option_read(worker_rows, argc, argv, &options, fault);

	if (first < 0)
		_exit(option_by_hand("nnaccel-worker", argc, argv));
	log_to_relay();
	log_set_level(options.log_level);
	prctl(PR_SET_NAME, WORKER_NAME);
	if (close_range(WORKER_SESSION_FD, ~0U, 0))
		fail("close_range");
	if (!files_open(engine))
		_exit(WORKER_EXIT_FAILURE);
	/* Files that the engine opens in `start` must not get the library's descriptor numbers. */
	if (dup2(STDIN_FILENO, WORKER_SESSION_FD) < 0 || dup2(STDIN_FILENO, WORKER_FILE_FD) < 0)
		fail("files");
	if (options.plugins)
		load_libm();
	sandbox_enter(engine, &options);
	if (!server_init(&w.server, engine, WORKER_SESSION_FD, options.cache ? WORKER_CONTROL_FD : -1) ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR || !digest_init())
		fail("server");
	w.server.models.lazy = options.lazy;
	models_limit_device(options.device_memory);
	if (options.cache_all)
		server_cache_all();
	if (!device_register_extensions(engine))
		_exit(WORKER_EXIT_FAILURE);
	start_threads(engine, &w);
	if (options.plugins && options.plugin_s && !options.probe) {
		errno = guard_start(options.plugin_s);
		if (errno)
			fail("guard");
	}
	sandbox_stop_processes(engine, options.isolation);
	close(WORKER_SESSION_FD);
	close(WORKER_FILE_FD);
	if (options.plugins && engine->load_plugin)
		add_plugins(engine, argv + first, options.probe);
	sandbox_seal(engine);

	if (write(WORKER_CONTROL_FD, &ready, sizeof(ready)) != sizeof(ready) || !receive_session())
		_exit(0);
	/*
	 * After the worker has received its session, WORKER_CONTROL_FD is connected to the keeper
	 * of the cache instead of the broker.
	 */
	if (options.cache)
		store_open(&w.server.cache);
	else
		close(WORKER_CONTROL_FD);
	if (!server_attach(&w.server))
		_exit(errno == ESHUTDOWN ? 0 : WORKER_EXIT_FAILURE);
	pthread_barrier_wait(&w.barrier);
	server_run(&w.server);
	_exit(0);
}
