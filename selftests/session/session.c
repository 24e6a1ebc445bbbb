// SPDX-License-Identifier: MIT
/*
 * Sessions: ATTACH, FETCH and COMMIT with rejected fields, poll(), and many threads that fetch
 * commands at the same time.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "harness.h"

FIXTURE(sessions) {
	struct summary before;
	struct served s;
	struct async async;
	struct nnaccel_query query;
	uint32_t answer;
	union command cmd;
};

FIXTURE_SETUP(sessions)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	query_init(&self->query, 7, &self->answer, sizeof(self->answer));
}

FIXTURE_TEARDOWN(sessions)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Starts the client's call self->query in a second thread. */
static bool ask(FIXTURE_DATA(sessions) *self)
{
	return async_start(&self->async, self->s.fd, NNACCEL_WORK_QUERY, &self->query);
}

static short events_of(int fd, int timeout)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&poll_fd, 1, timeout) == 1 ? poll_fd.revents : 0;
}

TEST_F(sessions, numbers)
{
	EXPECT_EQ(check_numbers(self->s.session, FILE_SESSION), 0);
}

TEST_F(sessions, are_no_data)
{
	char byte = 0;

	EXPECT_EQ(read(self->s.session, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write(self->s.session, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST_F(sessions, attach)
{
	struct nnaccel_session_attach good = { .size = sizeof(good) };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_session_attach, flags, 4, EINVAL),
		REFUSE(struct nnaccel_session_attach, flags, 1U << 31, EINVAL),
	};
	int other, session;
	uint64_t context;

	EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_ATTACH, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_ATTACH, &good, sizeof(good),
				  EBUSY, false), 0);
	/* ATTACH fails if the session's context was closed before ATTACH. */
	other = device_open();
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	EXPECT_EQ(events_of(session, 0), 0);
	close(other);
	EXPECT_EQ(session_attach(session), ESHUTDOWN);
	EXPECT_EQ(events_of(session, 0), POLLHUP);
	close(session);
}

TEST_F(sessions, nothing_before_attach)
{
	int other = device_open(), session;
	uint64_t context;

	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	EXPECT_EQ(session_fetch(session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EACCES);
	EXPECT_EQ(session_commit(session, 1, 0, NULL, 0, NULL), EACCES);
	EXPECT_EQ(session_map(session, 1, PAGE, PROT_READ), NULL);
	EXPECT_EQ(errno, EACCES);
	close(session);
	close(other);
}

TEST_F(sessions, fetch_nothing)
{
	struct nnaccel_session_fetch good = {
		.size = sizeof(good),
		.flags = NNACCEL_FETCH_NONBLOCK,
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
		.out_size = POISON,
	};
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_session_fetch, flags, 2, EINVAL),
		REFUSE(struct nnaccel_session_fetch, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_session_fetch, buffer, good.buffer + 1, EINVAL),
		REFUSE(struct nnaccel_session_fetch, buffer, good.buffer + 4, EINVAL),
		REFUSE(struct nnaccel_session_fetch, buffer, UINT64_MAX, EINVAL),
		REFUSE(struct nnaccel_session_fetch, buffer_size, 0, EAGAIN),
		REFUSE(struct nnaccel_session_fetch, out_size, 0, EAGAIN),
	};

	EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_FETCH, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_FETCH, &good, sizeof(good), EAGAIN,
				  true), 0);
}

/*
 * If a fetch cannot write a command, the command stays queued, and the client's call continues to
 * wait.
 */
