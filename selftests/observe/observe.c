// SPDX-License-Identifier: MIT
/*
 * Tests of the module's reports to an administrator: age and state of each command, trace events,
 * and a line in the kernel's log for each worker that the module kills.
 */
#include <fcntl.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters.h"
#include "harness.h"

#define COMMANDS	"/sys/kernel/debug/nnaccel/commands"
#define USERS		"/sys/kernel/debug/nnaccel/users"
#define SUMMARY		"/sys/kernel/debug/nnaccel/summary"
#define TRACING		"/sys/kernel/tracing/"
#define READ_ALL	3	/* the syslog(2) action */

FIXTURE(observe) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	union command cmd;
};

FIXTURE_SETUP(observe)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, PAGE);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
}

FIXTURE_TEARDOWN(observe)
{
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Returns whether a file has a line that contains the texts @one and @other. */
static bool file_has(const char *path, const char *one, const char *other)
{
	FILE *file = fopen(path, "re");
	bool found = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, one) && strstr(line, other);
	if (file)
		fclose(file);
	return found;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/*
 * Checks the line of a context's newest command in debugfs' nnaccel/commands, except the command's
 * age.
 */
static void expect_shown(struct __test_metadata *_metadata, int fd, const char *state,
			 const struct nnaccel_cmd *head, const char *flags)
{
	struct shown shown;

	ASSERT_TRUE(shown_command(fd, &shown));
	EXPECT_STREQ(shown.kind, "execute");
	EXPECT_STREQ(shown.state, state);
	EXPECT_EQ(shown.cookie, head->cookie);
	EXPECT_EQ(shown.model, head->model);
	EXPECT_EQ(shown.priority, head->priority);
	EXPECT_STREQ(shown.flags, flags);
}

TEST_F(observe, commands)
{
	struct nnaccel_cmd queued = { .model = 2, .priority = NNACCEL_PRIORITY_HIGH };
	uint64_t before = now_ns();
	struct execution e;
	struct shown shown;
	struct async async;
	uint32_t model;

	EXPECT_FALSE(shown_command(self->s.fd, &shown));
	model = served_prepare_as(&self->s, self->pool, NNACCEL_PRIORITY_HIGH);
	execution_init(&e, model, self->pool, self->pool);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	await_commands(self->s.fd, 1);
	ASSERT_TRUE(shown_command(self->s.fd, &shown));
	/*
	 * A command's age is at most the test's duration plus one kernel tick, which is at most 10
	 * ms.
	 */
	EXPECT_LE(shown.age_ms, (now_ns() - before) / 1000000 + 10);
	queued.cookie = shown.cookie;
	expect_shown(_metadata, self->s.fd, "queued", &queued, "---");
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	EXPECT_EQ(self->cmd.head.cookie, queued.cookie);
	expect_shown(_metadata, self->s.fd, "in-flight", &self->cmd.head, "---");
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_FALSE(shown_command(self->s.fd, &shown));
}

/*
 * debugfs' nnaccel/commands has executions that wait for other executions and are not yet queued to
 * the session.
 */
TEST_F(observe, commands_that_wait_for_others)
{
	struct nnaccel_cmd waiting = { .model = 1, .priority = NNACCEL_PRIORITY_MEDIUM };
	int gate = file_start(self->s.fd, self->model, self->pool, -1), fence;

	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	fence = file_start(self->s.fd, self->model, self->pool, gate);
	ASSERT_GE(fence, 0);
	expect_shown(_metadata, self->s.fd, "waiting", &waiting, "a--");
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	expect_shown(_metadata, self->s.fd, "in-flight", &self->cmd.head, "a--");
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(gate);
	close(fence);
}

/*
 * debugfs' nnaccel/commands has each context of each engine once, in the order in which the
 * contexts were opened.
 */
TEST_F(observe, commands_of_all_contexts)
{
	enum { NUM = 3 };
	struct shown shown[2 * NUM];
	struct served others[NUM];
	uint32_t device;
	int broker = broker_open_as("test-a", &device), fences[NUM], n;
	char path[64];

	ASSERT_GE(broker, 0);
	snprintf(path, sizeof(path), DEVICE "%u", device);
	for (int i = 0; i < NUM; i++) {
		struct served *s = &others[i];
		struct nnaccel_info info = { .size = sizeof(info), .flags = NNACCEL_INFO_WANT };
		uint32_t pool;

		*s = (struct served){ .broker = i == 1 ? broker : self->s.broker };
		s->fd = open(i == 1 ? path : DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_EQ(xioctl(s->fd, NNACCEL_INFO, &info), 0);
		ASSERT_EQ(broker_await_new(s->broker, &s->context), 0);
		ASSERT_EQ(broker_session(s->broker, s->context, &s->session), 0);
		ASSERT_EQ(session_attach(s->session), 0);
		pool = pool_alloc(s->fd, PAGE);
		fences[i] = file_start(s->fd, served_prepare(s, pool), pool, -1);
		ASSERT_GE(fences[i], 0);
	}
	n = shown_commands(shown, ARRAY_SIZE(shown));
	EXPECT_EQ(n, NUM);
	for (int i = 0; i < NUM; i++) {
		EXPECT_EQ(shown[i].context, others[i].context);
		close(others[i].fd);
		close(others[i].session);
		close(fences[i]);
	}
	close(broker);
}

/* ---- numbers ---- */

/* The fields after the user id in root's line of debugfs' nnaccel/users. */
struct user {
	unsigned int contexts;
	unsigned long long pool_bytes;
	unsigned long long kernel_bytes;
	unsigned int latency_requests;
};

static struct user read_user(void)
{
	FILE *file = fopen(USERS, "re");
	struct user user, root = {};
	unsigned int uid;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%u %u %llu %llu %u", &uid, &user.contexts, &user.pool_bytes,
			   &user.kernel_bytes, &user.latency_requests) == 5 && !uid)
			root = user;
	if (file)
		fclose(file);
	return root;
}

