// SPDX-License-Identifier: MIT
/*
 * Executions: commands to the worker, answers to the client, rejected fields and arguments,
 * priorities and deadlines.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"

#define LENGTH 64

FIXTURE(executions) {
	struct summary before;
	struct served s;
	uint32_t input;
	uint32_t output;
	uint32_t model;
	union command cmd;
};

FIXTURE_SETUP(executions)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->input = pool_alloc(self->s.fd, LENGTH);
	self->output = pool_alloc(self->s.fd, LENGTH);
	self->model = served_prepare_as(&self->s, self->input, NNACCEL_PRIORITY_LOW);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(executions)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

TEST_F(executions, tell_the_worker)
{
	union command *cmd = &self->cmd;
	const struct nnaccel_grant *grants;
	struct execution e;
	struct async async;

	execution_init(&e, self->model, self->input, self->output);
	e.cmd.flags = NNACCEL_EXECUTE_MEASURE;
	e.cmd.loop_timeout_ns = 12345;
	e.args[0].rank = 2;
	e.args[0].dims[0] = 2;
	e.args[0].dims[1] = UINT32_MAX;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	memset(cmd, 0xa5, sizeof(*cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, cmd), 0);
	EXPECT_EQ(cmd->head.size, sizeof(cmd->head) + 2 * sizeof(*grants) + sizeof(e.args));
	EXPECT_EQ(cmd->head.kind, NNACCEL_DO_EXECUTE);
	EXPECT_NE(cmd->head.cookie, 0);
	EXPECT_EQ(cmd->head.model, 1);
	EXPECT_EQ(cmd->head.num_grants, 2);
	EXPECT_EQ(cmd->head.num_inputs, 1);
	EXPECT_EQ(cmd->head.num_outputs, 1);
	EXPECT_EQ(cmd->head.flags, NNACCEL_EXECUTE_MEASURE);
	EXPECT_EQ(cmd->head.priority, NNACCEL_PRIORITY_LOW);
	EXPECT_EQ(cmd->head.deadline_ns, 0);
	EXPECT_EQ(cmd->head.loop_timeout_ns, 12345);
	EXPECT_EQ(cmd->head.max_payload, sizeof(struct nnaccel_shape));
	grants = command_grants(cmd);
	EXPECT_EQ(grants[0].prot, NNACCEL_PROT_READ);
	EXPECT_EQ(grants[1].prot, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	EXPECT_EQ(grants[0].length, LENGTH);
	EXPECT_EQ(memcmp(command_args(cmd), e.args, sizeof(e.args)), 0);
	EXPECT_EQ(((uint8_t *)cmd)[cmd->head.size], 0xa5);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 0);
	EXPECT_EQ(session_answer(self->s.session, cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(e.cmd.out_status, NNACCEL_STATUS_NONE);
	EXPECT_EQ(e.cmd.out_num_shapes, 1);
	EXPECT_EQ(e.cmd.out_device_ns, MOCK_DEVICE_NS);
	EXPECT_NE(e.cmd.out_driver_ns, NNACCEL_TIME_NONE);
	EXPECT_NE(e.cmd.out_driver_ns, POISON);
	EXPECT_EQ(e.shape.flags, NNACCEL_SHAPE_SUFFICIENT);
	EXPECT_EQ(e.shape.rank, 1);
	EXPECT_EQ(e.shape.dims[0], 1);
	EXPECT_EQ(e.shape.dims[1], 0);
	EXPECT_EQ(e.message[0], '\0');
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-executions"), 1);
	EXPECT_GT(summary_get(self->s.fd, "nnaccel-engine-time"), 0);
}

/* Attributes of any length reach the worker unchanged, even if the length is 0. */
TEST_F(executions, attributes)
{
	/*
	 * Attributes of 64 and of 65 bytes make the module allocate commands from different slab
	 * caches.
	 */
	const uint32_t sizes[] = { 0, 1, 7, 63, 64, 65, 100, 4096, NNACCEL_MAX_ATTRIBUTES };
	uint8_t *sent = malloc(NNACCEL_MAX_ATTRIBUTES);

	for (uint32_t i = 0; i < NNACCEL_MAX_ATTRIBUTES; i++)
		sent[i] = (uint8_t)(i * 31 + i / 251);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		union command *cmd = &self->cmd;
		struct execution e;
		struct async async;

		execution_init(&e, self->model, self->input, self->output);
		e.cmd.attributes = sizes[i] ? (uintptr_t)sent : 8;
		e.cmd.attributes_size = sizes[i];
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
		memset(cmd, 0xa5, sizeof(*cmd));
		ASSERT_EQ(session_fetch(self->s.session, 0, cmd), 0);
		EXPECT_EQ(cmd->head.size, sizeof(cmd->head) + sizeof(e.args) + sizes[i] +
			  2 * sizeof(struct nnaccel_grant));
		EXPECT_EQ(cmd->head.attributes_size, sizes[i]);
		EXPECT_EQ(memcmp(command_attributes(cmd), sent, sizes[i]), 0);
		EXPECT_EQ(((uint8_t *)cmd)[cmd->head.size], 0xa5);
		EXPECT_EQ(session_answer(self->s.session, cmd), 0);
		EXPECT_EQ(async_wait(&async), 0);
		EXPECT_EQ(e.cmd.out_status, NNACCEL_STATUS_NONE);
	}
	free(sent);
}

