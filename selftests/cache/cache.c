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
	struct saved saved;
	uint32_t model_pool;
	uint32_t data_pool;
};

FIXTURE_SETUP(cache)
{
	ASSERT_TRUE(idle_summary(&self->before));
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

/*
 * Returns whether the command's argument for the cache part @part names the given grant and range.
 */
static bool part_is(const union command *cmd, uint32_t part, uint32_t grant, uint64_t offset,
		    uint64_t length)
{
	const struct nnaccel_arg arg = { .pool = grant, .offset = offset, .length = length };

	return !memcmp(&command_args(cmd)[part], &arg, sizeof(arg));
}

/* Returns whether the command names no memory for the cache part @part. */
static bool part_is_empty(const union command *cmd, uint32_t part)
{
	const struct nnaccel_arg arg = { .flags = NNACCEL_ARG_NO_VALUE };

	return !memcmp(&command_args(cmd)[part], &arg, sizeof(arg));
}

TEST_F(cache, prepare_tells_the_worker)
{
	struct nnaccel_prepare_cached prepare;
	const struct nnaccel_grant *grants;
	struct async async;
	union command cmd;

	prepare_cached_init(&prepare, &self->saved, self->model_pool, LENGTH - 10, self->data_pool,
			    PAGE);
	self->saved.model.offset = 10;
	self->saved.data.offset = PAGE;
	prepare.preference = NNACCEL_PREFER_LOW_POWER;
	prepare.priority = NNACCEL_PRIORITY_HIGH;
	prepare.deadline_ns = UINT64_MAX;
	prepare.attributes = (uintptr_t)"attributes";
	prepare.attributes_size = 3;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	memset(&cmd, 0xa5, sizeof(cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.size, sizeof(cmd.head) + 2 * sizeof(*grants) +
				 2 * sizeof(struct nnaccel_arg) + 3);
	EXPECT_EQ(cmd.head.attributes_size, 3);
	EXPECT_EQ(memcmp(command_attributes(&cmd), "att", 3), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_PREPARE_CACHED);
	EXPECT_NE(cmd.head.cookie, 0);
	EXPECT_NE(cmd.head.model, 0);
	ASSERT_EQ(cmd.head.num_grants, 2);
	EXPECT_EQ(cmd.head.preference, NNACCEL_PREFER_LOW_POWER);
	EXPECT_EQ(cmd.head.priority, NNACCEL_PRIORITY_HIGH);
	EXPECT_EQ(cmd.head.num_inputs, 1);
	EXPECT_EQ(cmd.head.num_outputs, 1);
	EXPECT_TRUE(part_is(&cmd, 0, 0, 10, LENGTH - 10));
	EXPECT_TRUE(part_is(&cmd, 1, 1, PAGE, PAGE));
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

	prepare_cached_init(&prepare, &self->saved, self->model_pool, LENGTH, 0, 0);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.num_grants, 1);
	EXPECT_TRUE(part_is_empty(&cmd, 1));
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
	prepare_cached_init(&prepare, &self->saved, pool, NNACCEL_MAX_WIRE, 0, 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare), 0);
	prepare_cached_init(&prepare, &self->saved, pool, NNACCEL_MAX_WIRE + 1, 0, 0);
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
	prepare_cached_init(&prepare, &self->saved, self->model_pool, LENGTH, self->data_pool, DATA);
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

/*
 * A prepared model has a reference to the pool with the data part of its cache entry. The grant of
 * the pool with the model part ends when the pool is destroyed.
 */
TEST_F(cache, model_holds_its_data)
{
	struct nnaccel_prepare_cached prepare;
	uint64_t told[2], model;
	struct async async;
	union command cmd;

	prepare_cached_init(&prepare, &self->saved, self->model_pool, LENGTH, self->data_pool, DATA);
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

/* An invalid description of a cache part, and the expected error of the call. */
struct bad_part {
	bool is_data;
	struct nnaccel_cache_part part;
	int error;
};

/*
 * Passes each invalid part of @cases together with a valid part. Returns how many calls do not fail
 * with the expected error.
 */
static int check_parts(struct served *s, unsigned long request, void *work, struct saved *saved,
		       const struct bad_part *cases, size_t num_cases)
{
	const struct saved good = *saved;
	int wrong = 0;

	for (size_t i = 0; i < num_cases; i++) {
		*saved = good;
		*(cases[i].is_data ? &saved->data : &saved->model) = cases[i].part;
		if (xioctl(s->fd, request, work) != cases[i].error) {
			fprintf(stderr, "# part %zu is not refused by %d\n", i, cases[i].error);
			wrong++;
		}
	}
	*saved = good;
	return wrong;
}

TEST_F(cache, bad_parts)
{
	int other = device_open(), file = file_new(DATA);
	struct nnaccel_prepare_cached prepare;
	uint32_t foreign = 0, read_only;
	struct nnaccel_cache_save save;

	ASSERT_EQ(served_start(&self->s), 0);
	for (int i = 0; i < 12; i++)
		foreign = pool_alloc(other, DATA);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, DATA, &read_only), 0);
	prepare_cached_init(&prepare, &self->saved, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare), 0);
	{
		const uint32_t mp = self->model_pool, dp = self->data_pool;
		const struct bad_part cases[] = {
			{ false, { .pool = foreign }, ENOENT },
			{ true, { .pool = foreign }, ENOENT },
			{ false, { .pool = prepare.out_model }, ENOENT },
			{ false, { .length = 1 }, EINVAL },
			{ false, { .offset = 1 }, EINVAL },
			{ true, { .length = 1 }, EINVAL },
			{ true, { .offset = PAGE }, EINVAL },
			{ true, { .pool = dp, .__reserved = 1 }, EINVAL },
			{ false, { .pool = mp, .offset = 1, .length = LENGTH }, EINVAL },
			{ false, { .pool = mp, .offset = UINT64_MAX, .length = LENGTH }, EINVAL },
			{ false, { .pool = mp, .length = LENGTH + 1 }, EINVAL },
			{ false, { .pool = mp, .length = NNACCEL_MAX_WIRE + 1 }, EINVAL },
			{ false, { .pool = mp, .length = UINT64_MAX }, EINVAL },
			{ true, { .pool = dp, .offset = 1 }, EINVAL },
			{ true, { .pool = dp, .offset = PAGE, .length = DATA }, EINVAL },
			{ true, { .pool = dp, .offset = -PAGE, .length = DATA }, EINVAL },
			{ true, { .pool = dp, .length = DATA + 1 }, EINVAL },
			{ true, { .pool = dp, .length = UINT64_MAX }, EINVAL },
			/*
			 * CACHE_SAVE rejects the last two cases, whose parts are in a read-only
			 * pool. PREPARE_CACHED accepts parts in a read-only pool, so the test of
			 * PREPARE_CACHED omits these cases.
			 */
			{ false, { .pool = read_only, .length = 1 }, EACCES },
			{ true, { .pool = read_only }, EACCES },
		};

		EXPECT_EQ(check_parts(&self->s, NNACCEL_WORK_PREPARE_CACHED, &prepare, &self->saved,
				      cases, ARRAY_SIZE(cases) - 2), 0);
		cache_save_init(&save, &self->saved, prepare.out_model, mp, LENGTH, dp, DATA);
		EXPECT_EQ(check_parts(&self->s, NNACCEL_WORK_CACHE_SAVE, &save, &self->saved, cases,
				      ARRAY_SIZE(cases)), 0);
	}
	close(file);
	close(other);
}

