// SPDX-License-Identifier: MIT
/*
 * Kills the worker, the client or the broker at each stage of its work. Tests that every waiting
 * call returns an error, that a new worker or broker takes over, and that no object leaks.
 */
#include <poll.h>
#include <sys/mman.h>

#include "harness.h"

#define LENGTH PAGE

/* The client's call during which the test kills a process. */
enum request { ASK_NOTHING, ASK_QUERY, ASK_SUPPORTED, ASK_PREPARE, ASK_EXECUTE, NUM_REQUESTS };

static const char *const request_names[] = {
	"nothing", "query", "supported", "prepare", "execute",
};

struct client {
	uint32_t pool;
	uint32_t model;
	uint8_t answer[4];
	struct nnaccel_query query;
	struct nnaccel_supported supported;
	struct nnaccel_prepare prepare;
	struct execution execution;
	struct async async;
};

/* Returns the ioctl of a request, and sets *arg to the filled structure of the ioctl. */
static unsigned long fill_in(struct client *client, enum request request, void **arg)
{
	switch (request) {
	case ASK_QUERY:
		query_init(&client->query, 1, client->answer, sizeof(client->answer));
		*arg = &client->query;
		return NNACCEL_WORK_QUERY;
	case ASK_SUPPORTED:
		supported_init(&client->supported, client->pool, 1, client->answer, 4);
		*arg = &client->supported;
		return NNACCEL_WORK_SUPPORTED;
	case ASK_EXECUTE:
		execution_init(&client->execution, client->model, client->pool, client->pool);
		*arg = &client->execution.cmd;
		return NNACCEL_WORK_EXECUTE;
	default:
		prepare_init(&client->prepare, client->pool, 1);
		*arg = &client->prepare;
		return NNACCEL_WORK_PREPARE;
	}
}

static bool ask(struct client *client, int fd, enum request request)
{
	void *arg;
	unsigned long number = fill_in(client, request, &arg);

	return async_start(&client->async, fd, number, arg);
}

/* Prepares a model and executes it, with this process as worker. */
static int use(int fd, int session, struct client *client)
{
	union command cmd;

	for (enum request request = ASK_QUERY; request < NUM_REQUESTS; request++) {
		int error;

		if (!ask(client, fd, request))
			return EAGAIN;
		do {
			error = session_fetch(session, 0, &cmd);
		} while (!error && !cmd.head.cookie);
		if (error)
			return error;
		error = session_answer(session, &cmd);
		if (error)
			return error;
		error = async_wait(&client->async);
		if (error)
			return error;
		if (request == ASK_PREPARE)
			client->model = client->prepare.out_model;
	}
	return 0;
}

/* Gets a new session for a context that wants a worker, and attaches this process as the worker. */
static int serve_again(int broker, int *session)
{
	uint64_t context;

	return broker_await_new(broker, &context) ?: broker_session(broker, context, session) ?:
	       session_attach(*session);
}

/* Lets a new worker serve a context after the end of the old worker. */
static int recover(int broker, int fd, struct client *client, int *session)
{
	int error;

	if (!ask(client, fd, ASK_PREPARE))
		return EAGAIN;
	error = serve_again(broker, session);
	if (!error) {
		union command cmd;

		error = session_fetch(*session, 0, &cmd) ?: session_answer(*session, &cmd);
	}
	error = async_wait(&client->async) ?: error;
	if (!error)
		client->model = client->prepare.out_model;
	return error ?: use(fd, *session, client);
}

FIXTURE(death) {
	struct summary before;
	struct client client;
	int broker;
	int fd;
	uint64_t context;
};

FIXTURE_SETUP(death)
{
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
	self->client.pool = pool_alloc(self->fd, LENGTH);
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
}

