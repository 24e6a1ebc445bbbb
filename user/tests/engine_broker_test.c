/* SPDX-License-Identifier: MIT */
/*
 * Tests nnacceld's broker, and the broker of a kit engine whose clients are served by processes.
 * This test imitates the kernel by replacing ioctl(). A named pipe simulates the engine's device
 * node, and a memfd simulates each session. The workers run this test's program. In one byte of the
 * session's memfd, a worker records that it has attached. Another byte of the memfd tells the
 * worker when to end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/nnaccel.h>

#include "../../selftests/lib/runner.h"
#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/broker/broker.h"
#include "kit/broker/cgroup.h"
#include "kit/cache/message.h"
#include "tests/heap_blocks.h"
#include "tests/open_files.h"

#define PATIENCE_MS (int)scaled(60000)
#define MAX_CONTEXTS 4096
/* Exit status of a worker that must crash; the number equals SIGKILL. */
#define CRASH 9

/* The only environment variable of a worker. */
#define SPIN "NNACCEL_SPIN_US"
static char spin[] = SPIN "=1";

/*
 * Indices in a session's memfd of three bytes: whether a worker has attached, whether the context
 * has ended, and how the worker ends.
 */
enum { HAS, GONE, HOW };

/*
 * Values of byte HOW: the worker ends when its context ends, or never ends by itself, or ends at
 * once, with an exit status or by a signal.
 */
#define WITH_CONTEXT 'w'
#define NEVER 'n'
#define AT_ONCE 'c'
#define BY_SIGNAL 's'

/* The replaced statfs() finds no cgroup file system, so the tests run without cgroups. */
int statfs(const char *path, struct statfs *fs)
{
	(void)path;
	(void)fs;
	errno = ENOSYS;
	return -1;
}

/* ---- the kernel ---- */

static struct {
	pthread_mutex_t lock;
	int register_error;
	/* error of the next call for an event; number of calls for an event so far */
	atomic_int next_error, asked;
	int unwatched;	/* N: epoll refuses the N-th file; 0: epoll refuses no file */
	pid_t dying;			/* worker that dies when the next session is made, or 0 */
	int unnoticed;			/* number of the file whose events epoll does not report; 0: none */
	int move_error;			/* error of the next move of a worker to a cgroup leaf, or 0 */
	atomic_int leaves;		/* number of cgroup leaves that were made for contexts and exist */
	struct {
		char how;
		bool has_gone;		/* set if the context ends before it has a session */
		char *session;		/* mapped, or NULL */
		int error;		/* error with which the broker refused the context */
	} contexts[MAX_CONTEXTS];
} kernel = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int refuse(int error)
{
	errno = error;
	return error ? -1 : 0;
}

/* Reads an event from the pipe; the test writes each event as a whole. */
static int next_event(int node, struct nnaccel_engine_next *next)
{
	struct pollfd told = { .fd = node, .events = POLLIN };

	kernel.asked++;
	if (kernel.next_error)
		return refuse(kernel.next_error);
	if (poll(&told, 1, 0) != 1 || read(node, next, sizeof(*next)) != sizeof(*next))
		return refuse(EAGAIN);
	return 0;
}

static int make_session(struct nnaccel_engine_session *s)
{
	siginfo_t info;
	char *bytes;

	if (kernel.contexts[s->context].has_gone)
		return refuse(ENOENT);
	if (kernel.dying) {
		assert_int_equal(kill(kernel.dying, SIGKILL), 0);
		assert_int_equal(waitid(P_PID, (id_t)kernel.dying, &info, WEXITED | WNOWAIT), 0);
		kernel.dying = 0;
	}
	s->out_fd = memfd_create("session", MFD_CLOEXEC);
	if (s->out_fd < 0 || ftruncate(s->out_fd, 4096))
		return refuse(EMFILE);
	bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, s->out_fd, 0);
	bytes[HOW] = kernel.contexts[s->context].how;
	pthread_mutex_lock(&kernel.lock);
	kernel.contexts[s->context].session = bytes;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

static int refuse_context(const struct nnaccel_engine_refuse *r)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.contexts[r->context].error = (int)r->error;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