TEST_F(sessions, fetch_refusals)
{
	struct nnaccel_session_fetch good = {
		.size = sizeof(good),
		.flags = NNACCEL_FETCH_NONBLOCK,
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
	};
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_session_fetch, buffer, 0, EFAULT),
		REFUSE(struct nnaccel_session_fetch, buffer, 8, EFAULT),
		REFUSE(struct nnaccel_session_fetch, buffer, 0xffff888000000000UL, EFAULT),
	};
	const uint32_t small[] = { 0, 1, sizeof(struct nnaccel_cmd) - 1 };
	void *page;

	ASSERT_TRUE(ask(self));
	ASSERT_EQ(events_of(self->s.session, -1), POLLIN);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_FETCH, &good, sizeof(good),
					 cases, ARRAY_SIZE(cases)), 0);
		for (size_t k = 0; k < ARRAY_SIZE(small); k++) {
			struct nnaccel_session_fetch fetch = good;

			fetch.buffer_size = small[k];
			EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, &fetch), EMSGSIZE);
			EXPECT_EQ(fetch.out_size, sizeof(struct nnaccel_cmd));
		}
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(page, &good, sizeof(good));
		mprotect(page, PAGE, PROT_READ);
		EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, page), EFAULT);
		munmap(page, PAGE);
		EXPECT_EQ(events_of(self->s.session, 0), POLLIN);

		/*
		 * In the second iteration of the loop, the queue has a notice instead of a
		 * query.
		 */
		ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, &good), 0);
		EXPECT_EQ(good.out_size, sizeof(struct nnaccel_cmd));
		EXPECT_EQ(self->cmd.head.kind, i ? NNACCEL_DO_FORGET_MODEL : NNACCEL_DO_QUERY);
		if (!i) {
			struct nnaccel_prepare prepare;

			EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
			EXPECT_EQ(async_wait(&self->async), 0);
			EXPECT_EQ(self->answer, 7);
			prepare_init(&prepare, pool_alloc(self->s.fd, 1), 1);
			ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
			ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
			EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
			ASSERT_EQ(async_wait(&self->async), 0);
			EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
		}
	}
	EXPECT_EQ(events_of(self->s.session, 0), 0);
}

/* If the fetch of a command fails, the next fetch delivers this command before later commands. */
TEST_F(sessions, fetch_keeps_the_order)
{
	struct nnaccel_session_fetch bad = {
		.size = sizeof(bad),
		.buffer = 8,
		.buffer_size = sizeof(self->cmd),
	};
	struct nnaccel_query late = self->query;
	struct async async;
	uint32_t answer;

	late.query = 8;
	late.data = (uintptr_t)&answer;
	ASSERT_TRUE(ask(self));
	ASSERT_EQ(events_of(self->s.session, -1), POLLIN);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_QUERY, &late));
	while (summary_get(self->s.fd, "nnaccel-commands") != 2)
		usleep(1000);
	for (uint32_t i = 7; i <= 8; i++) {
		EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, &bad), EFAULT);
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.query, i);
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(async_wait(&async), 0);
}

static void ignore(int signal)
{
}

TEST_F(sessions, fetch_is_interruptible)
{
	const struct sigaction action = { .sa_handler = ignore };
	struct nnaccel_session_fetch fetch = {
		.size = sizeof(fetch),
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
	};
	struct async async;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_TRUE(async_start(&async, self->s.session, NNACCEL_SESSION_FETCH, &fetch));
	while (pthread_tryjoin_np(async.thread, NULL)) {
		pthread_kill(async.thread, SIGUSR1);
		usleep(1000);
	}
	EXPECT_EQ(async.error, EINTR);
}

/* Closing the context wakes every thread that waits in FETCH. */
TEST_F(sessions, close_wakes_all)
{
	struct nnaccel_session_fetch fetch = {
		.size = sizeof(fetch),
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
	};
	struct async async[4];

	for (size_t i = 0; i < ARRAY_SIZE(async); i++)
		ASSERT_TRUE(async_start(&async[i], self->s.session, NNACCEL_SESSION_FETCH, &fetch));
	usleep(10000);
	close(self->s.fd);
	self->s.fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(async); i++) {
		EXPECT_EQ(async_wait(&async[i]), ESHUTDOWN);
	}
	EXPECT_EQ(events_of(self->s.session, 0), POLLHUP);
	EXPECT_EQ(session_fetch(self->s.session, 0, &self->cmd), ESHUTDOWN);
	EXPECT_EQ(session_commit(self->s.session, 1, 0, NULL, 0, NULL), ENOENT);
}

