// SPDX-License-Identifier: MIT
/*
 * QUERY, and errors shared by all commands if the engine cannot be reached.
 */
#include "harness.h"

FIXTURE(query) {
	struct summary before;
	struct served s;
};

FIXTURE_SETUP(query)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
}

FIXTURE_TEARDOWN(query)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

TEST_F(query, answer)
{
	struct nnaccel_query query;
	uint32_t answer[4];

	ASSERT_EQ(served_start(&self->s), 0);
	memset(answer, 0xa5, sizeof(answer));
	query_init(&query, 4711, answer, sizeof(answer));
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_QUERY, &query), 0);
	EXPECT_EQ(query.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(query.data_size, sizeof(answer[0]));
	EXPECT_EQ(answer[0], 4711);
	EXPECT_EQ(answer[1], POISON);
}

TEST_F(query, refusals)
{
	uint32_t answer = 0;
	struct nnaccel_query good;
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_query, data_size, NNACCEL_MAX_QUERY + 1, EINVAL),
		REFUSE(struct nnaccel_query, data_size, UINT32_MAX, EINVAL),
		REFUSE(struct nnaccel_query, data_size, 3, ENOBUFS),
		REFUSE(struct nnaccel_query, data_size, 0, ENOBUFS),
		REFUSE(struct nnaccel_query, data, 0, EFAULT),
		REFUSE(struct nnaccel_query, data, UINT64_MAX, EFAULT),
		REFUSE(struct nnaccel_query, data, 0xffff888000000000UL, EFAULT),
	};

	ASSERT_EQ(served_start(&self->s), 0);
	query_init(&good, 1, &answer, sizeof(answer));
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_QUERY, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_QUERY, &good, sizeof(good), 0, true), 0);
}

/* Starts a query that this thread answers with @status and a payload of @size bytes. */
static int query_answered(struct served *s, struct nnaccel_query *query, uint32_t status,
			  const void *payload, uint32_t size)
{
	struct async async;
	union command cmd;
	int error;

	if (!async_start(&async, s->fd, NNACCEL_WORK_QUERY, query))
		return EAGAIN;
	error = session_fetch(s->session, 0, &cmd);
	if (!error)
		error = session_commit(s->session, cmd.head.cookie, status, payload, size, NULL);
	return async_wait(&async) ?: error;
}

TEST_F(query, largest_answer)
{
	char *payload = malloc(NNACCEL_MAX_QUERY), *answer = malloc(NNACCEL_MAX_QUERY);
	struct nnaccel_query query;

	memset(payload, 0x5a, NNACCEL_MAX_QUERY);
	query_init(&query, 0, answer, NNACCEL_MAX_QUERY);
	ASSERT_EQ(query_answered(&self->s, &query, NNACCEL_STATUS_NONE, payload,
				 NNACCEL_MAX_QUERY), 0);
	EXPECT_EQ(query.data_size, NNACCEL_MAX_QUERY);
	EXPECT_EQ(memcmp(payload, answer, NNACCEL_MAX_QUERY), 0);
}

TEST_F(query, empty_answer)
{
	struct nnaccel_query query;

	query_init(&query, 0, NULL, 0);
	ASSERT_EQ(query_answered(&self->s, &query, NNACCEL_STATUS_NONE, NULL, 0), 0);
	EXPECT_EQ(query.data_size, 0);
}

/* The client gets every status that the worker commits, and no payload after a failure. */
TEST_F(query, statuses)
{
	for (uint32_t status = 1; status <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT; status++) {
		struct nnaccel_query query;
		uint32_t answer = POISON;

		query_init(&query, 0, &answer, sizeof(answer));
		ASSERT_EQ(query_answered(&self->s, &query, status, "abcd", 4), 0);
		EXPECT_EQ(query.out_status, status);
		EXPECT_EQ(query.data_size, 0);
		EXPECT_EQ(answer, POISON);
	}
}

static int ask(int fd)
{
	struct nnaccel_query query;
	uint32_t answer;

	query_init(&query, 0, &answer, sizeof(answer));
	return xioctl(fd, NNACCEL_WORK_QUERY, &query);
}

TEST_F(query, no_engine)
{
	long long wait_ms = param_set("engine_wait_ms", 50);
	uint64_t context;

	ASSERT_GT(wait_ms, 0);
	close(self->s.session);
	self->s.session = -1;
	/*
	 * Test three reasons for a missing worker: the broker does not answer, the broker's worker
	 * does not attach, or no broker runs.
	 */
	EXPECT_EQ(ask(self->s.fd), ETIMEDOUT);
	EXPECT_EQ(broker_await_new(self->s.broker, &context), 0);
	EXPECT_EQ(broker_session(self->s.broker, context, &self->s.session), 0);
	EXPECT_EQ(ask(self->s.fd), ETIMEDOUT);
	close(self->s.broker);
	self->s.broker = -1;
	EXPECT_EQ(ask(self->s.fd), ENOTCONN);
	EXPECT_EQ(param_set("engine_wait_ms", wait_ms), 50);
}

/* A call that waits for a worker ends at the call's deadline. */
TEST_F(query, deadline_before_a_worker)
{
	uint32_t pool = pool_alloc(self->s.fd, 1);
	struct nnaccel_prepare prepare;

	close(self->s.session);
	self->s.session = -1;
	prepare_init(&prepare, pool, 1);
	prepare.deadline_ns = now_ns() + 50000000;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), ETIME);
	EXPECT_EQ(prepare.out_status, POISON);
	EXPECT_GE(now_ns(), prepare.deadline_ns);
}

TEST_F(query, refused_by_the_broker)
{
	const uint32_t errors[] = { EUSERS, EAGAIN };

	close(self->s.session);
	self->s.session = -1;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct nnaccel_query query;
		struct async async;
		uint64_t context;

		query_init(&query, 0, NULL, 0);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_QUERY, &query));
		ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
		EXPECT_EQ(context, self->s.context);
		EXPECT_EQ(broker_refuse(self->s.broker, context, errors[i]), 0);
		EXPECT_EQ(async_wait(&async), (int)errors[i]);
		EXPECT_EQ(query.out_status, POISON);
	}
}

TEST_F(query, too_many_commands)
{
	long long old = param_set("max_commands", 1);
	struct nnaccel_query query;
	uint32_t answer;
	struct async async;
	union command cmd;

	ASSERT_GT(old, 1);
	query_init(&query, 0, &answer, sizeof(answer));
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_QUERY, &query));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	EXPECT_EQ(ask(self->s.fd), EXFULL);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 0);
	EXPECT_EQ(param_set("max_commands", old), 1);
}

TEST_HARNESS_MAIN