/*
 * The device time of a command is at most the time for which the worker had the command, even if
 * the worker reports more.
 */
TEST_F(executions, device_time_adds_up)
{
	const struct {
		uint64_t told;
		bool is_taken;		/* false: the device time is the worker's time */
	} cases[] = {
		{ 1, true }, { 0, true }, { NNACCEL_TIME_NONE, false }, { NNACCEL_TIME_NONE - 1, false },
	};
	struct nnaccel_session_commit commit;
	long long device, worker, grown;
	struct execution e;
	struct async async;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		device = summary_get(self->s.fd, "drm-engine-nn");
		worker = summary_get(self->s.fd, "nnaccel-engine-time");
		execution_init(&e, self->model, self->input, self->output);
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		commit = (struct nnaccel_session_commit){
			.size = sizeof(commit), .status = NNACCEL_STATUS_GENERAL_FAILURE,
			.cookie = self->cmd.head.cookie, .device_ns = cases[i].told,
		};
		ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_COMMIT, &commit), 0);
		EXPECT_EQ(async_wait(&async), 0);
		grown = summary_get(self->s.fd, "drm-engine-nn") - device;
		worker = summary_get(self->s.fd, "nnaccel-engine-time") - worker;
		EXPECT_EQ(grown, cases[i].is_taken ? (long long)cases[i].told : worker);
	}
}

TEST_F(executions, unmeasured)
{
	struct execution e;

	ASSERT_EQ(served_start(&self->s), 0);
	execution_init(&e, self->model, self->input, self->output);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
	EXPECT_EQ(e.cmd.out_device_ns, NNACCEL_TIME_NONE);
	EXPECT_EQ(e.cmd.out_driver_ns, NNACCEL_TIME_NONE);
}

TEST_F(executions, unwanted_shapes)
{
	struct execution e;

	ASSERT_EQ(served_start(&self->s), 0);
	execution_init(&e, self->model, self->input, self->output);
	e.cmd.shapes = 0;
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
	EXPECT_EQ(e.cmd.out_num_shapes, 0);
}

/*
 * Starts an execution and commits the given answer as the worker; returns the errno of the client's
 * call.
 */