TEST_F(sessions, poll_waits)
{
	EXPECT_EQ(events_of(self->s.session, 0), 0);
	ASSERT_TRUE(ask(self));
	EXPECT_EQ(events_of(self->s.session, -1), POLLIN);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(events_of(self->s.session, 0), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

/* A notice wakes a thread that waits in FETCH. */
TEST_F(sessions, notices_wake)
{
	struct nnaccel_session_fetch fetch = {
		.size = sizeof(fetch),
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
	};
	uint32_t model = served_prepare(&self->s, pool_alloc(self->s.fd, 1));
	struct async worker;

	ASSERT_NE(model, 0);
	ASSERT_TRUE(async_start(&worker, self->s.session, NNACCEL_SESSION_FETCH, &fetch));
	usleep(20000);
	EXPECT_EQ(object_destroy(self->s.fd, model), 0);
	EXPECT_EQ(async_wait(&worker), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
}

/*
 * If a command does not fit into the buffer of the thread that the command wakes, the module wakes
 * a second thread that waits in FETCH.
 */
TEST_F(sessions, too_small_wakes_another)
{
	struct nnaccel_session_fetch small = { .size = sizeof(small), .buffer_size = 8 };
	struct nnaccel_session_fetch fetch = {
		.size = sizeof(fetch),
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
	};
	struct async first, second;

	ASSERT_TRUE(async_start(&first, self->s.session, NNACCEL_SESSION_FETCH, &small));
	usleep(20000);
	ASSERT_TRUE(async_start(&second, self->s.session, NNACCEL_SESSION_FETCH, &fetch));
	usleep(20000);
	ASSERT_TRUE(ask(self));
	EXPECT_EQ(async_wait(&second), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_QUERY);
	/*
	 * If the module woke the thread with the small buffer first, the thread's FETCH has failed.
	 * A thread that was not woken first waits until the context is closed.
	 */
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	close(self->s.fd);
	self->s.fd = -1;
	EXPECT_TRUE(async_wait(&first) == EMSGSIZE || first.error == ESHUTDOWN);
}

struct client {
	pthread_t thread;
	int fd;
	int failed;
};

#define ROUNDS 100

static void *client_run(void *data)
{
	struct client *client = data;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct nnaccel_query query;
		uint32_t answer = POISON;

		query_init(&query, i, &answer, sizeof(answer));
		client->failed += xioctl(client->fd, NNACCEL_WORK_QUERY, &query) || answer != i;
	}
	return NULL;
}

static void *serve_run(void *session)
{
	session_serve(*(int *)session);
	return NULL;
}

TEST_F(sessions, many_threads)
{
	struct client clients[8];
	pthread_t workers[4];

	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		ASSERT_EQ(pthread_create(&workers[i], NULL, serve_run, &self->s.session), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = (struct client){ .fd = self->s.fd };
		ASSERT_EQ(pthread_create(&clients[i].thread, NULL, client_run, &clients[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		pthread_join(clients[i].thread, NULL);
		EXPECT_EQ(clients[i].failed, 0);
	}
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 0);
	close(self->s.fd);
	self->s.fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		pthread_join(workers[i], NULL);
}

TEST_F(sessions, commit_refusals)
{
	struct nnaccel_session_commit good = {
		.size = sizeof(good),
		.payload = (uintptr_t)&self->answer,
		.payload_size = sizeof(self->answer),
		.message = (uintptr_t)"text",
		.message_size = 4,
	};

	ASSERT_TRUE(ask(self));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	good.cookie = self->cmd.head.cookie;
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_session_commit, status, 9, EINVAL),
			REFUSE(struct nnaccel_session_commit, status, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_session_commit, cookie, 0, ENOENT),
			REFUSE(struct nnaccel_session_commit, cookie, good.cookie + 1, ENOENT),
			REFUSE(struct nnaccel_session_commit, cookie, UINT64_MAX, ENOENT),
			REFUSE(struct nnaccel_session_commit, payload, 0, EFAULT),
			REFUSE(struct nnaccel_session_commit, payload, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_session_commit, payload_size,
			       NNACCEL_MAX_OPERATIONS + 1, EINVAL),
			REFUSE(struct nnaccel_session_commit, payload_size, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_session_commit, message, 0, EFAULT),
			REFUSE(struct nnaccel_session_commit, message, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_session_commit, message_size,
			       NNACCEL_MAX_MESSAGE + 1, EINVAL),
			REFUSE(struct nnaccel_session_commit, message_size, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_session_commit, fence, 1, EINVAL),
			/*
			 * The field buffer_size and the flag NNACCEL_FETCH_NONBLOCK are valid only
			 * in a commit that requests a fetch.
			 */
			REFUSE(struct nnaccel_session_commit, flags, NNACCEL_FETCH_NONBLOCK,
			       EINVAL),
			REFUSE(struct nnaccel_session_commit, buffer_size, 1, EINVAL),
			/*
			 * The field @buffer must not be a misaligned address or an address of the
			 * kernel.
			 */
			REFUSE(struct nnaccel_session_commit, buffer, 4, EINVAL),
			REFUSE(struct nnaccel_session_commit, buffer, UINT64_MAX, EINVAL),
		};

		EXPECT_EQ(check_refusals(self->s.session, NNACCEL_SESSION_COMMIT, &good, sizeof(good),
					 cases, ARRAY_SIZE(cases)), 0);
	}
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &good), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &good), ENOENT);
	EXPECT_EQ(check_structure(self->s.session, NNACCEL_SESSION_COMMIT, &good, sizeof(good), ENOENT,
				  false), 0);
}