FIXTURE_TEARDOWN(death)
{
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* ---- the worker ---- */

enum worker_stage {
	WORKER_STARTED,
	WORKER_ATTACHED,
	WORKER_WAITING,
	WORKER_QUEUED,
	WORKER_FETCHED,
	WORKER_MAPPED,
	WORKER_COMMITTED,
	NUM_WORKER_STAGES
};

static const char *const worker_stage_names[] = {
	"started", "attached", "waiting", "queued", "fetched", "mapped", "committed",
};

struct worker {
	int session;
	enum worker_stage stage;
	bool model_first;
};

/*
 * Worker process: prepares a model first for ASK_EXECUTE, and serves the client until the given
 * stage.
 */
static void work(struct actor *self, void *data)
{
	const struct worker *worker = data;
	union command cmd;

	if (worker->stage == WORKER_STARTED)
		actor_reached(self);
	if (session_attach(worker->session))
		_exit(1);
	if (worker->model_first && (session_fetch(worker->session, 0, &cmd) ||
				    session_answer(worker->session, &cmd)))
		_exit(1);
	actor_reached(self);
	if (session_fetch(worker->session, 0, &cmd))
		_exit(1);
	if (worker->stage == WORKER_FETCHED)
		actor_reached(self);
	if (cmd.head.num_grants &&
	    !session_map(worker->session, command_grants(&cmd)->grant, LENGTH, PROT_READ))
		_exit(1);
	if (worker->stage == WORKER_MAPPED)
		actor_reached(self);
	if (session_answer(worker->session, &cmd))
		_exit(1);
	actor_reached(self);
}

/*
 * Kills the worker at stage @stage, while the client makes request @request. Returns the errno of
 * the client's call, or -1 if the test failed.
 */
static int kill_worker(struct __test_metadata *_metadata, FIXTURE_DATA(death) *self,
		       enum worker_stage stage, enum request request)
{
	struct worker worker = {
		.stage = stage,
		.model_first = request == ASK_EXECUTE,
	};
	struct actor actor;
	bool asked = false;
	int error;

	if (broker_session(self->broker, self->context, &worker.session) ||
	    !actor_start(&actor, work, &worker))
		return -1;
	close(worker.session);
	if (worker.model_first) {
		if (!ask(&self->client, self->fd, ASK_PREPARE) || async_wait(&self->client.async))
			return -1;
		self->client.model = self->client.prepare.out_model;
	}
	if (!actor_await(&actor))
		return -1;
	if (stage == WORKER_WAITING || stage >= WORKER_FETCHED)
		actor_go(&actor);
	if (stage != WORKER_ATTACHED && stage != WORKER_WAITING && request != ASK_NOTHING) {
		asked = ask(&self->client, self->fd, request);
		if (stage == WORKER_QUEUED)
			await_commands(self->fd, 1);
		if (!asked || (stage >= WORKER_FETCHED && !actor_await(&actor)))
			return -1;
	}
	actor_kill(&actor);
	if (!asked)
		return 0;
	error = async_wait(&self->client.async);
	TH_LOG("worker killed when %s: %s is back after %llu us", worker_stage_names[stage],
	       request_names[request], actor_killed_ago(&actor));
	return error;
}

TEST_F(death, of_the_worker)
{
	const long long wait = param_get("engine_wait_ms");

	for (enum worker_stage stage = 0; stage < NUM_WORKER_STAGES; stage++) {
		for (enum request request = 0; request < NUM_REQUESTS; request++) {
			bool late = stage == WORKER_COMMITTED || request == ASK_NOTHING ||
				    stage == WORKER_ATTACHED || stage == WORKER_WAITING;
			int session, error;

			/* Skip stages with a queued command if the client makes no request. */
			if (request == ASK_NOTHING && stage >= WORKER_QUEUED)
				continue;
			/* A worker that has not attached has no model to execute. */
			if (request == ASK_EXECUTE && stage == WORKER_STARTED)
				continue;
			/*
			 * If the worker is killed before it attaches, the client's call waits for
			 * another worker until a timeout, because none attaches.
			 */
			if (stage == WORKER_STARTED)
				param_set("engine_wait_ms", 100);
			error = kill_worker(_metadata, self, stage, request);
			param_set("engine_wait_ms", wait);
			if (stage == WORKER_STARTED && request != ASK_NOTHING && error == ETIMEDOUT)
				error = EPIPE;
			EXPECT_EQ(error, late ? 0 : EPIPE)
				TH_LOG("worker %s, client asks for %s", worker_stage_names[stage],
				       request_names[request]);
			if (self->client.model) {
				EXPECT_EQ(xioctl(self->fd, NNACCEL_WORK_EXECUTE, &(struct nnaccel_execute){
					.size = sizeof(struct nnaccel_execute),
					.model = self->client.model }), ESTALE);
			}
			ASSERT_EQ(recover(self->broker, self->fd, &self->client, &session), 0)
				TH_LOG("after: worker %s, client asks for %s",
				       worker_stage_names[stage], request_names[request]);
			close(session);
			/* The next round needs a new context that is offered to the broker. */
			close(self->fd);
			self->fd = device_open();
			self->client = (struct client){ .pool = pool_alloc(self->fd, LENGTH) };
			ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
		}
	}
}

/* The worker's death wakes all waiters, not only the first. */
TEST_F(death, of_the_worker_wakes_all)
{
	struct worker worker = { .stage = WORKER_FETCHED };
	struct client clients[8] = {};
	struct actor actor;

	ASSERT_EQ(broker_session(self->broker, self->context, &worker.session), 0);
	ASSERT_TRUE(actor_start(&actor, work, &worker));
	close(worker.session);
	ASSERT_TRUE(actor_await(&actor));
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i].pool = self->client.pool;
		ASSERT_TRUE(ask(&clients[i], self->fd, ASK_QUERY + i % 3));
	}
	await_commands(self->fd, ARRAY_SIZE(clients));
	actor_go(&actor);
	ASSERT_TRUE(actor_await(&actor));
	actor_kill(&actor);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		EXPECT_EQ(async_wait(&clients[i].async), EPIPE);
	}
	TH_LOG("worker killed: %zu calls are back after %llu us", ARRAY_SIZE(clients),
	       actor_killed_ago(&actor));
}