TEST_F(observe, users)
{
	uint32_t model = served_prepare_for(&self->s, self->pool,
					    NNACCEL_PREFER_FAST_SINGLE_ANSWER);
	struct user before = read_user(), now;
	struct nnaccel_info info = { .size = sizeof(info) };
	int other = device_open(), burst;

	ASSERT_NE(pool_alloc(other, PAGE + 1), 0);
	now = read_user();
	EXPECT_EQ(now.contexts, before.contexts + 1);
	EXPECT_EQ(now.pool_bytes, before.pool_bytes + 2 * PAGE);
	EXPECT_GT(now.kernel_bytes, before.kernel_bytes);
	EXPECT_EQ(now.latency_requests, 0);
	burst = served_burst(&self->s, model, NULL);
	ASSERT_GE(burst, 0);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_INFO, &info), 0);
	now = read_user();
	EXPECT_EQ(now.latency_requests, 1);
	EXPECT_EQ(now.pool_bytes, before.pool_bytes + 2 * PAGE + info.pool_bytes - PAGE);
	close(burst);
	close(other);
}

/* The line of a context in debugfs' nnaccel/summary has the numbers that NNACCEL_INFO returns. */
TEST_F(observe, summary)
{
	struct nnaccel_info info = { .size = sizeof(info) };
	unsigned long long context, bytes, imports, executions, ns;
	unsigned int uid, pools, models, commands, device, seen = 0;
	char line[256], stage[16];
	struct execution e;
	struct async async;
	int file = file_new(2 * PAGE), pid;
	FILE *summary;

	execution_init(&e, self->model, self->pool, self->pool);
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
		ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
		ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
		EXPECT_EQ(async_wait(&async), 0);
	}
	ASSERT_EQ(pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, PAGE + 1, NULL), 0);
	ASSERT_NE(pool_alloc(self->s.fd, 2 * PAGE), 0);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(xioctl(self->s.fd, NNACCEL_INFO, &info), 0);
	EXPECT_EQ(info.pool_bytes, 3 * PAGE);
	EXPECT_EQ(info.import_bytes, 2 * PAGE);
	EXPECT_EQ(info.executions, 4);
	EXPECT_GT(info.engine_ns, 0);
	summary = fopen(SUMMARY, "re");
	ASSERT_NE(summary, NULL);
	while (fgets(line, sizeof(line), summary)) {
		if (sscanf(line, "%llu %u %d %15s %u %u %u %llu %llu %llu %llu %u", &context, &uid,
			   &pid, stage, &pools, &models, &commands, &bytes, &imports, &executions,
			   &ns, &device) != 12 || context != self->s.context)
			continue;
		seen++;
		EXPECT_EQ(uid, geteuid());
		EXPECT_EQ(pid, getpid());
		EXPECT_STREQ(stage, "served");
		EXPECT_EQ(pools, 3);
		EXPECT_EQ(models, 1);
		EXPECT_EQ(commands, 1);
		EXPECT_EQ(bytes, info.pool_bytes);
		EXPECT_EQ(imports, info.import_bytes);
		EXPECT_EQ(executions, info.executions);
		EXPECT_EQ(ns, info.engine_ns);
		EXPECT_EQ(device, 0);
	}
	fclose(summary);
	EXPECT_EQ(seen, 1);
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	close(file);
}

