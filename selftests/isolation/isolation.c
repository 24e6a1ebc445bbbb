// SPDX-License-Identifier: MIT
/*
 * Isolation: a process must not use another process's files, another context's objects, or memory
 * that was not granted to it.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "harness.h"

#define LENGTH (2 * PAGE)
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

FIXTURE(isolation) {
	struct summary before;
	struct served s;
	struct stranger stranger;
	bool has_stranger;
	uint32_t input;
	uint32_t output;
	uint32_t model;
	uint64_t in_grant;
	uint64_t out_grant;
	struct execution execution;
	struct async async;
	union command cmd;
};

FIXTURE_SETUP(isolation)
{
	ASSERT_TRUE(idle_summary(&self->before));
}

FIXTURE_TEARDOWN(isolation)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Creates two pools, a model, and an execution that the worker has fetched. */
static int start(FIXTURE_DATA(isolation) *self)
{
	struct nnaccel_prepare prepare;
	int error = served_open(&self->s);

	if (error)
		return error;
	self->input = pool_alloc(self->s.fd, LENGTH);
	self->output = pool_alloc(self->s.fd, LENGTH);
	prepare_init(&prepare, self->input, 1);
	if (!async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare))
		return EAGAIN;
	error = session_fetch(self->s.session, 0, &self->cmd) ?:
		session_answer(self->s.session, &self->cmd);
	if (error)
		return error;
	error = async_wait(&self->async);
	self->model = prepare.out_model;
	execution_init(&self->execution, self->model, self->input, self->output);
	if (error || !async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &self->execution.cmd))
		return error ?: EAGAIN;
	error = session_fetch(self->s.session, 0, &self->cmd);
	self->in_grant = command_grants(&self->cmd)[0].grant;
	self->out_grant = command_grants(&self->cmd)[1].grant;
	return error;
}

/* Answers the fetched execution as the worker does, and waits until the client's call ends. */
static int finish(FIXTURE_DATA(isolation) *self)
{
	int error = session_answer(self->s.session, &self->cmd);

	return async_wait(&self->async) ?: error;
}

/* ---- files in other processes ---- */

static int use_context(int fd)
{
	int wrong = check_all_refused(fd, FILE_CONTEXT, EACCES);

	return wrong + (map_shared(fd, PAGE, PROT_READ) ? 1 : 0);
}

static int use_session(int fd)
{
	struct nnaccel_session_attach attach = { .size = sizeof(attach) };
	struct nnaccel_session_sync sync = { .size = sizeof(sync), .flags = NNACCEL_SYNC_READ };
	union command cmd;
	int wrong = 0;

	wrong += xioctl(fd, NNACCEL_SESSION_ATTACH, &attach) != EBUSY;
	wrong += session_fetch(fd, 0, &cmd) != EACCES;
	wrong += session_fetch(fd, NNACCEL_FETCH_NONBLOCK, &cmd) != EACCES;
	for (uint64_t cookie = 0; cookie < 4; cookie++)
		wrong += session_commit(fd, cookie, 0, NULL, 0, NULL) != EACCES;
	for (uint32_t grant = 0; grant < 4; grant++) {
		sync.grant = grant;
		wrong += xioctl(fd, NNACCEL_SESSION_SYNC, &sync) != EACCES;
		wrong += session_map(fd, grant, LENGTH, PROT_READ) || errno != EACCES;
	}
	return wrong;
}

TEST_F(isolation, context_in_a_forked_child)
{
	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(in_child(use_context, self->s.fd), 0);
	EXPECT_EQ(finish(self), 0);
}

TEST_F(isolation, context_passed_to_a_stranger)
{
	ASSERT_TRUE(stranger_start(&self->stranger, use_context));
	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(stranger_pass(&self->stranger, self->s.fd), 0);
	EXPECT_EQ(finish(self), 0);
}

TEST_F(isolation, session_in_a_forked_child)
{
	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(in_child(use_session, self->s.session), 0);
	EXPECT_EQ(finish(self), 0);
}

TEST_F(isolation, session_passed_to_a_stranger)
{
	ASSERT_TRUE(stranger_start(&self->stranger, use_session));
	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(stranger_pass(&self->stranger, self->s.session), 0);
	EXPECT_EQ(finish(self), 0);
}

static int attach_once(int session)
{
	return session_attach(session);
}