static int answered(struct served *s, struct execution *e, uint32_t status,
		    const struct nnaccel_shape *shape, const char *message)
{
	struct async async;
	union command cmd;
	int error;

	if (!async_start(&async, s->fd, NNACCEL_WORK_EXECUTE, &e->cmd))
		return EAGAIN;
	error = session_fetch(s->session, 0, &cmd);
	if (!error)
		error = session_commit(s->session, cmd.head.cookie, status, shape,
				       shape ? sizeof(*shape) : 0, message);
	return async_wait(&async) ?: error;
}

TEST_F(executions, fail_in_the_engine)
{
	const struct nnaccel_shape small = { .rank = 2, .dims = { 3, 4 } };
	struct execution e;

	for (uint32_t status = 1; status <= NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT; status++) {
		execution_init(&e, self->model, self->input, self->output);
		ASSERT_EQ(answered(&self->s, &e, status, &small, "too small"), 0);
		EXPECT_EQ(e.cmd.out_status, status);
		EXPECT_EQ(e.cmd.out_num_shapes, 1);
		EXPECT_EQ(memcmp(&e.shape, &small, sizeof(small)), 0);
		EXPECT_STREQ(e.message, "too small");

		execution_init(&e, self->model, self->input, self->output);
		ASSERT_EQ(answered(&self->s, &e, status, NULL, NULL), 0);
		EXPECT_EQ(e.cmd.out_num_shapes, 0);
		EXPECT_EQ(e.shape.flags, POISON);
		EXPECT_EQ(e.message[0], '\0');
	}
}

TEST_F(executions, refusals)
{
	int other = device_open(), read_only = file_new(PAGE);
	uint32_t foreign = 0, unwritable;
	struct execution e;

	ASSERT_EQ(served_start(&self->s), 0);
	for (int i = 0; i < 12; i++)
		foreign = pool_alloc(other, 1);
	ASSERT_EQ(pool_import(self->s.fd, read_only, NNACCEL_PROT_READ, 0, PAGE, &unwritable), 0);
	execution_init(&e, self->model, self->input, self->output);
	{
		const struct refusal cases[] = {
			REFUSE(struct nnaccel_execute, flags, 2, EINVAL),
			REFUSE(struct nnaccel_execute, flags, 1U << 31, EINVAL),
			REFUSE(struct nnaccel_execute, num_buffers, 1, EFAULT),
			REFUSE(struct nnaccel_execute, num_buffers, NNACCEL_MAX_CMD_BUFFERS, EFAULT),
			REFUSE(struct nnaccel_execute, num_buffers, NNACCEL_MAX_CMD_BUFFERS + 1, EINVAL),
			REFUSE(struct nnaccel_execute, num_buffers, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_execute, model, 0, ENOENT),
			REFUSE(struct nnaccel_execute, model, foreign, ENOENT),
			REFUSE(struct nnaccel_execute, model, self->input, ENOENT),
			REFUSE(struct nnaccel_execute, model, UINT32_MAX, ENOENT),
			/*
			 * NNACCEL_MAX_CMD_POOLS is a valid number of pools, but the call fails at
			 * the third pool id, which is 0.
			 */
			REFUSE(struct nnaccel_execute, num_pools, NNACCEL_MAX_CMD_POOLS, ENOENT),
			REFUSE(struct nnaccel_execute, num_pools, NNACCEL_MAX_CMD_POOLS + 1, EINVAL),
			REFUSE(struct nnaccel_execute, num_pools, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_execute, num_pools, 1, EINVAL),
			REFUSE(struct nnaccel_execute, num_pools, 0, EINVAL),
			REFUSE(struct nnaccel_execute, pools, 0, EFAULT),
			REFUSE(struct nnaccel_execute, pools, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_execute, num_inputs, NNACCEL_MAX_ARGS, EINVAL),
			REFUSE(struct nnaccel_execute, num_inputs, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_execute, num_outputs, NNACCEL_MAX_ARGS, EINVAL),
			REFUSE(struct nnaccel_execute, num_outputs, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_execute, args, 0, EFAULT),
			REFUSE(struct nnaccel_execute, args, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_execute, shapes, 8, EFAULT),
			REFUSE(struct nnaccel_execute, shapes, 0xffff888000000000UL, EFAULT),
			REFUSE(struct nnaccel_execute, deadline_ns, 1, ETIME),
			REFUSE(struct nnaccel_execute, message, 0, EFAULT),
			REFUSE(struct nnaccel_execute, message_size, NNACCEL_MAX_MESSAGE + 1, EINVAL),
			REFUSE(struct nnaccel_execute, message_size, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_execute, attributes_size, 1, EFAULT),
			REFUSE(struct nnaccel_execute, attributes_size,
			       NNACCEL_MAX_ATTRIBUTES + 1, EINVAL),
			REFUSE(struct nnaccel_execute, attributes_size, UINT32_MAX, EINVAL),
			REFUSE(struct nnaccel_execute, __reserved, 1, EINVAL),
		};
		const struct {
			uint32_t pool;
			int error;
		} pools[] = {
			{ 0, ENOENT }, { foreign, ENOENT }, { self->model, ENOENT },
			{ UINT32_MAX, ENOENT }, { unwritable, EACCES },
		};

		EXPECT_EQ(check_refusals(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd, sizeof(e.cmd), cases,
					 ARRAY_SIZE(cases)), 0);
		for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
			e.pools[1] = pools[i].pool;
			EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), pools[i].error)
				TH_LOG("pool %u", pools[i].pool);
		}
	}
	/* An input may be in read-only memory. */
	execution_init(&e, self->model, unwritable, self->output);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
	EXPECT_EQ(check_structure(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd, sizeof(e.cmd), 0, true), 0);
	close(read_only);
	close(other);
}