int ioctl(int file, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case NNACCEL_ENGINE_REGISTER:
		return refuse(kernel.register_error);
	case NNACCEL_ENGINE_NEXT:
		return next_event(file, arg);
	case NNACCEL_ENGINE_SESSION:
		return make_session(arg);
	case NNACCEL_ENGINE_REFUSE:
		return refuse_context(arg);
	case NNACCEL_ENGINE_OPENER:
		((struct nnaccel_engine_opener *)arg)->out_member = 1;
		return 0;
	}
	return refuse(ENOTTY);
}

int epoll_ctl(int epoll, int op, int file, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && kernel.unwatched && !--kernel.unwatched)
		return refuse(ENOSPC);
	if (op == EPOLL_CTL_ADD && kernel.unnoticed && !--kernel.unnoticed)
		return 0;
	return (int)syscall(SYS_epoll_ctl, epoll, op, file, event);
}

/* ---- a worker ---- */

static void on_signal(int signal)
{
	(void)signal;
	_exit(CRASH);
}

static void be_worker(int argc, char **argv)
{
	const char *value = getenv(SPIN);
	const struct message ready = { .kind = WORKER_READY };
	struct message message;
	const struct rlimit none = { 0 };
	volatile char *bytes;
	int session, n;
	sigset_t go_on;
	char byte;

	if (argc == 2 && !strcmp(argv[1], WORKER_IDENTIFY))
		_exit(write(STDOUT_FILENO, "7 of a test", 11) != 11);
	if (!argc || strcmp(argv[0], WORKER_NAME))
		return;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--probe"))
			_exit(EXIT_SUCCESS);
	if (value && *value == 'f')
		_exit(WORKER_EXIT_FAILURE);
	signal(SIGUSR1, on_signal);
	if (value && *value == 'd')
		shutdown(WORKER_CONTROL_FD, SHUT_RD);
	sigemptyset(&go_on);
	sigaddset(&go_on, SIGCONT);
	if (value && *value == 's' && (sigprocmask(SIG_BLOCK, &go_on, NULL) || sigwaitinfo(&go_on, NULL) < 0))
		_exit(EXIT_FAILURE);
	if (!message_send(WORKER_CONTROL_FD, &ready, -1))
		_exit(EXIT_SUCCESS);
	while (value && *value == 'd')
		pause();
	do {
		n = message_receive(WORKER_CONTROL_FD, BROKER_TO_WORKER, 0, &message, &session);
	} while (n < 0);
	if (n != 1)
		_exit(EXIT_SUCCESS);
	bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, session, 0);
	/*
	 * Wait until the broker closes its end of the worker's socket, because this engine has no
	 * cache.
	 */
	while (recv(WORKER_CONTROL_FD, &byte, 1, 0) < 0)
		;
	bytes[HAS] = 1;
	if (bytes[HOW] == AT_ONCE)
		_exit(CRASH);
	if (bytes[HOW] == BY_SIGNAL && !setrlimit(RLIMIT_CORE, &none))
		__builtin_trap();
	while (!bytes[GONE] || bytes[HOW] == NEVER)
		usleep(1000);
	_exit(EXIT_SUCCESS);
}

/* ---- the log ---- */

static struct {
	pthread_mutex_t lock;
	char text[1 << 16];
	size_t used;
} lines = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void take_line(void *data, enum log_level level, const char *line)
{
	size_t room = sizeof(lines.text) - lines.used;

	(void)data;
	pthread_mutex_lock(&lines.lock);
	if (strlen(line) + 16 < room)
		lines.used += (size_t)sprintf(lines.text + lines.used, "[%d] %s\n", (int)level,
					      line);
	pthread_mutex_unlock(&lines.lock);
}

static unsigned int count_logged(const char *part)
{
	unsigned int count = 0;

	pthread_mutex_lock(&lines.lock);
	for (const char *at = lines.text; (at = strstr(at, part)); at++)
		count++;
	pthread_mutex_unlock(&lines.lock);
	return count;
}

static void await_logged(const char *part, unsigned int count)
{
	for (int i = 0; i < PATIENCE_MS && count_logged(part) < count; i++)
		usleep(1000);
	if (count_logged(part) < count)
		fail_msg("not logged: %s", part);
}

/* ---- cgroups, which the tests imitate ---- */