/* A session belongs to the first process that attaches to it, even after this process has died. */
TEST_F(isolation, session_of_a_process_that_is_gone)
{
	uint64_t context;
	int other, session;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	other = device_open();
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	EXPECT_EQ(in_child(attach_once, session), 0);
	EXPECT_EQ(session_attach(session), EBUSY);
	EXPECT_EQ(session_fetch(session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EACCES);
	close(session);
	close(other);
}

/*
 * Steps of a process that has the last fd of another process's context, but must not use the
 * context.
 */
static void keep_context(struct actor *me, void *data)
{
	actor_reached(me);
	if (use_context(*(int *)data))
		_exit(1);
	actor_reached(me);
}

TEST_F(isolation, context_outlives_its_owner)
{
	struct actor actor;

	ASSERT_EQ(start(self), 0);
	ASSERT_TRUE(actor_start(&actor, keep_context, &self->s.fd));
	ASSERT_TRUE(actor_await(&actor));
	EXPECT_EQ(finish(self), 0);
	close(self->s.fd);
	self->s.fd = -1;
	/*
	 * The worker still serves the context, because a second process has the context's file
	 * open.
	 */
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), EAGAIN);
	actor_go(&actor);
	EXPECT_TRUE(actor_await(&actor));
	actor_kill(&actor);
	EXPECT_EQ(session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd), ESHUTDOWN);
}

/* ---- objects of another context ---- */

TEST_F(isolation, objects_of_another_context)
{
	struct nnaccel_prepare prepare;
	struct nnaccel_supported supported;
	struct nnaccel_pool_export export;
	struct execution e;
	uint8_t answer;
	int other;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	other = device_open();
	for (uint32_t id = 0; id < 8; id++) {
		prepare_init(&prepare, id, 1);
		EXPECT_EQ(xioctl(other, NNACCEL_WORK_PREPARE, &prepare), ENOENT);
		supported_init(&supported, id, 1, &answer, 1);
		EXPECT_EQ(xioctl(other, NNACCEL_WORK_SUPPORTED, &supported), ENOENT);
		execution_init(&e, id, id, id);
		EXPECT_EQ(xioctl(other, NNACCEL_WORK_EXECUTE, &e.cmd), ENOENT);
		e.cmd.num_pools = 0;
		e.cmd.num_inputs = 0;
		e.cmd.num_outputs = 0;
		EXPECT_EQ(xioctl(other, NNACCEL_WORK_EXECUTE, &e.cmd), ENOENT);
		export = (struct nnaccel_pool_export){ .size = sizeof(export), .id = id };
		EXPECT_EQ(xioctl(other, NNACCEL_POOL_EXPORT, &export), ENOENT);
		EXPECT_EQ(object_destroy(other, id), ENOENT);
	}
	/* The failed calls of the second context have destroyed none of the owner's objects. */
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-pools"), 2);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-models"), 1);
	close(other);
}

/* A model's id is not valid for a pool, nor a pool's id for a model. */
TEST_F(isolation, objects_of_another_type)
{
	struct nnaccel_pool_export export = { .size = sizeof(export) };
	struct nnaccel_prepare prepare;
	struct execution e;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	export.id = self->model;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_POOL_EXPORT, &export), ENOENT);
	prepare_init(&prepare, self->model, 1);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare), ENOENT);
	execution_init(&e, self->input, self->input, self->output);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ENOENT);
	execution_init(&e, self->model, self->model, self->output);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ENOENT);
}

/* ---- memory ---- */

