// SPDX-License-Identifier: MIT
/*
 * Tests of models by SUPPORTED and PREPARE: commands to the worker, answers to the client, and
 * rejected fields.
 */
#include <time.h>

#include "harness.h"

#define LENGTH 100
#define NUM_OPERATIONS 5

FIXTURE(models) {
	struct summary before;
	struct served s;
	uint32_t wire;
	uint32_t constants[2];
};

FIXTURE_SETUP(models)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->wire = pool_alloc(self->s.fd, LENGTH);
	self->constants[0] = pool_alloc(self->s.fd, 2 * PAGE);
	self->constants[1] = pool_alloc(self->s.fd, 3 * PAGE);
	ASSERT_NE(self->constants[1], 0);
}

FIXTURE_TEARDOWN(models)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

static void with_constants(struct nnaccel_prepare *prepare, const uint32_t *pools, uint32_t n)
{
	prepare->pools = (uintptr_t)pools;
	prepare->num_pools = n;
}

TEST_F(models, prepare_tells_the_worker)
{
	struct nnaccel_prepare prepare;
	const struct nnaccel_grant *grants;
	struct async async;
	union command cmd;
	uint64_t deadline = UINT64_MAX;

	prepare_init(&prepare, self->wire, LENGTH - 10);
	with_constants(&prepare, self->constants, 2);
	prepare.wire_offset = 10;
	prepare.preference = NNACCEL_PREFER_SUSTAINED_SPEED;
	prepare.priority = NNACCEL_PRIORITY_HIGH;
	prepare.deadline_ns = deadline;
	prepare.flags = NNACCEL_PREPARE_CACHE;
	prepare.attributes = (uintptr_t)"attributes";
	prepare.attributes_size = 9;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	memset(&cmd, 0xa5, sizeof(cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.size, sizeof(cmd.head) + 3 * sizeof(*grants) + 9);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_PREPARE);
	EXPECT_NE(cmd.head.cookie, 0);
	EXPECT_NE(cmd.head.model, 0);
	EXPECT_EQ(cmd.head.num_grants, 3);
	EXPECT_EQ(cmd.head.grant, 0);
	EXPECT_EQ(cmd.head.num_inputs, 0);
	EXPECT_EQ(cmd.head.num_outputs, 0);
	EXPECT_EQ(cmd.head.flags, NNACCEL_PREPARE_CACHE);
	EXPECT_EQ(cmd.head.query, 0);
	EXPECT_EQ(cmd.head.preference, NNACCEL_PREFER_SUSTAINED_SPEED);
	EXPECT_EQ(cmd.head.priority, NNACCEL_PRIORITY_HIGH);
	EXPECT_EQ(cmd.head.wire_offset, 10);
	EXPECT_EQ(cmd.head.wire_length, LENGTH - 10);
	EXPECT_EQ(cmd.head.deadline_ns, deadline);
	EXPECT_EQ(cmd.head.loop_timeout_ns, 0);
	EXPECT_EQ(cmd.head.max_payload, sizeof(struct nnaccel_model_memory));
	grants = command_grants(&cmd);
	for (int i = 0; i < 3; i++) {
		EXPECT_NE(grants[i].grant, 0);
		EXPECT_EQ(grants[i].prot, NNACCEL_PROT_READ);
	}
	EXPECT_EQ(grants[0].length, LENGTH);
	EXPECT_EQ(grants[1].length, 2 * PAGE);
	EXPECT_EQ(grants[2].length, 3 * PAGE);
	EXPECT_EQ(cmd.head.attributes_size, 9);
	EXPECT_EQ(memcmp(command_attributes(&cmd), "attribute", 9), 0);
	/* FETCH writes nothing to the bytes of the worker's buffer that follow the command. */
	EXPECT_EQ(((uint8_t *)&cmd)[cmd.head.size], 0xa5);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(prepare.out_status, NNACCEL_STATUS_NONE);
	EXPECT_NE(prepare.out_model, 0);
	EXPECT_NE(prepare.out_model, POISON);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-models"), 1);
	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-models"), 0);
}

/*
 * A worker may report a model's memory only if the preparation succeeded, and only in a payload of
 * the size of struct nnaccel_model_memory.
 */