const char *__wrap_cgroup_leaf_create_for(struct cgroup *cgroup, uint32_t uid, int engine,
					  uint64_t context, struct cgroup_leaf *leaf);
int __wrap_cgroup_leaf_move(struct cgroup *cgroup, pid_t worker, struct cgroup_leaf *from,
			    struct cgroup_leaf *to);
void __wrap_cgroup_leaf_remove(const struct cgroup *cgroup, const struct cgroup_leaf *leaf);
void __wrap_cgroup_leaf_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low);

const char *__wrap_cgroup_leaf_create_for(struct cgroup *cgroup, uint32_t uid, int engine,
					  uint64_t context, struct cgroup_leaf *leaf)
{
	(void)cgroup;
	(void)uid;
	(void)engine;
	(void)context;
	*leaf = (struct cgroup_leaf){ .name = "leaf", .fd = -1 };
	kernel.leaves++;
	return NULL;
}

int __wrap_cgroup_leaf_move(struct cgroup *cgroup, pid_t worker, struct cgroup_leaf *from,
			    struct cgroup_leaf *to)
{
	const int error = kernel.move_error;

	(void)cgroup;
	(void)worker;
	kernel.move_error = 0;
	if (error)
		return error;
	assert_string_equal(to->name, "leaf");
	*from = *to;
	to->name[0] = '\0';
	return 0;
}

void __wrap_cgroup_leaf_remove(const struct cgroup *cgroup, const struct cgroup_leaf *leaf)
{
	(void)cgroup;
	kernel.leaves -= leaf->name[0] != '\0';
}

void __wrap_cgroup_leaf_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low)
{
	(void)cgroup;
	(void)leaf;
	(void)low;
}

/* Only logs whether the broker sets a user's low CPU weight or normal CPU weight. */
void __wrap_cgroup_user_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low);
void __wrap_cgroup_user_set_low(const struct cgroup *cgroup, const struct cgroup_leaf *leaf, bool low)
{
	(void)cgroup;
	(void)leaf;
	take_line(NULL, LOG_DEBUG, low ? "a user is low" : "a user is not low");
}

/* ---- the broker ---- */

static char node_path[64];
static int node, exit_code;
static pthread_t thread;
static bool is_running;
static bool of_kit;			/* true: tests the broker of an engine that uses the kit */
/*
 * The engine has no functions, because processes serve the clients and the broker calls no function
 * of the engine.
 */
static const struct nna_engine engine = { .size = sizeof(engine), .name = "broker" };
static long blocks;
static int files;
static struct engine_options options;

/*
 * Sets whether workers that start after the call fail ('f'), take no session but do not end
 * ('d'), are not ready until SIGCONT ('s'), or succeed ('1'). The function have_workers() does not
 * call setenv(), which would allocate heap blocks while the broker's thread allocates and frees
 * heap blocks, too.
 */