/*
 * The HAL's limits apply to the number of model parts and to the number of data parts. A model has
 * references to the pools of its data parts.
 */
TEST_F(cache, numbers_of_parts)
{
	static const struct { uint32_t model, data; int error; } cases[] = {
		{ 0, 0, EINVAL }, { 0, 1, 0 }, { 1, 0, 0 }, { 2, 1, 0 }, { 1, 2, 0 }, { 32, 32, 0 },
		{ 33, 0, EINVAL }, { 0, 33, EINVAL }, { UINT32_MAX, 2, EINVAL },
	};
	struct nnaccel_cache_part parts[64];
	struct nnaccel_prepare_cached prepare;
	struct nnaccel_cache_save save;
	uint64_t told[64], sizes[65];
	struct async async;
	union command cmd;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t count = cases[i].model + cases[i].data;

		prepare_cached_init(&prepare, &self->saved, 0, 0, 0, 0);
		prepare.num_model_parts = cases[i].model;
		prepare.num_data_parts = cases[i].data;
		prepare.parts = (uintptr_t)parts;
		if (cases[i].error) {
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare), EINVAL);
			continue;
		}
		for (uint32_t k = 0; k < count; k++)
			parts[k] = (struct nnaccel_cache_part){
				.pool = k < cases[i].model ? self->model_pool : self->data_pool,
				.length = k + 1,
			};
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare));
		ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
		ASSERT_EQ(cmd.head.num_grants, count);
		EXPECT_EQ(cmd.head.num_inputs, cases[i].model);
		EXPECT_EQ(cmd.head.num_outputs, cases[i].data);
		for (uint32_t k = 0; k < count; k++)
			EXPECT_TRUE(part_is(&cmd, k, k, 0, k + 1));
		ASSERT_EQ(session_answer(self->s.session, &cmd), 0);
		ASSERT_EQ(async_wait(&async), 0);

		/* The worker reports the size of each part, at most the part's memory. */
		cache_save_init(&save, &self->saved, prepare.out_model, 0, 0, 0, 0);
		save.num_model_parts = cases[i].model;
		save.num_data_parts = cases[i].data;
		save.parts = (uintptr_t)parts;
		save.sizes = (uintptr_t)sizes;
		memset(sizes, 0xa5, sizeof(sizes));
		for (uint32_t k = 0; k < count; k++)
			told[k] = k + 1;
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
		ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
		EXPECT_EQ(cmd.head.max_payload, count * sizeof(*told));
		told[count - 1]++;
		EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, told,
					 count * sizeof(*told), NULL), EINVAL);
		told[count - 1]--;
		EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, told,
					 count * sizeof(*told), NULL), 0);
		ASSERT_EQ(async_wait(&async), 0);
		EXPECT_EQ(memcmp(sizes, told, count * sizeof(*told)), 0);
		EXPECT_EQ(sizes[count], 0xa5a5a5a5a5a5a5a5);
		EXPECT_EQ(object_destroy(self->s.fd, prepare.out_model), 0);
		ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
		EXPECT_EQ(cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
	}
	/* The sum of the sizes of all model parts is limited. */
	{
		int file = file_new(NNACCEL_MAX_WIRE);
		uint32_t pool;

		ASSERT_EQ(served_start(&self->s), 0);
		ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, NNACCEL_MAX_WIRE,
				      &pool), 0);
		prepare.num_model_parts = 2;
		prepare.num_data_parts = 0;
		for (uint32_t over = 0; over < 2; over++) {
			parts[0] = (struct nnaccel_cache_part){ .pool = pool, .length = 1 + over };
			parts[1] = (struct nnaccel_cache_part){
				.pool = pool, .length = NNACCEL_MAX_WIRE - 1,
			};
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare),
				  over ? EINVAL : 0);
		}
		close(file);
	}
}