TEST_F(models, memory_is_shown)
{
	const struct nnaccel_model_memory memory[2] = { { 5 << 20, 3 << 20, 9 << 20 },
							  { 7, 7, 7 } };
	const struct {
		uint32_t status;
		uint32_t payload;
		int error;
	} cases[] = {
		{ NNACCEL_STATUS_NONE, sizeof(memory[0]) - 1, EINVAL },
		{ NNACCEL_STATUS_NONE, sizeof(memory[0]) + 1, EINVAL },
		{ NNACCEL_STATUS_GENERAL_FAILURE, sizeof(memory[0]), EINVAL },
		{ NNACCEL_STATUS_NONE, sizeof(memory[0]), 0 },
	};
	struct nnaccel_prepare prepare;
	struct async async;
	union command cmd;
	char line[32];

	for (int round = 1; round <= 2; round++) {
		prepare_init(&prepare, self->wire, LENGTH);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
		ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
			EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, cases[i].status,
						 memory, cases[i].payload, NULL), cases[i].error);
		EXPECT_EQ(async_wait(&async), 0);
		EXPECT_EQ(summary_get(self->s.fd, "nnaccel-model-weights"), round * 5 << 10);
		EXPECT_EQ(summary_get(self->s.fd, "nnaccel-model-executions"), round * 3 << 10);
		EXPECT_EQ(summary_get(self->s.fd, "drm-total-device"), round * 9 << 10);
		EXPECT_EQ(summary_get(self->s.fd, "drm-resident-device"), round * 9 << 10);
		snprintf(line, sizeof(line), "nnaccel-model-%u", prepare.out_model);
		EXPECT_EQ(summary_get(self->s.fd, line), 5 << 10);
	}
	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-model-weights"), 5 << 10);
	/* After the worker's death no memory is reported for the model. */
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-model-weights"), 0);
	EXPECT_EQ(summary_get(self->s.fd, "drm-resident-device"), 0);
}

/*
 * Starts a PREPARE, and answers as the worker with @status and @message. Returns the errno of the
 * PREPARE.
 */
static int prepare_answered(struct served *s, struct nnaccel_prepare *prepare, uint32_t status,
			    const char *message)
{
	struct async async;
	union command cmd;
	int error;

	if (!async_start(&async, s->fd, NNACCEL_WORK_PREPARE, prepare))
		return EAGAIN;
	do {
		error = session_fetch(s->session, 0, &cmd);
	} while (!error && !cmd.head.cookie);
	if (!error)
		error = session_commit(s->session, cmd.head.cookie, status, NULL, 0, message);
	return async_wait(&async) ?: error;
}

TEST_F(models, prepare_fails_in_the_engine)
{
	char text[32];

	for (uint32_t status = 1; status <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT; status++) {
		struct nnaccel_prepare prepare;

		memset(text, 0xa5, sizeof(text));
		prepare_init(&prepare, self->wire, LENGTH);
		prepare.message = (uintptr_t)text;
		prepare.message_size = sizeof(text);
		ASSERT_EQ(prepare_answered(&self->s, &prepare, status, "operand 7 is wrong"), 0);
		EXPECT_EQ(prepare.out_status, status);
		EXPECT_EQ(prepare.out_model, 0);
		EXPECT_STREQ(text, "operand 7 is wrong");
	}
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-models"), 0);
}

/*
 * An engine's message is truncated to the client's buffer, including a final 0. Bytes of the buffer
 * after the final 0 are not written.
 */
TEST_F(models, messages)
{
	const struct {
		uint32_t room;
		const char *expected;
	} cases[] = {
		{ 0, NULL }, { 1, "" }, { 2, "a" }, { 6, "abcde" }, { 7, "abcdef" }, { 16, "abcdef" },
		{ NNACCEL_MAX_MESSAGE, "abcdef" },
	};
	unsigned char text[NNACCEL_MAX_MESSAGE + 1];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nnaccel_prepare prepare;

		memset(text, 0xa5, sizeof(text));
		prepare_init(&prepare, self->wire, LENGTH);
		prepare.message = (uintptr_t)text;
		prepare.message_size = cases[i].room;
		ASSERT_EQ(prepare_answered(&self->s, &prepare, 2, "abcdef"), 0);
		EXPECT_EQ(text[cases[i].room], 0xa5);
		if (cases[i].expected) {
			EXPECT_STREQ((char *)text, cases[i].expected);
		}
	}
}

TEST_F(models, longest_message)
{
	char sent[NNACCEL_MAX_MESSAGE + 1], text[NNACCEL_MAX_MESSAGE];
	struct nnaccel_prepare prepare;

	memset(sent, 'x', sizeof(sent));
	sent[NNACCEL_MAX_MESSAGE] = '\0';
	prepare_init(&prepare, self->wire, LENGTH);
	prepare.message = (uintptr_t)text;
	prepare.message_size = sizeof(text);
	ASSERT_EQ(prepare_answered(&self->s, &prepare, 2, sent), 0);
	EXPECT_EQ(strnlen(text, sizeof(text)), sizeof(text) - 1);
}

