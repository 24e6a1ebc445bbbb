// SPDX-License-Identifier: MIT
/*
 * The module kills workers that do not answer. Executions end when their worker or client is
 * killed.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "burst.h"
#include "harness.h"

#define LENGTH PAGE

/* A client that has a pool and a model; the client's worker is another process. */
struct client {
	struct summary before;
	long long grace;
	int broker;
	int fd;
	int session;
	uint32_t pool;
	uint32_t model;
	struct actor worker;
};

static bool client_open(struct client *c, void (*work)(struct actor *self, void *data))
{
	struct nnaccel_prepare prepare;
	uint64_t context;

	c->broker = broker_open();
	if (c->broker < 0 || !summary_read(&c->before))
		return false;
	c->grace = param_set("kill_grace_ms", 50);
	c->fd = device_open();
	c->pool = pool_alloc(c->fd, LENGTH);
	if (broker_await_new(c->broker, &context) ||
	    broker_session(c->broker, context, &c->session) ||
	    !actor_start(&c->worker, work, &c->session))
		return false;
	close(c->session);
	prepare_init(&prepare, c->pool, 1);
	if (xioctl(c->fd, NNACCEL_WORK_PREPARE, &prepare))
		return false;
	c->model = prepare.out_model;
	return true;
}

/* Closes the client. Returns whether the module has no object of the client left. */
static bool client_close(struct client *c)
{
	actor_kill(&c->worker);
	close(c->fd);
	close(c->broker);
	param_set("kill_grace_ms", c->grace);
	return summary_settles(&c->before);
}

FIXTURE(kill) {
	struct client c;
	_Atomic uint64_t *memory;
};

/*
 * Worker process: prepares a model, fetches an execution, then writes to the memory in an endless
 * loop.
 */
static void write_for_ever(struct actor *self, void *data)
{
	int session = *(int *)data;
	_Atomic uint64_t *memory;
	union command cmd;

	if (session_attach(session) || session_fetch(session, 0, &cmd) ||
	    session_answer(session, &cmd) || session_fetch(session, 0, &cmd))
		_exit(1);
	memory = session_map(session, command_grants(&cmd)[1].grant, LENGTH,
			     PROT_READ | PROT_WRITE);
	if (!memory)
		_exit(2);
	for (;;)
		atomic_fetch_add(memory, 1);
}

FIXTURE_SETUP(kill)
{
	int buffer;

	ASSERT_TRUE(client_open(&self->c, write_for_ever));
	buffer = pool_export(self->c.fd, self->c.pool);
	self->memory = map_shared(buffer, LENGTH, PROT_READ | PROT_WRITE);
	close(buffer);
	ASSERT_NE((void *)self->memory, NULL);
}

FIXTURE_TEARDOWN(kill)
{
	munmap((void *)self->memory, LENGTH);
	EXPECT_TRUE(client_close(&self->c));
}

/* Checks that the worker was killed, and that it no longer writes to the pool. */
static void expect_dead(struct __test_metadata *_metadata, FIXTURE_DATA(kill) *self)
{
	siginfo_t info = {};
	uint64_t written;

	EXPECT_EQ(waitid(P_PID, (id_t)self->c.worker.pid, &info, WEXITED | WNOWAIT), 0);
	EXPECT_EQ(info.si_code, CLD_KILLED);
	EXPECT_EQ(info.si_status, SIGKILL);
	written = atomic_load(self->memory);
	EXPECT_GT(written, 0);
	usleep(20000);
	EXPECT_EQ(atomic_load(self->memory), written);
	EXPECT_EQ(file_start(self->c.fd, self->c.model, self->c.pool, -1), -1);
	EXPECT_EQ(errno, ESTALE);
}

/*
 * An execution that misses its deadline ends with ETIME, and an execution that depends on it does
 * not run.
 */
TEST_F(kill, worker_past_the_deadline)
{
	int file = file_start_until(self->c.fd, self->c.model, self->c.pool, -1, deadline_soon()), next;

	ASSERT_GE(file, 0);
	next = file_start(self->c.fd, self->c.model, self->c.pool, file);
	EXPECT_EQ(file_end(self->c.fd, file), ETIME);
	expect_dead(_metadata, self);
	EXPECT_EQ(file_end(self->c.fd, next), EREMOTEIO);
	close(file);
	close(next);
}

/*
 * A synchronous call returns when deadline_grace_ms have passed after the deadline. The module
 * kills the worker when kill_grace_ms have passed after the deadline.
 */
