// SPDX-License-Identifier: MIT
/*
 * Table of isolation attempts: for each kind of handle, every process or context that does not own
 * the handle tries to use it. The module must reject each of these attempts to use a handle. The
 * test prints each attempt and its errno.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "harness.h"

#define LENGTH PAGE
#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)

/*
 * The owner of all handles: a context with an object of each kind, the context's worker, and a
 * burst.
 */
struct owner {
	struct served s;
	uint32_t pool;
	uint32_t model;
	uint32_t buffer;
	int burst;
	uint32_t number;
	uint32_t slot;
	uint64_t grant;
	uint64_t cookie;
};

FIXTURE(table) {
	struct summary before;
	struct owner alice;
	struct execution execution;
	struct async async;
	union command cmd;
	/* A second context of the owner's process, with a second worker. */
	int other;
	uint64_t other_context;
	int other_session;
	struct stranger stranger;
};

/* Makes a client's call in a second thread, and answers the call's command as the worker does. */
static int answer(FIXTURE_DATA(table) *self, unsigned long request, void *arg)
{
	struct owner *a = &self->alice;
	int error;

	if (!async_start(&self->async, a->s.fd, request, arg))
		return EAGAIN;
	error = session_fetch(a->s.session, 0, &self->cmd) ?:
		session_answer(a->s.session, &self->cmd);
	return async_wait(&self->async) ?: error;
}

/*
 * Creates the owner with an object of each kind, and starts an execution that the worker fetches.
 */
static int own(FIXTURE_DATA(table) *self)
{
	struct owner *a = &self->alice;
	struct nnaccel_prepare prepare;
	struct allocation allocation;
	int error = served_open(&a->s);

	a->pool = pool_alloc(a->s.fd, LENGTH);
	prepare_init(&prepare, a->pool, 1);
	error = error ?: answer(self, NNACCEL_WORK_PREPARE, &prepare);
	a->model = prepare.out_model;
	allocation_init(&allocation, a->model, LENGTH);
	error = error ?: answer(self, NNACCEL_WORK_BUFFER_ALLOC, &allocation.cmd);
	a->buffer = allocation.cmd.out_buffer;
	error = error ?: buffer_copy_in(a->s.fd, a->buffer, &allocation, 8);
	if (error)
		return error;
	a->burst = served_burst(&a->s, a->model, &a->number);
	error = slot_bind(a->burst, a->pool, PROT_RW, &a->slot);
	execution_init(&self->execution, a->model, a->pool, a->pool);
	if (error || !async_start(&self->async, a->s.fd, NNACCEL_WORK_EXECUTE, &self->execution.cmd))
		return error ?: EAGAIN;
	error = session_fetch(a->s.session, 0, &self->cmd);
	a->grant = command_grants(&self->cmd)->grant;
	a->cookie = self->cmd.head.cookie;
	return error;
}

/* ---- attempts: each must return the error of its row ---- */

/*
 * The owner whose handles the attempts use. A foreign process has only one file of the owner, and a
 * copy of the owner's memory.
 */
static struct owner *victim;

static int try_context(int fd)
{
	struct nnaccel_info info = { .size = sizeof(info) };

	return xioctl(fd, NNACCEL_INFO, &info);
}

static int try_pool_export(int fd)
{
	return pool_export(fd, victim->pool) < 0 ? errno : 0;
}

static int try_pool_destroy(int fd)
{
	return object_destroy(fd, victim->pool);
}

static int try_pool_prepare(int fd)
{
	struct nnaccel_prepare prepare;

	prepare_init(&prepare, victim->pool, 1);
	return xioctl(fd, NNACCEL_WORK_PREPARE, &prepare);
}

static int try_model_execute(int fd)
{
	struct execution e;

	execution_init(&e, victim->model, 0, 0);
	e.cmd.num_pools = 0;
	e.cmd.num_inputs = 0;
	e.cmd.num_outputs = 0;
	return xioctl(fd, NNACCEL_WORK_EXECUTE, &e.cmd);
}

static int try_model_burst(int fd)
{
	int burst;

	return burst_create(fd, victim->model, 0, &burst);
}

static int try_model_buffer(int fd)
{
	return buffer_alloc(fd, victim->model, LENGTH) ? 0 : errno;
}

