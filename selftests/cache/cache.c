/* SPDX-License-Identifier: MIT */
/*
 * The compilation cache, PREPARE_CACHED and CACHE_SAVE: commands to the worker, valid commits, and
 * rejected fields.
 */
#include "harness.h"

#define LENGTH 100
#define DATA (2 * PAGE)

FIXTURE(cache) {
	struct summary before;
	struct served s;
	uint32_t model_pool;
	uint32_t data_pool;
};

FIXTURE_SETUP(cache)
{
	int broker = broker_open();

	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->model_pool = pool_alloc(self->s.fd, LENGTH);
	self->data_pool = pool_alloc(self->s.fd, DATA);
	ASSERT_NE(self->data_pool, 0);
}

FIXTURE_TEARDOWN(cache)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

TEST_F(cache, prepare_tells_the_worker)
{
	struct nnaccel_prepare_cached prepare;
	const struct nnaccel_grant *grants;
	struct async async;
	union command cmd;

	prepare_cached_init(&prepare, self->model_pool, LENGTH - 10, self->data_pool, PAGE);
	prepare.model_offset = 10;
	prepare.data_offset = PAGE;
	prepare.preference = NNACCEL_PREFER_LOW_POWER;
	prepare.priority = NNACCEL_PRIORITY_HIGH;
	prepare.deadline_ns = UINT64_MAX;
	prepare.attributes = (uintptr_t)"attributes";
	prepare.attributes_size = 3;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	memset(&cmd, 0xa5, sizeof(cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.size, sizeof(cmd.head) + 2 * sizeof(*grants) + 3);
	EXPECT_EQ(cmd.head.attributes_size, 3);
	EXPECT_EQ(memcmp(command_attributes(&cmd), "att", 3), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_PREPARE_CACHED);
	EXPECT_NE(cmd.head.cookie, 0);
	EXPECT_NE(cmd.head.model, 0);
	ASSERT_EQ(cmd.head.num_grants, 2);
	EXPECT_EQ(cmd.head.preference, NNACCEL_PREFER_LOW_POWER);
	EXPECT_EQ(cmd.head.priority, NNACCEL_PRIORITY_HIGH);
	EXPECT_EQ(cmd.head.wire_offset, 10);
	EXPECT_EQ(cmd.head.wire_length, LENGTH - 10);
	EXPECT_EQ(cmd.head.data_offset, PAGE);
	EXPECT_EQ(cmd.head.data_length, PAGE);
	EXPECT_EQ(cmd.head.deadline_ns, UINT64_MAX);
	EXPECT_EQ(cmd.head.max_payload, sizeof(struct nnaccel_model_memory));
	EXPECT_EQ(memcmp(cmd.head.token, prepare.token, sizeof(prepare.token)), 0);
	grants = command_grants(&cmd);
	EXPECT_EQ(grants[0].length, LENGTH);
	EXPECT_EQ(grants[1].length, DATA);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(grants[i].prot, NNACCEL_PROT_READ);
	/* A grant for reading cannot be mapped for writing. */
	EXPECT_EQ(session_map(self->s.session, grants[1].grant, DATA, PROT_READ | PROT_WRITE), NULL);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(prepare.out_status, NNACCEL_STATUS_NONE);
	EXPECT_NE(prepare.out_model, 0);
	EXPECT_NE(prepare.out_model, POISON);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 1));
	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 0));
}

TEST_F(cache, prepare_without_data)
{
	struct nnaccel_prepare_cached prepare;
	struct async async;
	union command cmd;

	prepare_cached_init(&prepare, self->model_pool, LENGTH, 0, 0);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.num_grants, 1);
	EXPECT_EQ(cmd.head.data_length, 0);
	EXPECT_EQ(session_answer(self->s.session, &cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(prepare.out_status, NNACCEL_STATUS_NONE);
}

TEST_F(cache, largest_model_part)
{
	int file = file_new(NNACCEL_MAX_WIRE + PAGE);
	struct nnaccel_prepare_cached prepare;
	uint32_t pool;

	ASSERT_EQ(served_start(&self->s), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, NNACCEL_MAX_WIRE + PAGE,
			      &pool), 0);
	prepare_cached_init(&prepare, pool, NNACCEL_MAX_WIRE, 0, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare), 0);
	prepare_cached_init(&prepare, pool, NNACCEL_MAX_WIRE + 1, 0, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare), EINVAL);
	close(file);
}

TEST_F(cache, prepare_fails_in_the_engine)
{
	struct nnaccel_prepare_cached prepare;
	struct async async;
	union command cmd;
	char text[32];

	memset(text, 0xa5, sizeof(text));
	prepare_cached_init(&prepare, self->model_pool, LENGTH, self->data_pool, DATA);
	prepare.message = (uintptr_t)text;
	prepare.message_size = sizeof(text);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, NNACCEL_STATUS_GENERAL_FAILURE,
				 "x", 1, NULL), EINVAL);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, NNACCEL_STATUS_GENERAL_FAILURE,
				 NULL, 0, "not known"), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(prepare.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_EQ(prepare.out_model, 0);
	EXPECT_STREQ(text, "not known");
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 0));
}