TEST_F(models, prepare_refusals)
{
	uint32_t pools[] = { self->constants[0], self->constants[1] };
	int other = device_open();
	uint32_t foreign = 0, model;
	struct nnaccel_prepare good;

	ASSERT_EQ(served_start(&self->s), 0);
	for (int i = 0; i < 12; i++)
		foreign = pool_alloc(other, 1);
	prepare_init(&good, self->wire, LENGTH);
	with_constants(&good, pools, 2);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &good), 0);
	model = good.out_model;
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_prepare, flags, 2, EINVAL),
			REFUSE(struct nnaccel_prepare, flags, 3, EINVAL),
			REFUSE(struct nnaccel_prepare, flags, 1U << 31, EINVAL),
			REFUSE(struct nnaccel_prepare, attributes_size, 1, EFAULT),
			REFUSE(struct nnaccel_prepare, attributes_size,
			       NNACCEL_MAX_ATTRIBUTES + 1, EINVAL),
			REFUSE(struct nnaccel_prepare, attributes_size, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_pool, 0, ENOENT),
			REFUSE(struct nnaccel_prepare, wire_pool, foreign, ENOENT),
			REFUSE(struct nnaccel_prepare, wire_pool, model, ENOENT),
			REFUSE(struct nnaccel_prepare, wire_pool, UINT32_MAX, ENOENT),
			REFUSE(struct nnaccel_prepare, num_pools, NNACCEL_MAX_CMD_POOLS, EINVAL),
			REFUSE(struct nnaccel_prepare, num_pools, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare, pools, 0, EFAULT),
			REFUSE(struct nnaccel_prepare, pools, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_prepare, wire_offset, 1, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_offset, LENGTH + 1, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_offset, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_offset, UINT64_MAX - LENGTH + 1, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_length, LENGTH + 1, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_length, NNACCEL_MAX_WIRE + 1, EINVAL),
			REFUSE(struct nnaccel_prepare, wire_length, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare, preference, 3, EINVAL),
			REFUSE(struct nnaccel_prepare, preference, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare, priority, 3, EINVAL),
			REFUSE(struct nnaccel_prepare, priority, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare, deadline_ns, 1, ETIME),
			REFUSE(struct nnaccel_prepare, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
			REFUSE(struct nnaccel_prepare, message_size, 1, EFAULT),
			REFUSE(struct nnaccel_prepare, message_size, UINT32_MAX, EINVAL),
		};
		const uint32_t bad[] = { 0, foreign, model, self->wire + 4711, UINT32_MAX };

		EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_PREPARE, &good, sizeof(good), cases,
					 ARRAY_SIZE(cases)), 0);
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			pools[1] = bad[i];
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &good), ENOENT);
		}
	}
	pools[1] = self->constants[1];
	/*
	 * Wait until the model of the failed PREPARE is freed, because a call of the worker may
	 * still have a reference to it.
	 */
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 1));
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_PREPARE, &good, sizeof(good), 0, true), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 5));
	close(other);
}

TEST_F(models, most_pools)
{
	uint32_t *pools = malloc(NNACCEL_MAX_CMD_POOLS * sizeof(*pools));
	struct nnaccel_prepare prepare;

	ASSERT_EQ(served_start(&self->s), 0);
	for (size_t i = 0; i < NNACCEL_MAX_CMD_POOLS; i++)
		pools[i] = self->constants[i % 2];
	prepare_init(&prepare, self->wire, LENGTH);
	with_constants(&prepare, pools, NNACCEL_MAX_CMD_POOLS - 1);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), 0);
	/* A pool whose id occurs several times in PREPARE's list gets only one grant. */
	EXPECT_EQ(summary_get(-1, "grants"), self->before.counter[9] + 3);
	free(pools);
}