static void have_workers(char how)
{
	spin[sizeof(SPIN)] = how;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static int set_up(void **state)
{
	sigset_t ends;

	(void)state;
	memset(kernel.contexts, 0, sizeof(kernel.contexts));
	kernel.register_error = kernel.unwatched = kernel.unnoticed = 0;
	kernel.next_error = kernel.asked = kernel.move_error = 0;
	lines.used = 0;
	lines.text[0] = '\0';
	have_workers('1');
	options = (struct engine_options){
		.device = node_path, .name = "broker", .version = "7", .idle = 1, .max = 8,
		.max_per_user = 8, .rate = 8, .engine = of_kit ? &engine : NULL,
		.spawner = { .path = "/proc/self/exe", .program = -1, .uid = geteuid(),
			     .gid = getegid(), .allow_none = true,
			     .options.log_level = LOG_DEBUG },
		.extensions = { .folder = "/nowhere", .is_default = true, .group = "nobody" },
	};
	if ((!of_kit && !spawner_init(&options.spawner)) || mkfifo(node_path, 0600))
		return -1;
	node = open(node_path, O_RDWR | O_CLOEXEC);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	/*
	 * Let a thread end before the heap's blocks are counted, because the C library keeps a heap
	 * block for the stack of an ended thread.
	 */
	if (node < 0 || pthread_create(&thread, NULL, do_nothing, NULL) ||
	    pthread_join(thread, NULL))
		return -1;
	blocks = heap_blocks;
	files = count_files();
	return 0;
}

static void *serve(void *arg)
{
	exit_code = broker_run(&options);
	return arg;
}

static void start_broker(void)
{
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	is_running = true;
}

/*
 * Waits until the broker has ended, and checks that the broker left no worker, open file, heap
 * block or cgroup leaf.
 */
static int await_end(void)
{
	int status;

	pthread_join(thread, NULL);
	is_running = false;
	for (int i = 0; i < MAX_CONTEXTS; i++)
		if (kernel.contexts[i].session)
			munmap(kernel.contexts[i].session, 4096);
	assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
	assert_int_equal(count_files(), files);
	assert_int_equal(heap_blocks, blocks);
	assert_int_equal(kernel.leaves, 0);
	return exit_code;
}

static int set_up_kit(void **state)
{
	of_kit = true;
	return set_up(state);
}

static int tear_down(void **state)
{
	sigset_t ends;

	(void)state;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	if (is_running) {
		kill(getpid(), SIGTERM);
		if (await_end())
			return -1;
	}
	while (sigtimedwait(&ends, NULL, &(struct timespec){ 0 }) >= 0)
		;
	of_kit = false;
	if (options.spawner.program >= 0)
		close(options.spawner.program);
	close(node);
	return unlink(node_path);
}

static void tell(uint32_t event, uint64_t context, uint32_t uid, uint32_t priority)
{
	const struct nnaccel_engine_next next = {
		.size = sizeof(next), .out_event = event, .out_context = context, .out_uid = uid,
		.out_priority = priority,
	};

	assert_int_equal(write(node, &next, sizeof(next)), sizeof(next));
}

static void offer(uint64_t context, uint32_t uid, char how)
{
	kernel.contexts[context].how = how;
	tell(NNACCEL_ENGINE_NEW, context, uid, NNACCEL_PRIORITY_MEDIUM);
}

static char *session_of(uint64_t context)
{
	char *session;

	pthread_mutex_lock(&kernel.lock);
	session = kernel.contexts[context].session;
	pthread_mutex_unlock(&kernel.lock);
	return session;
}

static bool is_served(uint64_t context)
{
	const volatile char *session = session_of(context);

	return session && session[HAS];
}

static void await_served(uint64_t context)
{
	for (int i = 0; i < PATIENCE_MS && !is_served(context); i++)
		usleep(1000);
	assert_true(is_served(context));
}

static int await_refused(uint64_t context)
{
	int error = 0;

	for (int i = 0; i < PATIENCE_MS && !error; i++) {
		usleep(1000);
		pthread_mutex_lock(&kernel.lock);
		error = kernel.contexts[context].error;
		pthread_mutex_unlock(&kernel.lock);
	}
	assert_null(session_of(context));
	return error;
}

static void close_context(uint64_t context)
{
	session_of(context)[GONE] = 1;
	tell(NNACCEL_ENGINE_GONE, context, 0, 0);
}

/* Returns the number in front of the last `text` in the log; -1 if the log does not contain `text`. */
static pid_t number_before(const char *text)
{
	const char *at = NULL;
	int number = -1;

	pthread_mutex_lock(&lines.lock);
	for (const char *next = lines.text; (next = strstr(next, text)); next++)
		at = next;
	while (at && at > lines.text && at[-1] != ' ')
		at--;
	if (at)
		number = atoi(at);
	pthread_mutex_unlock(&lines.lock);
	return number;
}

/* Waits until the broker has looked at the waiting contexts again after earlier events. */
static void settle(void)
{
	/* The broker looks after at most 64 events. */
	for (int i = 0; i < 130; i++) {
		const int asked = kernel.asked;

		tell(NNACCEL_ENGINE_GONE, MAX_CONTEXTS - 1, 0, 0);
		while (kernel.asked == asked)
			usleep(100);
	}
}

/* ---- the tests ---- */

/* Each context is served by a separate worker, and the broker keeps some idle workers ready. */
static void test_serves(void **state)
{
	(void)state;
	options.idle = 2;
	start_broker();
	await_logged(": ready", 2);
	for (uint64_t i = 1; i < 4; i++) {
		offer(i, (uint32_t)i, WITH_CONTEXT);
		await_served(i);
	}
	await_logged(": ready", 5);
	assert_int_equal(count_logged("[2] ready"), 1);
	assert_int_equal(count_logged(": started"), 5);
	tell(NNACCEL_ENGINE_PRIORITY, 2, 0, NNACCEL_PRIORITY_LOW);
	await_logged("context 2): priority ", 1);
	assert_int_equal(count_logged(": priority "), 1);
	close_context(1);
	await_logged("context 1): ended", 1);
	assert_int_equal(count_logged(": ended"), 1);
	assert_int_equal(count_logged("[0]") + count_logged("[1]"), 0);
}

/*
 * The CPU weight of a user is low while all models of the user's workers have low priority. The
 * models of other users do not change this CPU weight.
 */
static void test_priorities(void **state)
{
	static const struct {
		uint64_t context;
		uint32_t priority;
		bool is_low;
	} steps[] = {
		{ 1, NNACCEL_PRIORITY_LOW, false }, { 2, NNACCEL_PRIORITY_LOW, true }, { 3, NNACCEL_PRIORITY_HIGH, false },
		{ 1, NNACCEL_PRIORITY_MEDIUM, false }, { 3, NNACCEL_PRIORITY_LOW, true }, { 1, NNACCEL_PRIORITY_LOW, true },
	};
	unsigned int low = 0;

	(void)state;
	start_broker();
	for (uint64_t i = 1; i < 4; i++) {
		offer(i, i < 3 ? 5 : 6, WITH_CONTEXT);
		await_served(i);
	}
	assert_int_equal(count_logged("a user is not low"), 3);
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		tell(NNACCEL_ENGINE_PRIORITY, steps[i].context, 0, steps[i].priority);
		await_logged("a user is ", 4 + i);
		low += steps[i].is_low;
		assert_int_equal(count_logged("a user is low"), low);
	}
}

