// SPDX-License-Identifier: MIT
/*
 * Contexts: INFO, DESTROY, fdinfo, the summary in debugfs, and calls that a context's file does not
 * support.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "harness.h"

FIXTURE(context) {
	struct summary before;
	int broker;
	int fd;
};

FIXTURE_SETUP(context)
{
	/* The test registers as the broker, so that no other process serves the test's contexts. */
	self->broker = broker_open();
	ASSERT_GE(self->broker, 0);
	ASSERT_TRUE(summary_read(&self->before));
	self->fd = device_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(context)
{
	close(self->fd);
	close(self->broker);
	EXPECT_TRUE(summary_settles(&self->before));
}

static int info_read(int fd, struct nnaccel_info *info)
{
	memset(info, 0xa5, sizeof(*info));
	info->size = sizeof(*info);
	info->flags = 0;
	info->__reserved = 0;
	return xioctl(fd, NNACCEL_INFO, info);
}

TEST_F(context, info)
{
	struct nnaccel_info info;

	ASSERT_EQ(info_read(self->fd, &info), 0);
	EXPECT_EQ(info.size, sizeof(info));
	EXPECT_EQ(info.abi, NNACCEL_ABI_VERSION);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_PENDING);
	EXPECT_EQ(info.pool_bytes, 0);
	EXPECT_EQ(info.import_bytes, 0);
	EXPECT_EQ(info.executions, 0);
	EXPECT_EQ(info.engine_ns, 0);
	EXPECT_EQ(info.bursts, 0);
	EXPECT_EQ(info.buffers, 0);
	EXPECT_EQ(info.device, 0);
	EXPECT_STREQ(info.name, ENGINE_NAME);
	EXPECT_GT(info.max_pools, 0);
	EXPECT_GT(info.max_models, 0);
	EXPECT_GT(info.max_commands, 0);
	EXPECT_GE(info.max_user_bytes, info.max_context_bytes);
}

TEST_F(context, info_limits_are_the_parameters)
{
	const struct {
		const char *name;
		size_t offset;
		size_t size;
	} params[] = {
#define PARAM(_name) { #_name, offsetof(struct nnaccel_info, _name), \
		       sizeof(((struct nnaccel_info *)0)->_name) }
		PARAM(max_pools), PARAM(max_models), PARAM(max_commands), PARAM(max_pool_bytes),
		PARAM(max_context_bytes), PARAM(max_user_bytes), PARAM(engine_wait_ms),
		PARAM(max_bursts), PARAM(max_buffers),
#undef PARAM
	};
	struct nnaccel_info info;
	long long old;

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		uint64_t value = 0;

		old = param_set(params[i].name, 123456);
		ASSERT_GE(old, 0);
		EXPECT_EQ(info_read(self->fd, &info), 0);
		EXPECT_EQ(param_set(params[i].name, old), 123456);
		memcpy(&value, (char *)&info + params[i].offset, params[i].size);
		EXPECT_EQ(value, 123456);
	}
}

TEST_F(context, info_engine_state)
{
	struct nnaccel_info info;
	uint64_t context;
	int session;

	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	ASSERT_EQ(broker_session(self->broker, context, &session), 0);
	ASSERT_EQ(info_read(self->fd, &info), 0);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_PENDING);
	ASSERT_EQ(session_attach(session), 0);
	ASSERT_EQ(info_read(self->fd, &info), 0);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_ATTACHED);
	/* The session outlives the broker. */
	close(self->broker);
	ASSERT_EQ(info_read(self->fd, &info), 0);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_ATTACHED);
	close(session);
	ASSERT_EQ(info_read(self->fd, &info), 0);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_ABSENT);
	self->broker = broker_open();
	ASSERT_EQ(info_read(self->fd, &info), 0);
	EXPECT_EQ(info.engine, NNACCEL_ENGINE_PENDING);
}

TEST_F(context, info_refusals)
{
	const struct nnaccel_info good = { .size = sizeof(good) };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_info, flags, 2, EINVAL),
		REFUSE(struct nnaccel_info, flags, 1U << 31, EINVAL),
		REFUSE(struct nnaccel_info, __reserved, 1, EINVAL),
	};

	EXPECT_EQ(check_refusals(self->fd, NNACCEL_INFO, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->fd, NNACCEL_INFO, &good, sizeof(good), 0, true), 0);
}