TEST_F(cache, prepare_refusals)
{
	struct nnaccel_prepare_cached good;

	ASSERT_EQ(served_start(&self->s), 0);
	prepare_cached_init(&good, &self->saved, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &good), 0);
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_prepare_cached, flags, 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, flags, 1U << 31, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, attributes_size, 1, EFAULT),
			REFUSE(struct nnaccel_prepare_cached, attributes_size,
			       NNACCEL_MAX_ATTRIBUTES + 1, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, num_model_parts, 33, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, num_model_parts, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, num_data_parts, 33, EINVAL),
			REFUSE(struct nnaccel_prepare_cached, parts, 1, EFAULT),
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
	const uint64_t sizes[] = { 7, PAGE };
	const struct nnaccel_grant *grants;
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;
	void *written;

	ASSERT_NE(model, 0);
	cache_save_init(&save, &self->saved, model, self->model_pool, LENGTH - 10, self->data_pool,
			PAGE);
	self->saved.model.offset = 10;
	self->saved.data.offset = PAGE;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_CACHE_SAVE);
	EXPECT_NE(cmd.head.model, 0);
	ASSERT_EQ(cmd.head.num_grants, 2);
	EXPECT_EQ(cmd.head.num_inputs, 1);
	EXPECT_EQ(cmd.head.num_outputs, 1);
	EXPECT_TRUE(part_is(&cmd, 0, 0, 10, LENGTH - 10));
	EXPECT_TRUE(part_is(&cmd, 1, 1, PAGE, PAGE));
	EXPECT_EQ(cmd.head.max_payload, sizeof(sizes));
	EXPECT_EQ(memcmp(cmd.head.token, save.token, sizeof(save.token)), 0);
	grants = command_grants(&cmd);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(grants[i].prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	written = session_map(self->s.session, grants[1].grant, DATA, PROT_READ | PROT_WRITE);
	EXPECT_NE(written, NULL);
	munmap(written, DATA);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, sizes, sizeof(sizes), NULL),
		  0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(self->saved.model_size, 7);
	EXPECT_EQ(self->saved.data_size, PAGE);
}