/* ---- the client ---- */

enum client_stage {
	CLIENT_OPENED,
	CLIENT_OFFERED,
	CLIENT_GIVEN,
	CLIENT_ATTACHED,
	CLIENT_QUEUED,
	CLIENT_FETCHED,
	CLIENT_MAPPED,
	CLIENT_COMMITTED,
	NUM_CLIENT_STAGES
};

static const char *const client_stage_names[] = {
	"opened", "offered", "given", "attached", "queued", "fetched", "mapped", "committed",
};

/* Client process: makes the request; for ASK_EXECUTE the client prepares a model first. */
static void be_client(struct actor *self, void *data)
{
	enum request request = *(enum request *)data;
	struct client client = {};
	unsigned long number;
	int fd = device_open();
	void *arg;

	client.pool = pool_alloc(fd, LENGTH);
	if (fd < 0 || !client.pool)
		_exit(1);
	actor_reached(self);
	if (request == ASK_EXECUTE) {
		number = fill_in(&client, ASK_PREPARE, &arg);
		if (xioctl(fd, number, arg))
			_exit(1);
		client.model = client.prepare.out_model;
	}
	if (request != ASK_NOTHING) {
		number = fill_in(&client, request, &arg);
		if (xioctl(fd, number, arg))
			_exit(1);
	}
	actor_reached(self);
}

/* Kills a client at a stage; returns what went wrong, or NULL. */
static const char *kill_client(struct __test_metadata *_metadata, int broker,
			       enum client_stage stage, enum request request)
{
	struct nnaccel_engine_next next;
	struct pollfd poll_fd = { .events = POLLIN };
	struct actor actor;
	union command cmd = {};
	int session = -1;

	if (!actor_start(&actor, be_client, &request) || !actor_await(&actor))
		return "it did not start";
	if (stage >= CLIENT_OFFERED && (broker_next(broker, 0, &next) ||
					next.out_event != NNACCEL_ENGINE_NEW))
		return "not offered";
	if (stage >= CLIENT_GIVEN && broker_session(broker, next.out_context, &session))
		return "no session";
	if (stage >= CLIENT_ATTACHED && session_attach(session))
		return "not attached";
	actor_go(&actor);
	if (stage >= CLIENT_QUEUED && request == ASK_EXECUTE &&
	    (session_fetch(session, 0, &cmd) || session_answer(session, &cmd)))
		return "no model";
	poll_fd.fd = session;
	if (stage >= CLIENT_QUEUED && poll(&poll_fd, 1, -1) != 1)
		return "no command";
	if (stage >= CLIENT_FETCHED && session_fetch(session, 0, &cmd))
		return "not fetched";
	if (stage >= CLIENT_MAPPED && cmd.head.num_grants &&
	    !session_map(session, command_grants(&cmd)->grant, LENGTH, PROT_READ))
		return "not mapped";
	if (stage >= CLIENT_COMMITTED && (session_answer(session, &cmd) || !actor_await(&actor)))
		return "not answered";
	actor_kill(&actor);

	if (session >= 0) {
		if (session_fetch(session, 0, &(union command){}) !=
		    (stage >= CLIENT_ATTACHED ? ESHUTDOWN : EACCES))
			return "the worker may still fetch";
		if (poll(&poll_fd, 1, 0) != 1 || !(poll_fd.revents & POLLHUP))
			return "the worker is not told";
		TH_LOG("client killed when %s, asking for %s: the worker knows after %llu us",
		       client_stage_names[stage], request_names[request],
		       actor_killed_ago(&actor));
		/*
		 * The worker may answer the dead client's command once, and the module drops the
		 * answer.
		 */
		if ((stage == CLIENT_FETCHED || stage == CLIENT_MAPPED) &&
		    (session_answer(session, &cmd) || session_answer(session, &cmd) != ENOENT))
			return "the worker cannot commit";
		close(session);
	}
	if (stage >= CLIENT_OFFERED && (broker_next(broker, NNACCEL_ENGINE_NONBLOCK, &next) ||
					next.out_event != NNACCEL_ENGINE_GONE))
		return "the broker is not told";
	if (broker_next(broker, NNACCEL_ENGINE_NONBLOCK, &next) != EAGAIN)
		return "the broker is told more";
	return NULL;
}