TEST_F(context, destroy)
{
	const struct nnaccel_destroy good = { .size = sizeof(good) };
	const struct refusal cases[] = {
		REFUSE(struct nnaccel_destroy, id, 0, ENOENT),
		REFUSE(struct nnaccel_destroy, id, 4711, ENOENT),
		REFUSE(struct nnaccel_destroy, id, INT32_MAX, ENOENT),
		REFUSE(struct nnaccel_destroy, id, 1U << 31, ENOENT),
		REFUSE(struct nnaccel_destroy, id, UINT32_MAX, ENOENT),
	};
	uint32_t id = pool_alloc(self->fd, 1);

	ASSERT_NE(id, 0);
	EXPECT_EQ(check_refusals(self->fd, NNACCEL_DESTROY, &good, sizeof(good), cases,
				 ARRAY_SIZE(cases)), 0);
	EXPECT_EQ(check_structure(self->fd, NNACCEL_DESTROY, &good, sizeof(good), ENOENT, false), 0);
	EXPECT_EQ(object_destroy(self->fd, id), 0);
	EXPECT_EQ(object_destroy(self->fd, id), ENOENT);
}

TEST_F(context, ids_are_of_one_context)
{
	uint32_t foreign = 0, own;
	int other = device_open();

	ASSERT_GE(other, 0);
	own = pool_alloc(self->fd, 1);
	/* Find an id that this context does not have. */
	for (int i = 0; i < 3; i++)
		foreign = pool_alloc(other, 1);
	ASSERT_NE(foreign, own);
	EXPECT_EQ(object_destroy(self->fd, foreign), ENOENT);
	EXPECT_EQ(object_destroy(other, foreign), 0);
	EXPECT_EQ(object_destroy(other, foreign), ENOENT);
	/* The id @own names different objects in the two contexts. */
	EXPECT_EQ(object_destroy(other, own), 0);
	EXPECT_EQ(object_destroy(self->fd, own), 0);
	close(other);
}

TEST_F(context, ids_are_not_reused_at_once)
{
	uint32_t first = pool_alloc(self->fd, 1), second;

	ASSERT_NE(first, 0);
	ASSERT_EQ(object_destroy(self->fd, first), 0);
	second = pool_alloc(self->fd, 1);
	EXPECT_NE(second, 0);
	EXPECT_NE(second, first);
}

TEST_F(context, numbers)
{
	EXPECT_EQ(check_numbers(self->fd, FILE_CONTEXT), 0);
}