/* The model keeps the data part; the worker forgets the model part at once. */
TEST_F(cache, model_holds_its_data)
{
	struct nnaccel_prepare_cached prepare;
	uint64_t told[2], model;
	struct async async;
	union command cmd;

	prepare_cached_init(&prepare, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	model = cmd.head.model;
	for (int i = 0; i < 2; i++)
		told[i] = command_grants(&cmd)[i].grant;
	ASSERT_EQ(session_answer(self->s.session, &cmd), 0);
	ASSERT_EQ(async_wait(&async), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->model_pool), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->data_pool), 0);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	EXPECT_EQ(cmd.head.grant, told[0]);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), EAGAIN);
	EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
	EXPECT_EQ(cmd.head.model, model);
	ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
	EXPECT_EQ(cmd.head.grant, told[1]);
}

TEST_F(cache, prepare_refusals)
{
	int other = device_open();
	uint32_t foreign = 0, model;
	struct nnaccel_prepare_cached good;

	ASSERT_EQ(served_start(&self->s), 0);
	for (int i = 0; i < 12; i++)
		foreign = pool_alloc(other, DATA);
	prepare_cached_init(&good, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &good), 0);
	model = good.out_model;
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_prepare_cached, flags, 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, flags, 1U << 31, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, attributes_size, 1, EFAULT),
			REFUSE(struct nnaccel_prepare_cached, attributes_size,
			       NNACCEL_MAX_ATTRIBUTES + 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, model_pool, 0, ENOENT),
			REFUSE(struct nnaccel_prepare_cached, model_pool, foreign, ENOENT),
			REFUSE(struct nnaccel_prepare_cached, model_pool, model, ENOENT),
			REFUSE(struct nnaccel_prepare_cached, data_pool, foreign, ENOENT),
			REFUSE(struct nnaccel_prepare_cached, data_pool, model, ENOENT),
			REFUSE(struct nnaccel_prepare_cached, data_pool, 0, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, model_offset, 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, model_offset, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, model_length, LENGTH + 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, model_length, NNACCEL_MAX_WIRE + 1,
			       EINVAL),
			REFUSE(struct nnaccel_prepare_cached, model_length, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, data_offset, 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, data_offset, PAGE, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, data_offset, -PAGE, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, data_length, DATA + 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, data_length, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, preference, 3, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, priority, 3, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, deadline_ns, 1, ETIME),
			REFUSE(struct nnaccel_prepare_cached, message_size,
			       NNACCEL_MAX_MESSAGE + 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, message_size, 1, EFAULT),
		};

		EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &good, sizeof(good),
					 cases, ARRAY_SIZE(cases)), 0);
	}
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 1));
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &good, sizeof(good), 0, true),
		  0);
	close(other);
}

/* Prepares a model for the tests of CACHE_SAVE; returns its id, or 0. */
static uint32_t prepared(struct served *s, uint32_t pool)
{
	struct nnaccel_prepare prepare;
	struct async async;
	union command cmd;

	prepare_init(&prepare, pool, LENGTH);
	if (!async_start(&async, s->fd, NNACCEL_WORK_PREPARE, &prepare) ||
	    session_fetch(s->session, 0, &cmd) || session_answer(s->session, &cmd) ||
	    async_wait(&async))
		return 0;
	return prepare.out_model;
}

TEST_F(cache, save_tells_the_worker)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_cache_sizes sizes = { .model = 7, .data = PAGE };
	const struct nnaccel_grant *grants;
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;
	void *written;

	ASSERT_NE(model, 0);
	cache_save_init(&save, model, self->model_pool, LENGTH - 10, self->data_pool, PAGE);
	save.model_offset = 10;
	save.data_offset = PAGE;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_CACHE_SAVE);
	EXPECT_NE(cmd.head.model, 0);
	ASSERT_EQ(cmd.head.num_grants, 2);
	EXPECT_EQ(cmd.head.wire_offset, 10);
	EXPECT_EQ(cmd.head.wire_length, LENGTH - 10);
	EXPECT_EQ(cmd.head.data_offset, PAGE);
	EXPECT_EQ(cmd.head.data_length, PAGE);
	EXPECT_EQ(cmd.head.max_payload, sizeof(sizes));
	EXPECT_EQ(memcmp(cmd.head.token, save.token, sizeof(save.token)), 0);
	grants = command_grants(&cmd);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(grants[i].prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	written = session_map(self->s.session, grants[1].grant, DATA, PROT_READ | PROT_WRITE);
	EXPECT_NE(written, NULL);
	munmap(written, DATA);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, &sizes, sizeof(sizes), NULL),
		  0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(save.out_model_size, 7);
	EXPECT_EQ(save.out_data_size, PAGE);
}

TEST_F(cache, sizes_alone)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_cache_sizes sizes = { .model = UINT64_MAX, .data = 1ULL << 40 };
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;

	cache_save_init(&save, model, 0, 0, 0, 0);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.num_grants, 0);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, &sizes, sizeof(sizes), NULL),
		  0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(save.out_model_size, UINT64_MAX);
	EXPECT_EQ(save.out_data_size, 1ULL << 40);
}