/* Offers contexts of a user, one after the other, until the broker serves a context. */
static uint64_t offer_until_served(uint64_t context, uint32_t uid)
{
	for (;; context++) {
		offer(context, uid, WITH_CONTEXT);
		while (!is_served(context) && !kernel.contexts[context].error)
			usleep(1000);
		if (is_served(context))
			return context;
		assert_true(context + 1 < MAX_CONTEXTS);
		usleep(10000);
	}
}

/*
 * The broker kills a worker that still runs a second after the end of its context, but no worker
 * whose context still exists.
 */
static void test_outlives(void **state)
{
	uint64_t gone_ns;

	(void)state;
	options.max_per_user = 1;
	start_broker();
	offer(1, 5, NEVER);
	offer(2, 6, NEVER);
	await_served(1);
	await_served(2);
	gone_ns = clock_ns();
	close_context(1);
	/* After the broker has killed a user's worker, the user may have another worker. */
	offer_until_served(3, 5);
	assert_true(clock_ns() - gone_ns >= NS_PER_S);
	assert_int_equal(count_logged("context 1): killed: it outlived its context"), 1);
	assert_int_equal(count_logged("killed"), 1);
	assert_int_equal(count_logged("crash"), 0);
}

/* When a worker ends together with its context, the worker's user may have another worker. */
static void test_ends_with_context(void **state)
{
	(void)state;
	options.max_per_user = 1;
	start_broker();
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	close_context(1);
	offer_until_served(2, 5);
	assert_int_equal(count_logged("[1]"), 0);
}

static void test_too_many(void **state)
{
	(void)state;
	options.max_per_user = 1;
	options.max = 2;
	start_broker();
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	offer(2, 5, WITH_CONTEXT);
	assert_int_equal(await_refused(2), EUSERS);
	offer(3, 6, WITH_CONTEXT);
	await_served(3);
	offer(4, 7, WITH_CONTEXT);
	assert_int_equal(await_refused(4), EUSERS);
	/* The limit of contexts for each user does not apply to root. */
	offer(5, 0, WITH_CONTEXT);
	await_served(5);
}