static int try_model_destroy(int fd)
{
	return object_destroy(fd, victim->model);
}

static int try_model_save(int fd)
{
	struct nnaccel_cache_save save;
	struct saved saved;

	cache_save_init(&save, &saved, victim->model, 0, 0, 0, 0);
	return xioctl(fd, NNACCEL_WORK_CACHE_SAVE, &save);
}

static int try_buffer_copy_in(int fd)
{
	char data[8] = "";

	return buffer_copy_in(fd, victim->buffer, data, sizeof(data));
}

static int try_buffer_copy_out(int fd)
{
	char data[8];

	return buffer_copy_out(fd, victim->buffer, data, sizeof(data));
}

static int try_buffer_free(int fd)
{
	return object_destroy(fd, victim->buffer);
}

static int try_buffer_execute(int fd)
{
	struct buffer_execution e;

	buffer_execution_init(&e, victim->model, victim->buffer, 0);
	return xioctl(fd, NNACCEL_WORK_EXECUTE, &e.base.cmd);
}

static int try_buffer_export(int fd)
{
	return pool_export(fd, victim->buffer) < 0 ? errno : 0;
}

static int try_burst_bind(int fd)
{
	uint32_t slot;

	return slot_bind(fd, victim->pool, NNACCEL_PROT_READ, &slot);
}

static int try_burst_free(int fd)
{
	return slot_free(fd, victim->slot);
}

static int try_burst_map(int fd)
{
	return burst_map(fd, NNACCEL_BURST_STATUS, PAGE, PROT_READ) ? 0 : errno;
}

static int try_attach(int fd)
{
	return session_attach(fd);
}

static int try_fetch(int fd)
{
	static union command cmd;

	return session_fetch(fd, NNACCEL_FETCH_NONBLOCK, &cmd);
}

static int try_commit(int fd)
{
	return session_commit(fd, victim->cookie, 0, NULL, 0, NULL);
}

static int try_grant(int fd)
{
	return session_map(fd, victim->grant, LENGTH, PROT_READ) ? 0 : errno;
}

static int try_slot_resolve(int fd)
{
	struct nnaccel_grant grant;

	return slot_resolve(fd, victim->number, victim->slot, &grant);
}

static int try_burst_of_session(int fd)
{
	return session_burst_map(fd, victim->number, NNACCEL_BURST_STATUS, PAGE, PROT_READ) ?
	       0 : errno;
}

static int try_node(int fd)
{
	int again = broker_open_as(ENGINE_NAME, NULL);

	if (again >= 0)
		close(again);
	return again < 0 ? errno : 0;
}

static int try_second_session(int fd)
{
	int session;

	return broker_session(fd, victim->s.context, &session);
}

static int try_refuse_served(int fd)
{
	return broker_refuse(fd, victim->s.context, EAGAIN);
}

static int try_unprivileged_node(int fd)
{
	if (setgid(65534) || setuid(65534))
		return 0;
	return try_node(fd);
}

enum party { CHILD, STRANGER, OTHER_CONTEXT, OTHER_WORKER, OWNER, PARTIES };
enum handle { CONTEXT, BURST, SESSION, NODE };

static const char *const party_names[PARTIES] = {
	"a forked child", "a process it was passed to", "another context", "another worker",
	"its owner",
};