TEST_F(kill, worker_of_a_synchronous_execution)
{
	struct execution e;

	execution_init(&e, self->c.model, self->c.pool, self->c.pool);
	e.cmd.deadline_ns = deadline_soon();
	EXPECT_EQ(xioctl(self->c.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ETIME);
	expect_dead(_metadata, self);
}

/* A worker is not killed for an execution without a deadline. */
TEST_F(kill, no_worker_without_a_deadline)
{
	struct execution e;
	struct async async;
	siginfo_t info = {};

	execution_init(&e, self->c.model, self->c.pool, self->c.pool);
	ASSERT_TRUE(async_start(&async, self->c.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	while (!atomic_load(self->memory))
		usleep(1000);
	usleep(300000);
	EXPECT_EQ(waitid(P_PID, (id_t)self->c.worker.pid, &info, WEXITED | WNOWAIT | WNOHANG), 0);
	EXPECT_EQ(info.si_pid, 0);
	kill(self->c.worker.pid, SIGKILL);
	EXPECT_EQ(async_wait(&async), EPIPE);
}

/* The module kills even a worker that SIGSTOP has stopped. */
TEST_F(kill, worker_that_is_stopped)
{
	int file = file_start_until(self->c.fd, self->c.model, self->c.pool, -1, deadline_soon());

	ASSERT_GE(file, 0);
	while (!atomic_load(self->memory))
		usleep(1000);
	EXPECT_EQ(kill(self->c.worker.pid, SIGSTOP), 0);
	EXPECT_EQ(file_end(self->c.fd, file), ETIME);
	expect_dead(_metadata, self);
	close(file);
}

/* ---- a worker that leaves when it is killed ---- */

/* Time in ns from the execution's deadline until the worker closes its session. */
static uint64_t late_ns;

/* Worker process: closes its session after the deadline of an execution, and continues to run. */
static void close_late(struct actor *self, void *data)
{
	int session = *(int *)data;
	union command cmd;

	if (session_attach(session) || session_fetch(session, 0, &cmd) ||
	    session_answer(session, &cmd))
		_exit(1);
	do
		session_fetch(session, 0, &cmd);
	while (!cmd.head.deadline_ns);
	while (now_ns() < cmd.head.deadline_ns + late_ns)
		;
	close(session);
	pause();
}

/*
 * Reads the list of commands in a loop, so that other threads must often wait for the lock of the
 * context.
 */
static void *read_for_ever(void *data)
{
	struct shown shown;

	while (!*(_Atomic bool *)data)
		shown_commands(&shown, 1);
	return NULL;
}

/*
 * When the module frees a session, no work of the session is pending, even if the worker is killed
 * at the same moment.
 */
TEST(worker_that_closes_its_session)
{
	long long told = param_set("deadline_grace_ms", 0), most = param_set("max_commands", 1001);

	for (int round = 0; round < how_often(64, 8); round++) {
		_Atomic bool stop = false;
		struct execution e;
		pthread_t reader;
		struct client c;
		uint32_t id;
		int file;

		late_ns = 50000000 + (uint64_t)(round % 16) * 1000000;
		ASSERT_TRUE(client_open(&c, close_late));
		execution_init(&e, c.model, c.pool, c.pool);
		for (int i = 0; i < 1000; i++)
			ASSERT_EQ(submit_work(c.fd, NNACCEL_WORK_EXECUTE, &e.cmd, &id), 0);
		file = file_start_until(c.fd, c.model, c.pool, -1, now_ns() + 200000000);
		ASSERT_GE(file, 0);
		pthread_create(&reader, NULL, read_for_ever, &stop);
		EXPECT_NE(file_end(c.fd, file), 0);
		/* Give the worker time to close its session, in case the worker was not killed. */
		usleep(200000);
		stop = true;
		pthread_join(reader, NULL);
		close(file);
		EXPECT_TRUE(client_close(&c));
	}
	param_set("deadline_grace_ms", told);
	param_set("max_commands", most);
}

/* ---- shared workers ---- */

FIXTURE(shared) {
	struct client c;
};

#define EXPECT_IN_CHILD(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
		_exit(1);						\
	}								\
} while (0)

/*
 * Process of a shared worker: misses a deadline, notices the end of its session by poll(),
 * releases all objects of the session, and survives.
 */
static void outlive_session(struct actor *self, void *data)
{
	int session = *(int *)data;
	struct nnaccel_session_sync sync = { .size = sizeof(sync), .flags = NNACCEL_SYNC_READ };
	struct nnaccel_session_slot slot = { .size = sizeof(slot), .burst = 1 };
	struct pollfd end = { .fd = session };
	union command cmd, next;
	uint32_t grant;
	void *memory;
	int fd, none;

	EXPECT_IN_CHILD(!session_attach_as(session, NNACCEL_ATTACH_SHARED));
	EXPECT_IN_CHILD(!session_fetch(session, 0, &cmd) && !session_answer(session, &cmd));
	EXPECT_IN_CHILD(!session_fetch(session, 0, &cmd));
	grant = command_grants(&cmd)[1].grant;
	memory = session_map(session, grant, LENGTH, PROT_READ | PROT_WRITE);
	EXPECT_IN_CHILD(memory);
	EXPECT_IN_CHILD(!session_grant_fd(session, grant, NNACCEL_PROT_READ, &fd));
	EXPECT_IN_CHILD(poll(&end, 1, -1) == 1 && end.revents == (POLLHUP | POLLERR));
	EXPECT_IN_CHILD(session_fetch(session, 0, &next) == ESHUTDOWN);
	EXPECT_IN_CHILD(!session_map(session, grant, LENGTH, PROT_READ) && errno == ESHUTDOWN);
	EXPECT_IN_CHILD(!session_burst_map(session, 1, NNACCEL_BURST_STATUS, PAGE, PROT_READ) &&
			errno == ESHUTDOWN);
	EXPECT_IN_CHILD(mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED &&
			errno == ENODEV);
	EXPECT_IN_CHILD(session_grant_fd(session, grant, NNACCEL_PROT_READ, &none) == ESHUTDOWN);
	EXPECT_IN_CHILD(xioctl(session, NNACCEL_SESSION_SLOT, &slot) == ESHUTDOWN);
	sync.grant = grant;
	EXPECT_IN_CHILD(xioctl(session, NNACCEL_SESSION_SYNC, &sync) == ESHUTDOWN);
	close(fd);
	munmap(memory, LENGTH);
	actor_reached(self);
	EXPECT_IN_CHILD(session_fetch(session, 0, &next) == ESHUTDOWN);
	EXPECT_IN_CHILD(!session_map(session, grant, LENGTH, PROT_READ) && errno == ESHUTDOWN);
	close(session);
	actor_reached(self);
	_exit(0);
}

FIXTURE_SETUP(shared)
{
	ASSERT_TRUE(client_open(&self->c, outlive_session));
}

FIXTURE_TEARDOWN(shared)
{
	EXPECT_TRUE(client_close(&self->c));
}

/*
 * If a shared worker misses a deadline, its session ends and the client gets an error, but the
 * worker survives.
 */
TEST_F(shared, loses_its_session)
{
	int file = file_start_until(self->c.fd, self->c.model, self->c.pool, -1, deadline_soon());
	struct execution e;
	siginfo_t info = {};

	ASSERT_GE(file, 0);
	ASSERT_TRUE(actor_await(&self->c.worker));
	actor_go(&self->c.worker);
	ASSERT_TRUE(actor_await(&self->c.worker));
	EXPECT_EQ(file_end(self->c.fd, file), ETIME);
	close(file);
	execution_init(&e, self->c.model, self->c.pool, self->c.pool);
	EXPECT_EQ(xioctl(self->c.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ESTALE);
	EXPECT_EQ(waitid(P_PID, (id_t)self->c.worker.pid, &info, WEXITED | WNOWAIT | WNOHANG), 0);
	EXPECT_EQ(info.si_pid, 0);
	actor_go(&self->c.worker);
	EXPECT_EQ(waitid(P_PID, (id_t)self->c.worker.pid, &info, WEXITED | WNOWAIT), 0);
	EXPECT_EQ(info.si_code, CLD_EXITED);
	EXPECT_EQ(info.si_status, 0);
}

/*
 * If a shared worker does not close its ended session, the client's calls wait only for a limited
 * time.
 */
TEST_F(shared, keeps_its_session)
{
	struct nnaccel_query query = { .size = sizeof(query) }, again = query;
	struct async overdue, behind;
	union command cmd;
	struct execution e;
	uint64_t context;
	int session;

	execution_init(&e, self->c.model, self->c.pool, self->c.pool);
	e.cmd.deadline_ns = deadline_soon();
	ASSERT_TRUE(async_start(&overdue, self->c.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	await_commands(self->c.fd, 1);
	ASSERT_TRUE(async_start(&behind, self->c.fd, NNACCEL_WORK_QUERY, &query));
	EXPECT_EQ(async_wait(&overdue), ETIME);
	ASSERT_TRUE(actor_await(&self->c.worker));
	EXPECT_EQ(async_wait(&behind), EPIPE);
	EXPECT_EQ(summary_get(-1, "grants"), 0);
	/* The context gets a second worker before the first worker has closed its session. */
	ASSERT_TRUE(async_start(&behind, self->c.fd, NNACCEL_WORK_QUERY, &again));
	ASSERT_EQ(broker_await_new(self->c.broker, &context), 0);
	ASSERT_EQ(broker_session(self->c.broker, context, &session), 0);
	ASSERT_EQ(session_attach(session), 0);
	ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_QUERY);
	EXPECT_EQ(session_commit(session, cmd.head.cookie, NNACCEL_STATUS_INVALID_ARGUMENT, NULL,
				 0, NULL), 0);
	EXPECT_EQ(async_wait(&behind), 0);
	/* The end of the first worker's session does not affect the second worker. */
	actor_go(&self->c.worker);
	ASSERT_TRUE(actor_await(&self->c.worker));
	again.out_status = POISON;
	ASSERT_TRUE(async_start(&behind, self->c.fd, NNACCEL_WORK_QUERY, &again));
	ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
	EXPECT_EQ(session_commit(session, cmd.head.cookie, NNACCEL_STATUS_INVALID_ARGUMENT, NULL,
				 0, NULL), 0);
	EXPECT_EQ(async_wait(&behind), 0);
	close(session);
}

/*
 * Process of a shared worker: answers after its session has ended, and does not close the session.
 */
static void commit_late(struct actor *self, void *data)
{
	int session = *(int *)data;
	struct pollfd end = { .fd = session };
	union command cmd;

	EXPECT_IN_CHILD(!session_attach_as(session, NNACCEL_ATTACH_SHARED));
	EXPECT_IN_CHILD(!session_fetch(session, 0, &cmd) && !session_answer(session, &cmd));
	EXPECT_IN_CHILD(!session_fetch(session, 0, &cmd));
	EXPECT_IN_CHILD(poll(&end, 1, -1) == 1 && end.revents == (POLLHUP | POLLERR));
	EXPECT_IN_CHILD(!session_answer(session, &cmd));
	actor_reached(self);
	_exit(0);
}

/*
 * An answer after the end of a shared worker's session ends the command. A client loses a worker
 * that answers late, even if the worker does not close its session.
 */
TEST(late_answer)
{
	struct nnaccel_query query = { .size = sizeof(query) };
	struct execution e;
	struct client c;

	ASSERT_TRUE(client_open(&c, commit_late));
	execution_init(&e, c.model, c.pool, c.pool);
	e.cmd.deadline_ns = deadline_soon();
	EXPECT_EQ(xioctl(c.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ETIME);
	ASSERT_TRUE(actor_await(&c.worker));
	EXPECT_EQ(xioctl(c.fd, NNACCEL_WORK_QUERY, &query), EPIPE);
	actor_go(&c.worker);
	EXPECT_TRUE(client_close(&c));
}

/* ---- clients ---- */

FIXTURE(client) {
	struct summary before;
	int broker;
};

FIXTURE_SETUP(client)
{
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
}

FIXTURE_TEARDOWN(client)
{
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

/*
 * Client process: prepares a model, starts two executions, of which the second depends on the
 * first, and sends the executions' files.
 */
static void be_client(struct actor *self, void *data)
{
	int socket = *(int *)data, fd = device_open(), first, second;
	struct nnaccel_prepare prepare;
	uint32_t pool = pool_alloc(fd, LENGTH);

	prepare_init(&prepare, pool, 1);
	if (fd < 0 || xioctl(fd, NNACCEL_WORK_PREPARE, &prepare))
		_exit(1);
	first = file_start(fd, prepare.out_model, pool, -1);
	second = file_start(fd, prepare.out_model, pool, first);
	if (!send_file(socket, first) || !send_file(socket, second))
		_exit(1);
	actor_reached(self);
}

/*
 * Kills a client with two executions, of which the second depends on the first. The first is
 * @fetched or queued.
 */
static void kill_client(struct __test_metadata *_metadata, FIXTURE_DATA(client) *self,
			bool fetched)
{
	struct nnaccel_engine_next next;
	int pair[2], session, first, second;
	struct actor client;
	union command cmd;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ASSERT_TRUE(actor_start(&client, be_client, &pair[1]));
	ASSERT_EQ(broker_next(self->broker, 0, &next), 0);
	ASSERT_EQ(broker_session(self->broker, next.out_context, &session), 0);
	ASSERT_EQ(session_attach(session), 0);
	ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
	ASSERT_EQ(session_answer(session, &cmd), 0);
	first = receive_file(pair[0]);
	second = receive_file(pair[0]);
	ASSERT_TRUE(actor_await(&client));
	if (fetched) {
		ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
	}
	EXPECT_FALSE(file_readable(first, 0));
	EXPECT_FALSE(file_readable(second, 0));
	actor_kill(&client);
	EXPECT_TRUE(file_readable(second, -1));
	EXPECT_TRUE(file_readable(first, -1));
	close(session);
	/* The broker is notified of the end of the killed client's context. */
	EXPECT_EQ(broker_next(self->broker, 0, &next), 0);
	close(first);
	close(second);
	close(pair[0]);
	close(pair[1]);
}

TEST_F(client, killed_with_executions_queued)
{
	kill_client(_metadata, self, false);
}

TEST_F(client, killed_with_an_execution_fetched)
{
	kill_client(_metadata, self, true);
}

TEST_HARNESS_MAIN