/* A user whose workers crash gets no worker for a while, but other users get workers. */
static void test_crashes(void **state)
{
	(void)state;
	start_broker();
	for (uint64_t i = 1; i < 5; i++) {
		assert_int_equal(count_logged("crash"), 0);
		offer(i, 5, i % 2 ? AT_ONCE : BY_SIGNAL);
		await_logged(i % 2 ? "ended with 9" : "killed by signal 4", (unsigned int)(i + 1) / 2);
	}
	await_logged("uid 5: its workers crash: it gets no new ones for 1 s", 1);
	offer(5, 5, WITH_CONTEXT);
	assert_int_equal(await_refused(5), EAGAIN);
	offer(6, 6, WITH_CONTEXT);
	await_served(6);
}

/*
 * Only one worker starts at a time while no user waits for a first worker, and at most two start at
 * a time otherwise.
 */
static void test_few_start_together(void **state)
{
	pid_t pids[2];

	(void)state;
	options.idle = 3;
	have_workers('s');
	start_broker();
	for (unsigned int i = 0; i < 2; i++) {
		if (i)
			offer(1, 5, WITH_CONTEXT);
		await_logged(": started", i + 1);
		settle();
		assert_int_equal(count_logged(": started"), i + 1);
		pids[i] = number_before(": started");
	}
	have_workers('1');
	while (count_logged(": ready") < 2) {
		for (int i = 0; i < 2; i++)
			kill(pids[i], SIGCONT);
		usleep(1000);
	}
	await_served(1);
}

/*
 * The last idle worker serves no second context of a user, but only a user without a worker. The
 * second context waits until it is hopeless.
 */
static void test_reserve(void **state)
{
	(void)state;
	start_broker();
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	await_logged(": ready", 2);
	have_workers('f');
	offer(2, 5, WITH_CONTEXT);
	settle();
	offer(3, 6, WITH_CONTEXT);
	await_served(3);
	assert_int_equal(await_refused(2), EAGAIN);
}

/*
 * An idle worker that cannot be moved to a client's cgroup stays idle. A worker that has died is not
 * used, and the next idle worker serves the client.
 */
static void test_cannot_move(void **state)
{
	(void)state;
	options.idle = 2;
	start_broker();
	await_logged(": ready", 2);
	kernel.move_error = EACCES;
	offer(1, 5, WITH_CONTEXT);
	settle();
	assert_false(is_served(1));
	assert_int_equal(count_logged(": started"), 2);
	kernel.move_error = ESRCH;
	offer(2, 6, WITH_CONTEXT);
	await_served(2);
	await_logged(": ready", 4);
	assert_int_equal(count_logged("killed"), 1);
	assert_int_equal(count_logged("crash"), 0);
}

/* A context that ends before a worker serves the context uses no worker, and causes no error. */
static void test_gone_before(void **state)
{
	(void)state;
	options.max_per_user = 1;
	start_broker();
	/* Contexts that have ended do not count against the user's limit of contexts. */
	for (uint64_t i = 1; i < 8; i++) {
		kernel.contexts[i].has_gone = true;
		offer(i, 5, WITH_CONTEXT);
	}
	offer(8, 5, WITH_CONTEXT);
	await_served(8);
	assert_int_equal(count_logged("[0]"), 0);
	for (int i = 1; i < 8; i++)
		assert_int_equal(kernel.contexts[i].error, 0);
	assert_int_equal(count_logged("serves process"), 1);
}

/* The broker replaces an idle worker at once if another process kills the worker. */
static void test_idle_is_killed(void **state)
{
	(void)state;
	start_broker();
	await_logged(": ready", 1);
	assert_int_equal(kill(number_before(": ready"), SIGKILL), 0);
	await_logged("killed by signal 9 (Killed)\n", 1);
	await_logged(": ready", 2);
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	assert_int_equal(count_logged("crash"), 0);
}

/*
 * If the only idle worker dies while the broker fetches a session, the context of the session ends.
 * The broker serves the next context by a new worker.
 */
static void test_dies_before_session(void **state)
{
	(void)state;
	start_broker();
	await_logged(": ready", 1);
	kernel.dying = number_before(": ready");
	offer(1, 5, WITH_CONTEXT);
	await_logged("killed by signal 9 (Killed)\n", 1);
	offer(2, 5, WITH_CONTEXT);
	await_served(2);
	assert_false(is_served(1));
	assert_int_equal(kernel.contexts[1].error, 0);
	assert_int_equal(count_logged("serves process"), 1);
}