TEST_F(executions, argument_refusals)
{
	const struct {
		const char *what;
		struct nnaccel_arg arg;
		int error;
	} cases[] = {
		{ "good", { .length = LENGTH }, 0 },
		{ "empty", { .offset = LENGTH }, 0 },
		{ "no value", { .flags = NNACCEL_ARG_NO_VALUE }, 0 },
		{ "full rank", { .rank = NNACCEL_MAX_RANK, .dims[NNACCEL_MAX_RANK - 1] = 1 }, 0 },
		{ "unknown flag", { .flags = 4 }, EINVAL },
		{ "buffer where there is none", { .flags = NNACCEL_ARG_BUFFER }, EINVAL },
		{ "no value and a buffer", { .flags = 3 }, EINVAL },
		{ "unknown flag of no value", { .flags = 1 | 1U << 31 }, EINVAL },
		{ "no value with a pool", { .flags = 1, .pool = 1 }, EINVAL },
		{ "no value with an offset", { .flags = 1, .offset = 1 }, EINVAL },
		{ "no value with a length", { .flags = 1, .length = 1 }, EINVAL },
		{ "no value with a rank", { .flags = 1, .rank = 1 }, EINVAL },
		{ "no value with a dimension", { .flags = 1, .dims[15] = 1 }, EINVAL },
		{ "no value with a reserved field", { .flags = 1, .__reserved = 1 }, EINVAL },
		{ "reserved field", { .__reserved = 1 }, EINVAL },
		{ "pool out of range", { .pool = 2 }, EINVAL },
		{ "pool far out of range", { .pool = UINT32_MAX }, EINVAL },
		{ "offset beyond the pool", { .offset = LENGTH + 1 }, EINVAL },
		{ "length beyond the pool", { .length = LENGTH + 1 }, EINVAL },
		{ "range beyond the pool", { .offset = 1, .length = LENGTH }, EINVAL },
		{ "largest length", { .length = UINT64_MAX }, EINVAL },
		{ "overflow to 0", { .offset = 1, .length = UINT64_MAX }, EINVAL },
		{ "overflow to 1", { .offset = UINT64_MAX, .length = 2 }, EINVAL },
		{ "rank out of range", { .rank = NNACCEL_MAX_RANK + 1 }, EINVAL },
		{ "rank far out of range", { .rank = UINT32_MAX }, EINVAL },
		{ "dimension beyond the rank", { .dims[0] = 1 }, EINVAL },
		{ "last dimension beyond the rank", { .rank = 15, .dims[15] = 1 }, EINVAL },
	};
	struct execution e;

	ASSERT_EQ(served_start(&self->s), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		size_t c = i / 2;

		execution_init(&e, self->model, self->input, self->output);
		e.args[i % 2] = cases[c].arg;
		EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), cases[c].error)
			TH_LOG("%s of argument %zu", cases[c].what, i % 2);
	}
}