/* Checks the access modes of the module's device nodes and debugfs files. */
TEST_F(observe, modes)
{
	const struct {
		const char *path;
		unsigned int mode;
	} files[] = {
		{ DEVICE, 0660 }, { ENGINE_NODE, 0600 },
		{ COMMANDS, 0400 }, { USERS, 0400 }, { SUMMARY, 0400 },
	};
	struct stat status;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		ASSERT_EQ(stat(files[i].path, &status), 0);
		EXPECT_EQ(status.st_mode & 07777, files[i].mode)
			TH_LOG("%s", files[i].path);
	}
}

/* All parameters have their documented defaults, except engine_wait_ms, which the VM changes. */
TEST_F(observe, parameters)
{
	const unsigned long long memory = (unsigned long long)sysconf(_SC_PHYS_PAGES) * PAGE;
	const struct {
		const char *name;
		unsigned long long value;
	} params[] = {
		{ "max_devices", 16 }, { "max_contexts", 256 }, { "max_pools", 4096 },
		{ "max_models", 1024 }, { "max_buffers", 4096 }, { "max_bursts", 1024 },
		{ "max_commands", 256 }, { "max_pool_bytes", 4ULL << 30 },
		{ "max_context_bytes", memory / 8 }, { "max_user_bytes", memory / 8 },
		{ "max_total_bytes", memory / 2 }, { "max_user_kernel_bytes", memory / 64 },
		{ "max_latency_requests", 4 }, { "latency_us", 20 }, { "engine_absent_ms", 200 },
		{ "deadline_grace_ms", 100 }, { "kill_grace_ms", 1000 },
		{ "fence_bound_ms", 10000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		unsigned long long value = (unsigned long long)param_get(params[i].name);

		/*
		 * Compare whole pages, because defaults that are a fraction of the memory are
		 * rounded to pages.
		 */
		EXPECT_EQ(value >= PAGE ? value / PAGE : value,
			  params[i].value >= PAGE ? params[i].value / PAGE : params[i].value)
			TH_LOG("%s", params[i].name);
	}
}

/* ---- trace events ---- */

TEST_F(observe, events)
{
	struct execution e;
	int fence;

	if (!write_file(TRACING "events/nnaccel/enable", "1"))
		SKIP(return, "trace events of nnaccel cannot be enabled");
	write_file(TRACING "trace", "\n");
	ASSERT_EQ(served_start(&self->s), 0);
	fence = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(fence, 0);
	EXPECT_EQ(file_end(self->s.fd, fence), 0);
	close(fence);
	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.deadline_ns = 1;
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd), ETIME);
	write_file(TRACING "events/nnaccel/enable", "0");
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_command_end", "kind=EXECUTE"));
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_command_end",
			     "state=DONE status=NONE error=0"));
	write_file(TRACING "trace", "\n");
}