TEST_F(cache, sizes_alone)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	const uint64_t sizes[] = { UINT64_MAX, 1ULL << 40 };
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;

	cache_save_init(&save, &self->saved, model, 0, 0, 0, 0);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.num_grants, 0);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, 0, sizes, sizeof(sizes), NULL),
		  0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(self->saved.model_size, UINT64_MAX);
	EXPECT_EQ(self->saved.data_size, 1ULL << 40);
}

/*
 * A worker may commit the sizes of parts only with certain statuses, and no size may exceed the
 * part's memory.
 */
TEST_F(cache, commits_are_checked)
{
	const struct {
		uint32_t status;
		uint64_t sizes[2];
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

	cache_save_init(&save, &self->saved, model, self->model_pool, LENGTH, self->data_pool, DATA);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(room, &cases[i].sizes, sizeof(cases[i].sizes));
		EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, cases[i].status, room,
					 cases[i].payload, NULL), cases[i].error);
	}
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE);
	EXPECT_EQ(self->saved.model_size, LENGTH + 1);
	EXPECT_EQ(self->saved.data_size, DATA + 1);
}

TEST_F(cache, save_fails_in_the_engine)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_cache_save save;
	struct async async;
	union command cmd;
	char text[NNACCEL_MAX_MESSAGE] = "";

	cache_save_init(&save, &self->saved, model, self->model_pool, LENGTH, 0, 0);
	save.message = (uintptr_t)text;
	save.message_size = sizeof(text);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save));
	ASSERT_EQ(session_fetch(self->s.session, 0, &cmd), 0);
	EXPECT_EQ(session_commit(self->s.session, cmd.head.cookie, NNACCEL_STATUS_GENERAL_FAILURE,
				 NULL, 0, "no index"), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(save.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
	EXPECT_EQ(self->saved.model_size, POISON);
	EXPECT_EQ(self->saved.data_size, POISON);
	EXPECT_STREQ(text, "no index");
}

TEST_F(cache, save_refusals)
{
	struct nnaccel_cache_save good;
	struct nnaccel_prepare prepare;
	uint32_t model;

	ASSERT_EQ(served_start(&self->s), 0);
	prepare_init(&prepare, self->model_pool, LENGTH);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), 0);
	model = prepare.out_model;
	cache_save_init(&good, &self->saved, model, self->model_pool, LENGTH, self->data_pool, DATA);
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_cache_save, flags, 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, __reserved, 1, EINVAL),
			REFUSE(struct nnaccel_cache_save, model, 0, ENOENT),
			REFUSE(struct nnaccel_cache_save, model, self->model_pool, ENOENT),
			REFUSE(struct nnaccel_cache_save, model, UINT32_MAX, ENOENT),
			REFUSE(struct nnaccel_cache_save, num_model_parts, 33, EINVAL),
			REFUSE(struct nnaccel_cache_save, num_data_parts, 33, EINVAL),
			REFUSE(struct nnaccel_cache_save, num_data_parts, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_cache_save, parts, 1, EFAULT),
			REFUSE(struct nnaccel_cache_save, sizes, 1, EFAULT),
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
}

/*
 * If the worker dies during a call, the call fails, and later calls with the model fail with
 * ESTALE.
 */
TEST_F(cache, worker_dies)
{
	uint32_t model = prepared(&self->s, self->model_pool);
	struct nnaccel_prepare_cached prepare;
	struct nnaccel_cache_save save;
	struct async saving, preparing;
	union command cmd;

	cache_save_init(&save, &self->saved, model, self->model_pool, LENGTH, self->data_pool, DATA);
	prepare_cached_init(&prepare, &self->saved, self->model_pool, LENGTH, self->data_pool, DATA);
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