TEST_F(executions, most_arguments)
{
	struct nnaccel_arg *args = calloc(NNACCEL_MAX_ARGS, sizeof(*args));
	struct nnaccel_shape *shapes = calloc(NNACCEL_MAX_ARGS, sizeof(*shapes));
	size_t size = sizeof(struct nnaccel_cmd) + 2 * sizeof(struct nnaccel_grant) +
		      NNACCEL_MAX_ARGS * sizeof(*args);
	union command *cmd = malloc(size);
	struct nnaccel_session_fetch fetch = {
		.size = sizeof(fetch),
		.buffer = (uintptr_t)cmd,
		.buffer_size = (uint32_t)size - 1,
	};
	struct execution e;
	struct async async;

	execution_init(&e, self->model, self->input, self->output);
	e.cmd.args = (uintptr_t)args;
	e.cmd.shapes = (uintptr_t)shapes;
	e.cmd.num_inputs = 1;
	e.cmd.num_outputs = NNACCEL_MAX_ARGS - 1;
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, &fetch), EMSGSIZE);
	EXPECT_EQ(fetch.out_size, size);
	fetch.buffer_size = fetch.out_size;
	ASSERT_EQ(xioctl(self->s.session, NNACCEL_SESSION_FETCH, &fetch), 0);
	EXPECT_EQ(session_answer(self->s.session, cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(e.cmd.out_num_shapes, NNACCEL_MAX_ARGS - 1);
	EXPECT_EQ(shapes[NNACCEL_MAX_ARGS - 2].dims[0], NNACCEL_MAX_ARGS - 1);
	free(cmd);
	free(shapes);
	free(args);
}

TEST_F(executions, no_pools_and_no_arguments)
{
	struct execution e;

	ASSERT_EQ(served_start(&self->s), 0);
	execution_init(&e, self->model, 0, 0);
	e.cmd.num_pools = 0;
	e.cmd.pools = 0;
	e.cmd.num_inputs = 0;
	e.cmd.num_outputs = 0;
	e.cmd.args = 0;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
	EXPECT_EQ(e.cmd.out_num_shapes, 0);
}

/* The worker fetches commands in the order of their priority. */
TEST_F(executions, are_fetched_by_priority)
{
	const uint32_t priorities[] = {
		NNACCEL_PRIORITY_LOW, NNACCEL_PRIORITY_HIGH, NNACCEL_PRIORITY_MEDIUM,
		NNACCEL_PRIORITY_HIGH, NNACCEL_PRIORITY_LOW,
	};
	/* Commands of the same priority are fetched in the order in which they were submitted. */
	const uint64_t expected[] = { 1, 3, 2, 0, 4 };
	struct async async[ARRAY_SIZE(priorities)];
	struct execution e[ARRAY_SIZE(priorities)];
	uint32_t models[3];

	for (uint32_t i = 0; i < ARRAY_SIZE(models); i++)
		models[i] = served_prepare_as(&self->s, self->input, i);
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		execution_init(&e[i], models[priorities[i]], self->input, self->output);
		e[i].cmd.loop_timeout_ns = i;
		ASSERT_TRUE(async_start(&async[i], self->s.fd, NNACCEL_WORK_EXECUTE, &e[i].cmd));
		await_commands(self->s.fd, (long long)i + 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		ASSERT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), 0);
		EXPECT_EQ(self->cmd.head.loop_timeout_ns, expected[i]);
		EXPECT_EQ(self->cmd.head.priority, priorities[expected[i]]);
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		EXPECT_EQ(async_wait(&async[i]), 0);
	}
}