/* The largest serialised model with the largest attributes can be prepared. */
TEST_F(models, largest)
{
	static uint8_t attributes[NNACCEL_MAX_ATTRIBUTES];
	int file = file_new(NNACCEL_MAX_WIRE + PAGE);
	struct nnaccel_supported supported;
	struct nnaccel_prepare prepare;
	uint8_t answer[1];
	uint32_t pool;

	ASSERT_EQ(served_start(&self->s), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, NNACCEL_MAX_WIRE + PAGE,
			      &pool), 0);
	for (uint64_t over = 0; over < 2; over++) {
		prepare_init(&prepare, pool, NNACCEL_MAX_WIRE + over);
		prepare.attributes = (uintptr_t)attributes;
		prepare.attributes_size = sizeof(attributes);
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), over ? EINVAL : 0);
		supported_init(&supported, pool, NNACCEL_MAX_WIRE + over, answer, sizeof(answer));
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_SUPPORTED, &supported), over ? EINVAL : 0);
	}
	close(file);
}

TEST_F(models, number_is_limited)
{
	long long old = param_set("max_models", 1);
	struct nnaccel_prepare prepare;

	ASSERT_EQ(served_start(&self->s), 0);
	prepare_init(&prepare, self->wire, LENGTH);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), 0);
	prepare.out_status = POISON;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), ENOSPC);
	EXPECT_EQ(prepare.out_status, POISON);
	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	/*
	 * Wait until the destroyed model is freed, because the worker's last call may still have a
	 * reference to the model.
	 */
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 0));
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), 0);
	EXPECT_EQ(param_set("max_models", old), 1);
}

/*
 * The pools of a model's constants, and the grants of these pools, exist until the model ends, even
 * if the client destroys the pools earlier.
 */
TEST_F(models, holds_its_pools)
{
	struct nnaccel_prepare prepare;
	uint64_t told_model, told[3];
	bool seen[3] = {};
	struct async async;
	union command cmd;

	prepare_init(&prepare, self->wire, LENGTH);
	with_constants(&prepare, self->constants, 2);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	told_model = cmd.head.model;
	for (int i = 0; i < 3; i++)
		told[i] = command_grants(&cmd)[i].grant;
	ASSERT_EQ(session_answer(self->s.session, &cmd), 0);
	ASSERT_EQ(async_wait(&async), 0);

	EXPECT_EQ(object_destroy(self->s.fd, self->wire), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->constants[0]), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->constants[1]), 0);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	EXPECT_EQ(cmd.head.grant, told[0]);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), EAGAIN);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 2);

	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
	EXPECT_EQ(cmd.head.model, told_model);
	EXPECT_EQ(cmd.head.cookie, 0);
	EXPECT_EQ(cmd.head.size, sizeof(cmd.head));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
		EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
		EXPECT_EQ(cmd.head.cookie, 0);
		for (int k = 0; k < 3; k++)
			seen[k] |= cmd.head.grant == told[k];
	}
	EXPECT_TRUE(seen[1] && seen[2]);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), EAGAIN);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 0);
}

/*
 * If PREPARE's deadline passes after the worker has fetched the command, the client gets no model,
 * and the worker's answer is dropped.
 */
TEST_F(models, prepare_deadline_passes)
{
	struct nnaccel_prepare prepare;
	struct timespec now;
	struct async async;
	union command cmd;

	prepare_init(&prepare, self->wire, LENGTH);
	clock_gettime(CLOCK_MONOTONIC, &now);
	prepare.deadline_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + 2000000000;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(async_wait(&async), ETIME);
	EXPECT_EQ(prepare.out_status, POISON);
	EXPECT_EQ(prepare.out_model, POISON);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	/* The worker gets a notice that the model, which it has prepared too late, has ended. */
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-models"), 0);
}

TEST_F(models, supported)
{
	struct nnaccel_supported supported;
	uint8_t answer[NUM_OPERATIONS + 1];
	struct async async;
	union command cmd;

	memset(answer, 0xa5, sizeof(answer));
	supported_init(&supported, self->wire, LENGTH, answer, NUM_OPERATIONS);
	supported.pools = (uintptr_t)self->constants;
	supported.num_pools = 2;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_SUPPORTED, &supported));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_SUPPORTED);
	EXPECT_EQ(cmd.head.num_grants, 3);
	EXPECT_EQ(cmd.head.wire_length, LENGTH);
	EXPECT_EQ(cmd.head.max_payload, NUM_OPERATIONS);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, "\1\0\1\1\0", NUM_OPERATIONS,
				 NULL), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(supported.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(memcmp(answer, "\1\0\1\1\0\xa5", sizeof(answer)), 0);
}

