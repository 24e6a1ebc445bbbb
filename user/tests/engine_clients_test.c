/* SPDX-License-Identifier: MIT */
/*
 * Tests how an engine made with the kit serves its clients by threads or by processes. This test
 * imitates the kernel by replacing ioctl(). A named pipe simulates the engine's device node, and a
 * memfd simulates each session. If threads serve the clients, each client's only command requests
 * the device's description. A process that serves a client runs this test's program, and writes its
 * progress into the session's memfd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/nnaccel.h>

#include "../../selftests/lib/runner.h"
#include "kit/broker/broker.h"
#include "kit/worker/threads.h"
#include "tests/keeper_fixture.h"

#define COOKIE 1
#define PATIENCE_MS (int)scaled(60000)

/* Values that a process writes into the memfd of its client's session, to report its progress. */
#define HAS_SESSION 's'
#define NO_KEEPER 'e'

/* ---- time, which tests can have pass ---- */

static _Atomic(time_t) passed_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += passed_s;
	return result;
}

/* ---- the kernel ---- */

static struct {
	atomic_int session;		/* newest client's session; older sessions have ended */
	atomic_int kept;		/* duplicate of the newest session's fd, or 0 */
	atomic_bool asks;		/* true: the newest client's query waits for the engine */
	atomic_bool answered;
	atomic_bool has_cache;		/* set if the engine reported a compilation cache */
	atomic_bool ends;		/* true: all sessions end */
	atomic_bool interrupted;	/* set after the first call for an event */
} kernel;

static int refuse(int error)
{
	errno = error;
	return -1;
}

/*
 * Imitates the ioctl() that asks for an event: each byte in the pipe is the number of a new
 * context.
 */
static int next_event(int node, struct nnaccel_engine_next *next)
{
	struct pollfd told = { .fd = node, .events = POLLIN };
	char byte;

	/* The first call fails as if a signal had interrupted it. */
	if (!atomic_exchange(&kernel.interrupted, true))
		return refuse(EINTR);
	if (poll(&told, 1, 0) != 1 || read(node, &byte, 1) != 1)
		return refuse(EAGAIN);
	next->out_event = NNACCEL_ENGINE_NEW;
	next->out_context = (uint64_t)byte;
	next->out_uid = 1;
	return 0;
}

static int make_session(struct nnaccel_engine_session *session)
{
	session->out_fd = memfd_create("session", MFD_CLOEXEC);
	kernel.session = session->out_fd;
	if (kernel.kept)
		close(kernel.kept);
	kernel.kept = dup(session->out_fd);
	kernel.asks = true;
	return 0;
}

static int fetch(int file, struct nnaccel_session_fetch *f)
{
	const struct nnaccel_cmd query = {
		.size = sizeof(query), .kind = NNACCEL_DO_QUERY, .cookie = COOKIE,
		.query = NNACCEL_QUERY_DEVICE, .max_payload = sizeof(struct nn_device_info),
	};

	if (kernel.ends || file != kernel.session)
		return refuse(ESHUTDOWN);
	if (!atomic_exchange(&kernel.asks, false)) {
		usleep(1000);
		return refuse(EAGAIN);
	}
	memcpy((void *)(uintptr_t)f->buffer, &query, sizeof(query));
	f->out_size = sizeof(query);
	return 0;
}

static int commit(const struct nnaccel_session_commit *c)
{
	const struct nn_device_info *info = (const void *)(uintptr_t)c->payload;

	kernel.has_cache = info->model_cache_files;
	kernel.answered = true;
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
	case NNACCEL_SESSION_ATTACH:
	case NNACCEL_ENGINE_REFUSE:
		return 0;
	case NNACCEL_ENGINE_NEXT:
		return next_event(file, arg);
	case NNACCEL_ENGINE_SESSION:
		return make_session(arg);
	case NNACCEL_SESSION_FETCH:
		return fetch(file, arg);
	case NNACCEL_SESSION_COMMIT:
		return commit(arg);
	}
	return refuse(ENOTTY);
}

/* ---- the engine ---- */

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	(void)engine;
	strcpy(info->version, "1");
}

static sigset_t blocked_at_start;

static bool start(const struct nna_engine *engine)
{
	(void)engine;
	return !pthread_sigmask(SIG_BLOCK, NULL, &blocked_at_start);
}

/* Save function that the kit requires of an engine; no test calls the function. */
static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	(void)engine;
	(void)prepared;
	(void)image;
	return nn_fail(err, NN_GENERAL_FAILURE, "no model");
}

static const struct nna_engine engine = {
	.size = sizeof(engine), .name = "clients", .clients = NNA_ENGINE_CLIENTS_THREADS,
	.describe = describe, .start = start, .save = save,
};

/*
 * Serves a client in a separate process. When the process gets a session, it already has a socket
 * to the keeper.
 */
static void be_worker(int argc, char **argv)
{
	const struct message ready = { .kind = WORKER_READY };
	const char has_session = HAS_SESSION, no_keeper = NO_KEEPER;
	struct message message;
	int session;
	char byte;

	if (!argc || strcmp(argv[0], WORKER_NAME))
		return;
	if (!message_send(WORKER_CONTROL_FD, &ready, -1) ||
	    message_receive(WORKER_CONTROL_FD, BROKER_TO_WORKER, 0, &message, &session) != 1 ||
	    pwrite(session, &has_session, 1, 0) != 1)
		_exit(EXIT_FAILURE);
	while (recv(WORKER_CONTROL_FD, &byte, 1, 0) < 0)
		;
	_exit(pwrite(session, &no_keeper, 1, 0) != 1);
}