/* Starts a second query of the client, and returns when the query's command is queued. */
static bool ask_again(FIXTURE_DATA(sessions) *self, struct async *async,
		      struct nnaccel_query *query, uint32_t *answer)
{
	*query = self->query;
	query->query = 8;
	query->data = (uintptr_t)answer;
	return async_start(async, self->s.fd, NNACCEL_WORK_QUERY, query) &&
	       events_of(self->s.session, -1) == POLLIN;
}

/*
 * Returns a COMMIT structure that answers the fetched command and requests a nonblocking fetch of
 * the next command.
 */
static struct nnaccel_session_commit commit_and_fetch(FIXTURE_DATA(sessions) *self)
{
	return (struct nnaccel_session_commit){
		.size = sizeof(struct nnaccel_session_commit),
		.cookie = self->cmd.head.cookie,
		.payload = (uintptr_t)&self->cmd.head.query,
		.payload_size = sizeof(self->cmd.head.query),
		.buffer = (uintptr_t)&self->cmd,
		.buffer_size = sizeof(self->cmd),
		.flags = NNACCEL_FETCH_NONBLOCK,
	};
}

/* A COMMIT with a buffer answers a command and then fetches the next command. */
TEST_F(sessions, commit_and_fetch)
{
	struct nnaccel_session_commit commit;
	struct nnaccel_query query;
	struct async async;
	uint32_t answer;

	ASSERT_TRUE(ask(self));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_TRUE(ask_again(self, &async, &query, &answer));
	commit = commit_and_fetch(self);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
	EXPECT_EQ(commit.cookie, 0);
	EXPECT_EQ(commit.out_size, sizeof(struct nnaccel_cmd));
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(self->answer, 7);
	EXPECT_EQ(self->cmd.head.query, 8);

	/*
	 * If no command is queued, a COMMIT with a fetch delivers the answer, and fails with the
	 * error of the fetch.
	 */
	commit = commit_and_fetch(self);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), EAGAIN);
	EXPECT_EQ(commit.cookie, 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(answer, 8);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), EAGAIN);
	ASSERT_TRUE(ask_again(self, &async, &query, &answer));
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
	EXPECT_EQ(self->cmd.head.query, 8);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
}

/*
 * If the answer in a COMMIT is rejected, COMMIT fetches no command. If only the fetch in a COMMIT
 * fails, the answer is delivered.
 */