TEST_F(executions, deadline_passes_in_the_queue)
{
	struct execution e;

	execution_init(&e, self->model, self->input, self->output);
	e.cmd.deadline_ns = now_ns() + 100000000;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ETIME);
	EXPECT_EQ(e.cmd.out_status, POISON);
	/*
	 * After the deadline no caller waits for the queued execution, so the worker does not get
	 * it.
	 */
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 0);
}

TEST_F(executions, deadline_passes_in_flight)
{
	struct execution e;
	struct shown shown;
	struct async async;

	execution_init(&e, self->model, self->input, self->output);
	e.cmd.deadline_ns = deadline_soon();
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), ETIME);
	/*
	 * The pools of an execution in flight stay granted, even if the client destroys the pools,
	 * because the engine may still use the pools.
	 */
	EXPECT_EQ(object_destroy(self->s.fd, self->output), 0);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 2);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 1);
	ASSERT_TRUE(shown_command(self->s.fd, &shown));
	EXPECT_STREQ(shown.flags, "-g-");
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), ENOENT);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 1);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-commands"), 0);
}

/* The client gets an answer that comes after the deadline, but within the grace period. */
TEST_F(executions, deadline_grace)
{
	long long old = param_set("deadline_grace_ms", 1000000);
	struct execution e;
	struct async async;

	execution_init(&e, self->model, self->input, self->output);
	e.cmd.deadline_ns = deadline_soon();
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.deadline_ns, e.cmd.deadline_ns);
	while (now_ns() < e.cmd.deadline_ns)
		usleep(10000);
	EXPECT_EQ(session_commit(self->s.session, self->cmd.head.cookie,
				 NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT, NULL, 0, NULL), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_EQ(e.cmd.out_status, NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT);
	EXPECT_EQ(param_set("deadline_grace_ms", old), 1000000);
}

/* A signal handler that does nothing, because a signal without a handler would kill the process. */
static void ignore(int signal)
{
}

TEST_F(executions, signals_do_not_disturb)
{
	const struct sigaction action = { .sa_handler = ignore };
	struct execution e;
	struct async async;

	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	execution_init(&e, self->model, self->input, self->output);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(pthread_kill(async.thread, SIGUSR1), 0);
		usleep(1000);
	}
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
}

TEST_F(executions, of_a_destroyed_model)
{
	struct execution e;
	struct async async;

	execution_init(&e, self->model, self->input, self->output);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->model), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &(struct nnaccel_execute){
		.size = sizeof(e.cmd), .model = self->model }), ENOENT);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	/* The worker is notified of a model's end only after the model's last execution. */
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_MODEL);
}

TEST_F(executions, of_a_dead_model)
{
	struct execution e;
	long long wait_ms;
	uint64_t context;

	close(self->s.session);
	self->s.session = -1;
	execution_init(&e, self->model, self->input, self->output);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ESTALE);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-models"), 1);
	/*
	 * After a worker's death its models stay dead, even when a new worker serves the context.
	 */
	ASSERT_EQ(broker_next(self->s.broker, NNACCEL_ENGINE_NONBLOCK,
			      &(struct nnaccel_engine_next){}), EAGAIN);
	wait_ms = param_set("engine_wait_ms", 10);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_QUERY, &(struct nnaccel_query){
		.size = sizeof(struct nnaccel_query) }), ETIMEDOUT);
	param_set("engine_wait_ms", wait_ms);
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &self->s.session), 0);
	ASSERT_EQ(session_attach(self->s.session), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ESTALE);
	EXPECT_EQ(object_destroy(self->s.fd, self->model), 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ENOENT);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	self->model = served_prepare_as(&self->s, self->input, NNACCEL_PRIORITY_HIGH);
	ASSERT_NE(self->model, 0);
	ASSERT_EQ(served_start(&self->s), 0);
	execution_init(&e, self->model, self->input, self->output);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
}