static char node_path[96];
static int node;
static pthread_t engine_thread;

static bool by_processes;

static void *serve(void *arg)
{
	struct engine_options clients = {
		.device = node_path, .name = "clients", .version = "1", .max = 16,
		.max_per_user = 16, .rate = 8, .keeper = options, .engine = &engine,
		.threads = by_processes ? NULL : &client_threads,
		.spawner = { .path = "/proc/self/exe", .program = -1, .allow_none = true,
			     .uid = geteuid(), .gid = getegid() },
	};

	(void)arg;
	return (void *)(intptr_t)broker_run(&clients);
}

static int set_up(void **state)
{
	sigset_t ends;

	kernel.ends = false;
	if (make_folder(state))
		return -1;
	options.folder = folder;
	snprintf(node_path, sizeof(node_path), "%s/node", folder);
	if (mkfifo(node_path, 0600))
		return -1;
	node = open(node_path, O_RDWR | O_CLOEXEC);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return node < 0 ? -1 : pthread_create(&engine_thread, NULL, serve, NULL);
}

static int set_up_processes(void **state)
{
	by_processes = true;
	return set_up(state);
}

static int tear_down(void **state)
{
	void *exit_code;

	by_processes = false;
	kernel.ends = true;
	kill(getpid(), SIGTERM);
	pthread_join(engine_thread, &exit_code);
	close(node);
	return remove_folder(state) || exit_code ? -1 : 0;
}

/* Makes a client; returns whether the engine offers a compilation cache to the client. */
static bool new_client_has_cache(void)
{
	kernel.answered = false;
	assert_int_equal(write(node, "c", 1), 1);
	for (int i = 0; i < PATIENCE_MS && !kernel.answered; i++)
		usleep(1000);
	assert_true(kernel.answered);
	return kernel.has_cache;
}

/* Returns the process id of the engine's keeper, which listens on a socket in the state folder. */
static pid_t find_keeper(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), i;
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" KEEPER_SOCKET, folder);
	for (i = 0; i < PATIENCE_MS && connect(fd, (void *)&address, sizeof(address)); i++)
		usleep(1000);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
	close(fd);
	return peer.pid;
}

/* If a keeper dies soon after its start, the engine starts the next keeper only after a pause. */
static void test_keeper_dies_soon(void **state)
{
	(void)state;
	assert_true(new_client_has_cache());
	assert_int_equal(kill(find_keeper(), SIGKILL), 0);
	for (int i = 0; i < 8 && new_client_has_cache(); i++)
		usleep(100000);
	assert_false(new_client_has_cache());
	passed_s += 60;
	assert_true(new_client_has_cache());
}

static void await_in_session(char expected)
{
	char byte = 0;

	for (int i = 0; i < PATIENCE_MS && byte != expected; i++) {
		if (pread(kernel.kept, &byte, 1, 0) != 1 || byte != expected)
			usleep(1000);
	}
	assert_int_equal(byte, expected);
}

/*
 * A process that serves a client notices the keeper's death, unless another process also holds the
 * keeper's end of the socket.
 */
static void test_keeper_dies_on_processes(void **state)
{
	(void)state;
	assert_int_equal(write(node, "c", 1), 1);
	await_in_session(HAS_SESSION);
	assert_int_equal(kill(find_keeper(), SIGKILL), 0);
	await_in_session(NO_KEEPER);
}

/*
 * A process that serves a client does not notice a restart of the keeper. The broker keeps the
 * keeper's end of the socket open, and passes this end to the next keeper.
 */
static void test_keeper_comes_again(void **state)
{
	pid_t first, second;

	(void)state;
	assert_int_equal(write(node, "c", 1), 1);
	await_in_session(HAS_SESSION);
	first = second = find_keeper();
	passed_s += 60;
	assert_int_equal(kill(first, SIGKILL), 0);
	for (int i = 0; i < PATIENCE_MS && second == first; i++) {
		second = find_keeper();
		usleep(1000);
	}
	assert_int_not_equal(second, first);
	await_in_session(HAS_SESSION);
	assert_int_equal(kill(second, SIGKILL), 0);
	await_in_session(NO_KEEPER);
}

/*
 * If threads serve the clients, SIGTERM and SIGINT are blocked while the kit calls the engine's
 * start function. So threads that the engine starts receive neither SIGTERM nor SIGINT.
 */
static void test_signals_at_start(void **state)
{
	(void)state;
	assert_true(new_client_has_cache());
	assert_true(sigismember(&blocked_at_start, SIGTERM));
	assert_true(sigismember(&blocked_at_start, SIGINT));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_signals_at_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_keeper_dies_on_processes, set_up_processes,
						tear_down),
		cmocka_unit_test_setup_teardown(test_keeper_comes_again, set_up_processes,
						tear_down),
		cmocka_unit_test_setup_teardown(test_keeper_dies_soon, set_up, tear_down),
	};

	be_keeper(argc, argv);
	be_worker(argc, argv);
	return cmocka_run_group_tests_name("engine clients", tests, NULL, NULL);
}