TEST_F(isolation, grants)
{
	const uint64_t foot = 1ULL << NNACCEL_GRANT_SHIFT;
	uint64_t in, out, none;
	int fd;

	ASSERT_EQ(start(self), 0);
	fd = self->s.session;
	in = self->in_grant * foot;
	out = self->out_grant * foot;
	none = (self->in_grant + self->out_grant) * foot;
	{
		const struct {
			const char *what;
			uint64_t offset;
			size_t length;
			int prot;
			int flags;
			int error;
		} cases[] = {
			{ "input", in, LENGTH, PROT_READ, MAP_SHARED, 0 },
			{ "output", out, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, 0 },
			{ "output to read", out, LENGTH, PROT_READ, MAP_SHARED, 0 },
			{ "not to be accessed", in, LENGTH, PROT_NONE, MAP_SHARED, 0 },
			{ "writing input", in, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, EACCES },
			{ "writing only", in, LENGTH, PROT_WRITE, MAP_SHARED, EACCES },
			{ "executing", out, LENGTH, PROT_READ | PROT_EXEC, MAP_SHARED, EACCES },
			{ "private", in, LENGTH, PROT_READ, MAP_PRIVATE, EINVAL },
			{ "private to write", in, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE, EINVAL },
			{ "shorter", in, PAGE, PROT_READ, MAP_SHARED, EINVAL },
			{ "longer", in, LENGTH + PAGE, PROT_READ, MAP_SHARED, EINVAL },
			{ "second page", in + PAGE, PAGE, PROT_READ, MAP_SHARED, EINVAL },
			{ "offset", in + PAGE, LENGTH, PROT_READ, MAP_SHARED, EINVAL },
			{ "before", in - PAGE, LENGTH, PROT_READ, MAP_SHARED, EINVAL },
			{ "offset 0", 0, LENGTH, PROT_READ, MAP_SHARED, EINVAL },
			{ "offset of a page", PAGE, LENGTH, PROT_READ, MAP_SHARED, EINVAL },
			{ "no grant", none, LENGTH, PROT_READ, MAP_SHARED, EINVAL },
			{ "highest grant", ((1ULL << 22) - 1) * foot, LENGTH, PROT_READ, MAP_SHARED,
			  EINVAL },
		};

		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			void *at = mmap(NULL, cases[i].length, cases[i].prot, cases[i].flags, fd,
					(off_t)cases[i].offset);

			int error = at == MAP_FAILED ? errno : 0;

			/*
			 * Since Linux 6.17 anonymous inodes are SB_I_NOEXEC: mmap() with PROT_EXEC
			 * fails with EPERM instead of EACCES.
			 */
			if (cases[i].prot & PROT_EXEC && error == EPERM)
				error = EACCES;
			EXPECT_EQ(error, cases[i].error)
				TH_LOG("%s", cases[i].what);
			if (at != MAP_FAILED)
				munmap(at, cases[i].length);
		}
	}
	EXPECT_EQ(finish(self), 0);
}

TEST_F(isolation, grants_are_the_clients_memory)
{
	unsigned char *mine, *yours;
	int buffer;

	ASSERT_EQ(start(self), 0);
	buffer = pool_export(self->s.fd, self->output);
	mine = map_shared(buffer, LENGTH, PROT_READ | PROT_WRITE);
	yours = session_map(self->s.session, self->out_grant, LENGTH, PROT_READ | PROT_WRITE);
	ASSERT_TRUE(mine && yours);
	mine[0] = 1;
	yours[LENGTH - 1] = 2;
	EXPECT_EQ(yours[0], 1);
	EXPECT_EQ(mine[LENGTH - 1], 2);
	munmap(mine, LENGTH);
	munmap(yours, LENGTH);
	close(buffer);
	EXPECT_EQ(finish(self), 0);
}