/*
 * If an idle worker has died and the broker has not noticed the worker's end yet, the next idle
 * worker gets the context. The broker no longer counts the dead worker as an idle worker.
 */
static void test_idle_is_dead(void **state)
{
	siginfo_t info;
	pid_t last;

	(void)state;
	options.idle = 2;
	/*
	 * File 6 is the last file of the first worker: before it, the broker watches the node, the
	 * signals and three other files.
	 */
	kernel.unnoticed = 6;
	start_broker();
	await_logged(": ready", 2);
	last = number_before(": ready");
	assert_int_equal(kill(last, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)last, &info, WEXITED | WNOWAIT), 0);
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	await_logged(": ready", 4);
	offer(2, 6, WITH_CONTEXT);
	await_served(2);
}

/* The broker kills an idle worker that does not take a session. */
static void test_idle_is_deaf(void **state)
{
	(void)state;
	have_workers('d');
	start_broker();
	await_logged(": ready", 1);
	have_workers('1');
	offer(1, 5, WITH_CONTEXT);
	await_logged("killed by signal 9 (Killed)", 1);
	offer(2, 6, WITH_CONTEXT);
	await_served(2);
}

static void put_file(const char *folder, char name)
{
	char path[96];
	int file;

	snprintf(path, sizeof(path), "%s/%c.so", folder, name);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(file >= 0);
	close(file);
}

/*
 * If a plug-in is added, clients' workers that start later load it. The broker kills idle workers
 * that have the old plug-ins, and passes no context to a killed worker, even before the broker
 * notices the worker's end.
 */