/* ---- system suspend ---- */

#define FREEZER "/run/nnaccel-freezer"

/* Client process that prepares a model and executes it once. */
static void execute_once(struct actor *self, void *data)
{
	struct nnaccel_prepare prepare;
	struct execution e;
	int fd = device_open();
	uint32_t pool = pool_alloc(fd, LENGTH);

	prepare_init(&prepare, pool, 1);
	if (xioctl(fd, NNACCEL_WORK_PREPARE, &prepare))
		_exit(1);
	execution_init(&e, prepare.out_model, pool, pool);
	_exit(xioctl(fd, NNACCEL_WORK_EXECUTE, &e.cmd));
}

static bool write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	bool written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/* Use the freezer of control groups, because it freezes tasks like suspend does. */
static bool freezer_open(pid_t pid)
{
	char text[16];

	if (mkdir(FREEZER, 0700) || mount("none", FREEZER, "cgroup", 0, "freezer"))
		return false;
	snprintf(text, sizeof(text), "%d", pid);
	return !mkdir(FREEZER "/test", 0700) && write_to(FREEZER "/test/cgroup.procs", text);
}

static void freezer_close(void)
{
	rmdir(FREEZER "/test");
	umount(FREEZER);
	rmdir(FREEZER);
}

static bool freezes(void)
{
	char state[16] = "";

	if (!write_to(FREEZER "/test/freezer.state", "FROZEN"))
		return false;
	for (unsigned long long i = scaled(10000); i && strncmp(state, "FROZEN", 6); i--) {
		int fd = open(FREEZER "/test/freezer.state", O_RDONLY);

		usleep(10000);
		if (read(fd, state, sizeof(state)) <= 0)
			state[0] = '\0';
		close(fd);
	}
	return !strncmp(state, "FROZEN", 6);
}

/* A client whose call waits for its worker can be frozen, even if the worker is frozen first. */
TEST(a_client_that_waits_can_be_frozen)
{
	struct nnaccel_engine_next next;
	int status, session, broker;
	struct summary before;
	struct actor client;
	union command cmd;

	broker = broker_open();
	ASSERT_GE(broker, 0);
	ASSERT_TRUE(summary_read(&before));
	ASSERT_TRUE(actor_start(&client, execute_once, NULL));
	ASSERT_EQ(broker_next(broker, 0, &next), 0);
	ASSERT_EQ(broker_session(broker, next.out_context, &session), 0);
	ASSERT_EQ(session_attach(session), 0);
	ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
	if (!freezer_open(client.pid)) {
		actor_kill(&client);
		freezer_close();
		SKIP(return, "this kernel has no freezer of control groups");
	}
	EXPECT_TRUE(freezes());
	/* The worker commits the answer while the client is frozen. */
	EXPECT_EQ(session_answer(session, &cmd), 0);
	EXPECT_TRUE(write_to(FREEZER "/test/freezer.state", "THAWED"));
	ASSERT_EQ(session_fetch(session, 0, &cmd), 0);
	EXPECT_EQ(cmd.head.kind, NNACCEL_DO_EXECUTE);
	EXPECT_TRUE(freezes());
	EXPECT_TRUE(write_to(FREEZER "/test/freezer.state", "THAWED"));
	EXPECT_EQ(session_answer(session, &cmd), 0);
	EXPECT_EQ(waitpid(client.pid, &status, 0), client.pid);
	EXPECT_EQ(status, 0);
	freezer_close();
	close(client.said);
	close(client.go);
	close(session);
	close(broker);
	EXPECT_TRUE(summary_settles(&before));
}

TEST_HARNESS_MAIN