TEST_F(models, supported_fails_in_the_engine)
{
	struct nnaccel_supported supported;
	uint8_t answer[NUM_OPERATIONS];
	struct async async;
	union command cmd;
	char text[NNACCEL_MAX_MESSAGE] = "";

	memset(answer, 0xa5, sizeof(answer));
	supported_init(&supported, self->wire, LENGTH, answer, NUM_OPERATIONS);
	supported.message = (uintptr_t)text;
	supported.message_size = sizeof(text);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_SUPPORTED, &supported));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie,
				 NNACCEL_STATUS_INVALID_ARGUMENT, NULL, 0, "bad"), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(supported.out_status, NNACCEL_STATUS_INVALID_ARGUMENT);
	EXPECT_EQ(answer[0], 0xa5);
	EXPECT_STREQ(text, "bad");
}

/*
 * SUBMIT itself rejects a request that exceeds a limit. This test does not wait for answers, because
 * no worker can answer a request for too many operations.
 */
TEST_F(models, supported_limits)
{
	uint32_t pools[NNACCEL_MAX_CMD_POOLS], id;
	struct nnaccel_supported good, bad;
	uint8_t answer[1];

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		pools[i] = self->constants[0];
	supported_init(&good, self->wire, LENGTH, answer, NNACCEL_MAX_OPERATIONS);
	good.pools = (uintptr_t)pools;
	good.num_pools = NNACCEL_MAX_CMD_POOLS - 1;
	bad = good;
	bad.__reserved = 1;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &bad, &id), EINVAL);
	bad = good;
	bad.num_operations++;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &bad, &id), EINVAL);
	bad = good;
	bad.num_pools++;
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &bad, &id), EINVAL);
	EXPECT_EQ(submit_work(self->s.fd, NNACCEL_WORK_SUPPORTED, &good, &id), 0);
	EXPECT_EQ(object_destroy(self->s.fd, id), 0);
}

TEST_F(models, supported_refusals)
{
	uint8_t answer[NUM_OPERATIONS];
	uint32_t pools[NNACCEL_MAX_CMD_POOLS] = { self->constants[0], self->constants[1] };
	struct nnaccel_supported good;
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_supported, flags, 1, EINVAL),
		REFUSE(struct nnaccel_supported, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_supported, __reserved, 1, EINVAL),
		REFUSE(struct nnaccel_supported, wire_pool, 0, ENOENT),
		REFUSE(struct nnaccel_supported, wire_pool, 4711, ENOENT),
		REFUSE(struct nnaccel_supported, num_pools, NNACCEL_MAX_CMD_POOLS - 1, ENOENT),
		REFUSE(struct nnaccel_supported, num_pools, NNACCEL_MAX_CMD_POOLS, EINVAL),
		REFUSE(struct nnaccel_supported, num_pools, UINT32_MAX, EINVAL),
		REFUSE(struct nnaccel_supported, pools, 0, EFAULT),
		REFUSE(struct nnaccel_supported, wire_offset, 1, EINVAL),
		REFUSE(struct nnaccel_supported, wire_offset, UINT64_MAX, EINVAL),
		REFUSE(struct nnaccel_supported, wire_length, LENGTH + 1, EINVAL),
		REFUSE(struct nnaccel_supported, wire_length, NNACCEL_MAX_WIRE + 1, EINVAL),
		REFUSE(struct nnaccel_supported, wire_length, UINT64_MAX, EINVAL),
		REFUSE(struct nnaccel_supported, num_operations, NNACCEL_MAX_OPERATIONS + 1, EINVAL),
		REFUSE(struct nnaccel_supported, num_operations, UINT32_MAX, EINVAL),
		REFUSE(struct nnaccel_supported, supported, 0, EFAULT),
		REFUSE(struct nnaccel_supported, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
		REFUSE(struct nnaccel_supported, message_size, 1, EFAULT),
	};

	ASSERT_EQ(served_start(&self->s), 0);
	supported_init(&good, self->wire, LENGTH, answer, NUM_OPERATIONS);
	good.pools = (uintptr_t)pools;
	good.num_pools = 2;
	EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_SUPPORTED, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_SUPPORTED, &good, sizeof(good), 0, true), 0);
}

TEST_F(models, most_operations)
{
	uint8_t *answer = calloc(1, NNACCEL_MAX_OPERATIONS);
	struct nnaccel_supported supported;

	ASSERT_EQ(served_start(&self->s), 0);
	supported_init(&supported, self->wire, LENGTH, answer, NNACCEL_MAX_OPERATIONS);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_SUPPORTED, &supported), 0);
	EXPECT_EQ(answer[NNACCEL_MAX_OPERATIONS - 1], 1);
	free(answer);
}

TEST_HARNESS_MAIN