static const struct {
	const char *handle;
	const char *what;
	enum party party;
	enum handle file;
	int (*try)(int fd);
	int error;
} attempts[] = {
	{ "context", "look at it", CHILD, CONTEXT, try_context, EACCES },
	{ "context", "look at it", STRANGER, CONTEXT, try_context, EACCES },
	{ "pool", "export", CHILD, CONTEXT, try_pool_export, EACCES },
	{ "pool", "export", STRANGER, CONTEXT, try_pool_export, EACCES },
	{ "pool", "export", OTHER_CONTEXT, CONTEXT, try_pool_export, ENOENT },
	{ "pool", "destroy", CHILD, CONTEXT, try_pool_destroy, EACCES },
	{ "pool", "destroy", STRANGER, CONTEXT, try_pool_destroy, EACCES },
	{ "pool", "destroy", OTHER_CONTEXT, CONTEXT, try_pool_destroy, ENOENT },
	{ "pool", "prepare from", CHILD, CONTEXT, try_pool_prepare, EACCES },
	{ "pool", "prepare from", STRANGER, CONTEXT, try_pool_prepare, EACCES },
	{ "pool", "prepare from", OTHER_CONTEXT, CONTEXT, try_pool_prepare, ENOENT },
	{ "model", "execute", CHILD, CONTEXT, try_model_execute, EACCES },
	{ "model", "execute", STRANGER, CONTEXT, try_model_execute, EACCES },
	{ "model", "execute", OTHER_CONTEXT, CONTEXT, try_model_execute, ENOENT },
	{ "model", "make a burst", CHILD, CONTEXT, try_model_burst, EACCES },
	{ "model", "make a burst", STRANGER, CONTEXT, try_model_burst, EACCES },
	{ "model", "make a burst", OTHER_CONTEXT, CONTEXT, try_model_burst, ENOENT },
	{ "model", "make a buffer", CHILD, CONTEXT, try_model_buffer, EACCES },
	{ "model", "make a buffer", STRANGER, CONTEXT, try_model_buffer, EACCES },
	{ "model", "make a buffer", OTHER_CONTEXT, CONTEXT, try_model_buffer, ENOENT },
	{ "model", "save", CHILD, CONTEXT, try_model_save, EACCES },
	{ "model", "save", STRANGER, CONTEXT, try_model_save, EACCES },
	{ "model", "save", OTHER_CONTEXT, CONTEXT, try_model_save, ENOENT },
	{ "model", "destroy", CHILD, CONTEXT, try_model_destroy, EACCES },
	{ "model", "destroy", STRANGER, CONTEXT, try_model_destroy, EACCES },
	{ "model", "destroy", OTHER_CONTEXT, CONTEXT, try_model_destroy, ENOENT },
	{ "buffer", "copy in", CHILD, CONTEXT, try_buffer_copy_in, EACCES },
	{ "buffer", "copy in", STRANGER, CONTEXT, try_buffer_copy_in, EACCES },
	{ "buffer", "copy in", OTHER_CONTEXT, CONTEXT, try_buffer_copy_in, ENOENT },
	{ "buffer", "copy out", CHILD, CONTEXT, try_buffer_copy_out, EACCES },
	{ "buffer", "copy out", STRANGER, CONTEXT, try_buffer_copy_out, EACCES },
	{ "buffer", "copy out", OTHER_CONTEXT, CONTEXT, try_buffer_copy_out, ENOENT },
	{ "buffer", "execute on", CHILD, CONTEXT, try_buffer_execute, EACCES },
	{ "buffer", "execute on", STRANGER, CONTEXT, try_buffer_execute, EACCES },
	{ "buffer", "execute on", OTHER_CONTEXT, CONTEXT, try_buffer_execute, ENOENT },
	{ "buffer", "free", CHILD, CONTEXT, try_buffer_free, EACCES },
	{ "buffer", "free", STRANGER, CONTEXT, try_buffer_free, EACCES },
	{ "buffer", "free", OTHER_CONTEXT, CONTEXT, try_buffer_free, ENOENT },
	{ "buffer", "export as a pool", OTHER_CONTEXT, CONTEXT, try_buffer_export, ENOENT },
	{ "burst", "bind a slot", CHILD, BURST, try_burst_bind, EACCES },
	{ "burst", "bind a slot", STRANGER, BURST, try_burst_bind, EACCES },
	{ "burst", "free a slot", CHILD, BURST, try_burst_free, EACCES },
	{ "burst", "free a slot", STRANGER, BURST, try_burst_free, EACCES },
	{ "burst", "map", CHILD, BURST, try_burst_map, EACCES },
	{ "burst", "map", STRANGER, BURST, try_burst_map, EACCES },
	{ "session", "attach", CHILD, SESSION, try_attach, EBUSY },
	{ "session", "attach", STRANGER, SESSION, try_attach, EBUSY },
	{ "session", "fetch", CHILD, SESSION, try_fetch, EACCES },
	{ "session", "fetch", STRANGER, SESSION, try_fetch, EACCES },
	{ "command", "commit", CHILD, SESSION, try_commit, EACCES },
	{ "command", "commit", STRANGER, SESSION, try_commit, EACCES },
	{ "command", "commit", OTHER_WORKER, SESSION, try_commit, ENOENT },
	{ "grant", "map", CHILD, SESSION, try_grant, EACCES },
	{ "grant", "map", STRANGER, SESSION, try_grant, EACCES },
	{ "grant", "map", OTHER_WORKER, SESSION, try_grant, EINVAL },
	{ "slot", "resolve", CHILD, SESSION, try_slot_resolve, EACCES },
	{ "slot", "resolve", STRANGER, SESSION, try_slot_resolve, EACCES },
	{ "slot", "resolve", OTHER_WORKER, SESSION, try_slot_resolve, ENOENT },
	{ "burst", "map through a session", CHILD, SESSION, try_burst_of_session, EACCES },
	{ "burst", "map through a session", STRANGER, SESSION, try_burst_of_session, EACCES },
	{ "burst", "map through a session", OTHER_WORKER, SESSION, try_burst_of_session, EINVAL },
	{ "engine node", "register it again", OWNER, NODE, try_node, EBUSY },
	{ "engine node", "open it without privilege", CHILD, NODE, try_unprivileged_node, EACCES },
	{ "context", "take a second session", OWNER, NODE, try_second_session, EBUSY },
	{ "context", "refuse it while served", OWNER, NODE, try_refuse_served, EBUSY },
};