TEST_F(death, of_the_client)
{
	struct summary before;
	const char *wrong;

	for (enum client_stage stage = 0; stage < NUM_CLIENT_STAGES; stage++) {
		for (enum request request = 0; request < NUM_REQUESTS; request++) {
			if (request == ASK_NOTHING && stage >= CLIENT_QUEUED)
				continue;
			ASSERT_TRUE(summary_read(&before));
			wrong = kill_client(_metadata, self->broker, stage, request);
			EXPECT_EQ(wrong, NULL)
				TH_LOG("client %s asks for %s: %s", client_stage_names[stage],
				       request_names[request], wrong);
			/*
			 * From stage CLIENT_MAPPED on, the test process still maps the killed
			 * client's memory, which therefore stays allocated.
			 */
			if (stage < CLIENT_MAPPED) {
				EXPECT_TRUE(summary_settles(&before));
			}
		}
	}
	self->before.counter[1] = summary_get(-1, "users");
	self->before.counter[3] = summary_get(-1, "pool-bytes") - LENGTH;
}

/* ---- the broker ---- */

enum broker_stage {
	BROKER_OPENED,
	BROKER_TOLD,
	BROKER_GIVEN,
	BROKER_REFUSED,
	NUM_BROKER_STAGES
};

static const char *const broker_stage_names[] = { "opened", "told", "given", "refused" };

static void be_broker(struct actor *self, void *data)
{
	enum broker_stage stage = *(enum broker_stage *)data;
	struct nnaccel_engine_next next;
	int broker = broker_open(), session;

	if (broker < 0)
		_exit(1);
	if (stage >= BROKER_TOLD && broker_next(broker, 0, &next))
		_exit(1);
	if (stage == BROKER_GIVEN && broker_session(broker, next.out_context, &session))
		_exit(1);
	if (stage == BROKER_REFUSED && broker_refuse(broker, next.out_context, EUSERS))
		_exit(1);
	actor_reached(self);
}

TEST_F(death, of_the_broker)
{
	for (enum broker_stage stage = 0; stage < NUM_BROKER_STAGES; stage++) {
		for (int asking = 0; asking < 2; asking++) {
			struct actor actor;
			int session, error = 0;

			/*
			 * Close the test's broker, so that the module offers the context to the
			 * next broker.
			 */
			close(self->broker);
			ASSERT_TRUE(actor_start(&actor, be_broker, &stage));
			ASSERT_TRUE(actor_await(&actor));
			if (asking) {
				ASSERT_TRUE(ask(&self->client, self->fd, ASK_PREPARE));
			}
			actor_kill(&actor);
			if (asking)
				error = async_wait(&self->client.async);
			/*
			 * The client's call fails because no broker registers in time, or because
			 * the context's session ends.
			 */
			EXPECT_TRUE(!asking || error == ENOTCONN || error == EPIPE)
				TH_LOG("broker %s: %s", broker_stage_names[stage], strerror(error));
			self->broker = broker_open();
			ASSERT_GE(self->broker, 0);
			ASSERT_EQ(recover(self->broker, self->fd, &self->client, &session), 0)
				TH_LOG("after: broker %s", broker_stage_names[stage]);
			close(session);
			close(self->fd);
			self->fd = device_open();
			self->client = (struct client){ .pool = pool_alloc(self->fd, LENGTH) };
		}
	}
	ASSERT_EQ(broker_await_new(self->broker, &self->context), 0);
}

/* A worker continues without its broker, and the next broker serves a waiting call. */
TEST_F(death, of_the_broker_leaves_workers_alone)
{
	int session;

	ASSERT_EQ(broker_session(self->broker, self->context, &session), 0);
	ASSERT_EQ(session_attach(session), 0);
	close(self->broker);
	EXPECT_EQ(use(self->fd, session, &self->client), 0);
	self->broker = broker_open();
	EXPECT_EQ(use(self->fd, session, &self->client), 0);
	close(session);
}

TEST_F(death, of_the_broker_while_a_call_waits)
{
	long long absent = param_set("engine_absent_ms", 100000);
	long long wait = param_set("engine_wait_ms", 100000);
	union command cmd;
	int session;

	ASSERT_TRUE(ask(&self->client, self->fd, ASK_PREPARE));
	close(self->broker);
	self->broker = broker_open();
	EXPECT_EQ(serve_again(self->broker, &session), 0);
	EXPECT_EQ(session_fetch(session, 0, &cmd), 0);
	EXPECT_EQ(session_answer(session, &cmd), 0);
	EXPECT_EQ(async_wait(&self->client.async), 0);
	close(session);
	param_set("engine_absent_ms", absent);
	param_set("engine_wait_ms", wait);
}

TEST_HARNESS_MAIN