TEST_F(context, is_no_data)
{
	char byte = 0;

	EXPECT_EQ(read(self->fd, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write(self->fd, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(lseek(self->fd, 0, SEEK_SET), -1);
	EXPECT_EQ(errno, ESPIPE);
	EXPECT_EQ(map_shared(self->fd, PAGE, PROT_READ), NULL);
	EXPECT_EQ(errno, ENODEV);
}

TEST_F(context, requests_on_other_files)
{
	struct odd_file odd[MAX_ODD_FILES];
	size_t n = odd_files_open(odd);

	ASSERT_GT(n, 0);
	for (size_t i = 0; i < n; i++) {
		struct nnaccel_info info = { .size = sizeof(info) };

		ASSERT_GE(odd[i].fd, 0);
		EXPECT_EQ(ioctl(odd[i].fd, NNACCEL_INFO, &info), -1)
			TH_LOG("%s", odd[i].name);
		EXPECT_EQ(info.abi, 0);
	}
}

TEST_F(context, number_of_contexts_is_limited)
{
	long long old = param_set("max_contexts", summary_get(-1, "contexts"));
	int fd = device_open();
	int error = errno;

	EXPECT_GT(old, 0);
	param_set("max_contexts", old);
	EXPECT_EQ(fd, -1);
	EXPECT_EQ(error, EDQUOT);
	fd = device_open();
	EXPECT_GE(fd, 0);
	close(fd);
}

TEST_F(context, no_context_at_all)
{
	long long old;
	int fd, error;

	close(self->fd);
	old = param_set("max_contexts", 0);
	fd = device_open();
	error = errno;
	EXPECT_GT(old, 0);
	param_set("max_contexts", old);
	EXPECT_EQ(fd, -1);
	EXPECT_EQ(error, EDQUOT);
	self->fd = device_open();
	EXPECT_GE(self->fd, 0);
}

TEST_F(context, open_flags)
{
	const int flags[] = { O_RDONLY, O_WRONLY, O_RDWR | O_NONBLOCK };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct nnaccel_info info;
		int fd = open(DEVICE, flags[i]);

		EXPECT_GE(fd, 0);
		EXPECT_EQ(info_read(fd, &info), 0);
		close(fd);
	}
}

TEST_F(context, fdinfo)
{
	const struct {
		const char *key;
		long long empty;
		long long full;
	} lines[] = {
		{ "nnaccel-memory-alloc", 0, 3 * (long long)PAGE / 1024 },
		{ "nnaccel-memory-import", 0, 2 * (long long)PAGE / 1024 },
		{ "nnaccel-pools", 0, 3 },
		{ "nnaccel-models", 0, 0 },
		{ "nnaccel-commands", 0, 0 },
		{ "nnaccel-executions", 0, 0 },
		{ "nnaccel-engine-time", 0, 0 },
	};
	int file = file_new(2 * PAGE);

	EXPECT_GT(summary_get(self->fd, "nnaccel-client-id"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		EXPECT_EQ(summary_get(self->fd, lines[i].key), lines[i].empty)
			TH_LOG("%s", lines[i].key);
	}
	ASSERT_NE(pool_alloc(self->fd, 1), 0);
	ASSERT_NE(pool_alloc(self->fd, PAGE + 1), 0);
	ASSERT_EQ(pool_import(self->fd, file, NNACCEL_PROT_READ, 0, PAGE + 1, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		EXPECT_EQ(summary_get(self->fd, lines[i].key), lines[i].full)
			TH_LOG("%s", lines[i].key);
	}
	close(file);
}

TEST_F(context, summary)
{
	const struct {
		const char *name;
		long long more;
	} lines[] = {
		{ "contexts", 0 }, { "users", 0 }, { "pools", 2 }, { "pool-bytes", 2 * PAGE },
		{ "imports", 1 }, { "import-bytes", PAGE }, { "models", 0 }, { "commands", 0 },
		{ "sessions", 0 }, { "grants", 0 }, { "executions-total", 0 },
	};
	long long before[ARRAY_SIZE(lines)];
	int file = file_new(PAGE);

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		before[i] = summary_get(-1, lines[i].name);
	ASSERT_NE(pool_alloc(self->fd, PAGE + 1), 0);
	ASSERT_EQ(pool_import(self->fd, file, NNACCEL_PROT_READ, 0, 1, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		EXPECT_GE(before[i], 0);
		EXPECT_EQ(summary_get(-1, lines[i].name), before[i] + lines[i].more)
			TH_LOG("%s", lines[i].name);
	}
	close(file);
}

/* Reads the line of the context @number from the summary in debugfs. */
static bool summary_line(long long number, char *stage, unsigned int *pools)
{
	FILE *file = fopen("/sys/kernel/debug/nnaccel/summary", "re");
	unsigned int uid, models, commands;
	bool found = false;
	char line[256];
	long long id;
	int pid;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%lld %u %d %15s %u %u %u", &id, &uid, &pid, stage, pools,
			       &models, &commands) == 7 &&
			id == number && uid == geteuid() && pid == getpid();
	if (file)
		fclose(file);
	return found;
}

TEST_F(context, summary_stages)
{
	long long number = summary_get(self->fd, "nnaccel-client-id");
	unsigned int pools;
	uint64_t context;
	char stage[16];
	int session;

	ASSERT_TRUE(summary_line(number, stage, &pools));
	EXPECT_STREQ(stage, "wanted");
	EXPECT_EQ(pools, 0);
	ASSERT_EQ(broker_await_new(self->broker, &context), 0);
	EXPECT_EQ(context, (uint64_t)number);
	ASSERT_TRUE(summary_line(number, stage, &pools));
	EXPECT_STREQ(stage, "offered");
	ASSERT_EQ(broker_session(self->broker, context, &session), 0);
	ASSERT_NE(pool_alloc(self->fd, 1), 0);
	ASSERT_TRUE(summary_line(number, stage, &pools));
	EXPECT_STREQ(stage, "served");
	EXPECT_EQ(pools, 1);
	close(session);
	ASSERT_TRUE(summary_line(number, stage, &pools));
	EXPECT_STREQ(stage, "idle");
	close(self->fd);
	EXPECT_FALSE(summary_line(number, stage, &pools));
	self->fd = device_open();
}

TEST_HARNESS_MAIN