TEST_F(sessions, commit_and_fetch_errors)
{
	const uint64_t bad[] = { 8, 0xffff888000000000UL };
	struct nnaccel_session_commit commit, wrong;
	struct nnaccel_query query;
	struct async async;
	uint32_t answer;

	ASSERT_TRUE(ask(self));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_TRUE(ask_again(self, &async, &query, &answer));
	commit = commit_and_fetch(self);
	wrong = commit;
	wrong.cookie++;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &wrong), ENOENT);
	EXPECT_EQ(wrong.cookie, commit.cookie + 1);
	wrong = commit;
	wrong.flags = 2;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &wrong), EINVAL);
	wrong = commit;
	wrong.size = offsetof(struct nnaccel_session_commit, out_size);
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &wrong), EINVAL);

	commit.buffer_size = sizeof(struct nnaccel_cmd) - 1;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), EMSGSIZE);
	EXPECT_EQ(commit.cookie, 0);
	EXPECT_EQ(commit.out_size, sizeof(struct nnaccel_cmd));
	EXPECT_EQ(async_wait(&self->async), 0);
	commit.buffer_size = sizeof(self->cmd);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		commit.buffer = bad[i];
		EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), EFAULT);
	}
	commit.buffer = (uintptr_t)&self->cmd;
	EXPECT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
	EXPECT_EQ(self->cmd.head.query, 8);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
}

/*
 * If a signal interrupts a COMMIT that waits for the next command, the restarted COMMIT does not
 * commit the previous answer again.
 */
TEST_F(sessions, commit_and_fetch_restarts)
{
	const struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	struct nnaccel_session_commit commit;
	struct nnaccel_query query;
	struct async async, worker;
	uint32_t answer;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_TRUE(ask(self));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	commit = commit_and_fetch(self);
	commit.flags = 0;
	ASSERT_TRUE(async_start(&worker, self->s.session, NNACCEL_SESSION_COMMIT, &commit));
	EXPECT_EQ(async_wait(&self->async), 0);
	for (int i = 0; i < 20; i++) {
		pthread_kill(worker.thread, SIGUSR1);
		usleep(1000);
	}
	query = self->query;
	query.query = 8;
	query.data = (uintptr_t)&answer;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_QUERY, &query));
	EXPECT_EQ(async_wait(&worker), 0);
	EXPECT_EQ(commit.cookie, 0);
	EXPECT_EQ(self->cmd.head.query, 8);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
}

/* The worker cannot answer a queued command by a guessed cookie before the command is fetched. */
TEST_F(sessions, commit_before_fetch)
{
	uint64_t cookie;

	ASSERT_TRUE(ask(self));
	ASSERT_EQ(events_of(self->s.session, -1), POLLIN);
	for (cookie = 0; cookie < 16; cookie++)
		EXPECT_EQ(session_commit(self->s.session, cookie, 0, NULL, 0, NULL), ENOENT);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_LT(self->cmd.head.cookie, cookie);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
}