FIXTURE_SETUP(table)
{
	ASSERT_TRUE(idle_summary(&self->before));
	self->alice = (struct owner){
		.burst = -1,
		.s = { .broker = -1, .fd = -1, .session = -1 },
	};
	victim = &self->alice;
	ASSERT_EQ(own(self), 0);
	self->other = device_open();
	ASSERT_EQ(broker_await_new(self->alice.s.broker, &self->other_context), 0);
	ASSERT_EQ(broker_session(self->alice.s.broker, self->other_context,
				 &self->other_session), 0);
	ASSERT_EQ(session_attach(self->other_session), 0);
}

FIXTURE_TEARDOWN(table)
{
	struct owner *a = &self->alice;

	EXPECT_EQ(session_answer(a->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&self->async), 0);
	close(a->burst);
	close(self->other_session);
	close(self->other);
	served_close(&a->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

static int file_of(FIXTURE_DATA(table) *self, enum handle handle, enum party party)
{
	const struct owner *a = &self->alice;

	switch (handle) {
	case CONTEXT:
		return party == OTHER_CONTEXT ? self->other : a->s.fd;
	case BURST:
		return a->burst;
	case SESSION:
		return party == OTHER_WORKER ? self->other_session : a->s.session;
	default:
		return a->s.broker;
	}
}

/* Tries attempts[i] in the kind of process that attempts[i] names. Returns the errno. */
static int make_attempt(FIXTURE_DATA(table) *self, size_t i)
{
	int fd = file_of(self, attempts[i].file, attempts[i].party);

	switch (attempts[i].party) {
	case CHILD:
		return in_child(attempts[i].try, fd);
	case STRANGER:
		if (!stranger_start(&self->stranger, attempts[i].try))
			return -1;
		return stranger_pass(&self->stranger, fd);
	default:
		return attempts[i].try(fd);
	}
}

TEST_F(table, all_are_refused)
{
	char data[8];

	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		int error = make_attempt(self, i);

		EXPECT_EQ(error, attempts[i].error)
			TH_LOG("%s: %s, by %s", attempts[i].handle, attempts[i].what,
			       party_names[attempts[i].party]);
		printf("# %-12s %-26s by %-27s %s\n", attempts[i].handle, attempts[i].what,
		       party_names[attempts[i].party],
		       error > 0 ? strerrorname_np(error) : error ? "no answer" : "NOT REFUSED");
		fflush(stdout);
	}
	/*
	 * After all attempts, the owner's objects still exist, and the owner can use its
	 * objects.
	 */
	EXPECT_EQ(summary_get(self->alice.s.fd, "nnaccel-pools"), 1);
	EXPECT_EQ(summary_get(self->alice.s.fd, "nnaccel-models"), 1);
	EXPECT_EQ(summary_get(self->alice.s.fd, "nnaccel-buffers"), 1);
	EXPECT_EQ(buffer_copy_out(self->alice.s.fd, self->alice.buffer, data, 8), 0);
	EXPECT_EQ(slot_free(self->alice.burst, self->alice.slot), 0);
}

TEST_HARNESS_MAIN