/* Causes the trace events of @s, a context whose worker is a thread of this process. */
static void do_one_of_each(struct __test_metadata *_metadata, struct served *s, int buffer)
{
	uint32_t pool, model, foreign, slot;
	struct nnaccel_grant grant;
	static union command cmd;
	struct execution e;
	struct async async;
	int fd, burst;
	uint32_t domain;

	pool = pool_alloc(s->fd, 100);
	model = served_prepare(s, pool);
	/* The worker answers the first execution only after the execution's deadline has passed. */
	execution_init(&e, model, pool, pool);
	e.cmd.deadline_ns = deadline_soon();
	ASSERT_TRUE(async_start(&async, s->fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(s->session, 0, &cmd), 0);
	EXPECT_EQ(async_wait(&async), ETIME);
	EXPECT_EQ(session_answer(s->session, &cmd), 0);
	ASSERT_EQ(served_start(s), 0);
	domain = buffer_alloc(s->fd, model, 16);
	EXPECT_EQ(buffer_copy_in(s->fd, domain, "text", 4), 0);
	EXPECT_EQ(object_destroy(s->fd, domain), 0);
	ASSERT_EQ(burst_create(s->fd, model, 0, &burst), 0);
	ASSERT_EQ(slot_bind(burst, pool, NNACCEL_PROT_READ, &slot), 0);
	ASSERT_EQ(slot_resolve(s->session, 1, slot, &grant), 0);
	ASSERT_EQ(session_grant_fd(s->session, grant.grant, NNACCEL_PROT_READ, &fd), 0);
	close(fd);
	EXPECT_EQ(slot_free(burst, slot), 0);
	close(burst);
	/*
	 * The first execution causes the events of a read access; the second execution causes the
	 * events of a read and write access.
	 */
	ASSERT_EQ(pool_import(s->fd, buffer, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE, 0, 100,
			      &foreign), 0);
	execution_init(&e, model, foreign, pool);
	EXPECT_EQ(xioctl(s->fd, NNACCEL_WORK_EXECUTE, &e.cmd), 0);
	fd = file_start(s->fd, model, foreign, -1);
	EXPECT_EQ(file_end(s->fd, fd), 0);
	close(fd);
	EXPECT_EQ(object_destroy(s->fd, model), 0);
}

TEST_F(observe, each_event)
{
	static const struct {
		const char *event;
		const char *text;
	} events[] = {
		{ "nnaccel_context_open", "" }, { "nnaccel_engine_offer", "" },
		{ "nnaccel_session_create", "" }, { "nnaccel_session_attach", "" },
		{ "nnaccel_session_dead", "" }, { "nnaccel_context_close", "" },
		{ "nnaccel_pool_create", " length=100 imported=0" },
		{ "nnaccel_pool_create", " length=100 imported=1" },
		{ "nnaccel_pool_destroy", " length=100" },
		{ "nnaccel_model_prepare", " priority=1" }, { "nnaccel_model_destroy", " model=1" },
		{ "nnaccel_command_queue", "kind=EXECUTE model=1 priority=1 state=QUEUED" },
		{ "nnaccel_command_abandon", "kind=EXECUTE" },
		{ "nnaccel_command_fetch", "kind=PREPARE model=1 priority=1 state=IN_FLIGHT" },
		{ "nnaccel_command_commit", "kind=BUFFER model=0" },
		{ "nnaccel_command_end", "kind=EXECUTE model=1 priority=1 state=DONE" },
		{ "nnaccel_buffer_alloc", " capacity=16 roles=2 linear=1" },
		{ "nnaccel_buffer_copy", " in=1 length=4" },
		{ "nnaccel_buffer_free", " capacity=16 roles=2 linear=1" },
		{ "nnaccel_burst_create", " number=0 capacity=1024" },
		{ "nnaccel_burst_announce", " number=1 capacity=1024" },
		{ "nnaccel_burst_dead", " number=1 capacity=1024" },
		{ "nnaccel_burst_destroy", " number=1 capacity=1024" },
		{ "nnaccel_slot_bind", " number=1 slot=" },
		{ "nnaccel_slot_resolve", " number=1 slot=" },
		{ "nnaccel_slot_free", " number=1 slot=" },
		{ "nnaccel_grant_fd", " writable=0" }, { "nnaccel_grant_revoke", " writable=0" },
		{ "nnaccel_access_begin", " prot=1 error=0" },
		{ "nnaccel_access_begin", " prot=3 error=0" },
		{ "nnaccel_access_end", " prot=1 error=0" },
		{ "nnaccel_access_end", " prot=3 error=0" },
	};
	struct served s = { .broker = self->s.broker };
	struct nnaccel_engine_next next;
	long long held = summary_get(-1, "contexts-held");
	struct exporter exporter;
	int refused;

	if (!write_file(TRACING "events/nnaccel/enable", "1"))
		SKIP(return, "trace events of nnaccel cannot be enabled");
	write_file(TRACING "trace", "\n");
	ASSERT_TRUE(exporter_open(&exporter, 0));
	s.fd = device_open();
	ASSERT_EQ(broker_await_new(s.broker, &s.context), 0);
	ASSERT_EQ(broker_session(s.broker, s.context, &s.session), 0);
	ASSERT_EQ(session_attach(s.session), 0);
	do_one_of_each(_metadata, &s, exporter.buffer);
	s.broker = -1;
	served_close(&s);
	exporter_close(&exporter);
	/*
	 * The broker refuses a second context. The worker of the first context dies before the
	 * first context's model is destroyed.
	 */
	refused = device_open();
	ASSERT_EQ(broker_await_new(self->s.broker, &s.context), 0);
	EXPECT_EQ(broker_refuse(self->s.broker, s.context, EUSERS), 0);
	close(refused);
	close(self->s.session);
	self->s.session = -1;
	/*
	 * The module frees a closed context only after the broker has fetched the context's GONE
	 * event.
	 */
	while (!broker_next(self->s.broker, NNACCEL_ENGINE_NONBLOCK, &next))
		;
	EXPECT_TRUE(summary_becomes(-1, "contexts-held", held));
	write_file(TRACING "events/nnaccel/enable", "0");
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_engine_refuse:", " error=87"));
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_model_dead:", " model=1"));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s:", events[i].event);
		EXPECT_TRUE(file_has(TRACING "trace", name, events[i].text))
			TH_LOG("%s%s", events[i].event, events[i].text);
	}
	write_file(TRACING "trace", "\n");
}