static void read_only_stays(struct __test_metadata *_metadata, int session, uint64_t grant)
{
	void *at = session_map(session, grant, LENGTH, PROT_READ), *more;
	int memory = open("/proc/self/mem", O_RDWR);

	ASSERT_NE(at, NULL);
	/* A write to the mapping through /proc/self/mem, as a debugger writes, must fail. */
	ASSERT_GE(memory, 0);
	EXPECT_EQ(pwrite(memory, "x", 1, (off_t)at), -1);
	close(memory);
	EXPECT_EQ(mprotect(at, LENGTH, PROT_READ | PROT_WRITE), -1);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(mprotect(at, PAGE, PROT_WRITE), -1);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(mprotect(at, LENGTH, PROT_READ | PROT_EXEC), -1);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(mprotect(at, LENGTH, PROT_NONE), 0);
	EXPECT_EQ(mprotect(at, LENGTH, PROT_READ), 0);
	/*
	 * A read-only mapping cannot be enlarged, moved to another offset, or duplicated as
	 * writable.
	 */
	EXPECT_EQ(mremap(at, LENGTH, LENGTH + PAGE, MREMAP_MAYMOVE), MAP_FAILED);
	more = mremap(at, 0, LENGTH, MREMAP_MAYMOVE);
	EXPECT_TRUE(more == MAP_FAILED || mprotect(more, LENGTH, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(remap_file_pages(at, PAGE, 0, 1, 0) ||
		    mprotect(at, LENGTH, PROT_READ | PROT_WRITE));
	munmap(at, LENGTH);
}

TEST_F(isolation, input_is_never_writable)
{
	ASSERT_EQ(start(self), 0);
	read_only_stays(_metadata, self->s.session, self->in_grant);
	EXPECT_EQ(finish(self), 0);
}

/* The worker cannot write an input, even if the client can write the file of the input's pool. */
TEST_F(isolation, input_in_a_file_is_never_writable)
{
	struct execution e;
	int file = file_new(LENGTH);
	uint32_t pool;
	uint64_t grant;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, LENGTH, &pool), 0);
	execution_init(&e, self->model, pool, self->output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	grant = command_grants(&self->cmd)[0].grant;
	EXPECT_EQ(session_map(self->s.session, grant, LENGTH, PROT_READ | PROT_WRITE), NULL);
	EXPECT_EQ(errno, EACCES);
	read_only_stays(_metadata, self->s.session, grant);
	EXPECT_EQ(finish(self), 0);
	/*
	 * When an input pool becomes an output, the worker may write the pool, and the number of
	 * the pool's grant does not change.
	 */
	execution_init(&e, self->model, self->input, pool);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(command_grants(&self->cmd)[1].grant, grant);
	EXPECT_NE(session_map(self->s.session, grant, LENGTH, PROT_READ | PROT_WRITE), NULL);
	EXPECT_EQ(finish(self), 0);
	close(file);
}

/*
 * The worker can write neither the constants nor the serialised form of a model, even if the pool
 * is writable.
 */
TEST_F(isolation, constants_are_never_writable)
{
	struct nnaccel_prepare prepare;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	self->input = pool_alloc(self->s.fd, LENGTH);
	self->output = pool_alloc(self->s.fd, LENGTH);
	prepare_init(&prepare, self->input, LENGTH);
	prepare.pools = (uintptr_t)&self->output;
	prepare.num_pools = 1;
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	read_only_stays(_metadata, self->s.session, command_grants(&self->cmd)[0].grant);
	read_only_stays(_metadata, self->s.session, command_grants(&self->cmd)[1].grant);
	EXPECT_EQ(finish(self), 0);
}

/* If a pool is a range of a file, the worker can map only the pages of this range. */
TEST_F(isolation, part_of_a_file)
{
	struct execution e;
	int file = file_new(4 * PAGE);
	uint32_t pool;
	uint64_t grant;
	char *mine, *yours;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	mine = map_shared(file, 4 * PAGE, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < 4; i++)
		mine[i * PAGE] = (char)('0' + i);
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, PAGE, PAGE + 1, &pool), 0);
	execution_init(&e, self->model, pool, self->output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	grant = command_grants(&self->cmd)[0].grant;
	EXPECT_EQ(command_grants(&self->cmd)[0].length, PAGE + 1);
	EXPECT_EQ(session_map(self->s.session, grant, PAGE, PROT_READ), NULL);
	EXPECT_EQ(session_map(self->s.session, grant, 3 * PAGE, PROT_READ), NULL);
	yours = session_map(self->s.session, grant, 2 * PAGE, PROT_READ);
	ASSERT_NE(yours, NULL);
	EXPECT_EQ(yours[0], '1');
	EXPECT_EQ(yours[PAGE], '2');
	EXPECT_EQ(mremap(yours, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE), MAP_FAILED);
	EXPECT_EQ(finish(self), 0);
	munmap(mine, 4 * PAGE);
	close(file);
}

TEST_F(isolation, not_granted)
{
	uint32_t pool;

	ASSERT_EQ(start(self), 0);
	pool = pool_alloc(self->s.fd, LENGTH);
	EXPECT_NE(pool, 0);
	EXPECT_EQ(summary_get(-1, "grants"), self->before.counter[9] + 2);
	for (uint64_t grant = 1; grant < 64; grant++) {
		void *at;

		if (grant == self->in_grant || grant == self->out_grant)
			continue;
		at = session_map(self->s.session, grant, LENGTH, PROT_READ);
		EXPECT_EQ(at, NULL);
	}
	EXPECT_EQ(finish(self), 0);
}