/* Checks which payloads an answer may have, for each kind of command. */
TEST_F(sessions, commit_payloads)
{
	uint32_t pool = pool_alloc(self->s.fd, 64);
	struct nnaccel_prepare prepare;
	struct nnaccel_supported supported, many;
	uint8_t answer[4], flags[1001];
	struct execution e;
	struct {
		struct nnaccel_shape shapes[2];
		uint8_t more[NNACCEL_MAX_QUERY];
	} payload = {};
	struct {
		const char *what;
		unsigned long request;
		void *arg;
		struct {
			uint32_t size;
			uint32_t status;
			uint32_t word;
			int error;
		} commits[8];
	} cases[] = {
		{ "query", NNACCEL_WORK_QUERY, &self->query, {
			{ NNACCEL_MAX_QUERY + 1, 0, 0, EINVAL },
			{ 4, 0, 0, 0 },
		} },
		{ "supported", NNACCEL_WORK_SUPPORTED, &supported, {
			{ 0, 0, 0, EINVAL },
			{ 3, 0, 0, EINVAL },
			{ 5, 0, 0, EINVAL },
			{ 3, 2, 0, EINVAL },
			{ 4, 0, 2, EINVAL },
			{ 4, 0, 0xff000000, EINVAL },
			{ 4, 0, 0x01000001, 0 },
		} },
		/*
		 * Test payloads that do not fit into the memory inside struct nnaccel_command. The
		 * module checks the flags of a large payload word by word.
		 */
		{ "supported by many", NNACCEL_WORK_SUPPORTED, &many, {
			{ sizeof(flags), 0, 2, EINVAL },
			{ sizeof(flags), 0, 0x01000000, 0 },
		} },
		{ "prepare", NNACCEL_WORK_PREPARE, &prepare, {
			{ 1, 0, 0, EINVAL },
			{ 1, 2, 0, EINVAL },
			{ 0, 0, 0, 0 },
		} },
		{ "execute", NNACCEL_WORK_EXECUTE, &e.cmd, {
			{ 1, 0, 0, EINVAL },
			{ sizeof(struct nnaccel_shape) - 1, 0, 0, EINVAL },
			{ sizeof(struct nnaccel_shape) + 1, 0, 0, EINVAL },
			{ 2 * sizeof(struct nnaccel_shape), 0, 0, EINVAL },
			{ sizeof(struct nnaccel_shape), 0, 2, EINVAL },
			{ sizeof(struct nnaccel_shape), 0, 1U << 31, EINVAL },
			{ sizeof(struct nnaccel_shape), 0, 1, 0 },
		} },
	};

	prepare_init(&prepare, pool, 1);
	supported_init(&supported, pool, 1, answer, sizeof(answer));
	supported_init(&many, pool, 1, flags, sizeof(flags));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].request == NNACCEL_WORK_EXECUTE)
			execution_init(&e, prepare.out_model, pool, pool);
		ASSERT_TRUE(async_start(&self->async, self->s.fd, cases[i].request, cases[i].arg));
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		for (int k = 0, error = EINVAL; error; k++) {
			error = cases[i].commits[k].error;
			memcpy(&payload, &cases[i].commits[k].word, sizeof(uint32_t));
			EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
						 cases[i].commits[k].status, &payload,
						 cases[i].commits[k].size, NULL), error)
				TH_LOG("%s, commit %d", cases[i].what, k);
		}
		EXPECT_EQ(async_wait(&self->async), 0);
	}
}

TEST_F(sessions, commit_shapes)
{
	const struct {
		const char *what;
		struct nnaccel_shape shape;
		int error;
	} cases[] = {
		{ "rank out of range", { .rank = NNACCEL_MAX_RANK + 1 }, EINVAL },
		{ "rank far out of range", { .rank = UINT32_MAX }, EINVAL },
		{ "dimension beyond the rank", { .rank = 1, .dims[1] = 1 }, EINVAL },
		{ "last dimension beyond the rank", { .rank = 15, .dims[15] = 1 }, EINVAL },
		{ "full rank", { .rank = NNACCEL_MAX_RANK, .dims[15] = 1 }, 0 },
	};
	uint32_t pool = pool_alloc(self->s.fd, 64);
	struct nnaccel_prepare prepare;
	struct execution e;

	prepare_init(&prepare, pool, 1);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(async_wait(&self->async), 0);
	execution_init(&e, prepare.out_model, pool, pool);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie, 0, &cases[i].shape,
					 sizeof(cases[i].shape), NULL), cases[i].error)
			TH_LOG("%s", cases[i].what);
	}
	EXPECT_EQ(async_wait(&self->async), 0);
	EXPECT_EQ(e.shape.rank, NNACCEL_MAX_RANK);
}

/* A command's cookie is invalid in the session of another context. */
TEST_F(sessions, commit_of_another)
{
	uint64_t context, cookie;
	int other = device_open(), session;

	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	ASSERT_EQ(session_attach(session), 0);
	ASSERT_TRUE(ask(self));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	cookie = self->cmd.head.cookie;
	EXPECT_EQ(session_commit(session, cookie, 0, NULL, 0, NULL), ENOENT);
	EXPECT_EQ(session_commit(self->s.session, cookie, 0, NULL, 0, NULL), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	close(session);
	close(other);
}

TEST_HARNESS_MAIN