/*
 * An execution causes access events for a pool that the module allocated and another driver's
 * device has mapped.
 */
TEST_F(observe, access_events_of_own_memory)
{
	int buffer = pool_export(self->s.fd, self->pool);
	struct exporter_import import = { .fd = buffer };
	struct exporter device;
	struct execution e;
	struct async async;

	if (!write_file(TRACING "events/nnaccel/enable", "1"))
		SKIP(return, "trace events of nnaccel cannot be enabled");
	write_file(TRACING "trace", "\n");
	ASSERT_TRUE(exporter_open(&device, 0));
	if (xioctl(device.fd, EXPORTER_IMPORT, &import) == EOPNOTSUPP)
		SKIP(goto out, "the tested device does no DMA");
	execution_init(&e, self->model, self->pool, self->pool);
	ASSERT_TRUE(async_start(&async, self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	/*
	 * If input and output use the same memory, the memory is synced when the input's access
	 * begins and when the output's access ends.
	 */
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_access_begin:", " prot=1 error=0"));
	EXPECT_FALSE(file_has(TRACING "trace", "nnaccel_access_end:", " prot=3 error=0"));
	EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
	EXPECT_EQ(async_wait(&async), 0);
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_access_end:", " prot=3 error=0"));
out:
	write_file(TRACING "events/nnaccel/enable", "0");
	write_file(TRACING "trace", "\n");
	exporter_close(&device);
	close(buffer);
}

/*
 * If the session is closed before the worker fetches an execution, a trace event has the error
 * EPIPE.
 */
TEST_F(observe, end_of_a_command_that_nobody_took)
{
	int fence;

	if (!write_file(TRACING "events/nnaccel/nnaccel_command_end/enable", "1"))
		SKIP(return, "trace events of nnaccel cannot be enabled");
	write_file(TRACING "trace", "\n");
	fence = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_GE(fence, 0);
	close(self->s.session);
	self->s.session = -1;
	EXPECT_EQ(file_end(self->s.fd, fence), EPIPE);
	close(fence);
	write_file(TRACING "events/nnaccel/nnaccel_command_end/enable", "0");
	EXPECT_TRUE(file_has(TRACING "trace", "nnaccel_command_end", "error=-32"));
	write_file(TRACING "trace", "\n");
}

/* Worker process: prepares a model, then fetches an execution and never answers the execution. */
static void never_answer(struct actor *self, void *data)
{
	int session = *(int *)data;
	static union command cmd;

	if (session_attach(session) || session_fetch(session, 0, &cmd) ||
	    session_answer(session, &cmd) || session_fetch(session, 0, &cmd))
		_exit(1);
	pause();
}

static bool log_has(const char *text)
{
	static char log[1 << 20];
	int size = klogctl(READ_ALL, log, sizeof(log) - 1);

	if (size < 0)
		return false;
	log[size] = 0;
	return strstr(log, text);
}

TEST_F(observe, log_of_a_kill)
{
	long long grace = param_set("kill_grace_ms", 50);
	struct nnaccel_prepare prepare;
	struct actor worker;
	long long sessions;
	struct execution e;
	uint64_t context;
	int fd, session;
	char line[128];
	bool traced;

	fd = device_open();
	ASSERT_EQ(broker_await_new(self->s.broker, &context), 0);
	ASSERT_EQ(broker_session(self->s.broker, context, &session), 0);
	ASSERT_TRUE(actor_start(&worker, never_answer, &session));
	close(session);
	prepare_init(&prepare, pool_alloc(fd, PAGE), 1);
	ASSERT_EQ(xioctl(fd, NNACCEL_WORK_PREPARE, &prepare), 0);
	execution_init(&e, prepare.out_model, prepare.wire_pool, prepare.wire_pool);
	e.cmd.deadline_ns = deadline_soon();
	sessions = summary_get(-1, "sessions");
	traced = write_file(TRACING "events/nnaccel/nnaccel_session_kill/enable", "1");
	EXPECT_EQ(xioctl(fd, NNACCEL_WORK_EXECUTE, &e.cmd), ETIME);
	snprintf(line, sizeof(line), "nnaccel: worker %d of context %llu killed", worker.pid,
		 (unsigned long long)context);
	EXPECT_TRUE(summary_becomes(-1, "sessions", sessions - 1));
	EXPECT_TRUE(log_has(line));
	write_file(TRACING "events/nnaccel/nnaccel_session_kill/enable", "0");
	snprintf(line, sizeof(line), "context=%llu ", (unsigned long long)context);
	EXPECT_TRUE(!traced || file_has(TRACING "trace", "nnaccel_session_kill:", line));
	actor_kill(&worker);
	close(fd);
	param_set("kill_grace_ms", grace);
}

TEST_HARNESS_MAIN