/* A worker may commit sizes only with certain statuses, and within the room offered. */
TEST_F(cache, commits_are_checked)
{
	const struct {
		uint32_t status;
		struct nnaccel_cache_sizes sizes;
		uint32_t payload;
		int error;
	} cases[] = {
		{ NNACCEL_STATUS_NONE, { 1, 1 }, 0, EINVAL },
		{ NNACCEL_STATUS_NONE, { 1, 1 }, 15, EINVAL },
		{ NNACCEL_STATUS_NONE, { 1, 1 }, 17, EINVAL },
		{ NNACCEL_STATUS_NONE, { LENGTH + 1, 1 }, 16, EINVAL },
		{ NNACCEL_STATUS_NONE, { 1, DATA + 1 }, 16, EINVAL },
		{ NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, { 1, 1 }, 0, EINVAL },
		{ NNACCEL_STATUS_GENERAL_FAILURE, { 1, 1 }, 16, EINVAL },
		{ NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, { LENGTH + 1, DATA + 1 }, 16, 0 },
	};
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;
	uint64_t room[3];

	cache_save_init(&save, model, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(room, &cases[i].sizes, sizeof(cases[i].sizes));
		EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, cases[i].status, room,
					 cases[i].payload, NULL), cases[i].error);
	}
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
	EXPECT_EQ(save.out_model_size, LENGTH + 1);
	EXPECT_EQ(save.out_data_size, DATA + 1);
}

TEST_F(cache, save_fails_in_the_engine)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;
	char text[NNACCEL_MAX_MESSAGE] = "";

	cache_save_init(&save, model, self->model_pool, LENGTH, 0, 0);
	save.message = (uintptr_t)text;
	save.message_size = sizeof(text);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, NNACCEL_STATUS_GENERAL_FAILURE,
				 NULL, 0, "no index"), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_EQ(save.out_model_size, 0);
	EXPECT_EQ(save.out_data_size, 0);
	EXPECT_STREQ(text, "no index");
}

TEST_F(cache, save_refusals)
{
	int other = device_open(), file = file_new(DATA);
	uint32_t foreign = 0, read_only, model;
	struct nnaccel_cache_save good;
	struct nnaccel_prepare prepare;

	ASSERT_EQ(served_start(&self->s), 0);
	for (int i = 0; i < 12; i++)
		foreign = pool_alloc(other, DATA);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, DATA, &read_only), 0);
	prepare_init(&prepare, self->model_pool, LENGTH);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), 0);
	model = prepare.out_model;
	cache_save_init(&good, model, self->model_pool, LENGTH, self->data_pool, DATA);
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_cache_save, flags, 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, __reserved0, 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, model, 0, ENOENT),
			REFUSE(struct nnaccel_cache_save, model, self->model_pool, ENOENT),
			REFUSE(struct nnaccel_cache_save, model, UINT32_MAX, ENOENT),
			REFUSE(struct nnaccel_cache_save, model_pool, 0, EINVAL),
			REFUSE(struct nnaccel_cache_save, model_pool, foreign, ENOENT),
			REFUSE(struct nnaccel_cache_save, model_pool, model, ENOENT),
			REFUSE(struct nnaccel_cache_save, model_pool, read_only, EACCES),
			REFUSE(struct nnaccel_cache_save, data_pool, foreign, ENOENT),
			REFUSE(struct nnaccel_cache_save, data_pool, read_only, EACCES),
			REFUSE(struct nnaccel_cache_save, data_pool, 0, EINVAL),
			REFUSE(struct nnaccel_cache_save, model_offset, 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, model_offset, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_cache_save, model_room, LENGTH + 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, model_room, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_cache_save, data_offset, 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, data_offset, PAGE, EINVAL),
			REFUSE(struct nnaccel_cache_save, data_room, DATA + 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, data_room, UINT64_MAX, EINVAL),
			REFUSE(struct nnaccel_cache_save, message_size, NNACCEL_MAX_MESSAGE + 1,
			       EINVAL),
			REFUSE(struct nnaccel_cache_save, message_size, 1, EFAULT),
		};

		EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &good, sizeof(good), cases,
					 ARRAY_SIZE(cases)), 0);
	}
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &good, sizeof(good), 0, true), 0);
	EXPECT_EQ(object_destroy(self->s.fd, model), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &good), ENOENT);
	close(file);
	close(other);
}

/* The worker dies with a call in flight; then its model is stale. */
TEST_F(cache, worker_dies)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_prepare_cached prepare;
	struct nnaccel_cache_save save;
	struct async saving, preparing;
	union command cmd;

	cache_save_init(&save, model, self->model_pool, LENGTH, self->data_pool, DATA);
	prepare_cached_init(&prepare, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_TRUE(async_start(&saving, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	ASSERT_TRUE(async_start(&preparing, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(async_wait(&saving), EPIPE);
	EXPECT_EQ(async_wait(&preparing), EPIPE);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save), ESTALE);
	EXPECT_EQ(save.out_status, POISON);
	EXPECT_EQ(prepare.out_model, POISON);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-models", 1));
}

TEST_HARNESS_MAIN