static void test_plugins(void **state)
{
	char folder[] = "/tmp/engine-broker-plugins.XXXXXX", command[64];
	pid_t old;

	(void)state;
	if (options.spawner.options.isolation == ISOLATE_NONE)
		skip();
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	options.extensions = (struct extensions){
		.folder = folder, .group = "0",
		.plugins = { .folder = folder, .files = options.extensions.files },
	};
	start_broker();
	await_logged(": ready", 1);
	put_file(folder, 'a');
	await_logged("extensions: 1 for new workers", 1);
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	await_logged("serves process 0, with extensions", 1);
	for (unsigned int i = 0; i < 2; i++) {
		/* The context ends before its worker is ready, so the worker stays idle. */
		kernel.contexts[2 + i].has_gone = true;
		kernel.unnoticed = i;
		offer(2 + i, 6, WITH_CONTEXT);
		await_logged(": ready", 3 + i);
		old = number_before(": ready");
		put_file(folder, (char)('b' + i));
		await_logged(i ? "extensions: 3 for new workers" : "extensions: 2 for new workers", 1);
		for (int ms = 0; ms < PATIENCE_MS && !i && !kill(old, 0); ms++)
			usleep(1000);
		assert_true(i || kill(old, 0));
	}
	assert_int_equal(count_logged("killed by signal"), 0);
	offer(4, 6, WITH_CONTEXT);
	await_served(4);
	await_logged("serves process 0, with extensions", 2);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* If the first worker does not start, the broker ends. */
static void test_no_worker(void **state)
{
	(void)state;
	have_workers('f');
	start_broker();
	assert_int_equal(await_end(), EXIT_FAILURE);
	have_workers('1');
	assert_int_equal(count_logged("no worker can be started"), 1);
	assert_int_equal(count_logged("[2] ready"), 0);
}

/*
 * If a later worker fails to start, the broker starts another worker and serves the contexts that
 * waited.
 */
static void test_worker_fails_later(void **state)
{
	(void)state;
	start_broker();
	await_logged(": ready", 1);
	have_workers('f');
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	await_logged("ended with 1", 1);
	have_workers('1');
	offer(2, 6, WITH_CONTEXT);
	await_served(2);
	assert_int_equal(count_logged("no worker can be started"), 0);
}

/*
 * If epoll refuses to watch the node, the signals or a file of the first worker, the broker ends.
 */
static void test_cannot_watch(void **state)
{
	(void)state;
	for (int number = 1; number < 6; number++) {
		kernel.unwatched = number;
		start_broker();
		assert_int_equal(await_end(), EXIT_FAILURE);
		assert_int_equal(count_logged("epoll: No space left on device"),
				 (unsigned int)number);
	}
	assert_int_equal(count_logged("no worker can be started"), 3);
}

/*
 * If a worker crashes before it has a client, the broker waits before the broker starts another
 * worker. The wait does not become longer with each crash if workers are ready in between, so a
 * context that comes during the wait is served.
 */
static void test_idle_crashes(void **state)
{
	uint64_t crash_ns;

	(void)state;
	start_broker();
	for (unsigned int i = 1; i < 4; i++) {
		await_logged(": ready", i);
		crash_ns = clock_ns();
		assert_int_equal(kill(number_before(": ready"), SIGUSR1), 0);
		await_logged("ended with 9", i);
	}
	offer(1, 5, WITH_CONTEXT);
	await_served(1);
	assert_true(clock_ns() - crash_ns >= NS_PER_S);
}

/*
 * The broker refuses a context if workers keep failing to start. An idle worker that another process
 * killed does not count as a failure.
 */
static void test_hopeless(void **state)
{
	(void)state;
	start_broker();
	await_logged(": ready", 1);
	have_workers('f');
	assert_int_equal(kill(number_before(": ready"), SIGKILL), 0);
	await_logged("killed by signal 9 (Killed)", 1);
	offer(2, 6, WITH_CONTEXT);
	assert_int_equal(await_refused(2), EAGAIN);
	assert_true(count_logged("ended with 1") >= 3);
}

/* If ioctl() reports that the node has no event, the broker calls ioctl() again. */
static void test_nothing_told(void **state)
{
	(void)state;
	kernel.next_error = EAGAIN;
	start_broker();
	offer(1, 5, WITH_CONTEXT);
	while (kernel.asked < 3)
		usleep(1000);
	kernel.next_error = 0;
	await_served(1);
}

static void test_node_fails(void **state)
{
	(void)state;
	kernel.register_error = EBUSY;
	start_broker();
	assert_int_equal(await_end(), EXIT_FAILURE);
	assert_int_equal(count_logged(": started"), 0);
	kernel.register_error = 0;
	kernel.next_error = ENODEV;
	start_broker();
	tell(NNACCEL_ENGINE_GONE, 1, 0, 0);
	assert_int_equal(await_end(), EXIT_FAILURE);
}

/* A signal ends the broker and all processes of the broker. */
static void test_ends(void **state)
{
	(void)state;
	start_broker();
	offer(1, 5, NEVER);
	offer(2, 6, WITH_CONTEXT);
	await_served(1);
	await_served(2);
	kill(getpid(), SIGTERM);
	assert_int_equal(await_end(), EXIT_SUCCESS);
	assert_int_equal(count_logged("Terminated: ending"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
#define OF_KIT(name) { "of_kit_" #name, test_##name, set_up_kit, tear_down, NULL }

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(serves),
		TEST(priorities),
		TEST(outlives),
		TEST(too_many),
		TEST(crashes),
		TEST(few_start_together),
		TEST(reserve),
		TEST(cannot_move),
		TEST(gone_before),
		TEST(idle_is_killed),
		TEST(dies_before_session),
		TEST(idle_is_dead),
		TEST(idle_is_deaf),
		TEST(plugins),
		TEST(no_worker),
		TEST(worker_fails_later),
		TEST(cannot_watch),
		TEST(idle_crashes),
		TEST(hopeless),
		TEST(nothing_told),
		TEST(node_fails),
		TEST(ends_with_context),
		TEST(ends),
		OF_KIT(outlives),
		OF_KIT(too_many),
		OF_KIT(crashes),
		OF_KIT(gone_before),
		OF_KIT(serves),
		OF_KIT(idle_is_killed),
		OF_KIT(worker_fails_later),
		OF_KIT(idle_crashes),
		OF_KIT(nothing_told),
		OF_KIT(node_fails),
		OF_KIT(ends_with_context),
		OF_KIT(ends),
	};

	be_worker(argc, argv);
	if (putenv(spin))
		return EXIT_FAILURE;
	log_set_level(LOG_DEBUG);
	log_set_sink(take_line, NULL);
	snprintf(node_path, sizeof(node_path), "/tmp/engine-broker-%d", (int)getpid());
	return cmocka_run_group_tests_name("engine broker", tests, NULL, NULL);
}