/* When a pool is destroyed, its grant ends: the worker's mappings stay, and new mappings fail. */
TEST_F(isolation, forgotten)
{
	char *at;

	ASSERT_EQ(start(self), 0);
	at = session_map(self->s.session, self->out_grant, LENGTH, PROT_READ | PROT_WRITE);
	ASSERT_NE(at, NULL);
	EXPECT_EQ(finish(self), 0);
	EXPECT_EQ(object_destroy(self->s.fd, self->output), 0);
	EXPECT_EQ(session_map(self->s.session, self->out_grant, LENGTH, PROT_READ), NULL);
	EXPECT_EQ(errno, EINVAL);
	/* After the end of a grant, an execution with a new pool gets a grant with a new number. */
	for (int i = 0; i < 2; i++) {
		struct execution e;
		uint32_t pool = pool_alloc(self->s.fd, LENGTH);

		if (i) {
			ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
			EXPECT_EQ(self->cmd.head.kind, NNACCEL_DO_FORGET_GRANT);
			EXPECT_EQ(self->cmd.head.grant, self->out_grant);
			execution_init(&e, self->model, self->input, pool);
			ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
			ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
			EXPECT_EQ(command_grants(&self->cmd)[0].grant, self->in_grant);
			EXPECT_NE(command_grants(&self->cmd)[1].grant, self->out_grant);
			EXPECT_EQ(finish(self), 0);
		}
	}
	at[0] = 1;
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-memory-alloc"), 4 * LENGTH / 1024);
	munmap(at, LENGTH);
	EXPECT_EQ(summary_get(self->s.fd, "nnaccel-memory-alloc"), 3 * LENGTH / 1024);
}

/* A grant of one session is not valid in another session. */
TEST_F(isolation, grants_of_another_session)
{
	uint64_t context;
	int other, session;

	ASSERT_EQ(start(self), 0);
	other = device_open();
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	ASSERT_EQ(session_attach(session), 0);
	EXPECT_EQ(session_map(session, self->in_grant, LENGTH, PROT_READ), NULL);
	EXPECT_EQ(errno, EINVAL);
	close(session);
	close(other);
	EXPECT_EQ(finish(self), 0);
}

/*
 * A new worker may only read an input, even if the previous worker could write the same pool as an
 * output.
 */
TEST_F(isolation, grants_of_the_next_session)
{
	struct nnaccel_info info = { .size = sizeof(info), .flags = NNACCEL_INFO_WANT };
	struct execution e;
	uint64_t context;
	uint32_t model;
	void *at;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	close(self->s.session);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_INFO, &info), 0);
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &self->s.session), 0);
	ASSERT_EQ(session_attach(self->s.session), 0);
	model = served_prepare(&self->s, self->input);
	execution_init(&e, model, self->output, self->input);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(session_map(self->s.session, command_grants(&self->cmd)[0].grant, LENGTH,
			      PROT_READ | PROT_WRITE), NULL);
	EXPECT_EQ(errno, EACCES);
	at = session_map(self->s.session, command_grants(&self->cmd)[1].grant, LENGTH,
			 PROT_READ | PROT_WRITE);
	EXPECT_NE(at, NULL);
	munmap(at, LENGTH);
	EXPECT_EQ(finish(self), 0);
}

/* A child of the worker does not inherit mappings of grants. */
static char *mapped;

static int touch(int fd)
{
	*(volatile char *)mapped;
	return 0;
}

static int is_mapped(int fd)
{
	unsigned char pages[LENGTH / PAGE];

	return mincore(mapped, LENGTH, pages) ? errno : 0;
}

TEST_F(isolation, grants_do_not_fork)
{
	int file = file_new(LENGTH);
	struct execution e;
	uint32_t pool;

	ASSERT_EQ(start(self), 0);
	EXPECT_EQ(finish(self), 0);
	ASSERT_EQ(pool_import(self->s.fd, file, PROT_RW, 0, LENGTH, &pool), 0);
	execution_init(&e, self->model, pool, self->output);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	for (size_t i = 0; i < 2; i++) {
		mapped = session_map(self->s.session, command_grants(&self->cmd)[i].grant, LENGTH,
				     PROT_READ);
		ASSERT_NE(mapped, NULL);
		EXPECT_EQ(touch(0), 0);
		EXPECT_EQ(in_child(is_mapped, 0), ENOMEM);
		/* A forked child that reads the mapping's address is killed. */
		EXPECT_EQ(in_child(touch, 0), -1);
		munmap(mapped, LENGTH);
	}
	EXPECT_EQ(finish(self), 0);
	close(file);
}

TEST_HARNESS_MAIN
